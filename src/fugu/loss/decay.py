"""Sums in ball arithmetic that proofs stand on: decayed sums, block by block, and sums of P^alpha Q^(1-alpha)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import acb, arb, fmpz

from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.numbers import balls
from fugu.progress import report

# Decayed sums in ball arithmetic, block by block, so that a proof over a million atoms needs little memory.


_BLOCK = 4096


@dataclass(frozen=True)
class AtomBlock:
    """Neighbouring atoms, one list a law: the masses, the sums L from the left, and what lies strictly to the right,
    R - mass; and the steps from each atom to the next, 0 after the last one."""

    mass: list[list[arb]]
    left: list[list[arb]]
    beyond: list[list[arb]]
    gaps: list[int]


def blocks(family: Family, rate: Fraction | None, what: str) -> Iterator[AtomBlock]:
    """Every atom of a lattice family in order, with L_k = p_k + q^gap L_{k-1} and its mirror R_k as balls
    (unnormalised); without noise (rate None) nothing reaches beyond its own atom.

    The right sums are found backwards once, kept only at block ends, and found again inside each block. Nothing is
    walked if no two laws differ."""
    if not family.different:
        return
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
        yield AtomBlock(mass, sums, beyond, gaps)
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


# Sums of P^alpha Q^(1-alpha) in ball arithmetic, and the divergence they stand for.
#
# D_alpha(P, Q) = ln(sum P^alpha Q^(1-alpha)) / (alpha - 1) for alpha > 1 (van Erven and Harremoes 2014, section II); it
# is +inf where P has mass and Q has none. Every function here takes enclosures and returns enclosures or upper bounds.


Pair = tuple[int, int]


def working_bits(alpha: Fraction) -> int:
    """Bits such that the errors of ln, times alpha, divided by alpha - 1, stay far below a double's."""
    return 160 + 2 * math.ceil(alpha).bit_length() + math.ceil(1 / (alpha - 1)).bit_length()


class PowerSum:
    """sum_k P(k)^alpha Q(k)^(1-alpha) and its mirror image, for every pair of rows, point by point."""

    def __init__(self, pairs: Iterable[Pair], alpha: Fraction) -> None:
        self.pairs, self.alpha = list(pairs), alpha
        self._whole, self._less = balls.of(alpha), balls.of(alpha - 1)
        self.sums = {order: arb(0) for i, j in self.pairs for order in ((i, j), (j, i))}

    def terms(self, masses: list[arb]) -> dict[Pair, arb]:
        """P^alpha Q^(1-alpha) at one point; P (P/Q)^(alpha-1), so that equal masses give their own mass."""
        logs = [m.log() if m > 0 else None for m in masses]
        found = {}
        for i, j in self.pairs:
            a, b = logs[i], logs[j]
            if a is not None and b is not None:
                tilt = self._less * (a - b)
                found[i, j], found[j, i] = (a + tilt).exp(), (b - tilt).exp()
            else:
                found[i, j], found[j, i] = self._edge(masses[i], masses[j]), self._edge(masses[j], masses[i])
        return found

    def _edge(self, p: arb, q: arb) -> arb:
        """The term where a mass is not surely positive: nothing without P, no bound without Q, else from P's end."""
        if p.is_zero():
            return arb(0)
        if not q > 0 or not p.is_finite():
            return arb("inf")
        top = p.upper().log()
        return (top + self._less * (top - q.log())).exp()

    def add(self, masses: list[arb]) -> None:
        """Add the terms of one point."""
        for order, term in self.terms(masses).items():
            self.sums[order] += term

    def divergences(self, family: Family, factor: arb | int = 1) -> list[float]:
        """ln(factor t_i^-alpha t_j^(alpha-1) sum) / (alpha-1), the larger of both orders of every pair: of masses that
        were not divided by the totals t."""
        logs = [balls.of(law.total).log() for law in family.laws]
        found = []
        for i, j in self.pairs:
            both = [
                self.sums[order] * factor * (self._less * logs[order[1]] - self._whole * logs[order[0]]).exp()
                for order in ((i, j), (j, i))
            ]
            found.append(max(divergence(total, self.alpha) for total in both))
        return found


def divergence(total: arb, alpha: Fraction) -> float:
    """ln(total) / (alpha - 1), rounded up; a divergence is never below 0."""
    if not total.is_finite():
        return math.inf
    top = total.upper()
    return max(0.0, balls.upper(top.log() / balls.of(alpha - 1))) if top > 1 else 0.0


def theta(decay: arb) -> arb:
    """sum over all integers k of exp(-decay k^2): Jacobi's theta_3 at 0."""
    return acb.modular_theta(acb(0), acb(0, decay / arb.pi()))[2].real


def gaussian_tail(decay: arb, distance: arb) -> arb:
    """A bound on the sum over k >= 0 of exp(-decay (distance + k)^2), distance > 0: each term is at most
    e^{-2 decay distance} times the one before."""
    if not distance > 0:
        return arb("inf")
    return (-decay * distance * distance).exp() / (1 - (-2 * decay * distance).exp())
