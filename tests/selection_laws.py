"""The laws of permute-and-flip and of the exponential mechanism, from their definitions, as balls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from flint import arb
from mpmath import exp, mpf

from fugu.numbers import balls


def permute_and_flip_law(utilities: Sequence[Fraction], rate: Fraction) -> list[arb]:
    """The exact masses as balls: P(i) = p_i * integral over t in [0, 1] of prod over j != i of (1 - t p_j).

    p_j = exp(-rate (max u - u_j)). Proof: give every item an independent uniform time; in the order of times, item i
    at time t is reached iff no j != i is earlier and accepted, an event of probability 1 - t p_j for each j.

    >>> [round(float(m), 8) for m in permute_and_flip_law([Fraction(u) for u in (10, 9, 7, 3, 0)], Fraction(1, 10))]
    [0.30794382, 0.26627312, 0.20539802, 0.12831328, 0.09207176]
    """
    best, masses = max(utilities), []
    with balls.precision(96 + 4 * len(utilities)):  # the coefficients alternate: at most 2^n is cancelled
        p = [balls.of(rate * (Fraction(u) - best)).exp() for u in utilities]
        for i, own in enumerate(p):
            product = [arb(1)]
            for j, other in enumerate(p):
                if j != i:
                    pairs = zip([*product, arb(0)], [arb(0), *product], strict=True)
                    product = [a - other * b for a, b in pairs]
            masses.append(own * sum((c / (d + 1) for d, c in enumerate(product)), arb(0)))
    return masses


def exponential_law(utilities: Sequence[Fraction], rate: Fraction) -> list[arb]:
    """The exact masses as balls: exp(rate u_i) over their sum."""
    best = max(utilities)
    with balls.precision(128):
        weights = [balls.of(rate * (Fraction(u) - best)).exp() for u in utilities]
        return [w / sum(weights, arb(0)) for w in weights]


def pf(u, rate):
    """From the definition alone: over all visiting orders, the chance that each item is the first accepted."""
    accept = [exp(mpf(rate.numerator) / rate.denominator * (mpf(int(v)) - mpf(int(max(u))))) for v in u]
    found = [mpf(0)] * len(u)
    for order in permutations(range(len(u))):
        reached = mpf(1)
        for i in order:
            found[i] += reached * accept[i]
            reached *= 1 - accept[i]
    return [f / math.factorial(len(u)) for f in found]


def em(u, rate):
    """The exponential mechanism from the definition, with the digits of mpmath."""
    weights = [exp(mpf(rate.numerator) / rate.denominator * int(v)) for v in u]
    return [w / sum(weights) for w in weights]
