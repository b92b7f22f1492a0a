"""Laplace and Gaussian noise in every count of a histogram (docs/proofs/histograms.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, final

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, PairLoss, Ratio
from fugu.laws.cells import CellFamily, Counts
from fugu.loss import cells, search
from fugu.loss.histograms import gaussian_delta, laplace_delta
from fugu.loss.leakage import Leakage, largest
from fugu.noise import Gaussian, Laplace
from fugu.numbers.exact import Real, as_fraction, float_up

NO_ORDERS = "Rényi divergences of histograms are not proved; give fugu.Pure or fugu.Approx"


class CellsLeakage(Leakage[CellFamily, Any]):
    """Independent noise in every count: the likelihood of the counts is a sum over cells of p times one factor,
    independent from cell to cell."""

    def pure(self, item: CellFamily, noise: Any, epsilon: Fraction) -> list[PairLoss]:
        """Without noise: what the laws do not lose, they do not lose after noise either."""
        return each_pair(item, lambda p, q: cells.worth(p, q, math.inf))

    def bare_delta(self, item: CellFamily, epsilon: Fraction) -> list[PairLoss]:
        """Without noise: the hockey stick of the laws."""
        return each_pair(item, lambda p, q: cells.hockey_stick(p, q, epsilon))

    def divergence(self, item: CellFamily, noise: Laplace | Gaussian, alpha: Fraction) -> list[PairLoss]:
        """Refused."""
        raise NotProvable(NO_ORDERS)

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """Divergences are not known; no noise is needed if the laws themselves keep within delta."""
        if ask.finite:
            raise NotProvable(NO_ORDERS)
        super().known(item, ask)
        if isinstance(ask, Ratio) and ask.delta:
            return 0.0 if Fraction(largest(self.bare_delta(item, ask.epsilon))) <= ask.delta else None
        return None

    def start(self, item: CellFamily, ask: Ask) -> tuple[float, float]:
        """One record moves two counts by one each: 2 / epsilon suffices, for laws that have no cell in common it is the
        exact root; and 2 / delta where epsilon is tiny."""
        return 2 / float(max(ask.epsilon, ask.delta)), float_up(2 / ask.epsilon) if ask.epsilon else math.inf

    def delta_at(self, item: CellFamily, noise: Laplace | Gaussian, epsilon: Real) -> float:
        """For lattice noise."""
        if noise.grid is None and not noise.silent:
            raise NotProvable("delta of a histogram is known for lattice noise; give the noise a grid of 1")
        return super().delta_at(item, noise, epsilon)


def each_pair(item: CellFamily, loss: Callable[[Counts, Counts], float]) -> list[PairLoss]:
    """The larger loss of the two orders of every pair; none of pairs that are the same."""
    found = []
    for (i, j), label in item.different:
        p, q = item.laws[i], item.laws[j]
        found.append(PairLoss(label, max(loss(p, q), loss(q, p)), (i, j)))
    return found or [PairLoss(item.labels[0], 0.0)]


def _require_counts(noise: Laplace | Gaussian) -> None:
    if noise.grid is not None and noise.grid != 1 and not noise.silent:
        raise BadNoise(f"counts of records are whole numbers, so the grid of their noise is 1, got {noise.grid}")


@final
class CellsLaplace(CellsLeakage):
    """One record moves two counts by one each, so its per-record epsilon is 2 / scale, worth T(2 / scale): the same for
    continuous noise, as all that matters are the two extreme values of each cell's factor."""

    def pure(self, item: CellFamily, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """T(2 / scale), both orders; a pair above `epsilon` by rounding alone may meet it exactly: T(own) <= epsilon
        is decided in balls or by own <= epsilon."""
        _require_counts(noise)
        if noise.silent:
            return super().pure(item, noise, epsilon)
        own, found = 2 / as_fraction(noise.scale), []
        for loss in each_pair(item, lambda p, q: cells.worth(p, q, own)):
            p, q = (item.laws[k] for k in loss.pair)
            met = not loss.within(epsilon) and cells.holds(p, q, own, epsilon) and cells.holds(q, p, own, epsilon)
            found.append(PairLoss(loss.label, float_up(epsilon), loss.pair, met=True) if met else loss)
        return found

    def delta(self, item: CellFamily, noise: Laplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The finite sum over the two values of each cell's factor."""
        _require_counts(noise)
        if noise.silent:
            return self.bare_delta(item, epsilon)
        return each_pair(item, lambda p, q: laplace_delta(p, q, noise.rate, epsilon))

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """2 / epsilon_0 where no delta is allowed, e^epsilon_0 = 1 + (e^epsilon - 1) / HS; 0 if HS is 0."""
        if not ask.pure or not ask.epsilon:
            return super().known(item, ask)
        pairs = [(item.laws[i], item.laws[j]) for (i, j), _ in item.different]
        least = min(min(cells.largest(p, q, ask.epsilon), cells.largest(q, p, ask.epsilon)) for p, q in pairs)
        return 0.0 if math.isinf(least) else 2 / least


@final
class CellsGaussian(CellsLeakage):
    """An outward convolution of the lattice Gaussian's own factors f(z - 1) / f(z), cell by cell. It bounds no ratio by
    itself."""

    def delta(self, item: CellFamily, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """E (sum over cells of (p - e^epsilon q) W)_+."""
        _require_counts(noise)
        if noise.silent:
            return self.bare_delta(item, epsilon)
        return each_pair(item, lambda p, q: gaussian_delta(p, q, noise.precision, epsilon, float(delta)))

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """A search of its own: the loss takes time, and is smooth."""
        none = super().known(item, ask)
        if none is not None or not isinstance(ask, Ratio):
            return none
        return search.least_gaussian(lambda steps: self.guess(item, steps, ask), ask.target, self.start(item, ask)[0])
