"""The least allocation for Laplace noise block by block, for short runs: the quadratic models may stop short of it.

In b_t = w_t a_t the problem is a sum of convex prices under tail sums, so the least allocation has blocks within which
the slope of the price per unit of b is one number, larger from block to block (pool adjacent violators for convex
prices: Best, Chakravarti and Ubhaya 2000). With g_t = c_{t+1} ... c_e up to the end e of its block, the slope of the
price at a_t is g_t l, 0 <= l < 1, and solves to

    u = ln(1 + (2 - 1/alpha) g l / (1 - g l)) / (2 alpha - 1),    a = b sqrt(d) u.

l is where the block pays for its own shifts, sum g_t a_t = sum g_t s_t, by bisection in x, l = 1 - e^{-x}.
"""

from __future__ import annotations

import math

import numpy as np

from fugu.training.steps import Floats, Steps

LONGEST = 40
_HALVINGS = 70


def blocks(steps: Steps, alpha: float, dimension: int) -> Floats:
    """The allocation in doubles, for one noise at all steps: it proves nothing and may miss by a little."""
    size = steps.shifts.size
    contraction = np.broadcast_to(steps.contraction, (size,))
    root = float(steps.scales[0]) * math.sqrt(dimension)
    found: list[tuple[int, Floats]] = []
    for t in range(size):
        start, hidden = t, _block(steps, contraction, t, t, alpha, root)
        while found and _slope(found[-1][1][-1], alpha, root) > contraction[start] * _slope(hidden[0], alpha, root):
            start = found.pop()[0]
            hidden = _block(steps, contraction, start, t, alpha, root)
        found.append((start, hidden))
    return np.concatenate([hidden for _, hidden in found])


def _block(steps: Steps, contraction: Floats, start: int, end: int, alpha: float, root: float) -> Floats:
    """What each step of a block hides, so that together they hide what the block moves."""
    left = np.concatenate((contraction[start + 1 : end + 1], [1.0]))
    g: Floats = np.asarray(np.cumprod(left[::-1])[::-1], dtype=np.float64)
    total = float(g @ steps.shifts[start : end + 1])
    if total == 0:
        return np.zeros(g.size)
    low, high = -700.0, math.log(1e6)  # of ln x
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = float(g @ _hidden(g, math.exp(middle), alpha, root)) >= total
        low, high = (low, middle) if enough else (middle, high)
    return _hidden(g, math.exp(high), alpha, root)


def _hidden(g: Floats, x: float, alpha: float, root: float) -> Floats:
    """a with slope g (1 - e^{-x}); in logarithms, as 1 - g l may be below all rounding."""
    with np.errstate(divide="ignore"):
        rest = np.logaddexp(np.log1p(-np.minimum(g, 1.0)), np.log(g) - x)
        level = np.log(g) + math.log(-math.expm1(-x))
        return np.asarray(root * np.logaddexp(0.0, math.log(2 - 1 / alpha) + level - rest) / (2 * alpha - 1))


def _slope(hidden: float, alpha: float, root: float) -> float:
    far = (2 * alpha - 1) * float(hidden) / root
    return alpha * -math.expm1(-far) / (alpha + (alpha - 1) * math.exp(-far))
