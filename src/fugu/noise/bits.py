"""Sources of independent fair bits, the exact coin they toss, and exact draws from a finite law."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from numbers import Rational
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.numbers import balls

# Every probability in `fugu.noise` is a statement about these bits alone: if they are independent and fair,
# the law is the claimed one, exactly. `OsBits` is what releases use; it has no seed and no state, so a forked
# process cannot repeat its parent.


Words = NDArray[np.unsignedinteger[Any]]


class BitSource(ABC):
    """A stream of independent fair bits."""

    @abstractmethod
    def words(self, bits: int, count: int) -> Words:
        """`count` independent uniform integers in [0, 2^bits), for 1 <= bits <= 64."""


@dataclass(frozen=True)
class OsBits(BitSource):
    """The operating system's cryptographic generator, asked afresh every time.

    >>> OsBits().words(16, 3).shape
    (3,)
    """

    def words(self, bits: int, count: int) -> Words:
        return _cut(os.urandom, bits, count)


@dataclass(frozen=True)
class RngBits(BitSource):
    """A numpy generator as a source: repeatable, hence for simulations and tests, never for a release.

    >>> bool(RngBits(np.random.default_rng(1)).words(5, 100).max() < 32)
    True
    """

    rng: np.random.Generator

    def words(self, bits: int, count: int) -> Words:
        return _cut(self.rng.bytes, bits, count)


OS = OsBits()


def bernoulli(p: Fraction, source: BitSource = OS, width: int = 64) -> bool:
    """True with probability p, exactly, for a rational p in [0, 1].

    Claim: the result is [U < p] for U = 0.b1 b2 b3 ... uniform. A word equal to the same bits of p leaves the
    question to the bits that follow, U' < p' with U' uniform again; any other word decides it. If p' = 0 then
    U' >= p'. The word of p = 1 is 2^width, above every word. Expected number of words: < 1 + 2^(1 - width).

    >>> bernoulli(Fraction(0)), bernoulli(Fraction(1))
    (False, True)
    """
    if not isinstance(p, Rational) or not 0 <= p <= 1:
        raise BadNoise(f"a probability must be an exact rational in [0, 1], got {p!r}")
    rest = Fraction(p)
    while rest:
        rest *= 1 << width
        whole = math.floor(rest)
        word = int(source.words(width, 1)[0])
        if word != whole:
            return word < whole
        rest -= whole
    return False


def _cut(fetch: Callable[[int], bytes], bits: int, count: int) -> Words:
    """Machine words from a byte stream, cut down to their leading bits; bits left over are thrown away."""
    kind: type[np.unsignedinteger[Any]] = np.uint16 if bits <= 16 else np.uint64
    size = np.dtype(kind).itemsize
    words: Words = np.frombuffer(fetch(size * count), dtype=kind)
    spare = 8 * size - bits
    return words >> kind(spare) if spare else words


# Exact draws from a finite law whose cumulative boundaries are irrational: compare uniform bits with balls.
#
# A uniform U in [0, 1) is revealed from its leading bit on; the outcome is the j with C_j <= U < C_(j+1).
# With b bits known, U lies in the cell [u, u+1) / 2^b. Against a boundary C with floor f = floor(C 2^b):
#
#     u < f  implies  U < C,        u > f  implies  U > C,        u = f  needs more bits.
#
# The floors are integers proved by balls of enough precision, so no decision ever rests on rounding: the law of
# the outcome is exact, not close. Bits compared lazily: Knuth and Yao 1976; with intervals: Haney et al. 2022.


_OPEN = np.iinfo(np.int32).min


@dataclass(frozen=True)
class Widths:
    """How many bits each stage reads: a lookup, a search, then one uniform at a time. Never alters the law.

    `steady` adds a few draws that are thrown away, so that every batch of one size searches the same number and
    reads the same number of bits. (Without it, larger noise is searched more often, and its time tells.)

    >>> Widths()
    Widths(first=16, second=48, third=64, steady=True)
    """

    first: int = 16
    second: int = 48
    third: int = 64
    steady: bool = True

    def __post_init__(self) -> None:
        if not (1 <= self.first <= 16 and 1 <= self.second <= 64 - self.first and 1 <= self.third <= 64):
            raise BadNoise(f"widths need first <= 16, first + second <= 64 and third <= 64, got {self}")


@dataclass(frozen=True)
class BoundaryTable(ABC):
    """A law on n outcomes: outcome j has mass C_(j+1) - C_j, with C_0 = 0 < C_1 < ... < C_n = 1.

    Claim: `draw` returns value j with probability C_(j+1) - C_j, exactly, given fair bits. Proof: the rule of
    this module at b = first, first + second, then + third, ...; U equals a boundary with probability zero, so
    some b decides.
    """

    widths: Widths = field(default=Widths(), kw_only=True)

    @abstractmethod
    def outcomes(self) -> NDArray[np.int32]:
        """The n values, in the order of the boundaries."""

    @abstractmethod
    def boundary(self, j: int) -> arb:
        """A ball at the current precision around C_j > 0, irrational, for 1 <= j < n."""

    def floor(self, j: int, bits: int) -> int:
        """floor(C_j 2^bits), proved: the precision grows until the whole ball has one floor."""
        work = bits + 64
        while True:
            with balls.precision(work):
                ball = self.boundary(j) * balls.of(2**bits)
                if ball < 1:  # C_j > 0 is known even where the ball is too wide to show it
                    return 0
                whole = ball.floor().unique_fmpz()
            if whole is not None:
                return int(whole)
            work *= 2

    @cached_property
    def values(self) -> NDArray[np.int32]:
        """The outcomes, once."""
        return self.outcomes()

    @cached_property
    def fences(self) -> NDArray[np.uint64]:
        """floor(C_j 2^(first + second)) for j = 1 .. n-1."""
        bits = self.widths.first + self.widths.second
        return np.array([self.floor(j, bits) for j in range(1, self.values.size)], dtype=np.uint64)

    @cached_property
    def lookup(self) -> NDArray[np.int32]:
        """The value decided by the first bits alone, or a mark where a boundary lies inside the cell."""
        cells = (self.fences >> self.widths.second).astype(np.int64)
        table = self.values[np.searchsorted(cells, np.arange(2**self.widths.first))]
        table[cells] = _OPEN
        return table

    @cached_property
    def open_cells(self) -> int:
        """How many of the 2^first cells hold a boundary."""
        return int(np.count_nonzero(self.lookup == _OPEN))

    def draw(self, count: int, source: BitSource) -> NDArray[np.int32]:
        """`count` independent draws; reads from the source stage by stage, each stage for the whole batch."""
        spare = self._spare(count)
        head = source.words(self.widths.first, count + spare)
        drawn = self.lookup.take(head[:count])
        rest = np.flatnonzero(drawn == _OPEN)
        idle = np.arange(count, count + max(0, spare - rest.size))
        drawn[rest] = self._search(head[np.concatenate([rest, idle])], source)[: rest.size]
        return drawn

    def _spare(self, count: int) -> int:
        """More than a batch ever leaves open (mean + 6 sigma + 8): so many extra draws fill up the search."""
        mean = count * self.open_cells >> self.widths.first
        return mean + math.isqrt(36 * mean) + 8 if self.widths.steady else 0

    def _search(self, head: Words, source: BitSource) -> NDArray[np.int32]:
        """Second stage: the first `low` boundaries are surely below U, those after `high` surely above."""
        u = head.astype(np.uint64) << self.widths.second | source.words(self.widths.second, head.size)
        low = np.searchsorted(self.fences, u, side="left")
        high = np.searchsorted(self.fences, u, side="right")
        for i in np.flatnonzero(low < high):
            low[i] = self._refine(int(u[i]), int(low[i]), int(high[i]), source)
        return self.values[low]

    def _refine(self, u: int, low: int, high: int, source: BitSource) -> int:
        """Third stage, for one U that agrees so far with C_(low+1) .. C_high: read on until it differs."""
        bits = self.widths.first + self.widths.second
        while low < high:
            bits += self.widths.third
            u = u << self.widths.third | int(source.words(self.widths.third, 1)[0])
            floors = [self.floor(j + 1, bits) for j in range(low, high)]
            low, high = low + bisect_left(floors, u), low + bisect_right(floors, u)
        return low


# The coin of probability exp(-x), x rational: doubles decide outside their proved error, else balls and more bits.


_ABSURD = 2**12
_STEPS, _REACH = 64, 32


def working_bits() -> int:
    """The working precision of the balls; an error once it is absurd, so that no tie is pursued for ever."""
    if ctx.prec > _ABSURD:
        raise BadNoise(f"a boundary agrees with a dyadic number, or with a draw, on {_ABSURD} bits; change the scale")
    return int(ctx.prec)


@dataclass(frozen=True)
class Coin(BoundaryTable):
    """1 with probability exp(-exponent), else 0, for a rational exponent >= 0: transcendental, or exactly 1.

    >>> Coin(Fraction(1)).toss(10, 5, OS), Coin(Fraction(1)).toss(12, 5, OS)  # exp(-1) = 11.77 / 32
    (True, False)
    """

    exponent: Fraction

    def outcomes(self) -> NDArray[np.int32]:
        return np.array([1, 0], dtype=np.int32)

    def boundary(self, j: int) -> arb:  # noqa: ARG002
        working_bits()
        return balls.of(-self.exponent).exp()

    def toss(self, u: int, bits: int, source: BitSource) -> bool:
        """[U < exp(-exponent)] for the uniform U that begins with the `bits` bits of u; reads on while they agree."""
        while u == (floor := self.floor(1, bits)):
            u = u << self.widths.third | int(source.words(self.widths.third, 1)[0])
            bits += self.widths.third
        return u < floor


@cache
def _powers() -> NDArray[np.float64]:
    """exp(-n / 64) for n = 0 .. 2048, within 2^-51 of itself."""
    with balls.precision(128):
        return np.array([balls.upper(balls.of(Fraction(-n, _STEPS)).exp()) for n in range(_STEPS * _REACH + 1)])


def exp_minus(precision: float, offset: NDArray[np.int64]) -> NDArray[np.float64]:
    """exp(-precision offset^2) within 2^-44, from correctly rounded sums and products only (no library `exp`).

    Proof, with u = 2^-53 and `precision` itself rounded: x is within a factor 1 +- 6u of the exponent (precision,
    offset twice, two products), which moves exp(-x) by at most 6u x exp(-x) < 3u. From x = 32 on both sides are
    below 2^-46. n <= 64 x and f = x - n / 64 < 1/64 are exact; exp(-f) is the polynomial within f^6 / 6! <
    2^-45 and its roundings (< 4u); the table and the last product add 5u. In all < 2^-45 + 12u < 2^-44.

    >>> exp_minus(0.25, np.array([0, 1, 2, 99])).round(6).tolist()
    [1.0, 0.778801, 0.367879, 0.0]
    """
    d = offset.astype(np.float64)
    return exp_of_minus(precision * d * d)


def exp_of_minus(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-y) within 2^-44 for y >= 0, where x is y up to a factor 1 +- 6 2^-53: the proof of `exp_minus`.

    >>> exp_of_minus(np.array([0.0, 1.0, 1e9])).round(6).tolist()
    [1.0, 0.367879, 0.0]
    """
    x = np.minimum(x, _REACH)
    n = (x * _STEPS).astype(np.int64)
    f = x - n / _STEPS
    power = np.ones_like(f)
    for i in (5, 4, 3, 2, 1):
        power *= f / -i
        power += 1
    power *= _powers().take(n)
    return power
