"""What protects without beliefs about the laws: differential privacy of a record, of k records, of bounded laws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.feasible import pairs_of, positive, up
from fugu.errors import UsageError
from fugu.numbers.exact import Real, as_fraction
from fugu.scenario.property_shares import records_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitivity:
    """How far the published vector moves, in l1 and in l2."""

    l1: float
    l2: float

    def laplace(self, epsilon: float) -> float:
        """The scale of independent Laplace noise for the pure level epsilon."""
        return self.l1 / positive(epsilon, "epsilon") * up(1)

    def gaussian(self, t: float) -> float:
        """The deviation of Gaussian noise at t = mu(epsilon, delta)."""
        return self.l2 / positive(t, "t, the largest admissible distance,") * up(1)


def dp(ranges: ArrayLike, size: int | None = None, means: ArrayLike | None = None) -> Sensitivity:
    """One record of `size`: coordinate j moves by its range, or by range / size where `means` says it is a mean.

    >>> found = dp([73, 15, 1, 1, 98], 100, [True, True, False, False, True])
    >>> round(found.l1, 6), round(found.l2, 10)
    (3.86, 1.8750466661)
    """
    return record_group(ranges, 1, size, means)


def group(ranges: ArrayLike, size: int, means: ArrayLike | None = None) -> Sensitivity:
    """All `size` records may change: sound whatever the two laws are, and as printed (Chen and Ohrimenko 2023)."""
    return record_group(ranges, size, size, means)


def record_group(ranges: ArrayLike, k: int, size: int | None = None, means: ArrayLike | None = None) -> Sensitivity:
    """k records may change: W_inf <= k x (range of a record), by a coupling that shares all other records.

    Sound if the number of records with the property is a fixed number under each law and the records of a class have
    the same law under both; k is then `records_moved`. With random numbers of records (binomial) it is false."""
    r = np.asarray(ranges, dtype=np.float64)
    if r.ndim != 1 or not np.isfinite(r).all() or (r < 0).any():
        raise UsageError("ranges must be one finite number for each coordinate, none negative")
    if k < 0 or (size is not None and not 1 <= size >= k):
        raise UsageError("k, the number of records that may change, must be between 0 and the number of records")
    mask = np.zeros(len(r), dtype=bool) if means is None else np.asarray(means, dtype=bool)
    if mask.shape != r.shape or (mask.any() and size is None):
        raise UsageError(f"means must say for each of {len(r)} coordinates whether it is a mean over `size` records")
    moves = np.where(mask, r / (size or 1), r) * k
    return Sensitivity(float(moves.sum()) * up(len(r)), float(np.sqrt((moves * moves).sum())) * up(len(r)))


def records_moved(size: int, shares: Iterable[tuple[Real, Real]]) -> int:
    """max |floor(n p + 1/2) - floor(n q + 1/2)| over pairs of shares (p, q): the records that the coupling swaps.

    Shares are the decimals they are written as, and halves go up, as in `Scenario.from_property`. Not monotone in
    |p - q|, so the maximum is over the pairs themselves.

    >>> records_moved(100, [(0.45, 0.55)]), records_moved(10, [(0.25, 0.35)])
    (10, 1)
    """
    return max((abs(records_of(size, as_fraction(p)) - records_of(size, as_fraction(q))) for p, q in shares), default=0)


def bounded(centres: ArrayLike, radii: ArrayLike, pairs: Iterable[tuple[int, int]], radius_norm: int = 1) -> float:
    """W = max |E_i - E_j| + c_i + c_j: the laws are (W, delta)-close if each P(|F - E_i| <= c_i) >= 1 - delta.

    Chen and Ohrimenko 2023, Proposition 4.1, asks for 1 - delta/2 and spends 2 max c; the coupling
    (1 - delta) P|ball x Q|ball has marginals below both laws, so 1 - delta is enough, with any centres. A Laplace
    scale W / eps (norm 1), or a deviation W / t (norm 2), then gives (eps, delta + the delta of the noise)."""
    E = pairs_of(centres)
    c = np.asarray(radii, dtype=np.float64)
    if c.shape != (len(E),) or not np.isfinite(c).all() or (c < 0).any():
        raise UsageError(f"radii must be {len(E)} finite numbers, none negative: one for each centre")
    if radius_norm not in (1, 2):
        raise UsageError("radius_norm must be 1 (Laplace noise) or 2 (Gaussian noise)")
    found = [float(np.linalg.norm(E[i] - E[j], radius_norm) + c[i] + c[j]) for i, j in pairs]
    return max(found, default=0.0) * up(E.shape[1])
