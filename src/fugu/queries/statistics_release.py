"""Statistics of a private table, group by group: what is believed beforehand, and each number with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.cells import OTHER
from fugu.data.field import Field
from fugu.data.frame import FrameKind, TableLike
from fugu.data.private import Private, open_private
from fugu.data.secrets import Protect, ProtectLike, Secrets, read_protect
from fugu.documents.certificate import Certificate
from fugu.documents.promises import second, warnings_of
from fugu.documents.sentences import APART, INDEPENDENT_RECORDS, PRIVATE_NUMBERS, SIZES, UNPROTECTED
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
from fugu.mechanism.mechanism import Mechanism
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.answer import Answer
from fugu.queries.features import MOST_CELLS, Coded, Is, Placed
from fugu.queries.group_noise import Beliefs, GroupNoise, Mask
from fugu.queries.groups import Rows, require_public_groups, rows_of, same_rows
from fugu.queries.kinds import Cell, Options, feature_cells, increasing
from fugu.queries.noised_question import plan_of
from fugu.queries.statistic import StatisticQuestion
from fugu.queries.table_belief import ExpectedGroups, Grouping, PublicGroups
from fugu.scenario.query import require_one_row_each
from fugu.utility.usable import RowsFor
from fugu.visible import Json

# Statistics of a private table, group by group, each number with its interval.
#
# Records are independent and each belongs to one group, so a person's secret touches one group's numbers only:
# releasing all groups spends no more than releasing one.


@dataclass(frozen=True, eq=False, repr=False)
class ProvedStatistic:
    """A query whose mechanisms are proved, for groups of stated sizes; nothing has been drawn.

    `mechanisms`, `sizes`: of each group. `numbers`: where the private table is open, the exact numbers of each group,
    in whole steps."""

    believed: Believed
    mechanisms: dict[str, Mechanism]
    sizes: dict[str, int]
    numbers: dict[str, NDArray[np.float64]] | None = None

    @property
    def statistic(self) -> StatisticQuestion:
        """What is asked."""
        return self.believed.statistic

    @property
    def rows(self) -> int:
        """Of all groups."""
        return sum(self.sizes.values())

    def require_noise(self, allowed: bool) -> None:
        """Refuse to publish an exact number, unless that was said aloud; decided by public facts."""
        if not allowed and any(made.noise.scale == 0 for made in self.mechanisms.values()):
            cells = "what is believed of one record's cell hides its secret already"
            hidden = cells if self.statistic.facts.tabulated else "the other records alone hide each one"
            raise NoiselessRelease(
                f"{hidden} in a group of {self.statistic}; the exact number would be published. Say so "
                "with allow_no_noise=True (--allow-no-noise), or ask for a smaller epsilon or delta"
            )
        for made in () if allowed else self.mechanisms.values():
            made.require_noise()

    @property
    def promised(self) -> Certificate:
        """The certificate that says what all groups promise together: no record is in two of them."""
        return max((made.certificate for made in self.mechanisms.values()), key=second)

    @property
    def exact(self) -> tuple[str, ...]:
        """A sentence for each group whose numbers are called exact, with the probability of that."""
        said = ((group, text) for group, made in self.mechanisms.items() for text in made.certificate.exact_values)
        return tuple(f"{self.statistic}{f' in group {group!r}' if group else ''}: {text}" for group, text in said)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, if so: what the certificates of all groups say aloud."""
        said = (text for made in self.mechanisms.values() for text in warnings_of(made.certificate, self.rows))
        return tuple(dict.fromkeys(said))

    def release(self, allow_no_noise: bool = False) -> tuple[Cell, ...]:
        """Draw every group, once."""
        self.require_noise(allow_no_noise)
        made, numbers = self.mechanisms, self.numbers
        assert numbers is not None  # the table is open
        shown: dict[str, list[Cell]] = {name: [] for name in numbers}
        for name in sorted(made, key=lambda group: float(made[group].noise.scale)):  # tables of one scale made once
            drawn = made[name].release(numbers[name], allow_no_noise=allow_no_noise, already_mapped=True)
            shown[name] = self.cells(name, np.asarray(drawn.values, dtype=np.float64).reshape(-1).tolist())
        return tuple(cell for found in shown.values() for cell in found)

    def cells(self, group: str, drawn: list[float]) -> list[Cell]:
        """What was drawn for a group, with its intervals: counts are whole, and nothing of them is rounded."""
        noise, feature = self.mechanisms[group].noise, self.believed.feature
        half, scale = noise.quantile(0.95), float(noise.scale) * float(feature.step)
        return feature_cells(feature, group, drawn, self.sizes[group], self.statistic.facts.divided, half, scale)

    def answer(self, cells: tuple[Cell, ...], came: FrameKind, note: str) -> Answer:
        """The cells that were drawn, with all that is said of them."""
        feature = self.believed.feature
        axes = tuple((axis.column, axis.names) for axis in feature.axes) if isinstance(feature, Placed) else ()
        recipe = self.believed.recipe(self.sizes)
        return Answer(self.statistic, cells, self.mechanisms, recipe, axes=axes, came=came, note=note)


def rehearse(believed: Believed, budget: Pure | Approx, rows: int) -> ProvedStatistic:
    """What would be proved for a table of so many rows whose groups are as expected; no table is opened."""
    require_odds(budget)
    sizes = dict(believed.expected(rows).sizes)
    return ProvedStatistic(believed, believed.mechanisms(sizes, budget), sizes)


def open_query(
    believed: Believed, table: TableLike, budget: Pure | Approx, rows: RowsFor | None = None
) -> tuple[ProvedStatistic, Private]:
    """Open the private table and prove its mechanisms. Refused: another number of rows than declared, a unit that
    repeats, the reference itself."""
    statistic, by, unit, feature = believed.statistic, believed.by, believed.unit, believed.feature
    public = tuple(name for name in (by, unit) if name is not None)
    private = open_private(table, believed.reading, statistic.columns, public)
    if rows is not None:
        rows.require(len(private))
    require_one_row_each(private.table, unit)
    if len(private) == 0:
        raise BadTable("the table has no rows")
    grouping = believed.grouped(private)
    tables = (believed.known, private.table)
    if not believed.public_prior and same_rows(*([t.exact(n) for n in statistic.columns] for t in tables)):
        raise PriorNotPublic(
            "the reference is the very table to be released, so noise or cells depend on it. Give another table, or "
            "public_prior=True (--public-prior) if what it says counts as public knowledge"
        )
    sizes, place = dict(grouping.sizes), grouping.rows
    assert place is not None  # of the private rows
    mechanisms, codes = believed.mechanisms(sizes, budget), feature.of(believed.reading, private.table)
    cells = feature.top + 1 if believed.tabulated else 1
    totals = np.zeros(len(sizes) * cells, dtype=np.int64)  # counts of cells, or the sum of codes
    if believed.tabulated:
        np.add.at(totals, place * cells + codes, 1)
    else:
        np.add.at(totals, place, codes)
    numbers = dict(zip(sizes, totals.reshape(len(sizes), cells).astype(np.float64), strict=True))
    return ProvedStatistic(believed, mechanisms, sizes, numbers), private


def require_odds(budget: Pure | Approx) -> None:
    """Refuse a budget that is no epsilon, with or without a delta."""
    if not is_guarantee(budget) or budget.renyi:
        raise BadBudget(f"a query takes fugu.Pure or fugu.Approx, got {type(budget).__name__}; convert with to_approx")


def require_known(schema: Schema, reference: Table, columns: tuple[str, ...]) -> None:
    """Missing cells of the reference need a meaning, which the schema or `missing` gives; private ones have one."""
    for name in columns:
        if reference.exact(name).missing.any() and schema.fields[name].missing is None:
            raise MissingValues(
                f"column {name!r} of the reference has missing cells; say what they count as (missing=<value>, or in "
                "the schema), or drop those rows"
            )


# What is believed about a statistic: everything that follows from the question and the reference, before a private
# table is opened. A recipe in a release document leads back to the same beliefs.


_RECIPE = ("query", "protect", "by", "bounds", "step", "bins", "unit", "schema", "missing", "groups")


@dataclass(frozen=True, eq=False)
class Believed:
    """A question about records, as `fugu.answer` is told it, and what one reference says of it.

    `reading`: how records are read for this query: as declared, then as the reference shows. `cells`: the reference as
    it stands; `known`: read; `secrets`: those of its rows."""

    statistic: StatisticQuestion
    protect: ProtectLike
    by: str | None
    bounds: tuple[Real, Real] | None
    step: Real | None
    bins: Sequence[float] | None
    public_prior: bool
    unit: str | None
    schema: Schema | None
    missing: str | float | None
    reading: Schema
    cells: Table
    known: Table
    spec: Protect
    secrets: Secrets

    @staticmethod
    def of(
        reference: TableLike, query: str | StatisticQuestion, protect: ProtectLike, by: str | None = None,
        bounds: tuple[Real, Real] | None = None, step: Real | None = None, bins: Sequence[float] | None = None,
        public_prior: bool = False, unit: str | None = None, schema: Schema | None = None,
        missing: str | float | None = None,
    ) -> Believed:  # fmt: skip
        """What this reference makes of the question."""
        statistic = query if isinstance(query, StatisticQuestion) else StatisticQuestion.of_total(query)
        if bins is not None and (isinstance(bins, Mapping) or len(statistic.columns) > 1):
            raise UsageError(
                "bins are a list of edges for the histogram of one column here; a session takes {column: edges}, also "
                "for a cross-tabulation"
            )
        bins = None if bins is None else increasing(bins, "bins", MOST_CELLS + 1)
        told = schema or Schema({})
        cells = told.open(reference)
        spec = read_protect(protect, cells.columns)
        declared = told.only((*statistic.columns, *(n for n in (by, unit) if n is not None)))
        for name in (unit, by):  # groups are public: none is joined to another
            if name is not None and name not in declared.fields:
                declared = declared.with_field(name, Field("identifier"))
        reading = declared.completed(cells, (*statistic.columns, *declared.fields), numbers=statistic.columns)
        for name in () if missing is None else statistic.columns:
            said = {**reading.fields[name].to_json(), "missing": missing}
            reading = reading.with_field(name, Field.of(name, said))
        believed = reading.completed(cells, spec.columns)
        known = believed.read(cells, [name for name in believed.fields if name in cells.columns])
        require_known(reading, known, statistic.columns)
        secrets = spec.find(known)
        require_public_groups(by, secrets, known)
        asked = (statistic, protect, by, bounds, step, bins, public_prior, unit, schema, missing)
        return Believed(*asked, reading, cells, known, spec, secrets)

    @staticmethod
    def again(recipe: Mapping[str, Any], reference: TableLike) -> Believed:
        """What a reference makes of the question that a recipe states; CertificateError if it is none."""
        if set(recipe) - {"what"} != set(_RECIPE):
            raise CertificateError(f"the recipe of a statistic has the parts {', '.join(_RECIPE)}")
        bounds, step, schema = recipe["bounds"], recipe["step"], recipe["schema"]
        return Believed.of(
            reference,
            **{name: recipe[name] for name in ("query", "protect", "by", "unit", "missing")},
            bins=None if recipe["query"].startswith("crosstab") else recipe["bins"],  # ignored there before 0.4
            bounds=None if bounds is None else (read_number(bounds[0]), read_number(bounds[1])),
            step=None if step is None else as_fraction(read_number(step)),
            schema=None if schema is None else Schema.from_json(schema),
        )

    @cached_property
    def masks(self) -> Mapping[str, Mask]:
        """The rows of the reference that hold each secret."""
        return self.secrets.masks()

    @property
    def tabulated(self) -> bool:
        """Whether it is one count for each of several cells."""
        return self.statistic.facts.tabulated

    @cached_property
    def feature(self) -> Coded | Is | Placed:
        """How one record counts in a sum, or the cells of a table of counts, where many numbers need edges."""
        options = Options(self.bounds, self.step, self.bins)
        (feature,) = plan_of(self.statistic, self.reading, self.known, options).features
        assert isinstance(feature, Coded | Is | Placed)  # the kinds of a total
        return feature

    @property
    def skipped(self) -> tuple[str, ...]:
        """Secrets without a row in the reference; a table of counts then uses no belief, and skips none."""
        if self.tabulated:
            return ()
        return tuple(label for label, mask in self.masks.items() if not mask.any())

    def mechanisms(self, sizes: Mapping[str, int], budget: Pure | Approx) -> dict[str, Mechanism]:
        """The proved mechanism of each group, which depends on the sizes of the groups only."""
        noise = self.noise(budget)
        return {name: noise.mechanism(name, sizes[name], rows) for name, rows in self._rows(sizes)}

    def laws(self, sizes: Mapping[str, int], budget: Pure | Approx) -> dict[str, Beliefs]:
        """What is believed of the sum of each group, given how many rows it has, or of one record's cell in it."""
        noise = self.noise(budget)
        return {name: noise.beliefs(sizes[name], rows)[0] for name, rows in self._rows(sizes)}

    def noise(self, budget: Pure | Approx) -> GroupNoise:
        """From which the mechanism of every group is worked out."""
        feature, tabulated, secrets = self.feature, self.tabulated, self.masks
        told: Json = {"query": str(self.statistic)}
        if isinstance(feature, Placed):
            told |= {"cells": feature.labels}
            secrets = {**self._declared, **secrets}
        else:
            told |= {"low": str(feature.low), "step": str(feature.step), "steps": feature.top}
            told |= {"averaged": self.statistic.facts.divided}
        none = (UNPROTECTED + ", ".join(self.skipped),) if self.skipped else ()
        stated = (INDEPENDENT_RECORDS, SIZES, PRIVATE_NUMBERS if self.public_prior else APART, *none)
        codes = feature.of(self.reading, self.known)
        return GroupNoise(codes, secrets, feature.top, tabulated, budget, stated, self.reading, self.by, told)

    @property
    def _declared(self) -> dict[str, Mask]:
        """The categories of a protected column that the schema declares, as if the reference had none of them."""
        protect, schema = self.protect, self.schema
        if schema is None or not isinstance(protect, str) or protect not in schema.fields:
            return {}
        declared = (label for label in schema.fields[protect].values or () if label != OTHER)
        return dict.fromkeys(declared, np.zeros(len(self.known), dtype=bool))

    def expected(self, rows: int) -> Grouping:
        """The groups to expect in a table of so many rows: the reference's, scaled, and those declared."""
        if self.by is None:
            return Grouping({"": rows}, None)
        return ExpectedGroups(self.reading, self.cells, self.secrets, rows).of(self.by)

    def grouped(self, private: Private) -> Grouping:
        """The groups of the private table, which are public, under the names that they have in the reference."""
        if self.by is None:
            return Grouping({"": len(private)}, None, np.zeros(len(private), dtype=np.int64))
        return PublicGroups(self.reading, self.cells, self.secrets, private).of(self.by)

    def _rows(self, groups: Iterable[str]) -> list[tuple[str, Rows | None]]:
        """The rows of the reference that belong to each group; None where it cannot tell."""
        labels = self.expected(len(self.known)).known
        if labels is None:
            return [(name, None) for name in groups]
        names, codes = np.unique(labels.astype(str), return_inverse=True)
        rows = dict(zip(names.tolist(), rows_of(codes.reshape(-1), len(names)), strict=True))
        return [(name, rows.get(name, np.zeros(0, dtype=np.int64))) for name in groups]

    def recipe(self, groups: Mapping[str, int]) -> Json | None:
        """The question and the public sizes of the groups, in JSON types, so that beliefs can be fitted again; None for
        a predicate in code."""
        if self.spec.json is None:
            return None
        feature, summed = self.feature, not self.tabulated
        ends = [str(feature.low), str(feature.low + feature.step * feature.top)]
        return {
            "query": str(self.statistic), "protect": self.spec.json, "by": self.by,
            "bounds": ends if summed else None, "step": str(feature.step) if summed else None,
            "bins": None if self.bins is None else [float(edge) for edge in self.bins], "unit": self.unit,
            "schema": None if self.schema is None else self.schema.to_json(), "missing": self.missing,
            "groups": dict(groups),
        }  # fmt: skip
