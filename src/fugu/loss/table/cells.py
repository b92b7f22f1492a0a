"""Laplace and Gaussian noise in every count of a histogram (docs/proofs/histograms.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar, final

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.cells import CellFamily, Counts
from fugu.loss import search
from fugu.loss.cells import hockey_stick, holds, largest, worth
from fugu.loss.histograms import gaussian_delta, laplace_delta
from fugu.loss.leakage import Leakage, PairLoss
from fugu.noise import Gaussian, Laplace
from fugu.numbers.exact import Real, as_fraction, float_up

# What Laplace and Gaussian noise share on laws of one record's cell: independent noise in every count.


OnLattice = TypeVar("OnLattice", Laplace, Gaussian)
OneOrder = Callable[[Counts, Counts], float]
NO_ORDERS = "Rényi divergences of histograms are not proved; give fugu.Pure or fugu.Approx"


class CellsLeakage(Leakage[CellFamily, OnLattice]):
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


# Laplace noise in every count of a histogram: closed form and finite sums (docs/proofs/histograms.md).


@final
class CellsLaplace(CellsLeakage[Laplace]):
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


CELLS_LAPLACE = CellsLaplace()


# Gaussian noise in every count of a histogram: an outward convolution (docs/proofs/histograms.md).


@final
class CellsGaussian(CellsLeakage[Gaussian]):
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
        search.require_delta(ask)

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
        return search.least_gaussian(lambda steps: self.fast_delta(item, steps, ask), ask.target, self.start(item, ask))

    def leak(self, item: CellFamily, noise: Gaussian) -> float:
        """Infinite, unless nothing is added or nothing differs."""
        return max(loss.value for loss in self.bare_pure(item)) if noise.silent or item.same else math.inf

    def epsilon(self, item: CellFamily, noise: Gaussian) -> float:
        """Infinite unless the laws themselves lose less."""
        return max(loss.value for loss in self.bare_pure(item))


CELLS_GAUSSIAN = CellsGaussian()
