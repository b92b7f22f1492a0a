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
from numpy.typing import ArrayLike, NDArray

from fugu.errors import BadBudget
from fugu.guarantee.numbers import check_delta, check_epsilon
from fugu.loss.shifts.cost import refined
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up

Floats = NDArray[np.float64]
_FAR = -30.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


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


def fast_gaussian_log_delta(epsilon: ArrayLike, m: ArrayLike) -> Floats:
    """ln delta(epsilon, m) in doubles, entry by entry, relatively good to about 1e-12 of delta also where it is 1e-300.

    With R = Phi / phi, a = m/2 - e/m, b = a - m, e^e phi(b) = phi(a): delta = phi(a) (R(a) - R(b)), and R(a) - R(b) is
    the integral of R' = 1 + x R(x) over [b, a] where the difference would cancel (m <= 1).

    >>> float(np.round(fast_gaussian_log_delta(1.0, 0.388401248306584) / math.log(10), 10))
    -3.0
    """
    from scipy.special import erfcx, log_ndtr

    e, shift = np.broadcast_arrays(np.asarray(epsilon, dtype=np.float64), np.asarray(m, dtype=np.float64))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        a, b = shift / 2 - e / shift, -shift / 2 - e / shift
        log_phi = -a * a / 2 - 0.5 * math.log(2 * math.pi)
        narrow = np.log(
            shift / 2 * sum(w * _slope(b + shift * (1 + x) / 2) for x, w in zip(_NODES, _WEIGHTS, strict=True))
        )
        wide = np.log(math.sqrt(math.pi / 2) * (erfcx(-np.minimum(a, 30) / math.sqrt(2)) - erfcx(-b / math.sqrt(2))))
        first = log_ndtr(a)
        direct = first + np.log(-np.expm1(np.minimum(e + log_ndtr(b) - first, 0.0)))
        found = np.where(shift <= 1, log_phi + narrow, np.where(a < 0, log_phi + wide, direct))
    return np.asarray(np.where(shift > 0, found, -np.inf), dtype=np.float64)


def fast_gaussian_delta(epsilon: ArrayLike, m: ArrayLike) -> Floats:
    """delta(epsilon, m) in doubles, entry by entry."""
    return np.asarray(np.exp(fast_gaussian_log_delta(epsilon, m)), dtype=np.float64)


def fast_gaussian_mu(epsilon: ArrayLike, delta: ArrayLike) -> Floats:
    """The m with delta(epsilon, m) = delta in doubles, entry by entry, by bisection in ln m; 0 < delta < 1."""
    e, wanted = np.broadcast_arrays(np.asarray(epsilon, dtype=np.float64), np.log(np.asarray(delta, dtype=np.float64)))
    low, high = np.full(e.shape, -750.0), np.full(e.shape, 20.0)
    for _ in range(64):
        middle = (low + high) / 2
        over = fast_gaussian_log_delta(e, np.exp(middle)) > wanted
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray(np.exp((low + high) / 2), dtype=np.float64)


def _slope(x: Floats) -> Floats:
    """R'(x) = 1 + x R(x); far to the left by its asymptotic series 1/x^2 - 3/x^4 + 15/x^6 - ..."""
    from scipy.special import erfcx

    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        y = 1 / (x * x)
        series = y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y * (1 - 11 * y)))))
        near = 1 + x * math.sqrt(math.pi / 2) * erfcx(-np.maximum(x, _FAR) / math.sqrt(2))
        return np.asarray(np.where(x < _FAR, series, near), dtype=np.float64)


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
