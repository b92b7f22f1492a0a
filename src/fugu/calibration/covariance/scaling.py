"""How much a covariance must be enlarged until the exact curve holds, for laws whose own covariances differ."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.search import least_scale
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences
from fugu.laws.multinormal import NormalPair
from fugu.loss.search.normal import fast_normal_delta

Floats = NDArray[np.float64]


def enough(covariance: Floats, pairs: tuple[NormalPair, ...], ask: Ask) -> Floats:
    """The covariance itself where it meets the budget, else the lesser of the least multiple f S and the least S + h I
    that do, in floating point. More noise of either kind is a post-processing of less, so a search from above finds
    the least; where the laws' own covariances differ in directions that S does not reach, only the second exists.

    Of many pairs only those that bind are searched with; one that is not met afterwards joins them."""
    found, held = covariance, tuple[NormalPair, ...]()
    while True:
        losses = [excess_of(found, (pair,), ask) for pair in pairs]
        worst = pairs[int(np.argmax(losses))]
        if max(losses) <= 1:
            return found
        if worst in held:  # met only up to rounding
            return _enough(covariance, pairs, ask)
        held = (*held, worst)
        found = _enough(covariance, held, ask)


def _enough(covariance: Floats, pairs: tuple[NormalPair, ...], ask: Ask) -> Floats:
    if excess_of(covariance, pairs, ask) <= 1:
        return covariance
    unit = np.eye(len(covariance)) * max(float(np.trace(covariance)), _smallest(pairs)) / len(covariance)
    found = []
    for start, direction in ((0.0 * covariance, covariance), (covariance, unit)):
        factor = _least(lambda f, a=start, b=direction: excess_of(a + f * b, pairs, ask))  # type: ignore[misc]
        if math.isfinite(factor):
            found.append(start + factor * direction)
    if not found:
        raise NotProvable("no multiple of this noise hides the pairs within reach of the search; allow a larger budget")
    return min(found, key=lambda S: float(np.trace(S)))


def _smallest(pairs: tuple[NormalPair, ...]) -> float:
    """The least variance of any coordinate under any law: a unit of noise where none was proposed."""
    return min(float(np.diag(law.cov_array).min()) for pair in pairs for law in (pair.p, pair.q))


def excess_of(covariance: Floats, pairs: tuple[NormalPair, ...], ask: Ask) -> float:
    """loss / budget, at most 1 where it is met."""
    different = [pair for pair in pairs if not pair.same]
    laws = [(p.p.mean_array, p.p.cov_array + covariance, p.q.mean_array, p.q.cov_array + covariance) for p in different]
    if isinstance(ask, Divergences):
        return ask.excess(lambda a: max((_divergence(*law, float(a)) for law in laws), default=0.0))
    if ask.pure:
        raise NotProvable("Gaussian noise gives no pure guarantee; give a delta > 0, or a Renyi budget")
    return max((fast_normal_delta(*law, float(ask.epsilon)) / ask.target for law in laws), default=0.0)


def _divergence(p_mean: Floats, p_cov: Floats, q_mean: Floats, q_cov: Floats, alpha: float) -> float:
    """The closed form of D_alpha, both orders; inf where alpha V_q + (1 - alpha) V_p is not positive definite."""
    worst = 0.0
    for a, b in ((p_cov, q_cov), (q_cov, p_cov)):
        mixed = alpha * b + (1 - alpha) * a
        if np.linalg.eigvalsh(mixed)[0] <= 0:
            return math.inf
        d = p_mean - q_mean
        logs = [float(np.linalg.slogdet(m)[1]) for m in (mixed, a, b)]
        volume = (logs[0] - (1 - alpha) * logs[1] - alpha * logs[2]) / (2 * (alpha - 1))
        worst = max(worst, alpha / 2 * float(d @ np.linalg.solve(mixed, d)) - volume)
    return worst


def _least(excess: Callable[[float], float]) -> float:
    """The least factor that is enough, by the search for scales; inf where none up to 4096 does."""
    high = 1.0
    while not excess(high) <= 1:
        high *= 4
        if high > 4096:
            return math.inf
    return least_scale(lambda f: math.inf if f == 0 else excess(f), 1.0, high) * (1 + 1e-9)
