"""A channel of whole numbers on laws with atoms: the law of every output is an exact rational."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import final

import numpy as np

from fugu.errors import BadNoise, NotProvable
from fugu.laws.family import Family
from fugu.loss.atoms.slack import require_exact, slack
from fugu.loss.channel.exponential import at_most_exp, log_up
from fugu.loss.channel.outputs import Side, divergence, excess, published, rows_at, worst_ratio
from fugu.loss.divergence.sums import working_bits
from fugu.loss.leakage import Leakage, PairLoss
from fugu.noise.channel import Channel
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up


@final
class LineChannel(Leakage[Family, Channel]):
    """The points of the laws are numbers of rows of the channel; P(y) = sum_x p(x) rows[x][y] / total.

    Pure: max_y P(y) / Q(y) <= e^epsilon, in integers. Delta: sum_y [P(y) - e^epsilon Q(y)]_+. Divergences in balls."""

    about = "a channel on laws with atoms"

    def pure(self, item: Family, noise: Channel, epsilon: Fraction) -> list[PairLoss]:
        """ln of the largest ratio, both orders; a pair that meets `epsilon` in rationals says so."""

        def loss(label: str, pair: tuple[int, int], one: Side, other: Side) -> PairLoss:
            if item.blurred(pair):
                return PairLoss(label, math.inf, pair)
            ratios = worst_ratio(one, other), worst_ratio(other, one)
            worst = None if None in ratios else max(x for x in ratios if x is not None)
            found = PairLoss(label, log_up(worst), pair)
            if not found.within(epsilon) and at_most_exp(worst, epsilon):
                return PairLoss(label, float_up(epsilon), pair, met=True)
            return found

        return _each(item, noise, loss)

    def explain_pure(self, item: Family, noise: Channel) -> None:
        """Laws known up to an error have no pure loss."""
        require_exact(item)

    def delta(self, item: Family, noise: Channel, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """Exact for a rational just below e^epsilon; what the laws' own errors cost comes on top."""

        def loss(label: str, pair: tuple[int, int], one: Side, other: Side) -> PairLoss:
            worst = max(excess(one, other, epsilon), excess(other, one, epsilon))
            if not item.blurred(pair):
                return PairLoss(label, float_up(worst), pair, met=worst <= delta)
            with balls.precision(128):
                e = balls.of(epsilon).exp()
                more = max(balls.upper(slack(item, order, e)) for order in (pair, pair[::-1]))
            return PairLoss(label, min(1.0, float_up(worst + Fraction(more))), pair)

        return _each(item, noise, loss)

    def divergence(self, item: Family, noise: Channel, alpha: Fraction) -> list[PairLoss]:
        """The sum over outputs, both orders."""
        require_exact(item)

        def loss(label: str, pair: tuple[int, int], one: Side, other: Side) -> PairLoss:
            with balls.precision(working_bits(alpha)):
                return PairLoss(label, max(divergence(one, other, alpha), divergence(other, one, alpha)), pair)

        return _each(item, noise, loss)

    def epsilon(self, item: Family, noise: Channel) -> float:
        """The laws as given have one atom for each row."""
        require_exact(item)
        return max(loss.value for loss in self.pure(_numbered(item, noise), noise, Fraction(0)))

    def delta_at(self, item: Family, noise: Channel, epsilon: Real) -> float:
        """As proved."""
        return max(loss.value for loss in self.delta(_numbered(item, noise), noise, as_fraction(epsilon), Fraction(0)))

    def renyi(self, item: Family, noise: Channel, alpha: Fraction) -> float:
        """As proved."""
        return max(loss.value for loss in self.divergence(_numbered(item, noise), noise, alpha))


def _numbered(item: Family, channel: Channel) -> Family:
    """Laws as given, whose atoms stand in the order of the rows."""
    if len(item.points) != len(channel.rows):
        raise BadNoise(f"the laws have {len(item.points)} atoms, and the channel has {len(channel.rows)} rows")
    return replace(item, points=np.arange(len(item.points)))


def _each(
    item: Family, channel: Channel, loss: Callable[[str, tuple[int, int], Side, Side], PairLoss]
) -> list[PairLoss]:
    """The loss of every pair, from the published law of each; equal laws are published alike."""
    if item.translates:
        raise NotProvable(f"{LineChannel.about}: translates of an unknown law have no atoms that a channel could map")
    rows = rows_at(item.points, channel)
    known = {k: published(item.laws[k], rows, channel) for k in {k for pair in item.pairs for k in pair}}
    labelled = zip(item.pairs, item.labels, strict=True)
    return [loss(label, (i, j), known[i], known[j]) for (i, j), label in labelled]


LEAKAGE = LineChannel()
