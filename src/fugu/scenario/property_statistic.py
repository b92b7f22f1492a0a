"""What each record adds to a published statistic such as "mean(age)"; means and covariances of sums of records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Table
from fugu.data.conditions import AnyOf, Mask
from fugu.data.private import why_text
from fugu.data.secrets import column_and_value, kind_and_inside
from fugu.errors import BadTable, ColumnNotFound, MissingValues, UsageError
from fugu.laws.multinormal import ClassMoments, is_semidefinite
from fugu.numbers.exact import Real, as_fraction

# What each record adds to a published statistic: "mean(age)", "sum(hours)", "count(sex=Female)".


KINDS = ("mean", "sum", "count")
_AVERAGED = {"mean": 1, "sum": 0}
"""By which power of the number of records the sum over them is divided; a count is of a condition."""
_LOOKS = "a statistic looks like mean(age), sum(hours) or count(sex=Female)"
_TRUTH = {"true": 1, "false": 0}


@final
@dataclass(frozen=True)
class RecordStatistic:
    """A data set's statistic is `factor(n)` times the sum of one number for each of its n records.

    >>> found = RecordStatistic.parse("count(marital-status=Never-married)")
    >>> found.column, found.equals, found.factor(100), RecordStatistic.parse("mean(age)").factor(100)
    ('marital-status', 'Never-married', Fraction(1, 1), Fraction(1, 100))
    """

    kind: str
    column: str
    equals: str | None = None

    @staticmethod
    def parse(text: object) -> RecordStatistic:
        """Read mean(column), sum(column) or count(column=value)."""
        kind, inside = kind_and_inside(text, KINDS, "statistic", _LOOKS)
        if kind not in _AVERAGED:
            return RecordStatistic(kind, *condition(inside, "a count", "count(sex=Female)"))
        if not inside:
            raise UsageError(f"{kind} needs a column, such as {kind}(age)")
        return RecordStatistic(kind, inside)

    def factor(self, size: int) -> Fraction:
        """1/n for a mean, 1 for a sum and a count."""
        return Fraction(1, size ** _AVERAGED.get(self.kind, 0))

    def limits(self, size: int, ends: tuple[Fraction, Fraction] | None) -> tuple[Fraction, Fraction] | None:
        """Between which numbers the statistic of n records lies whose numbers are clipped to these ends; None without.

        >>> RecordStatistic.parse("sum(age)").limits(10, (Fraction(17), Fraction(90)))
        (Fraction(170, 1), Fraction(900, 1))
        """
        if self.equals is not None:
            return (Fraction(0), Fraction(size))
        scale = self.factor(size) * size
        return None if ends is None else (scale * ends[0], scale * ends[1])

    def numbers(self, table: Table) -> NDArray[np.float64]:
        """What each row adds, before it is clipped."""
        column = present(table, self.column)
        if self.equals is not None:
            held = holding(column, self.equals)
            if not held.any():
                raise BadTable(f"no record of the reference counts in {self}; check the value's spelling")
            return held.astype(np.float64)
        if not column.numeric:
            why = why_text(column.values.tolist())
            raise BadTable(f"column {self.column!r} holds text{why}; {self.kind}({self.column}) needs numbers")
        numbers = column.floats()
        if not np.isfinite(numbers).all():
            raise BadTable(f"column {self.column!r} holds infinite numbers, and no average is made of them")
        return numbers

    def __str__(self) -> str:
        return f"{self.kind}({self.column}{'' if self.equals is None else f'={self.equals}'})"


def condition(text: str, what: str, example: str) -> tuple[str, str]:
    """A column and the value that it must have."""
    if (found := column_and_value(text)) is None:
        raise UsageError(f"{what} needs a column and a value, such as {example}, got {text!r}")
    return found


def present(table: Table, name: str) -> Column:
    """A column without missing values."""
    column = table.exact(name)
    if column.missing.any():
        raise MissingValues(
            f"column {name!r} of the reference has missing values; fill them in, or leave those rows out with "
            "missing='drop'"
        )
    return column


def holding(column: Column, value: str) -> Mask:
    """The rows in which the column has this value, written as text; never true of a missing one."""
    if not column.numeric:
        return AnyOf((value,)).mask(column)
    truth = _TRUTH.get(value.lower()) if column.values.dtype == bool else None
    try:
        number = float(value if truth is None else truth)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadTable(f"column {column.name!r} holds numbers, and {value!r} is not a number")
    return AnyOf((int(number) if number == int(number) else number,)).mask(column)


def read_bounds(
    bounds: Mapping[str, tuple[Real, Real]] | None, statistics: tuple[RecordStatistic, ...]
) -> dict[str, tuple[Fraction, Fraction]]:
    """Declared ends for columns that are averaged or added up; values are clipped to them as part of the query."""
    averaged = tuple(dict.fromkeys(s.column for s in statistics if s.equals is None))
    found = {}
    for column, ends in (bounds or {}).items():
        if column not in averaged:
            raise ColumnNotFound(str(column), averaged)
        try:
            low, high = (as_fraction(x) for x in ends)
        except (TypeError, ValueError):
            raise UsageError(f"the bounds of {column!r} must be two finite numbers, such as (17, 90)") from None
        if not low < high:
            raise UsageError(f"the bounds of {column!r} must be increasing, such as (17, 90)")
        found[column] = (low, high)
    return found


# Means and covariances of sums of records, class by class, and how well a reference of N records knows them.


Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """Mean m, covariance C (divided by N - 1) and fourth central moments of the records of one class."""

    count: int
    mean: Floats
    cov: Floats
    fourth: Floats

    @staticmethod
    def of(records: Floats) -> Moments:
        """From N >= 2 records; centred at the first one, so that a constant column has variance exactly 0."""
        moved = records - records[0]
        middle = moved.mean(axis=0)
        apart = moved - middle
        cov = apart.T @ apart / (len(records) - 1)
        return Moments(len(records), records[0] + middle, (cov + cov.T) / 2, (apart**4).mean(axis=0))

    def spread(self, k: int, replacement: bool) -> Floats:
        """Covariance of the sum of k records: k C if they are independent, k (1 - k/N) C if all are different ones."""
        return self.cov * (k if replacement else k * (1 - k / self.count))


@final
@dataclass(frozen=True, eq=False)
class Classes:
    """The records with the property and those without, and the data sets made of k of the former, n - k of the latter.

    factors: a data set's statistics are factors x the sum of its records."""

    having: Moments
    lacking: Moments
    factors: Floats
    size: int
    replacement: bool

    def mean(self, k: int) -> Floats:
        """A (k m_1 + (n - k) m_0), A the diagonal matrix of the factors."""
        return np.asarray(self.factors * (k * self.having.mean + (self.size - k) * self.lacking.mean))

    def cov(self, k: int) -> Floats:
        """A (k C_1 + (n - k) C_0) A, exactly symmetric; with the finite-population factors without replacement."""
        parts = self.having.spread(k, self.replacement) + self.lacking.spread(self.size - k, self.replacement)
        return semidefinite(self._scaled(parts))

    def mean_error(self, k: int) -> float:
        """(tr S^+ E)^(1/2), E = A (k^2 C_1/N_1 + (n-k)^2 C_0/N_0) A: the error of the mean, in its own deviations.

        The root of the expected squared Mahalanobis distance from the mean fitted to the mean of the population."""
        one, other = self.having, self.lacking
        return self._distance(k**2 * one.cov / one.count + (self.size - k) ** 2 * other.cov / other.count, k)

    def difference_error(self, k: int, other: int) -> float:
        """The same for the difference of the means of two shares: E = A (k - k')^2 (C_1/N_1 + C_0/N_0) A."""
        parts = self.having.cov / self.having.count + self.lacking.cov / self.lacking.count
        return self._distance((k - other) ** 2 * parts, k)

    def variance_error(self, k: int) -> float:
        """The largest relative standard error of a statistic's variance, from Var(s^2) ~ (m_4 - s^4) / N."""
        errors = np.zeros(len(self.factors))
        for moments, copies in ((self.having, k), (self.lacking, self.size - k)):
            errors += copies**2 * np.maximum(0, moments.fourth - np.diag(moments.cov) ** 2) / moments.count
        variances = k * np.diag(self.having.cov) + (self.size - k) * np.diag(self.lacking.cov)
        moving = variances > 0
        return float(np.max(np.sqrt(errors[moving]) / variances[moving], initial=0.0))

    def _distance(self, error: Floats, k: int) -> float:
        inverse = np.linalg.pinv(self._scaled(k * self.having.cov + (self.size - k) * self.lacking.cov), hermitian=True)
        return float(np.sqrt(max(0.0, float(np.trace(inverse @ self._scaled(error))))))

    def _scaled(self, matrix: Floats) -> Floats:
        return np.asarray(matrix * np.outer(self.factors, self.factors))


def one_record(moments: Moments, factors: Sequence[Fraction]) -> ClassMoments:
    """What one record of a class adds to the statistics: A m and A C A, read as exact rationals."""
    mean = [as_fraction(float(x)) for x in moments.mean]
    return ClassMoments.scaled(mean, exact(semidefinite(moments.cov)), factors)


def semidefinite(cov: Floats) -> Floats:
    """The matrix made symmetric; where rounding left it indefinite, plus the first of t, 2t, 4t, ... times I that mends
    it, t = 2^-60 of its largest entry. Decided in exact rationals, as `MultivariateNormal` does.

    >>> semidefinite(np.array([[1.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    found = (cov + cov.T) / 2
    if not np.isfinite(found).all():
        raise BadTable("the spread of the statistics is beyond the range of doubles; rescale the columns")
    step = float(np.abs(found).max()) * 2.0**-60
    while not is_semidefinite(exact(found)):
        found = (cov + cov.T) / 2 + step * np.eye(len(cov))
        step *= 2
    return found


def exact(matrix: Floats) -> tuple[tuple[Fraction, ...], ...]:
    """The entries as the rationals they are read as."""
    return tuple(tuple(as_fraction(float(x)) for x in row) for row in matrix)
