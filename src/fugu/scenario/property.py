"""A property of the whole data set is the secret: which share of its records has it (distribution privacy).

Given the share p, a data set of n records has exactly floor(n p + 1/2) records with the property; those are drawn from
the reference's records that have it, the others from those that have not. A statistic that is a sum over records then
has mean and covariance in closed form (`fugu.scenario.property_statistic`); that it is normal is an assumption, and
stated. `fugu.scenario.swap` needs no such assumption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.data import Table, read_table
from fugu.data.conditions import Mask
from fugu.data.sources import TableLike
from fugu.errors import BadTable, ColumnNotFound, UnknownName, UsageError
from fugu.numbers.checks import is_list, is_path
from fugu.numbers.exact import Real, as_fraction, is_whole, number
from fugu.scenario.moves import said
from fugu.scenario.property_model import PropertyModel, assumptions, given_shares, proved_shares
from fugu.scenario.property_statistic import RecordStatistic, condition, holding, present, read_bounds
from fugu.scenario.scenario import Report, Scenario


def from_property(
    reference: TableLike,
    statistics: Sequence[str],
    property: str,
    size: int,
    values: Sequence[Real] | None = None,
    tolerance: Real = 0.1,
    bounds: Mapping[str, tuple[Real, Real]] | None = None,
    replacement: bool = True,
    missing: Literal["error", "drop"] = "error",
) -> Scenario:
    """Statistics of `size` records, given the share that has a property; near shares must look alike.

    Parameters: `reference` as in `from_table`; `statistics` such as ["mean(age)", "count(sex=F)"]; `property` such as
    "income=>50K"; `values`, the shares themselves (then nothing is proved for others), or None for all; `tolerance` in
    (0, 1], how far apart two shares may be that must look alike; `bounds`, {column: (low, high)}; `replacement`,
    whether records are drawn with it; `missing`, "error" or "drop".

    The laws given each share are normal. Mean A (k m_1 + (n - k) m_0), covariance A (k C_1 + (n - k) C_0) A, k =
    floor(n p + 1/2); without replacement k C_1 becomes k (1 - k/N_1) C_1. m, C: mean and covariance (divided by N - 1)
    of the reference's records."""
    asked = _statistics(statistics)
    wide, near = _size(size), number(tolerance, "tolerance")
    if not 0 < near <= 1:
        raise UsageError(f"tolerance must be in (0, 1], got {said(near)}")
    named = None if values is None else given_shares(values, near)
    if not isinstance(property, str):
        raise UsageError(f'property must be text such as "income=>50K", got {type(property).__name__}')
    column, value = condition(property, "a property", "income=>50K")
    if missing not in _MISSING:
        raise UnknownName("choice for missing values", missing, tuple(_MISSING))
    ends = read_bounds(bounds, asked)
    whole = _needed(reference, [column, *(s.column for s in asked)])
    gone = tuple((name, int(whole.exact(name).missing.sum())) for name in whole.columns)
    table = _MISSING[missing](whole)
    having = holding(present(table, column), value)
    _check_reference(having, f"{column}={value}", wide)
    rows = np.column_stack([_clipped(s.numbers(table), ends.get(s.column)) for s in asked])
    ranges = tuple(
        Fraction(1)
        if s.equals is not None
        else ends[s.column][1] - ends[s.column][0]
        if s.column in ends
        else _range(x)
        for s, x in zip(asked, rows.T, strict=True)
    )
    shares = named or proved_shares(wide, near, len(asked), None if replacement else (having.sum(), (~having).sum()))
    model = PropertyModel(
        f"{column}={value}",
        asked,
        wide,
        near,
        shares,
        ranges,
        ends,
        bool(replacement),
        rows[having],
        rows[~having],
    )
    _check_counts(model)
    return Scenario(
        model.laws(),
        [(model.labels[i], model.labels[j]) for i, j in model.pairs],
        report=Report(rows=len(whole), used=len(table), missing=gone),
        assumptions=assumptions(model),
        property=model,
    )


def _statistics(texts: object) -> tuple[RecordStatistic, ...]:
    if not is_list(texts) or not texts:
        raise UsageError('statistics must be a list such as ["mean(age)", "count(sex=Female)"]')
    found = tuple(RecordStatistic.parse(text) for text in texts)
    if len(set(found)) < len(found):
        raise UsageError("one of the statistics is asked for twice; give each once")
    return found


def _size(size: object) -> int:
    if not is_whole(size, least=2):
        raise UsageError(
            f"size, the number of records of a data set, must be a whole number of at least 2, got {size!r}"
        )
    return int(size)  # type: ignore[call-overload, no-any-return]


def _needed(reference: object, names: Sequence[str]) -> Table:
    table = read_table(reference) if is_path(reference) else Table(reference)
    for name in names:
        if name not in table.columns:
            raise ColumnNotFound(name, table.columns)
    return table.select(names)


def _complete(table: Table) -> Table:
    columns = [table.exact(name) for name in table.columns]
    kept = ~np.any([column.missing for column in columns], axis=0)
    return Table({column.name: column.values[kept] for column in columns})


def _check_reference(having: Mask, name: str, size: int) -> None:
    if len(having) < size:
        raise BadTable(
            f"the reference has {len(having)} records, fewer than the {size} of a data set; give a larger reference"
        )
    for found, what in ((int(having.sum()), "with"), (int((~having).sum()), "without")):
        if found < 2:
            raise BadTable(
                f"{found or 'no'} record{'' if found == 1 else 's'} {what} {name} in the reference, and at least 2 are "
                "needed; check the value's spelling, blanks and dots"
            )


def _check_counts(model: PropertyModel) -> None:
    if model.swapped == 0:
        raise UsageError("all values give the same number of records; use a larger size, tolerance, or other values")
    if not model.replacement:
        most, least = max(model.counts), min(model.counts)
        if most > len(model.having) or model.size - least > len(model.lacking):
            raise BadTable(
                "a class of the reference has fewer records than a data set would take without replacement; give a "
                "larger reference, a smaller size, or replacement=True"
            )


def _clipped(numbers: NDArray[np.float64], ends: tuple[Fraction, Fraction] | None) -> NDArray[np.float64]:
    return numbers if ends is None else np.clip(numbers, float(ends[0]), float(ends[1]))


def _range(numbers: NDArray[np.float64]) -> Fraction:
    return as_fraction(float(numbers.max())) - as_fraction(float(numbers.min()))


_MISSING: dict[str, Callable[[Table], Table]] = {"error": lambda table: table, "drop": _complete}
"""What becomes of records with missing values; those that stay are refused."""
