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
from fugu_verify.losses import Whole
from fugu_verify.noised import Outputs, Work, atoms, bits_for, box, hull, noised, reach, size
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

    def beyond(self, alpha: Fraction) -> Fraction:
        """At least what the terms beyond the box add to I."""
        if self.noise.kind != "gaussian":
            return Fraction(0)
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
        return (d << d) * side / _first(self.whole.normal[0], d)


def _first(power: Fraction, d: int) -> Fraction:
    """At most the d-th root of a number >= 1: 1."""
    return power if d == 1 else Fraction(1)


def _margin(family: Family, noise: Drawn, alpha: Fraction) -> int:
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
                high = high if high == math.inf else high + summed.beyond(alpha)
                found.append(OrderLoss(label, alpha, epsilon, *divergence(low, high, alpha)))
        listed.append(found)
    return summed, listed


def flipped(logs: list[tuple[int, int] | None]) -> list[tuple[int, int] | None]:
    """ln(Q/P)."""
    return [None if x is None else (-x[1], -x[0]) for x in logs]
