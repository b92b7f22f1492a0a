"""The least continuous scale that meets (epsilon, delta), by a search that only ever returns a scale that was checked.

Every loss is non-increasing in the scale: Lap(c) = Lap(b) + W for c > b
(docs/proofs/laplace.md#1-more-noise-is-a-post-processing-of-less), and likewise for the normal
(docs/proofs/gaussian.md#6-more-gaussian-noise-continuous-yes-on-a-lattice-no)."""

from __future__ import annotations

import math
from collections.abc import Callable

from fugu.errors import NotProvable
from fugu.guarantee import Approx
from fugu.laws.normal import Belief, Normal, components
from fugu.loss.smooth.continuous import hockey_stick, pure_epsilon
from fugu.loss.smooth.noised import check_noise
from fugu.numbers.exact import Real

_TOLERANCE = 1e-11
_FLOOR = -60.0
_LEAST = 1e-12


def least_continuous(p: Belief, q: Belief, kind: str, epsilon: Real, delta: Real) -> float:
    """The least scale of continuous noise with hockey_stick <= delta (pure_epsilon <= epsilon for delta 0).

    Returned is the safe end of a bracket of relative width 1e-11 whose other end was seen to fail; 0 where the laws
    need no noise. With normal noise no scale gives delta 0 unless the laws already do. Below delta 1e-12 rounding
    hides what cells add up: Laplace noise then meets epsilon purely, normal noise is refused save for two normals.

    >>> from fugu.laws.normal import Normal
    >>> round(least_continuous(Normal(0, 1), Normal(1, 2), "laplace", 1, 0.01), 8)
    1.63093488
    """
    check_noise(kind, 0.0)
    Approx(epsilon, delta)  # validates both
    eps, target = float(epsilon), float(delta)
    if 0 < target < _LEAST and kind == "laplace":
        target = 0.0
    if 0 < target < _LEAST and not (isinstance(p, Normal) and isinstance(q, Normal)):
        raise NotProvable(
            f"a delta of {target:g} is below what rounding allows for mixtures; choose at least {_LEAST:g}"
        )

    def excess(scale: float) -> float:
        if target == 0:
            return _log_ratio(pure_epsilon(p, q, scale), eps)
        found = hockey_stick(p, q, kind, scale, eps, min(2e-12, max(2e-14, 1e-7 * target)))
        return _log_ratio(found, target)

    if excess(0.0) <= 0:
        return 0.0
    if target == 0 and kind == "gaussian":
        raise NotProvable("normal noise meets no pure epsilon for these laws: allow a delta > 0, or use Laplace noise")
    length = _length(p, q)
    return least_scale(excess, length / eps if eps else length / max(target, 1e-9))


def least_scale(excess: Callable[[float], float], guess: float) -> float:
    """The least scale b > 0 with excess(b) <= 0 for a non-increasing excess, from the safe side; relative 1e-11.

    A bracket in ln b is first doubled, then closed by Chandrupatla's method (1997): inverse quadratic steps where
    they are safe, bisection where not. A scale is returned only if excess(b) <= 0 was computed at it."""
    good, good_value = guess, excess(guess)
    for _ in range(1100):
        if good_value <= 0:
            break
        good *= 2
        good_value = excess(good)
    else:
        raise NotProvable("no scale within the range of doubles meets this budget")
    bad, bad_value = good / 2, excess(good / 2)
    while bad_value <= 0:
        if bad < 1e-13 * guess:
            return bad
        good, good_value = bad, bad_value
        bad = bad / 4
        bad_value = excess(bad)
    return math.exp(_close(lambda x: excess(math.exp(x)), (math.log(bad), bad_value), (math.log(good), good_value)))


def _close(value: Callable[[float], float], bad: tuple[float, float], good: tuple[float, float]) -> float:
    """The end x with value(x) <= 0 of a bracket closed to the tolerance (Chandrupatla, 1997)."""
    (a, fa), (b, fb) = bad, good
    (c, fc), t = (a, fa), 0.5
    safe = b
    for _ in range(200):
        x = a + t * (b - a)
        fx = value(x)
        if fx <= 0:
            safe = x
        if (fx > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        width = abs(b - a)
        if width <= _TOLERANCE:
            break
        share = 0.25 * _TOLERANCE / width
        t = 0.5
        if fb not in (fa, fc) and fa != fc:
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            if phi * phi < xi and (1 - phi) ** 2 < 1 - xi:
                t = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        t = min(1 - share, max(share, t))
    return safe


def _log_ratio(found: float, target: float) -> float:
    """ln(found / target), cut off so that a loss of 0 is a number; its sign is exact."""
    if found <= target:
        return max(_FLOOR, math.log(found / target)) if found > 0 and target > 0 else _FLOOR
    return math.log(found / target) if target > 0 and math.isfinite(found) else -_FLOOR


def _length(p: Belief, q: Belief) -> float:
    """The size of the laws: a first guess of the scale."""
    views = components(p), components(q)
    ends = [float(v.means.min()) for v in views], [float(v.means.max()) for v in views]
    spread = max(float(v.stds.max()) for v in views)
    return max(max(ends[1]) - min(ends[0]) + spread, 1e-300)
