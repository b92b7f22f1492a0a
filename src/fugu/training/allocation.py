"""Which noise hides which shift of a noisy iteration: its steps as arrays, the least squares, what a coupling costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, UsageError
from fugu.loss.search.normal import fast_gaussian_delta
from fugu.loss.shifts import gaussian_delta
from fugu.numbers.checks import is_numeric
from fugu.numbers.exact import Real

# Which noise hides which shift: the least sum of a_t^2 / scale_t^2 over all ways to pay for the shifts in time.
#
# Two runs start together; step t moves them apart by at most s_t and brings a distance z to c_t z. Their noises are
# allowed to hide a_t >= 0 of it at a price: z_t = c_t z_{t-1} + s_t - a_t >= 0, z_0 = 0 and z_T = 0. With the weights
# w_t = c_{t+1} ... c_T this is
#
#     sum_{t > k} w_t a_t >= sum_{t > k} w_t s_t for all k,   with equality for k = 0:
#
# a shift may be hidden by its own noise or by later noise. The least sum of a_t^2 / scale_t^2 is an isotonic regression
# (pool adjacent violators): a_t = w_t scale_t^2 level_t, where level is the non-decreasing fit of s_t / (w_t scale_t^2)
# with weights (w_t scale_t)^2. The least sum does not decrease in any of the tail sums on the right.
#
# Levels do not decrease, so a_t <= w_t (scale_t / scale_T)^2 a_T: steps whose weight is negligible hide nothing
# (`Steps.recent`). Whatever the floats are, `covered` is proved: if E is the largest sum_{t > k} w_t (s_t - a_t),
# then a with a_T + E in place of a_T is enough (docs/proofs/iterations.md#3-the-least-allocation).

_SMALLEST = 1e-300
"""Squares below this are not zero."""


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


def fast_allocation(shifts: Floats, steps: Steps) -> Floats:
    """`isotonic` for many rows of shifts at once, in doubles: it steers the search and proves nothing.

    Isotonic regression by its max-min formula, level_t = max over k <= t of min over l >= t of the mean of k .. l."""
    count = steps.shifts.size
    w = np.maximum(np.broadcast_to(steps.weights(), (count,)), 1e-150)
    v = np.broadcast_to(w * w * steps.scales**2, (count,))
    sums = np.concatenate([np.zeros((len(shifts), 1)), np.cumsum(shifts[:, -count:] * w, axis=1)], axis=1)
    levels = np.zeros((len(shifts), count))
    for k in range(count):
        slopes = (sums[:, k + 1 :] - sums[:, k : k + 1]) / np.cumsum(v[k:])
        least = np.minimum.accumulate(slopes[:, ::-1], axis=1)[:, ::-1]
        levels[:, k:] = np.maximum(levels[:, k:], least)
    return np.asarray(levels * v / w)


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


# The steps of a noisy iteration as arrays: how far each moves the iterate apart, and how much it brings together.

Floats = NDArray[np.float64]
UNIT = 2.0**-53
_WIDEST, _FARTHEST, _COUNTS = 1e30, 1e100, 1e-60


@dataclass(frozen=True, eq=False)
class Steps:
    """T steps z -> c_t z + s_t: `shifts` s_t >= 0, `contraction` 0 <= c_t <= 1, `scales` of the noise, > 0.

    `contraction` and `scales` have length T too, or 1 if they are the same at every step.
    """

    shifts: Floats
    scales: Floats
    contraction: Floats

    @classmethod
    def read(cls, shifts: Any, scales: Any, contraction: Any) -> Steps:
        """Check what a user gave; steps before one that forgets everything (c_t = 0) are left out."""
        s = array(shifts, "shifts")
        if s.ndim != 1 or s.size == 0:
            raise UsageError("shifts must be a list of numbers, one for each step, and at least one")
        if s.min() < 0:
            raise UsageError(f"shifts are distances and must be >= 0; number {int(np.argmin(s)) + 1} is negative")
        if s.max() > _FARTHEST:
            raise UsageError("shifts above 1e100 cannot be told from infinity; choose another unit")
        s = np.where((s > 0) & (s < 1 / _FARTHEST), 1 / _FARTHEST, s)  # more than it was: safe, and far from underflow
        given = {"noise": np.atleast_1d(array(scales, "noise"))}
        given["contraction"] = np.atleast_1d(array(contraction, "contraction"))
        for name, each in given.items():
            if each.shape not in ((1,), (s.size,)):
                raise UsageError(f"{name} must be one number or one for each of the {s.size} steps")
        b, c = (each[:1] if bool((each == each[0]).all()) else each for each in given.values())
        if b.min() <= 0:
            raise BadNoise("noise must be above 0 at every step: it is the standard deviation added to the iterate")
        if not (b.min() > 1 / _FARTHEST and b.max() < _FARTHEST):
            raise BadNoise("noise must lie between 1e-100 and 1e100; choose another unit")
        if b.max() / b.min() > _WIDEST:
            raise BadNoise("the noise of two steps differs by more than 1e30; leave out steps with next to no noise")
        if c.min() < 0 or c.max() > 1:
            raise UsageError(
                "contraction must lie between 0 and 1: a map that moves points apart hides nothing that came before; "
                "lower the learning rate to at most 2 / smoothness"
            )
        found = cls(s, b, c)
        forgets = np.flatnonzero(c == 0)
        return found.since(int(forgets[-1])) if forgets.size and c.size > 1 else found

    def since(self, start: int, before: float = 0.0) -> Steps:
        """Only the steps from number `start` on; `before`: how far apart the iterates are when it begins."""
        shifts = self.shifts[start:]
        if before:
            kept = float(self.contraction[start if self.contraction.size > 1 else 0])
            shifts = np.concatenate(([shifts[0] + kept * before * (1 + 4 * UNIT)], shifts[1:]))
        scales, contraction = (x[start:] if x.size > 1 else x for x in (self.scales, self.contraction))
        return Steps(shifts, scales, contraction)

    def recent(self) -> Steps:
        """The last steps, of weight 1e-60 and more: earlier noise hides next to nothing, and is not used.

        How far apart the earlier steps leave the iterates, from above, is where these begin."""
        weights = self.weights()
        if weights[0] >= _COUNTS:
            return self
        start = int(np.searchsorted(weights, _COUNTS))
        early = Steps(self.shifts[:start], self.scales[:1], self.contraction[:start])
        with np.errstate(under="ignore"):
            left = float(np.sum(early.weights() * early.shifts)) * (1 + (3 * start + 8) * UNIT)
        return self.since(start, left + 1e-300 * float(np.sum(early.shifts)))

    @property
    def alike(self) -> bool:
        """No contraction and one noise: then the least allocation is the same for every convex cost."""
        return self.contraction.size == 1 and self.contraction[0] == 1 and self.scales.size == 1

    def weights(self) -> Floats:
        """w_t = c_{t+1} ... c_T: how much of a distance after step t is left at the end. Relative to the end, so that
        what underflows is what no longer matters."""
        if self.contraction.size == 1:
            c = float(self.contraction[0])
            if c == 1:
                return np.ones(1)
            factors = np.full(self.shifts.size, c)
            factors[0] = 1.0
        else:
            factors = np.concatenate(([1.0], self.contraction[:0:-1]))
        return np.asarray(np.cumprod(factors)[::-1])


def array(given: Any, name: str) -> Floats:
    """Finite numbers as floats; truth values and masked entries are none."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be numbers") from None
    if np.asarray(given).dtype.kind == "b" or isinstance(given, np.ma.MaskedArray):
        raise UsageError(f"{name} must be numbers, not truth values or a masked array")
    if not np.isfinite(found).all():
        raise UsageError(f"{name} must be finite numbers; there is a NaN or an infinity")
    return found


def finite(x: Any, name: str, zero: bool = False, more: str = "") -> float:
    """A finite number above 0, or, with `zero`, of at least 0; `more`: what else it may be, in words."""
    if not is_numeric(x) or not math.isfinite(x) or x < 0 or (x == 0 and not zero):
        raise UsageError(f"{name} must be a finite number {'of at least' if zero else 'above'} 0{more}")
    return float(x)


# What a coupling costs: for every move the square that the noise must hide, with its chance.
#
# Under Gaussian noise of standard deviation s, a move whose least allocation has the sum of squares q makes the outputs
# at most as different as two normals m = sqrt(q) / s apart. With the chances p_k of the moves, by joint convexity,
#
#     D_alpha <= 1/(alpha-1) log sum_k p_k exp((alpha-1) alpha q_k / (2 s^2)),     delta(e) <= sum_k p_k delta_G(e,
#     m_k),
#
# for both orders of the pair (docs/proofs/iterations.md#1-two-known-sequences-of-maps,
# docs/proofs/iterations.md#2-data-with-a-joint-law).

_TINY, _LEAST = 1e-300, 5e-324
"""What underflows is not zero."""


@dataclass(frozen=True)
class Height:
    """What a case costs, where one number says it."""

    height: float


@dataclass(frozen=True, eq=False)
class Squares:
    """Squares q_k, from above, with their chances."""

    chances: Floats
    values: Floats

    @property
    def height(self) -> float:
        """The mean of the squares: it ranks cases, nothing more."""
        return float(np.sum(self.chances * self.values))

    def renyi(self, scale: float, alpha: float) -> float:
        """The bound on D_alpha, from above."""
        with np.errstate(over="ignore"):
            exponents = (alpha - 1) * (alpha * (1 + 2 * UNIT)) * (self.values / scale / scale / 2 * (1 + 8 * UNIT))
        return mixed(self.chances, np.where(self.values > 0, np.maximum(exponents, _TINY), 0.0), alpha - 1)

    def delta(self, scale: float, epsilon: Real) -> float:
        """The bound on delta(epsilon), from above, every term proved in balls; equal squares together."""
        values, which = np.unique(self.values, return_inverse=True)
        sums = np.bincount(which.reshape(-1), weights=self.chances) * (1 + self.chances.size * UNIT)
        total = 0.0
        for q, p in zip(values.tolist(), sums.tolist(), strict=True):
            found = (
                gaussian_delta(epsilon, max(_TINY, math.sqrt(q) * (1 + 2 * UNIT) / scale * (1 + 4 * UNIT)))
                if q
                else 0.0
            )
            total += p * found + (_LEAST if found else 0.0)
        return min(1.0, total * (1 + (8 + self.values.size) * UNIT))

    def fast_delta(self, scale: float, epsilon: float) -> float:
        """About the same in doubles, to search with."""
        return float(np.sum(self.chances * fast_gaussian_delta(epsilon, np.sqrt(self.values) / scale)))


def mixed(chances: Floats, exponents: Floats, order: float) -> float:
    """log(sum p_k e^{x_k}) / order from above, x_k >= 0, for chances whose exact values sum to 1."""
    most = float(exponents.max())
    if not math.isfinite(most):
        return math.inf
    if most < 700:
        found = math.log1p(float(np.sum(chances * np.expm1(exponents))) * (1 + (16 + chances.size) * UNIT))
        return found * (1 + 8 * UNIT) / order * (1 + 4 * UNIT)
    total = float(np.sum(chances * np.exp(exponents - most)))
    slack = (32 + 4 * chances.size + 4 * most) * UNIT
    return max(0.0, most + math.log(total + UNIT) + slack) / order * (1 + 4 * UNIT)


# A bounded domain: at any time the iterates are at most its diameter apart, whatever came before.
#
# With the order project, gradient, noise (and projection at the end) both iterates are in K when step t + 1 uses them:
# start there with the distance Diam(K) and drop all earlier steps. Every start is a proof; the least of many is taken.
# (Altschuler and Talwar 2022.) In the printed order, noise after the projection, iterates leave K, where bounds that
# hold on K say nothing.

_ALL, _RATIO = 16, 1.2


def least(steps: Steps, diameter: float | None, price: Callable[[Steps], float]) -> float:
    """The least price over all starts that are tried: from the beginning, or from the diameter at some step.

    Starts are tried at the last steps, then ever farther back in a geometric grid, then around the best one."""
    best = price(steps)
    if diameter is None or best == 0:
        return best
    count = steps.shifts.size
    known: dict[int, float] = {}

    def at(left: int) -> float:
        if left not in known:
            known[left] = price(steps.since(count - left, diameter))
        return known[left]

    kept = list(range(1, min(count, _ALL) + 1))  # how many of the last steps: all small numbers, then ever farther back
    while kept[-1] < count:
        kept.append(min(count, int(kept[-1] * _RATIO) + 1))
    found = min(kept, key=at)
    step = max(1, int(found * (_RATIO - 1)))
    while step:
        found = min((n for n in (found - step, found, found + step) if 1 <= n <= count), key=at)
        step //= 2
    return min(best, at(found))
