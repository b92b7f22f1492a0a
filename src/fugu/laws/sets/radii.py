"""Radii of balls around the observed frequencies that hold the law of the rows, by the number of rows and values."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from fugu.laws.sets.mixture import checked_error, edge
from fugu.numbers.balls import of, precision, upper
from fugu.numbers.exact import Real

_BITS = 128


def variation_radius(n: int, k: int, error: Real) -> float:
    """r with P(TV(p^, p) <= r) >= 1 - error for n rows on k values, rounded up, at most 1.

    The lesser of sqrt((ln(2^k - 2) + ln 1/error) / 2n) (Weissman et al. 2003) and
    (sqrt(k - 1) + sqrt(2 ln 1/error)) / (2 sqrt n) (the mean of the distance, and McDiarmid's inequality). Which one it
    is depends on n, k and the error alone, never on the counts, so taking the lesser costs nothing.

    - `n`: the number of rows; 0 gives 1. - `k`: the number of declared values; 1 gives 0.
    - `error`: strictly between 0 and 1.

    >>> round(variation_radius(100, 5, 0.05), 10)
    0.1788425237
    """
    level = checked_error(error)
    if k == 1:
        return 0.0
    if n == 0:
        return 1.0
    with precision(_BITS):
        surprise = -of(level).log()
        subsets = (of(2**k - 2)).log()
        weissman = ((subsets + surprise) / (2 * n)).sqrt()
        mcdiarmid = (arb(k - 1).sqrt() + (2 * surprise).sqrt()) / (2 * arb(n).sqrt())
        return min(1.0, upper(weissman), upper(mcdiarmid))


def divergence_radius(n: int, k: int, error: Real) -> float:
    """R with P(KL(p^, p) <= R) >= 1 - error for n rows on k values, rounded up (Agrawal 2020).

    E exp(l n KL(p^, p)) <= (1 - l)^-(k-1) for 0 <= l < 1, so P(n KL >= t) <= (e t / (k-1))^(k-1) e^-t for t >= k - 1:
    the least t at which this is proved to be at most the error, over n.

    - `n`: the number of rows, at least 1. - `k`: the number of declared values; 1 gives 0.
    - `error`: strictly between 0 and 1.

    >>> round(divergence_radius(100, 5, 0.05), 10)
    0.1106610055
    """
    level = checked_error(error)
    if k == 1:
        return 0.0
    far = 4.0 * (k - 1) + 4.0 * -math.log(level) if level > Fraction(1, 10**300) else 4.0 * (k - 1) + 1e5
    while not divergence_proved(Fraction(far) / n, n, k, level):
        far *= 2
    t = edge(lambda t: divergence_proved(Fraction(t) / n, n, k, level), far, float(k - 1))
    with precision(_BITS):
        return upper(arb(t) / n)


def divergence_proved(radius: Fraction, n: int, k: int, error: Fraction) -> bool:
    """Whether that bound at t = n radius is proved to be at most the error."""
    t, free = radius * n, k - 1
    if t < free:
        return False
    with precision(_BITS):
        log = free * (1 + (of(t) / free).log()) - of(t)
        return bool(log <= of(error).log())
