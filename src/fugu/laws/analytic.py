"""`Analytic`: a pair of laws of a real number, at least one with a Gaussian component."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fugu.laws.normal import Components
from fugu.noise.lattice import Lattice


@dataclass(frozen=True, eq=False)
class Analytic:
    """A pair of laws of a real number; on a lattice once `lattice` is set."""

    p: Components
    q: Components
    label: str
    lattice: Lattice | None = None

    def on(self, lattice: Lattice) -> Analytic:
        """The same laws, rounded onto a lattice."""
        return Analytic(self.p, self.q, self.label, lattice)

    @property
    def same(self) -> bool:
        """Whether the two laws are given by the same components."""
        return _exact(self.p) == _exact(self.q)


def _exact(law: Components) -> tuple[tuple[Fraction, ...], ...]:
    return law.exact_weights, law.exact_means, law.exact_stds
