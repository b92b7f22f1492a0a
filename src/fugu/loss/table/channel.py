"""A channel of whole numbers on laws with atoms and on sets of laws: every output is an exact rational."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import final

import numpy as np

from fugu.errors import BadNoise, NotProvable
from fugu.laws.family import Family, SetFamily
from fugu.loss.channel import (
    OutputMasses,
    at_most_exp,
    divergence,
    excess,
    extremes,
    log_up,
    published,
    rows_at,
    worst_ratio,
)
from fugu.loss.decay import working_bits
from fugu.loss.leakage import Leakage, PairLoss, require_exact, slack
from fugu.noise.channel import Channel
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up

# A channel of whole numbers on laws with atoms: the law of every output is an exact rational.


@final
class LineChannel(Leakage[Family, Channel]):
    """The points of the laws are numbers of rows of the channel; P(y) = sum_x p(x) rows[x][y] / total.

    Pure: max_y P(y) / Q(y) <= e^epsilon, in integers. Delta: sum_y [P(y) - e^epsilon Q(y)]_+. Divergences in balls."""

    about = "a channel on laws with atoms"

    def pure(self, item: Family, noise: Channel, epsilon: Fraction) -> list[PairLoss]:
        """ln of the largest ratio, both orders; a pair that meets `epsilon` in rationals says so."""

        def loss(label: str, pair: tuple[int, int], one: OutputMasses, other: OutputMasses) -> PairLoss:
            if item.blurred(pair):
                return PairLoss(label, math.inf, pair)
            ratios = worst_ratio(one, other), worst_ratio(other, one)
            worst = None if None in ratios else max(x for x in ratios if x is not None)
            found = PairLoss(label, log_up(worst), pair)
            if not found.within(epsilon) and at_most_exp(worst, epsilon):
                return PairLoss(label, float_up(epsilon), pair, met=True)
            return found

        return _each_of_laws(item, noise, loss)

    def explain_pure(self, item: Family, noise: Channel) -> None:
        """Laws known up to an error have no pure loss."""
        require_exact(item)

    def delta(self, item: Family, noise: Channel, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """Exact for a rational just below e^epsilon; what the laws' own errors cost comes on top."""

        def loss(label: str, pair: tuple[int, int], one: OutputMasses, other: OutputMasses) -> PairLoss:
            worst = max(excess(one, other, epsilon), excess(other, one, epsilon))
            if not item.blurred(pair):
                return PairLoss(label, float_up(worst), pair, met=worst <= delta)
            with balls.precision(128):
                e = balls.of(epsilon).exp()
                more = max(balls.upper(slack(item, order, e)) for order in (pair, pair[::-1]))
            return PairLoss(label, min(1.0, float_up(worst + Fraction(more))), pair)

        return _each_of_laws(item, noise, loss)

    def divergence(self, item: Family, noise: Channel, alpha: Fraction) -> list[PairLoss]:
        """The sum over outputs, both orders."""
        require_exact(item)

        def loss(label: str, pair: tuple[int, int], one: OutputMasses, other: OutputMasses) -> PairLoss:
            with balls.precision(working_bits(alpha)):
                return PairLoss(label, max(divergence(one, other, alpha), divergence(other, one, alpha)), pair)

        return _each_of_laws(item, noise, loss)

    def epsilon(self, item: Family, noise: Channel) -> float:
        """The laws as given have one atom for each row."""
        require_exact(item)
        return max(loss.value for loss in self.pure(_numbered_laws(item, noise), noise, Fraction(0)))

    def delta_at(self, item: Family, noise: Channel, epsilon: Real) -> float:
        """As proved."""
        return max(
            loss.value for loss in self.delta(_numbered_laws(item, noise), noise, as_fraction(epsilon), Fraction(0))
        )

    def renyi(self, item: Family, noise: Channel, alpha: Fraction) -> float:
        """As proved."""
        return max(loss.value for loss in self.divergence(_numbered_laws(item, noise), noise, alpha))


def _numbered_laws(item: Family, channel: Channel) -> Family:
    """Laws as given, whose atoms stand in the order of the rows."""
    if len(item.points) != len(channel.rows):
        raise BadNoise(f"the laws have {len(item.points)} atoms, and the channel has {len(channel.rows)} rows")
    return replace(item, points=np.arange(len(item.points)))


def _each_of_laws(
    item: Family, channel: Channel, loss: Callable[[str, tuple[int, int], OutputMasses, OutputMasses], PairLoss]
) -> list[PairLoss]:
    """The loss of every pair, from the published law of each; equal laws are published alike."""
    if item.translates:
        raise NotProvable(f"{LineChannel.about}: translates of an unknown law have no atoms that a channel could map")
    rows = rows_at(item.points, channel)
    known = {k: published(item.laws[k], rows, channel) for k in {k for pair in item.pairs for k in pair}}
    labelled = zip(item.pairs, item.labels, strict=True)
    return [loss(label, (i, j), known[i], known[j]) for (i, j), label in labelled]


LINE_CHANNEL = LineChannel()


# A channel of whole numbers on sets of laws: the most and the least that any member gives each output.


Ends = tuple[OutputMasses, OutputMasses]


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

        return _each_of_sets(item, noise, loss)

    def delta(self, item: SetFamily, noise: Channel, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """sum_y [max P(y) - e^epsilon min Q(y)]_+, in rationals."""

        def loss(label: str, pair: tuple[int, int], one: Ends, other: Ends) -> PairLoss:
            worst = min(Fraction(1), max(excess(one[0], other[1], epsilon), excess(other[0], one[1], epsilon)))
            return PairLoss(label, float_up(worst), pair, met=worst <= delta)

        return _each_of_sets(item, noise, loss)

    def divergence(self, item: SetFamily, noise: Channel, alpha: Fraction) -> list[PairLoss]:
        """P^alpha Q^(1 - alpha) grows with P and falls with Q; never above the pure loss."""
        pure = {loss.pair: loss.value for loss in self.pure(item, noise, Fraction(0))}

        def loss(label: str, pair: tuple[int, int], one: Ends, other: Ends) -> PairLoss:
            with balls.precision(working_bits(alpha)):
                both = max(divergence(one[0], other[1], alpha), divergence(other[0], one[1], alpha))
            return PairLoss(label, min(both, pure.get(pair, math.inf)), pair)

        return _each_of_sets(item, noise, loss)

    def epsilon(self, item: SetFamily, noise: Channel) -> float:
        """The sets declare one value for each row."""
        return max(loss.value for loss in self.pure(_numbered_sets(item, noise), noise, Fraction(0)))

    def delta_at(self, item: SetFamily, noise: Channel, epsilon: Real) -> float:
        """As proved."""
        return max(
            loss.value for loss in self.delta(_numbered_sets(item, noise), noise, as_fraction(epsilon), Fraction(0))
        )

    def renyi(self, item: SetFamily, noise: Channel, alpha: Fraction) -> float:
        """As proved."""
        return max(loss.value for loss in self.divergence(_numbered_sets(item, noise), noise, alpha))


def _numbered_sets(item: SetFamily, channel: Channel) -> SetFamily:
    """Sets as given, whose declared values stand in the order of the rows."""
    if len(item.points) != len(channel.rows):
        raise BadNoise(f"the sets declare {len(item.points)} values, and the channel has {len(channel.rows)} rows")
    return item.moved(np.arange(len(item.points)))


def _each_of_sets(
    item: SetFamily, channel: Channel, loss: Callable[[str, tuple[int, int], Ends, Ends], PairLoss]
) -> list[PairLoss]:
    """The loss of every pair, from the ends of each set."""
    rows = rows_at(item.points, channel)
    known = {k: extremes(item.sets[k], rows, channel) for k in {k for pair in item.pairs for k in pair}}
    labelled = zip(item.pairs, item.labels, strict=True)
    return [loss(label, (i, j), known[i], known[j]) for (i, j), label in labelled]


SETS_CHANNEL = SetsChannel()
