"""What a Gaussian vector says of one linear statistic, given another: exact, in rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from fugu.errors import BadLaw, UsageError
from fugu.numbers.exact import Real
from fugu.priors.matrices import Matrix, as_lists, minus, product, read_covariance, read_matrix, solve, transpose

Vector = Sequence[Real]


@dataclass(frozen=True)
class Conditional:
    """The law of M X given N X = a: mean `start` + A a, where the mean of X is known, and one covariance for all a."""

    slope: Matrix
    protected: Matrix
    spread: Matrix
    start: list[Fraction] | None
    centre: list[Fraction]

    @staticmethod
    def read(covariance: Any, release: Any, protect: Any, mean: Vector | None) -> Conditional:
        """Condition exactly; the slope solves A Cov(NX) = Cov(MX, NX)."""
        sigma = read_covariance(covariance)
        m, n = _rows(release, "release", len(sigma)), _rows(protect, "protect", len(sigma))
        cross, within = product(product(n, sigma), transpose(m)), product(product(n, sigma), transpose(n))
        solved = solve(within, cross)
        assert solved is not None  # v' Cov(NX) = 0 gives v' Cov(NX, MX) = 0
        slope = transpose(solved)
        spread = minus(product(product(m, sigma), transpose(m)), product(slope, cross))
        if mean is None:
            return Conditional(slope, within, spread, None, [Fraction(0)] * len(n))
        middle = transpose(read_matrix(as_lists(mean), "mean", len(sigma)))
        centre = [x for (x,) in product(n, middle)]
        start = [x for (x,) in minus(product(m, middle), product(slope, [[x] for x in centre]))]
        return Conditional(slope, within, spread, start, centre)

    def at(self, a: Sequence[Fraction]) -> list[Fraction]:
        """A a."""
        return [x for (x,) in product(self.slope, [[x] for x in a])]

    def check(self, difference: Sequence[Fraction]) -> None:
        """Refuse a difference outside the range of a singular Cov(NX)."""
        if solve(self.protected, [[x] for x in difference]) is None:
            raise BadLaw(
                "Cov(N X) is singular, and two of the protected values differ by what cannot vary under it, so one of "
                "them is impossible; drop the redundant rows of protect, or give values that are possible"
            )

    @property
    def std(self) -> Fraction | None:
        """The standard deviation of one published number whose mean is known; None where only the shift is used."""
        if self.start is None or len(self.slope) > 1 or self.spread[0][0] == 0:
            return None
        return root_down(self.spread[0][0])


def _rows(given: Any, name: str, columns: int) -> Matrix:
    if isinstance(given, bool) or not isinstance(given, Integral):
        return read_matrix(given, name, columns)
    if not 0 <= int(given) < columns:
        raise UsageError(f"{name}={given} is no attribute: they are numbered from 0 to {columns - 1}")
    return [[Fraction(int(j == int(given))) for j in range(columns)]]


def root_down(x: Fraction) -> Fraction:
    """The largest decimal of 15 digits at or below the square root; the root itself if it has no more.

    >>> root_down(Fraction(9, 4)), float(root_down(Fraction(2)))
    (Fraction(3, 2), 1.41421356237309)
    """
    places = 15 - math.ceil(math.log10(x.numerator) / 2 - math.log10(x.denominator) / 2 + 1e-9)
    scale = Fraction(10) ** (2 * places)
    return Fraction(math.isqrt(math.floor(x * scale))) / Fraction(10) ** places
