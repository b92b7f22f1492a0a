"""What a channel does whatever is believed: the most it can tell, and how much it leaves as it is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.loss.channel.exponential import log_up
from fugu.noise.channel import Channel

Floats = NDArray[np.float64]


def any_belief(channel: Channel) -> float:
    """The least epsilon, from above, with K(y | x) <= e^epsilon K(y | x') for all values and outputs; inf if none.

    P(y) / Q(y) is a ratio of means of K(y | .), so no two beliefs about the value lose more.

    >>> any_belief(Channel([0, 1], [[3, 1], [1, 3]])) == 1.0986122886681098
    True
    """
    worst: Fraction | None = Fraction(1)
    for column in channel.columns():
        least, most = min(column), max(column)
        if most and not least:
            return log_up(None)
        if most and worst is not None:
            worst = max(worst, Fraction(most, least))
    return log_up(worst)


def kept(channel: Channel, support: Sequence[float]) -> Floats:
    """K(x | x) of every value; 0 for values that are not among the outputs.

    >>> kept(Channel([0, 1], [[3, 1], [1, 3], [2, 2]]), [0, 1, 2]).tolist()
    [0.75, 0.75, 0.0]
    """
    place = {y: k for k, y in enumerate(channel.outputs)}
    rows = zip(support, channel.rows, strict=True)
    return np.array([row[place[x]] / channel.total if x in place else 0.0 for x, row in rows])


def weighings(channel: Channel, laws: Sequence[Floats]) -> list[Floats]:
    """What expected errors are means under: the channel's own weight, else every law."""
    if channel.weight is None:
        return list(laws)
    weight = np.array(channel.weight)
    return [weight / weight.sum()]


def unchanged_share(channel: Channel, support: Sequence[float], laws: Sequence[Floats]) -> float:
    """The probability that a value goes out as it is; under the worst of the laws where no weight is stated."""
    same = kept(channel, support)
    return min(1.0, max(float(weight @ same) for weight in weighings(channel, laws)))
