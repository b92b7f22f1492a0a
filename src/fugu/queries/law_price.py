"""`LawPrice`: the price by the law of a total. What one record's secret tells of a statistic of its public group, the
laws behind that, and the least noise that hides it.

A column that groups the rows is published, so every adversary knows a record's group. Two of them are protected
against: one who believes the pooled laws, and one who believes the laws given the group. Where the reference is too
thin for the latter, or a secret does not occur in the group, no belief is used at all: plain differential privacy.
Records are independent and each belongs to one group, so a person's secret touches one group's numbers only: releasing
all groups spends no more than releasing one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.cells import OTHER
from fugu.data.field import Field
from fugu.data.frame import TableLike
from fugu.data.private import Private
from fugu.data.secrets import Protect, ProtectLike, Secrets, read_protect
from fugu.data.spark import SparkColumns
from fugu.documents.certificate import Certificate
from fugu.documents.promises import warnings_of, weakest
from fugu.documents.reading import frozen
from fugu.documents.sentences import (
    APART,
    INDEPENDENT_RECORDS,
    ONE_RECORD,
    PRIVATE_NUMBERS,
    SIZES,
    TOTALS,
    UNPROTECTED,
    one_row,
)
from fugu.errors import (
    BadBudget,
    BadTable,
    CertificateError,
    MissingValues,
    NoiselessRelease,
    PriorNotPublic,
    UsageError,
)
from fugu.guarantee import Approx, Pure, is_guarantee
from fugu.laws import CellLaw, Discrete, LawPair, Shifted
from fugu.laws.discrete import sum_of
from fugu.loss.histograms import gaussian_delta
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.release import Once
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import Gaussian
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.answer import answered, cells_of, counted
from fugu.queries.features import MOST_CELLS, Coded, Codes, Is, Placed, ranged
from fugu.queries.groups import (
    ExpectedGroups,
    Grouping,
    PublicGroups,
    Rows,
    declared_schema,
    open_table,
    require_column,
    require_public_groups,
    rows_of,
    same_rows,
)
from fugu.queries.kinds import Cell, Options, StatisticKind, feature_cells, increasing
from fugu.queries.statistic import StatisticQuestion, plan_of
from fugu.utility.usable import RowsFor
from fugu.visible import Json, several

LEAST_ROWS = 30
"""Reference rows that every secret needs in a group before its laws given the group are believed."""
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
Beliefs = list[LawPair | Shifted]
"""What is believed of a sum or of a cell: laws, or that it moves by at most so much."""
TWO = "two adversaries: 1 believes the pooled laws, 2 believes the laws given the group"
LACKING = "the reference has no column {!r}: a record's group says nothing beyond its secret"
ALONE = "one record's law alone: the other records only add randomness, which is post-processing"
OTHERS = "the other records of a group follow the pooled law of the reference, whatever the group"
OTHERS_HERE = "for adversary 2 the other records of a group follow the law of that group in the reference"
PLAIN_SUM = (
    "plain differential privacy: one record may hold anything within the bounds, and no belief is used, since a secret "
    f"has fewer than {LEAST_ROWS} rows of this group in the reference"
)
CELLS = (
    "beliefs: the law of one record's cell given its secret, as the reference shows it; the other records may be "
    "anything that is independent of the record and its secret, even known"
)
NO_TOTALS = "no other exact count or total of this table is public, but its number of rows and those of its groups"
PLAIN_CELL = (
    "plain differential privacy: one record may be in any cell, and no belief is used, since a secret has fewer than "
    f"{LEAST_ROWS} rows of the reference here; changing one record changes the counts by at most 2 in all"
)
_SMALL = 2000
_ROUGH = 5e4
"""How finely sums are kept to see whether Gaussian noise could be the better one."""
_RECIPE = ("query", "protect", "by", "bounds", "step", "bins", "unit", "schema", "missing", "groups")


@dataclass(frozen=True, eq=False)
class LawPrice:
    """A question about records, as `fugu.answer` is told it, what one reference says of it, and what it may cost.

    All of it is public, and fixed before a private table is opened. `reading`: how records are read for this query: as
    declared, then as the reference shows. `cells`: the reference as it stands; `known`: read; `secrets`: those of its
    rows. `found`: what was calibrated so far, by the laws: groups that share them share the work.

    Of a table of counts one record's secret tilts the law of its own cell and nothing else, so the loss is that of two
    laws of a cell, whatever the other records are, known ones included (docs/proofs/histograms.md). Of a sum over the
    records of a group it is that of one record's law, and of those of the others that hide it."""

    question: StatisticQuestion
    budget: Pure | Approx
    protect: ProtectLike
    by: str | None
    options: Options
    public_prior: bool
    unit: str | None
    schema: Schema | None
    missing: str | float | None
    reading: Schema
    cells: Table
    known: Table
    spec: Protect
    secrets: Secrets
    found: dict[Hashable, Mechanism] = field(default_factory=dict)

    @staticmethod
    def of(
        reference: TableLike, query: str | StatisticQuestion, protect: ProtectLike, budget: Pure | Approx,
        by: str | None = None, bounds: tuple[Real, Real] | None = None, step: Real | None = None,
        bins: Sequence[float] | None = None, public_prior: bool = False, unit: str | None = None,
        schema: Schema | None = None, missing: str | float | None = None,
    ) -> LawPrice:  # fmt: skip
        """What this reference makes of the question; the parameters are those of `fugu.answer`."""
        if not is_guarantee(budget) or budget.renyi:
            found = type(budget).__name__
            instead = "convert with to_approx" if is_guarantee(budget) else "write fugu.Pure(0.5) for epsilon 0.5"
            raise BadBudget(f"a query takes fugu.Pure or fugu.Approx, got {found}; {instead}")
        require_column(by=by, unit=unit)
        question = query if isinstance(query, StatisticQuestion) else StatisticQuestion.of_total(query)
        if bins is not None and (isinstance(bins, Mapping) or len(question.columns) > 1):
            raise UsageError(
                "bins are a list of edges for the histogram of one column here; a session takes {column: edges}, also "
                "for a cross-tabulation"
            )
        options = Options(bounds, step, None if bins is None else increasing(bins, "bins", MOST_CELLS + 1))
        told = declared_schema(schema)
        cells = told.open(reference)
        spec = read_protect(protect, cells.columns)
        if isinstance(cells.source, SparkColumns) and spec.columns is not None and spec.json is not None:
            used = (*question.columns, *spec.columns, *(() if by is None else (by,)))
            cells = cells.counted(name for name in used if name in cells.columns)
        declared = told.only((*question.columns, *(n for n in (by, unit) if n is not None)))
        for name in (unit, by):  # groups are public: none is joined to another
            if name is not None and name not in declared.fields:
                declared = declared.with_field(name, Field("identifier"))
        reading = declared.completed(cells, (*question.columns, *declared.fields), numbers=question.columns)
        for name in () if missing is None else question.columns:
            said = {**reading.fields[name].to_json(), "missing": missing}
            reading = reading.with_field(name, Field.of(name, said))
        believed = reading.completed(cells, spec.columns)
        known = believed.read(cells, [name for name in believed.fields if name in cells.columns])
        for name in question.columns:  # missing cells of the reference need a meaning; private ones have one
            if known.exact(name).missing.any() and reading.fields[name].missing is None:
                raise MissingValues(
                    f"column {name!r} of the reference has missing cells; say what they count as (missing=<value>, or "
                    "in the schema), or drop those rows"
                )
        secrets = spec.find(known)
        require_public_groups(by, secrets, known)
        asked = (question, budget, protect, by, options, public_prior, unit, schema, missing)
        return LawPrice(*asked, reading, cells, known, spec, secrets)

    @staticmethod
    def again(recipe: Mapping[str, Any], reference: TableLike, budget: Pure | Approx) -> LawPrice:
        """What a reference makes of the question that a recipe states; CertificateError if it is none."""
        if set(recipe) - {"what"} != set(_RECIPE):
            raise CertificateError(f"the recipe of a statistic has the parts {', '.join(_RECIPE)}")
        bounds, step, schema = recipe["bounds"], recipe["step"], recipe["schema"]
        return LawPrice.of(
            reference,
            budget=budget,
            **{name: recipe[name] for name in ("query", "protect", "by", "unit", "missing")},
            bins=None if recipe["query"].startswith("crosstab") else recipe["bins"],  # ignored there before 0.4
            bounds=None if bounds is None else (read_number(bounds[0]), read_number(bounds[1])),
            step=None if step is None else as_fraction(read_number(step)),
            schema=None if schema is None else Schema.from_json(schema),
        )

    def recipe(self, groups: Mapping[str, int]) -> Json | None:
        """The question and the public sizes of the groups, in JSON types, so that beliefs can be fitted again; None for
        a predicate in code."""
        if self.spec.json is None:
            return None
        feature, bins = self.feature, self.options.bins
        ends = [str(feature.low), str(feature.low + feature.step * feature.top)]
        return {
            "query": str(self.question), "protect": self.spec.json, "by": self.by,
            "bounds": None if self.tabulated else ends, "step": None if self.tabulated else str(feature.step),
            "bins": None if bins is None else [float(edge) for edge in bins], "unit": self.unit,
            "schema": None if self.schema is None else self.schema.to_json(), "missing": self.missing,
            "groups": dict(groups),
        }  # fmt: skip

    # What follows from the question and the reference

    @property
    def tabulated(self) -> bool:
        """Whether it is one count for each of several cells."""
        return self.question.facts.tabulated

    @cached_property
    def feature(self) -> Coded | Is | Placed:
        """How one record counts in a sum, or the cells of a table of counts; a range that nobody gave is that of the
        reference, never that of the table itself."""
        if self.public_prior and (needed := self._undeclared()):
            raise UsageError(f"{self.question} needs {needed}: the beliefs are fitted on the private table itself, "
                             "whose numbers stay private")  # fmt: skip
        (feature,) = plan_of(self.question, self.reading, self.known, self.options).features
        assert isinstance(feature, Coded | Is | Placed)  # the kinds of a total
        return feature

    def _undeclared(self) -> str:
        """What bounds, edges or cells lack that would else be numbers of the reference, whose cells it does not see."""
        fields = [self.reading.fields[name] for name in self.question.columns if self.reading.fields[name].numeric]
        if not self.tabulated:
            free = self.question.facts.numbers and self.options.bounds is None and any(f.bounds is None for f in fields)
            return "bounds, such as bounds=(0, 400), or a schema that has them" if free else ""
        edges = "bins, such as bins=(0, 200, 400), or " if len(self.question.columns) == 1 else ""
        return f'{edges}a schema that lists the values as "ordered"' if fields and self.options.bins is None else ""

    def _ranged(self, feature: Coded | Is | Placed) -> tuple[str, ...]:
        """That bounds or edges are the reference's range, where none were given."""
        given = self.options.bounds is not None or self.options.bins is not None
        return () if given else ranged(self.reading, self.known, [feature])

    @cached_property
    def masks(self) -> Mapping[str, Mask]:
        """The rows of the reference that hold each secret."""
        return self.secrets.masks()

    @property
    def skipped(self) -> tuple[str, ...]:
        """Secrets without a row in the reference; a table of counts then uses no belief, and skips none."""
        return () if self.tabulated else tuple(label for label, mask in self.masks.items() if not mask.any())

    @cached_property
    def _codes(self) -> Counts:
        """The code, or the cell, of every row of the reference: 0 .. top."""
        return self.feature.of(self.reading, self.known)

    @cached_property
    def _pooled(self) -> dict[str, Counts]:
        """Of all rows. A secret that has none is as protected as the others in a table of counts, which then uses no
        belief; so are the declared categories of a protected column. Of a sum nothing is promised about it."""
        found = self._counts(slice(None))
        if self.tabulated:
            return found
        found = {label: counts for label, counts in found.items() if counts.any()}
        if len(found) < 2:
            raise BadTable(f"the reference has rows for {several(len(found), 'secret')}; at least two are needed")
        return found

    def _counts(self, rows: Rows | slice) -> dict[str, Counts]:
        """Counts of codes given each secret, among these rows of the reference."""
        codes, size, masks = self._codes[rows], self.feature.top + 1, dict(self.masks)
        protect, schema = self.protect, self.schema
        if self.tabulated and schema is not None and isinstance(protect, str) and protect in schema.fields:
            declared = (label for label in schema.fields[protect].values or () if label != OTHER)
            masks = dict.fromkeys(declared, np.zeros(len(self.known), dtype=bool)) | masks
        often = self.cells.counts[rows]
        return {label: _often(codes[mask[rows]], often[mask[rows]], size) for label, mask in masks.items()}

    @cached_property
    def _written(self) -> tuple[tuple[str, ...], Json, Json]:
        """What is assumed, what is asked and how records are read, as certificates say it; frozen for all groups."""
        feature = self.feature
        told: Json = {"query": str(self.question)}
        if isinstance(feature, Placed):
            told |= {"cells": feature.labels}
        else:
            told |= {"low": str(feature.low), "step": str(feature.step), "steps": feature.top}
            told |= {"averaged": self.question.facts.divided}
        none = (UNPROTECTED + ", ".join(self.skipped),) if self.skipped else ()
        apart = PRIVATE_NUMBERS if self.public_prior else APART
        stated = (INDEPENDENT_RECORDS, SIZES, one_row(self.unit), apart, *none, *self._ranged(feature))
        return stated, frozen(told), frozen(self.reading.to_json())

    def groups_of(self, private: Private | None, rows: int) -> Grouping:
        """The groups of the private table, which are public, under the names that they have in the reference; without
        one those to expect in a table of so many rows: the reference's, scaled, and those declared."""
        if private is None:
            return ExpectedGroups(self.reading, self.cells, self.secrets, rows).of(self.by)
        return PublicGroups(self.reading, self.cells, self.secrets, private).of(self.by)

    # The noise of each group

    def rehearse(self, rows: int) -> LawNoise:
        """What would be proved for a table of so many rows whose groups are as expected; no table is opened."""
        grouping = self.groups_of(None, rows)
        return LawNoise(self, self.mechanisms(grouping.sizes), grouping)

    def open(self, table: TableLike, rows: RowsFor | None = None) -> LawNoise:
        """Open the private table and prove its mechanisms. Refused: another number of rows than declared, a unit that
        repeats, the reference itself."""
        columns, public = self.question.columns, tuple(name for name in (self.by, self.unit) if name is not None)
        private = open_table(table, self.reading, columns, self.unit, rows, public)
        grouping, there = self.groups_of(private, len(private)), Private(self.reading, columns, self.cells)
        if not self.public_prior and same_rows(there, private, ((name, None) for name in columns)):
            raise PriorNotPublic(
                "the reference is the very table to be released, so noise or cells depend on it. Give another table, "
                "or public_prior=True (--public-prior) if what it says counts as public knowledge"
            )
        return LawNoise(self, self.mechanisms(grouping.sizes), grouping, private)

    def mechanisms(self, sizes: Mapping[str, int]) -> dict[str, Mechanism]:
        """The proved mechanism of each group, which depends on the sizes of the groups only."""
        return {name: self.mechanism(name, sizes[name], rows) for name, rows in self._rows(sizes)}

    def beliefs_of(self, sizes: Mapping[str, int]) -> dict[str, Beliefs]:
        """What is believed of the sum of each group, given how many rows it has, or of one record's cell in it."""
        return {name: self.beliefs(sizes[name], rows)[0] for name, rows in self._rows(sizes)}

    def _rows(self, groups: Iterable[str]) -> list[tuple[str, Rows | None]]:
        """The rows of the reference that belong to each group; None where it cannot tell."""
        labels = self.groups_of(None, len(self.known)).known
        if labels is None:
            return [(name, None) for name in groups]
        names, codes = np.unique(labels.astype(str), return_inverse=True)
        rows = dict(zip(names.tolist(), rows_of(codes.reshape(-1), len(names)), strict=True))
        return [(name, rows.get(name, np.zeros(0, dtype=np.int64))) for name in groups]

    def mechanism(self, name: str, size: int, known: Rows | None) -> Mechanism:
        """The least noise for a group's sum, in steps of the coding, or for its counts. `size`: how many rows it has;
        `known`: its rows of the reference, None if that cannot tell its groups."""
        key, (stated, asked, reading) = self._key(size, known), self._written
        if key not in self.found:
            made, said = self._calibrated(size, known)
            context = replace(made.context, assumptions=(*stated, *said), unit=ONE_RECORD)
            self.found[key] = replace(made, context=context)
        found = self.found[key]
        told = {**asked, "by": self.by, "group": name, "rows": size}
        sealed = found.certificate.amended(found.context.assumptions, ONE_RECORD, reading, told)
        return replace(found, certificate=sealed, once=Once())

    def laws(self, known: Rows | None) -> dict[str, dict[str, Counts]]:
        """{adversary: {secret: counts of codes}}; empty where no belief is used."""
        pooled = self._pooled
        if self.tabulated and (self.feature.top < 1 or _thin(pooled)):
            return {}
        if self.by is None or known is None:
            return {"": pooled}
        inside = {label: counts for label, counts in self._counts(known).items() if label in pooled}
        return {} if _thin(inside) else {"adversary 1: ": pooled, "adversary 2: ": inside}

    def _key(self, size: int, known: Rows | None) -> Hashable:
        """What the laws of a group follow from: two groups of one key have the same."""
        laws, values = self.laws(known), self.feature.top + 1
        if not laws:
            return "plain"
        whole = self.tabulated or (size > 1 and taken_alone(size, values, self.budget))
        here: Rows | slice = slice(0) if self.by is None or known is None else known
        others = _often(self._codes[here], self.cells.counts[here], values).tobytes()
        counts = [law.tobytes() for given in laws.values() for law in given.values()]
        return "many" if whole else size, *counts, others

    def beliefs(self, size: int, known: Rows | None) -> tuple[Beliefs, tuple[str, ...]]:
        """What every adversary believes of a group, and what is said of that, last what it rests on."""
        laws, top = self.laws(known), self.feature.top
        if not laws and not self.tabulated:
            return [Shifted(top)], (f"beliefs: {PLAIN_SUM}",)
        if not laws and (top < 1 or not self.budget.delta):
            return [Shifted(2)], (PLAIN_CELL,)
        if not laws:
            one, other = (CellLaw(np.eye(top + 1, dtype=np.int64)[k]) for k in (0, 1))
            return [LawPair(one, other, "any cell vs any other")], (PLAIN_CELL,)
        said = (TWO,) if len(laws) > 1 else () if self.by is None or known is not None else (LACKING.format(self.by),)
        pairs: Beliefs = []
        if self.tabulated:
            for who, given in laws.items():
                cells = {label: CellLaw(counts) for label, counts in given.items()}
                pairs += [LawPair(cells[a], cells[b], f"{who}{a} vs {b}") for a, b in combinations(cells, 2)]
            return pairs, (*said, CELLS, NO_TOTALS)
        values, note = np.arange(top + 1), ""
        for (who, given), rows in zip(laws.items(), (slice(None), known), strict=False):
            pooled = Discrete(values, _often(self._codes[rows], self.cells.counts[rows], top + 1))
            own = {label: Discrete(values, counts) for label, counts in given.items()}
            found, note = sum_pairs(own, pooled, size, self.budget, who)
            pairs += found
        if note != ALONE:  # else nothing is assumed of the others but independence
            said = (*said, OTHERS, *([OTHERS_HERE] if TWO in said else []))
        return pairs, (*said, f"beliefs: {note}")

    def _calibrated(self, size: int, known: Rows | None) -> tuple[Mechanism, tuple[str, ...]]:
        """The least noise, and what is said. No support of a law is used to move values: a number is what it is.

        On counts Laplace noise, or Gaussian noise where that has the smaller error: with a delta that is not small."""
        from fugu.calibration.driver import calibrate

        pairs, said = self.beliefs(size, known)
        if not self.tabulated:
            alone = said[-1] == f"beliefs: {ALONE}"
            found = calibrate(pairs, self.budget, noise="laplace" if alone else "best", grid=1)
            return replace(found, support=None), said
        found = calibrate(pairs, self.budget, noise="laplace", grid=1)
        if self.budget.delta and self.feature.top > 0 and self._gaussian_may_win(found, known):
            other = calibrate(pairs, self.budget, noise="gaussian", grid=1)
            found = min(found, other, key=lambda m: m.noise.expected_error())
        return found, said

    def _gaussian_may_win(self, found: Mechanism, known: Rows | None) -> bool:
        """Whether Gaussian noise of the same expected error comes near the budget, seen roughly."""
        if found.noise.silent:
            return False
        ask = self.budget.asks()
        same = Gaussian(found.noise.expected_error() * math.sqrt(math.pi / 2), 1)
        pairs = [pair for given in self.laws(known).values() for pair in combinations(given.values(), 2)]
        pairs = pairs or [(np.array([1, 0]), np.array([0, 1]))]
        target = float(ask.delta)
        rough = (
            gaussian_delta(p, q, same.precision, ask.epsilon, target, _ROUGH)
            for one, other in pairs
            for p, q in ((one, other), (other, one))
        )
        return all(value <= 1.5 * target for value in rough)


@dataclass(frozen=True, eq=False, repr=False)
class LawNoise:
    """A question with its noise, by the law of its total: the proved mechanism of each group; nothing has been drawn.

    `grouping`: the groups and their stated sizes. `private`: the table, where it is open."""

    price: LawPrice
    mechanisms: dict[str, Mechanism]
    grouping: Grouping
    private: Private | None = None
    silent: bool = False
    """Whether exact numbers may go out, which was said aloud."""

    @property
    def question(self) -> StatisticQuestion:
        """What is asked."""
        return self.price.question

    @property
    def facts(self) -> StatisticKind:
        """The facts of its kind."""
        return self.question.facts

    @property
    def features(self) -> tuple[Coded | Is | Placed]:
        """What is summed or counted."""
        return (self.price.feature,)

    @property
    def rows(self) -> int:
        """Of all groups."""
        return sum(self.grouping.sizes.values())

    @property
    def opened(self) -> Private:
        """The private table; a rehearsal has none."""
        assert self.private is not None
        return self.private

    def require_noise(self) -> None:
        """Refuse to publish an exact number, unless that was said aloud; decided by public facts."""
        if not self.silent and any(made.noise.scale == 0 for made in self.mechanisms.values()):
            cells = "what is believed of one record's cell hides its secret already"
            hidden = cells if self.facts.tabulated else "the other records alone hide each one"
            raise NoiselessRelease(
                f"{hidden} in a group of {self.question}; the exact number would be published. Say so "
                "with allow_no_noise=True (--allow-no-noise), or ask for a smaller epsilon or delta"
            )
        for made in () if self.silent else self.mechanisms.values():
            made.require_noise(cap=False)

    @property
    def certificates(self) -> dict[str, Certificate]:
        """Of each group."""
        return {group: made.certificate for group, made in self.mechanisms.items()}

    @property
    def promised(self) -> Certificate:
        """The certificate that says what all groups promise together: no record is in two of them."""
        found = weakest(self.certificates.values())
        assert isinstance(found, Certificate)
        return found

    @property
    def exact(self) -> tuple[str, ...]:
        """A sentence for each group whose numbers are called exact, with the probability of that."""
        said = ((group, text) for group, made in self.certificates.items() for text in made.exact_values)
        return tuple(f"{self.question}{f' in group {group!r}' if group else ''}: {text}" for group, text in said)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, if so: what the certificates of all groups say aloud."""
        said = (text for made in self.certificates.values() for text in warnings_of(made, self.rows))
        return tuple(dict.fromkeys(said))

    def release(self) -> tuple[Cell, ...]:
        """Draw every group, once."""
        self.require_noise()
        drawn = answered(self, counted(self, self.opened, self.grouping), self.grouping.names)
        return cells_of(self, drawn, self.grouping.sizes)

    def blurred(self, numbers: Codes, names: Sequence[str], source: BitSource) -> list[list[float]]:
        """The numbers of each group with their noise; tables of one scale are made once."""
        del source  # each mechanism draws once, by itself
        made, drawn = self.mechanisms, dict[str, list[float]]()
        exact = dict(zip(names, numbers.astype(np.float64), strict=True))
        for name in sorted(made, key=lambda group: float(made[group].noise.scale)):
            found = made[name].release(exact[name], allow_no_noise=self.silent, already_mapped=True)
            drawn[name] = np.asarray(found.values, dtype=np.float64).reshape(-1).tolist()
        return [drawn[name] for name in names]

    def cells(self, group: str, drawn: Sequence[float], rows: int) -> list[Cell]:
        """What was drawn for a group, with its intervals: counts are whole, and nothing of them is rounded."""
        noise, feature = self.mechanisms[group].noise, self.price.feature
        half, scale = noise.quantile(0.95), float(noise.scale) * float(feature.step)
        return feature_cells(feature, group, drawn, rows, self.facts.divided, half, scale)


def _often(codes: Counts, counts: Counts, size: int) -> Counts:
    """How many rows have each code; `counts`: how many rows each one stands for."""
    return np.bincount(codes, counts, size).astype(np.int64)  # doubles hold whole numbers up to 2^53


def _thin(given: Mapping[str, Counts]) -> bool:
    """Whether a secret has too few rows of the reference for its laws to be believed."""
    return len(given) < 2 or any(int(counts.sum()) < LEAST_ROWS for counts in given.values())


def sum_pairs(
    given: Mapping[str, Discrete], pooled: Discrete, rows: int, budget: Pure | Approx, who: str = ""
) -> tuple[list[LawPair], str]:
    """The laws of the sum of `rows` records given each secret of one of them, and what they rest on.

    `given`: the law of one record's code given each secret; `pooled`: of a record of which nothing is known. Given
    secret s the sum is X_s + (rows - 1) pooled records, independent. A pure budget needs exact laws, and its loss is
    mostly decided in the tails, where the others hide nothing: for large groups the pair of single-record laws is
    taken, which is sound (the others are added after the noise) and assumes nothing of the others' laws."""
    if rows == 1:
        totals, note = given, "one record's law: the group has no other"
    elif taken_alone(rows, len(pooled.values), budget):
        totals, note = given, ALONE
    else:
        others = pooled.iid_sum(rows - 1, method="auto" if budget.delta > 0 else "exact")
        totals = {name: sum_of([law, others]) for name, law in given.items()}
        note = f"one record's law and {rows - 1} {TOTALS}"
    return [LawPair(totals[a], totals[b], f"{who}{a} vs {b}") for a, b in combinations(totals, 2)], note


def taken_alone(rows: int, values: int, budget: Pure | Approx) -> bool:
    """Whether a group is so large that only one record's law is looked at, whatever the others."""
    return not budget.delta > 0 and rows * values > _SMALL
