"""`answer`: release a statistic of a private table, group by group, each number with its interval.

Records are independent and each belongs to one group, so a person's secret touches one group's numbers only: releasing
all groups spends no more than releasing one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration import calibrate
from fugu.data import Table
from fugu.errors import BadBudget, BadTable, NoiselessRelease, PriorNotPublic, UsageError
from fugu.exact import Real
from fugu.guarantee import Approx, Pure
from fugu.laws import Shifted
from fugu.mechanism import Additive
from fugu.queries.cells import tabulate
from fugu.queries.groups import require_public_groups
from fugu.queries.laws import ALONE, RecordLaws, record_laws, sum_pairs
from fugu.queries.records import Coding, coding
from fugu.queries.statistic import Statistic
from fugu.scenario.disclosure import PRIVATE_NUMBERS
from fugu.scenario.secrets import read_protect
from fugu.scenario.units import require_one_row_each

INDEPENDENT = "records are independent; given its own secret, a record follows the reference's law for that secret"
OTHERS = "the other records of a group follow the pooled law of the reference, whatever the group"
SIZES = "groups and their numbers of rows are public"
OWN_TABLE = PRIVATE_NUMBERS


@dataclass(frozen=True)
class Cell:
    """One released number: its group, its value, and an interval for it that holds with 95 %."""

    group: str
    cell: str
    value: float
    low: float
    high: float
    scale: float


@dataclass(frozen=True)
class Answer:
    """All released numbers of one query and, group by group, the mechanisms that made them."""

    statistic: Statistic
    cells: tuple[Cell, ...]
    mechanisms: dict[str, Additive]

    def columns(self) -> dict[str, list[Any]]:
        """The numbers as columns of a table; group and cell only where there are any."""
        found: dict[str, list[Any]] = {}
        for name in ("group", "cell", "value", "low", "high"):
            column = [getattr(cell, name) for cell in self.cells]
            if name not in ("group", "cell") or any(column):
                found[name] = column
        return found


def answer(
    table: object,
    query: str | Statistic,
    protect: object,
    budget: Pure | Approx,
    reference: object,
    by: str | None = None,
    bounds: tuple[Real, Real] | None = None,
    step: Real | None = None,
    bins: list[float] | None = None,
    allow_no_noise: bool = False,
    public_prior: bool = False,
    unit: str | None = None,
) -> Answer:
    """Release `query` of `table`, hiding what `protect` says of each record from adversaries who believe in
    `reference`.

    >>> clinic = {"sex": ["F", "M"] * 20, "age": [30, 50, 40, 60] * 10, "ward": ["a"] * 40}
    >>> last_year = {"sex": ["F", "M"] * 30, "age": [35, 50, 40, 60] * 15}
    >>> found = answer(clinic, "mean(age)", "sex", Pure(1), reference=last_year, by="ward", bounds=(0, 100))
    >>> [cell.group for cell in found.cells]
    ['a']
    """
    if not isinstance(budget, Pure | Approx):
        raise BadBudget(f"a query takes fugu.Pure or fugu.Approx, got {type(budget).__name__}; convert with to_approx")
    statistic = query if isinstance(query, Statistic) else Statistic.parse(query)
    private = table if isinstance(table, Table) else Table(table)
    known = reference if isinstance(reference, Table) else Table(reference)
    spec = read_protect(protect, known.columns)
    _check_groups(by, spec.columns)
    require_one_row_each(private, unit)
    groups = _groups(private, by)
    if not public_prior and _same(known, private, statistic.columns):
        raise PriorNotPublic(
            "the reference is the very table to be released, so noise or cells depend on it. Give another table, or "
            "public_prior=True (--public-prior) if what it says counts as public knowledge"
        )
    stated = (INDEPENDENT, SIZES, *([OWN_TABLE] if public_prior else []))
    secrets = spec.find(known)
    require_public_groups(by, secrets, known)
    if statistic.kind in ("histogram", "crosstab"):
        return _tables(known, private, statistic, groups, budget, bins, stated)
    how = coding(statistic, bounds, step)
    laws = record_laws(how.read(known), secrets, how.top)
    codes = how.read(private)
    cells, mechanisms = [], {}
    for name, rows in groups.items():
        mechanism = sum_mechanism(laws, int(rows.sum()), budget, stated)
        mechanisms[name] = mechanism
        cells.append(_sum_cell(statistic, how, name, codes[rows], mechanism, allow_no_noise))
    return Answer(statistic, tuple(cells), mechanisms)


def sum_mechanism(laws: RecordLaws, rows: int, budget: Pure | Approx, stated: tuple[str, ...]) -> Additive:
    """The least noise for a sum of that many records, in steps of the coding.

    The support of the law is not used to move values: a sum is whatever it is."""
    pairs, note = sum_pairs(laws, rows, budget)
    others = [] if note == ALONE else [OTHERS]  # alone, nothing is assumed of the others but independence
    found = calibrate(pairs, budget, noise="laplace" if note == ALONE else "best", grid=1)
    assert isinstance(found, Additive)
    context = replace(found.context, assumptions=(*stated, *others, f"beliefs: {note}"), unit="one record")
    return replace(
        found, support=None, context=context, certificate=found.certificate.amended(context.assumptions, "one record")
    )


def _sum_cell(
    statistic: Statistic, how: Coding, group: str, codes: NDArray[np.int64], mechanism: Additive, allow_no_noise: bool
) -> Cell:
    rows = len(codes)
    if mechanism.noise.scale == 0 and not allow_no_noise:
        raise NoiselessRelease(
            f"the other records alone hide each one in a group of {statistic}; the exact number would be published. "
            "Say so with allow_no_noise=True (--allow-no-noise), or ask for a smaller epsilon or delta"
        )
    total = float(mechanism.release(float(codes.sum()), allow_no_noise=allow_no_noise))
    value, half = how.value(total, rows), mechanism.noise.quantile(0.95) * float(how.step)
    share = rows if statistic.kind == "mean" else 1
    return Cell(
        group,
        "",
        value / share,
        (value - half) / share,
        (value + half) / share,
        float(mechanism.noise.scale) * float(how.step) / share,
    )


def _tables(
    known: Table,
    private: Table,
    statistic: Statistic,
    groups: dict[str, NDArray[np.bool_]],
    budget: Pure | Approx,
    bins: list[float] | None,
    stated: tuple[str, ...],
) -> Answer:
    """Histograms and cross-tabulations: changing one record moves at most one count down and one up.

    Coupled, two laws of the whole vector differ by at most 2 in the sum of absolute differences, so Laplace noise of
    scale 2 / epsilon in every cell gives Pure(epsilon), whatever the beliefs about independent records."""
    if isinstance(budget, Approx) and budget.delta > 0:
        raise UsageError("histograms and cross-tabulations are released under a pure budget; leave delta out")
    labels, place = tabulate(known, private, statistic.columns, bins)
    cells: list[Cell] = []
    mechanisms = {}
    for name, rows in groups.items():
        found = calibrate(Shifted(2), Pure(budget.epsilon), grid=1)
        note = "changing one record changes the counts by at most 2 in all"
        assert isinstance(found, Additive)
        context = replace(found.context, assumptions=(*stated, note), unit="one record")
        mechanism = replace(
            found, context=context, certificate=found.certificate.amended(context.assumptions, "one record")
        )
        counts = np.bincount(place[rows], minlength=len(labels)).astype(np.float64)
        noisy = mechanism.release(counts).values
        half = mechanism.noise.quantile(0.95)  # counts are whole: nothing is rounded
        cells.extend(
            Cell(name, label, float(v), float(v) - half, float(v) + half, float(mechanism.noise.scale))
            for label, v in zip(labels, noisy, strict=True)
        )
        mechanisms[name] = mechanism
    return Answer(statistic, tuple(cells), mechanisms)


def _check_groups(by: str | None, protected: tuple[str, ...] | None) -> None:
    """Groups are public, so a secret cannot make them."""
    if by is not None and by in (protected or ()):
        raise UsageError(f"column {by!r} groups the rows, which makes it public, and is protected; group by another")


def _same(known: Table, private: Table, columns: tuple[str, ...]) -> bool:
    """Whether the reference is the private table, as far as the query looks."""
    if len(known) != len(private):
        return False
    pairs = [(known.exact(name).codes(), private.exact(name).codes()) for name in columns]
    return all(np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in pairs)


def _groups(private: Table, by: str | None) -> dict[str, NDArray[np.bool_]]:
    """The rows of each group; a column that groups is public."""
    if len(private) == 0:
        raise BadTable("the table has no rows")
    if by is None:
        return {"": np.ones(len(private), dtype=bool)}
    codes, names = private.exact(by).codes()
    if np.any(codes < 0):
        raise BadTable(f"column {by!r} groups the rows and has missing values; fill them in")
    if len(names) > 1000:
        raise UsageError(f"column {by!r} makes {len(names)} groups; at most 1000 are released at once")
    return {str(name): codes == k for k, name in enumerate(names.tolist())}
