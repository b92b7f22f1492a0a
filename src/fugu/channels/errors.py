"""How far a channel takes values, in doubles: expected losses, quantiles of the error, and what goes out as it is.

Means are under the channel's own weight; where it states none, under the law that makes them largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.channels.losses import STATED, named_loss
from fugu.errors import BadNoise
from fugu.laws.masses import Masses
from fugu.laws.sets import LawSet
from fugu.noise.channel import Channel

Floats = NDArray[np.float64]
MEAN, WORST = "mean", "worst"
WEIGHINGS = (MEAN, WORST, STATED)
"""What expected losses are means under: the average of the laws, the worst of them, or weights that were stated."""
_SLACK = 1e-12
"""More than the rounding of a sum of probabilities."""


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of a channel on the values of `support`, under its weight or under the worst of `laws`.

    Of categories without an order (the channel has names) an error is 1 where another category goes out.

    >>> coin = Errors(Channel([0, 2], [[3, 1], [1, 3]], weight=[1, 1]), np.array([0.0, 2.0]), ())
    >>> coin.expected("absolute"), coin.expected("squared"), coin.quantile(0.7), coin.quantile(0.8)
    (0.5, 1.0, 0.0, 2.0)
    """

    channel: Channel
    support: Floats
    laws: Sequence[Masses | LawSet]

    @cached_property
    def rows(self) -> Floats:
        """K(y | x), one row for each value."""
        return self.channel.conditional()

    @property
    def nominal(self) -> bool:
        """Whether values are categories without an order."""
        return self.channel.names is not None

    def loss(self, name: str) -> Floats:
        """What each output costs for each value; whatever is asked, categories are the same or another."""
        return named_loss("zero-one" if self.nominal else name, self.support, np.array(self.channel.outputs))

    def expected(self, name: str) -> float:
        """The mean of the loss of that name."""
        return self.mean((self.rows * self.loss(name)).sum(axis=1))

    def quantile(self, level: float) -> float:
        """The least error h that occurs with P(error <= h) >= level, up to rounding, which makes it larger."""
        if not 0 <= level < 1:
            raise BadNoise(f"a level must be in [0, 1), got {level!r}")
        loss = self.loss("absolute")
        sizes = np.unique(loss)
        low, high = 0, len(sizes) - 1  # the largest error is never exceeded
        while low < high:
            middle = (low + high) // 2
            beyond = self.mean((self.rows * (loss > sizes[middle])).sum(axis=1))
            low, high = (low, middle) if beyond <= 1 - level - _SLACK else (middle + 1, high)
        return float(sizes[low])

    @cached_property
    def kept(self) -> Floats:
        """K(x | x) of every value; 0 for values that are not among the outputs."""
        same = self.support[:, None] == np.array(self.channel.outputs)[None, :]
        found: Floats = np.where(same, self.rows, 0.0).sum(axis=1)
        return found

    @property
    def unchanged(self) -> float:
        """The probability that a value goes out as it is."""
        return min(1.0, self.mean(self.kept))

    def mean(self, each: Floats) -> float:
        """The mean of a number of each value: under the weight, else the largest of any law."""
        if self.channel.weight is not None:
            weight = np.array(self.channel.weight)
            return float(weight @ each / weight.sum())
        return max(_largest(law, each) for law in self.laws)


def _largest(law: Masses | LawSet, each: Floats) -> float:
    """The mean under a law, or the largest under any law of a set."""
    return float(law.floats() @ each) if isinstance(law, Masses) else float(law.tops(each[None, :])[0])


def mean_weight(laws: Sequence[Masses | LawSet]) -> Floats:
    """The average of the laws, or of the middles of sets of laws, with the sum 1."""
    each = [law.floats() if isinstance(law, Masses) else _middle(law) for law in laws]
    total = np.sum(each, axis=0)
    found: Floats = total / total.sum()
    return found


def _middle(laws: LawSet) -> Floats:
    law = laws.centre()
    found = np.zeros(len(laws.values))
    found[np.searchsorted(laws.values, law.values)] = law.weights
    return found
