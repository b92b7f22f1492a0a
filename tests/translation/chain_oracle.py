"""Influence from the definition alone: all data sets, all subsets, exact rationals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath


def meant(row):
    """The law a row of decimals stands for."""
    row = [Fraction(str(x)) if isinstance(x, float) else Fraction(x) for x in row]
    return [x / sum(row) for x in row]


def stationary(kernel):
    """pi = pi P by exact elimination."""
    k = len(kernel)
    rows = [[kernel[j][i] - (i == j) for j in range(k)] + [Fraction(0)] for i in range(k - 1)]
    rows.append([Fraction(1)] * k + [Fraction(1)])
    for c in range(k):
        pivot = next(r for r in range(c, k) if rows[r][c])
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(k):
            if r != c and rows[r][c]:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [row[-1] for row in rows]


def joint(kernels, initial):
    """{data set: probability}, zeros left out."""
    law = {(x,): p for x, p in enumerate(initial) if p}
    for kernel in kernels:
        law = {(*d, y): p * q for d, p in law.items() for y, q in enumerate(kernel[d[-1]]) if q}
    return law


def leak(law, i, x, other, kept):
    """max over x_L possible given x of P(x_L | x) / P(x_L | other); inf if impossible given `other`."""
    sides = []
    for value in (x, other):
        side = {}
        for d, p in law.items():
            if d[i] == value:
                key = tuple(d[j] for j in kept)
                side[key] = side.get(key, 0) + p
        total = sum(side.values())
        sides.append({key: p / total for key, p in side.items()})
    p, q = sides
    return max(v / q[key] if key in q else math.inf for key, v in p.items())


def curve(law, per_pair=True, nodes=None):
    """[a(1), ..., a(T)] as 30-digit numbers; `per_pair=False`: one H for all pairs of an entry."""
    length = len(next(iter(law)))
    found = []
    for b in range(1, length + 1):
        worst = Fraction(1)
        for i in range(length) if nodes is None else nodes:
            values = sorted({d[i] for d in law})
            pairs = list(itertools.permutations(values, 2))
            if not pairs:
                continue
            sets = [
                [j for j in range(length) if j != i and j not in rest]
                for rest in itertools.combinations([j for j in range(length) if j != i], b - 1)
            ]
            leaks = [[leak(law, i, x, y, kept) for kept in sets] for x, y in pairs]
            each = [min(row) for row in leaks] if per_pair else [min(map(max, zip(*leaks, strict=True)))]
            worst = max(worst, *each)
        found.append(_log(worst))
    return found


def _log(ratio):
    if ratio == math.inf:
        return mpmath.inf
    with mpmath.workdps(40):
        return mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
