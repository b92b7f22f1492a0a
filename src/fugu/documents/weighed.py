"""What a remap is made from: the noise, where values lie, and a public weight; in doubles, since no guarantee rests on
it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.errors import CertificateError, NotProvable, UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.mean import mean_law
from fugu.laws.places import nearest
from fugu.noise.atoms import AtomLaplace
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
MOST = 40_000_000
"""Most (output, atom) cells that a table is worked out for."""
_CHUNK = 2_000_000
_BEYOND = 9
"""Gaussian noise: the table reaches so many scales beyond the atoms, and stays as it is there."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """Rounding, noise, and the weight: what a table is made from."""

    noise: Laplace | Gaussian | AtomLaplace
    points: Places
    """Where values lie, as lattice indices, sorted."""
    shown: Floats
    """The values there."""
    weight: tuple[int, ...]
    """Public whole numbers, one for each point."""

    @property
    def shares(self) -> Floats:
        """The weight as probabilities."""
        total = sum(self.weight)
        return np.array([w / total for w in self.weight])

    def outputs(self) -> Places:
        """Every output that a table lists: the atoms, or the lattice points between the ends, and some beyond."""
        if isinstance(self.noise, AtomLaplace):
            return self.points
        low, high = int(self.points[0]), int(self.points[-1])
        margin = int(_BEYOND * float(self.noise.spread_in_steps)) + 1 if self.noise.norm == 2 else 0
        count = high - low + 1 + 2 * margin
        if count * len(self.points) > MOST:
            raise NotProvable(
                f"a remap would list {count:,} outputs for {len(self.points):,} atoms, and at most {MOST:,} cells are "
                "worked out; give a coarser grid, or noise='atoms', which has fewer outputs"
            )
        return np.arange(low - margin, high + margin + 1)

    def posteriors(self, outputs: Places) -> Iterator[tuple[slice, Floats]]:
        """w_x K(y | x) over the points, for blocks of outputs, each row divided by its sum."""
        decay, with_mass = float(self.noise.decay), self.shares
        with np.errstate(divide="ignore"):
            logs = np.log(with_mass)
        step = max(1, _CHUNK // len(self.points))
        for start in range(0, len(outputs), step):
            own = slice(start, start + step)
            apart = np.abs(outputs[own, None] - self.points[None, :]).astype(np.float64)
            found = logs - decay * apart**self.noise.norm
            found -= found.max(axis=1, keepdims=True)
            np.exp(found, out=found)
            found /= found.sum(axis=1, keepdims=True)
            yield own, found

    def above(self, starts: Places) -> Floats:
        """P(Y >= start | x), one row for each point x, one column for each start, in doubles."""
        if isinstance(self.noise, AtomLaplace):
            behind = np.cumsum(self.noise.matrix()[:, ::-1], axis=1)[:, ::-1]
            where = np.searchsorted(self.points, starts)
            return np.column_stack([behind, np.zeros(len(self.points))])[:, where]
        steps = starts[None, :] - self.points[:, None]
        distinct, where = np.unique(steps, return_inverse=True)
        grid = float(self.noise.grid or 1)
        tails = [self.noise.tail((abs(k - 1) if k > 0 else -k) * grid) / 2 for k in distinct.tolist()]
        upper = np.where(distinct > 0, tails, 1 - np.array(tails))
        return np.asarray(upper[where].reshape(steps.shape))


def weighed(certificate: Certificate, weight: Sequence[int] | None = None) -> Weighed:
    """What a certificate says it draws, with its weight; refused where a remap is not known."""
    noise, lattice = certificate.drawn, certificate.lattice
    families = certificate.families if certificate.kind == "additive" else ()
    if not isinstance(noise, Laplace | Gaussian | AtomLaplace) or lattice is None or noise.silent:
        raise UsageError("a remap is for one number with lattice noise or noise on atoms; here nothing would change")
    support = certificate.support
    if not families or len(families) < len(certificate.items) or support is None:
        raise UsageError("a remap needs laws whose values are known; these have spread, or are translates")
    points, mean = mean_law(families)
    if weight is not None and (len(weight) != len(points) or min(weight) < 0 or not any(weight)):
        raise CertificateError("the weight of a remap must be whole numbers >= 0, one for each point, not all 0")
    if isinstance(noise, AtomLaplace) and tuple(points.tolist()) != noise.atoms:
        raise UsageError("a remap needs the atoms of the noise to be those of the laws")
    shown = nearest(support, lattice.value(points))
    return Weighed(noise, points, shown, tuple(mean if weight is None else weight))


def weight_on(law: Discrete, points: Places, support: Floats | None, lattice: Lattice) -> list[int]:
    """A declared law as whole numbers on these points: its values are moved and rounded as data is."""
    if law.values.ndim > 1:
        raise UsageError("the weight of a remap is a law of one number")
    moved = law.values if support is None else nearest(support, law.values)
    places = lattice.index(lattice.within(moved))
    parts, _ = law.masses.whole()
    sums = dict.fromkeys(points.tolist(), 0)
    for place, part in zip(places.tolist(), parts, strict=True):
        if place not in sums:
            raise UsageError("the weight of a remap has values that the laws do not have; give it on their values")
        sums[place] += part
    return list(sums.values())
