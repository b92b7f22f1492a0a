"""Which noise hides which shift: the least sum of a_t^2 / scale_t^2 over all ways to pay for the shifts in time.

Two runs start together; step t moves them apart by at most s_t and brings a distance z to c_t z. Their noises are
allowed to hide a_t >= 0 of it at a price: z_t = c_t z_{t-1} + s_t - a_t >= 0, z_0 = 0 and z_T = 0. With the weights
w_t = c_{t+1} ... c_T this is

    sum_{t > k} w_t a_t >= sum_{t > k} w_t s_t for all k,   with equality for k = 0:

a shift may be hidden by its own noise or by later noise. The least sum of a_t^2 / scale_t^2 is an isotonic regression
(pool adjacent violators): a_t = w_t scale_t^2 level_t, where level is the non-decreasing fit of s_t / (w_t scale_t^2)
with weights (w_t scale_t)^2. The least sum does not decrease in any of the tail sums on the right.

Levels do not decrease, so a_t <= w_t (scale_t / scale_T)^2 a_T: steps whose weight is negligible hide nothing
(`Steps.recent`). Whatever the floats are, `covered` is proved: if E is the largest sum_{t > k} w_t (s_t - a_t),
then a with a_T + E in place of a_T is enough (docs/proofs/iterations.md#3-the-least-allocation).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fugu.training.steps import UNIT, Floats, Steps

_SMALLEST = 1e-300
"""Squares below this are not zero."""


def allocation(shifts: Any, scales: Any, contraction: Any = 1.0) -> Floats:
    """How much of the distance the noise of each step hides, at the least sum of squares relative to the scales.

    >>> allocation([1, 3, 2, 2], 1).round(6).tolist(), allocation([1, 1, 1], 1, 0.5).round(6).tolist()
    ([1.0, 2.333333, 2.333333, 2.333333], [0.333333, 0.666667, 1.333333])
    """
    steps = Steps.read(shifts, scales, contraction).recent()
    found = np.zeros(np.size(shifts))
    if steps.shifts.any():
        hidden = feasible(steps, isotonic(steps))
        found[found.size - hidden.size :] = hidden
    return found


def covered(shifts: Any, scales: Any, contraction: Any = 1.0) -> float:
    """A float at or above the least sum of (a_t / scale_t)^2, close to it.

    >>> [round(covered(s, 1), 9) for s in ([4, 0, 0, 0], [0, 0, 0, 4], [1, 3, 2, 2])]
    [4.0, 16.0, 17.333333333]
    """
    return squares(Steps.read(shifts, scales, contraction))


def squares(steps: Steps) -> float:
    """`covered` for steps that were read."""
    if not steps.shifts.any():
        return 0.0
    steps = steps.recent()
    if not steps.shifts.any():
        return _SMALLEST
    with np.errstate(under="ignore", over="ignore"):
        relative = feasible(steps, isotonic(steps)) / steps.scales
        return max(_SMALLEST, float(np.sum(relative * relative)) * (1 + 128 * UNIT))


def isotonic(steps: Steps) -> Floats:
    """The least allocation in doubles: it proves nothing and may miss by a little."""
    from scipy.optimize import isotonic_regression

    size, most = float(steps.shifts.max()), float(steps.scales.max())
    shifts, b, w = steps.shifts / size, steps.scales / most, steps.weights()
    if w.size == 1 == b.size:
        return np.asarray(isotonic_regression(shifts).x * size)
    level = isotonic_regression(shifts / (w * b * b), weights=np.broadcast_to((w * b) ** 2, shifts.shape)).x
    return np.asarray(level * w * b * b * size)


def feasible(steps: Steps, hidden: Floats) -> Floats:
    """The allocation, raised by its rounding, with what is then still missing added to its last entry.

    A float tail sum errs by at most `slack` times the tail sum of w_t (s_t + a_t): T + 8 roundings, with weights 3 T
    + 8, as these are products of up to T decimals."""
    weights = steps.weights()
    slack = ((1 if weights.size == 1 else 3) * steps.shifts.size + 8) * UNIT
    hidden = np.maximum(hidden, 0.0) * (1 + 4 * slack)
    left = np.cumsum((weights * (steps.shifts - hidden))[::-1])
    size = np.cumsum((weights * (steps.shifts + hidden))[::-1])
    missing = max(0.0, float(np.max(left + slack * (1 + 2 * slack) * size)))
    hidden[-1] += missing * (1 + 4 * UNIT)
    return hidden
