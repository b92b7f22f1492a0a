"""Gaussian noise in every count of a histogram: an outward convolution (docs/proofs/histograms.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.cells import CellFamily
from fugu.loss.cells.gaussian import gaussian_delta
from fugu.loss.leakage import PairLoss
from fugu.loss.search.cells import least_gaussian
from fugu.loss.search.gaussian import require_delta
from fugu.loss.table.cells import Cells, each_pair, require_counts
from fugu.noise.gaussian import Gaussian


@final
class CellsGaussian(Cells[Gaussian]):
    """The lattice Gaussian's own factors f(z - 1) / f(z), cell by cell."""

    about = "Gaussian noise on laws of one record's cell"

    def pure(self, item: CellFamily, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """It bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either."""
        return self.bare_pure(item)

    def delta(self, item: CellFamily, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """E (sum over cells of (p - e^epsilon q) W)_+."""
        require_counts(noise)
        if noise.silent:
            return self.bare_delta(item, epsilon)
        return each_pair(item, lambda p, q: gaussian_delta(p, q, noise.precision, epsilon, float(delta)))

    def require(self, item: CellFamily, ask: Ask) -> None:
        """It needs a delta."""
        super().require(item, ask)
        require_delta(ask)

    def fast_pure(self, item: CellFamily, steps: float) -> float:
        """Infinite with noise, for the search; what is proved is in `pure`."""
        return math.inf if steps else max(loss.value for loss in self.bare_pure(item))

    def fast_delta(self, item: CellFamily, steps: float, ask: Ratio) -> float:
        """The proved one."""
        if steps == 0:
            return max(loss.value for loss in self.bare_delta(item, ask.epsilon))
        t, enough = 1 / (2 * Fraction(steps) ** 2), float(ask.delta)
        return max(loss.value for loss in each_pair(item, lambda p, q: gaussian_delta(p, q, t, ask.epsilon, enough)))

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """A search of its own: the loss takes time, and is smooth."""
        none = super().known(item, ask)
        if none is not None or not isinstance(ask, Ratio):
            return none
        return least_gaussian(lambda steps: self.fast_delta(item, steps, ask), ask.target, self.start(item, ask))

    def leak(self, item: CellFamily, noise: Gaussian) -> float:
        """Infinite, unless nothing is added or nothing differs."""
        return max(loss.value for loss in self.bare_pure(item)) if noise.silent or item.same else math.inf

    def epsilon(self, item: CellFamily, noise: Gaussian) -> float:
        """Infinite unless the laws themselves lose less."""
        return max(loss.value for loss in self.bare_pure(item))


LEAKAGE = CellsGaussian()
