"""Laws of losses in whole numbers: composed exactly, every rounding towards more loss."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, count, pairwise

from flint import arb, fmpz_poly

from fugu.numbers import balls
from fugu.numbers.exact import meant_up

# A loss law l is a law on (-inf, inf] with E e^-L <= 1. It dominates a pair (P, Q) if for all g > 0
#
#     E_g(P || Q) := sup over events S of P(S) - g Q(S)  <=  delta_l(ln g) := E (1 - g e^-L)+.
#
# g < 1 is the other order of the pair, so a law that dominates all ordered pairs of neighbours covers both orders.
# If l dominates one mechanism, and m another whatever the first one's output was, the independent sum l * m dominates
# both together (Zhu, Dong and Wang 2022). What a law dominates, it still dominates after
#
#     up      raising tails P(L >= t): masses move to larger losses, or to infinity
#     split   an atom between two points of a grid becomes these two, with the same P- and Q-mass
#     dots    chords between proved bounds on E_g at g = e^ih
#
# Proofs: docs/proofs/loss-laws.md.

MOST = 2**16
"""Points of a law; where there are more, they are split on a wider step."""
_SPARE = 64
"""Bits of balls and of powers beyond those of masses."""


@dataclass(frozen=True)
class LossLaw:
    """P(L = first + i step) = masses[i] / 2^bits, P(L = inf) = infinite / 2^bits; they sum to 1 exactly.

    Whatever has a probability of at most 2^-cut at either end is moved up: to infinity, and to the lowest point."""

    step: Fraction
    first: Fraction
    masses: Sequence[int]
    infinite: int
    bits: int
    cut: int

    @staticmethod
    def of_tails(step: Fraction, first: Fraction, tails: Sequence[arb], bits: int, cut: int) -> LossLaw:
        """Of upper bounds on P(L >= first + i step), the last of which is P(L = inf); raised to fall, and to 1."""
        whole = 1 << bits
        with balls.precision(bits + 2 * _SPARE):
            scaled = [_ceil(t * whole) if t.is_finite() else whole for t in tails]  # above 1 they are cut
        falling = list(accumulate(reversed(scaled), max))
        return _cut(step, first, [*falling[:-1], whole], bits, cut)

    @staticmethod
    def of_bounds(step: Fraction, lowest: int, bounds: Sequence[arb], bits: int, cut: int) -> LossLaw:
        """Of upper bounds on E_g at g = e^(i step), i = lowest, lowest + 1, ...: chords between them (dots).

        The tail at i is where the chord over [i - 1, i] meets g = 0, at most 1: bounds need not be convex together."""
        grow = balls.of(step).exp()
        meet = [(grow * before - after) / (grow - 1) for before, after in pairwise(bounds)]
        # the chord over g' = g e^-step and g meets 0 at (g E_g' - g' E_g) / (g - g')
        return LossLaw.of_tails(step, lowest * step, [arb(1), *meet, bounds[-1]], bits, cut)

    @property
    def last(self) -> Fraction:
        """The largest finite loss."""
        return self.first + (len(self.masses) - 1) * self.step

    def joined(self, other: LossLaw) -> LossLaw:
        """The sum of both, independent, on the wider of their steps, or twice that, and so on, if it has too many
        points: one exact product of polynomials, rounded up."""
        wider = max((law.step for law in (self, other) if len(law.masses) > 1), default=self.step)
        one, two = self.on(wider), other.on(wider)
        product = [int(c) for c in (fmpz_poly(list(one.masses)) * fmpz_poly(list(two.masses))).coeffs()]
        product += [0] * (len(one.masses) + len(two.masses) - 1 - len(product))  # highest coefficients that are 0
        beyond, bits = (1 << 2 * self.bits) - sum(one.masses) * sum(two.masses), self.bits
        tails = [-(-t >> bits) for t in accumulate(reversed(product), initial=beyond)]
        return _cut(wider, one.first + two.first, tails, bits, self.cut).thinned()

    def thinned(self) -> LossLaw:
        """On twice its step, and so on, until it has at most `MOST` points."""
        return self if len(self.masses) <= MOST else self.on(2 * self.step).thinned()

    def power(self, n: int) -> LossLaw:
        """The sum of n >= 1 independent copies."""
        result, square = None, self.thinned()
        while True:
            if n & 1:
                result = square if result is None else result.joined(square)
            n >>= 1
            if not n:
                assert result is not None
                return result
            square = square.joined(square)

    def on(self, step: Fraction) -> LossLaw:
        """On another step: from `first` on if it divides its own; else on its multiples, each atom split in two.

        An atom at i step < l < (i + 1) step becomes w at the upper point, w = (1 - e^(i step - l)) / (1 - e^-step),
        which raises the mean by at most (step^2 / 8) step / (1 - e^-step)."""
        times = self.step / step
        if len(self.masses) == 1 or times.denominator == 1:
            spread = [0] * (math.floor(times) * (len(self.masses) - 1) + 1)
            spread[:: math.floor(times) or 1] = self.masses
            return replace(self, step=step, masses=spread)
        unit = math.lcm((self.first / step).denominator, times.denominator)  # steps are so many of these
        start, jump = int(self.first / step * unit), int(times * unit)
        low, scale = start // unit, self.bits + _SPARE
        masses = [0] * (-(-(start + (len(self.masses) - 1) * jump) // unit) - low + 1)
        share: dict[int, int] = {}
        with balls.precision(scale + _SPARE):
            whole = (1 << scale) / -balls.of(-step).expm1()
            for i, mass in enumerate(self.masses):
                at, rest = divmod(start + i * jump, unit)
                if rest not in share:
                    share[rest] = _ceil(-balls.of(-rest * step / unit).expm1() * whole)
                up = min(mass, -(-mass * share[rest] >> scale))
                masses[at - low] += mass - up
                if up:
                    masses[at - low + 1] += up
        return replace(self, step=step, first=low * step, masses=masses)

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the finite losses, in doubles."""
        total = sum(self.masses) or 1
        weights = [m / total for m in self.masses]
        mean = math.fsum(i * w for i, w in enumerate(weights))
        return float(self.step) * math.sqrt(math.fsum((i - mean) ** 2 * w for i, w in enumerate(weights)))

    @property
    def width(self) -> float:
        """About how far apart its ends are where it is a part of a sum, in doubles."""
        near = 2 * math.sqrt(2 * math.log(2) * self.cut) * self.spread
        return min(float(self.last - self.first), near)

    @cached_property
    def _sums(self) -> tuple[list[int], list[int]]:
        """P(L >= l_i), and at most E e^(l_i - L) over L >= l_i, each times 2^bits, for every point and one beyond."""
        scale = self.bits + _SPARE
        with balls.precision(scale + _SPARE):
            ratio = -_ceil(-balls.of(-self.step).exp() * (1 << scale))
        above = list(accumulate(reversed(self.masses), initial=self.infinite))
        inside, running = [0], 0  # in units of 2^-SPARE, rounded down
        for mass in reversed(self.masses):
            running = (mass << _SPARE) + (running * ratio >> scale)
            inside.append(running)
        return above[::-1], inside[::-1]

    def delta(self, epsilon: Fraction) -> arb:
        """A ball at or above P(S) - e^epsilon Q(S) over all events: E (1 - e^(epsilon - L))+."""
        above, inside = self._sums
        at = max(0, min(len(self.masses), math.ceil((epsilon - self.first) / self.step)))  # the least l_i >= epsilon
        with balls.precision(self.bits + 2 * _SPARE):
            shift = balls.of(epsilon - self.first - at * self.step).exp()
            return (above[at] - shift * inside[at] / (1 << _SPARE)) / (1 << self.bits)

    def epsilon(self, delta: Fraction) -> float:
        """The least epsilon >= 0 at which `delta` is proved to suffice, rounded up; inf if there is none."""
        above, inside = self._sums
        allowed = delta * (1 << self.bits)
        if self.infinite > allowed:
            return math.inf
        # delta at a point l_i is P(L >= l_i) - E e^(l_i - L) over L >= l_i: the first one that is allowed
        points = range(len(self.masses))
        at = bisect_left(points, True, key=lambda i: (above[i] << _SPARE) - inside[i] <= allowed * (1 << _SPARE))
        with balls.precision(self.bits + 2 * _SPARE):
            point = balls.of(self.first + at * self.step)
            if not above[at] > allowed or not inside[at]:
                return meant_up(max(0.0, balls.upper(point)))
            found = balls.upper(point + ((above[at] - balls.of(allowed)) * (1 << _SPARE) / inside[at]).log())
            before = balls.upper(point - balls.of(self.step)) if at else 0.0
            return meant_up(max(0.0, found, before))


def _ceil(x: arb) -> int:
    """The least whole number at or above a ball."""
    top = x.upper().ceil().unique_fmpz()
    assert top is not None
    return int(top)


def _cut(step: Fraction, first: Fraction, tails: Sequence[int], bits: int, cut: int) -> LossLaw:
    """Of P(L = inf) and P(L >= t) from the highest point to the lowest, which is 1: both ends moved up."""
    whole, least = 1 << bits, 1 << bits >> cut
    top = bisect_left(tails, tails[0] + least + 1) - 1  # what is no likelier goes to infinity
    bottom = bisect_left(tails, whole - least)  # at least that likely: all below is moved up to here
    if bottom <= top:
        bottom = min(top + 1, len(tails) - 1)
        top = bottom - 1
    lowest = first + (len(tails) - 1 - bottom) * step
    masses = [b - a for a, b in zip(tails[top:bottom], [*tails[top + 1 : bottom], whole], strict=True)]
    return LossLaw(step, lowest, masses[::-1], tails[top], bits, cut)


def together(laws: Iterable[tuple[LossLaw, int]]) -> LossLaw:
    """The sum of independent losses, each so many times: powers on their own grids, then one common step, which is the
    largest that divides all of theirs if that is wide enough."""
    powers = [law.power(n) for law, n in laws]
    wide = [law for law in powers if len(law.masses) > 1]
    if len({law.step for law in wide}) > 1:
        ends = sum(float(law.last - law.first) for law in wide)
        width = min(ends, math.hypot(*(law.width for law in wide)) + max(law.width for law in wide))
        shared = reduce(common, [law.step for law in wide])
        shared = shared if width / MOST <= shared else _above(width / MOST)
        powers = [law.on(shared) for law in powers]
    order = count()
    heap = [(len(law.masses), next(order), law) for law in powers]
    heapq.heapify(heap)
    while len(heap) > 1:
        (_, _, one), (_, _, other) = heapq.heappop(heap), heapq.heappop(heap)
        both = one.joined(other)
        heapq.heappush(heap, (len(both.masses), next(order), both))
    return heap[0][2]


def _above(step: float) -> Fraction:
    """One over a whole number, or a whole number, not below this."""
    return Fraction(1, math.floor(1 / step)) if step <= 1 else Fraction(math.ceil(step))


def common(one: Fraction, other: Fraction) -> Fraction:
    """The largest number of which both are multiples.

    >>> common(Fraction(1, 5), Fraction(7, 50))
    Fraction(1, 50)
    """
    below = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * below), int(other * below)), below)


def worst(laws: Sequence[LossLaw]) -> LossLaw:
    """Dominates whatever one of these laws does: at every node the largest of their deltas."""
    if len(laws) == 1:
        return laws[0]
    step = reduce(common, [x for law in laws for x in (law.step, abs(law.first)) if x])
    low, high = min(law.first for law in laws), max(law.last for law in laws)
    if (high - low) / step > MOST:
        step = _above(float(high - low) / MOST)
    lowest, highest = math.floor(low / step), math.ceil(high / step)
    bits, cut = laws[0].bits, laws[0].cut
    bounds = [max(law.delta(i * step).upper() for law in laws) for i in range(lowest, highest + 1)]
    return LossLaw.of_bounds(step, lowest, bounds, bits, cut)
