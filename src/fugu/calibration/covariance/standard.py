"""Pairs of normal laws in units of their own: each statistic divided by its deviation under the beliefs.

A count and a mean age have no common unit, so a floor, a trace or a length in the units of the values would let the
largest numbers rule. With the public diagonal D_j = root of the mean variance of statistic j over all laws, S is sought
as D S' D: d'(V + S)^-1 d and every divergence are the same for (D^-1 d, D^-1 V D^-1, S'). Multiplying a statistic by a
constant multiplies D_j by it, and leaves the problem for S' as it was: docs/proofs/normal-vectors.md#7-units.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.laws.multinormal import NormalPair

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Laws:
    """Pairs N(shift_k, first_k) against N(0, second_k), in units of `unit`; pairs of equal laws are left out."""

    unit: Array
    shift: Array
    first: Array
    second: Array

    @staticmethod
    def of(pairs: Iterable[NormalPair]) -> Laws:
        """The pairs in the units of `units_of`; one pair of equal laws is kept where there is no other."""
        listed = tuple(pairs)
        D = units_of(listed)
        kept = [pair for pair in listed if not pair.same] or list(listed[:1])
        scale = np.outer(D, D)
        return Laws(
            D,
            np.array([[float(x) for x in pair.difference] for pair in kept]) / D,
            np.array([pair.p.cov_array for pair in kept]) / scale,
            np.array([pair.q.cov_array for pair in kept]) / scale,
        )

    def __len__(self) -> int:
        return len(self.shift)

    @property
    def dimension(self) -> int:
        """The number of statistics."""
        return len(self.unit)

    @property
    def middle(self) -> Array:
        """The mean of the two covariances of each pair."""
        return np.asarray((self.first + self.second) / 2)

    @property
    def alike(self) -> bool:
        """Whether the two covariances of every pair are equal."""
        return bool((self.first == self.second).all())

    def raw(self, S: Array) -> Array:
        """A covariance in the units of the values."""
        return np.asarray(S * np.outer(self.unit, self.unit))

    def own(self, S: Array) -> Array:
        """A covariance of the values in these units."""
        return np.asarray(S / np.outer(self.unit, self.unit))

    def only(self, which: list[int]) -> Laws:
        """Some of the pairs, in the same units."""
        return Laws(self.unit, self.shift[which], self.first[which], self.second[which])


def units_of(pairs: Iterable[NormalPair]) -> Array:
    """D_j: the root of the mean variance of statistic j over all laws; where no law varies, the largest difference of
    its means, and 1 where that is 0 too.

    >>> from fugu.laws.multinormal import MultivariateNormal
    >>> law = MultivariateNormal([0, 0], [[9, 1], [1, 0.25]])
    >>> units_of([NormalPair(law, law, "one")]).tolist()
    [3.0, 0.5]
    """
    listed = tuple(pairs)
    variances = np.array([np.diag(law.cov_array) for pair in listed for law in (pair.p, pair.q)])
    D = np.sqrt(variances.mean(axis=0))
    apart = np.abs([pair.p.mean_array - pair.q.mean_array for pair in listed]).max(axis=0)
    return np.asarray(np.where(D > 0, D, np.where(apart > 0, apart, 1.0)))
