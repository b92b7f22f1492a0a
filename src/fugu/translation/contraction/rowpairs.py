"""Some pairs of rows of a large kernel, one loss alpha between all values: what passes, without sorting.

For u >= p and v <= p' entry by entry and q = e^-alpha, A(l) = {y : u(y) > l v(y)} and

    R(A) = (u(A) + q u(rest)) / (v(A) + q v(rest)),

l is a bound, p g <= l p' g for every g between q and 1, as soon as R(A(l)) <= l; and R(A) is at most the least such l,
whatever A is. So l = R(A(l)) again and again grows to the least bound, in a few steps (Dinkelbach 1967); it is a bound
once it no longer grows (docs/proofs/contraction.md#without-sorting).

Proofs: docs/proofs/contraction.md#without-sorting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.translation.contraction.frontier import Pairs
from fugu.translation.contraction.kernel import TINY, Array, U, outward

_AT_ONCE = 200_000
"""Entries (pair, y) that are looked at together."""
_STEPS = 60


def passed_pairs(kernel: Array, reach: NDArray[np.bool_], error: float, pairs: Pairs, alpha: float) -> Array:
    """Upper bounds on L(K_x, K_x'; alpha) for `pairs` (x, x'); at most alpha. `error`: relative, of the entries."""
    high, low = outward(kernel, reach, np.array(error))
    x, y = pairs
    some = max(1, _AT_ONCE // kernel.shape[-1])
    parts = [_grown(high[x[n : n + some]], low[y[n : n + some]], alpha) for n in range(0, len(x), some)]
    return np.concatenate([np.zeros(0), *parts])


def _grown(u: Array, v: Array, alpha: float) -> Array:
    k = u.shape[-1]
    with np.errstate(under="ignore"):
        q = float(np.exp(-alpha))
    above, below = q * (1 + 4 * U) + TINY, q * (1 - 4 * U)
    all_u, all_v = u.sum(-1), v.sum(-1)
    found, left = np.full(len(u), np.inf), np.arange(len(u))
    bound = np.maximum(all_u / np.where(all_v > 0, all_v, 1.0), 1.0)
    for _ in range(_STEPS):
        inside = u > bound[:, None] * v
        in_u, in_v = np.where(inside, u, 0.0).sum(-1), np.where(inside, v, 0.0).sum(-1)
        top = in_u + above * (np.maximum(all_u - in_u, 0) + k * U)
        bottom = in_v + below * np.maximum(all_v - in_v - k * U, 0)
        with np.errstate(divide="ignore", over="ignore"):
            ratio = np.where(inside.any(-1), top / bottom * (1 + 8 * U), 0.0)
        done = ratio <= bound
        found[left[done]] = bound[done]
        if done.all():
            break
        go = ~done
        u, v, all_u, all_v, left = u[go], v[go], all_u[go], all_v[go], left[go]
        bound = np.minimum(ratio[go], 1e300)
    raised = np.log(found)
    return np.asarray(np.minimum(raised + (2 * k + 16) * U + 4 * U * raised, alpha))


def variations(kernel: Array, reach: NDArray[np.bool_], error: float) -> Array:
    """(k, k) upper bounds on the total variation between rows x and x'."""
    high, low = outward(kernel, reach, np.array(error))
    size = len(kernel)
    found = np.stack([np.maximum(high[x] - low, 0.0).sum(-1) for x in range(size)])
    return np.asarray(np.minimum(found * (1 + (size + 8) * U), 1.0))


def by_variation(alpha: float, eta: Array) -> Array:
    """log(1 + (e^alpha - 1) eta), rounded up; at most alpha."""
    if alpha > 700:
        return np.full(eta.shape, alpha)
    return np.asarray(np.minimum(np.log1p(np.expm1(alpha) * eta) * (1 + 16 * U), alpha))
