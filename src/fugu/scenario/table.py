"""Beliefs read off a reference table: the law of one column given each secret, as counted or fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table, count_pairs
from fugu.data.cells import Counts
from fugu.data.column import column_digest
from fugu.data.field import Field
from fugu.data.frame import TableLike
from fugu.data.moments import days_text
from fugu.data.secrets import Protect, ProtectLike, Secrets, few_rows, read_protect
from fugu.documents.confidence import meaning
from fugu.documents.sentences import APART, INDEPENDENT, PRIVATE_NUMBERS, one_row
from fugu.errors import (
    BadLaw,
    BadTable,
    CertificateError,
    ColumnNotFound,
    MissingValues,
    RepeatedUnit,
    UnknownName,
    UsageError,
)
from fugu.fixed import Fixed
from fugu.laws import Discrete, Law, Normal, NormalMixture
from fugu.laws.sets.confidence import Sampled
from fugu.numbers.exact import Real
from fugu.scenario.query import (
    ColumnQuery,
    Declared,
    declared_bins,
    declared_values,
    level_of,
    moved_by,
    sampled_of_counts,
)
from fugu.scenario.scenario import PairsOfSecrets, PriorName, Report, Scenario
from fugu.visible import several

_SHARED_CELLS = 20_000_000
"""Up to this many (secret, value) cells the laws share one array of values; above, each has its own atoms."""
PRIORS = {
    "empirical": "the empirical law",
    "gaussian": "a normal law fitted to the values",
    "mixture": "a Gaussian mixture fitted to the values",
    "shared": "a shared Gaussian mixture, means adapted to each secret, fitted to the values",
}
_MIXTURES = {"mixture", "shared"}
_OPTIONAL = {"public_prior", "components", "schema", "confidence", "shift"}
_RECIPE = ("publish", "protect", "pairs", "prior", "bins", "missing", "unit")


def from_table(
    reference: TableLike,
    publish: str,
    protect: ProtectLike,
    pairs: PairsOfSecrets = "all",
    prior: PriorName = "empirical",
    bins: int | Sequence[float] | Sequence[str] | None = None,
    missing: str | float = "error",
    unit: str | None = None,
    confidence: float | None = None,
    public_prior: bool = False,
    *,
    schema: Schema | None = None,
    components: int | Literal["bic"] | None = None,
    shift: Real | str = 0,
) -> Scenario:
    """Beliefs are the laws of the column `publish` given each secret of `protect` in a reference table:
    P(value | secret) = rows with both / rows with the secret, in whole numbers.

    Parameters:

    - `reference`: what the beliefs are fitted on: the path of a file, a dict of columns, or a frame.
    - `publish`: the column to be released.
    - `protect`: a column, each category a secret; several columns; a comparison "age<65"; cut points "age:18,65";
      or {secret: condition}, a condition being {column: value, set of values, or (low, high)}, or a function
      of the columns.
    - `pairs`: "all", "adjacent", or a list of pairs of secrets.
    - `prior`: "empirical" (the frequencies), "gaussian", "mixture" or "shared" (a common mixture with moved means).
    - `bins`: a number of equal bins, their edges, or an ordering of categories; None publishes the number itself.
    - `missing`: "error", "drop", or the number or category that a missing cell becomes.
    - `unit`: the column that names the person; one that repeats is refused.
    - `confidence`: a number in (0, 1), such as 0.95: the promise then holds for every law that the counts of the
      reference cannot rule out. It needs every value declared: bins by their edges, an ordering, or a schema with
      bounds and step. None believes the frequencies as they are.
    - `public_prior`: True says that the reference is also the table to be released, its laws public knowledge.
    - `schema`: how cells are read; what it leaves out is taken from the reference.
    - `components`: for "mixture" (None: by BIC) and "shared" (None: 3), a whole number or "bic".
    - `shift`: with confidence, how far in total variation the protected rows may be from the reference's
      population.

    Raises `BadTable` and its kinds (`MissingValues`, `RepeatedUnit`, `TooManySecrets`, `ColumnNotFound`) for the
    table, `UsageError` and `UnknownName` for the other arguments.

    >>> table = {"sex": ["F", "M", "F", "M"], "chol": [1, 2, 2, 2]}
    >>> scenario = from_table(table, publish="chol", protect="sex")
    >>> scenario.law_pairs()[0].p.weights, scenario.law_pairs()[0].q.weights
    (array([0.5, 0.5]), array([0., 1.]))
    """
    _check_prior(prior, components)
    moved = moved_by(shift)
    level = level_of(confidence, prior, public_prior, moved)
    if level is not None:
        bins = declared_bins(bins, publish, schema)
    cells = (schema or Schema({})).open(reference)
    spec = read_protect(protect, cells.columns)
    cells = _needed(cells, publish, spec, unit, schema)
    pairs = pairs if isinstance(pairs, str) else list(pairs)
    if len(cells) == 0:
        raise BadTable("the reference has no rows, so there is nothing to believe")
    reading = _schema(schema, cells, publish, unit)
    table = reading.read(cells, cells.columns)
    declared = None if schema is None else schema.fields.get(publish)
    column = table.exact(publish)
    query = ColumnQuery.fit(publish, column, bins, missing, reading.fields[publish], declared)
    if query.nominal and prior != "empirical":
        raise UsageError(f"the categories of {publish!r} have no order, so no bell curve is fitted: prior='empirical'")
    published = query.apply(column)
    known_values = None
    if level is None:
        query = query.with_typical(published, column.counts)
    else:
        # no rule is taken from the reference: a missing cell without a meaning becomes the middle of what is declared
        reading = reading.with_field(publish, replace(reading.fields[publish], typical=None))
        known_values = declared_values(query, schema)
        published = known_values.places(published)
    if query.drops and reading.fields[publish].drops_outside:
        raise UsageError(
            f"missing='drop' shows which cells of {publish!r} are missing, and the schema counts numbers outside its "
            "bounds as missing: that would show them too. Use outside='clip', or another rule for missing cells"
        )
    secrets = spec.find(table, missing)
    if publish in secrets.columns:
        raise _same_column(publish)
    known = ~np.isnan(published)
    if not known.any():
        raise BadTable(f"every value of column {publish!r} is missing, so there is nothing to believe")
    covered = secrets.covered()
    _check_unit(table, unit, known & (covered > 0))
    laws, skipped, values = _laws(published, known, secrets, query, known_values, column.counts)
    if len(laws) < 2:
        raise UsageError(
            f"protect={spec.text!r} gives {several(len(laws), 'secret')} with rows and {len(skipped)} without; "
            "at least two with rows are needed"
        )
    named = [] if isinstance(pairs, str) else pairs
    _check_pairs(named, dict(skipped))
    said = [[str(name) for name in pair] for pair in named] or pairs
    report = Report(
        rows=column.rows(), used=column.rows(known & (covered > 0)),
        missing=((publish, column.rows(column.missing)), *secrets.missing), values=values,
        overlapping=column.rows(covered > 1), skipped=skipped,
        few=() if level is not None else few_rows({s: column.rows(m & known) for s, m in secrets.masks().items()}),
        rounded=query.moves(column, published),
    )  # fmt: skip
    fitted = fitted_laws(laws, prior, publish, components)
    sampled = None
    if level is not None and known_values is not None:
        sampled = sampled_of_counts(level, laws, skipped, known_values, report.overlapping == 0, moved)
        fitted = sampled.sets
    recipe = None if spec.json is None else {
        "publish": publish, "protect": spec.json, "pairs": said, "prior": prior,
        "bins": _bins_told(query, reading.fields[publish]), "missing": query.missing, "unit": unit,
        "public_prior": bool(public_prior), **({} if components is None else {"components": components}),
        **({} if sampled is None else {"confidence": str(sampled.confidence), "shift": str(sampled.shift)}),
        **({} if schema is None else {"schema": schema.to_json()}),
    }  # fmt: skip
    return Scenario(
        fitted, pairs, report=report,
        assumptions=_assumptions(query, spec, secrets, unit, public_prior, prior, sampled, reading.fields[publish]),
        sampled=sampled, empirical=None if fitted is laws else laws, query=query,
        schema=reading.only([publish, *([] if unit is None else [unit])]), unit=unit, public_prior=bool(public_prior),
        reference_digest=column_digest(published, column.counts), recipe=recipe,
    )  # fmt: skip


def from_recipe(reference: TableLike, recipe: Mapping[str, object]) -> Scenario:
    """The scenario that a `recipe` (perhaps read from a certificate) makes of this `reference`.

    It is `from_table` with what the recipe says; the bins are the ones that were laid, not laid again."""
    if not isinstance(recipe, Mapping) or set(recipe) - _OPTIONAL != set(_RECIPE):
        raise CertificateError(f"a recipe has the keys {', '.join(_RECIPE)}")
    told: dict[str, Any] = dict(recipe)
    schema = told.pop("schema", None)
    return from_table(reference, **told, schema=None if schema is None else Schema.from_json(schema))


def _check_prior(prior: object, components: object) -> None:
    if prior not in PRIORS:
        raise UnknownName("prior", prior, PRIORS)
    if components is not None and prior not in _MIXTURES:
        raise UsageError(f"components is for the priors 'mixture' and 'shared', not {prior!r}; leave it out")


def _schema(declared: Schema | None, cells: Table, publish: str, unit: str | None) -> Schema:
    """What is declared, completed by the reference for the columns that are used."""
    found = (declared or Schema({})).only([*cells.columns, *([] if unit is None else [unit])])
    if unit is not None and unit not in found.fields:
        found = found.with_field(unit, Field("identifier"))
    return found.completed(cells, numbers=[publish])


def _needed(table: Table, publish: str, spec: Protect, unit: str | None, schema: Schema | None) -> Table:
    """The columns that will be looked at, fetched together; counted by the engine, and without the unit, where each row
    has one of its own. A function of the user's may look at more than one row at a time."""
    for name in (publish, unit):
        if name is not None and name not in table.columns:
            raise ColumnNotFound(str(name), table.columns)
    if spec.columns is None:
        return table.select(table.columns)
    if publish in spec.columns:
        raise _same_column(publish)
    used, reading = [publish, *spec.columns], schema or Schema({})
    if spec.json is None:
        return table.select([*used, *([unit] if unit else [])])
    if unit is None:
        return table.counted(used)
    as_text = unit not in used and reading.fields.get(unit, Field("identifier")).public
    return table.counted(used) if as_text and table.one_each(unit, reading.absent) else table.select([*used, unit])


def _same_column(publish: str) -> UsageError:
    return UsageError(f"column {publish!r} is published and protected at once; choose two different columns")


def _check_unit(table: Table, unit: str | None, used: NDArray[np.bool_]) -> None:
    if unit is None or unit not in table.columns:  # there is none, or the engine has checked it
        return
    column = table.exact(unit)
    codes, _ = column.codes(ordered=False)
    rows = codes[used]
    gone = int((rows < 0).sum())
    if gone:
        raise MissingValues(f"the unit, column {column.name!r}, is missing in {gone} rows; fill it in or drop them")
    repeated = int((np.bincount(rows) > 1).sum()) if rows.size else 0
    if repeated:
        raise RepeatedUnit(
            f"{repeated} units of column {column.name!r} own several rows, and the law of one value says nothing "
            "of several together; keep one row, or one summary such as the mean, for each unit"
        )


def _laws(
    published: NDArray[np.float64], known: NDArray[np.bool_], secrets: Secrets, query: ColumnQuery,
    declared: Declared | None, rows: NDArray[np.int64] | None,
) -> tuple[dict[str, Discrete], tuple[tuple[str, str], ...], int]:  # fmt: skip
    """The law of each secret that has rows, the secrets that have none, and the number of different values.

    Categories without an order are all values, seen or not: one that nobody has is not near another one."""
    used = known & (secrets.covered() > 0)
    values, places = np.unique(published[used], return_inverse=True)
    if declared is not None:
        values, places = declared.values.copy(), np.searchsorted(declared.values, published[used])
    elif query.nominal:
        values, places = np.arange(float(len(query.categories or ()))), published[used].astype(np.int64)
    values.setflags(write=False)
    counts: dict[int, Counts] = {}
    for layer in secrets.layers:
        counts |= count_pairs(layer[used], places, len(values), None if rows is None else rows[used])
    shared = declared is not None or len(values) * len(counts) <= _SHARED_CELLS
    laws = {}
    for i in sorted(counts):
        places, seen = counts[i]
        if shared:
            spread = np.zeros(len(values), dtype=np.int64)
            spread[places] = seen
            law = Discrete(values, spread)
            object.__setattr__(law, "values", values)  # equal already; one array saves memory and comparisons
        else:
            law = Discrete(values[places], seen)
        laws[secrets.labels[i]] = law
    reason = f"no row with a value of {query.publish}"
    return laws, tuple((label, reason) for label in secrets.labels if label not in laws), len(values)


def _check_pairs(pairs: list[tuple[str, str]], skipped: dict[str, str]) -> None:
    for name in (str(name) for pair in pairs for name in pair):
        if name in skipped:
            raise UsageError(f"secret {name!r} is in the pairs, but the reference has {skipped[name]}")


def _bins_told(query: ColumnQuery, known: Field) -> list[float | str] | None:
    """The bins as a recipe states them: edges, of dates as dates, or an ordering of categories."""
    if query.edges is not None:
        return [edge if known.origin is None else days_text(known.origin, edge) for edge in query.edges]
    return None if query.nominal or query.categories is None else list(query.categories)


def _assumptions(
    query: ColumnQuery, spec: Protect, secrets: Secrets, unit: str | None, public_prior: bool, prior: str,
    sampled: Sampled | None, known: Field,
) -> tuple[str, ...]:  # fmt: skip
    believed = PRIORS[prior] if sampled is None else "every law that the counts cannot rule out"
    found = [
        INDEPENDENT,
        f"beliefs: {believed} of {query.publish} in the reference given each secret of {spec.text}",
        PRIVATE_NUMBERS if public_prior else APART,
        one_row(unit),
    ]
    if query.nominal:
        found.append(f"the categories of {query.publish} have no order, and are declared: none is left out")
    if query.drops:
        found.append(f"whether {query.publish} is missing, or not a number, is treated as public")
    if any(count for _, count in secrets.missing):
        found.append(f"rows whose {spec.text} is missing are left out of the beliefs, and hold no secret")
    found += () if sampled is None else meaning(sampled)
    if known.origin is not None:
        step = "" if known.step == 1 else f", in steps of {known.step} days"
        found.append(
            f"{query.publish} is a date: its number is the days since {known.origin.isoformat()}{step}; noise is in "
            "days, and released numbers are written as the nearest date, which is a function of them alone"
        )
    return tuple(found)


def fitted_laws(
    laws: dict[str, Discrete], prior: str, publish: str, components: int | Literal["bic"] | None = None
) -> Mapping[str, Law]:
    """The empirical laws, or what `prior` makes of the values behind them."""
    if prior == "empirical":
        return laws
    columns = {secret: np.repeat(law.values, law.masses.parts) for secret, law in laws.items()}
    try:
        if prior == "gaussian":
            return {secret: Normal.fit(column) for secret, column in columns.items()}
        if prior == "shared":
            return NormalMixture.fit_shared(columns, 3 if components is None else components)
        wanted: int | Literal["bic"] = "bic" if components is None else components
        return {secret: NormalMixture.fit(column, wanted) for secret, column in columns.items()}
    except BadLaw as error:
        raise BadTable(f"column {publish!r} cannot be fitted for every secret: {error}") from None


# The same beliefs, known as well as a sample knows them: what a scenario without confidence would need with it.


USUAL = Fraction(19, 20)
"""The confidence that comparisons and pages show beside beliefs that are taken as they are."""
AS_SEEN = "the values seen, as if they had been declared"
_MOST_SAMPLED = 5_000


def sampled_of(scenario: Scenario, confidence: Fraction = USUAL) -> Sampled | None:
    """The counts behind a scenario at some confidence; None where its beliefs are not counts of a reference.

    Where the scenario has no confidence of its own, the values seen stand in for the declared ones: the figure is for
    comparison, and says too little if other values may come."""
    if scenario.sampled is not None:
        return replace(scenario.sampled, confidence=confidence)
    if scenario.query is None or scenario.empirical is not None or len(scenario.adversaries) != 1:
        return None
    laws = {secret: law for secret, law in scenario.adversaries[0].items() if isinstance(law, Discrete)}
    counted = all(law.masses.parts.dtype == np.int64 and law.dimension == 1 for law in laws.values())
    if len(laws) != len(scenario.adversaries[0]) or not counted:
        return None
    values = np.unique(np.concatenate([law.values for law in laws.values()]))
    if len(values) > _MOST_SAMPLED:
        return None
    counts = {}
    for secret, law in laws.items():
        row = np.zeros(len(values), dtype=np.int64)
        row[np.searchsorted(values, law.values)] = law.masses.parts
        counts[secret] = tuple(row.tolist())
    apart = scenario.report.overlapping == 0
    ordered = not scenario.query.nominal
    return Sampled(confidence, tuple(values.tolist()), Fixed(counts), ordered, apart, Fraction(0), AS_SEEN)


def counts_of_a_table(scenario: Scenario) -> bool:
    """Whether the beliefs are the frequencies of a reference, taken as they are."""
    return scenario.sampled is None and sampled_of(scenario) is not None


def with_sets(scenario: Scenario, sampled: Sampled) -> Scenario:
    """The scenario with the sets of these counts as beliefs."""
    return replace(scenario, laws=sampled.sets, empirical=sampled.laws, sampled=sampled, report=scenario.report)
