"""Statistics of a private table, group by group, each number with its interval.

Records are independent and each belongs to one group, so a person's secret touches one group's numbers only: releasing
all groups spends no more than releasing one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Schema, Table
from fugu.data.private import Private, label_of, open_private
from fugu.data.secrets import ProtectLike
from fugu.data.sources import TableLike
from fugu.documents.certificate import Certificate
from fugu.documents.promising import second
from fugu.documents.weakness import warnings_of
from fugu.errors import BadBudget, NoiselessRelease, PriorNotPublic
from fugu.guarantee import Approx, Pure, is_guarantee
from fugu.numbers.exact import Real
from fugu.queries.answered import Answer
from fugu.queries.believing import Asked, Believed
from fugu.queries.cell import Cell
from fugu.queries.grouped import Group, find_groups
from fugu.queries.groups import Sums
from fugu.queries.records import Coding
from fugu.queries.statistic import Statistic
from fugu.queries.tables import Counting, Tables
from fugu.scenario.units import require_one_row_each
from fugu.utility.rows import RowsFor
from fugu.visible import Json


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """One group's exact numbers, in whole steps, the mechanism for them, and what its draw becomes."""

    mechanism: Counting
    exact: NDArray[np.float64]
    shown: Callable[[NDArray[np.float64]], list[Cell]]


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsed:
    """A query whose mechanisms are proved, for groups of stated sizes; no private table is open."""

    statistic: Statistic
    mechanisms: dict[str, Counting]
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
            raise NoiselessRelease(
                f"{self._hidden_by} in a group of {self.statistic}; the exact number would be published. Say so "
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
        return tuple(f"{self.statistic}{_of_group(group)}: {text}" for group, text in said)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, if so: what the certificates of all groups say aloud."""
        said = (text for made in self.mechanisms.values() for text in warnings_of(made.certificate, self.rows))
        return tuple(dict.fromkeys(said))

    @property
    def _hidden_by(self) -> str:
        if self.statistic.tabulated:
            return "what is believed of one record's cell hides its secret already"
        return "the other records alone hide each one"


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Rehearsed):
    """The same with the private table open, and the exact numbers of its groups; nothing has been drawn."""

    parts: dict[str, Part]
    private: Private

    def release(self, allow_no_noise: bool = False) -> Answer:
        """Draw every group, once."""
        self.require_noise(allow_no_noise)
        shown: dict[str, list[Cell]] = {name: [] for name in self.parts}
        for name in sorted(self.parts, key=lambda group: float(self.parts[group].mechanism.noise.scale)):
            part = self.parts[name]  # noise of one scale together, since its tables are made once
            drawn = part.mechanism.release(part.exact, allow_no_noise=allow_no_noise, already_mapped=True)
            shown[name] = part.shown(np.asarray(drawn.values, dtype=np.float64))
        cells = [cell for found in shown.values() for cell in found]
        return Answer(self.statistic, tuple(cells), self.mechanisms, self.recipe, axes=self.axes)


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
    asked = Asked(query, protect, by, bounds, step, bins, unit, schema, missing)
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
    if not believed.public_prior and _same(believed.known, private, statistic.columns):
        raise PriorNotPublic(
            "the reference is the very table to be released, so noise or cells depend on it. Give another table, or "
            "public_prior=True (--public-prior) if what it says counts as public knowledge"
        )
    proved = _proved(believed, groups, budget)
    made: dict[str, Counting] = proved["mechanisms"]
    if statistic.tabulated:
        labels, place = believed.layout.labels, believed.layout.places(reading, private.table)
        counts = {n: np.bincount(place[g.rows], minlength=len(labels)).astype(np.float64) for n, g in groups.items()}
        parts = {name: _counts(name, labels, counts[name], made[name]) for name in groups}
    else:
        codes = believed.how.read(reading, private.table)
        parts = {n: _sum(statistic, believed.how, n, codes[g.rows], made[n]) for n, g in groups.items()}
    return Prepared(**proved, parts=parts, private=private)


def _proved(believed: Believed, groups: dict[str, Group], budget: Pure | Approx) -> dict[str, Any]:
    """The fields of `Rehearsed`: mechanisms for these groups, which depend on their sizes only."""
    statistic, sizes = believed.statistic, {name: len(group.rows) for name, group in groups.items()}
    work: Sums | Tables = believed.tables(budget) if statistic.tabulated else believed.sums(budget)
    axes = tuple((axis.column, axis.labels) for axis in believed.layout.axes) if statistic.tabulated else ()
    return {
        "statistic": statistic, "mechanisms": {name: work.mechanism(name, group) for name, group in groups.items()},
        "rows": sum(sizes.values()), "recipe": believed.recipe(sizes), "axes": axes, "skipped": believed.skipped,
    }  # fmt: skip


def _of_group(group: str) -> str:
    """Which group, in words; nothing where there is one only."""
    return f" in group {group!r}" if group else ""


def _require_budget(budget: Pure | Approx) -> None:
    if not is_guarantee(budget) or budget.renyi:
        raise BadBudget(f"a query takes fugu.Pure or fugu.Approx, got {type(budget).__name__}; convert with to_approx")


def _sum(statistic: Statistic, how: Coding, group: str, codes: NDArray[np.int64], mechanism: Counting) -> Part:
    rows, scale = len(codes), float(mechanism.noise.scale)
    share = rows if statistic.averaged else 1

    def shown(drawn: NDArray[np.float64]) -> list[Cell]:
        value, half = how.value(float(drawn[0]), rows), mechanism.noise.quantile(0.95) * float(how.step)
        ends = ((value - half) / share, (value + half) / share)
        return [Cell(group, "", value / share, *ends, scale * float(how.step) / share)]

    return Part(mechanism, np.array([float(codes.sum())]), shown)


def _counts(group: str, labels: list[str], counts: NDArray[np.float64], mechanism: Counting) -> Part:
    half, scale = mechanism.noise.quantile(0.95), float(mechanism.noise.scale)  # counts are whole: nothing is rounded

    def shown(drawn: NDArray[np.float64]) -> list[Cell]:
        found = zip(labels, drawn.reshape(-1).tolist(), strict=True)
        return [Cell(group, label, v, v - half, v + half, scale) for label, v in found]

    return Part(mechanism, counts, shown)


def _same(known: Table, private: Private, columns: tuple[str, ...]) -> bool:
    """Whether the reference holds the rows of the private table, in any order, as far as the query looks."""
    if len(known) != len(private):
        return False
    one, two = (Counter(zip(*(_labels(t.exact(n)) for n in columns), strict=True)) for t in (known, private.table))
    return one == two


def _labels(column: Column) -> list[str | None]:
    return [None if gone else label_of(cell) for cell, gone in zip(column.values, column.missing, strict=True)]
