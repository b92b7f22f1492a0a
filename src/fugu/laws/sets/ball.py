"""`Ball`: the laws near one law, in total variation or in Kullback-Leibler divergence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw, UnknownName
from fugu.laws.discrete import Discrete
from fugu.laws.sets.law_set import Floats, LawSet, exact, groups, hexed, law_json, member, radius_up, vector
from fugu.numbers.balls import of, precision
from fugu.numbers.exact import Real, VectorLike

_KINDS = ("tv", "kl")


@final
class Ball(LawSet):
    """The laws p near a centre c: TV(c, p) = max_A |c(A) - p(A)| <= radius, or KL(c, p) = sum c ln(c / p) <= radius.

    - `centre`: a `Discrete` law of numbers, known without error; its values are the declared ones, so declare a value
      that was not seen with the weight 0.
    - `radius`: at least 0, for total variation at most 1; rounded up where a double cannot hold it.
    - `kind`: "tv", or "kl" for the divergence *from* the centre, under which values of weight 0 may take mass.

    Raises `BadLaw` for others. The maximum is exact for "tv"; for "kl" it is a rational above it by about 1e-30 of the
    spread of v, by its dual (docs/proofs/sets.md): for every nu above v,
    sum p (nu - v) >= exp(sum c ln(nu - v) - radius), by Jensen.

    >>> Ball(Discrete([0, 1, 2], [2, 1, 1]), 0.25).top([0, 0, 1])
    Fraction(1, 2)
    """

    kind: ClassVar[str] = "ball"
    radius: float
    distance: Literal["tv", "kl"]
    _centre: Discrete

    def __init__(self, centre: Discrete, radius: Real, kind: Literal["tv", "kl"] = "tv") -> None:
        if kind not in _KINDS:
            raise UnknownName("kind of ball", kind, _KINDS)
        if not isinstance(centre, Discrete) or centre.dimension != 1:
            raise BadLaw(f"the centre of a ball is a Discrete law of numbers, got {type(centre).__name__}")
        if centre.error:
            raise BadLaw("the centre of a ball must be known without error; add its error to the radius")
        size = radius_up(radius, "the radius of a ball", 1 if kind == "tv" else None)
        self._hold(values=centre.values, _centre=centre, radius=size, distance=kind)

    @cached_property
    def masses(self) -> tuple[list[int], int]:
        """The centre's masses as integers over a total."""
        return self._centre.masses.whole()

    @cached_property
    def weights(self) -> Floats:
        """The centre's probabilities in doubles."""
        return self._centre.weights

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v: exact for "tv", a rational just above it for "kl". `v`: one rational per declared value."""
        numbers, common = vector(v, self.size)
        if self.distance == "tv":
            return top_in_variation(*self.masses, Fraction(self.radius), numbers) / common
        return top_in_divergence(*self.masses, self.radius, numbers) / common

    def extremes(self, rows: Floats) -> Floats:
        """For every row of vectors a law of the ball that attains the maximum, in doubles."""
        if self.distance == "tv":
            return extremes_in_variation(self.weights, self.radius, rows)
        return extremes_in_divergence(self.weights, self.radius, rows)

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Ball:
        """Values joined: the centre's masses add up, the radius stays. Exact: joining brings no two laws farther apart,
        and a law near the joined centre splits its masses as the centre does."""
        index, onto = groups(places, values, self.size)
        centre = Discrete._with_error(onto, self._centre.masses.scatter(index, len(onto)), 0.0)
        made = Ball.__new__(Ball)
        made._hold(values=centre.values, _centre=centre, radius=self.radius, distance=self.distance)
        return made

    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities is in the ball; for "kl" proved in balls of 2,000 bits, and
        False in the unseen case that these cannot decide."""
        law = member(weights, self.size)
        if law is None:
            return False
        centre = [Fraction(m, self.masses[1]) for m in self.masses[0]]
        if self.distance == "tv":
            return sum(abs(a - b) for a, b in zip(centre, law, strict=True)) <= 2 * Fraction(self.radius)
        return within(centre, law, self.radius)

    def centre(self) -> Discrete:
        """The centre."""
        return self._centre

    def to_json(self) -> dict[str, object]:
        """Values and radius in hexadecimal, the centre's masses over their total as whole numbers."""
        shared = {"values": hexed(self.values), "centre": law_json(self._centre), "radius": float(self.radius).hex()}
        return {"kind": self.kind, "distance": self.distance, **shared}

    def _key(self) -> tuple[object, ...]:
        return self._centre, self.radius, self.distance

    def __repr__(self) -> str:
        return f"Ball({self._centre!r}, {self.radius:.6g}, kind={self.distance!r})"


# Linear functions over a ball in Kullback-Leibler divergence, KL(c, p) = sum c ln(c / p) <= r.
#
# For every nu > max v and every p in the ball, with Jensen's inequality for the logarithm,
#
#     nu - sum p v >= sum c (p / c) (nu - v) >= exp( sum c ln(p (nu - v) / c) ) >= exp( sum c ln(nu - v) - r ),
#
# so any nu gives an upper bound nu - exp(sum c ln(nu - v) - r) of sum p v; nu = max v is allowed where c has no mass
# there. The search in doubles only chooses nu. The bound is attained by p = k c / (nu - v) with k = exp(sum c ln(nu -
# v)
# - r), where that is a law; with nu = max v the rest of the mass is put on the maximum.


_BITS = 160
_SHARPEST = 2000
_STEPS = 66
_CLOSE = 2.0**-600


def top_in_divergence(masses: Sequence[int], total: int, radius: float, v: Sequence[int]) -> Fraction:
    """A rational at or above max { sum p v : KL(c, p) <= radius }, with c = masses / total."""
    low, high = min(v), max(v)
    if low == high:
        return Fraction(high)
    if radius == 0:
        return Fraction(sum(m * x for m, x in zip(masses, v, strict=True)), total)
    spread = high - low
    shares = np.array([Fraction(high - x, spread) for x in v], dtype=np.float64)  # 0 at the maximum, 1 at the minimum
    gap = float(_gaps(np.array([m / total for m in masses]), radius, shares[None, :])[0])
    if gap == 0 and any(m for m, x in zip(masses, v, strict=True) if x == high):
        gap = _CLOSE  # mass at the maximum that doubles do not see: any positive gap is a bound
    exact_gap = Fraction(gap)
    with precision(_BITS + max(0, math.frexp(gap)[1])):
        bound = _dual(masses, total, radius, [of(exact_gap + Fraction(high - x, spread)) for x in v])
        found = min(exact((of(exact_gap) - bound).upper()), Fraction(0))  # in units of the spread, above `high`
    return high + found * spread


def _dual(masses: Sequence[int], total: int, radius: float, gaps: Sequence[arb]) -> arb:
    """exp(sum c ln(gap) - radius); every gap is positive where c has mass."""
    mean = sum((gap.log() * m for m, gap in zip(masses, gaps, strict=True) if m), arb(0)) / total
    return (mean - arb(radius)).exp()


def _gaps(centre: Floats, radius: float, shares: Floats) -> Floats:
    """nu - max v for every row of shares (max v - v) / spread: where the bound is least, in doubles.

    The derivative of the bound vanishes where ln sum c / (nu - v) + sum c ln(nu - v) = radius; the left-hand side falls
    in nu, to 0. With mean share m and t = (share - m) / (gap + m) it is sum c ln(1 + t) + ln(1 - sum c t / (1 + t))."""
    mean = shares @ centre
    low, high = np.full(len(shares), -600.0), np.full(len(shares), 60.0)
    if radius > 0:
        high = np.minimum(high, np.maximum(0.0, 2.0 - 0.5 * math.log(radius)) + 1.0)

    def excess(gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = (shares - mean[:, None]) / (gap + mean)[:, None]
            there = np.where(centre > 0, t, 0.0)
            one = np.log1p(there) @ centre
            two = np.log1p(-((there / (1.0 + there)) @ centre))
            direct = np.where(centre > 0, np.log(gap[:, None] + shares), 0.0) @ centre
            direct = direct + np.log(np.where(centre > 0, 1.0 / (gap[:, None] + shares), 0.0) @ centre)
            far = np.abs(there).max(axis=1) < 0.5  # where logarithms near 0 would cancel
            found: Floats = np.where(far, one + two, direct) - radius
        return np.where(np.isnan(found), np.inf, found)

    unseen = excess(np.zeros(len(shares))) <= 0  # the maximum has no mass in the centre, and the radius reaches it
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        above = excess(np.exp(middle)) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(unseen, 0.0, np.exp(high))


def extremes_in_divergence(centre: Floats, radius: float, rows: Floats) -> Floats:
    """For every row of v a law of the ball that attains the maximum, in doubles."""
    high, low = rows.max(axis=1), rows.min(axis=1)
    spread = np.where(high > low, high - low, 1.0)
    shares = (high[:, None] - rows) / spread[:, None]
    gap = _gaps(centre, radius, shares) if radius > 0 else np.full(len(rows), np.inf)
    found = np.repeat(centre[None, :], len(rows), axis=0)
    moves = np.isfinite(gap) & (high > low)
    above = gap[moves, None] + shares[moves]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(centre > 0, np.log(above), 0.0) @ centre - radius
        tilted = np.where(centre > 0, centre * np.exp(logs[:, None] - np.log(above)), 0.0)
    rest = np.maximum(0.0, 1.0 - tilted.sum(axis=1))
    tilted[np.arange(len(tilted)), np.argmin(shares[moves], axis=1)] += rest
    found[moves] = tilted / tilted.sum(axis=1, keepdims=True)
    return found


def within(centre: Sequence[Fraction], law: Sequence[Fraction], radius: float) -> bool:
    """Whether KL(centre, law) <= radius, proved in balls; False where 2,000 bits do not decide."""
    if any(c and not p for c, p in zip(centre, law, strict=True)):
        return False
    if list(centre) == list(law):
        return True
    bits = 64
    while bits <= _SHARPEST:
        with precision(bits):
            terms = (of(c) * (of(c) / of(p)).log() for c, p in zip(centre, law, strict=True) if c)
            gap = arb(radius) - sum(terms, arb(0))
            if gap > 0 or gap < 0:
                return bool(gap > 0)
        bits *= 2
    return False


def top_in_variation(masses: Sequence[int], total: int, radius: Fraction, v: Sequence[int]) -> Fraction:
    """max { sum p v : TV(c, p) <= radius }, exactly, with c = masses / total.

    p = c - z + z' with z <= c and both of mass r <= radius: take the mass with the least v away, put it on the largest.
    """
    best = max(v)
    gain, left = Fraction(0), radius * total
    for x, mass in sorted(zip(v, masses, strict=True)):
        step = min(left, Fraction(mass))
        gain, left = gain + step * (best - x), left - step
        if left <= 0:
            break
    return (sum(m * x for m, x in zip(masses, v, strict=True)) + gain) / total


def extremes_in_variation(centre: Floats, radius: float, rows: Floats) -> Floats:
    """For every row of v a law of the ball that attains the maximum, in doubles."""
    order = np.argsort(rows, axis=1, kind="stable")
    there = centre[order]
    before = np.cumsum(there, axis=1) - there
    moved = np.clip(radius - before, 0.0, there)
    left = there - moved
    left[:, -1] += moved.sum(axis=1)
    found = np.empty_like(left)
    np.put_along_axis(found, order, left, axis=1)
    return found
