"""Rényi divergences from the definition: D_a(P || Q) = ln(I) / (a - 1), I = sum over outputs of P(y)^a Q(y)^(1-a).

Every term is P e^((a-1) ln(P/Q)), with the logarithm and the exponential between whole numbers; any rational order.

**Tails.** Laplace: beyond an end of the hull both masses fall by r, so the term does, and an end counts (1 - r)^-1.
Gaussian: (u, v) -> u^a v^(1-a) is jointly convex and homogeneous, so with noise z and P and Q taken independently

    P(y)^a Q(y)^(1-a) <= sum over atoms x, x' of p_x q_x' z(y - x)^a z(y - x')^(1-a),
    z(y - x)^a z(y - x')^(1-a) = Z^-d e^(c a (a-1) |x - x'|^2) e^(-c |y - a x + (a-1) x'|^2).

The centres a x - (a-1) x' leave the hull by at most (a-1) times its width. Beyond the margin one coordinate is at least
`beyond` steps away from every centre; the sums over each of the others are at most 1 + Z <= 2 Z, as on both sides of
the centre the k-th point is at least k steps away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from fugu_verify.arithmetic import exp, log
from fugu_verify.noised import Outputs, Work, atoms, bits_for, box, far, hull, margins, noised, reach, size
from fugu_verify.ratios import Whole
from fugu_verify.reading import Drawn, Family
from fugu_verify.result import Asked, NotSummed, Number

_SPARE, _TAIL = 96, 64
_TERM = 60
"""Two logarithms and two exponentials weigh as much as so many products."""
Row = tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """Masses of two noised laws at the outputs, in units of 2^-bits, without the normaliser."""

    p_low: Row
    p_high: Row
    q_low: Row
    q_high: Row

    def swapped(self) -> Pair:
        """In the other order."""
        return Pair(self.q_low, self.q_high, self.p_low, self.p_high)


@dataclass(frozen=True)
class Summed:
    """What all pairs of a family share: outputs, units, weights of ends, normaliser, and what lies beyond."""

    family: Family
    noise: Drawn
    outputs: Outputs
    bits: int
    whole: Whole
    low: tuple[Row, ...]
    high: tuple[Row, ...]

    @staticmethod
    def of(family: Family, noise: Drawn, highest: Fraction, orders: int, work: Work) -> Summed:
        """Noised masses on a box that is wide enough for the highest order; counts the work of so many orders."""
        margin = _margin(family, noise, highest)
        places = len(family.points) if noise.silent else size(family, margin)
        work.take(_TERM * places * len(family.pairs) * (1 + 2 * orders))
        outputs = atoms(family) if noise.silent else box(family, margin)
        bits = bits_for(family, noise, outputs, _SPARE + 32 + len(outputs.points).bit_length())
        masses = noised(family, noise, outputs, bits, work)
        return Summed(family, noise, outputs, bits, Whole.of(family, noise, outputs, bits), masses.low, masses.high)

    def pair(self, i: int, j: int) -> Pair:
        """Two laws."""
        return Pair(self.low[i], self.high[i], self.low[j], self.high[j])

    def beyond(self, pair: Pair, alpha: Fraction) -> tuple[Fraction, Fraction]:
        """At most and at least what the terms beyond the box add to I."""
        if self.noise.power:
            return self._chord(pair, alpha)
        if self.noise.kind != "gaussian":
            return Fraction(0), Fraction(0)
        limits, c = hull(self.family), self.noise.decay
        d = len(limits)
        margin = limits[0][0] - min(y[0] for y in self.outputs.points)
        gap = margin + 1 - (alpha - 1) * max(b - a for a, b in limits)
        far = sum((b - a) ** 2 for a, b in limits)
        # e^(c a (a-1) far) e^(-c gap^2): one exponential of the difference, so that neither is lost
        shift = gap**2 - alpha * (alpha - 1) * far
        ratio = exp(-2 * c * gap, self.bits)[1]
        unit = 1 << self.bits
        if gap <= 0 or shift <= 0 or ratio >= unit:
            raise NotSummed("its noise is too wide for its tail to be enclosed")
        side = Fraction(exp(-c * shift, self.bits)[1], unit - ratio)
        return Fraction(0), (d << d) * side / _first(self.whole.normal[0], d)

    def _chord(self, pair: Pair, alpha: Fraction) -> tuple[Fraction, Fraction]:
        """L^alpha <= a + b L for L = P/Q in [1/f, f], f the largest ratio there, by convexity: a Q + b P of what both
        have beyond the box. The sum of P L^(alpha - 1) is at least f^-alpha P."""
        f = far(self.family, self.noise, hull(self.family)[0][0] - self.outputs.points[0][0])
        unit, (low, high) = 1 << _SPARE, log(f, _SPARE)
        rise = [Fraction(exp(alpha * Fraction(x, unit), _SPARE)[side], unit) for side, x in enumerate((low, high))]
        fall = [Fraction(exp(-alpha * Fraction(x, unit), _SPARE)[side], unit) for side, x in enumerate((high, low))]
        normal, scale = self.whole.normal, 1 << self.bits
        p = 1 - Fraction(sum(pair.p_low), scale) / normal[1]
        if f == 1:
            return Fraction(0), p
        b = (rise[0] - fall[1]) / (f - 1 / f), (rise[1] - fall[0]) / (f - 1 / f)
        a = rise[1] - b[0] * f
        q = 1 - Fraction(sum(pair.q_high if a < 0 else pair.q_low), scale) / normal[0 if a < 0 else 1]
        least = max(Fraction(0), 1 - Fraction(sum(pair.p_high), scale) / normal[0]) * fall[0]
        return least, max(Fraction(0), a * max(Fraction(0), q) + b[1] * p)


def _first(power: Fraction, d: int) -> Fraction:
    """At most the d-th root of a number >= 1: 1."""
    return power if d == 1 else Fraction(1)


def _margin(family: Family, noise: Drawn, alpha: Fraction) -> int:
    if noise.power:
        return margins(family, noise, None)
    if noise.kind != "gaussian":
        return 0
    limits = hull(family)
    far = sum((b - a) ** 2 for a, b in limits)
    gap = math.isqrt(math.ceil(alpha * (alpha - 1) * far) + reach(noise.decay, _TAIL) ** 2) + 1
    return gap + math.ceil((alpha - 1) * max(b - a for a, b in limits))


def logarithms(pair: Pair) -> list[tuple[int, int] | None]:
    """ln(P/Q) at each output, in units of 2^-96; None where one of them may have no mass."""
    found: list[tuple[int, int] | None] = []
    for p_low, p_high, q_low, q_high in zip(pair.p_low, pair.p_high, pair.q_low, pair.q_high, strict=True):
        if p_low and q_low:
            found.append((log(Fraction(p_low, q_high), _SPARE)[0], log(Fraction(p_high, q_low), _SPARE)[1]))
        else:
            found.append(None)
    return found


def power_sum(summed: Summed, pair: Pair, logs: list[tuple[int, int] | None], alpha: Fraction) -> tuple[Number, Number]:
    """Bounds on I, within the box and, for an end, beyond it; infinite where P has mass and Q has none."""
    n = summed.outputs.spread + 1
    least, most = [0] * n, [0] * n
    unit = 1 << _SPARE
    for k, (ends, between) in enumerate(zip(summed.outputs.ends, logs, strict=True)):
        if between is None:
            if pair.p_high[k] and pair.q_high[k]:
                raise NotSummed("a mass is too small for the bits that are carried")
            if pair.p_high[k]:
                return math.inf, math.inf
            continue
        least[ends] += pair.p_low[k] * exp((alpha - 1) * Fraction(between[0], unit), _SPARE)[0]
        most[ends] += pair.p_high[k] * exp((alpha - 1) * Fraction(between[1], unit), _SPARE)[1]
    scale, whole = unit << summed.bits, summed.whole
    low = sum((Fraction(a, scale) * whole.end[0] ** e for e, a in enumerate(least)), Fraction(0)) / whole.normal[1]
    high = sum((Fraction(a, scale) * whole.end[1] ** e for e, a in enumerate(most)), Fraction(0)) / whole.normal[0]
    return low, high


def divergence(low: Number, high: Number, alpha: Fraction) -> tuple[Number, Number]:
    """ln(I) / (a - 1) from bounds on I; never negative."""
    if not isinstance(low, Fraction) or not isinstance(high, Fraction):
        return math.inf, math.inf
    unit = (1 << _SPARE) * (alpha - 1)
    least = log(low, _SPARE)[0] / unit if low > 0 else Fraction(0)
    return max(Fraction(0), least), max(Fraction(0), log(high, _SPARE)[1] / unit)


@dataclass(frozen=True)
class OrderLoss:
    """Bounds on the divergence of one pair in one order of the pair, at one Rényi order."""

    label: str
    alpha: Fraction
    epsilon: Fraction
    low: Number
    high: Number

    @property
    def within(self) -> bool | None:
        """Whether it is at most what was asked for; None where the bounds do not decide."""
        return True if self.high <= self.epsilon else False if self.low > self.epsilon else None


def order_losses(family: Family, noise: Drawn, asked: Asked, work: Work) -> tuple[Summed, list[list[OrderLoss]]]:
    """For each pair of the family, the divergences at every order and in both orders of the pair."""
    if any(law.error for law in family.laws):
        raise NotSummed("its laws are known up to an error, which bounds no Rényi divergence")
    summed = Summed.of(family, noise, max(a for a, _ in asked.orders), len(asked.orders), work)
    listed = []
    for (i, j), label in zip(family.pairs, family.labels, strict=True):
        both = summed.pair(i, j)
        logs = logarithms(both)
        found = []
        for pair, between in ((both, logs), (both.swapped(), flipped(logs))):
            for alpha, epsilon in asked.orders:
                low, high = power_sum(summed, pair, between, alpha)
                if high != math.inf:
                    low, high = (a + b for a, b in zip((low, high), summed.beyond(pair, alpha), strict=True))
                found.append(OrderLoss(label, alpha, epsilon, *divergence(low, high, alpha)))
        listed.append(found)
    return summed, listed


def flipped(logs: list[tuple[int, int] | None]) -> list[tuple[int, int] | None]:
    """ln(Q/P)."""
    return [None if x is None else (-x[1], -x[0]) for x in logs]


# A Rényi budget with delta: divergences outside events of probability delta on each side, with a witness.
#
# (a, e, d) asks for laws P' and Q' with (1 - d) P' <= P and (1 - d) Q' <= Q (the output given an event of probability
# 1 - d) and D_a(P' || Q') <= e at every order asked for and in both orders. The witness cuts what tells the two apart
# most:
#
#     P' ~ min(P, u Q),   Q' ~ min(Q, v P),   u, v >= 1 the least with at most d cut off on each side,
#
# found by bisection. Outputs beyond the box are cut off as well, and counted. It is a proof where it meets the budget;
# where it does not, nothing is concluded.

_FINE, _GRID = 1 << 40, 1 << 64
_FARTHEST = 4096
"""Ratios beyond 2^4096 are not cut at."""


def trimmed_losses(summed: Summed, index: int, asked: Asked, work: Work) -> list[OrderLoss]:
    """The divergences of one pair given likely events; none if no such events are found."""
    i, j = summed.family.pairs[index]
    label = summed.family.labels[index]
    pair = summed.pair(i, j)
    u = _least(summed, pair, asked.delta, work)
    v = _least(summed, pair.swapped(), asked.delta, work)
    if u is None or v is None:
        return []
    cut = Pair(*_cut(pair, u), *_cut(pair.swapped(), v))
    lost = _lost(summed, pair, u), _lost(summed, pair.swapped(), v)
    work.take(60 * len(cut.p_low) * (1 + 2 * len(asked.orders)), summed.bits)
    logs, found = logarithms(cut), []
    for both, between, (first, second) in ((cut, logs, lost), (cut.swapped(), flipped(logs), lost[::-1])):
        for alpha, epsilon in asked.orders:
            high = power_sum(summed, both, between, alpha)[1]
            found.append(OrderLoss(label, alpha, epsilon, Fraction(0), _given(high, alpha, first[1], second[0])))
    return found


def _given(high: Number, alpha: Fraction, first: Fraction, second: Fraction) -> Number:
    """D_a of the normalised laws: I (1 - d)^-a (1 - d')^(a-1), with d <= `first` cut off P and d' >= `second` off Q."""
    if not isinstance(high, Fraction):
        return high
    unit = 1 << _SPARE
    plain = Fraction(log(high, _SPARE)[1], unit) if high else Fraction(0)
    more = -alpha * Fraction(log(1 - first, _SPARE)[0], unit)
    less = (alpha - 1) * Fraction(log(1 - second, _SPARE)[1], unit)
    return max(Fraction(0), (plain + more + less) / (alpha - 1))


def _least(summed: Summed, pair: Pair, delta: Fraction, work: Work) -> Fraction | None:
    """A number u >= 1, near the least, with at most delta of P above u Q; None if 2^4096 is not enough."""
    low, high = Fraction(1), Fraction(2)
    while _lost(summed, pair, high)[1] > delta:
        work.take(4 * len(pair.p_low), summed.bits)
        low, high = high, high * high
        if high > 1 << _FARTHEST:
            return None
    while high - low > low / _FINE:
        work.take(4 * len(pair.p_low), summed.bits)
        middle = Fraction(math.ceil((low + high) / 2 * _GRID), _GRID)
        low, high = (low, middle) if _lost(summed, pair, middle)[1] <= delta else (middle, high)
    return high


def _cut(pair: Pair, u: Fraction) -> tuple[Row, Row]:
    """min(P, u Q)."""
    n, d = u.numerator, u.denominator
    low = tuple(min(p, q * n // d) for p, q in zip(pair.p_low, pair.q_low, strict=True))
    return low, tuple(min(p, -(-q * n // d)) for p, q in zip(pair.p_high, pair.q_high, strict=True))


def _lost(summed: Summed, pair: Pair, u: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on the mass of P above u Q, with all that lies beyond the box in the upper one."""
    n, d = u.numerator, u.denominator
    k = summed.outputs.spread + 1
    least, most = [0] * k, [0] * k
    for e, p_low, p_high, q_low, q_high in zip(
        summed.outputs.ends, pair.p_low, pair.p_high, pair.q_low, pair.q_high, strict=True
    ):
        most[e] += max(0, p_high - q_low * n // d)
        least[e] += max(0, p_low + (-q_high * n // d))
    unit, whole = 1 << summed.bits, summed.whole
    low = sum((Fraction(a, unit) * whole.end[0] ** e for e, a in enumerate(least)), Fraction(0)) / whole.normal[1]
    high = sum((Fraction(a, unit) * whole.end[1] ** e for e, a in enumerate(most)), Fraction(0)) / whole.normal[0]
    return low, high + whole.beyond
