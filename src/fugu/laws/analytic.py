"""`Analytic`: a pair of laws of a real number, at least one with a Gaussian component."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fugu.laws.components import Components
from fugu.laws.one_pair import OnePair
from fugu.laws.places import Digest, spread
from fugu.noise.lattice import Lattice


@dataclass(frozen=True, eq=False)
class Analytic(OnePair):
    """A pair of laws of a real number; on a lattice once `lattice` is set."""

    p: Components
    q: Components
    label: str
    lattice: Lattice | None = None
    shape: ClassVar[str] = "smooth"
    dimension: ClassVar[int] = 1

    def on(self, lattice: Lattice) -> Analytic:
        """The same laws, rounded onto a lattice."""
        return Analytic(self.p, self.q, self.label, lattice)

    def spread(self) -> float:
        """The standard deviation of the published value under both laws together; 1 where it has none."""
        p, q = self.p, self.q
        weights, means = np.concatenate((p.weights, q.weights)), np.concatenate((p.means, q.means))
        return spread(weights / 2, means, np.concatenate((p.stds, q.stds))) or 1.0

    def narrower(self) -> float:
        """The standard deviation of the narrower of the two laws that have one."""
        return min(s for law in (self.p, self.q) if (s := spread(law.weights, law.means, law.stds)) > 0)

    def mark(self, digest: Digest) -> None:
        """Add what is stated to a digest."""
        for law in (self.p, self.q):
            digest.update(repr(_exact(law)).encode())

    def differs(self, number: int, other: Any, its: int, comparable: bool) -> bool:  # noqa: ARG002
        """Whether this law of the pair is surely not that one of another."""
        return bool(other.shape == self.shape and self.exact[number] != other.exact[its])

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
