"""`Problem`: laws as stated, and what rounding onto a lattice makes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.laws.items import Shape
from fugu.laws.set_family import SetFamily
from fugu.noise.lattice import Lattice


@dataclass(frozen=True, eq=False)
class Problem:
    """Laws on lattice indices. `given` are the laws as stated; `items` is what rounding makes of them."""

    items: tuple[Shape, ...]
    given: tuple[Shape, ...]
    lattice: Lattice
    free: bool = False
    """Whether a coarser lattice would do as well: nobody asked for this one."""
    finer: Fraction | None = None
    """The grid that the values have by themselves, where the lattice is coarser to be within reach."""

    @property
    def dimension(self) -> int:
        """1 for a published number, d for a vector."""
        return self.given[0].dimension

    @property
    def cells(self) -> int:
        """(pair, atom) cells: what a method has to look at."""
        return sum(len(f.points) * len(f.pairs) for f in self.items if isinstance(f, Family | SetFamily))

    @property
    def support(self) -> NDArray[np.float64] | None:
        """All stated atoms; None where some law is an unknown translate, or spreads over the whole line."""
        atoms = [f.points for f in self.given if isinstance(f, Family | SetFamily) and not f.translates]
        if len(atoms) < len(self.given):
            return None
        return atoms[0] if len(atoms) == 1 else np.unique(np.concatenate(atoms), axis=0)

    def unrounded(self) -> tuple[Shape, ...] | None:
        """The stated laws with their atoms numbered in order: all that matters when neither noise nor rounding is
        applied. None for laws without atoms and for vectors, which are always rounded."""
        if self.dimension > 1 or not all(item.atoms for item in self.given):
            return None
        return tuple(item.numbered() for item in self.given)

    def beliefs(self) -> str:
        """SHA-256 of the laws as stated, before any rounding: equal for two calibrations on the same beliefs."""
        return beliefs_of(self.given)

    def coarser(self, factor: int) -> Problem:
        """The laws as stated, rounded onto a lattice of so many times the grid."""
        lattice = Lattice(self.lattice.grid * factor, self.lattice.origin)
        return replace(on(self.given, lattice), free=self.free, finer=self.finer or self.lattice.grid)

    def spread(self) -> float:
        """The largest standard deviation of the published value, both laws of a pair pooled, in lattice steps."""
        return max(item.spread() for item in self.given) / float(self.lattice.grid)

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


def on(given: tuple[Shape, ...], lattice: Lattice) -> Problem:
    """The laws rounded onto a lattice."""
    return Problem(tuple(item.on(lattice) for item in given), given, lattice)


def beliefs_of(given: Sequence[Shape]) -> str:
    """SHA-256 of laws as stated."""
    digest = hashlib.sha256()
    for item in given:
        item.mark(digest)
    return digest.hexdigest()
