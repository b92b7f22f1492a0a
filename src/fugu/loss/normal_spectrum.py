"""Two normal laws of a vector, reduced exactly to eigenvalues and shifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq, fmpq_mat, fmpq_poly

from fugu.errors import BadLaw, BadNoise, NotProvable
from fugu.laws.multinormal import Matrix, NormalPair, Row, is_semidefinite


@dataclass(frozen=True)
class Gap:
    """N(d, a) against N(0, b), a and b positive definite with rational entries."""

    d: Row
    a: Matrix
    b: Matrix

    @property
    def size(self) -> int:
        """The number of coordinates that vary."""
        return len(self.d)

    @property
    def reversed(self) -> Gap:
        """The two laws swapped."""
        return Gap(tuple(-x for x in self.d), self.b, self.a)


@dataclass(frozen=True)
class Spectrum:
    """(lam, multiplicity) and (lam, g) for the eigenvalues lam != 1 of B^{-1} A; `level` is g at the eigenvalue 1."""

    scales: tuple[tuple[arb, int], ...]
    shifts: tuple[tuple[arb, arb], ...]
    level: Fraction

    @property
    def reversed(self) -> Spectrum:
        """That of the swapped laws: lam becomes 1 / lam and g becomes g / lam."""
        return Spectrum(
            tuple((1 / lam, k) for lam, k in self.scales),
            tuple((1 / lam, g / lam) for lam, g in self.shifts),
            self.level,
        )


def common_gap(pair: NormalPair, extra: Matrix) -> Gap | None:
    """The pair with covariance `extra` added to both, on coordinates that determine the rest; None if singular.

    Both laws live on an affine space. If the ranges of the covariances differ, or the difference of the means is not in
    them, one of the laws gives the other's space probability 0: no epsilon has a delta below 1. All decided exactly."""
    n = pair.p.dimension
    if pair.q.dimension != n:
        raise BadLaw(f"the two laws have {n} and {pair.q.dimension} coordinates; compare laws of the same vector")
    if len(extra) != n or any(len(row) != n for row in extra):
        raise BadNoise(f"the noise covariance must have {n} rows of {n} numbers, like the laws")
    if any(extra[i][j] != extra[j][i] for i in range(n) for j in range(i)) or not is_semidefinite(extra):
        raise BadNoise("the noise covariance must be symmetric and positive semidefinite")
    return supported(pair.difference, _sum(pair.p.cov, extra), _sum(pair.q.cov, extra))


def supported(d: Row, a: Matrix, b: Matrix) -> Gap | None:
    """The Gap on the coordinates of positive pivots of a, or None if N(d, a) and N(0, b) have different supports."""
    n = len(d)
    keep = positive_pivots(a)
    joined = as_flint([[*a[i], *b[i], d[i]] for i in range(n)])
    if not joined.rank() == as_flint(b).rank() == len(keep):
        return None
    return Gap(tuple(d[i] for i in keep), _part(a, keep), _part(b, keep))


def positive_pivots(matrix: Matrix) -> list[int]:
    """Indices of a principal submatrix of full rank of a positive semidefinite matrix, by elimination."""
    rows, found = [list(row) for row in matrix], []
    for k in range(len(rows)):
        if rows[k][k] == 0:
            continue
        found.append(k)
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, len(rows)):
                rows[i][j] -= factor * rows[k][j]
    return found


def squared_shift(d: Row, v: Matrix) -> Fraction:
    """d' v^{-1} d, exactly."""
    column = as_flint([[x] for x in d])
    return _fraction((column.transpose() * as_flint(v).solve(column))[0, 0])


def spectrum(gap: Gap) -> Spectrum:
    """Eigenvalues and shifts of the gap as balls at the working precision."""
    a, b = as_flint(gap.a), as_flint(gap.b)
    column = as_flint([[x] for x in gap.d])
    inverse = b.inv()
    chi = (inverse * a).charpoly()
    above = (inverse * (a + column * column.transpose())).charpoly() - chi
    common = above.gcd(chi)
    top, bottom = (above / common, chi / common) if not above.is_zero() else (above, fmpq_poly([1]))
    level = Fraction(0)
    line = fmpq_poly([-1, 1])
    if bottom(1) == 0:
        level = -_fraction(top(1) / bottom.derivative()(1))
    while chi(1) == 0:
        chi = chi / line
    slope = bottom.derivative()
    rest = bottom / line if bottom(1) == 0 else bottom
    shifts = tuple((lam, -_at(top, lam) / _at(slope, lam)) for lam, _ in _roots(rest))
    found = Spectrum(tuple(_roots(chi)), shifts, level)
    if not all(lam > 0 for lam, _ in found.scales) or not all(g > 0 for _, g in shifts):
        raise NotProvable("the covariances are too close to singular for the working precision")
    return found


def as_flint(rows: Sequence[Sequence[Fraction]]) -> fmpq_mat:
    """A rational matrix for flint."""
    return fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in rows])


def _roots(poly: fmpq_poly) -> list[tuple[arb, int]]:
    """The roots of a polynomial all of whose roots are real, with their multiplicities."""
    if poly.degree() < 1:
        return []
    found: Any = poly.numer().complex_roots()
    return [(r.real, int(k)) for r, k in found]


def _at(poly: fmpq_poly, x: arb) -> arb:
    total = arb(0)
    for c in reversed(poly.coeffs()):
        total = total * x + arb(c)
    return total


def _fraction(x: fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def _sum(a: Matrix, b: Matrix) -> Matrix:
    return tuple(tuple(x + y for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True))


def _part(matrix: Matrix, keep: list[int]) -> Matrix:
    return tuple(tuple(matrix[i][j] for j in keep) for i in keep)
