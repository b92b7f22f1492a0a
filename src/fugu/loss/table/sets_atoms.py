"""Laplace noise on the atoms, for sets of laws: the pure loss of Laplace noise, member by member."""

from __future__ import annotations

from fractions import Fraction
from typing import final

import numpy as np

from fugu.errors import BadNoise
from fugu.guarantee.asks import Ask
from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.table.sets_laplace import LEAKAGE as LAPLACE
from fugu.noise.atoms import AtomLaplace
from fugu.noise.laplace import Laplace


@final
class SetsAtoms(Leakage[SetFamily, AtomLaplace]):
    """For every two members the pure loss is that of Laplace noise (docs/proofs/atoms.md#2-losses), so the largest is.

    Its delta and divergences are larger than those of Laplace noise, and no bound over sets is known."""

    about = "Laplace noise on the atoms, on sets of laws"

    def pure(self, item: SetFamily, noise: AtomLaplace, epsilon: Fraction) -> list[PairLoss]:
        """As of Laplace noise; every declared value must be an atom."""
        if not np.isin(item.points, np.array(noise.atoms, dtype=np.int64)).all():
            raise BadNoise("a set of laws has values that are none of the atoms of the noise")
        return LAPLACE.pure(item, _added(noise), epsilon)

    def limit(self, item: SetFamily, noise: AtomLaplace) -> Fraction | None:
        """As of Laplace noise."""
        return LAPLACE.limit(item, _added(noise))

    def fast_pure(self, item: SetFamily, steps: float) -> float:
        """As of Laplace noise."""
        return LAPLACE.fast_pure(item, steps)

    def require(self, item: SetFamily, ask: Ask) -> None:
        """Equal outputs of different laws are impossible; and only ratios are known."""
        LAPLACE.require(item, ask)
        if not ask.pure:
            raise self._unknown("delta or divergence")

    def start(self, item: SetFamily, ask: Ask) -> float:
        """As for Laplace noise."""
        return LAPLACE.start(item, ask)

    def sure(self, item: SetFamily, ask: Ask) -> float:
        """As for Laplace noise."""
        return LAPLACE.sure(item, ask)

    def leak(self, item: SetFamily, noise: AtomLaplace) -> float:
        """As of Laplace noise."""
        return LAPLACE.leak(item, _added(noise))


def _added(noise: AtomLaplace) -> Laplace:
    """Laplace noise of the same scale on the same lattice."""
    return Laplace(noise.scale, noise.grid)


LEAKAGE = SetsAtoms()
