"""`Extremes`: the largest and the least noised mass over a set of laws, at every output.

N(y) = max over the set of sum_x p(x) g(y - x) and D(y) = min of the same, for a kernel g that is not normalised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from flint import arb

from fugu.loss.sets import scanned, summed
from fugu.loss.sets.forms import Form, Grid
from fugu.loss.sets.kernels import Kernel
from fugu.numbers import balls

PRECISION = 128
Balls = tuple[list[arb], list[arb]]


class Extremes(ABC):
    """N and D of one set."""

    @abstractmethod
    def proved(self, kernel: Kernel) -> Balls:
        """Balls whose upper ends are at or above N, and whose lower ends are at or below D. `kernel`: of the noise."""


@dataclass(frozen=True, eq=False)
class Formed(Extremes):
    """N and D that are forms."""

    grid: Grid
    upper: Form
    lower: Form

    def proved(self, kernel: Kernel) -> Balls:
        """Both forms in balls, with as many bits more as a difference may cancel."""
        with balls.precision(PRECISION + self.grid.cancelled.bit_length()):
            way = scanned.proved if kernel.scans else summed.proved
            most, least = way(self.grid, (self.upper, self.lower), kernel)
            return most, least


@dataclass(frozen=True, eq=False)
class Widest(Extremes):
    """The largest N and the least D of several: those of their hull."""

    parts: Sequence[Extremes]

    def proved(self, kernel: Kernel) -> Balls:
        """In balls."""
        most, least = zip(*(part.proved(kernel) for part in self.parts), strict=True)
        with balls.precision(PRECISION):
            return _columns(most, arb.max), _columns(least, arb.min)


@dataclass(frozen=True, eq=False)
class Narrowest(Extremes):
    """The least N and the greatest D of several: bounds for the laws that they share."""

    parts: Sequence[Extremes]

    def proved(self, kernel: Kernel) -> Balls:
        """In balls."""
        most, least = zip(*(part.proved(kernel) for part in self.parts), strict=True)
        with balls.precision(PRECISION):
            return _columns([[x.upper() for x in row] for row in most], arb.min), _columns(
                [[x.lower() for x in row] for row in least], arb.max
            )


def _columns(rows: Sequence[Sequence[arb]], take: Callable[[arb, arb], arb]) -> list[arb]:
    return [reduce(take, column) for column in zip(*rows, strict=True)]
