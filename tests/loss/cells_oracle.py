"""Histograms from the definition: all tables of counts near one record, added up; nothing of fugu is used.

P(z) = sum over cells x of p(x) prod over cells j of f(z_j - [j = x]): one record of a known table, the known counts
subtracted. Outputs beyond a window are bracketed by their mass."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np


def laplace(b: float, reach: int):
    """The lattice Laplace law on -reach - 1 ... reach + 1."""
    z, r = np.arange(-reach - 1, reach + 2), math.exp(-1 / b)
    return (1 - r) / (1 + r) * np.exp(-np.abs(z) / b)


def gaussian(sigma: float, reach: int):
    """The lattice Gaussian law on -reach - 1 ... reach + 1."""
    far = np.arange(-reach - 60 - int(40 * sigma), reach + 61 + int(40 * sigma))
    z = np.arange(-reach - 1, reach + 2)
    return np.exp(-(z**2) / (2 * sigma**2)) / np.exp(-(far**2) / (2 * sigma**2)).sum()


def noised(p, f):
    """The law of the counts on -reach ... reach + 1: an array with one axis for each cell."""
    stay, move = f[1:], f[:-1]  # f(z) and f(z - 1)
    return sum(w * _outer([move if j == x else stay for j in range(len(p))]) for x, w in enumerate(p))


def _outer(rows):
    found = np.ones(())
    for row in rows:
        found = np.multiply.outer(found, row)
    return found


def delta(p, q, f, epsilon):
    """(low, high): sum over outputs of (P - e^epsilon Q)_+, and that plus the mass of P beyond the window."""
    p, q = np.asarray(p) / np.sum(p), np.asarray(q) / np.sum(q)
    one = noised(p, f)
    low = float(np.maximum(one - math.exp(epsilon) * noised(q, f), 0.0).sum())
    return low, low + max(0.0, 1 - float(one.sum()))


def pure_laplace(p, q, b):
    """max ln P / Q over the outputs {0, 1}^k, where every likelihood ratio of Laplace noise on counts already is."""
    p, q = np.asarray(p) / np.sum(p), np.asarray(q) / np.sum(q)
    one, other = (noised(law, np.exp(-np.abs(np.arange(-1, 2)) / b)) for law in (p, q))
    with np.errstate(divide="ignore"):
        return float(np.log(one / other).max())


def delta_of_many(p, q, b, epsilon, digits=50):
    """Laplace cells as they are summed over the 2^k signs of z - 1/2, in 50 digits: for more cells than a window."""
    with mpmath.workdps(digits):
        r, grown = mpmath.exp(-1 / mpmath.mpf(str(b))), mpmath.exp(mpmath.mpf(str(epsilon)))
        c = [mpmath.mpf(int(a)) / int(sum(p)) - grown * int(d) / int(sum(q)) for a, d in zip(p, q, strict=True)]
        total = mpmath.mpf(0)
        for above in itertools.product((0, 1), repeat=len(c)):
            odds = mpmath.fprod(r / (1 + r) if up else 1 / (1 + r) for up in above)
            value = sum(x / r if up else x * r for x, up in zip(c, above, strict=True))
            total += odds * max(value, 0)
        return total


def random_counts(rng, cells):
    """Counts with zeros, ties and small numbers."""
    high = int(rng.choice([3, 20, 1000]))
    while True:
        p, q = rng.integers(0, high, cells), rng.integers(0, high, cells)
        if rng.random() < 0.3:
            q[: cells // 2] = p[: cells // 2]
        if p.sum() and q.sum() and not np.array_equal(p * q.sum(), q * p.sum()):
            return p, q


def as_rational(x: float) -> Fraction:
    return Fraction(str(round(x, 6)))
