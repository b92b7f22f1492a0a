"""Decayed sums in ball arithmetic, block by block, so that a proof over a million atoms needs little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpz

from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.numbers import balls
from fugu.progress import report

_BLOCK = 4096


@dataclass(frozen=True)
class Block:
    """Neighbouring atoms, one list a law: the masses, the sums L from the left, and what lies strictly to the right,
    R - mass; and the steps from each atom to the next, 0 after the last one."""

    mass: list[list[arb]]
    left: list[list[arb]]
    beyond: list[list[arb]]
    gaps: list[int]


def blocks(family: Family, rate: Fraction | None, what: str) -> Iterator[Block]:
    """Every atom of a lattice family in order, with L_k = p_k + q^gap L_{k-1} and its mirror R_k as balls
    (unnormalised); without noise (rate None) nothing reaches beyond its own atom.

    The right sums are found backwards once, kept only at block ends, and found again inside each block."""
    n = len(family.points)
    starts = range(0, n, _BLOCK)
    decay = _Decay(rate)
    after: list[list[arb]] = []
    right = [arb(0) for _ in family.laws]
    for start in reversed(starts):
        after.append(right)
        _, mass, factors = _read(family, start, decay)
        right = [_backwards(p, factors, r)[0] for p, r in zip(mass, right, strict=True)]
        report(what, n - start, 2 * n)
    left = [arb(0) for _ in family.laws]
    entering = arb(0)
    for start in starts:
        gaps, mass, factors = _read(family, start, decay)
        beyond = [_backwards(p, factors, r)[1] for p, r in zip(mass, after.pop(), strict=True)]
        onward = [entering, *factors[:-1]]
        sums = [_forwards(p, onward, x) for p, x in zip(mass, left, strict=True)]
        yield Block(mass, sums, beyond, gaps)
        left, entering = [row[-1] for row in sums], factors[-1]
        report(what, n + start + len(gaps), 2 * n)


def _read(family: Family, start: int, decay: _Decay) -> tuple[list[int], list[list[arb]], list[arb]]:
    """The gaps, exact masses and factors q^gap of one block."""
    own = slice(start, start + _BLOCK)
    gaps = np.diff(family.points[start : start + _BLOCK + 1]).tolist()
    if start + _BLOCK >= len(family.points):
        gaps.append(0)
    return gaps, [[arb(part) for part in law.parts[own].tolist()] for law in family.laws], [decay.of(g) for g in gaps]


def _backwards(mass: list[arb], factors: list[arb], right: arb) -> tuple[arb, list[arb]]:
    """R of the first atom and R - mass of all, from R of the atom after the block."""
    beyond = []
    for p, q in zip(reversed(mass), reversed(factors), strict=True):
        far = q * right
        beyond.append(far)
        right = p + far
    beyond.reverse()
    return right, beyond


def _forwards(mass: list[arb], factors: list[arb], left: arb) -> list[arb]:
    """L of all atoms, from L of the atom before the block."""
    sums = []
    for p, q in zip(mass, factors, strict=True):
        left = p + q * left
        sums.append(left)
    return sums


class Reader:
    """The masses of one law as exact balls, atom by atom."""

    def __init__(self, law: Masses) -> None:
        self._parts = law.parts
        self._real = law.parts.dtype.kind == "f"

    def __call__(self, k: int) -> arb:
        part = self._parts[k]
        return arb(float(part)) if self._real else arb(fmpz(int(part)))


class _Decay:
    """q^gap = e^{-rate gap}, remembered for gaps seen before; 0 without noise and past the last atom (gap 0)."""

    def __init__(self, rate: Fraction | None) -> None:
        self._rate = None if rate is None else balls.of(rate)
        self._known: dict[int, arb] = {0: arb(0)}

    def of(self, gap: int) -> arb:
        found = self._known.get(gap)
        if found is None:
            found = arb(0) if self._rate is None else (-self._rate * gap).exp()
            if len(self._known) < 100_000:
                self._known[gap] = found
        return found
