"""`ChannelMechanism`: each value goes out as one of the channel's outputs, drawn from its row of whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.channels.errors import Errors
from fugu.documents.optimum import Optimum
from fugu.errors import BadNoise
from fugu.laws.places import nearest
from fugu.loss.channel.any_belief import any_belief
from fugu.mechanism.mechanism import Column, Mechanism
from fugu.mechanism.post import Step
from fugu.noise.bits import BitSource
from fugu.noise.channel import Channel
from fugu.noise.kind import Objective, check_objective

Floats = NDArray[np.float64]
SURE = 0.999999


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class ChannelMechanism(Mechanism):
    """Y = outputs[y] with probability rows[x][y] / total, x the place of the nearest supported value: what is proved.

    Errors are means under the stated weight of the values; where there is none, of the law under which they are
    largest. Of categories without an order an error is 1 where another category goes out."""

    noise: Channel
    support: Floats
    """The values of all laws, increasing; codes of categories."""

    @property
    def optimum(self) -> Optimum:
        """The loss that was made least, what it is proved to be, and how far from the least possible at most."""
        return self.certificate.optimum

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the outputs are called, if they are categories without an order."""
        return self.noise.names

    @property
    def any_belief(self) -> float:
        """The epsilon that holds whatever anybody believes about the value; inf if none does."""
        return any_belief(self.noise)

    @cached_property
    def errors(self) -> Errors:
        """How far values are taken."""
        return self.certificate.errors

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|Y - x| or E(Y - x)^2 by the `objective`; the probability of another category, if they have no order."""
        check_objective(objective)
        return self.errors.expected(objective)

    def error_quantiles(self, levels: Iterable[float] = (0.5, 0.9, 0.95, 0.99)) -> dict[float, float]:
        """For each of the `levels`, in [0, 1), the least h with P(|Y - x| <= h) at least as large, up to rounding.

        Errors of a channel have heavy tails: most values go out as they are, and a few go far."""
        return {level: self.errors.quantile(level) for level in levels}

    def exact_atoms(self, at_least: float = SURE) -> Floats:
        """The values that go out unchanged with probability `at_least`, by default all but surely: a channel that was
        made exact mixes in a constant of some 1e-13."""
        if not 0 < at_least <= 1:
            raise BadNoise(f"at_least must be a probability above 0, got {at_least!r}")
        return self.support[self.errors.kept >= at_least]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): the error of a release lies in it with probability at least `level` < 1."""
        half = self.errors.quantile(level)
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> ChannelMechanism:
        """The same channel followed by `f`, a function of the released numbers; the two share one release."""
        return ChannelMechanism(**self._with_post(f, name), noise=self.noise, support=self.support)

    def _silent(self) -> bool:
        return self.noise.silent

    def _centre(self) -> float:
        return float(self.support[(len(self.support) - 1) // 2])

    def _draw(self, column: Column, source: BitSource) -> Column:
        known = ~np.isnan(column)
        places = np.searchsorted(self.support, nearest(self.support, column[known]))
        out = np.full(column.shape, np.nan)
        out[known] = np.array(self.noise.outputs)[self.noise.draw(places, source)]
        return out

    def _processed(self, drawn: Column) -> Column:
        """Categories without an order go out under their names, never as codes; missing ones as empty text."""
        if self.names is None:
            return super()._processed(drawn)
        named = np.array([*self.names, ""])[np.where(np.isnan(drawn), -1, self._places(drawn))]
        for step in self.post:
            named = np.asarray(step(named))
        return named

    def _places(self, drawn: Column) -> NDArray[np.int64]:
        return np.searchsorted(np.array(self.noise.outputs), np.nan_to_num(drawn))

    def __repr__(self) -> str:
        return f"ChannelMechanism({self.noise!r}, {self.guarantee!r}, method={self.certificate.method!r})"
