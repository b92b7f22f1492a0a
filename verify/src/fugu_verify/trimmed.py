"""A Rényi budget with delta: divergences outside events of probability delta on each side, with a witness.

(a, e, d) asks for laws P' and Q' with (1 - d) P' <= P and (1 - d) Q' <= Q (the output given an event of probability 1 -
d) and D_a(P' || Q') <= e at every order asked for and in both orders. The witness cuts what tells the two apart most:

    P' ~ min(P, u Q),   Q' ~ min(Q, v P),   u, v >= 1 the least with at most d cut off on each side,

found by bisection. Outputs beyond the box are cut off as well, and counted. It is a proof where it meets the budget;
where it does not, nothing is concluded."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu_verify.arithmetic import log
from fugu_verify.noised import Work
from fugu_verify.orders import OrderLoss, Pair, Row, Summed, flipped, logarithms, power_sum
from fugu_verify.result import Asked, Number

_SPARE = 96
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
