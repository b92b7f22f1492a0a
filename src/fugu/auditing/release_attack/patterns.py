"""What the bits of outputs give away: holes, precision, patterns; and those of textbook noise, for contrast.

Mironov (2012): value + Laplace noise in doubles leaves holes, doubles that no random number leads to, and they lie
elsewhere for every value. Lattice outputs are value(k) for whole numbers k, whatever the value was."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.release_attack.contest import Atoms, Contest
from fugu.auditing.release_attack.trial import Halves
from fugu.auditing.shadows import Floats
from fugu.noise.lattice import Lattice

EXPECTED = 50
"""An output that should come this often and never does is a hole: chance leaves one out with e^-50."""
_NAIVE = 200_000


@dataclass(frozen=True)
class Patterns:
    """Counts of outputs; all but `outputs`, `distinct` and `expected` are 0 for lattice noise."""

    outputs: int
    distinct: int
    """Different bit patterns among them."""
    off_lattice: int
    """Outputs that are not the double of a lattice point: their last bits say where they come from."""
    expected: int | None
    """Lattice points that each law should have hit at least 50 times; None where they are not listed."""
    holes: int | None
    """How many of these a law never hit."""
    one_sided: int
    """Bit patterns that came often from one law and never from the other, though the guarantee says they must."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.off_lattice or self.holes or self.one_sided)


@dataclass(frozen=True)
class Naive:
    """The same attack on value + numpy Laplace noise of the same scale in doubles, never released."""

    outputs: int
    betrayed: int
    """Outputs that one value can give and the other cannot: each tells for certain which it was."""
    finer: tuple[float, float]
    """The shares of outputs, of both values, with bits finer than 2^-53: a sum with a large value has none."""


def look(contest: Contest, halves: Halves, lattices: tuple[Lattice, ...], epsilon: float, delta: float) -> Patterns:
    """Patterns in all outputs of a contest, both halves together; one lattice per half of a mixture."""
    seen = [halves.counts[0][side] + halves.counts[1][side] for side in (0, 1)]
    on = np.zeros(len(halves.outputs), dtype=bool) if lattices else np.ones(len(halves.outputs), dtype=bool)
    for lattice in lattices:
        exact = lattice.value(lattice.index(halves.outputs)) == halves.outputs
        on |= exact if exact.ndim == 1 else exact.all(axis=1)
    total = seen[0] + seen[1]
    apart = delta * max(int(side.sum()) for side in seen)  # outputs that the guarantee says nothing about
    often = EXPECTED * math.exp(min(epsilon, 50.0)) + apart + 10 * math.sqrt(apart)
    one_sided = sum(int(np.sum((seen[a] >= often) & (seen[b] == 0))) for a, b in ((0, 1), (1, 0)))
    expected, holes = _holes(contest, halves.outputs, seen)
    return Patterns(int(total.sum()), len(halves.outputs), int(total[~on].sum()), expected, holes, one_sided)


def _holes(contest: Contest, outputs: Floats, seen: list[NDArray[np.int64]]) -> tuple[int | None, int | None]:
    """Lattice points that a law should hit, and those that it never did."""
    if not isinstance(contest, Atoms) or contest.spreads is not None or (known := contest.masses) is None:
        return None, None
    points, *masses = known
    expected = holes = 0
    for counts, mass in zip(seen, masses, strict=True):
        due = points[mass * counts.sum() >= EXPECTED]
        expected += len(due)
        holes += int(np.sum(~np.isin(due, outputs[counts > 0])))
    return expected, holes


def contrast(values: tuple[float, float], scale: float, rng: np.random.Generator) -> Naive:
    """Draw value + rng.laplace(scale) for two values, and ask of every output whether the other could have given it."""
    betrayed, finer = 0, []
    for own, other in (values, values[::-1]):
        drawn = rng.laplace(own, scale, _NAIVE // 2)
        betrayed += int(np.sum(numpy_can_give(drawn, own, scale) & ~numpy_can_give(drawn, other, scale)))
        finer.append(float(np.mean(np.mod(drawn * 2.0**53, 1.0) != 0)))
    return Naive(2 * (_NAIVE // 2), betrayed, (finer[0], finer[1]))


def numpy_can_give(outputs: Floats, value: float, scale: float) -> NDArray[np.bool_]:
    """Whether some 53-bit uniform makes numpy's Laplace sampler return the output: invert, then try its neighbours."""
    noise = (outputs - value) / scale
    rare = np.rint(np.exp(-np.abs(noise)) * 2.0**52)
    guess = np.where(noise < 0, rare, 2.0**53 - rare)
    found = np.zeros(outputs.shape, dtype=bool)
    for step in range(-2, 3):
        u = (guess + step) * 2.0**-53
        with np.errstate(all="ignore"):
            found |= outputs == np.where(u >= 0.5, value - scale * np.log(2.0 - u - u), value + scale * np.log(u + u))
    return found
