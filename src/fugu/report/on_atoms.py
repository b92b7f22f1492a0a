"""How pictures see Laplace noise on the atoms: masses on the atoms alone, the ratios of Laplace noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fugu.laws.family import Family
from fugu.loss.atoms.on_atoms import spread_out
from fugu.loss.search.on_atoms import fast_atom_delta, log_masses
from fugu.report.kernels import KERNELS, REACH, Scaled
from fugu.report.sums import Floats, Indices, log_sums

if TYPE_CHECKING:
    from fugu.report.views import View


class OnAtoms(Scaled):
    """The noised law is a law on the atoms of the noise; a pair may have fewer."""

    shape = "Laplace noise between the values that the beliefs know, with a scale of"

    def window(self, noise: Any, level: float = REACH) -> int:
        """Nothing lies beyond the outermost atoms."""
        del noise, level
        return 0

    def losses(self, family: Family, noise: Any, epsilon: float) -> Floats:
        """max over atoms of |ln(S_i / S_j)|, as for Laplace noise."""
        del epsilon
        logs = log_sums(family, self.steps(noise))[1]
        return np.array([float(np.nanmax(np.abs(logs[i] - logs[j]))) for i, j in family.pairs])

    def distribution(self, view: View, index: Indices) -> Floats:
        masses = np.exp(log_masses(spread_out(view.pair, view.noise), self.steps(view.noise)))
        sums = np.column_stack([np.zeros(len(masses)), np.cumsum(masses, axis=1)])
        return np.asarray(sums[:, np.searchsorted(np.array(view.noise.atoms), index, side="right")])

    def curve(self, view: View, start: int, stop: int, most: int) -> tuple[Indices, Floats]:
        """At every output."""
        del start, stop, most
        spread = spread_out(view.pair, view.noise)
        logs = log_masses(spread, self.steps(view.noise))
        return spread.points, logs[0] - logs[1]

    def apart(self, view: View) -> float:
        """sup_S P(S) - Q(S) after noise."""
        spread = spread_out(view.pair, view.noise)
        return min(1.0, fast_atom_delta(spread, self.steps(view.noise), 0.0) + 1e-12)


KERNELS["atoms"] = OnAtoms()
