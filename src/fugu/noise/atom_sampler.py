"""Laplace noise on the atoms, drawn exactly from two draws of lattice Laplace noise.

Let Z = x + N with lattice Laplace noise N, P(N = k) ~ q^|k|, q = exp(-rate), x an atom. Beyond the last atom on either
side Y is that atom; at an atom Y is that atom. Inside a gap of g steps, t steps past its end that is nearer to x, Y is
the far end if D >= g - t, else the near end, where D on 0 .. g-1 has mass ~ q^(2d). Then

    P(Y = y | x) = c_y q^|x - y|        with c_y free of x:        the law of `AtomLaplace`, exactly.

Proof. P(far | t) = P(D >= g - t) = (q^(2(g-t)) - q^(2g)) / (1 - q^(2g)). With d = |x - y|, the gap before y (size g,
t = g - s) adds sum_s q^(d-s) (q^(2s) - q^(2g)) / (1 - q^(2g)) = q^d sum_s (q^s - q^(2g-s)) / (1 - q^(2g)), and the gap
after y (size h) adds sum_t q^(d+t) (1 - q^(2(h-t))) / (1 - q^(2h)) = q^d sum_t (q^t - q^(2h-t)) / (1 - q^(2h)). So each
mass is q^d times a number that depends on the gaps beside y alone; rows sum to 1, and the matrix (q^|x-y|) is
invertible, so these numbers are c_y (docs/proofs/atoms.md#4-drawing-it). A geometric G of ratio q^2, taken modulo g,
has the law of D; it is the magnitude of lattice Laplace noise of twice the rate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import OS, BitSource
from fugu.noise.geometric import LatticeLaplaceSampler

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AtomSampler:
    """Independent exact moves from atom to atom. Every row reads the two draws, whatever they are used for.

    >>> sampler = AtomSampler(Fraction(10**6), np.array([0, 3, 7]))
    >>> sampler.move(np.array([0, 7, 3])).tolist()
    [0, 7, 3]
    """

    rate: Fraction
    atoms: Places

    @cached_property
    def walk(self) -> LatticeLaplaceSampler:
        """Where Z lies."""
        return LatticeLaplaceSampler(self.rate)

    @cached_property
    def spare(self) -> LatticeLaplaceSampler:
        """Twice the rate: the ratio q^2."""
        return LatticeLaplaceSampler(2 * self.rate)

    def draw(self, size: int, source: BitSource = OS) -> Places:  # noqa: ARG002
        """Refused: there is no noise to add. What moves depends on the atom that it moves from."""
        raise BadNoise(f"noise on atoms moves values, so {size} draws of it by themselves mean nothing; use move()")

    def move(self, starts: Places, source: BitSource = OS) -> Places:
        """Where each of these atoms goes, independently; `starts` are lattice indices of atoms."""
        ends = starts + self.walk.draw(starts.size, source)
        signed = self.spare.draw(starts.size, source)
        return landed(starts, ends, signed ^ (signed >> 63), self.atoms)


def landed(starts: Places, ends: Places, spare: Places, atoms: Places) -> Places:
    """The rule of this module: from Z = `ends` and a geometric number `spare` to an atom.

    >>> landed(np.array([0, 0, 7, 0]), np.array([5, 5, 5, -9]), np.array([2, 1, 1, 0]), np.array([0, 3, 7])).tolist()
    [7, 3, 7, 0]
    """
    if not np.array_equal(atoms[np.minimum(np.searchsorted(atoms, starts), len(atoms) - 1)], starts):
        raise BadNoise("noise on atoms starts from atoms; move values to the nearest one first")
    inside = np.clip(ends, atoms[0], atoms[-1])
    after = np.searchsorted(atoms, inside)
    high, low = atoms[after], atoms[np.maximum(after - 1, 0)]
    gap = np.maximum(high - low, 1)
    upward = starts <= low
    near, far = np.where(upward, low, high), np.where(upward, high, low)
    past = np.abs(inside - near)
    return np.where(inside == high, high, np.where(spare % gap >= gap - past, far, near))
