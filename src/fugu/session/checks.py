"""Beliefs of a session's certificate fitted again, and answers far from what its reference makes plausible."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.field import Field
from fugu.data.private import label_of
from fugu.data.secrets import cut_cells, few_rows, read_protect
from fugu.data.sources import TableLike
from fugu.documents.document import canonical_json
from fugu.documents.records import RecordsCertificate, StatedLaw
from fugu.errors import CertificateError
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, read_number
from fugu.queries.features import Placed
from fugu.queries.plan import Options, plan_of
from fugu.queries.pricing import TypeLaws
from fugu.queries.session_certificate import LAPLACE, NoisedQuestion, features_in, noised_in
from fugu.queries.statistic import StatisticQuestion
from fugu.queries.table_belief import TableBelief
from fugu.queries.usable_records import rows_in, unit_of
from fugu.session.answers import SessionAnswer
from fugu.session.books import reading_of
from fugu.utility.plausible import CHANCE, Ends, beyond, plausible_count, plausible_sum
from fugu.visible import brief

if TYPE_CHECKING:
    from fugu.session.session import Session

# The beliefs of a session's certificate, fitted again on a reference: reading, secrets, features and laws.


_RECIPE = {"what", "questions", "protect", "unit", "schema", "rows"}
_SHARED = {"epsilon", "weights", "cap", "allow_no_noise", "grammar"}
"""How the questions shared budget and cap, and the grammar of the line that they came from: no law depends on these,
for each question is written out."""


def check_fitted(certificate: RecordsCertificate, recipe: Mapping[str, Any], reference: TableLike) -> None:
    """CertificateError, in aggregate, unless this reference gives the reading, the secrets, the features and every law
    of the certificate, to the row."""
    if not set(recipe) >= _RECIPE or set(recipe) - _RECIPE - _SHARED:
        raise CertificateError(f"the recipe of many statistics has the parts {', '.join(sorted(_RECIPE))}")
    declared = Schema({}) if recipe["schema"] is None else Schema.from_json(recipe["schema"])
    cells = declared.open(reference)
    spec = read_protect(recipe["protect"], cells.columns)
    reading = reading_of(declared, cells, recipe["unit"])
    if canonical_json(reading.to_json()) != canonical_json(certificate["reading"]):
        raise CertificateError("records are read in another way than this table shows")
    known = reading.read(cells, [name for name in reading.fields if name in cells.columns])
    masks = spec.find(known).masks()
    held = {label: mask for label, mask in masks.items() if mask.any()}
    skipped = [label for label in masks if label not in held]
    if (list(held), skipped, list(known.columns)) != tuple(
        list(certificate[part]) for part in ("secrets", "skipped", "columns")
    ):
        raise CertificateError("the secrets or the columns of this table are not those of the certificate")
    # The features of each question of the recipe are those that its words and options make of this table
    questions = recipe["questions"]
    stated = [(asked.query, tuple(f.name for f in asked.features)) for asked in noised_in(certificate)]
    for told in questions:
        asked = StatisticQuestion.parse(told["query"])
        if asked.sized:
            continue
        bounds, step = told["bounds"], told["step"]
        exact = None if bounds is None else (read_number(bounds[0]), read_number(bounds[1]))
        options = Options(exact, None if step is None else read_number(step), told["bins"], None)
        made = plan_of(asked, reading, known, options)
        if (str(asked), tuple(f.name for f in made.features)) not in stated:
            raise CertificateError(f"the features of {brief(str(asked))} are not those that this table makes of it")
    by = {column for law in certificate.laws for groups in law.known for column in groups}
    groups = {column: _groups(declared, cells, column) for column in by if column in cells.columns}
    _check_laws(certificate, TypeLaws(reading, known, held, groups))


def _groups(declared: Schema, cells: Table, column: str) -> NDArray[np.object_]:
    """The group of each row; "" for none."""
    schema = declared.with_field(column, declared.fields.get(column, Field("identifier")))
    codes, values = schema.column(column, cells.raw(column)).codes(strict=False)
    return np.array([*map(label_of, values.tolist()), ""], dtype=object)[codes]


def _check_laws(certificate: RecordsCertificate, laws: TypeLaws) -> None:
    features, wrong, all_laws = features_in(certificate), [], 0
    for stated in certificate.laws:
        for groups in stated.known:
            all_laws += 1
            found = laws.law(tuple(groups.items()), [features[name] for name in stated.states])
            if found is None or _counts(found) != _counts(stated):
                wrong.append(", ".join(f"{by} {group!r}"[:80] for by, group in groups.items()) or "all records")
    if wrong:
        where = f"{len(wrong)} of {all_laws}, first that of {wrong[0]}"
        raise CertificateError(f"the laws fitted on this table are not those that were proved: {where}")


def _counts(law: StatedLaw) -> Counter[tuple[object, ...]]:
    """How many rows each secret has at each state, whatever the order of the states."""
    names = sorted(law.states)
    columns = [law.states[name].tolist() for name in names]
    states = list(zip(*columns, strict=True)) if columns else [()] * len(next(iter(law.given.values())))
    found: Counter[tuple[object, ...]] = Counter()
    for secret, counts in law.given.items():
        for state, count in zip(states, counts.tolist(), strict=True):
            found[secret, *state] += count
    return Counter({key: count for key, count in found.items() if count})


# Which published answers of a session lie far from what its reference makes plausible; all of it is public.


_KINDS: Final = ("count", "proportion", "sum", "mean", "histogram", "crosstab")
_MOST: Final = 200
"""Numbers of one answer that are looked at."""


def implausible(session: Session, answers: Sequence[SessionAnswer]) -> tuple[str, ...]:
    """One sentence for each published number that lies far outside: a function of it, its noise and the reference."""
    certificate, belief = session.certificate, session._belief
    known = {asked.query: asked for asked in noised_in(certificate)}
    said = []
    for answer in answers:
        asked = known.get(str(answer.question))
        if asked is None or asked.law != LAPLACE or asked.kind not in _KINDS:
            continue
        for cell in answer.cells[:_MOST]:
            name = ", ".join(filter(None, (asked.query, cell.group, cell.cell)))
            ends = _expected(belief, asked, rows_in(certificate, asked.by, cell.group), cell.group, cell.cell)
            said.append(None if ends is None else beyond(name, cell.value, ends))
    return tuple(sentence for sentence in said if sentence is not None)


def weak_reference(session: Session, questions: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """What is to be said of the reference before anything is asked: few rows for a secret, bounds that cut much of it.

    `questions`: as `Session.ask_all` takes them, each a dict."""
    belief = session._belief
    bounds: dict[str, tuple[Real, Real] | None] = {}
    for asked in questions:
        for name in StatisticQuestion.parse(str(asked["query"])).columns:
            bounds[name] = cast("tuple[Real, Real] | None", asked.get("bounds"))
    few = few_rows({secret: int(mask.sum()) for secret, mask in belief.masks.items()})
    return (*few, *cut_cells(session._facts.reference, belief.reading, bounds))


def _expected(belief: TableBelief, asked: NoisedQuestion, rows: int, group: str, cell: str) -> Ends | None:
    """What the reference says of a number; None where no row of it is in the group, or lacks the column."""
    first, here = asked.features[0], _rows(belief, asked.by, group)
    if here is None or group not in asked.rates or any(name not in belief.table.columns for name in first.columns):
        return None
    codes = first.of(belief.reading, belief.table).astype(np.float64)
    parts = [codes[mask & here] for mask in belief.masks.values() if (mask & here).any()]
    if not parts:
        return None
    unit, reference = unit_of(asked, rows), sum(map(len, parts))
    noise = Laplace(1 / asked.rates[group][0], grid=1).quantile
    if isinstance(first, Placed) and cell not in first.labels:
        return None
    if isinstance(first, Placed) or asked.kind in ("count", "proportion"):
        wanted = first.labels.index(cell) if isinstance(first, Placed) else 1
        laws = [(float((part == wanted).sum()), float(len(part))) for part in parts]
        return plausible_count(laws, rows, unit, noise)
    means, spread = [float(part.mean()) for part in parts], max(float(part.std()) for part in parts)
    low = float(first.low) * (1 if asked.kind == "mean" else rows)
    ends = (low + rows * unit * min(means), low + rows * unit * max(means))
    reach = noise(1 - CHANCE / 2) * unit
    return plausible_sum(*ends, spread, rows * unit, rows, reference, reach) if math.isfinite(spread) else None


def _rows(belief: TableBelief, by: str | None, group: str) -> NDArray[np.bool_] | None:
    """The rows of the reference in a group; all without groups, None where it does not have the column."""
    if by is None:
        return np.ones(len(belief.table), dtype=bool)
    known = belief.groups.of(by).known
    return None if known is None else np.asarray(known == group, dtype=bool)
