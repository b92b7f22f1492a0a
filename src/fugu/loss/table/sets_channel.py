"""A channel of whole numbers on sets of laws: the most and the least that any member gives each output."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np

from fugu.errors import BadNoise
from fugu.laws.set_family import SetFamily
from fugu.loss.channel.exponential import at_most_exp, log_up
from fugu.loss.channel.outputs import Side, divergence, excess, extremes, rows_at, worst_ratio
from fugu.loss.divergence.sums import working_bits
from fugu.loss.leakage import Leakage, PairLoss
from fugu.noise.channel import Channel
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up

Ends = tuple[Side, Side]


@final
class SetsChannel(Leakage[SetFamily, Channel]):
    """The members of the two sides of a pair are chosen independently of each other, so output y has the worst ratio
    max_U sum_x p(x) K(y|x) / min_V sum_x q(x) K(y|x): exact wherever `LawSet.top` is.

    Delta and divergences add up outputs whose worst members may differ: bounds, from above."""

    about = "a channel on sets of laws"

    def pure(self, item: SetFamily, noise: Channel, epsilon: Fraction) -> list[PairLoss]:
        """ln of the largest ratio, both orders; a pair that meets `epsilon` in rationals says so."""

        def loss(label: str, pair: tuple[int, int], one: Ends, other: Ends) -> PairLoss:
            ratios = worst_ratio(one[0], other[1]), worst_ratio(other[0], one[1])
            worst = None if None in ratios else max(x for x in ratios if x is not None)
            found = PairLoss(label, log_up(worst), pair)
            if not found.within(epsilon) and at_most_exp(worst, epsilon):
                return PairLoss(label, float_up(epsilon), pair, met=True)
            return found

        return _each(item, noise, loss)

    def delta(self, item: SetFamily, noise: Channel, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """sum_y [max P(y) - e^epsilon min Q(y)]_+, in rationals."""

        def loss(label: str, pair: tuple[int, int], one: Ends, other: Ends) -> PairLoss:
            worst = min(Fraction(1), max(excess(one[0], other[1], epsilon), excess(other[0], one[1], epsilon)))
            return PairLoss(label, float_up(worst), pair, met=worst <= delta)

        return _each(item, noise, loss)

    def divergence(self, item: SetFamily, noise: Channel, alpha: Fraction) -> list[PairLoss]:
        """P^alpha Q^(1 - alpha) grows with P and falls with Q; never above the pure loss."""
        pure = {loss.pair: loss.value for loss in self.pure(item, noise, Fraction(0))}

        def loss(label: str, pair: tuple[int, int], one: Ends, other: Ends) -> PairLoss:
            with balls.precision(working_bits(alpha)):
                both = max(divergence(one[0], other[1], alpha), divergence(other[0], one[1], alpha))
            return PairLoss(label, min(both, pure.get(pair, math.inf)), pair)

        return _each(item, noise, loss)

    def epsilon(self, item: SetFamily, noise: Channel) -> float:
        """The sets declare one value for each row."""
        return max(loss.value for loss in self.pure(_numbered(item, noise), noise, Fraction(0)))

    def delta_at(self, item: SetFamily, noise: Channel, epsilon: Real) -> float:
        """As proved."""
        return max(loss.value for loss in self.delta(_numbered(item, noise), noise, as_fraction(epsilon), Fraction(0)))

    def renyi(self, item: SetFamily, noise: Channel, alpha: Fraction) -> float:
        """As proved."""
        return max(loss.value for loss in self.divergence(_numbered(item, noise), noise, alpha))


def _numbered(item: SetFamily, channel: Channel) -> SetFamily:
    """Sets as given, whose declared values stand in the order of the rows."""
    if len(item.points) != len(channel.rows):
        raise BadNoise(f"the sets declare {len(item.points)} values, and the channel has {len(channel.rows)} rows")
    return item.moved(np.arange(len(item.points)))


def _each(
    item: SetFamily, channel: Channel, loss: Callable[[str, tuple[int, int], Ends, Ends], PairLoss]
) -> list[PairLoss]:
    """The loss of every pair, from the ends of each set."""
    rows = rows_at(item.points, channel)
    known = {k: extremes(item.sets[k], rows, channel) for k in {k for pair in item.pairs for k in pair}}
    labelled = zip(item.pairs, item.labels, strict=True)
    return [loss(label, (i, j), known[i], known[j]) for (i, j), label in labelled]


LEAKAGE = SetsChannel()
