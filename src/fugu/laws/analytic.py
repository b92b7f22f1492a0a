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

    def shift(self) -> Fraction | None:
        """If the two laws are translates of one normal law: by how much, in steps of the lattice if there is one."""
        if len(self.p.exact_stds) != 1 or self.p.exact_stds != self.q.exact_stds:
            return None
        return (self.q.exact_means[0] - self.p.exact_means[0]) / (self.lattice.grid if self.lattice else 1)

    @property
    def exact(self) -> tuple[tuple[tuple[Fraction, ...], ...], ...]:
        """The weights, means and standard deviations of both laws."""
        return _exact(self.p), _exact(self.q)

    @property
    def same(self) -> bool:
        """Whether the two laws are given by the same components."""
        return _exact(self.p) == _exact(self.q)


def _exact(law: Components) -> tuple[tuple[Fraction, ...], ...]:
    return law.exact_weights, law.exact_means, law.exact_stds
