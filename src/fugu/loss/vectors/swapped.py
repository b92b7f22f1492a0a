"""delta(epsilon) of lattice Gaussian noise where the shift between two data sets is random and only draws of it exist.

Joint convexity gives delta(epsilon) <= E h(|D|_2), h the curve of `fugu.loss.vectors.gaussian`, which grows with the
length. Lengths are drawn, rounded up to one of 256 lengths per octave, and counted. For n draws of a variable in [0, t]

    E h <= mean + sqrt(2 V ln(2 / beta) / n) + 7 t ln(2 / beta) / (3 (n - 1))     with probability >= 1 - beta,

V the sample variance (Maurer and Pontil 2009, Theorem 4). What is proved here is the right-hand side, in balls
(docs/proofs/record-swap.md#3-the-bound-from-the-draws)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb, fmpz

from fugu.loss.vectors.gaussian import shift_curve, wide
from fugu.noise import Gaussian
from fugu.numbers import balls

PLACES = 256
"""Lengths per octave: rounding up lengthens by at most 1/256, by a fifth of a percent on average."""
_PRECISION = 192
_DIGITS = 10**9


def length_at(place: int, unit: Fraction) -> Fraction:
    """The length of a place: unit 2^(place // 256) (1 + (place mod 256) / 256), exactly.

    >>> [str(length_at(k, Fraction(1))) for k in (0, 128, 256, 257)]
    ['1', '3/2', '2', '257/128']
    """
    octave, part = divmod(place, PLACES)
    return unit * Fraction(2) ** octave * (1 + Fraction(part, PLACES))


def rounded_steps(length: Fraction, grid: Fraction, dimension: int) -> Fraction:
    """How many steps apart, in l2, two vectors at such a distance come to lie on the lattice: rounding moves their
    difference by less than a step in each coordinate."""
    root = Fraction(math.isqrt(dimension * _DIGITS**2) + 1, _DIGITS)
    return length / grid + root


def drawn_delta(
    places: Sequence[int],
    counts: Sequence[int],
    unit: Fraction,
    longest: Fraction,
    dimension: int,
    noise: Gaussian,
    epsilon: Fraction,
    beta: Fraction,
) -> float:
    """The right-hand side above for lengths that were counted, rounded up; 1 where it says nothing.

    `places`, `counts`: which lengths how often, the places as `length_at` reads them; `longest`: the length that no
    draw exceeds, which gives t; `noise`: on its lattice; `beta`: the probability that the bound may be wrong."""
    n = sum(counts)
    if n < 2 or not wide(noise) or noise.grid is None:
        return 1.0
    with balls.precision(_PRECISION):
        curve = shift_curve(dimension, noise, epsilon)

        def at(length: Fraction) -> arb:
            assert noise.grid is not None
            return curve(rounded_steps(length, noise.grid, dimension) ** 2).min(arb(1))

        values = [at(length_at(place, unit)) for place in places]
        weights = [arb(fmpz(count)) for count in counts]
        mean = sum((w * x for w, x in zip(weights, values, strict=True)), arb(0)) / n
        variance = sum((w * (x - mean) ** 2 for w, x in zip(weights, values, strict=True)), arb(0)) / (n - 1)
        odds = (2 / balls.of(beta)).log()
        top = at(max(longest, length_at(max(places), unit)))
        spread = balls.top(2 * variance * odds / n).max(arb(0))  # equal draws: a ball around 0 has no root
        found = mean + spread.sqrt() + 7 * top * odds / (3 * (n - 1))
        return min(1.0, balls.upper(found))
