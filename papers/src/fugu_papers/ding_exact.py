"""What normal beliefs and mixtures lose to continuous noise, exactly: densities, and the least scale. The papers speak
of continuous noise; fugu releases noise on a lattice."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fugu.errors import NotProvable
from fugu.guarantee import Approx
from fugu.laws.components import Floats
from fugu.laws.normal import Belief, Normal
from fugu.loss.densities import NoisedMixture, check_noise
from fugu.loss.search.couplings import least_scale
from fugu.loss.smooth import hockey_stick, pure_epsilon
from fugu.numbers.exact import Real, as_fraction

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
    # The size of the laws: a first guess of the scale
    views = p.components(), q.components()
    ends = [float(v.means.min()) for v in views], [float(v.means.max()) for v in views]
    spread = max(float(v.stds.max()) for v in views)
    length = max(max(ends[1]) - min(ends[0]) + spread, 1e-300)
    return least_scale(excess, length / eps if eps else length / max(target, 1e-9))


def _log_ratio(found: float, target: float) -> float:
    """ln(found / target), cut off so that a loss of 0 is a number; its sign is exact."""
    if found <= target:
        return max(_FLOOR, math.log(found / target)) if found > 0 and target > 0 else _FLOOR
    return math.log(found / target) if target > 0 and math.isfinite(found) else -_FLOOR


def log_density(law: Belief, kind: str, scale: Real, points: ArrayLike) -> Floats:
    """ln of the density of law + noise at the points; +inf at an atom that no noise blurs.

    >>> from fugu.laws.normal import Normal
    >>> log_density(Normal(0, 1), "laplace", 0.7, [0.3])
    array([-1.22140444])
    """
    noised, y, unit = _in_units(law, kind, scale, points)
    if noised.laplace or np.all(noised.stds > 0):
        return noised.log_density(y) - math.log(unit)
    atom = noised.stds == 0
    rest = NoisedMixture(noised.log_weights[~atom], noised.high[~atom], noised.low[~atom], noised.stds[~atom], False)
    body = rest.log_density(y) if rest.high.size else np.full(y.size, -np.inf)
    return np.where(np.any(noised.offsets(y)[:, atom] == 0, axis=1), np.inf, body - math.log(unit))


def density(law: Belief, kind: str, scale: Real, points: ArrayLike) -> Floats:
    """The density of law + noise at the points."""
    return np.exp(log_density(law, kind, scale, points))


def cdf(law: Belief, kind: str, scale: Real, points: ArrayLike) -> Floats:
    """P(X + noise <= y) at the points.

    >>> from fugu.laws.normal import Normal
    >>> cdf(Normal(0, 1), "laplace", 1, [-3.0])
    array([0.04093427])
    """
    noised, y, _ = _in_units(law, kind, scale, points)
    return noised.below(y)


def sf(law: Belief, kind: str, scale: Real, points: ArrayLike) -> Floats:
    """P(X + noise > y) at the points, small values to full relative precision."""
    noised, y, _ = _in_units(law, kind, scale, points)
    return noised.above(y)


def _in_units(law: Belief, kind: str, scale: Real, points: ArrayLike) -> tuple[NoisedMixture, Floats, float]:
    check_noise(kind, float(scale))
    view = law.components()
    b = float(as_fraction(scale))
    y = np.atleast_1d(np.asarray(points, dtype=np.float64)).ravel()
    zero = np.zeros_like(view.means)
    if kind == "laplace" and b > 0:
        return NoisedMixture(np.log(view.weights), view.means / b, zero, view.stds / b, True), y / b, b
    return NoisedMixture(np.log(view.weights), view.means, zero, np.hypot(view.stds, b), False), y, 1.0
