"""What no Gaussian noise goes below: a lower bound on tr(W S) over every S >= floor I that hides the pairs.

Necessary conditions that are linear in S, <C_i, S> >= c_i with C_i >= 0, and the dual of the programme they make
(docs/proofs/normal-vectors.md#8-no-gaussian-noise-goes-below):

    tr(W S) >= floor tr W + sum_i y_i (c_i - floor tr C_i)   for all y >= 0 with sum_i y_i C_i <= W.

1. A line: u'X is a post-processing of X, and the loss of N(u'd, u'Au + s) against N(0, u'Bu + s) falls in s, so
   u'S u >= s_u, the least s that meets the budget. C = u u'.
2. A tangent, for Renyi budgets: D_alpha is convex in S, so D(S_0) + <G, S - S_0> <= epsilon. C = -G.

In doubles: it measures the quality of an answer, not its soundness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.descent import excesses
from fugu.calibration.covariance.slope import StandardPairs, divergence
from fugu.guarantee.asks import Ask, Divergences
from fugu.loss.integrals import normal_hockey_stick

Array = NDArray[np.float64]
_ROUNDS = 3
_KEPT = 3
_STEPS = 80
_CLOSE = 1e-7
_SAFE = 1e-9
_BINDING = 0.8


def least_trace(laws: StandardPairs, ask: Ask, floor: float, weight: Array, at: Array) -> float:
    """A number that tr(weight S) is not below for any S >= floor I that meets the budget, in standardised units.

    `at`: the best S that is known; directions and tangents are taken there, and directions are then improved."""
    if isinstance(ask, Divergences):
        return _dual(list(_tangents(laws, ask, at)), floor, weight)[0]
    losses = excesses(at, laws, ask)  # pairs left out only lower the bound
    laws = laws.only([k for k, loss in enumerate(losses) if loss >= _BINDING * max(losses)])
    lines = [u for u in _directions(laws, at) if u.any()]
    cuts = [(np.outer(u, u), threshold(u, laws, ask)) for u in lines]
    best, y, X = _dual(cuts, floor, weight)
    for _ in range(_ROUNDS):
        more = [_improved(lines[i], X, laws, ask, weight) for i in np.argsort(-y)[:_KEPT]]
        lines += more
        cuts += [(np.outer(u, u), threshold(u, laws, ask)) for u in more]
        value, y, X = _dual(cuts, floor, weight)
        if value <= best * (1 + 1e-4):
            return max(best, value)
        best = value
    return best


def threshold(u: Array, laws: StandardPairs, ask: Ask) -> float:
    """A lower bound on the variance of noise along u that hides every pair there: just below the least that does."""
    return _along(u, laws, ask)[0]


def _along(u: Array, laws: StandardPairs, ask: Ask) -> tuple[float, Array]:
    """The bound, and how it changes with u: loss(u'd, u'Au + s, u'Bu + s) stays what it is."""
    assert not isinstance(ask, Divergences)
    epsilon, limit = float(ask.epsilon), float(ask.delta) * (1 + _SAFE)
    found, slope = 0.0, np.zeros(len(u))
    for d, A, B in zip(laws.shift, laws.first, laws.second, strict=True):
        x, a, b = float(u @ d), float(u @ A @ u), float(u @ B @ u)
        if _loss(x, a + found, b + found, epsilon) <= limit:
            continue
        found = _last(lambda s, x=x, a=a, b=b: _loss(x, a + s, b + s, epsilon), limit, found, max(a, b, x * x, 1e-300))  # type: ignore[misc]
        size = max(a, b) + found
        at, steps = (x, a + found, b + found), (math.sqrt(size) * 1e-5, size * 1e-5, size * 1e-5)
        rates = [_rate(at, i, steps[i], epsilon) for i in range(3)]
        fall = rates[1] + rates[2]
        slope = -(rates[0] * d + 2 * rates[1] * (A @ u) + 2 * rates[2] * (B @ u)) / fall if fall < 0 else 0.0 * u
    return found, slope


def _rate(at: tuple[float, float, float], i: int, step: float, epsilon: float) -> float:
    """How the loss changes with one of its three arguments."""
    up, down = ([y + h * (k == i) for k, y in enumerate(at)] for h in (step, -step))
    return (_loss(up[0], up[1], up[2], epsilon) - _loss(down[0], down[1], down[2], epsilon)) / (2 * step)


def _loss(x: float, a: float, b: float, epsilon: float) -> float:
    """max of both orders of HS_epsilon between N(x, a) and N(0, b)."""
    if min(a, b) <= 0:
        return 1.0
    return max(normal_hockey_stick(x / math.sqrt(q), math.sqrt(p / q), epsilon) for p, q in ((a, b), (b, a)))


def _last(loss: Callable[[float], float], limit: float, low: float, step: float) -> float:
    """An s with loss(s) > limit, as near to the end of those as bisection comes."""
    high = low + step
    while loss(high) > limit:
        low, high = high, 4 * high
        if high > 1e300:
            return low
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) > limit else (low, middle)
    return low


def _directions(laws: StandardPairs, at: Array) -> Iterator[Array]:
    """Where a pair shows most after noise `at`: along V^-1 d, and where the two covariances differ most."""
    from scipy.linalg import eigh

    yield from np.linalg.eigh(at)[1].T
    for d, A, B in zip(laws.shift, laws.first, laws.second, strict=True):
        p, q = A + at, B + at
        for V in (p, q, p + q):
            yield _unit(np.linalg.lstsq(V, d, rcond=None)[0])
        if not np.array_equal(A, B):
            vectors = eigh(p - q, p + q)[1].T
            yield from (_unit(v) for v in (vectors[0], vectors[-1]))


def _unit(u: Array) -> Array:
    length = float(np.linalg.norm(u))
    return u / length if length > 0 else u


def _improved(u: Array, X: Array, laws: StandardPairs, ask: Ask, weight: Array) -> Array:
    """A direction near u whose condition the relaxed covariance X misses by more."""
    from scipy.optimize import minimize

    def missed(v: Array) -> tuple[float, Array]:
        size = float(v @ weight @ v)
        least, slope = _along(v, laws, ask)
        value = (float(v @ X @ v) - least) / size
        return value, (2 * X @ v - slope - 2 * value * (weight @ v)) / size

    done = minimize(missed, u, jac=True, method="BFGS", options={"maxiter": 15, "gtol": 1e-9})
    return _unit(done.x) if np.isfinite(done.x).all() and done.x.any() else u


def _tangents(laws: StandardPairs, ask: Divergences, at: Array) -> Iterator[tuple[Array, float]]:
    """<-G, S> >= D(at) - epsilon - <G, at> for both orders of every pair at every order alpha."""
    for d, A, B in zip(laws.shift, laws.first, laws.second, strict=True):
        for sign, p, q in ((1.0, A + at, B + at), (-1.0, B + at, A + at)):
            for alpha, epsilon in ask.orders:
                found = divergence(sign * d, p, q, float(alpha))
                if math.isfinite(found.value) and found.slope.any():
                    yield -found.slope, found.value - float(epsilon) * (1 + _SAFE) - float((found.slope * at).sum())


def _dual(cuts: list[tuple[Array, float]], floor: float, weight: Array) -> tuple[float, Array, Array]:
    """floor tr W + max sum y_i g_i over y >= 0 with sum y_i C_i <= W, g_i = c_i - floor tr C_i; the y; and the relaxed
    covariance. A barrier method: every iterate is feasible, so every value is a bound."""
    base = floor * float(np.trace(weight))
    gain = np.array([c - floor * float(np.trace(C)) for C, c in cuts])
    y = np.zeros(len(cuts))
    S = floor * np.eye(len(weight))
    used = np.flatnonzero(gain > 0)
    if not used.size:
        return base, y, S
    top = np.linalg.inv(np.linalg.cholesky(weight))
    C = np.array([top @ cuts[i][0] @ top.T for i in used])
    g = gain[used] / (unit := float(gain[used].max()))
    size = np.array([max(float(np.linalg.eigvalsh(c)[-1]), 1e-300) for c in C])
    C, g = C / size[:, None, None], g / size
    g = g / (scale := float(g.max()))
    z = np.full(len(used), 0.5 / len(used))
    eye = np.eye(len(weight))
    mu = 1.0
    for _ in range(_STEPS):
        M = np.linalg.inv(eye - np.tensordot(z, C, 1))
        MC = M @ C
        slope = g - mu * np.einsum("kii->k", MC) + mu / z
        H = mu * np.einsum("kij,lji->kl", MC, MC) + np.diag(mu / z**2)
        D = z / math.sqrt(mu)  # the unit of each variable in the barrier's own metric
        try:
            step = D * np.linalg.solve(H * np.outer(D, D), D * slope)
        except np.linalg.LinAlgError:  # as close as doubles come
            break
        a = 1.0
        while a > 1e-12 and not _inside(z + 1.01 * a * step, C, eye):
            a *= 0.7
        z = z + a * step
        if float(slope @ step) <= mu:
            if mu * (len(used) + len(weight)) <= _CLOSE * float(g @ z):
                break
            mu /= 6
    y[used] = z / size
    X = mu * np.linalg.inv(eye - np.tensordot(z, C, 1)) * (unit * scale)
    return base + float(g @ z) * unit * scale, y * gain.clip(0), S + top.T @ X @ top


def _inside(z: Array, C: Array, eye: Array) -> bool:
    if z.min() <= 0:
        return False
    try:
        np.linalg.cholesky(eye - np.tensordot(z, C, 1))
    except np.linalg.LinAlgError:
        return False
    return True
