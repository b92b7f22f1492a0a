"""What every noise shares on laws of one number with atoms."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences
from fugu.laws.family import Family
from fugu.loss.atoms.slack import require_exact, require_room
from fugu.loss.divergence.conditioning import kept, margins
from fugu.loss.divergence.coupling import coupling_bounds
from fugu.loss.divergence.lattice import renyi_bounds
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.search.ranges import farthest
from fugu.noise import Gaussian, Laplace

NO_NOISE = "epsilon 0 asks for identical outputs, and these laws differ: no finite noise does that"

OnLattice = TypeVar("OnLattice", Laplace, Gaussian)


class Line(Leakage[Family, OnLattice]):
    """Lattice noise on atoms: divergences are summed, or bounded by a coupling where there are too many points."""

    def explain_pure(self, item: Family, noise: OnLattice) -> None:
        """Laws known up to an error have no pure loss."""
        require_exact(item)

    def divergence(self, item: Family, noise: OnLattice, alpha: Fraction) -> list[PairLoss]:
        """Tight where the lattice points can be summed, else by the monotone coupling."""
        try:
            return renyi_bounds(item, noise, alpha)
        except NotProvable:
            if item.inexact or noise.silent:
                raise
            return coupling_bounds(item, noise, alpha)

    def conditioned(self, item: Family, noise: OnLattice, alpha: Fraction, delta: Fraction) -> Family:
        """The margins of one sub-coupling of mass 1 - delta."""
        return margins(item, kept(item, item.pairs[0], noise, alpha, delta), item.labels[0])

    def require(self, item: Family, ask: Ask) -> None:
        """Errors of the laws must leave room; equal outputs of different laws are impossible."""
        if not ask.finite:
            require_room(item, ask)
            if ask.impossible:
                raise NotProvable(NO_NOISE)

    def known(self, item: Family, ask: Ask) -> float | None:
        """Nothing moves: no noise is needed."""
        return 0.0 if ask.finite and farthest(item) == 0 else None


def divergence_start(item: Family, ask: Divergences) -> float:
    """A scale for a shift by the largest W_inf."""
    return ask.start(float(farthest(item)))
