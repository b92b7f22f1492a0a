"""The curve of two normal laws that differ by a shift: delta(e, m) = sup_S N(m, 1)(S) - e^e N(0, 1)(S).

    delta(e, m) = Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m)          (Balle and Wang 2018, Theorem 8)

in both orders, for vectors with m^2 = d' V^{-1} d. It increases in m and decreases in e. `gaussian_delta`,
`gaussian_mu` and `gaussian_epsilon` are proved in balls and rounded to the safe side; the `fast_` ones are doubles,
to search with. Proofs: docs/proofs/normal-vectors.md#1-equal-covariances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadBudget
from fugu.guarantee.numbers import check_delta, check_epsilon
from fugu.loss.search.shifts import fast_gaussian_log_delta, fast_gaussian_mu
from fugu.loss.shifts.cost import refined
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up

Floats = NDArray[np.float64]


def gaussian_delta(epsilon: Real, m: Real) -> float:
    """A float at or above delta(epsilon, m).

    >>> round(gaussian_delta(1, 1), 12), gaussian_delta(1, 0)
    (0.126936737507, 0.0)
    """
    check_epsilon(epsilon)
    _check_m(m)
    if m == 0 or math.isinf(epsilon):
        return 0.0 if not (math.isinf(m) and math.isinf(epsilon)) else 1.0
    if math.isinf(m):
        return 1.0
    top = max(as_fraction(m), Fraction(m))
    return min(1.0, meant_up(balls.upper(ball_delta(as_fraction(epsilon), lambda: balls.of(top)))))


def ball_delta(epsilon: Fraction, m: Callable[[], arb]) -> arb:
    """delta(epsilon, m) as a ball good to 60 bits where that can be had; m() > 0 at the working precision."""

    def at(_: int) -> arb:
        e, shift, root = balls.of(epsilon), m(), arb(2).sqrt()
        near, far = e / shift - shift / 2, e / shift + shift / 2
        return ((near / root).erfc() - e.exp() * (far / root).erfc()) / 2

    return refined(at)


def gaussian_mu(epsilon: Real, delta: Real) -> float:
    """A float m with delta(epsilon, m) <= delta, proved; the next float is not proved to have it.

    The result may be read as the decimal it shows or as the binary number it is: both satisfy the inequality.

    >>> round(gaussian_mu(1, 1e-3), 12)
    0.388401248307
    """
    check_epsilon(epsilon)
    if not isinstance(delta, int | float | Fraction) or isinstance(delta, bool) or not 0 <= delta <= 1:
        raise BadBudget(f"delta must be a number in [0, 1], got {delta!r}")
    if delta == 1 or math.isinf(epsilon):
        return math.inf
    if delta == 0:
        return 0.0
    bound = balls.of(as_fraction(delta))
    guess = float(fast_gaussian_mu(float(epsilon), float(delta)))

    def holds(m: float) -> bool:
        top = max(as_fraction(m), Fraction(m))
        return m == 0 or bool(ball_delta(as_fraction(epsilon), lambda: balls.of(top)) <= bound)

    return _last(holds, guess)


def gaussian_epsilon(delta: Real, m: Real) -> float:
    """The least float e >= 0 that is proved to have delta(e, m) <= delta; inf if delta = 0 and m > 0.

    >>> round(gaussian_epsilon(1e-3, 1), 12)
    3.138670548583
    """
    check_delta(delta)
    _check_m(m)
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
    return math.nextafter(_last(fails, high), math.inf)


def classical_mu(epsilon: Real, delta: Real) -> float:
    """epsilon / sqrt(2 ln(1.25 / delta)) (Dwork and Roth 2014, Theorem A.1), for comparison only.

    It bounds nothing for a large epsilon: at (10, 1e-3) the true delta is 0.00336. Nothing that is stated may use it.

    >>> gaussian_delta(10, classical_mu(10, 1e-3)) > 0.00336
    True
    """
    return float(epsilon) / math.sqrt(2 * math.log(1.25 / float(delta)))


def _last(holds: Callable[[float], bool], guess: float) -> float:
    """The largest float next to which `holds` turns false, for a property that holds below a threshold near `guess`."""
    low = high = guess
    step = 2.0**-44
    if holds(guess):
        while holds(high):
            low, high, step = high, high * (1 + step) + 5e-324, step * 8
    else:
        while not holds(low):
            low, high, step = max(0.0, low * (1 - min(step, 1.0))), low, step * 8
    while math.nextafter(low, math.inf) < high:
        middle = low + (high - low) / 2
        middle = middle if low < middle < high else math.nextafter(low, math.inf)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _check_m(m: Real) -> None:
    if not isinstance(m, int | float | Fraction) or isinstance(m, bool) or not m >= 0:
        raise BadBudget(f"m, the shift in standard deviations, must be a number >= 0, got {m!r}")
