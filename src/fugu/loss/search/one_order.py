"""Both orders of a hockey stick, one by one, in doubles: what ordered pairs of distributions ask about."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable, UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.pair import LawPair
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, as_fraction

Floats = NDArray[np.float64]


def both_orders(pair: LawPair, noise: Laplace, epsilon: Real) -> tuple[float, float]:
    """(HS_epsilon(p || q), HS_epsilon(q || p)) of continuous Laplace noise on two laws with atoms on a line.

    Between neighbouring atoms p - e^epsilon q is A e^(-t/b) + B e^(t/b), which changes its sign once at most, so each
    is a finite sum (in units of b: L_k and R_k are the sums from the left and from the right).

    >>> found = both_orders(LawPair(Discrete([0]), Discrete([1])), Laplace(1.0), 0.5)
    >>> [round(x, 9) for x in found]
    [0.221199217, 0.221199217]
    """
    if not isinstance(pair.p, Discrete) or not isinstance(pair.q, Discrete) or pair.dimension != 1:
        raise NotProvable("the two orders are worked out for discrete laws of one number")
    if not isinstance(noise, Laplace) or noise.grid is not None or noise.scale == 0:
        raise UsageError("give continuous Laplace noise of positive scale: fugu.Laplace(scale)")
    points = np.unique(np.concatenate([pair.p.values, pair.q.values]))
    p, q = (_on(points, law) for law in (pair.p, pair.q))
    factor = math.exp(float(as_fraction(epsilon)))
    scaled = points / float(noise.scale)
    return _hockey(scaled, p - factor * q), _hockey(scaled, q - factor * p)


def _on(points: Floats, law: Discrete) -> Floats:
    found = np.zeros(len(points))
    found[np.searchsorted(points, law.values)] = [float(Fraction(x)) for x in law.weights]
    return found


def _hockey(x: Floats, c: Floats) -> float:
    left, right = c.copy(), c.copy()
    gaps = np.diff(x)
    for k in range(1, len(c)):
        left[k] += left[k - 1] * math.exp(-gaps[k - 1])
    for k in range(len(c) - 2, -1, -1):
        right[k] += right[k + 1] * math.exp(-gaps[k])
    total = max(float(right[0]), 0.0) + max(float(left[-1]), 0.0)
    for k, gap in enumerate(gaps.tolist()):
        total += _between(float(left[k]), float(right[k + 1]), gap)
    return total / 2


def _between(a: float, b: float, gap: float) -> float:
    """The integral over 0 < s < gap of the positive part of a e^-s + b e^(s - gap)."""

    def whole(low: float, high: float) -> float:
        return a * (math.exp(-low) - math.exp(-high)) + b * (math.exp(high - gap) - math.exp(low - gap))

    if a >= 0 and b >= 0:
        return whole(0.0, gap)
    if a <= 0 and b <= 0:
        return 0.0
    cut = min(max((math.log(-a / b) + gap) / 2, 0.0), gap)
    return max(whole(0.0, cut) if a > 0 else whole(cut, gap), 0.0)
