"""Means and covariances of sums of records, class by class, and how well a reference of N records knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadTable
from fugu.laws.classes import RecordLaw
from fugu.laws.multinormal import is_semidefinite
from fugu.numbers.exact import as_fraction

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


def one_record(moments: Moments, factors: Sequence[Fraction]) -> RecordLaw:
    """What one record of a class adds to the statistics: A m and A C A, read as exact rationals."""
    mean = [as_fraction(float(x)) for x in moments.mean]
    return RecordLaw.scaled(mean, exact(semidefinite(moments.cov)), factors)


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
