"""A property of the whole data set is the secret: which share of its records has it (distribution privacy).

Given the share p, a data set of n records has exactly floor(n p + 1/2) records with the property; those are drawn from
the reference's records that have it, the others from those that have not. A statistic that is a sum over records then
has mean and covariance in closed form (`fugu.scenario.property_statistic`); that it is normal is an assumption, and
stated. `fugu.scenario.swap` needs no such assumption."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Table, read_table
from fugu.data.frame import TableLike
from fugu.documents.sentences import APART
from fugu.errors import BadTable, ColumnNotFound, UnknownName, UsageError
from fugu.laws import Law, MultivariateNormal, Normal
from fugu.laws.multinormal import ClassMoments, mixed_law
from fugu.numbers.checks import is_list, is_path, is_row
from fugu.numbers.exact import Real, as_fraction, is_whole, number
from fugu.scenario.moves import said
from fugu.scenario.property_statistic import (
    Classes,
    Moments,
    RecordStatistic,
    condition,
    holding,
    one_record,
    present,
    read_bounds,
)
from fugu.scenario.scenario import Report, Scenario

_MISSING = ("error", "drop")
_TOO_FEW = (
    "a class of the reference has fewer records than a data set would take without replacement; give a larger "
    "reference, a smaller size, or replacement=True"
)
TOGETHER = "the statistics are published once, together"
MOVED = "statistics outside the ranges that this leaves are moved to their ends before noise is added"


@final
@dataclass(frozen=True, eq=False)
class PropertyModel:
    """How the statistics of n records follow from the records, and which numbers of records must look alike."""

    name: str
    """The property, "income=>50K"."""
    statistics: tuple[RecordStatistic, ...]
    size: int
    tolerance: Fraction
    proved: Shares
    """The shares, and which of them must look alike."""
    ranges: tuple[Fraction, ...]
    """For each statistic, how far one record's number can be from another's."""
    bounds: Mapping[str, tuple[Fraction, Fraction]]
    """The columns whose ends were declared, to which records are clipped; the range of others is the reference's."""
    replacement: bool
    having: NDArray[np.float64] = field(repr=False)
    """The reference's records with the property: one row a record, one column a statistic."""
    lacking: NDArray[np.float64] = field(repr=False)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares; of a range, its least one."""
        return self.proved.shares

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The places, among the shares, of those that must look alike."""
        return self.proved.pairs

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The secrets' names, "p=0.45"."""
        return self.proved.labels(self.size)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many records have the property: floor(n p + 1/2) for each share."""
        return tuple(records_of(self.size, share) for share in self.shares)

    @property
    def limits(self) -> tuple[tuple[Fraction, Fraction] | None, ...]:
        """Between which numbers each statistic lies: the ends of a mean, n times those of a sum, 0 and n of a count."""
        return tuple(statistic.limits(self.size, self.bounds.get(statistic.column)) for statistic in self.statistics)

    @property
    def factors(self) -> tuple[Fraction, ...]:
        """What a record's number is multiplied with in each statistic."""
        return tuple(statistic.factor(self.size) for statistic in self.statistics)

    @property
    def reach(self) -> tuple[Fraction, ...]:
        """How far one record can move each statistic: factor x range."""
        return tuple(a * b for a, b in zip(self.factors, self.ranges, strict=True))

    @property
    def swapped(self) -> int:
        """The largest number of records in which two data sets that must look alike differ, over all pairs."""
        return max(abs(self.counts[i] - self.counts[j]) for i, j in self.pairs)

    @cached_property
    def classes(self) -> Classes:
        """Means and covariances of the two classes."""
        factors = np.array([float(a) for a in self.factors])
        return Classes(Moments.of(self.having), Moments.of(self.lacking), factors, self.size, self.replacement)

    @cached_property
    def records(self) -> tuple[ClassMoments, ClassMoments]:
        """What one record with the property, and one without, adds to the statistics: exact mean and covariance."""
        return one_record(self.classes.having, self.factors), one_record(self.classes.lacking, self.factors)

    def law(self, k: int, width: int = 0) -> Law:
        """The normal law of the statistics of a data set with k records that have the property and n - k without.

        width: the law that stands for k .. k + width, the mean that of k and the covariance of k records with the
        property and n - k - width without: no larger than any of theirs. Exact rationals, so affine in k with
        replacement."""
        if len(self.statistics) == 1:
            mean, cov = self.classes.mean(k), self.classes.cov(k)
            return Normal(float(mean[0]), math.sqrt(float(cov[0, 0])))
        one, other = self.records
        return MultivariateNormal(*mixed_law(one, other, self._spread(k, len(self.having)),
                                             self._spread(self.size - k - width, len(self.lacking)),
                                             k, self.size - k))  # fmt: skip

    def _spread(self, k: int, population: int) -> Fraction:
        """k, or k (1 - k/N) where all records are different ones: how often a class's covariance counts."""
        return Fraction(k) if self.replacement else k * (1 - Fraction(k, population))

    def laws(self) -> dict[str, Law]:
        """The law of every secret."""
        found = zip(self.labels, self.counts, self.proved.widths, strict=True)
        return {label: self.law(k, width) for label, k, width in found}

    @property
    def alike(self) -> list[tuple[str, str]]:
        """The secrets that must look alike, by their names."""
        return [(self.labels[i], self.labels[j]) for i, j in self.pairs]

    def scenario(self, report: Report) -> Scenario:
        """The scenario with these laws; UsageError where the shares make none of these records."""
        if self.swapped == 0:
            raise UsageError(
                "all values give the same number of records; use a larger size, tolerance, or other values"
            )
        most, least = max(self.counts), min(self.counts)
        if not self.replacement and (most > len(self.having) or self.size - least > len(self.lacking)):
            raise BadTable(_TOO_FEW)
        return Scenario(self.laws(), self.alike, report=report, assumptions=assumptions(self), property=self)


def proved_shares(
    size: int, tolerance: Fraction, statistics: int, populations: tuple[int, int] | None = None
) -> Shares:
    """The shares that are gone through where the user names none; `populations`: the records there are with the
    property and without, of which all are drawn at most once."""
    if populations is None:
        return spread_shares(size, tolerance, every=statistics > 1, single=statistics == 1)
    one, other = (int(x) for x in populations)
    ends = (max(0, size - other), min(size, one))
    return spread_shares(size, tolerance, every=False, single=statistics == 1, ends=ends)


def fixed_counts(model: PropertyModel, alike: str = "") -> tuple[str, ...]:
    """What every guarantee about shares rests on, with or without the Gaussian model, and which shares it is about."""
    n, name = model.size, model.name
    if alike or model.proved.every:
        least, most = min(model.counts), max(k + w for k, w in zip(model.counts, model.proved.widths, strict=True))
        between = f"from {least} to {most}" if not alike else "whatever it is"
        believed = f"of {n} records exactly k have {name}, k {between}; a fixed number, not random"
    else:
        stated = ", ".join(f"{k} for {label}" for label, k in zip(model.labels, model.counts, strict=True))
        believed = f"of {n} records exactly so many have {name}: {stated}; fixed numbers, not random"
    return (
        f"beliefs: {believed}",
        alike or proved_words(model),
        "given these numbers, records are drawn from the same law of their class whatever the share",
        *(
            f"{column} of every record is clipped to {said(low)} .. {said(high)} before the statistics are computed"
            for column, (low, high) in model.bounds.items()
        ),
        *([MOVED] if any(model.limits) else []),
    )


def proved_words(model: PropertyModel) -> str:
    """Exactly which shares are proved to look alike."""
    if model.proved.every:
        return (
            f"proved to look alike: every two shares k/{model.size} that differ by at most {said(model.tolerance)}, "
            f"which are numbers of records that differ by at most {model.swapped} (docs/proofs/correlated.md)"
        )
    listed = "; ".join(f"{a} and {b}" for a, b in model.alike)
    return f"proved to look alike: {listed}; nothing is proved for other shares"


def assumptions(model: PropertyModel) -> tuple[str, ...]:
    """What the normal laws rest on."""
    n, one, other, counts = model.size, len(model.having), len(model.lacking), model.counts
    means = max(map(model.classes.mean_error, counts))  # root mean square, in standard deviations
    differences = max(model.classes.difference_error(counts[i], counts[j]) for i, j in model.pairs)
    variances = max(map(model.classes.variance_error, counts))
    drawn = "independently (with replacement)" if model.replacement else "without replacement"
    return (
        *fixed_counts(model),
        f"records are drawn {drawn} from the reference's records of their class",
        f"Gaussian model: the statistics of a data set of {n} records are normal",
        f"fitted from a reference of {one + other} records, {one} with {model.name} and {other} without",
        (
            f"means are known up to {means:.3g} of their standard deviation (Mahalanobis, root mean "
            f"square), their differences up to {differences:.3g}, variances up to "
            f"{100 * variances:.2g} %, from {one + other} reference records; the guarantee is for the "
            "fitted laws"
        ),
        APART,
        TOGETHER,
    )


# Which shares a scenario about a property speaks of, and which of them are proved to look alike.
#
# Of n records k have the property, so a share is k/n, and two of them differ by at most the tolerance t where their
# numbers differ by at most K = floor(n t). Proving one pair says nothing of the others: noise for 45 and 55 records of
# 100 may be too little for 5 and 15. Without shares of the user's own, numbers from 0 to n are gone through:
#
# - where the law of the statistics is normal with a mean and a covariance that are affine in k, every two numbers that
#   differ by at most K are covered (docs/proofs/correlated.md): a pair that is nearer loses no more than one at
#   distance
#   K, and all pairs (k, k + K) with g <= k <= h lose no more than the pair in which h - g records are left out;
# - otherwise the pairs (k, k + K) of a list of numbers are proved, and nothing is said of others.


MOST_RANGES = 20
"""Ranges of numbers, or pairs of vectors, that are proved one by one."""
MOST_NUMBERS = 11
"""The same for a single statistic, where one proof takes about half a second."""


@final
@dataclass(frozen=True)
class Shares:
    """Shares, or ranges of them, and the pairs that must look alike.

    >>> found = spread_shares(10, Fraction(1, 5), every=True)
    >>> found.labels(10)[:3], found.pairs[:2], found.every
    (('p=0', 'p=0.1', 'p=0.2'), ((0, 2), (1, 3)), True)
    """

    shares: tuple[Fraction, ...]
    widths: tuple[int, ...]
    """For each share how many more records it stands for as well: k .. k + width."""
    pairs: tuple[tuple[int, int], ...]
    given: bool
    """Whether the user named the shares."""
    every: bool = False
    """Whether every two numbers at most K apart, between the least and the largest one, are covered."""

    def labels(self, size: int) -> tuple[str, ...]:
        """The secrets' names, "p=0.45", or "p=0.45..0.47" for a range; an end without a short decimal is "44/900"."""
        ends = ({share, share + Fraction(width, size)} for share, width in zip(self.shares, self.widths, strict=True))
        named = (
            [x if Fraction(x := said(end)) == end else f"{end * size}/{size}" for end in sorted(pair)] for pair in ends
        )
        return tuple("p=" + "..".join(pair) for pair in named)


def records_of(size: int, share: Real | Fraction) -> int:
    """floor(n p + 1/2): how many of n records have the property under the share p; halves go up.

    >>> records_of(10, Fraction("0.05")), records_of(10, Fraction("0.25")), round(10 * 0.25)
    (1, 3, 2)
    """
    return math.floor(size * Fraction(share) + Fraction(1, 2))


def given_shares(values: Sequence[Real], tolerance: Fraction) -> Shares:
    """The shares that a user named, with every two of them that differ by at most the tolerance."""
    if not (is_list(values) or is_row(values)) or len(values) < 2:
        raise UsageError("values must be a list of at least two shares, such as [0.45, 0.55]")
    shares = tuple(number(float(x) if isinstance(x, np.floating) else x, "each of the values", None) for x in values)
    if any(not 0 <= share <= 1 for share in shares):
        raise UsageError("the values are shares of records, so each must be in [0, 1]")
    if len({said(share) for share in shares}) < len(shares):
        raise UsageError("two of the values are equal; give each share once")
    close = tuple((i, j) for i, j in combinations(range(len(shares)), 2) if abs(shares[i] - shares[j]) <= tolerance)
    if not close:
        raise UsageError("no two of the values differ by at most the tolerance, so there is nothing to protect")
    return Shares(shares, (0,) * len(shares), close, given=True)


def spread_shares(
    size: int, tolerance: Fraction, every: bool, single: bool = False, ends: tuple[int, int] | None = None
) -> Shares:
    """Shares over all numbers of records that are possible (`ends`: the least and the largest; all of 0 .. n without).

    every: the laws are normal and affine in the number, so ranges cover all of them; otherwise a list of pairs."""
    least, most = (0, size) if ends is None else ends
    apart = math.floor(size * tolerance)
    if apart == 0:
        raise UsageError(
            f"a tolerance of {said(tolerance)} is less than one of {size} records, so no two shares are that near; use "
            "a larger size or tolerance"
        )
    last = most - apart
    if last < least:
        raise BadTable(_TOO_FEW)
    if every:
        step = -(-(last - least + 1) // MOST_RANGES)
        ranges = [(start, min(start + step - 1, last)) for start in range(least, last + 1, step)]
    else:
        limit = min(last - least + 1, MOST_NUMBERS if single else MOST_RANGES)
        starts = {least + round(Fraction(i * (last - least), max(1, limit - 1))) for i in range(limit)}
        ranges = [(start, start) for start in sorted(starts)]
    found = dict.fromkeys(cell for g, h in ranges for cell in ((g, h), (g + apart, h + apart)))
    ordered = sorted(found)
    place = {cell: i for i, cell in enumerate(ordered)}
    return Shares(
        tuple(Fraction(g, size) for g, _ in ordered), tuple(h - g for g, h in ordered),
        tuple((place[g, h], place[g + apart, h + apart]) for g, h in ranges), given=False,
        every=every or (apart == 1 and len(ranges) == last - least + 1),
    )  # fmt: skip


def from_property(
    reference: TableLike, statistics: Sequence[str], property: str, size: int, values: Sequence[Real] | None = None,
    tolerance: Real = 0.1, bounds: Mapping[str, tuple[Real, Real]] | None = None, replacement: bool = True,
    missing: Literal["error", "drop"] = "error",
) -> Scenario:  # fmt: skip
    """Statistics of `size` records, given the share that has a property; near shares must look alike.

    Parameters: `reference` as in `from_table`; `statistics` such as ["mean(age)", "count(sex=F)"]; `property` such as
    "income=>50K"; `values`, the shares themselves (then nothing is proved for others), or None for all; `tolerance` in
    (0, 1], how far apart two shares may be that must look alike; `bounds`, {column: (low, high)}; `replacement`,
    whether records are drawn with it; `missing`, "error" or "drop".

    The laws given each share are normal. Mean A (k m_1 + (n - k) m_0), covariance A (k C_1 + (n - k) C_0) A, k =
    floor(n p + 1/2); without replacement k C_1 becomes k (1 - k/N_1) C_1. m, C: mean and covariance (divided by N - 1)
    of the reference's records."""
    if not is_list(statistics) or not statistics:
        raise UsageError('statistics must be a list such as ["mean(age)", "count(sex=Female)"]')
    asked = tuple(RecordStatistic.parse(text) for text in statistics)
    if len(set(asked)) < len(asked):
        raise UsageError("one of the statistics is asked for twice; give each once")
    if not is_whole(size, least=2):
        raise UsageError(
            f"size, the number of records of a data set, must be a whole number of at least 2, got {size!r}"
        )
    wide, near = int(size), number(tolerance, "tolerance")
    if not 0 < near <= 1:
        raise UsageError(f"tolerance must be in (0, 1], got {said(near)}")
    named = None if values is None else given_shares(values, near)
    if not isinstance(property, str):
        raise UsageError(f'property must be text such as "income=>50K", got {type(property).__name__}')
    column, value = condition(property, "a property", "income=>50K")
    if missing not in _MISSING:
        raise UnknownName("choice for missing values", missing, _MISSING)
    ends = read_bounds(bounds, asked)
    names = [column, *(s.column for s in asked)]
    whole = read_table(reference) if is_path(reference) else Table(reference)
    for name in names:
        if name not in whole.columns:
            raise ColumnNotFound(name, whole.columns)
    table = whole = whole.select(names)
    gone = tuple((name, int(whole.exact(name).missing.sum())) for name in whole.columns)
    if missing == "drop":
        columns = [whole.exact(name) for name in whole.columns]
        kept = ~np.any([column.missing for column in columns], axis=0)
        table = Table({column.name: column.values[kept] for column in columns})
    having = holding(present(table, column), value)
    if len(having) < wide:
        raise BadTable(
            f"the reference has {len(having)} records, fewer than the {wide} of a data set; give a larger reference"
        )
    for found, what in ((int(having.sum()), "with"), (int((~having).sum()), "without")):
        if found < 2:
            raise BadTable(
                f"{found or 'no'} record{'' if found == 1 else 's'} {what} {column}={value} in the reference, and at "
                "least 2 are needed; check the value's spelling, blanks and dots"
            )
    added, ranges = zip(*(_added(s, table, ends.get(s.column)) for s in asked), strict=True)
    rows = np.column_stack(added)
    shares = named or proved_shares(wide, near, len(asked), None if replacement else (having.sum(), (~having).sum()))
    model = PropertyModel(
        f"{column}={value}", asked, wide, near, shares, ranges, ends, bool(replacement), rows[having],
        rows[~having],
    )  # fmt: skip
    return model.scenario(Report(rows=len(whole), used=len(table), missing=gone))


def _added(
    statistic: RecordStatistic, table: Table, ends: tuple[Fraction, Fraction] | None
) -> tuple[NDArray[np.float64], Fraction]:
    """What each record adds, and how far apart two of them can be: a count is 0 or 1, whatever its column is clipped to
    where it is averaged too."""
    numbers = statistic.numbers(table)
    if statistic.equals is not None:
        return numbers, Fraction(1)
    if ends is None:
        return numbers, as_fraction(float(numbers.max())) - as_fraction(float(numbers.min()))
    return np.clip(numbers, float(ends[0]), float(ends[1])), ends[1] - ends[0]
