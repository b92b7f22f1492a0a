"""What Laplace and Gaussian noise share on laws of one record's cell: independent noise in every count."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.cells import CellFamily, Counts
from fugu.loss.cells.threshold import hockey_stick, worth
from fugu.loss.leakage import Leakage, PairLoss
from fugu.noise import Gaussian, Laplace
from fugu.numbers.exact import Real, as_fraction

OnLattice = TypeVar("OnLattice", Laplace, Gaussian)
OneOrder = Callable[[Counts, Counts], float]
NO_ORDERS = "Rényi divergences of histograms are not proved; give fugu.Pure or fugu.Approx"


class Cells(Leakage[CellFamily, OnLattice]):
    """The likelihood of the counts is a sum over cells of p times one factor, independent from cell to cell
    (docs/proofs/histograms.md)."""

    def divergence(self, item: CellFamily, noise: OnLattice, alpha: Fraction) -> list[PairLoss]:
        """Refused."""
        raise NotProvable(NO_ORDERS)

    def fast_divergence(self, item: CellFamily, steps: float, alpha: Fraction) -> float:
        """Refused."""
        raise NotProvable(NO_ORDERS)

    def require(self, item: CellFamily, ask: Ask) -> None:
        """Divergences are not known."""
        if ask.finite:
            raise NotProvable(NO_ORDERS)

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """None is needed if the laws themselves keep within delta."""
        if isinstance(ask, Ratio) and ask.delta:
            bare = max(loss.value for loss in self.bare_delta(item, ask.epsilon))
            return 0.0 if Fraction(bare) <= ask.delta else None
        return None

    def start(self, item: CellFamily, ask: Ask) -> float:
        """One record moves two counts by one each: 2 / epsilon suffices, and 2 / delta where epsilon is tiny."""
        return 2 / float(max(ask.epsilon, ask.delta))

    def bare_pure(self, item: CellFamily) -> list[PairLoss]:
        """Without noise: what the laws do not lose, they do not lose after noise either."""
        return each_pair(item, lambda p, q: worth(p, q, math.inf))

    def bare_delta(self, item: CellFamily, epsilon: Fraction) -> list[PairLoss]:
        """Without noise: the hockey stick of the laws."""
        return each_pair(item, lambda p, q: hockey_stick(p, q, epsilon))

    def delta_at(self, item: CellFamily, noise: OnLattice, epsilon: Real) -> float:
        """For lattice noise."""
        if noise.grid is None and not noise.silent:
            raise NotProvable("delta of a histogram is known for lattice noise; give the noise a grid of 1")
        require_counts(noise)
        return max((loss.value for loss in self.delta(item, noise, as_fraction(epsilon), Fraction(0))), default=0.0)

    def renyi(self, item: CellFamily, noise: OnLattice, alpha: Fraction) -> float:
        """Refused."""
        raise NotProvable(NO_ORDERS)


def each_pair(item: CellFamily, loss: OneOrder) -> list[PairLoss]:
    """The larger loss of the two orders of every pair; none of pairs that are the same."""
    found = []
    for (i, j), label in item.different:
        p, q = item.laws[i], item.laws[j]
        found.append(PairLoss(label, max(loss(p, q), loss(q, p)), (i, j)))
    return found or [PairLoss(item.labels[0], 0.0)]


def require_counts(noise: Laplace | Gaussian) -> None:
    """Lattice noise on counts has the grid 1."""
    if noise.grid is not None and noise.grid != 1 and not noise.silent:
        raise BadNoise(f"counts of records are whole numbers, so the grid of their noise is 1, got {noise.grid}")
