"""Paper 001: mixtures with three normal components, fitted to counts without any package for it.

Expectation maximisation from the best split into clusters (in one dimension that is found, not guessed), so a fit is
the same wherever it is made. A fit is a belief: the guarantee is for it, not for the values behind it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UsageError
from fugu.laws import NormalMixture
from fugu.laws.normal import least_std

Floats = NDArray[np.float64]
_PARTS, _ROUNDS, _GROUPS = 10**12, 10_000, 1_000
GAIN = 1e-3
"""Stop once a round adds less than this to the mean log likelihood: the usual choice, that of scikit-learn."""


def fit(values: ArrayLike, counts: ArrayLike, components: int = 3, gain: float = GAIN) -> NormalMixture:
    """The mixture of at most that many components; `values` that occur `counts` times. Small `gain`: to the end.

    >>> law = fit([0, 1, 2, 10, 11, 12, 20, 21, 22], [1, 2, 1] * 3)
    >>> [round(mean, 6) for mean in law.means], [round(std, 6) for std in law.stds]
    ([1.0, 11.0, 21.0], [0.707107, 0.707107, 0.707107])
    """
    x, n = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if x.size == 0 or x.shape != n.shape or not np.all(np.isfinite(x)) or not np.all(n > 0):
        raise UsageError("a mixture is fitted to finite values with a positive count each")
    order = np.argsort(x, kind="stable")
    x, share = x[order], n[order] / n.sum()
    spread = float(share @ (x - share @ x) ** 2)
    floor = max(least_std(x) ** 2, 1e-6 * spread) if x.size > 1 else 0.0
    belongs = np.zeros((min(components, x.size), x.size))
    for k, (start, end) in enumerate(clusters(x, share, len(belongs))):
        belongs[k, start:end] = 1.0
    weights, means, variances = _moments(x, share, belongs, floor)
    before = -math.inf
    for _ in range(_ROUNDS if floor else 0):
        z = (x - means[:, None]) ** 2 / variances[:, None]
        logs = np.log(weights)[:, None] - 0.5 * (z + np.log(2 * math.pi * variances)[:, None])
        top = logs.max(axis=0)
        total = top + np.log(np.exp(logs - top).sum(axis=0))
        now = float(share @ total)
        weights, means, variances = _moments(x, share, np.exp(logs - total), floor)
        if abs(now - before) < gain:
            break
        before = now
    stated = [float(f"{value:.12g}") for value in (*means, *np.sqrt(variances))]
    parts = np.maximum(1, np.rint(weights * _PARTS)).astype(np.int64).tolist()
    return NormalMixture(parts, stated[: len(parts)], stated[len(parts) :])


def _moments(x: Floats, share: Floats, belongs: Floats, floor: float) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and variance of every component, given how much of each value belongs to it."""
    parts = belongs * share
    weights = np.maximum(parts.sum(axis=1), 1e-300)
    means = parts @ x / weights
    variances = (parts * (x - means[:, None]) ** 2).sum(axis=1) / weights
    return weights / weights.sum(), means, np.maximum(variances, floor)


def clusters(x: Floats, share: Floats, count: int) -> list[tuple[int, int]]:
    """The split of sorted values into `count` runs of least variance within, exactly, as (start, end) of each.

    Beyond a thousand values neighbours are first put together: it is a start, nothing rests on it.

    >>> clusters(np.array([0.0, 1, 10, 11, 30]), np.full(5, 0.2), 3)
    [(0, 2), (2, 4), (4, 5)]
    """
    edges = np.unique(np.linspace(0, x.size, min(x.size, _GROUPS) + 1).astype(int))
    size = len(edges) - 1
    mass, first, second = (np.concatenate([[0.0], np.cumsum(share * x**k)])[edges] for k in range(3))
    cost = np.full((size + 1, size + 1), math.inf)  # [start, end]
    for end in range(1, size + 1):
        m, f, s = (total[end] - total[:end] for total in (mass, first, second))
        cost[:end, end] = s - f * f / m
    best, cuts = cost[0].copy(), []
    for _ in range(count - 1):
        table = best[:, None] + cost
        cuts.append(table.argmin(axis=0))
        best = table.min(axis=0)
    ends = [size]
    for cut in reversed(cuts):
        ends.append(int(cut[ends[-1]]))
    return [(int(edges[a]), int(edges[b])) for a, b in zip([0, *ends[:0:-1]], ends[::-1], strict=True)]
