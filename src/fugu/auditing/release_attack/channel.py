"""What a certificate says its noise does, in doubles: ln of the mass of an output, given the value that was rounded.

Nothing here is a proof, and no bound rests on it: it says which events to bet on, and how likely they should be."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.shadows import Floats
from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.laws.places import nearest
from fugu.laws.set_family import SetFamily
from fugu.noise import LatticeNoise
from fugu.noise.atoms import AtomLaplace
from fugu.noise.channel import Channel as Table
from fugu.noise.gaussian import upper_sum
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number

_REACH, _REACH_OF_VECTORS = 40.0, 25.0
"""Outputs beyond exp(-this) are left out of a window."""
_COARSEST = 4
"""Of vectors, a window takes at most every fourth output per coordinate."""
Flags = NDArray[np.bool_]
Window = tuple[Floats, float]
"""Outputs, and how many lattice points each stands for."""


class Channel(ABC):
    """From a value to the law of what goes out."""

    @abstractmethod
    def log_mass(self, atoms: Floats, outputs: Floats) -> Floats:
        """ln P(output | value), one row per output, one column per atom."""

    @abstractmethod
    def window(self, atoms: Floats, most: int) -> Window | None:
        """Nearly all outputs that these values can give, at most `most`; None if that many say too little."""


@dataclass(frozen=True, eq=False)
class LatticeChannel(Channel):
    """Rounding and independent lattice noise, of numbers (n,) or of vectors (n, d)."""

    noise: LatticeNoise
    lattice: Lattice | None
    support: Floats | None

    @cached_property
    def _log_total(self) -> float:
        """ln of the sum of exp(-decay |k|^norm) over all whole numbers k."""
        decay = float(self.noise.decay)
        if self.noise.norm == 1:
            return -math.log(math.tanh(decay / 2))
        return math.log1p(2 * upper_sum(decay, 1)) if decay > 1e-12 else 0.5 * math.log(math.pi / decay)

    def _clean(self, atoms: Floats) -> Floats:
        return atoms if self.support is None else nearest(self.support, atoms)

    def log_mass(self, atoms: Floats, outputs: Floats) -> Floats:
        """-decay |steps|^norm - ln(total), summed over coordinates; none off the lattice."""
        clean = self._clean(atoms)
        if self.lattice is None:
            return _logs(_equal(outputs, clean))
        at, seen = self.lattice.index(self.lattice.within(clean)), self.lattice.index(outputs)
        steps = np.abs(seen[:, None] - at[None]).astype(np.float64)
        if self.noise.silent:
            found = _logs(np.all(steps.reshape(*steps.shape[:2], -1) == 0, axis=2))
        else:
            each = -float(self.noise.decay) * steps**self.noise.norm - self._log_total
            found = each if each.ndim == 2 else each.sum(axis=2)
        off = self.lattice.value(seen) != outputs
        found[off if off.ndim == 1 else off.any(axis=1)] = -np.inf
        return np.asarray(found)

    def window(self, atoms: Floats, most: int) -> Window | None:
        """Lattice points around the atoms; every m-th of them where they are too many."""
        clean = self._clean(atoms)
        if self.lattice is None or self.noise.silent:
            shown = clean if self.lattice is None else self.lattice.value(self.lattice.index(clean))
            return np.unique(shown, axis=0), 1.0
        at = self.lattice.index(self.lattice.within(clean))
        d = 1 if at.ndim == 1 else at.shape[1]
        far = _REACH if d == 1 else _REACH_OF_VECTORS
        reach = math.ceil((far / float(self.noise.decay)) ** (1 / self.noise.norm))
        ends = [(int(row.min()) - reach, int(row.max()) + reach) for row in at.reshape(len(at), d).T]
        wide = math.prod(high - low + 1 for low, high in ends)
        stride = max(1, math.ceil((wide / most) ** (1 / d)))
        if d == 1:
            return self.lattice.value(np.arange(ends[0][0], ends[0][1] + 1, stride) + stride // 2), float(stride)
        if stride > _COARSEST:
            return None
        axes = [np.arange(low, high + 1, stride) for low, high in ends]
        return self.lattice.value(np.array(list(product(*axes)))), float(stride**d)


@dataclass(frozen=True, eq=False)
class MixedChannel(Channel):
    """One of two channels, by a coin."""

    first: Channel
    second: Channel
    share: float

    def log_mass(self, atoms: Floats, outputs: Floats) -> Floats:
        """ln(share P_1 + (1 - share) P_2)."""
        with np.errstate(divide="ignore"):
            ahead, behind = np.log(self.share), np.log1p(-self.share)
        first, second = (part.log_mass(atoms, outputs) for part in (self.first, self.second))
        return np.asarray(np.logaddexp(ahead + first, behind + second))

    def window(self, atoms: Floats, most: int) -> Window | None:
        """The outputs of either; None where one of them shows only some of its outputs."""
        both = (self.first.window(atoms, most // 2), self.second.window(atoms, most // 2))
        if both[0] is None or both[1] is None or both[0][1] != 1 or both[1][1] != 1:
            return None
        return np.unique(np.concatenate([both[0][0], both[1][0]]), axis=0), 1.0


@dataclass(frozen=True, eq=False)
class TableChannel(Channel):
    """A table of whole numbers: the law of what goes out is one of its rows, exactly."""

    table: Table
    support: Floats

    def _rows(self, atoms: Floats) -> Floats:
        return self.table.conditional()[np.searchsorted(self.support, nearest(self.support, atoms))]

    def log_mass(self, atoms: Floats, outputs: Floats) -> Floats:
        """ln K(y | x); none for what is no output."""
        known = np.array(self.table.outputs)
        at = np.minimum(np.searchsorted(known, outputs), len(known) - 1)
        with np.errstate(divide="ignore"):
            found = np.log(self._rows(atoms).T[at])
        found[known[at] != outputs] = -np.inf
        return np.asarray(found)

    def window(self, atoms: Floats, most: int) -> Window | None:
        """Every output."""
        del atoms, most
        return np.array(self.table.outputs), 1.0


def channel_of(certificate: Certificate) -> Channel:
    """The channel that the certificate states, for numbers and vectors with lattice noise, and mixtures of such."""
    if certificate.kind == "mixed":
        first, second = map(channel_of, certificate.parts)
        return MixedChannel(first, second, float(read_number(certificate.body["share"])))
    from fugu.auditing.release_attack import on_atoms

    if certificate.kind == "channel":
        assert certificate.support is not None
        return TableChannel(certificate.channel, certificate.support)
    if (remap := Remap.in_certificate(certificate)) is not None:
        return on_atoms.AtomsChannel.remapped(remap)
    noise = certificate.released_noise
    if isinstance(noise, AtomLaplace) and certificate.lattice is not None and not noise.silent:
        return on_atoms.AtomsChannel.on_atoms(noise, certificate.lattice, certificate.support)
    added = Laplace(0, noise.grid) if isinstance(noise, AtomLaplace) else certificate.noise  # without noise, the same
    return LatticeChannel(added, certificate.lattice, certificate.support)


def worst_exchanged(item: SetFamily, certificate: Certificate) -> tuple[Floats, Floats]:
    """The laws of the first pair between which the most telling output of a channel tells most."""
    i, j = item.pairs[0]
    table = certificate.channel.conditional()[item.points]
    ends = [(one.tops(table.T), -one.tops(-table.T)) for one in (item.sets[i], item.sets[j])]
    with np.errstate(divide="ignore", invalid="ignore"):
        told = [np.nan_to_num(ends[a][0] / np.maximum(ends[b][1], 0.0), nan=0.0) for a, b in ((0, 1), (1, 0))]
    turned = bool(told[0].max() < told[1].max())
    column = table[:, int(np.argmax(told[turned]))] * (-1 if turned else 1)
    p, q = (np.maximum(law, 0.0) for law in (item.sets[i].extreme(column), item.sets[j].extreme(-column)))
    return p / p.sum(), q / q.sum()


def _logs(hit: Flags) -> Floats:
    return np.where(hit, 0.0, -np.inf)


def _equal(outputs: Floats, clean: Floats) -> Flags:
    same = outputs[:, None] == clean[None]
    return np.asarray(same if same.ndim == 2 else same.all(axis=2))
