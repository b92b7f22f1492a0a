"""Laplace noise along whole directions, on translates of laws of vectors (docs/proofs/directed.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np

from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.vectors.bounds import pure_as_delta
from fugu.noise.directed import DirectedLaplace
from fugu.numbers.exact import Real, as_fraction, float_up


@final
class SpaceDirected(Leakage[Family, DirectedLaplace]):
    """Exact rationals: the whole multiples of the directions that make up the shift."""

    about = "Laplace noise along directions, on laws of vectors"

    def pure(self, item: Family, noise: DirectedLaplace, epsilon: Fraction) -> list[PairLoss]:
        """sum_j |z_j| / t_j for translates; infinite where the shift leaves the directions."""
        found = []
        for pair, label in item.different:
            loss = noise.loss(_shift(item, pair))
            value = math.inf if loss is None else float_up(loss)
            found.append(PairLoss(label, value, pair, met=loss is not None and loss <= epsilon))
        return found

    def delta(self, item: Family, noise: DirectedLaplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """By conversion from the pure loss."""
        del delta
        return [
            PairLoss(loss.label, 1.0 if math.isinf(loss.value) else pure_as_delta(loss.value, epsilon), loss.pair)
            for loss in self.pure(item, noise, epsilon)
        ]

    def epsilon(self, item: Family, noise: DirectedLaplace) -> float:
        """The pure loss."""
        return max((loss.value for loss in self.pure(item, noise, Fraction(0))), default=0.0)

    def delta_at(self, item: Family, noise: DirectedLaplace, epsilon: Real) -> float:
        """By conversion from the pure loss."""
        losses = self.delta(item, noise, as_fraction(epsilon), Fraction(0))
        return max((loss.value for loss in losses), default=0.0)


def _shift(item: Family, pair: tuple[int, int]) -> tuple[int, ...]:
    """How many steps apart the two point masses of a pair are."""
    ends = []
    for number in pair:
        held = np.flatnonzero(item.laws[number].parts != 0)
        if len(held) != 1 or item.blurred(pair):
            raise NotProvable("noise along directions is proved for translates; these laws have several atoms")
        ends.append(item.points[held[0]])
    return tuple(int(x) for x in np.atleast_1d(ends[1] - ends[0]))


LEAKAGE = SpaceDirected()
