"""What statistics of n published rows are worth: the law of a sample quantile and of a sample histogram, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fugu.utility.joint import Floats, Law

_DISTINCT, _CELLS = 20, 10


@dataclass(frozen=True)
class Estimate:
    """How far a statistic of so many rows lies from what the beliefs say: of `published` rows, and of `exact` ones."""

    what: str
    published: float
    exact: float


def quantile(level: float, rows: int, value: Law, published: Law) -> Estimate:
    """The root mean square distance of the ceil(level n)-th smallest of n rows from the quantile of the beliefs.

    P(Y_(k) <= y) = P(Bin(n, F(y)) >= k) for n independent rows with P(Y <= y) = F(y)."""
    true, name = value.quantile(level), "median" if level == 0.5 else f"{100 * level:g} % quantile"
    k = max(1, math.ceil(level * rows - 1e-9))
    return Estimate(name, _rms_of_rank(published, k, rows, true), _rms_of_rank(value, k, rows, true))


def _rms_of_rank(law: Law, k: int, rows: int, true: float) -> float:
    below = at_least(k, rows, np.minimum(np.cumsum(law.shares), 1.0))
    masses = np.diff(below, prepend=0.0)
    masses[-1] += 1 - below[-1]
    return math.sqrt(float(np.maximum(masses, 0.0) @ (law.points - true) ** 2))


def histogram(rows: int, value: Law, published: Law) -> Estimate:
    """The expected share of n rows that stands in a wrong cell: half the sum over cells of E|B/n - p|, with B the count
    of a cell, binomial of the chance that a row is published there, and p the share that the beliefs give it."""
    there = value.points[value.shares > 0]
    if len(there) <= _DISTINCT:
        edges = (there[1:] + there[:-1]) / 2
    else:
        edges = np.linspace(there[0], there[-1], _CELLS + 1)[1:-1]
    true = in_cells(value, edges)
    found = in_cells(published, edges)
    name = f"histogram of {len(true)} cells"
    return Estimate(name, wrong_share(rows, found, true), wrong_share(rows, true, true))


def in_cells(law: Law, edges: Floats) -> Floats:
    """The chance of each cell between the edges; the first and the last are open."""
    cell = np.searchsorted(edges, law.points, side="right")
    return np.asarray(np.bincount(cell, weights=law.shares, minlength=len(edges) + 1), dtype=np.float64)


def wrong_share(rows: int, chances: Floats, true: Floats) -> float:
    """sum over cells of E|B/n - p| / 2, B ~ Bin(n, chance).

    E|B - a| = 2 E(B - a)+ - (n r - a) and E[B; B >= k] = n r P(Bin(n - 1, r) >= k - 1).

    >>> round(wrong_share(1, np.array([0.5, 0.5]), np.array([0.5, 0.5])), 12)
    0.5
    """
    a = rows * true
    k = np.floor(a * (1 + 1e-15)).astype(np.int64) + 1
    above = rows * chances * at_least(k - 1, rows - 1, chances) - a * at_least(k, rows, chances)
    return float(np.maximum(2 * above - (rows * chances - a), 0.0).sum() / (2 * rows))


def at_least(k: int | np.ndarray[tuple[int, ...], np.dtype[np.int64]], rows: int, chances: Floats) -> Floats:
    """P(Bin(n, r) >= k), by the incomplete beta function."""
    from scipy.special import betainc

    k = np.asarray(k)
    inside = betainc(np.clip(k, 1, max(rows, 1)), np.maximum(rows - k + 1, 1), np.clip(chances, 0.0, 1.0))
    return np.asarray(np.where(k <= 0, 1.0, np.where(k > rows, 0.0, inside)))
