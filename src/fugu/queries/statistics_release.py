"""Statistics of a private table, group by group: what is believed beforehand, and each number with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.cells import OTHER
from fugu.data.field import Field
from fugu.data.private import Private, label_of, open_private
from fugu.data.secrets import Protect, ProtectLike, read_protect
from fugu.data.sources import TableLike
from fugu.documents.certificate import Certificate
from fugu.documents.promises import second, warnings_of
from fugu.documents.sentences import APART, INDEPENDENT_RECORDS, PRIVATE_NUMBERS, SIZES, UNPROTECTED
from fugu.errors import BadBudget, CertificateError, NoiselessRelease, PriorNotPublic, UsageError
from fugu.guarantee import Approx, Pure, is_guarantee
from fugu.mechanism.mechanism import Mechanism
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.answer import Answer, Cell
from fugu.queries.features import CellAxis, Coded, Is, Placed, axis_of, placed_by, require_numbers
from fugu.queries.groups import (
    Beliefs,
    Group,
    Mask,
    Sums,
    Tables,
    expected_groups,
    find_groups,
    known_groups,
    require_public_groups,
    same_rows,
)
from fugu.queries.statistic import Statistic, coding, require_known
from fugu.scenario.query import require_one_row_each
from fugu.utility.usable import RowsFor
from fugu.visible import Json

# Statistics of a private table, group by group, each number with its interval.
#
# Records are independent and each belongs to one group, so a person's secret touches one group's numbers only:
# releasing all groups spends no more than releasing one.


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsed:
    """A query whose mechanisms are proved, for groups of stated sizes; no private table is open."""

    statistic: Statistic
    mechanisms: dict[str, Mechanism]
    """The mechanism of each group."""
    rows: int
    recipe: Json | None
    """What was asked, in JSON types, so that beliefs can be fitted again; None for a predicate in code."""
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    """The columns of a table of counts, each with the labels of its cells; none for other statistics."""
    skipped: tuple[str, ...]
    """Secrets that no row of the reference holds: nothing is promised of them."""

    def require_noise(self, allowed: bool) -> None:
        """Refuse to publish an exact number, unless that was said aloud; decided by public facts."""
        if not allowed and any(made.noise.scale == 0 for made in self.mechanisms.values()):
            cells = "what is believed of one record's cell hides its secret already"
            hidden = cells if self.statistic.tabulated else "the other records alone hide each one"
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


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Rehearsed):
    """The same with the private table open, and the exact numbers of its groups; nothing has been drawn."""

    believed: Believed
    numbers: dict[str, NDArray[np.float64]]
    """The exact numbers of each group, in whole steps."""
    sizes: dict[str, int]
    private: Private

    def release(self, allow_no_noise: bool = False) -> Answer:
        """Draw every group, once."""
        self.require_noise(allow_no_noise)
        made, shown = self.mechanisms, {name: list[Cell]() for name in self.numbers}
        for name in sorted(made, key=lambda group: float(made[group].noise.scale)):  # tables of one scale made once
            drawn = made[name].release(self.numbers[name], allow_no_noise=allow_no_noise, already_mapped=True)
            shown[name] = self.cells(name, np.asarray(drawn.values, dtype=np.float64).reshape(-1).tolist())
        cells = [cell for found in shown.values() for cell in found]
        return Answer(self.statistic, tuple(cells), self.mechanisms, self.recipe, axes=self.axes)

    def cells(self, group: str, drawn: list[float]) -> list[Cell]:
        """What was drawn for a group, with its intervals: counts are whole, and nothing of them is rounded."""
        noise, rows = self.mechanisms[group].noise, self.sizes[group]
        half, scale = noise.quantile(0.95), float(noise.scale)
        if self.statistic.tabulated:
            labels = zip(self.believed.layout.labels, drawn, strict=True)
            return [Cell(group, label, v, v - half, v + half, scale) for label, v in labels]
        how, share = self.believed.how, rows if self.statistic.averaged else 1
        value, far = how.total(drawn[0], rows), half * float(how.step)
        ends = ((value - far) / share, (value + far) / share)
        return [Cell(group, "", value / share, *ends, scale * float(how.step) / share)]


def prepare(
    table: TableLike,
    query: str | Statistic,
    protect: ProtectLike,
    budget: Pure | Approx,
    reference: TableLike,
    by: str | None = None,
    bounds: tuple[Real, Real] | None = None,
    step: Real | None = None,
    bins: Sequence[float] | None = None,
    public_prior: bool = False,
    unit: str | None = None,
    schema: Schema | None = None,
    missing: str | float | None = None,
) -> Prepared:
    """Everything of `fugu.answer` but the draw: what is wrong is found here, before anything is charged."""
    _require_budget(budget)
    asked = RecordQuestion(query, protect, by, bounds, step, bins, unit, schema, missing)
    return open_query(asked.of(reference, public_prior), table, budget)


def rehearse(believed: Believed, budget: Pure | Approx, rows: int) -> Rehearsed:
    """What `prepare` would prove for a table of so many rows whose groups are as expected; no table is opened."""
    _require_budget(budget)
    groups = believed.groups(believed.expected(rows))
    return Rehearsed(**_proved(believed, groups, budget))


def open_query(believed: Believed, table: TableLike, budget: Pure | Approx, rows: RowsFor | None = None) -> Prepared:
    """Open the private table and prove its mechanisms. Refused: another number of rows than declared, a unit that
    repeats, the reference itself."""
    asked, statistic, reading = believed.asked, believed.statistic, believed.reading
    public = tuple(name for name in (asked.by, asked.unit) if name is not None)
    private = open_private(table, reading, statistic.columns, public)
    if rows is not None:
        rows.require(len(private))
    require_one_row_each(private.table, asked.unit)
    groups = find_groups(believed.known, private, asked.by)
    tables = (believed.known, private.table)
    if not believed.public_prior and same_rows(*([t.exact(n) for n in statistic.columns] for t in tables)):
        raise PriorNotPublic(
            "the reference is the very table to be released, so noise or cells depend on it. Give another table, or "
            "public_prior=True (--public-prior) if what it says counts as public knowledge"
        )
    proved, sizes = _proved(believed, groups, budget), {name: len(group.rows) for name, group in groups.items()}
    if statistic.tabulated:
        place, cells = believed.layout.of(reading, private.table), believed.layout.top + 1
        exact = {n: np.bincount(place[g.rows], minlength=cells).astype(np.float64) for n, g in groups.items()}
    else:
        codes = believed.how.of(reading, private.table)
        exact = {n: np.array([float(codes[g.rows].sum())]) for n, g in groups.items()}
    return Prepared(**proved, believed=believed, numbers=exact, sizes=sizes, private=private)


def _proved(believed: Believed, groups: dict[str, Group], budget: Pure | Approx) -> dict[str, Any]:
    """The fields of `Rehearsed`: mechanisms for these groups, which depend on their sizes only."""
    statistic, sizes = believed.statistic, {name: len(group.rows) for name, group in groups.items()}
    work = believed.noise(budget)
    axes = tuple((axis.column, axis.names) for axis in believed.layout.axes) if statistic.tabulated else ()
    return {
        "statistic": statistic, "mechanisms": {name: work.mechanism(name, group) for name, group in groups.items()},
        "rows": sum(sizes.values()), "recipe": believed.recipe(sizes), "axes": axes, "skipped": believed.skipped,
    }  # fmt: skip


def _require_budget(budget: Pure | Approx) -> None:
    if not is_guarantee(budget) or budget.renyi:
        raise BadBudget(f"a query takes fugu.Pure or fugu.Approx, got {type(budget).__name__}; convert with to_approx")


# What is believed about a statistic: everything that follows from the question and the reference, before a private
# table is opened. A recipe in a release document leads back to the same beliefs.


_RECIPE = ("query", "protect", "by", "bounds", "step", "bins", "unit", "schema", "missing", "groups")


@dataclass(frozen=True)
class RecordQuestion:
    """A question about records, as `fugu.answer` is told it."""

    query: str | Statistic
    protect: ProtectLike
    by: str | None = None
    bounds: tuple[Real, Real] | None = None
    step: Real | None = None
    bins: Sequence[float] | None = None
    unit: str | None = None
    schema: Schema | None = None
    missing: str | float | None = None

    def of(self, reference: TableLike, public_prior: bool = False) -> Believed:
        """What this reference makes of the question."""
        statistic = self.query if isinstance(self.query, Statistic) else Statistic.parse(self.query)
        cells = (self.schema or Schema({})).open(reference)
        spec = read_protect(self.protect, cells.columns)
        reading = self._reading(cells, statistic)
        believed = reading.completed(cells, spec.columns)
        known = believed.read(cells, [name for name in believed.fields if name in cells.columns])
        require_known(reading, known, statistic.columns)
        secrets = spec.find(known)
        require_public_groups(self.by, secrets, known)
        return Believed(self, statistic, reading, known, spec, secrets.masks(), public_prior)

    def _reading(self, reference: Table, statistic: Statistic) -> Schema:
        """How records are read for this query: as declared, then as the reference shows."""
        by, unit = self.by, self.unit
        declared = (self.schema or Schema({})).only((*statistic.columns, *(n for n in (by, unit) if n is not None)))
        if unit is not None and unit not in declared.fields:
            declared = declared.with_field(unit, Field("identifier"))
        if by is not None and by not in declared.fields:
            declared = declared.with_field(by, Field("identifier"))  # its groups are public: none is joined to another
        found = declared.completed(reference, (*statistic.columns, *declared.fields), numbers=statistic.columns)
        if self.missing is None:
            return found
        for name in statistic.columns:
            said = {**found.fields[name].to_json(), "missing": self.missing}
            found = found.with_field(name, Field.of(name, said))
        return found


@dataclass(frozen=True, eq=False)
class Believed:
    """A question and what one reference says of it."""

    asked: RecordQuestion
    statistic: Statistic
    reading: Schema
    known: Table
    spec: Protect
    masks: Mapping[str, Mask]
    """The rows of the reference that hold each secret."""
    public_prior: bool

    @cached_property
    def how(self) -> Coded | Is:
        """How one record counts in a sum."""
        return coding(self.statistic, self.reading, self.asked.bounds, self.asked.step)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Secrets without a row in the reference; a table of counts then uses no belief, and skips none."""
        if self.statistic.tabulated:
            return ()
        return tuple(label for label, mask in self.masks.items() if not mask.any())

    @property
    def stated(self) -> tuple[str, ...]:
        """What every certificate of this question assumes."""
        none = (UNPROTECTED + ", ".join(self.skipped),)
        own = PRIVATE_NUMBERS if self.public_prior else APART
        return (INDEPENDENT_RECORDS, SIZES, own, *(none if self.skipped else ()))

    @cached_property
    def layout(self) -> Placed:
        """The cells of a table of counts; many numbers need edges."""
        (column, *others), bins = self.statistic.columns, self.asked.bins
        if others or bins is None:
            return placed_by(axis_of(self.reading, self.known, name) for name in self.statistic.columns)
        if len(bins) < 2 or any(a >= b for a, b in pairwise(bins)):
            raise UsageError("bins must be at least two increasing edges")
        require_numbers(self.reading, column)
        return placed_by([CellAxis(column, (), tuple(float(edge) for edge in bins))])

    def noise(self, budget: Pure | Approx) -> Sums | Tables:
        """From which the mechanism of every group is worked out."""
        rest = (budget, self.stated, self.reading, self.asked.by)
        if self.statistic.tabulated:
            codes, secrets = self.layout.of(self.reading, self.known), {**self._declared, **self.masks}
            told: Json = {"query": str(self.statistic), "cells": self.layout.labels}
            return Tables(codes, secrets, self.layout.top, *rest, told)
        how = self.how
        told = {"query": str(self.statistic), "low": str(how.low), "step": str(how.step), "steps": how.top,
                "averaged": self.statistic.averaged}  # fmt: skip
        return Sums(how.of(self.reading, self.known), self.masks, how.top, *rest, told)

    @property
    def _declared(self) -> dict[str, Mask]:
        """The categories of a protected column that the schema declares, as if the reference had none of them."""
        protect, schema = self.asked.protect, self.asked.schema
        if schema is None or not isinstance(protect, str) or protect not in schema.fields:
            return {}
        declared = (label for label in schema.fields[protect].values or () if label != OTHER)
        return dict.fromkeys(declared, np.zeros(len(self.known), dtype=bool))

    def groups(self, sizes: Mapping[str, int]) -> dict[str, Group]:
        """Groups with so many rows each, and the rows of the reference that belong to them."""
        by = self.asked.by
        known = [("", None)] if by is None else known_groups(self.known, by, list(sizes))
        return {own: Group(np.arange(sizes[own]), rows) for own, (_, rows) in zip(sizes, known, strict=True)}

    def expected(self, rows: int) -> dict[str, int]:
        """The sizes of the groups to expect in a table of so many rows: the reference's, scaled, and those declared."""
        by = self.asked.by
        if by is None:
            return {"": rows}
        counts: dict[str, int] = {}
        if by in self.known.columns:
            codes, names = self.known.exact(by).codes(strict=False)
            each = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
            counts = dict(zip(map(label_of, names.tolist()), each, strict=True))
        return expected_groups(counts, self.reading.fields[by].values or (), rows)

    def laws(self, sizes: Mapping[str, int], budget: Pure | Approx) -> dict[str, Beliefs]:
        """What is believed of the sum of each group, given how many rows it has, or of one record's cell in it."""
        noise = self.noise(budget)
        return {own: noise.beliefs(group)[0] for own, group in self.groups(sizes).items()}

    def recipe(self, groups: Mapping[str, int]) -> Json | None:
        """The question and the public sizes of the groups, in JSON types."""
        if self.spec.json is None:
            return None
        asked = self.asked
        return {
            "query": str(self.statistic),
            "protect": self.spec.json,
            "by": asked.by,
            "bounds": None
            if self.statistic.tabulated
            else [str(self.how.low), str(self.how.low + self.how.step * self.how.top)],
            "step": None if self.statistic.tabulated else str(self.how.step),
            "bins": None if asked.bins is None else [float(edge) for edge in asked.bins],
            "unit": asked.unit,
            "schema": None if asked.schema is None else asked.schema.to_json(),
            "missing": asked.missing,
            "groups": dict(groups),
        }


def asked_of(recipe: Mapping[str, Any]) -> RecordQuestion:
    """The question that a recipe states; CertificateError if it is none."""
    if set(recipe) - {"what"} != set(_RECIPE):
        raise CertificateError(f"the recipe of a statistic has the parts {', '.join(_RECIPE)}")
    bounds, step, schema = recipe["bounds"], recipe["step"], recipe["schema"]
    return RecordQuestion(
        recipe["query"],
        recipe["protect"],
        recipe["by"],
        None if bounds is None else (read_number(bounds[0]), read_number(bounds[1])),
        None if step is None else as_fraction(read_number(step)),
        recipe["bins"],
        recipe["unit"],
        None if schema is None else Schema.from_json(schema),
        recipe["missing"],
    )
