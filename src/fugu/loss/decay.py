"""Decayed sums in ball arithmetic, block by block, so that a proof over a million atoms needs little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpz

from fugu import balls
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.progress import report

_BLOCK = 4096


@dataclass(frozen=True)
class Step:
    """One atom: each law's own mass, its sum from the left and from the right, and the steps to the next atom."""

    mass: list[arb]
    left: list[arb]
    right: list[arb]
    gap: int


def steps(family: Family, rate: Fraction, what: str) -> Iterator[Step]:
    """Every atom of a lattice family in order, with L_k = p_k + q^gap L_{k-1} and its mirror R_k as balls
    (unnormalised).

    The right sums are found backwards once, kept only at block ends, and found again inside each block."""
    points = family.points.tolist()
    n = len(points)
    gaps = [points[k + 1] - points[k] for k in range(n - 1)]
    decay = _Decay(rate)
    rows = [Reader(law) for law in family.laws]
    zero = [arb(0) for _ in rows]
    starts = list(range(0, n, _BLOCK))
    after: dict[int, list[arb]] = {}
    right = zero
    for start in reversed(starts):
        stop = min(n, start + _BLOCK)
        after[start] = right
        for k in range(stop - 1, start - 1, -1):
            right = _onward(rows, right, k, decay.of(gaps[k]) if k < n - 1 else None)
        report(what, n - start, 2 * n)
    left = zero
    for start in starts:
        stop = min(n, start + _BLOCK)
        inside: list[list[arb]] = [zero] * (stop - start)
        right = after.pop(start)
        for k in range(stop - 1, start - 1, -1):
            right = _onward(rows, right, k, decay.of(gaps[k]) if k < n - 1 else None)
            inside[k - start] = right
        for k in range(start, stop):
            left = _onward(rows, left, k, decay.of(gaps[k - 1]) if k > 0 else None)
            yield Step([row(k) for row in rows], left, inside[k - start], gaps[k] if k < n - 1 else 0)
        report(what, n + stop, 2 * n)


def _onward(rows: list[Reader], before: list[arb], k: int, factor: arb | None) -> list[arb]:
    """p_k + factor * before, for every law."""
    if factor is None:
        return [row(k) for row in rows]
    return [row(k) + factor * b for row, b in zip(rows, before, strict=True)]


class Reader:
    """The masses of one law as exact balls, atom by atom."""

    def __init__(self, law: Masses) -> None:
        self._parts = law.parts
        self._real = law.parts.dtype.kind == "f"

    def __call__(self, k: int) -> arb:
        part = self._parts[k]
        return arb(float(part)) if self._real else arb(fmpz(int(part)))


class _Decay:
    """q^gap = e^{-rate gap}, remembered for gaps seen before."""

    def __init__(self, rate: Fraction) -> None:
        self._rate = balls.of(rate)
        self._known: dict[int, arb] = {}

    def of(self, gap: int) -> arb:
        found = self._known.get(gap)
        if found is None:
            found = (-self._rate * gap).exp()
            if len(self._known) < 100_000:
                self._known[gap] = found
        return found
