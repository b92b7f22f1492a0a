"""Independent records from the definition alone: all sets at 50 digits, and linear programs over all mechanisms.

Nothing here uses a theorem of the library. What the programs return belongs to a mechanism that keeps every promise
exactly (`repaired`), so it is never above the true optimum.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
from lp_oracle import neighbours
from mpmath.ctx_mp import MPContext

from fugu.numbers.exact import as_fraction

mp = MPContext()
mp.dps = 50
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def real(x):
    """A number as it is meant, with 50 digits."""
    x = as_fraction(x)
    return mp.mpf(x.numerator) / x.denominator


def shares(counts):
    total = int(sum(map(int, counts)))
    return [real(Fraction(int(c), total)) for c in counts]


def over_all_sets(p, q, epsilon0):
    """max over S of log (1 + (a - 1) p(S)) / (1 + (a - 1) q(S)), every subset."""
    p, q = shares(p), shares(q)
    a = mp.exp(real(epsilon0)) - 1
    sums = {(mp.zero, mp.zero)}
    for x, y in zip(p, q, strict=True):
        sums |= {(u + x, v + y) for u, v in sums}
    return max(mp.log1p(a * (u - v) / (1 + a * v)) for u, v in sums)


def stick(p, q, epsilon):
    c = mp.exp(real(epsilon))
    return sum(max(mp.zero, x - c * y) for x, y in zip(shares(p), shares(q), strict=True))


def inverse(p, q, epsilon):
    """log(1 + (e^eps - 1) / HS), or None for infinity."""
    here = stick(p, q, epsilon)
    return mp.log1p(mp.expm1(real(epsilon)) / here) if here > 0 else None


def divergence(p, q, alpha):
    """D_alpha of two laws of doubles."""
    if np.any((p > 0) & (q == 0)):
        return math.inf
    some = p > 0
    return math.log(float(np.sum(p[some] ** alpha * q[some] ** (1 - alpha)))) / (alpha - 1)


def hockey(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def whole_tables(law, others):
    """The joint law of (X_1, ..., X_n) for X_1 of that law, independent of the others' joint law."""
    return np.multiply.outer(law / law.sum(), others)


def best_loss(given_s, given_t, epsilon0):
    """The largest log P(output | s) / P(output | t) over all mechanisms on the product domain."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    pairs = neighbours(given_s.shape)
    rows = np.arange(len(pairs))
    ones = np.ones(len(pairs))
    above = coo_matrix(
        (np.r_[ones, -math.exp(epsilon0) * ones], (np.r_[rows, rows], np.r_[pairs[:, 0], pairs[:, 1]])),
        shape=(len(pairs), given_s.size),
    )
    s, t = given_s.ravel(), given_t.ravel()
    found = linprog(-s, A_ub=above, b_ub=np.zeros(len(pairs)), A_eq=t[None, :], b_eq=[1.0], options=TIGHT)
    f = repaired(np.maximum(found.x, 0), given_s.shape, epsilon0)
    return math.log(float(s @ f) / float(t @ f))


def attained(given_s, given_t, epsilon0):
    """The largest loss of randomised response on a set of values of the first record."""
    best, first = 0.0, np.indices(given_s.shape)[0]
    for inside in product([False, True], repeat=given_s.shape[0]):
        f = np.where(np.array(inside)[first], math.exp(epsilon0), 1.0)
        best = max(best, math.log(float((given_s * f).sum()) / float((given_t * f).sum())))
    return best


def repaired(f, shape, epsilon0):
    """The largest function below f that changes by at most e^epsilon0 from neighbour to neighbour."""
    points = np.array(list(product(*map(range, shape))))
    apart = (points[:, None, :] != points[None, :, :]).sum(axis=2)
    return np.min(np.exp(epsilon0 * apart) * f[None, :], axis=1)
