"""One draw of lattice Laplace noise without tables: for many groups with a rate each, where tables would cost more."""

from __future__ import annotations

from fractions import Fraction

from fugu.noise.bits import OS, BitSource
from fugu.noise.geometric import LatticeLaplaceSampler
from fugu.noise.selection import exp_coin, uniform_below


def draw_one(rate: Fraction, source: BitSource = OS) -> int:
    """An integer k with P(k) = (1-q)/(1+q) q^|k|, q = exp(-rate): exactly, given fair bits.

    For rate = s/t: U uniform below t, kept with probability exp(-U/t), and V successes of exp(-1) in a row make
    U + t V geometric with exp(-1/t), so its quotient by s is geometric with exp(-s/t); minus zero is drawn again
    (Canonne, Kamath, Steinke 2020, algorithm 2).

    `rate`: an exact rational of at least 2^-52. `source`: where bits come from.

    >>> draw_one(Fraction(10**6))
    0
    """
    rate = LatticeLaplaceSampler(rate).rate  # checked, and made of plain integers
    s, t = rate.numerator, rate.denominator
    while True:
        low = uniform_below(t, source)
        if not exp_coin(Fraction(low, t), source):
            continue
        high = 0
        while exp_coin(Fraction(1), source):
            high += 1
        magnitude = (low + t * high) // s
        negative = bool(uniform_below(2, source))
        if magnitude or not negative:
            return -magnitude if negative else magnitude
