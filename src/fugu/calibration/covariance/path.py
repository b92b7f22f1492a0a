"""The least S above given symmetric matrices: a primal-dual path-following method for one small semidefinite programme.

Primal: minimise r + b tr S subject to S >= A_k for all k and r >= S_jj + c_j (r and its rows only if asked for).
Dual: maximise sum <A_k, Z_k> + sum w_j c_j subject to Z_k >= 0, w >= 0, sum Z_k = b I + diag(w), sum w = 1.
Newton's method on X_k Z_k = s I with X_k = S - A_k (Helmberg, Rendl, Vanderbei, Wolkowicz 1996), Mehrotra's second
step. Both sides start feasible and stay so: every iterate brackets the least value. Needs A_k <= I for all k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.symmetric import Symmetric

Array = NDArray[np.float64]
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
