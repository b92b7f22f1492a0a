"""What a certificate says its noise does, in doubles; noise on atoms and remapped outputs too. No proof."""

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
from fugu.laws.components import nearest
from fugu.laws.family import SetFamily
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number

_REACH, _REACH_OF_VECTORS = 40.0, 25.0
"""Outputs beyond exp(-this) are left out of a window."""
_COARSEST = 4
"""Of vectors, a window takes at most every fourth output per coordinate."""
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
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
    """Rounding and noise on lattice indices, of numbers (n,) or of vectors (n, d)."""

    noise: Noise
    lattice: Lattice | None
    support: Floats | None

    def _clean(self, atoms: Floats) -> Floats:
        return atoms if self.support is None else nearest(self.support, atoms)

    def _shown(self, index: Indices) -> Floats:
        """What indices are published as: noise that is not added goes back to the values of the support."""
        assert self.lattice is not None
        shown = self.lattice.value(index)
        return shown if self.noise.added else self._clean(shown)

    def log_mass(self, atoms: Floats, outputs: Floats) -> Floats:
        """ln P(y | x) of their indices; none off the lattice."""
        clean = self._clean(atoms)
        if self.lattice is None:
            return _logs(_equal(outputs, clean))
        at, seen = self.lattice.index(self.lattice.within(clean)), self.lattice.index(outputs)
        found = _logs(_equal(seen, at)) if self.noise.silent else self.noise.log_kernel(at, seen)
        off = self._shown(seen) != outputs
        found[off if off.ndim == 1 else off.any(axis=1)] = -np.inf
        return np.asarray(found)

    def window(self, atoms: Floats, most: int) -> Window | None:
        """Lattice points around the atoms; every m-th of them where they are too many."""
        clean = self._clean(atoms)
        if self.lattice is None or self.noise.silent:
            shown = clean if self.lattice is None else self.lattice.value(self.lattice.index(clean))
            return np.unique(shown, axis=0), 1.0
        at = self.lattice.index(self.lattice.within(clean))
        if at.ndim == 1:
            seen, stride = self.noise.outputs(at, _REACH, most)
            return self._shown(seen), float(stride)
        reach, d = self.noise.reach(_REACH_OF_VECTORS), at.shape[1]
        ends = [(int(row.min()) - reach, int(row.max()) + reach) for row in at.T]
        wide = math.prod(high - low + 1 for low, high in ends)
        stride = max(1, math.ceil((wide / most) ** (1 / d)))
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
    """Finitely many inputs and outputs: P(output | value) is a table, one row for each input."""

    inputs: Floats
    outputs: Floats
    chances: Floats

    @staticmethod
    def remapped(remap: Remap) -> TableChannel:
        """Outputs that a table moves: those that become the same value are one."""
        to, where = np.unique(remap.to, return_inverse=True)
        chances = np.zeros((len(remap.channel.shown), len(to)))
        for column, chance in zip(where.tolist(), remap.chances().T, strict=True):
            chances[:, column] += chance
        return TableChannel(remap.channel.shown, to, np.maximum(chances, 0.0))

    @cached_property
    def _logs(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.chances)

    def log_mass(self, atoms: Floats, outputs: Floats) -> Floats:
        """Looked up; values are moved to the nearest input first, and nothing else is published."""
        rows = np.searchsorted(self.inputs, nearest(self.inputs, atoms))
        columns = np.minimum(np.searchsorted(self.outputs, outputs), len(self.outputs) - 1)
        found = self._logs[rows][:, columns].T.copy()
        found[self.outputs[columns] != outputs] = -np.inf
        return np.asarray(found)

    def window(self, atoms: Floats, most: int) -> Window | None:
        """Every output there is."""
        del atoms, most
        return self.outputs, 1.0


def channel_of(certificate: Certificate) -> Channel:
    """The channel that the certificate states, for numbers and vectors with lattice noise, and mixtures of such."""
    if certificate.kind == "mixed":
        first, second = map(channel_of, certificate.parts)
        return MixedChannel(first, second, float(read_number(certificate.body["share"])))
    if certificate.kind == "channel":
        assert certificate.support is not None
        return TableChannel(certificate.support, np.array(certificate.noise.outputs), certificate.noise.conditional())
    if (remap := Remap.in_certificate(certificate)) is not None:
        return TableChannel.remapped(remap)
    return LatticeChannel(certificate.noise, certificate.lattice, certificate.support)


def worst_exchanged(item: SetFamily, certificate: Certificate) -> tuple[Floats, Floats]:
    """The laws of the first pair between which the most telling output of a channel tells most."""
    i, j = item.pairs[0]
    table = certificate.noise.conditional()[item.points]
    ends = [(one.tops(table.T), -one.tops(-table.T)) for one in (item.sets[i], item.sets[j])]
    with np.errstate(divide="ignore", invalid="ignore"):
        told = [np.nan_to_num(ends[a][0] / np.maximum(ends[b][1], 0.0), nan=0.0) for a, b in ((0, 1), (1, 0))]
    turned = bool(told[0].max() < told[1].max())
    column = table[:, int(np.argmax(told[turned]))] * (-1 if turned else 1)
    p, q = (np.maximum(law, 0.0) for law in (item.sets[i].extreme(column), item.sets[j].extreme(-column)))
    return p / p.sum(), q / q.sum()


def _logs(hit: Flags) -> Floats:
    return np.where(hit, 0.0, -np.inf)


def _equal(outputs: Floats | Indices, clean: Floats | Indices) -> Flags:
    same = outputs[:, None] == clean[None]
    return np.asarray(same if same.ndim == 2 else same.all(axis=2))
