"""The Gaussian noise of least variance that hides all pairs of normal laws, and what no Gaussian noise goes below."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.directions import covariances_of, hides, pairs_of, positive, repaired
from fugu.calibration.covariance.slope import StandardPairs, Symmetric, divergence
from fugu.errors import UsageError
from fugu.guarantee.asks import Ask, Divergences
from fugu.loss.densities import normal_hockey_stick

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LeastCovariance:
    """A covariance that hides every pair, what it costs, and what no other covariance goes below.

    `value` is tr(W S). `lower_bound` comes from a feasible point of
    the dual programme, in doubles: it measures the quality of the answer, not its soundness."""

    covariance: Array
    value: float
    lower_bound: float


def optimal_covariance(
    differences: ArrayLike, covariances: ArrayLike, t: float, weight: ArrayLike | None = None, floor: float = 0.0
) -> LeastCovariance:
    """The least S >= floor I with d'(Sigma + S)^-1 d <= t^2 for every pair (d, Sigma).

    N(a, Sigma + S) and N(b, Sigma + S) with a - b = d satisfy HS_eps <= delta in both orders iff the distance is at
    most t = mu(eps, delta) (Balle and Wang 2018). By Schur's complement this is S >= d d'/t^2 - Sigma, so the least
    S solves a semidefinite programme; for one pair it is (d d'/t^2 - Sigma)_+ , of rank one. Least is the mean squared
    error tr(W S).

    >>> found = optimal_covariance([[1, 1], [1, -1], [0, 1.5]], [[4, 1], [1, 3]], 0.3)
    >>> round(found.value, 6), bool(found.lower_bound <= found.value)
    (38.0, True)
    """
    D = pairs_of(differences)
    C = covariances_of(covariances, D.shape)
    t = positive(t, "t, the largest admissible distance,")
    if not (np.isfinite(floor) and floor >= 0):
        raise UsageError("floor, the least variance in any direction, must be finite and not negative")
    d = D.shape[1]
    root, back = roots(weight, d)
    base = np.array(floor * np.eye(d))
    if hides(D, C, base, t):
        value = float(np.diag(root @ base @ root).sum())
        return LeastCovariance(base, value, value)
    needed = _needed(D, C, floor, t)
    E = D[needed] @ root / t
    G = root @ (C[needed] + base) @ root  # S = floor I + T with T >= 0: the floor becomes part of every covariance
    if len(E) == 1:  # tr T >= tr(P T P) >= tr(P A P) = tr A_+ for the projection P on the positive part of A
        lower, u = secular_root(E[0], G[0])
        T = lower * np.outer(u, u)
    else:  # in units of the largest d d' - Sigma
        A = E[:, :, None] * E[:, None, :] - G
        unit = max(float(np.linalg.eigvalsh(A).max()), 1e-300)
        T, lower = follow(np.concatenate([np.zeros((1, d, d)), A / unit]))
        T, lower = T * unit, lower * unit
    S = repaired(D, C, np.asarray(base + back @ T @ back), t)
    value = float(np.diag(root @ S @ root).sum())
    return LeastCovariance(S, value, min(lower + floor * float(np.sum(root**2)), value))


def roots(weight: ArrayLike | None, d: int) -> tuple[Array, Array]:
    """W^1/2 and W^-1/2; S -> W^1/2 S W^1/2 turns tr(W S) into a trace."""
    if weight is None:
        return np.eye(d), np.eye(d)
    W = np.asarray(weight, dtype=np.float64)
    W = np.diag(W) if W.ndim == 1 else W
    if W.shape != (d, d) or not np.isfinite(W).all() or not (W.T == W).all():
        raise UsageError(f"weight must be {d} numbers, or a symmetric {d} x {d} matrix")
    values, vectors = np.linalg.eigh(W)
    if values[0] <= 1e-12 * values[-1]:
        raise UsageError("weight must be positive definite: an error that costs nothing would grow without bound")
    return (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T


def _needed(D: Array, C: Array, floor: float, t: float) -> NDArray[np.intp]:
    """Pairs left after those implied by another: the floor alone hides d (|d|^2 <= floor t^2), or one with the same
    covariance has a parallel difference that is at least as long (c^2 d d' <= d d' for |c| <= 1).

    Leaving pairs out only lowers the lower bound, and the repair checks all pairs, so a slip here costs no privacy."""
    length = np.sqrt((D * D).sum(axis=1))
    kept = [int(k) for k in np.argsort(-length, kind="stable") if length[k] ** 2 > floor * t * t]
    unit = D[kept] / length[kept, None]
    parallel = np.argwhere(np.triu(np.abs(unit @ unit.T) >= 1 - 1e-15, 1))
    implied = {kept[b] for a, b in parallel if (C[kept[a]] == C[kept[b]]).all()}
    return np.array([k for k in kept if k not in implied], dtype=np.intp)


def secular_root(d: Array, C: Array) -> tuple[float, Array]:
    """The only positive eigenvalue of d d' - Sigma, and its unit vector; (0, 0) if there is none.

    It is the root of d'(Sigma + x I)^-1 d = 1, with the vector along (Sigma + x I)^-1 d. The inverse of the left side
    is concave and increasing in x, so Newton's steps from below never pass the root. They start at the lower bound
    that an eigendecomposition gives, less its rounding."""
    s, Q = np.linalg.eigh(C)
    slip = 8 * len(d) * float(np.finfo(float).eps) * float(np.abs(s).max())
    x = max(0.0, float(((Q.T @ d) ** 2 - np.maximum(s, 0.0)).max()) - slip)
    y = np.zeros(len(d))
    for _ in range(100):
        y = _solved(C + x * np.eye(len(d)), d)
        total = float(d @ y)
        if 0 <= total <= 1:
            break
        step = (1 - 1 / total) * total**2 / float(y @ y) if total > 0 else slip  # < 0: not told from singular
        if x + step == x:
            break
        x += step
    return (x, np.asarray(y / np.sqrt(y @ y))) if x > 0 else (0.0, np.zeros(len(d)))


def _solved(M: Array, d: Array) -> Array:
    """M^-1 d, each coordinate in its own unit, so that coordinates of very different sizes do no harm."""
    r = 1 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    try:
        return np.asarray(r * np.linalg.solve(M * r[:, None] * r[None, :], r * d))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(M) @ d)


# The least S above given symmetric matrices: a primal-dual path-following method for one small semidefinite programme.
#
# Primal: minimise tr S subject to S >= A_k for all k. Dual: maximise sum <A_k, Z_k> subject to Z_k >= 0, sum Z_k = I.
# Newton's method on X_k Z_k = s I with X_k = S - A_k (Helmberg, Rendl, Vanderbei, Wolkowicz 1996), Mehrotra's second
# step. Both sides start feasible and stay so: every iterate brackets the least value. Needs A_k <= I for all k.


_STEPS = 60
_CLOSE = 1e-9
_BEYOND = 1.01
_LEAST = 1e-6


def follow(A: Array) -> tuple[Array, float]:
    """A feasible S of nearly least trace, and a value that no feasible S goes below (up to the rounding of one sum)."""
    k, d, _ = A.shape
    basis, eye = Symmetric(d), np.eye(d)
    S = 1.5 * eye
    Z = np.broadcast_to(eye / k, A.shape).copy()
    for _ in range(_STEPS):
        X = S - A
        gap = float((X * Z).sum())
        if gap <= _CLOSE * abs(float(np.trace(S))):
            break
        try:
            moved = _step(basis, S, X, Z, gap / (k * d))
        except np.linalg.LinAlgError:  # as close as doubles come
            break
        if moved is None:
            break
        S, Z = moved
    # the dual objective after Z_k -> F Z_k F', which stays >= 0 and sums to I whatever rounding did
    values, Q = np.linalg.eigh(Z.sum(axis=0))
    F = (Q / np.sqrt(values)) @ Q.T
    return S, float(np.einsum("kij,kij->", A, F @ Z @ F.T))


def _step(basis: Symmetric, S: Array, X: Array, Z: Array, mu: float) -> tuple[Array, Array] | None:
    """One predictor and one corrector step; None if no progress is possible."""
    from scipy.linalg import cho_factor, cho_solve

    P = np.linalg.inv(X)
    P = (P + np.swapaxes(P, 1, 2)) / 2
    factor = cho_factor(basis.schur(P, Z), lower=True, overwrite_a=True, check_finite=False)

    def solve(aim: Array) -> tuple[Array, Array]:
        """The direction towards X Z = target I; `aim` holds the second-order terms."""
        side = aim.sum(axis=0) - np.eye(basis.d)
        dS = basis.matrix(cho_solve(factor, basis.vector(side), check_finite=False))
        turn = P @ dS @ Z
        return dS, aim - Z - (turn + np.swapaxes(turn, 1, 2)) / 2

    dS, dZ = solve(0.0 * P)
    a, b = _room(X, dS, 0.8), _room(Z, dZ, 0.8)
    share = float(((X + a * dS) * (Z + b * dZ)).sum()) / float((X * Z).sum())
    turn = P @ dS @ dZ
    dS, dZ = solve(min(1.0, share**2 + 1e-4) * mu * P - (turn + np.swapaxes(turn, 1, 2)) / 2)
    a, b = _room(X, dS, 0.93), _room(Z, dZ, 0.93)
    return None if max(a, b) < _LEAST else (S + a * dS, Z + b * dZ)


def _room(whole: Array, change: Array, ladder: float) -> float:
    """A step of at most 1 that keeps a margin: a little further, whole + step * change still has a Cholesky root."""
    step = 1.0
    while step > _LEAST:
        try:
            np.linalg.cholesky(whole + (step * _BEYOND) * change)
        except np.linalg.LinAlgError:
            step *= ladder
        else:
            break
    return step


# What no Gaussian noise goes below: a lower bound on tr(W S) over every S >= floor I that hides the pairs.
#
# Necessary conditions that are linear in S, <C_i, S> >= c_i with C_i >= 0, and the dual of the programme they make
# (docs/proofs/normal-vectors.md#8-no-gaussian-noise-goes-below):
#
#     tr(W S) >= floor tr W + sum_i y_i (c_i - floor tr C_i)   for all y >= 0 with sum_i y_i C_i <= W.
#
# 1. A line: u'X is a post-processing of X, and the loss of N(u'd, u'Au + s) against N(0, u'Bu + s) falls in s, so
#    u'S u >= s_u, the least s that meets the budget. C = u u'.
# 2. A tangent, for Renyi budgets: D_alpha is convex in S, so D(S_0) + <G, S - S_0> <= epsilon. C = -G.
#
# In doubles: it measures the quality of an answer, not its soundness.


_ROUNDS = 3
_KEPT = 3
_DUAL_STEPS = 80
_DUAL_CLOSE = 1e-7
_SAFE = 1e-9
_BINDING = 0.8


def least_trace(
    laws: StandardPairs, ask: Ask, floor: float, weight: Array, at: Array, losses: Sequence[float]
) -> float:
    """A number that tr(weight S) is not below for any S >= floor I that meets the budget, in standardised units.

    `at`: the best S that is known; directions and tangents are taken there, and directions are then improved.
    `losses`: those of the pairs there (`descent.excesses`)."""
    if isinstance(ask, Divergences):
        return _dual(list(_tangents(laws, ask, at)), floor, weight)[0]
    laws = laws.only([k for k, loss in enumerate(losses) if loss >= _BINDING * max(losses)])  # others only lower it
    lines = [u for u in _directions(laws, at) if u.any()]
    cuts = [(np.outer(u, u), threshold(u, laws, ask)[0]) for u in lines]
    best, y, X = _dual(cuts, floor, weight)
    for _ in range(_ROUNDS):
        more = [_improved(lines[i], X, laws, ask, weight) for i in np.argsort(-y)[:_KEPT]]
        lines += more
        cuts += [(np.outer(u, u), threshold(u, laws, ask)[0]) for u in more]
        value, y, X = _dual(cuts, floor, weight)
        if value <= best * (1 + 1e-4):
            return max(best, value)
        best = value
    return best


def threshold(u: Array, laws: StandardPairs, ask: Ask) -> tuple[float, Array]:
    """A lower bound on the variance of noise along u that hides every pair there, just below the least that does; and
    how it changes with u: loss(u'd, u'Au + s, u'Bu + s) stays what it is."""
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
        rates = []  # how the loss changes with each of its three arguments
        for i, step in enumerate(steps):
            up, down = ([y + h * (k == i) for k, y in enumerate(at)] for h in (step, -step))
            rise = _loss(up[0], up[1], up[2], epsilon) - _loss(down[0], down[1], down[2], epsilon)
            rates.append(rise / (2 * step))
        fall = rates[1] + rates[2]
        slope = -(rates[0] * d + 2 * rates[1] * (A @ u) + 2 * rates[2] * (B @ u)) / fall if fall < 0 else 0.0 * u
    return found, slope


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
        least, slope = threshold(v, laws, ask)
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
    for _ in range(_DUAL_STEPS):
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
            if mu * (len(used) + len(weight)) <= _DUAL_CLOSE * float(g @ z):
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
