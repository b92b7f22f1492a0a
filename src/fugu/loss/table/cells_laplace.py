"""Laplace noise in every count of a histogram: closed form and finite sums (docs/proofs/histograms.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.cells import CellFamily
from fugu.loss.cells.laplace import laplace_delta
from fugu.loss.cells.threshold import holds, largest, worth
from fugu.loss.leakage import PairLoss
from fugu.loss.table.cells import Cells, each_pair, require_counts
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import as_fraction, float_up


@final
class CellsLaplace(Cells[Laplace]):
    """One record moves two counts by one each, so its per-record epsilon is 2 / scale, worth T(2 / scale)."""

    about = "Laplace noise on laws of one record's cell"

    def pure(self, item: CellFamily, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """T(2 / scale), both orders; a pair above `epsilon` by rounding alone may meet it exactly."""
        require_counts(noise)
        if noise.silent:
            return self.bare_pure(item)
        own = 2 * noise.rate
        found = each_pair(item, lambda p, q: worth(p, q, own))
        return [
            PairLoss(loss.label, float_up(epsilon), loss.pair, met=True)
            if not loss.within(epsilon) and _meets(item, loss.pair, own, epsilon)
            else loss
            for loss in found
        ]

    def delta(self, item: CellFamily, noise: Laplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The finite sum over the two values of each cell's factor."""
        require_counts(noise)
        if noise.silent:
            return self.bare_delta(item, epsilon)
        return each_pair(item, lambda p, q: laplace_delta(p, q, noise.rate, epsilon))

    def fast_pure(self, item: CellFamily, steps: float) -> float:
        """The proved one is fast."""
        if steps == 0:
            return max(loss.value for loss in self.bare_pure(item))
        return max(loss.value for loss in each_pair(item, lambda p, q: worth(p, q, 2 / Fraction(steps))))

    def fast_delta(self, item: CellFamily, steps: float, ask: Ratio) -> float:
        """The proved one is fast."""
        if steps == 0:
            return max(loss.value for loss in self.bare_delta(item, ask.epsilon))
        rate = 1 / Fraction(steps)
        return max(loss.value for loss in each_pair(item, lambda p, q: laplace_delta(p, q, rate, ask.epsilon)))

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """2 / epsilon_0 where no delta is allowed, e^epsilon_0 = 1 + (e^epsilon - 1) / HS; 0 if HS is 0."""
        if not ask.pure or not ask.epsilon:
            return super().known(item, ask)
        least = min(min(largest(p, q, ask.epsilon), largest(q, p, ask.epsilon)) for p, q in _laws(item))
        return 0.0 if math.isinf(least) else 2 / least

    def sure(self, item: CellFamily, ask: Ask) -> float:
        """2 / epsilon: for laws that have no cell in common it is the exact root."""
        return float_up(2 / ask.epsilon) if ask.epsilon else math.inf

    def leak(self, item: CellFamily, noise: Laplace) -> float:
        """T(2 / scale)."""
        return max(loss.value for loss in self.pure(item, noise, Fraction(0)))

    def epsilon(self, item: CellFamily, noise: Laplace) -> float:
        """The same for continuous noise: all that matters are the two extreme values of each cell's factor."""
        if noise.silent:
            return max(loss.value for loss in self.bare_pure(item))
        require_counts(noise)
        own = 2 / as_fraction(noise.scale)
        return max(loss.value for loss in each_pair(item, lambda p, q: worth(p, q, own)))


def _laws(item: CellFamily) -> list[tuple]:  # type: ignore[type-arg]
    return [(item.laws[i], item.laws[j]) for (i, j), _ in item.different]


def _meets(item: CellFamily, pair: tuple[int, int], own: Fraction, epsilon: Fraction) -> bool:
    """Whether T(own) <= epsilon in both orders, decided in balls or by own <= epsilon."""
    p, q = (item.laws[k] for k in pair)
    return holds(p, q, own, epsilon) and holds(q, p, own, epsilon)


LEAKAGE = CellsLaplace()
