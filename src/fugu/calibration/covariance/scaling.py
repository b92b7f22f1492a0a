"""Whether a covariance is enough on the exact curve, and how much it must be enlarged where it is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.slope import log_delta
from fugu.calibration.covariance.standard import Laws
from fugu.calibration.search import least_scale
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences
from fugu.loss.search.normal import fast_normal_delta
from fugu.loss.shifts.gaussian import gaussian_mu

Array = NDArray[np.float64]


def admissible(ask: Ask) -> float:
    """The largest distance |V^-1/2 d| of two normal laws of one covariance that meets the budget: mu(epsilon, delta),
    or sqrt(2 epsilon / alpha)."""
    if isinstance(ask, Divergences):
        return min(math.sqrt(2 * float(e) / float(a)) for a, e in ask.orders)
    if ask.pure:
        raise NotProvable("Gaussian noise gives no pure guarantee; give a delta > 0, or a Renyi budget")
    return gaussian_mu(ask.epsilon, ask.delta)


def excesses(S: Array, laws: Laws, ask: Ask) -> list[float]:
    """loss / budget of every pair, the worse of its two orders: at most 1 where it is met."""
    if isinstance(ask, Divergences):
        return [
            ask.excess(lambda x, d=d, a=a, b=b: _divergence(d, a + S, b + S, float(x)))  # type: ignore[misc]
            for d, a, b in zip(laws.shift, laws.first, laws.second, strict=True)
        ]
    if ask.pure:
        raise NotProvable("Gaussian noise gives no pure guarantee; give a delta > 0, or a Renyi budget")
    return [
        _delta(d, a + S, b + S, float(ask.epsilon)) / ask.target
        for d, a, b in zip(laws.shift, laws.first, laws.second, strict=True)
    ]


def _delta(d: Array, p_cov: Array, q_cov: Array, epsilon: float) -> float:
    """delta of both orders by one path each; singular covariances, and one number, in their own way."""
    with suppress(np.linalg.LinAlgError):
        if len(d) > 1 and not np.array_equal(p_cov, q_cov):
            return math.exp(max(log_delta(d, p_cov, q_cov, epsilon).value, log_delta(-d, q_cov, p_cov, epsilon).value))
    return fast_normal_delta(d, p_cov, np.zeros(len(d)), q_cov, epsilon)


def excess_of(S: Array, laws: Laws, ask: Ask) -> float:
    """loss / budget of the worst pair."""
    return max(excesses(S, laws, ask), default=0.0)


def enough(S: Array, laws: Laws, ask: Ask) -> Array:
    """S itself where it meets the budget, else the lesser of the least multiple f S and the least S + h I that do, in
    floating point. More noise of either kind is a post-processing of less, so a search from above finds the least;
    where the laws' own covariances differ in directions that S does not reach, only the second exists."""

    def enlarged(held: Laws) -> Array:
        size = max(float(np.trace(S)) / len(S), _smallest(laws))
        found = [
            start + f * direction
            for start, direction in ((0.0 * S, S), (S, np.eye(len(S)) * size))
            if math.isfinite(f := _least(lambda x, a=start, b=direction: excess_of(a + x * b, held, ask)))  # type: ignore[misc]
        ]
        if not found:
            raise NotProvable(
                "no multiple of this noise hides the pairs within reach of the search; allow a larger budget"
            )
        return min(found, key=lambda x: float(np.trace(x)))

    return _binding(S, laws, ask, enlarged)


def raised(S: Array, floor: float, laws: Laws, ask: Ask) -> Array:
    """The least floor I + f (S - floor I), f >= 0, that meets the budget: what a descent found, made enough."""
    base = floor * np.eye(len(S))

    def enlarged(held: Laws) -> Array:
        f = _least(lambda x: excess_of(base + x * (S - base), held, ask))
        if not math.isfinite(f):
            raise NotProvable("no multiple of this noise hides the pairs within reach of the search")
        return np.asarray(base + f * (S - base))

    return _binding(S, laws, ask, enlarged)


def multiple(S: Array, laws: Laws, ask: Ask) -> float:
    """The least f >= 0 at which f S meets the budget; inf where none does."""

    def enlarged(held: Laws) -> Array:
        return S * _least(lambda x: excess_of(x * S, held, ask))

    with np.errstate(invalid="ignore"):  # no multiple at all
        found = _binding(0.0 * S, laws, ask, enlarged)
    return float(np.trace(found) / np.trace(S)) if np.isfinite(found).all() else math.inf


def isotropic(laws: Laws, ask: Ask, near: float) -> float:
    """The least variance of noise alike in every direction that meets the budget, looked for `near` one; 0 where none
    is needed."""
    unit = np.eye(laws.dimension) * max(near, _smallest(laws))
    found = multiple(unit, laws, ask)
    if math.isinf(found):
        raise NotProvable("no noise within reach of the search hides the pairs; allow a larger budget")
    return found * float(unit[0, 0])


def _binding(S: Array, laws: Laws, ask: Ask, enlarged: Callable[[Laws], Array]) -> Array:
    """Of many pairs only those that bind are searched with; one that is not met afterwards joins them."""
    found, held = S, list[int]()
    while True:
        losses = excesses(found, laws, ask) if np.isfinite(found).all() else [0.0]
        worst = int(np.argmax(losses))
        if losses[worst] <= 1:
            return found
        if worst in held:  # met only up to rounding
            return enlarged(laws)
        held.append(worst)
        found = enlarged(laws.only(held))


def _smallest(laws: Laws) -> float:
    """The least variance of any coordinate under any law: a unit of noise where none was proposed."""
    least = min(float(np.diagonal(c, axis1=1, axis2=2).min()) for c in (laws.first, laws.second))
    return least if least > 0 else 1.0


def _divergence(d: Array, p_cov: Array, q_cov: Array, alpha: float) -> float:
    """The closed form of D_alpha, both orders; inf where alpha V_q + (1 - alpha) V_p is not positive definite."""
    worst = 0.0
    for a, b in ((p_cov, q_cov), (q_cov, p_cov)):
        mixed = alpha * b + (1 - alpha) * a
        if np.linalg.eigvalsh(mixed)[0] <= 0:
            return math.inf
        logs = [float(np.linalg.slogdet(m)[1]) for m in (mixed, a, b)]
        volume = (logs[0] - (1 - alpha) * logs[1] - alpha * logs[2]) / (2 * (alpha - 1))
        worst = max(worst, alpha / 2 * float(d @ np.linalg.solve(mixed, d)) - volume)
    return worst


def _least(excess: Callable[[float], float]) -> float:
    """The least factor that is enough, by the search for scales; inf where none up to 4^20 does."""
    high = 1.0
    while not excess(high) <= 1:
        high *= 4
        if high > 4.0**20:
            return math.inf
    return least_scale(lambda f: math.inf if f == 0 else excess(f), 1.0, high) * (1 + 1e-9)
