"""What papers ask of the curve of two normal laws that differ by a shift: its epsilon, and the classical constant."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.guarantee.asks import check_delta
from fugu.loss.search.normal import fast_gaussian_log_delta
from fugu.loss.shifts import ball_delta, check_shift, last_float
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction


def gaussian_epsilon(delta: Real, m: Real) -> float:
    """The least float e >= 0 that is proved to have delta(e, m) <= delta; inf if delta = 0 and m > 0.

    >>> round(gaussian_epsilon(1e-3, 1), 12)
    3.138670548583
    """
    check_delta(delta)
    check_shift(m)
    if m == 0:
        return 0.0
    if delta == 0 or math.isinf(m):
        return math.inf
    top = max(as_fraction(m), Fraction(m))
    bound = balls.of(as_fraction(delta))

    def fails(e: float) -> bool:
        least = min(as_fraction(e), Fraction(e))
        return not bool(ball_delta(least, lambda: balls.of(top)) <= bound)

    if not fails(0.0):
        return 0.0
    shift, low, high, wanted = float(top), 0.0, 1.0, math.log(max(float(delta), 5e-324))
    while fast_gaussian_log_delta(high, shift) > wanted:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        over = bool(fast_gaussian_log_delta(middle, shift) > wanted)
        low, high = (middle, high) if over else (low, middle)
    return math.nextafter(last_float(fails, high), math.inf)


def classical_mu(epsilon: Real, delta: Real) -> float:
    """epsilon / sqrt(2 ln(1.25 / delta)) (Dwork and Roth 2014, Theorem A.1), for comparison only.

    It bounds nothing for a large epsilon: at (10, 1e-3) the true delta is 0.00336. Nothing that is stated may use it.

    >>> from fugu.loss.shifts import gaussian_delta
    >>> gaussian_delta(10, classical_mu(10, 1e-3)) > 0.00336
    True
    """
    return float(epsilon) / math.sqrt(2 * math.log(1.25 / float(delta)))
