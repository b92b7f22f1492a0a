"""Where the best tangents touch: a fast search in doubles that proves nothing and may miss by a little.

The allowed pairs (p, q) form a convex set, so on its lower edge q(p) the quantity sought has one hill in p. The hill is
found by zooming on a grid in the logit of p; q(p) is the largest of the lower ends that the constraints allow, by
Newton's method in the distance of the logits. An error here costs tightness of second order, never the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_POINTS, _ROUNDS, _STEPS = 17, 16, 40
_NEVER, _SETTLED = -1e300, 1e-12


@dataclass(frozen=True)
class Edges:
    """The constraints as doubles: q (p/q)^b summed over both cells is at most e^log_bound; pure ones by epsilon."""

    powers: Array
    log_bounds: Array
    pure: float
    symmetric: bool

    def reach(self, x: Array) -> Array:
        """The largest d with q = sigmoid(x - d) allowed beside p = sigmoid(x), one column a constraint."""
        forward = self.powers > 1
        a, bound = self.powers[forward], self.log_bounds[forward]
        pure = [column[:, None] for column in self._pure_reach(x)]
        if not a.size:
            return np.concatenate(pure, axis=1)
        start = np.min([x - np.max((a * _log(x)[:, None] - bound) / (a - 1), axis=1), *[c[:, 0] for c in pure]], axis=0)
        return np.concatenate([self._solve(x[:, None], np.maximum(start, 0.0)[:, None]), *pure], axis=1)

    def _solve(self, x: Array, start: Array) -> Array:
        """The d at which each constraint binds, at most `start`: Newton steps on the logarithm, kept in a bracket."""
        d = np.repeat(start, len(self.powers), axis=1)
        low, high = np.zeros_like(d), d
        for _ in range(_STEPS):
            excess, slope = self._excess(x, d)
            inside = excess <= 0
            low, high = np.where(inside, d, low), np.where(inside, high, d)
            step = np.where(d < 1, d * np.exp(-excess / (d * slope)), d - excess / slope)
            new = np.where((step > low) & (step < high), step, (low + high) / 2)
            new = np.where(np.abs(excess) < _SETTLED, d, new)  # else rounding would send it back to the middle
            done = bool(np.all(np.abs(new - d) <= 1e-11 * d))
            d = new
            if done:
                break
        return d

    def _pure_reach(self, x: Array) -> list[Array]:
        """p <= K q, and 1 - q <= K (1 - p), solved for d."""
        if math.isinf(self.pure):
            return []
        most = np.logaddexp(0.0, np.log(np.expm1(np.minimum(self.pure, 700.0))) - _log(-x))
        other = np.expm1(-self.pure) / np.exp(_log(x))
        back = np.where(other > -1, -np.log1p(np.maximum(other, -1.0)), np.inf)
        return [most, back] if self.symmetric else [most]

    def _excess(self, x: Array, d: Array) -> tuple[Array, Array]:
        """The logarithm of (left side - 1) / (c - 1) and its derivative in d; without the 1 where c is large.

        left side - 1 = q g(ln p/q) + (1-q) g(ln (1-p)/(1-q)), g(v) = e^{bv} - 1 - b (e^v - 1) >= 0: no cancellation.
        """
        b, bound = self.powers, self.log_bounds
        t, s = _log_ratios(x, d)
        log_q, log_rest = _log(x - d), _log(d - x)
        one, two = b * t + log_q, b * s + log_rest
        both = np.logaddexp(one, two)
        small = _above_tangent(b, t, log_q) + _above_tangent(b, s, log_rest)
        steep = (b - 1) * np.exp(log_q + log_rest + b * s - both) * np.expm1(np.minimum(b * (t - s), 700.0))
        far = (b - 1) * (np.exp(one + log_rest - both) - np.exp(two + log_q - both))
        slope = np.where(np.abs(b * (t - s)) < 1, steep, far)
        return (
            np.where(bound < 30, np.log(small) - np.log(np.expm1(bound)), both - bound),
            np.where(bound < 30, slope * np.exp(both) / small, slope),
        )


def _above_tangent(b: Array, v: Array, log_q: Array) -> Array:
    """q (e^{bv} - 1 - b (e^v - 1)), by its series where it would cancel and in logarithms where it would overflow."""
    q = np.exp(log_q)
    series = b * (b - 1) * v * v / 2 * (1 + (b + 1) * v / 3 + (b * b + b + 1) * v * v / 12)
    near = np.where(np.maximum(np.abs(b), 1) * np.abs(v) < 1e-4, series, np.expm1(b * v) - b * np.expm1(v))
    return np.where(np.abs(v) < 1, q * near, np.exp(b * v + log_q) - q - b * (np.exp(v + log_q) - q))


def _log_ratios(x: Array, d: Array) -> tuple[Array, Array]:
    """ln p/q and ln (1-p)/(1-q) for the logits x and x - d."""
    far = d > 30
    t = np.where(far, _log(x) - _log(x - d), np.log1p(np.exp(_log(-x)) * np.expm1(np.minimum(d, 31.0))))
    s = np.where(far, _log(-x) - _log(d - x), np.log1p(np.exp(_log(x)) * np.expm1(-d)))
    return t, s


def _log(x: Array) -> Array:
    """log p for p = sigmoid(x)."""
    return -np.logaddexp(0.0, -x)


def hill_for_delta(edges: Edges, epsilon: float, low: float, high: float) -> tuple[float, float, Array]:
    """The p (a logit) with the largest p - e^epsilon q(p), the reach there, and how tightly each constraint binds."""

    def height(x: Array) -> tuple[Array, Array]:
        gap = epsilon - _log_ratios(x, np.min(edges.reach(x), axis=1))[0]
        return np.where(gap < 0, _log(x) + np.log(-np.expm1(np.minimum(gap, -1e-300))), -1e9 - gap), x

    return _climb(edges, height, low, high)


def hill_for_epsilon(edges: Edges, log_delta: float, low: float, high: float) -> tuple[float, float, Array]:
    """The same for the largest (p - delta) / q(p): the steepest line through (0, delta)."""
    rest = math.log1p(-math.exp(log_delta))

    def height(z: Array) -> tuple[Array, Array]:  # p = (delta + e^z) / (1 + e^z)
        x = np.logaddexp(log_delta, z) - rest
        return _log(z) - _log(x - np.min(edges.reach(x), axis=1)), x

    return _climb(edges, height, low, high)


def _climb(edges: Edges, height, low: float, high: float) -> tuple[float, float, Array]:  # type: ignore[no-untyped-def]
    best, grid = low, _first_grid(low, high)
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            values, places = height(grid)
            k = int(np.argmax(np.where(np.isnan(values), _NEVER, values)))
            best = float(places[k])
            low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
            if high - low < 1e-7 * max(1.0, abs(low)):
                break
            grid = np.linspace(low, high, _POINTS)
        x = np.array([[best]])
        d = float(np.min(edges.reach(x[0])))
        return best, d, np.nan_to_num(edges._excess(x, np.array([[d]]))[0][0], nan=_NEVER)


def _first_grid(low: float, high: float) -> Array:
    """Dense where p is neither near 0 nor near 1: close to 1 the hill may be a plain, on which rounding would lead."""
    near_zero, near_one = np.linspace(min(low, -41.0), -40.0, _POINTS), np.geomspace(41.0, max(high, 42.0), 12)
    return np.unique(np.concatenate([near_zero, np.linspace(-40.0, 40.0, 33), near_one]))
