"""The Gaussian noise of least variance that hides all pairs of normal laws, by a path-following method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.feasible import covariances_of, hides, pairs_of, positive, repaired
from fugu.calibration.covariance.slope import Symmetric
from fugu.errors import UnknownName, UsageError

# The Gaussian noise of least variance that hides all pairs of normal laws (docs: the optimal covariance).


Array = NDArray[np.float64]
_SECOND = 3e-7
"""With objective "max": the weight of the trace, which decides among covariances of equal largest variance."""


@dataclass(frozen=True)
class LeastCovariance:
    """A covariance that hides every pair, what it costs, and what no other covariance goes below.

    `value` is tr(W S), or the largest diagonal entry of W^1/2 S W^1/2. `lower_bound` comes from a feasible point of
    the dual programme, in doubles: it measures the quality of the answer, not its soundness."""

    covariance: Array
    value: float
    lower_bound: float


def optimal_covariance(
    differences: ArrayLike,
    covariances: ArrayLike,
    t: float,
    weight: ArrayLike | None = None,
    floor: float = 0.0,
    objective: Literal["trace", "max"] = "trace",
) -> LeastCovariance:
    """The least S >= floor I with d'(Sigma + S)^-1 d <= t^2 for every pair (d, Sigma).

    N(a, Sigma + S) and N(b, Sigma + S) with a - b = d satisfy HS_eps <= delta in both orders iff the distance is at
    most t = mu(eps, delta) (Balle and Wang 2018). By Schur's complement this is S >= d d'/t^2 - Sigma, so the least
    S solves a semidefinite programme; for one pair it is (d d'/t^2 - Sigma)_+ , of rank one. Objective "trace": the
    mean squared error tr(W S); "max": the largest variance of a coordinate (of W^1/2 noise).

    >>> found = optimal_covariance([[1, 1], [1, -1], [0, 1.5]], [[4, 1], [1, 3]], 0.3)
    >>> round(found.value, 6), bool(found.lower_bound <= found.value)
    (38.0, True)
    """
    D = pairs_of(differences)
    C = covariances_of(covariances, D.shape)
    t = positive(t, "t, the largest admissible distance,")
    if objective not in ("trace", "max"):
        raise UnknownName("objective", objective, ("trace", "max"))
    if not (np.isfinite(floor) and floor >= 0):
        raise UsageError("floor, the least variance in any direction, must be finite and not negative")
    d = D.shape[1]
    root, back = roots(weight, d)
    base = np.array(floor * np.eye(d))
    if hides(D, C, base, t):
        return _found(base, root, objective, None)
    needed = _needed(D, C, floor, t)
    E = D[needed] @ root / t
    G = root @ (C[needed] + base) @ root  # S = floor I + T with T >= 0: the floor becomes part of every covariance
    offsets = floor * np.diag(root @ root) if objective == "max" else None
    T, lower = _single(E[0], G[0]) if len(E) == 1 and offsets is None else _several(E, G, offsets)
    S = repaired(D, C, np.asarray(base + back @ T @ back), t)
    return _found(S, root, objective, lower + (floor * float(np.sum(root**2)) if offsets is None else 0.0))


def _found(S: Array, root: Array, objective: str, lower: float | None) -> LeastCovariance:
    cost = np.diag(root @ S @ root)
    value = float(cost.sum() if objective == "trace" else cost.max())
    return LeastCovariance(S, value, value if lower is None else min(lower, value))


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


def _single(d: Array, C: Array) -> tuple[Array, float]:
    """One pair: tr T >= tr(P T P) >= tr(P A P) = tr A_+ for the projection P on the positive part of A."""
    value, u = secular_root(d, C)
    return value * np.outer(u, u), value


def _several(E: Array, G: Array, offsets: Array | None) -> tuple[Array, float]:
    """Several pairs: the programme, in units of the largest d d' - Sigma."""
    d = E.shape[1]
    A = E[:, :, None] * E[:, None, :] - G
    unit = max(float(np.linalg.eigvalsh(A).max()), 1e-300)
    A = np.concatenate([np.zeros((1, d, d)), A / unit])
    if offsets is None:
        done = follow(A)
        return done.covariance * unit, done.lower * unit
    done = follow(A, _SECOND / d, offsets / unit)
    # r + b tr T <= r (1 + b d) for every feasible T, since T_jj <= r: the bound for r alone
    return done.covariance * unit, done.lower * unit / (1 + _SECOND)


# The least S above given symmetric matrices: a primal-dual path-following method for one small semidefinite programme.
#
# Primal: minimise r + b tr S subject to S >= A_k for all k and r >= S_jj + c_j (r and its rows only if asked for).
# Dual: maximise sum <A_k, Z_k> + sum w_j c_j subject to Z_k >= 0, w >= 0, sum Z_k = b I + diag(w), sum w = 1.
# Newton's method on X_k Z_k = s I with X_k = S - A_k (Helmberg, Rendl, Vanderbei, Wolkowicz 1996), Mehrotra's second
# step. Both sides start feasible and stay so: every iterate brackets the least value. Needs A_k <= I for all k.


_STEPS = 60
_CLOSE = 1e-9
_BEYOND = 1.01
_LEAST = 1e-6


@dataclass(frozen=True)
class Bracket:
    """A feasible S, and a value that no feasible S goes below (up to the rounding of one sum)."""

    covariance: Array
    lower: float


def follow(A: Array, spread: float = 1.0, offsets: Array | None = None) -> Bracket:
    """Minimise spread * tr S (offsets None), or r + spread * tr S with r >= S_jj + offsets_j, over S >= every A_k."""
    k, d, _ = A.shape
    basis, eye = Symmetric(d), np.eye(d)
    capped = offsets is not None
    c = np.zeros(d) if offsets is None else offsets
    S = 1.5 * eye
    w = np.full(d, 1.0 / d if capped else 0.0)
    Z = np.broadcast_to((spread * eye + np.diag(w)) / k, A.shape).copy()
    r = float(np.diag(S).max() + c.max()) + 1.0 if capped else 0.0
    for _ in range(_STEPS):
        X = S - A
        x = r - np.diag(S) - c if capped else np.ones(d)
        gap = float((X * Z).sum() + x @ w)
        value = spread * float(np.trace(S)) + r
        if gap <= (_CLOSE / 10 if capped else _CLOSE) * abs(value):
            break
        try:
            moved = _step(basis, (S, r, X, Z, x, w), gap / (k * d + (d if capped else 0)), spread, capped)
        except np.linalg.LinAlgError:  # as close as doubles come
            break
        if moved is None:
            break
        S, r, Z, w = moved
    return Bracket(S, _dual_value(A, Z, w, c, spread))


def _dual_value(A: Array, Z: Array, w: Array, c: Array, spread: float) -> float:
    """The dual objective after Z_k -> F Z_k F', which stays >= 0 and sums to b I + diag(w) whatever rounding did."""
    w = w / w.sum() if w.any() else w
    values, Q = np.linalg.eigh(Z.sum(axis=0))
    F = np.sqrt(spread + w)[:, None] * ((Q / np.sqrt(values)) @ Q.T)
    return float(np.einsum("kij,kij->", A, F @ Z @ F.T) + w @ c)


def _step(basis: Symmetric, state: Any, mu: float, spread: float, capped: bool) -> Any:
    """One predictor and one corrector step; None if no progress is possible."""
    from scipy.linalg import cho_factor, cho_solve

    S, r, X, Z, x, w = state
    P = np.linalg.inv(X)
    P = (P + np.swapaxes(P, 1, 2)) / 2
    H = basis.schur(P, Z)
    on, q = basis.diagonal, w / x
    if capped:
        H[on, on] += q
    factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    if capped:
        border = np.zeros(len(basis.c))
        border[on] = q
        reply = cho_solve(factor, border, check_finite=False)
        pivot = q.sum() - border @ reply

    def solve(target: float, second: Array | None, flat: Array) -> Any:
        """The direction towards X Z = target I; `second` and `flat` hold the second-order terms."""
        aim = target * P if second is None else target * P - second
        side = aim.sum(axis=0) - spread * np.eye(basis.d)
        goal = (target - flat) / x if capped else np.zeros(basis.d)
        v = basis.vector(side - np.diag(goal) if capped else side)
        dr = 0.0
        ds = cho_solve(factor, v, check_finite=False)
        if capped:
            dr = (goal.sum() - 1 + border @ ds) / pivot
            ds = ds + dr * reply
        dS = basis.matrix(ds)
        turn = P @ dS @ Z
        dZ = aim - Z - (turn + np.swapaxes(turn, 1, 2)) / 2
        dx = dr - np.diag(dS) if capped else np.zeros(basis.d)
        dw = goal - w - q * dx if capped else np.zeros(basis.d)
        return dS, dr, dZ, dx, dw

    dS, dr, dZ, dx, dw = solve(0.0, None, np.zeros(basis.d))
    a, b = _room(X, dS, x, dx, 0.8), _room(Z, dZ, w, dw, 0.8)
    left = float(((X + a * dS) * (Z + b * dZ)).sum() + ((x + a * dx) @ (w + b * dw) if capped else 0.0))
    share = left / (float((X * Z).sum()) + (float(x @ w) if capped else 0.0))
    turn = P @ dS @ dZ
    dS, dr, dZ, dx, dw = solve(min(1.0, share**2 + 1e-4) * mu, (turn + np.swapaxes(turn, 1, 2)) / 2, dx * dw)
    a, b = _room(X, dS, x, dx, 0.93), _room(Z, dZ, w, dw, 0.93)
    if max(a, b) < _LEAST:
        return None
    return S + a * dS, r + a * dr, Z + b * dZ, w + b * dw


def _room(whole: Array, change: Array, line: Array, along: Array, ladder: float) -> float:
    """A step of at most 1 that keeps a margin: a little further, whole + step * change still has a Cholesky root."""
    step = 1.0
    if along.any():
        least = float((along / line).min())
        step = step if least * _BEYOND >= -1 else -1 / (least * _BEYOND)
    while step > _LEAST:
        try:
            np.linalg.cholesky(whole + (step * _BEYOND) * change)
        except np.linalg.LinAlgError:
            step *= ladder
        else:
            break
    return step
