"""Coarser lattices for laws whose own lattice has too many points to be visited."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.errors import OutOfReach
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.mechanism.pushed import numbered
from fugu.noise.lattice import Lattice

FINER = 16
"""A lattice is at most this part of the scale and of the spread of the values."""
MOST_STEPS = 2.0**51
"""The widest noise, in lattice steps, that the samplers draw exactly, with room for rounding its scale up."""
_AMPLE = 2000
"""Steps in the scale and in the range of the values that make rounding negligible: it costs at most 0.05 % of both."""
_LIGHTER = 4
"""The first coarser lattice that is tried has this many times fewer points than are allowed: points take time."""
_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Problem:
    """Laws on lattice indices. `given` are the laws as stated; `items` is what rounding makes of them."""

    items: tuple[Item, ...]
    given: tuple[Item, ...]
    lattice: Lattice
    free: bool = False
    """Whether a coarser lattice would do as well: nobody asked for this one."""
    finer: Fraction | None = None
    """The grid that the values have by themselves, where the lattice is coarser to be within reach."""

    @property
    def support(self) -> NDArray[np.float64] | None:
        """All stated atoms; None where some law is an unknown translate, or spreads over the whole line."""
        atoms = [f.points for f in self.given if isinstance(f, Family) and not f.translates]
        if len(atoms) < len(self.given):
            return None
        return atoms[0] if len(atoms) == 1 else np.unique(np.concatenate(atoms))

    def unrounded(self) -> tuple[Family, ...] | None:
        """The stated laws with their atoms numbered in order: all that matters when neither noise nor rounding is
        applied. None for laws without atoms, which are always rounded."""
        if any(isinstance(f, Analytic) for f in self.given):
            return None
        return tuple(numbered(f) for f in self.given if isinstance(f, Family))

    def coarser(self, factor: int) -> Problem:
        """The laws as stated, rounded onto a lattice of so many times the grid."""
        lattice = Lattice(self.lattice.grid * factor, self.lattice.origin)
        return replace(on(self.given, lattice), free=self.free, finer=self.finer or self.lattice.grid)

    def spread(self) -> float:
        """The largest standard deviation of the published value, both laws of a pair pooled, in lattice steps."""
        return max(pooled(item) for item in self.given) / float(self.lattice.grid)

    @property
    def rounding(self) -> str | None:
        """What a certificate says of a lattice coarser than the values; None where it is not."""
        if self.finer is None:
            return None
        step = self.lattice.grid
        return (
            f"values are rounded to multiples of {step} from {self.lattice.origin} before noise is added, coarser than "
            f"their own step {self.finer}, so that every lattice point could be visited: no value moves by more than "
            f"{step / 2}, and the guarantee is for the rounded values"
        )


def coarse_note(asked: Problem) -> str:
    """The same in few words, for a table."""
    return f"values are rounded to multiples of {float(asked.lattice.grid):g}: their own step is out of reach"


def on(given: tuple[Item, ...], lattice: Lattice) -> Problem:
    """The laws rounded onto a lattice."""
    return Problem(tuple(f.on(lattice) for f in given), given, lattice)


def reachable(asked: Problem, search: Callable[[Problem], float]) -> tuple[Problem, float]:
    """The problem on a lattice where `search`, for the least scale in steps, is within reach, and what it finds.

    The laws' own lattice where that can be; else one 2, 5, 10, ... times coarser. Rounding is part of the query: the
    laws are pushed through the coarser lattice before anything is searched or proved, so what is proved holds for what
    is released. A lattice that would show, above a sixteenth of the scale or of the spread, is not taken: then the
    first refusal stands."""
    try:
        return asked, search(asked)
    except OutOfReach as error:
        if not asked.free:
            raise
        first = last = error
    factor = 1
    for _ in range(_ROUNDS):
        factor = ladder(factor * max(1.5, _LIGHTER * last.points / last.limit))
        found = asked.coarser(factor)
        if found.spread() < FINER:
            raise first
        try:
            steps = search(found)
        except OutOfReach as error:
            last = error
            continue
        return _settled(asked, search, factor, steps, first)
    raise first


def _settled(
    asked: Problem, search: Callable[[Problem], float], factor: int, steps: float, first: OutOfReach
) -> tuple[Problem, float]:
    """A lattice within reach, made coarser while rounding stays negligible, since visiting its points takes time; or
    finer, while it can be, where the scale turned out to be small."""
    found = asked.coarser(factor)
    room = min(steps, found.spread()) / _AMPLE
    if room >= 2:
        lighter = asked.coarser(ladder(factor * room / 2))
        return lighter, search(lighter)
    while steps < FINER and factor > 1:
        factor = ladder(factor / 5)  # a fifth to a half
        try:
            found, steps = asked.coarser(factor), search(asked.coarser(factor))
        except OutOfReach:
            break
    if steps < FINER:
        raise first
    return found, steps


def ladder(x: float) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... that is at least x, up to rounding.

    >>> [ladder(x) for x in (0.3, 2, 3, 10, 51)]
    [1, 2, 5, 10, 100]
    """
    power = int(10 ** max(0, math.floor(math.log10(max(x, 1.0)) + 1e-9)))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= x * (1 - 1e-9))


def pooled(item: Item) -> float:
    """The standard deviation of the published value under all laws of an item together; 1 where it has none."""
    if isinstance(item, Analytic):
        weights, means, stds = (
            np.concatenate((getattr(item.p, part), getattr(item.q, part))) for part in ("weights", "means", "stds")
        )
        return std(weights / 2, means, stds) or 1.0
    return std(item.weights.mean(axis=0), item.points, np.zeros(len(item.points))) or 1.0


def std(weights: NDArray[np.float64], means: NDArray[np.float64], stds: NDArray[np.float64]) -> float:
    """sqrt(sum w (std^2 + (mean - centre)^2)), in a unit that keeps squares from overflowing or vanishing."""
    unit = float(np.maximum(np.abs(means), stds).max()) or 1.0
    centred = means / unit - weights @ (means / unit)
    return float(np.sqrt(weights @ ((stds / unit) ** 2 + centred**2))) * unit
