"""How much of the variance of one entry of a Gaussian field others explain: in rationals, or from above in balls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_mat, fmpq, fmpq_mat

from fugu.numbers import balls
from fugu.priors.matrices import product, solve, transpose

Covariance = Sequence[Sequence[Fraction]]
_WORKING = 2048


def explained(covariance: Covariance, node: int, seen: Sequence[int]) -> Fraction:
    """c' S_LL^-1 c, exactly: the variance of x_i that x_L explains, also where entries of L follow from others."""
    across = [[covariance[node][j]] for j in seen]
    inner = [[covariance[j][k] for k in seen] for j in seen]
    try:
        solved = _fast(inner).solve(_fast(across))
    except ZeroDivisionError:
        found = solve(inner, across)
        assert found is not None  # c lies in the range of S_LL
        return product(transpose(across), found)[0][0]
    return sum((_slow(solved[k, 0]) * row[0] for k, row in enumerate(across)), Fraction(0))


def above(covariance: Covariance, node: int, seen: Sequence[int]) -> Fraction | None:
    """A double at or above 1 / Var(x_i | x_L) - 1 / Var(x_i); None where balls do not tell the variance from 0."""
    own = covariance[node][node]
    with balls.precision(_WORKING):
        across = [balls.of(covariance[node][j]) for j in seen]
        inner = arb_mat(len(seen), len(seen), [balls.of(covariance[j][k]) for j in seen for k in seen])
        try:
            solved = inner.solve(arb_mat(len(seen), 1, across))
        except ZeroDivisionError:
            return None
        left = balls.of(own) - sum((solved[k, 0] * c for k, c in enumerate(across)), arb(0))
        if not left > 0:
            return None
        found = balls.upper(1 / left - balls.of(1 / own))
    return Fraction(max(found, 0.0)) if found < math.inf else None


def _fast(rows: Sequence[Sequence[Fraction]]) -> fmpq_mat:
    return fmpq_mat(len(rows), len(rows[0]), [fmpq(x.numerator, x.denominator) for row in rows for x in row])


def _slow(x: fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))
