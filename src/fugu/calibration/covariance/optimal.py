"""The Gaussian noise of least variance that hides all pairs of normal laws (docs: the optimal covariance)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.feasible import covariances_of, hides, pairs_of, positive, repaired
from fugu.calibration.covariance.path import follow
from fugu.errors import UnknownName, UsageError

Array = NDArray[np.float64]
_SECOND = 3e-7
"""With objective "max": the weight of the trace, which decides among covariances of equal largest variance."""


@dataclass(frozen=True)
class Found:
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
) -> Found:
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


def _found(S: Array, root: Array, objective: str, lower: float | None) -> Found:
    cost = np.diag(root @ S @ root)
    value = float(cost.sum() if objective == "trace" else cost.max())
    return Found(S, value, value if lower is None else min(lower, value))


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
