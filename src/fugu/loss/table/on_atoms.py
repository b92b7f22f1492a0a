"""Laplace noise on the atoms, for laws of one number with atoms and for sets of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import final

import numpy as np

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.family import Family, SetFamily
from fugu.loss import divergence, search
from fugu.loss.atoms import prove_delta_on_atoms, prove_renyi_on_atoms, spread_out
from fugu.loss.leakage import Leakage, PairLoss, in_units
from fugu.loss.table.line import LINE_LAPLACE, divergence_start, upper
from fugu.loss.table.sets import SETS_LAPLACE
from fugu.noise.atoms import AtomLaplace
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real

# Laplace noise on the atoms, for laws of one number with atoms: the pure loss of Laplace noise, its own delta.


_UNKNOWN = "noise on atoms needs laws whose atoms are known; for translates of an unknown law take Laplace noise"


@final
class LineAtoms(Leakage[Family, AtomLaplace]):
    """Finite sums over the atoms. P(y) / Q(y) is that of Laplace noise of the same scale, because c_y cancels; and the
    supremum of the latter is at an atom (docs/proofs/laplace.md): one pure loss for both."""

    about = "Laplace noise on the atoms, on laws with atoms"

    def pure(self, item: Family, noise: AtomLaplace, epsilon: Fraction) -> list[PairLoss]:
        """The largest ratio at atoms."""
        return LINE_LAPLACE.pure(self._fitting(item, noise), _added(noise), epsilon)

    def delta(self, item: Family, noise: AtomLaplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The sum of positive parts over all outputs, in balls."""
        return prove_delta_on_atoms(self._fitting(item, noise), _rate(noise), epsilon)

    def divergence(self, item: Family, noise: AtomLaplace, alpha: Fraction) -> list[PairLoss]:
        """The sum over all outputs, or W_inf / scale where that is less: K(y|x) <= e^{|x-x'|/b} K(y|x')."""
        fitting = self._fitting(item, noise)
        summed = prove_renyi_on_atoms(fitting, _rate(noise), alpha)
        if noise.silent:
            return summed
        coupled = {loss.pair: loss.value for loss in LINE_LAPLACE.pure(fitting, _added(noise), Fraction(0))}
        return [replace(loss, value=min(loss.value, coupled.get(loss.pair, loss.value))) for loss in summed]

    def conditioned(self, item: Family, noise: AtomLaplace, alpha: Fraction, delta: Fraction) -> Family:
        """The margins of one sub-coupling of mass 1 - delta."""
        return divergence.margins(
            item, divergence.kept(item, item.pairs[0], _added(noise), alpha, delta), item.labels[0]
        )

    def limit(self, item: Family, noise: AtomLaplace) -> Fraction | None:
        """As of Laplace noise."""
        return LINE_LAPLACE.limit(self._fitting(item, noise), _added(noise))

    def explain_pure(self, item: Family, noise: AtomLaplace) -> None:
        """Laws known up to an error have no pure loss."""
        LINE_LAPLACE.explain_pure(item, _added(noise))

    def fast_pure(self, item: Family, steps: float) -> float:
        """As of Laplace noise."""
        return LINE_LAPLACE.fast_pure(item, steps)

    def fast_delta(self, item: Family, steps: float, ask: Ratio) -> float:
        """Sums in doubles, with the family's own atoms as outputs."""
        return search.fast_atom_delta(item, steps, float(ask.epsilon))

    def fast_divergence(self, item: Family, steps: float, alpha: Fraction) -> float:
        """Sums of logarithms."""
        return search.fast_atom_renyi(item, steps, float(alpha))

    def require(self, item: Family, ask: Ask) -> None:
        """Atoms must be known; then as for Laplace noise."""
        if item.translates:
            raise NotProvable(_UNKNOWN)
        LINE_LAPLACE.require(item, ask)

    def known(self, item: Family, ask: Ask) -> float | None:
        """Nothing moves: no noise is needed."""
        return LINE_LAPLACE.known(item, ask)

    def start(self, item: Family, ask: Ask) -> float:
        """Where the search for Laplace noise starts; a little more may be needed, and the search goes up by itself."""
        return divergence_start(item, ask) if isinstance(ask, Divergences) else upper(item, ask)

    def sure(self, item: Family, ask: Ask) -> float:
        """As of Laplace noise."""
        return LINE_LAPLACE.sure(item, ask)

    def leak(self, item: Family, noise: AtomLaplace) -> float:
        """The largest ratio at atoms."""
        return LINE_LAPLACE.leak(item, _added(noise))

    def epsilon(self, item: Family, noise: AtomLaplace) -> float:
        """As of Laplace noise."""
        return LINE_LAPLACE.epsilon(item, _added(noise))

    def delta_at(self, item: Family, noise: AtomLaplace, epsilon: Real) -> float:
        """In balls, on the atoms of the noise."""
        losses = self.delta(_on_lattice(item, noise), noise, Fraction(epsilon), Fraction(0))
        return max(loss.value for loss in losses)

    def renyi(self, item: Family, noise: AtomLaplace, alpha: Fraction) -> float:
        """In balls, on the atoms of the noise."""
        return max(loss.value for loss in self.divergence(_on_lattice(item, noise), noise, alpha))

    def _fitting(self, item: Family, noise: AtomLaplace) -> Family:
        """The laws on the atoms of the noise."""
        if item.translates:
            raise NotProvable(_UNKNOWN)
        return spread_out(item, noise)


def _added(noise: AtomLaplace) -> Laplace:
    """Laplace noise of the same scale on the same lattice: what the pure loss is that of."""
    return Laplace(noise.scale, noise.grid)


def _rate(noise: AtomLaplace) -> Fraction | None:
    return None if noise.silent else noise.rate


def _on_lattice(item: Family, noise: AtomLaplace) -> Family:
    """Laws as given, on the lattice indices that the atoms of the noise are: multiples of its grid."""
    whole, unit = in_units(item)
    places = [Fraction(x) * unit / (noise.grid or 1) for x in whole.points.tolist()]
    if any(place.denominator != 1 for place in places):
        raise BadNoise("some values are off the lattice of this noise; give atoms as multiples of its grid")
    return replace(item, points=np.array([int(place) for place in places], dtype=np.int64))


LINE_ATOMS = LineAtoms()


# Laplace noise on the atoms, for sets of laws: the pure loss of Laplace noise, member by member.


@final
class SetsAtoms(Leakage[SetFamily, AtomLaplace]):
    """For every two members the pure loss is that of Laplace noise (docs/proofs/atoms.md#2-losses), so the largest is.

    Its delta and divergences are larger than those of Laplace noise, and no bound over sets is known."""

    about = "Laplace noise on the atoms, on sets of laws"

    def pure(self, item: SetFamily, noise: AtomLaplace, epsilon: Fraction) -> list[PairLoss]:
        """As of Laplace noise; every declared value must be an atom."""
        if not np.isin(item.points, np.array(noise.atoms, dtype=np.int64)).all():
            raise BadNoise("a set of laws has values that are none of the atoms of the noise")
        return SETS_LAPLACE.pure(item, _added(noise), epsilon)

    def limit(self, item: SetFamily, noise: AtomLaplace) -> Fraction | None:
        """As of Laplace noise."""
        return SETS_LAPLACE.limit(item, _added(noise))

    def fast_pure(self, item: SetFamily, steps: float) -> float:
        """As of Laplace noise."""
        return SETS_LAPLACE.fast_pure(item, steps)

    def require(self, item: SetFamily, ask: Ask) -> None:
        """Equal outputs of different laws are impossible; and only ratios are known."""
        SETS_LAPLACE.require(item, ask)
        if not ask.pure:
            raise self._unknown("delta or divergence")

    def start(self, item: SetFamily, ask: Ask) -> float:
        """As for Laplace noise."""
        return SETS_LAPLACE.start(item, ask)

    def sure(self, item: SetFamily, ask: Ask) -> float:
        """As for Laplace noise."""
        return SETS_LAPLACE.sure(item, ask)

    def leak(self, item: SetFamily, noise: AtomLaplace) -> float:
        """As of Laplace noise."""
        return SETS_LAPLACE.leak(item, _added(noise))


SETS_ATOMS = SetsAtoms()
