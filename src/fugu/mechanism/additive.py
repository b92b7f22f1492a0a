"""`Additive`: round onto the lattice, add exact lattice noise; or move between the atoms there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.remap import Loss, Remap
from fugu.laws.discrete import Discrete
from fugu.laws.places import nearest
from fugu.mechanism.mechanism import Column, Mechanism
from fugu.mechanism.post import Step
from fugu.mechanism.remapping import remap_of
from fugu.noise.atoms import AtomLaplace
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Objective, Sampler, check_objective
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Additive(Mechanism):
    """Y = value(index(nearest supported X) + N) on the lattice, N the lattice noise: what is proved.

    Noise on atoms moves the index to that of another atom instead, and the supported value of that atom goes out."""

    noise: Laplace | Gaussian | AtomLaplace
    lattice: Lattice | None
    """Where values are rounded; None if neither noise nor rounding is applied."""
    support: NDArray[np.float64] | None
    """The atoms of all laws, sorted; None for translates of an unknown law, where only the lattice is known."""
    remap: Remap | None = None
    """Where outputs are moved to, if they are: a table that is part of the certificate."""

    @property
    def sampler(self) -> Sampler:
        """The exact sampler of this noise: its own on atoms, else one for all noise of that scale."""
        return self._on_atoms if self.noise.on_atoms else self.noise.sampler

    @cached_property
    def _on_atoms(self) -> Sampler:
        return self.noise.sampler

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| or E N^2 of the noise; of noise on atoms and of remapped outputs, for a value of their weight."""
        if self.remap is not None:
            check_objective(objective)
            return self.remap.expected_error(objective)
        return self.noise.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): noise quantile plus half a grid step where values are rounded."""
        drawn = self.noise if self.remap is None else self.remap
        half = drawn.quantile(level) + rounding_error(self.lattice, self.support)
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> Additive:
        """The same noise followed by `f`; the two share one release."""
        return replace(self, **self._with_post(f, name))

    def remapped(self, loss: Loss = "absolute", weight: Discrete | Literal["mean"] = "mean") -> Additive:
        """The same noise, its outputs moved to the value of least expected `loss` given the output; a public table.

        Free post-processing: the guarantee stays as it is. See `Mechanism.remapped`."""
        if self.noise.silent:
            return self
        certificate, remap = remap_of(self.certificate, self.context, loss, weight)
        return replace(self, certificate=certificate, remap=remap)

    def _silent(self) -> bool:
        return self.noise.scale == 0

    def _centre(self) -> float:
        return 0.0 if self.support is None else float(self.support[(len(self.support) - 1) // 2])

    def _draw(self, column: Column, source: BitSource) -> Column:
        known = ~np.isnan(column)
        clean = column[known] if self.support is None else nearest(self.support, column[known])
        out = np.full(column.shape, np.nan)
        if self.lattice is None:
            out[known] = clean
        else:
            places = self.lattice.index(self.lattice.within(clean))
            if not self.noise.silent:
                places = self.noise.move(places, self.sampler, source)
            if self.remap is not None:
                out[known] = self.remap.apply(places)
                return out
            moved = self.lattice.value(places)
            out[known] = nearest(self.support, moved) if self.noise.on_atoms and self.support is not None else moved
        return out

    def __repr__(self) -> str:
        moved = "" if self.remap is None else f", remapped by {self.remap.loss} loss"
        return f"Additive({self.noise!r}, {self.guarantee!r}, method={self.certificate.method!r}{moved})"


def rounding_error(lattice: Lattice | None, support: NDArray[np.float64] | None) -> float:
    """The largest error, in any coordinate, of rounding a supported value onto the lattice; half a step if any value
    may come, none without a lattice."""
    if lattice is None:
        return 0.0
    if support is None:
        return float(lattice.grid) / 2
    return float(np.max(np.abs(lattice.value(lattice.index(support)) - support)))
