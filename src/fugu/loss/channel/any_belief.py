"""What a channel tells at most, whatever is believed about the values that go in."""

from __future__ import annotations

from fractions import Fraction

from fugu.loss.channel.exponential import log_up
from fugu.noise.channel import Channel


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
