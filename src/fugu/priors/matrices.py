"""Small matrices of exact rationals, and what a Gaussian vector says of one statistic given another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from fugu.errors import BadLaw, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import Real, number

Matrix = list[list[Fraction]]
MOST = 64
_BITS = 1024


def read_matrix(given: Any, name: str, columns: int | None = None) -> Matrix:
    """Rows of numbers, each the decimal it stands for; a flat list is one row."""
    rows = as_lists(given)
    if isinstance(rows, str) or not isinstance(rows, Sequence) or not rows:
        raise UsageError(f"{name} must be a list of rows of numbers")
    if not isinstance(rows[0], Sequence):
        rows = [rows]
    if any(isinstance(row, str) or not isinstance(row, Sequence) or not row for row in rows):
        raise UsageError(f"{name} must be a list of rows of numbers")
    wide = columns or len(rows[0])
    if any(len(row) != wide for row in rows):
        raise UsageError(f"{name} must have {wide} numbers in every row, got {[len(row) for row in rows]}")
    if max(wide, len(rows)) > MOST:
        raise UsageError(f"{name} must have at most {MOST} rows and columns: the algebra is exact")
    return [[number(x, f"each entry of {name}", least=None) for x in row] for row in rows]


def as_lists(given: Any) -> Any:
    """Lists in place of an array."""
    return given.tolist() if isinstance(given, np.ndarray) else given


def read_covariance(given: Any) -> Matrix:
    """A symmetric matrix with x' S x >= 0 for all x: all pivots of an elimination, in balls or exactly, allow it."""
    found = read_matrix(given, "covariance")
    size = len(found)
    if any(len(row) != size for row in found):
        raise BadLaw(f"covariance must be square, got {size} rows of {len(found[0])}")
    if found != [list(column) for column in zip(*found, strict=True)]:
        raise BadLaw("covariance must be symmetric; average it with its transpose if rounding made it otherwise")
    if _definite(found):
        return found
    rest = [row[:] for row in found]
    for k in range(size):  # symmetric elimination: every pivot >= 0, and a zero pivot has a zero row
        if rest[k][k] < 0 or (rest[k][k] == 0 and any(rest[k][k:])):
            raise BadLaw("covariance must be positive semidefinite: some combination has a negative variance")
        for i in range(k + 1, size):
            if factor := (rest[i][k] / rest[k][k] if rest[k][k] else Fraction(0)):
                rest[i] = [x - factor * y for x, y in zip(rest[i], rest[k], strict=True)]
    return found


def _definite(found: Matrix) -> bool:
    """Whether every pivot is above 0, in balls: a proof that all variances are. False says nothing."""
    with balls.precision(_BITS):
        rest = [[balls.of(x) for x in row] for row in found]
        for k, row in enumerate(rest):
            if not row[k] > 0:
                return False
            for i in range(k + 1, len(rest)):
                factor = rest[i][k] / row[k]
                rest[i] = [x - factor * y for x, y in zip(rest[i], row, strict=True)]
    return True


def exact(rows: Sequence[Sequence[Fraction]]) -> fmpq_mat:
    """The matrix of these rows."""
    return fmpq_mat(len(rows), len(rows[0]), [fmpq(x.numerator, x.denominator) for row in rows for x in row])


def rows_of(matrix: fmpq_mat) -> Matrix:
    """The rows of a matrix."""
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in matrix.tolist()]


def solve(a: fmpq_mat, b: fmpq_mat) -> fmpq_mat | None:
    """Some X with a X = b for a square matrix, free unknowns 0; None if there is none.

    >>> one, two = Fraction(1), Fraction(2)
    >>> solve(exact([[two, one], [two, one]]), exact([[one], [two]])) is None
    True
    """
    try:
        return a.solve(b)
    except ZeroDivisionError:
        size, wide = a.nrows(), b.ncols()
    both = [x for left, right in zip(a.tolist(), b.tolist(), strict=True) for x in (*left, *right)]
    reduced, rank = fmpq_mat(size, size + wide, both).rref()
    pivots = [next(k for k in range(size + wide) if reduced[row, k]) for row in range(rank)]
    if any(pivot >= size for pivot in pivots):
        return None
    found = fmpq_mat(size, wide)
    for row, pivot in enumerate(pivots):
        for k in range(wide):
            found[pivot, k] = reduced[row, size + k]
    return found


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
        sigma = exact(read_covariance(covariance))
        wide = sigma.nrows()
        m, n = exact(_rows(release, "release", wide)), exact(_rows(protect, "protect", wide))
        cross, within = n * sigma * m.transpose(), n * sigma * n.transpose()
        solved = solve(within, cross)
        assert solved is not None  # v' Cov(NX) = 0 gives v' Cov(NX, MX) = 0
        slope = solved.transpose()
        parts = rows_of(slope), rows_of(within), rows_of(m * sigma * m.transpose() - slope * cross)
        if mean is None:
            return Conditional(*parts, None, [Fraction(0)] * n.nrows())
        middle = exact(read_matrix(as_lists(mean), "mean", wide)).transpose()
        start = m * middle - slope * (n * middle)
        return Conditional(*parts, [x for (x,) in rows_of(start)], [x for (x,) in rows_of(n * middle)])

    def at(self, a: Sequence[Fraction]) -> list[Fraction]:
        """A a."""
        return [x for (x,) in rows_of(exact(self.slope) * exact([[x] for x in a]))]

    def check(self, difference: Sequence[Fraction]) -> None:
        """Refuse a difference outside the range of a singular Cov(NX)."""
        if solve(exact(self.protected), exact([[x] for x in difference])) is None:
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
        raise UsageError(f"{name}={given} is not an attribute: they are numbered from 0 to {columns - 1}")
    return [[Fraction(int(j == int(given))) for j in range(columns)]]


def root_down(x: Fraction) -> Fraction:
    """The largest decimal of 15 digits at or below the square root; the root itself if it has no more.

    >>> root_down(Fraction(9, 4)), float(root_down(Fraction(2)))
    (Fraction(3, 2), 1.41421356237309)
    """
    places = 15 - math.ceil(math.log10(x.numerator) / 2 - math.log10(x.denominator) / 2 + 1e-9)
    scale = Fraction(10) ** (2 * places)
    return Fraction(math.isqrt(math.floor(x * scale))) / Fraction(10) ** places
