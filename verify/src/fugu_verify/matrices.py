"""Symmetric matrices of rationals: definiteness, determinants and quadratic forms of inverses, by elimination."""

from __future__ import annotations

from fractions import Fraction

from fugu_verify.reading import number, rows
from fugu_verify.result import BadCertificate

Matrix = list[list[Fraction]]


def matrix(found: object) -> Matrix:
    """A symmetric matrix of the document."""
    read = [[number(x) for x in rows(row)] for row in rows(found)]
    if any(len(row) != len(read) for row in read) or any(
        read[i][j] != read[j][i] for i in range(len(read)) for j in range(i)
    ):
        raise BadCertificate("a covariance of the certificate is not a symmetric matrix")
    return read


def plus(a: Matrix, b: Matrix, s: Fraction = Fraction(1), t: Fraction = Fraction(1)) -> Matrix:
    """s a + t b."""
    return [[s * x + t * y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]


def diagonal(value: Fraction, n: int) -> Matrix:
    """value times the identity."""
    return [[value if i == j else Fraction(0) for j in range(n)] for i in range(n)]


def pivots(a: Matrix) -> list[Fraction] | None:
    """The diagonal of L D L'; None if the matrix is not positive semidefinite.

    Of a semidefinite matrix a pivot of 0 has a row of zeros; what is left after a positive pivot is semidefinite again,
    and conversely (Schur complement)."""
    left, found = [row[:] for row in a], []
    while left:
        pivot, top = left[0][0], left[0]
        if pivot < 0 or (pivot == 0 and any(top)):
            return None
        found.append(pivot)
        left = [
            [x - (row[0] * y / pivot if pivot else 0) for x, y in zip(row[1:], top[1:], strict=True)]
            for row in left[1:]
        ]
    return found


def semidefinite(a: Matrix) -> bool:
    """Whether x' a x >= 0 for every x."""
    return pivots(a) is not None


def determinant(a: Matrix) -> Fraction | None:
    """The determinant of a positive definite matrix; None if it is not positive definite."""
    found, product = pivots(a), Fraction(1)
    if found is None:
        return None
    for pivot in found:
        product *= pivot
    return product or None


def length(a: Matrix, d: list[Fraction]) -> Fraction:
    """d' a^-1 d for a positive definite matrix: eliminate, and sum squared rests over pivots."""
    left, rest, found = [row[:] for row in a], d[:], Fraction(0)
    while left:
        pivot, top, first = left[0][0], left[0], rest[0]
        found += first * first / pivot
        rest = [x - row[0] * first / pivot for x, row in zip(rest[1:], left[1:], strict=True)]
        left = [[x - row[0] * y / pivot for x, y in zip(row[1:], top[1:], strict=True)] for row in left[1:]]
    return found
