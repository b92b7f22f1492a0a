"""A concave bound on the probability of an event as a list of lines, and what one entry's privacy says as lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.guarantee.asks import exact
from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.kinds import Approx, Pure
from fugu.numbers import balls
from fugu.numbers.exact import UNIT as U
from fugu.numbers.exact import meant_up

# A concave bound phi(t) = min over j of a_j t + b_j on the probability of an event, as an immutable list of lines.
#
# `Lines` says: P(S) <= phi(Q(S)) for every event S. A line (a, b) is one hockey stick, E_a(P || Q) <= b, and
# (epsilon, delta) is the line (e^epsilon, delta). On [0, 1] the operations are
#
#     compose:   P <= phi(Q), Q <= psi(R)   =>   P <= phi(psi(R)): lines (a1 a2, a1 b2 + b1)
#     least:     P <= phi(Q), P <= psi(Q)   =>   P <= min(phi, psi)(Q): all lines of both
#     mirror:    P <= a Q + b for (P, Q) and their complements, in both orders   =>   P <= Q / a + 1 - (1 - b) / a
#     delta_at:  E_gamma <= max over t of phi(t) - gamma t, a mean of two neighbouring lines' b
#
# Each line holds by itself: leaving lines out, or raising a or b (t >= 0), is always sound. So every float is rounded
# up and nothing else need be exact; which lines are worth keeping is a guess that costs nothing but sharpness. a and b
# are sums of products of numbers >= 0, so their errors are relative: a delta of 1e-30 is as exact as one of 0.1.
#
# Proofs: docs/proofs/profiles.md#lines and docs/proofs/profiles.md#rounding.

Array = NDArray[np.float64]
MOST = 192
"""Lines kept after an operation."""
_LEAST_B, _MOST_A = 1e-280, 1e280
_BITS = 128


@dataclass(frozen=True, eq=False)
class Lines:
    """P(S) <= min over j of a_j Q(S) + b_j for every event S; slopes fall, and the last line says P(S) <= 1.

    >>> double = Lines.of([2.0], [0.01]).compose(Lines.of([3.0], [0.001]))
    >>> bool(6 <= double.a[0] < 6.000001), bool(0.012 <= double.b[0] < 0.0120001)
    (True, True)
    """

    a: Array
    b: Array
    floor: float = _LEAST_B
    """Of the lines with a smaller b only the flattest is kept: what is far below the delta asked for."""

    @classmethod
    def of(cls, a: Array | list[float], b: Array | list[float], floor: float = _LEAST_B, most: int = MOST) -> Lines:
        """At most `most` of these lines, the most useful ones, and the line P <= 1."""
        slopes, heights = np.append(np.asarray(a, dtype=np.float64), 0.0), np.append(np.asarray(b, np.float64), 1.0)
        keep = np.isfinite(slopes) & np.isfinite(heights) & (slopes <= _MOST_A) & (heights <= 1.0)
        slopes, heights = slopes[keep], heights[keep]
        order = np.lexsort((heights, slopes))
        slopes, heights = slopes[order], heights[order]
        best = np.minimum.accumulate(heights)  # a line with a larger slope and no smaller b says nothing
        new = np.concatenate([[True], heights[1:] < best[:-1]])
        slopes, heights = slopes[new][::-1], heights[new][::-1]  # by falling slope and rising b
        keep = heights >= floor  # of all that allow next to nothing the flattest is enough, and one that allows nothing
        keep[max(0, int(np.count_nonzero(~keep)) - 1)] = True
        keep[0] |= heights[0] == 0
        return cls(*_thinned(slopes[keep], heights[keep], most), floor)

    @classmethod
    def same(cls) -> Lines:
        """P <= Q."""
        return cls.of([1.0], [0.0])

    @cached_property
    def knots(self) -> Array:
        """Where each line gives way to the next: t_1 < t_2 < ...; a guess, used to look for lines only."""
        found: Array = np.diff(self.b) / -np.diff(self.a)
        return np.maximum.accumulate(found)

    @cached_property
    def heights(self) -> Array:
        """The bound at the knots; a guess."""
        found: Array = self.a[:-1] * self.knots + self.b[:-1]
        return np.maximum.accumulate(found)

    def compose(self, inner: Lines) -> Lines:
        """P <= self(inner(R)): the pairs of lines that meet, n + m - 1 of them."""
        given = np.searchsorted(inner.heights, self.knots)  # the line of `inner` that reaches each height
        at = (self.knots - inner.b[given]) / np.where(inner.a[given] > 0, inner.a[given], 1.0)
        at = np.where(inner.a[given] > 0, at, 1.0)
        order = np.argsort(np.concatenate([inner.knots, at]), kind="stable")
        mine = order >= inner.knots.size
        first = np.minimum(np.concatenate([[0], np.cumsum(mine)]), self.a.size - 1)
        second = np.minimum(np.concatenate([[0], np.cumsum(~mine)]), inner.a.size - 1)
        with np.errstate(over="ignore", under="ignore"):
            a = self.a[first] * inner.a[second] * (1 + 4 * U)
            b = (self.a[first] * inner.b[second] + self.b[first]) * (1 + 8 * U)
        return Lines.of(a, b, max(self.floor, inner.floor))

    def least(self, *others: Lines) -> Lines:
        """The lesser of several bounds on the same thing."""
        parts = (self, *others)
        return Lines.of(np.concatenate([p.a for p in parts]), np.concatenate([p.b for p in parts]), self.floor)

    def mirrored(self, most: int = MOST) -> Lines:
        """With what the complements say, if the bound holds in both orders: slopes 1 / a, and b' = 1 - (1 - b) / a."""
        a, b = self.a[self.a >= 1], self.b[self.a >= 1]
        slope, height = 1 / a * (1 + 4 * U), ((a - 1) + b) / a * (1 + 8 * U)
        return Lines.of(np.concatenate([self.a, slope]), np.concatenate([self.b, height]), self.floor, most)

    def above(self, floor: float) -> Lines:
        """The same without what matters only for a delta far below this."""
        return Lines.of(self.a, self.b, floor)

    def even(self) -> Lines:
        """The lines with slopes from 1 on, and their mirror images: what holds in both orders and for complements."""
        keep = self.a >= 1
        return Lines.of(self.a[keep], self.b[keep], self.floor, MOST // 2).mirrored()

    def delta_at(self, epsilon: Fraction | float) -> float:
        """An upper bound on P(S) - e^epsilon Q(S), over all events: max over t of phi(t) - e^epsilon t, rounded up."""
        with balls.precision(_BITS):
            least = balls.lower(balls.of(epsilon).exp())
        if not math.isfinite(least):
            return meant_up(float(self.b[0]))
        gamma, at = Fraction(least), int(np.searchsorted(-self.a, -least, side="right"))  # a[at - 1] >= gamma > a[at]
        if at == 0:
            return meant_up(float(self.b[0]))
        (a, b), (c, d) = self.exact(at - 1), self.exact(min(at, self.a.size - 1))
        share = (gamma - c) / (a - c) if a != c else Fraction(1)
        delta = share * b + (1 - share) * d
        nearest = float(delta)
        return meant_up(nearest if Fraction(nearest) >= delta else math.nextafter(nearest, math.inf))

    def epsilon_at(self, delta: Fraction) -> float:
        """The least epsilon >= 0 with delta_at(epsilon) <= delta < 1, rounded up; inf if there is none."""
        at = int(np.searchsorted(self.b, float(delta), side="right"))
        at = at - 1 if at and self.exact(at - 1)[1] > delta else at  # b[at - 1] <= delta < b[at]
        if at == 0:
            return math.inf
        (a, b), (c, d) = self.exact(at - 1), self.exact(at)
        gamma = (a * (d - delta) + c * (delta - b)) / (d - b)
        if gamma <= 1:
            return 0.0
        with balls.precision(_BITS):
            return meant_up(max(0.0, balls.upper(balls.of(gamma).log())))

    def exact(self, j: int) -> tuple[Fraction, Fraction]:
        """The j-th line in rationals."""
        return Fraction(float(self.a[j])), Fraction(float(self.b[j]))

    def below(self, other: Lines) -> bool:
        """Whether each line of `other` with a slope from 1 on surely lies above self.

        For a line (c, d) and the lines (a, b), (a', b') of self with a >= c >= a': is the mean with slope c at most d?
        Where both hold in both orders and for complements, the mirror images follow."""
        other = Lines(other.a[other.a >= 1], other.b[other.a >= 1])
        if self.a.size == 1:
            return other.a.size == 0
        at = np.clip(np.searchsorted(-self.a, -other.a, side="right"), 1, self.a.size - 1)
        a, b, c, d = self.a[at - 1], self.b[at - 1], self.a[at], self.b[at]
        share = np.clip((other.a * (1 - 32 * U) - c) / (a - c), 0.0, 1.0)
        whole = (share == 0) | (share == 1)
        slope = (share * a + (1 - share) * c) * np.where(whole, 1.0, 1 + 8 * U)
        height = (share * b + (1 - share) * d) * np.where(whole, 1.0, 1 + 8 * U)
        return bool(np.all((slope <= other.a) & (height <= other.b)))


def _thinned(a: Array, b: Array, most: int) -> tuple[Array, Array]:
    """Without lines that are nowhere the least on [0, 1], then without those that are missed least. By falling slope
    the crossings of the others move to the right.

    What a line is worth: how far its neighbours' crossing lies above it, against the bound there."""
    slopes: list[float] = []
    heights: list[float] = []
    crossings: list[float] = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        while crossings:
            t = (y - heights[-1]) / (slopes[-1] - x)
            if t > crossings[-1]:
                break
            slopes.pop(), heights.pop(), crossings.pop()
        if slopes:
            t = (y - heights[-1]) / (slopes[-1] - x)
            if t >= 1:
                continue
            crossings.append(t)
        slopes.append(x)
        heights.append(y)
    a = np.array([*slopes, *([0.0] if slopes[-1] else [])])
    b = np.array([*heights, *([1.0] if slopes[-1] else [])])
    while a.size > most:
        t = (b[2:] - b[:-2]) / (a[:-2] - a[2:])
        value = a[:-2] * t + b[:-2]
        worth = (value - (a[1:-1] * t + b[1:-1])) / np.maximum(np.minimum(value, 1 - t), 1e-300)
        padded = np.concatenate([[np.inf], worth, [np.inf]])
        lowest = (worth <= padded[:-2]) & (worth < padded[2:])  # no two neighbours at once
        few = np.sort(worth[lowest])
        drop = lowest & (worth <= few[min(few.size - 1, (a.size - most - 1) // 2)])
        keep = np.concatenate([[True], ~drop, [True]])
        a, b = a[keep], b[keep]
    return a, b


# What one entry's privacy says about every event, as lines; and what d entries together say.
#
#     (epsilon, delta)   P <= e^epsilon Q + delta, and the same for complements
#     Rényi, zCDP        for the probabilities p, t of an event D_a(p || t) <= R(a) (data processing), that is
#                        h(p, t) = p^a t^(1-a) + (1-p)^a (1-t)^(1-a) <= C = e^((a-1) R(a)).
#
# h is convex, so its tangent at any (p0, t0) with h_p > 0 bounds p: p <= p0 - (h_t / h_p) (t - t0) + (C - h(p0, t0)) /
# h_p. Floats look for good (p0, t0, a); each line is then evaluated in balls and rounded up, whatever was found. For
# rho-zCDP, R(a) = rho a, and d entries together are d^2 rho-zCDP (Bun and Steinke 2016, Proposition 27).
#
# Proofs: docs/proofs/profiles.md#hypotheses.

_ENTRY_BITS = 256
_POINTS = 80
_FAR = 12.0
"""Events down to a probability of Phi(-12), below 1e-32."""
_ORDERS = 1 + np.geomspace(0.02, 2e4, 56)


class EntryProfile:
    """The profile of d entries, d = 1, 2, ...: `whole(d)` where it is known as such, else compositions of the first.

    Parameters: `one` is the profile of one entry; `whole` gives lines for d entries at once, None if nothing is known.
    """

    def __init__(self, one: Lines, whole: Callable[[int], Lines] | None = None) -> None:
        self.one = one
        self._whole = whole
        self._known: dict[int, Lines] = {0: Lines.same(), 1: one}

    def above(self, floor: float) -> EntryProfile:
        """For a delta not far below this: fewer lines, closer to each other."""
        whole = self._whole
        return EntryProfile(self.one.above(floor), None if whole is None else lambda d: whole(d).above(floor))

    def power(self, d: int) -> Lines:
        """P <= phi(Q) for outputs on datasets that differ in d cells."""
        if d not in self._known:
            half = self.power(d // 2).compose(self.power(d - d // 2))
            self._known[d] = half if self._whole is None else half.least(self._whole(d))
        return self._known[d]


def of_approx(*guarantees: Approx | Pure) -> EntryProfile:
    """Of one or several (epsilon, delta) that all hold."""
    with balls.precision(_ENTRY_BITS):
        finite = [g for g in guarantees if math.isfinite(g.epsilon)]
        a = [balls.upper(balls.of(exact(g.epsilon)).exp()) for g in finite]
        b = [balls.upper(balls.of(exact(g.delta))) for g in finite]
    return EntryProfile(Lines.of(a, b).mirrored())


def of_zcdp(rho: Fraction) -> EntryProfile:
    """Of rho-zCDP."""
    return EntryProfile(zcdp_lines(rho), lambda d: zcdp_lines(d * d * rho))


def of_curve(curve: RenyiCurve) -> EntryProfile:
    """Of a Rényi curve without delta: all its orders hold, order inf as a pure epsilon."""
    lines = _renyi_lines([(exact(a), exact(e)) for a, e in curve.points if math.isfinite(a) and math.isfinite(e)])
    pure = curve(math.inf)
    return EntryProfile(lines if math.isinf(pure) else lines.least(of_approx(Pure(pure)).one))


@lru_cache(maxsize=512)
def zcdp_lines(rho: Fraction) -> Lines:
    """Lines of rho-zCDP: D_a <= rho a at many orders."""
    return _renyi_lines([(Fraction(float(a)), rho * Fraction(float(a))) for a in _ORDERS])


def _renyi_lines(orders: Sequence[tuple[Fraction, Fraction]]) -> Lines:
    """Lines of all these orders; where they are close to each other is searched for in floats."""
    if not orders:
        return Lines.of([], [])
    z = np.linspace(-_FAR / 3, _FAR, 2 * _POINTS)
    t = np.array([math.erfc(x / math.sqrt(2)) / 2 for x in z])
    p, best = _largest(t, np.array([float(a) for a, _ in orders]), np.array([float(r) for _, r in orders]))
    a, b = [], []
    with balls.precision(_ENTRY_BITS):
        for t0, p0, n in zip(t, p, best, strict=True):
            if 0 < t0 < p0 < 1 and (line := _tangent(float(p0), float(t0), *orders[n])) is not None:
                a.append(line[0])
                b.append(line[1])
    found = Lines.of(a, b)
    keep = found.a >= 1
    return found.least(Lines.of(found.a[keep], found.b[keep]).mirrored())


def _largest(t: Array, alpha: Array, bound: Array) -> tuple[Array, Array]:
    """For each t the largest p that all orders allow, and the order that says so; by bisection, a guess."""
    low, high = np.broadcast_to(t[:, None], (t.size, alpha.size)).copy(), np.ones((t.size, alpha.size))
    with np.errstate(divide="ignore"):
        one, two = (1 - alpha) * np.log(t)[:, None], (1 - alpha) * np.log1p(-t)[:, None]
        for _ in range(36):
            p = np.where(high > 4 * low, np.sqrt(low * high), (low + high) / 2)
            inside = np.logaddexp(alpha * np.log(p) + one, alpha * np.log1p(-p) + two) <= (alpha - 1) * bound
            low, high = np.where(inside, p, low), np.where(inside, high, p)
    best = np.argmin(high, axis=1)
    return high[np.arange(t.size), best], best


def _tangent(p0: float, t0: float, alpha: Fraction, bound: Fraction) -> tuple[float, float] | None:
    """The line of one order at (p0, t0), rounded up; None where it has no slope."""
    p, t, a, r = arb(p0), arb(t0), balls.of(alpha), balls.of(bound)
    up, down = p / t, (1 - p) / (1 - t)
    h = p * up ** (a - 1) + (1 - p) * down ** (a - 1)
    in_p = a * (up ** (a - 1) - down ** (a - 1))
    in_t = (1 - a) * (up**a - down**a)
    if not in_p > 0:
        return None
    slope = -in_t / in_p
    height = p - slope * t + (((a - 1) * r).exp() - h) / in_p
    found = balls.upper(slope), max(0.0, balls.upper(height))
    return found if all(math.isfinite(x) for x in found) else None
