"""What noise on atoms and remapped outputs do, in doubles: to choose events to bet on. Nothing here is a proof."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.auditing.release_attack.channel import Channel, Window
from fugu.auditing.shadows import Floats
from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.laws.places import nearest
from fugu.loss.sets.kernels import Kernel
from fugu.noise.atoms import AtomLaplace
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice


def ratios_of(certificate: Certificate) -> Kernel:
    """The decay that sets the ratios of noised masses; noise on atoms has those of Laplace noise."""
    noise = certificate.number_noise
    return Kernel.of(Laplace(noise.scale, noise.grid) if isinstance(noise, AtomLaplace) else noise)


@dataclass(frozen=True, eq=False)
class AtomsChannel(Channel):
    """Finitely many inputs and outputs: P(output | value) is a table."""

    inputs: Floats
    outputs: Floats
    chances: Floats
    """One row for each input, one column for each output."""

    @staticmethod
    def on_atoms(noise: AtomLaplace, lattice: Lattice, support: Floats | None) -> AtomsChannel:
        """Noise on atoms: values in, values out."""
        shown = lattice.value(np.array(noise.atoms, dtype=np.int64))
        shown = shown if support is None else nearest(support, shown)
        return AtomsChannel(shown, shown, noise.matrix())

    @staticmethod
    def remapped(remap: Remap) -> AtomsChannel:
        """Outputs that a table moves: those that become the same value are one."""
        to, where = np.unique(remap.to, return_inverse=True)
        chances = np.zeros((len(remap.channel.shown), len(to)))
        for column, chance in zip(where.tolist(), remap.chances().T, strict=True):
            chances[:, column] += chance
        return AtomsChannel(remap.channel.shown, to, np.maximum(chances, 0.0))

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

    def window(self, atoms: Floats, most: int) -> Window | None:  # noqa: ARG002
        """Every output there is."""
        return self.outputs, 1.0
