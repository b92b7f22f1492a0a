"""`Factor`: a law whose characteristic function is raised to a power; many small laws are first joined into few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_poly, fmpz
from numpy.typing import NDArray

from fugu.laws.term import Term
from fugu.numbers import balls

_BITS = 128
_FEW = 32
_MOST_ATOMS = 2**22
_SHORT = 128
_NOTHING = 150
_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Factor:
    """`times` draws from parts / total at the places `at`; `row` is the same in doubles.

    |row - parts / total|_1 <= blur, and a mass of at most `lost` of each draw is in neither."""

    at: list[int]
    parts: list[arb]
    total: arb
    row: NDArray[np.float64]
    times: int
    blur: float
    lost: float = 0.0

    @property
    def places(self) -> NDArray[np.int64]:
        """`at` as an array."""
        return np.array(self.at, dtype=np.int64)


def factors(terms: Sequence[Term]) -> list[Factor]:
    """One factor a term; more than 32 terms become one factor for each binary digit of their multiplicities.

    prod_g z_g^n_g = prod_b (prod of the z_g whose n_g has digit b)^(2^b), and the inner product is the convolution of
    the laws, found in balls. (Very long laws are better left alone: their products cost more than their FFTs.)"""
    if len(terms) <= _FEW or sum(len(term.at) for term in terms) > _MOST_ATOMS:
        return [_single(term) for term in terms]
    most = max(term.times for term in terms)
    with balls.precision(_BITS):
        buckets = [[term for term in terms if term.times >> b & 1] for b in range(most.bit_length())]
        return [_joined(bucket, 1 << b) for b, bucket in enumerate(buckets) if bucket]


def _single(term: Term) -> Factor:
    row = np.array(term.floats())
    return Factor(term.at, [arb(fmpz(p)) for p in term.parts], arb(fmpz(term.total)), row, term.times, 2 * _UNIT)


def _joined(terms: Sequence[Term], times: int) -> Factor:
    """The convolution of the laws by a tree of products; ends below 2^-150 are dropped, and their mass is counted."""
    laws = [(0, arb_poly([arb(fmpz(p)) / fmpz(term.total) for p in term.dense()])) for term in terms]
    lost = arb(0)
    while len(laws) > 1:
        joined = []
        for (i, a), (j, b) in zip(laws[::2], laws[1::2], strict=False):
            start, product, dropped = _stripped(a * b)
            joined.append((i + j + start, product))
            lost += dropped
        laws = joined + laws[len(laws) & ~1 :]
    start, law = laws[0]
    parts = law.coeffs()
    row = np.array([float(part.mid()) for part in parts])
    blur = sum((abs(part - arb(x)) for part, x in zip(parts, row.tolist(), strict=True)), arb(0))
    at = list(range(start, start + len(parts)))
    return Factor(at, parts, arb(1), row, times, balls.upper(blur), balls.upper(lost))


def _stripped(law: arb_poly) -> tuple[int, arb_poly, arb]:
    """The law without the ends that hold nothing: where it starts, what is left, what was dropped."""
    nothing = arb(2) ** -_NOTHING
    if law.degree() < _SHORT:
        return 0, law, arb(0)
    parts = law.coeffs()
    first, last = 0, len(parts)
    while parts[first] < nothing:
        first += 1
    while parts[last - 1] < nothing:
        last -= 1
    dropped = sum(parts[:first] + parts[last:], arb(0))
    return first, arb_poly(parts[first:last]), dropped
