"""Channels among the offers: the robust one beside noise for sets of laws, and the only one for nominal categories.

A channel for single laws is taken only where it is asked for by name, or where values are categories without an order,
to which no noise can be added. For sets of laws it comes with a cap on what any belief at all can learn: that of the
Laplace noise for single laws in the middle of the sets, range / scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fugu.calibration.channel import POINT, ROBUST, Asked, Solved, one_item, tried
from fugu.calibration.comparison import Row
from fugu.calibration.lattice import problem
from fugu.calibration.offer import Offer, Tried, Wishes
from fugu.calibration.registry import ARITHMETIC, told
from fugu.calibration.scales import Scales
from fugu.calibration.search import least
from fugu.channels.problem import Errors
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import Ask, plain
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import Shape
from fugu.loss.channel import any_belief, law_list
from fugu.mechanism.intake import Context
from fugu.noise.kind import Objective
from fugu.noise.laplace import Laplace

MOST = 150
"""Values up to which a robust channel is worked out without being asked for by name: below a minute."""
NAMES = (POINT, ROBUST)
_NOMINAL = (
    "the categories have no order, and noise on their places would depend on an arbitrary one: a channel publishes "
    "them (method='best', or fugu.optimal_channel); or declare an order (kind 'ordered' in the schema, or bins=[...])"
)


@dataclass(frozen=True, eq=False)
class ChannelOffer(Offer):
    """The channel of least expected loss under some wishes; solved when first looked at."""

    given: tuple[Shape, ...]
    ask: Ask
    asked: Asked
    most: int | None = None
    """Values beyond which it is not worked out; None: as many as `optimal_channel` takes."""

    @property
    def method(self) -> str:  # type: ignore[override]
        """By the laws: single ones, or sets."""
        return ROBUST if self.given[0].shape == "sets" else POINT

    noise = "channel"

    @cached_property
    def _found(self) -> Solved | str:
        """The channel, or why there is none."""
        try:
            count = len(one_item(self.given).points)
            if self.most is not None and count > self.most:
                return (
                    f"{count} values, and a channel is worked out unasked for at most {self.most}: lay bins over them, "
                    "which rounds values to the middles of their bins, or call fugu.optimal_channel"
                )
            return Solved.of(self.asked.problem(self.given, self.ask), self.asked)
        except (NotProvable, *ARITHMETIC) as error:
            return told(error)

    @property
    def refusal(self) -> str | None:
        """Too many values, or a budget that no channel is found for."""
        return self._found if isinstance(self._found, str) else None

    @cached_property
    def errors(self) -> Errors:
        """How far it takes values."""
        item = one_item(self.given)
        return Errors(self._solved.channel, item.points, law_list(item))

    @property
    def _solved(self) -> Solved:
        if isinstance(self._found, str):
            raise NotProvable(self._found)
        return self._found

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """Its expected error under the mean of the laws, or of the middles of the sets."""
        return self.errors.expected(objective), 0.0, True

    def tried(self, ask: Ask, context: Context) -> Tried:
        """Through the door."""
        return tried(self._solved, self.given, ask, context)

    def _row(self, ask: Ask) -> Row:
        """Its true epsilon is what the channel was asked for, which it meets exactly."""
        optimum, most = self._solved.optimum, any_belief(self._solved.channel)
        least_of_all = "" if optimum.lower is None else f"no {optimum.among} is below {optimum.lower:.6g}; "
        fitted = "" if self.method == ROBUST else "beliefs a little off may lose everything; "
        note = f"{fitted}{least_of_all}whatever is believed, epsilon {most:.4g}"
        epsilon = float(ask.epsilon)
        absolute, squared = self.errors.expected("absolute"), self.errors.expected("squared")
        return Row(self.method, self.noise, math.nan, absolute, squared, epsilon, True, "exact in whole numbers", note)


@dataclass(frozen=True, eq=False)
class WithChannel:
    """What noise offers for sets of laws, and the robust channel beside it."""

    scales: Scales | None
    channel: ChannelOffer | None

    def stages(self, refusals: list[str]) -> Iterator[list[Offer]]:
        """The channel stands beside the methods that no other beats."""
        found = iter(self.scales.stages(refusals)) if self.scales is not None else iter(())
        yield [*next(found, []), *([] if self.channel is None else [self.channel])]
        yield from found

    def everything(self) -> list[Any]:
        """The rows of noise, then that of the channel."""
        rows = [] if self.scales is None else self.scales.everything()
        return [*rows, *([] if self.channel is None else [self.channel])]


def search(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> WithChannel:
    """For the driver: categories without an order, sets of laws, and channels asked for by name."""
    named = wishes.method in NAMES
    most = None if wishes.cap is None else plain(wishes.cap)
    asked = Asked(loss=None if wishes.names is not None else wishes.objective, names=wishes.names, cap=most)
    if wishes.names is not None and (wishes.noise != "best" or not (named or wishes.method == "best")):
        raise UsageError(_NOMINAL)
    if wishes.grid is not None and (named or wishes.names is not None):
        raise UsageError("a channel publishes values as they are, so there is no grid; leave it out")
    if given[0].shape != "sets":
        if wishes.method == ROBUST:
            raise NotProvable(
                "a robust channel is for sets of laws, and these are single laws; use method='optimal-channel'"
            )
        return WithChannel(None, ChannelOffer(given, ask, asked))
    cap = _cap(given, ask) if wishes.names is None else _nominal_cap(given, ask)
    smaller = min((x for x in (cap, most) if x is not None), default=None)
    robust = ChannelOffer(given, ask, replace(asked, cap=smaller), None if named else MOST)
    if named or wishes.names is not None:
        return WithChannel(None, robust)
    beside = robust if wishes.method == wishes.noise == "best" else None
    return WithChannel(Scales(given, ask, wishes), beside)


def _nominal_cap(given: tuple[Shape, ...], ask: Ask) -> float | None:
    """The same for categories without an order: twice the t of randomised response, K(x|x) = e^t K(y|x), for laws in
    the middle of the sets. (1 + s p) <= E (1 + s q), s = e^t - 1, asks for s (p - E q) <= E - 1 in every category."""
    item = given[0]
    if ask.finite or not isinstance(item, SetFamily):
        return None
    laws, e = [law.floats() for law in item.centres()], math.exp(min(float(ask.epsilon), 700.0))
    most = max(float((laws[i] - e * laws[j]).max()) for a, b in item.pairs for i, j in ((a, b), (b, a)))
    return 2 * math.log1p((e - 1) / most) if most > 0 and e > 1 else None


def _cap(given: tuple[Shape, ...], ask: Ask) -> float | None:
    """range / scale of Laplace noise for the laws in the middle of the sets; None where that needs no noise."""
    item = given[0]
    if ask.finite or not isinstance(item, SetFamily):
        return None
    middle = Family(item.points, item.centres(), item.pairs, item.labels)
    try:
        where = problem((middle,), ask, Laplace)
        scale = max(least(one, ask, Laplace) for one in where.items) * float(where.lattice.grid)
    except (NotProvable, *ARITHMETIC):
        return None
    width = float(item.points[-1] - item.points[0])
    return width / scale if 0 < scale < math.inf and width else None
