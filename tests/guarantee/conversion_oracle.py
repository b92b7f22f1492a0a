"""Rényi divergences and hockey sticks from their definitions, at 50 digits; two-cell optima by golden sections."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from mpmath.ctx_mp import MPContext

mp = MPContext()
mp.dps = 50


def real(x):
    return mp.mpf(Fraction(x).numerator) / Fraction(x).denominator


def renyi(p, q, alpha):
    """ln(sum p^a q^(1-a)) / (a - 1); inf unless q covers p; alpha = inf is the largest log ratio."""
    if any(x > 0 and y == 0 for x, y in zip(p, q, strict=True)):
        return mp.inf
    cells = [(x, y) for x, y in zip(p, q, strict=True) if x > 0]
    if alpha == mp.inf:
        return max(mp.log(x / y) for x, y in cells)
    a = mp.mpf(alpha)
    return mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in cells)) / (a - 1)


def hockey_stick(p, q, epsilon):
    """sup_S P(S) - e^epsilon Q(S) = sum of the positive parts."""
    e = mp.exp(mp.mpf(epsilon))
    return mp.fsum(max(mp.zero, x - e * y) for x, y in zip(p, q, strict=True))


def least_q(p, orders, symmetric=False, halvings=90):
    """The least q <= p such that the two-cell pair (p, q) satisfies every bound, by bisection in log q, from above."""
    low, high = mp.log(p) - 2000, mp.log(p)
    for _ in range(halvings):
        middle = (low + high) / 2
        q = mp.exp(middle)
        pair, other = (p, 1 - p), (q, 1 - q)
        fits = all(
            renyi(pair, other, a) <= r and (not symmetric or renyi(other, pair, a) <= r) for a, r in orders.items()
        )
        low, high = (low, middle) if fits else (middle, high)
    return mp.exp(high)


def best_delta(orders, epsilon, symmetric=False, steps=90):
    """max p - e^eps q over allowed two-cell pairs, from below: every value tried is attained by a pair of laws.

    The height is concave in p where it is positive; golden section on the logit of p, started from a rough grid."""
    e = mp.exp(mp.mpf(epsilon))
    orders = {a: mp.mpf(r) for a, r in orders.items()}

    def height(x, halvings=90):
        p = 1 / (1 + mp.exp(-x))
        return p - e * least_q(p, orders, symmetric, halvings)

    grid = [mp.mpf(x) for x in range(-40, 41, 4)]
    values = [height(x, halvings=30) for x in grid]
    k = max(range(len(grid)), key=lambda i: values[i])
    low, high = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
    ratio = (mp.sqrt(5) - 1) / 2
    one, two = high - ratio * (high - low), low + ratio * (high - low)
    at_one, at_two = height(one), height(two)
    for _ in range(steps):
        if at_one < at_two:
            low, one, at_one = one, two, at_two
            two = low + ratio * (high - low)
            at_two = height(two)
        else:
            high, two, at_two = two, one, at_one
            one = high - ratio * (high - low)
            at_one = height(one)
        if high - low < 1e-11:
            break
    return max([at_one, at_two, *values])


def random_pair(rng):
    """Two laws on 2 to 6 outcomes with masses over many decades."""
    n = int(rng.integers(2, 7))
    spread = rng.choice([0.3, 1.0, 3.0, 8.0])

    def law():
        w = [mp.mpf(float(x)) for x in np.exp(spread * rng.standard_normal(n))]
        return [x / mp.fsum(w) for x in w]

    p = law()
    mix = mp.mpf(float(rng.choice([0.0, 0.5, 0.99, 0.9999])))
    return p, [mix * x + (1 - mix) * y for x, y in zip(p, law(), strict=True)]
