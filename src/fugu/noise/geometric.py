"""Lattice Laplace noise, drawn exactly: P(k) proportional to exp(-rate |k|) on the integers, rate rational.

With q = exp(-rate), a sign S with P(S = 1) = q / (1+q) and an independent geometric G, P(G = g) = (1-q) q^g,

    X = G if S = 0, else -1 - G        has        P(X = k) = (1-q) / (1+q) q^|k|     for every integer k,

because k >= 0 has mass 1/(1+q) (1-q) q^k and k < 0 has mass q/(1+q) (1-q) q^(-1-k). Nothing is rejected.

G is written in digits. For a base B, G = B M + D with M and D independent, M geometric with ratio q^B and D
on 0 .. B-1 with mass ~ q^d, because (1-q) q^(BM+D) = (1-q^B) q^(BM) * (1-q) q^D / (1-q^B). Repeated on M,
this keeps every table small. The top digit is cut at K: "at least K" is an outcome, and such a draw adds a
fresh M, as P(M - K = m | M >= K) = P(M = m). Every boundary of a table is a non-constant rational function of
q, and q is transcendental (Lindemann 1882), so no boundary is rational and `Table` applies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from numbers import Rational

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import OS, BitSource, Table, Widths
from fugu.numbers import balls

MIN_RATE = Fraction(1, 2**52)
"""Below this a magnitude could pass MAX_MAGNITUDE; at or above it, with probability at most exp(-1024)."""
MAX_MAGNITUDE = 2**62
_TOP_SCALE = 64  # the top digit has 1 / (its rate) at most this: some thousand outcomes
_DIGIT_BITS = 10
_CUT = 21  # the top digit passes its cut with probability below exp(-21)
_MAX_TABLE = 2**16
_CHUNK = 2**15


@dataclass(frozen=True)
class SignedTop(Table):
    """The sign and the top digit in one table: value m or -1 - m, with m = cut meaning "at least cut".

    With Q = exp(-rate base), from the rare end: P(S=1, M >= i) = q Q^i / (1+q), then q / (1+q) + Q^i / (1+q).
    All terms are positive: the balls keep their relative accuracy for every rate.

    >>> SignedTop(Fraction(1), 1, cut=2).outcomes().tolist()
    [-3, -2, -1, 2, 1, 0]
    """

    rate: Fraction
    base: int
    cut: int

    def outcomes(self) -> NDArray[np.int32]:
        down = np.arange(self.cut, -1, -1, dtype=np.int32)
        return np.concatenate([~down, down])

    def boundary(self, j: int) -> arb:
        q = balls.of(-self.rate).exp()
        side, place = divmod(j - 1, self.cut + 1)
        power = balls.of(-self.rate * self.base * (self.cut - place)).exp()
        return (q * power if side == 0 else q + power) / (1 + q)


@dataclass(frozen=True)
class LowDigit(Table):
    """A digit on 0 .. base-1 with mass ~ q^d; from the rare end, P(D >= i) = q^i (1-q^(base-i)) / (1-q^base).

    >>> LowDigit(Fraction(1), 3).outcomes().tolist()
    [2, 1, 0]
    """

    rate: Fraction
    base: int

    def outcomes(self) -> NDArray[np.int32]:
        return np.arange(self.base - 1, -1, -1, dtype=np.int32)

    def boundary(self, j: int) -> arb:
        start = balls.of(-self.rate * (self.base - j)).exp()
        return start * balls.of(-self.rate * j).expm1() / balls.of(-self.rate * self.base).expm1()


@dataclass(frozen=True)
class LatticeLaplaceSampler:
    """Independent integers with P(k) = (1-q)/(1+q) q^|k|, q = exp(-rate): exactly, given fair bits.

    The rate is grid / scale. `bases` (low digits, lowest first), `cut` and `widths` change the speed and the
    bits read, never the law. Keep a sampler per rate: its first draw builds tables, for tens of milliseconds.

    >>> LatticeLaplaceSampler(Fraction(1, 16)).draw(5).dtype
    dtype('int64')
    >>> int(LatticeLaplaceSampler(Fraction(10**6)).draw(10**5).sum())
    0
    """

    rate: Fraction
    bases: tuple[int, ...] | None = None
    cut: int | None = None
    widths: Widths = field(default=Widths())

    def __post_init__(self) -> None:
        rate = self.rate
        if not isinstance(rate, Rational) or rate < MIN_RATE:
            raise BadNoise(f"grid / scale must be an exact rational >= 2^-52, got {rate!r}; coarsen the grid")
        object.__setattr__(self, "rate", Fraction(int(rate.numerator), int(rate.denominator)))
        if not all(2 <= base <= _MAX_TABLE for base in self.bases or ()):
            raise BadNoise(f"the base of a digit must be in 2 .. {_MAX_TABLE}, got {self.bases}")
        if not 1 <= self.top.cut <= _MAX_TABLE or (self.top.cut + 1) * self.top.base > MAX_MAGNITUDE:
            raise BadNoise(f"a cut of {self.top.cut} does not fit the rate {rate} and the bases {self.bases}")

    @cached_property
    def low(self) -> tuple[LowDigit, ...]:
        """The tables of the low digits, lowest first."""
        tables: list[LowDigit] = []
        rate = self.rate
        for base in low_bases(rate) if self.bases is None else self.bases:
            tables.append(LowDigit(rate, base, widths=self.widths))
            rate *= base
        return tuple(tables)

    @cached_property
    def top(self) -> SignedTop:
        """The table of the sign and the top digit."""
        base = math.prod(digit.base for digit in self.low)
        cut = math.ceil(_CUT / (self.rate * base)) if self.cut is None else self.cut
        return SignedTop(self.rate, base, cut, widths=self.widths)

    def draw(self, size: int, source: BitSource = OS) -> NDArray[np.int64]:
        """`size` independent draws, in chunks: beside the result, memory does not grow with the size."""
        if size < 0:
            raise BadNoise(f"a number of draws must be >= 0, got {size}")
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, _CHUNK):
            part = drawn[start : start + _CHUNK]
            part[:] = self._chunk(part.size, source)
        return drawn

    def _chunk(self, count: int, source: BitSource) -> NDArray[np.int64]:
        """Sign and top digit, the rare continuations beyond the cut, then the lower digits."""
        signed = self.top.draw(count, source)
        sign = signed >> 31  # 0 or -1, and x ^ -1 is -1 - x
        magnitude = (signed ^ sign).astype(np.int64)
        beyond = np.flatnonzero(magnitude == self.top.cut)
        while beyond.size:
            more = self.top.draw(beyond.size, source)
            more ^= more >> 31  # the sign of a fresh draw is independent of its digit, and dropped
            magnitude[beyond] += more
            if (magnitude[beyond] >= MAX_MAGNITUDE // self.top.base).any():
                raise BadNoise("a draw beyond 2^62 steps, an event of probability below exp(-1024)")
            beyond = beyond[more == self.top.cut]
        for digit in reversed(self.low):
            magnitude *= digit.base
            magnitude += digit.draw(count, source)
        magnitude ^= sign
        return magnitude


def low_bases(rate: Fraction) -> tuple[int, ...]:
    """Powers of two, at most 2^10 each, that leave the top digit a rate >= 1/64; empty for rates >= 1/64.

    >>> low_bases(Fraction(1, 64)), low_bases(Fraction(1, 10**4)), low_bases(Fraction(1, 10**6))
    ((), (256,), (128, 128))
    """
    bits = (math.ceil(1 / (_TOP_SCALE * rate)) - 1).bit_length()
    digits = math.ceil(bits / _DIGIT_BITS)
    return tuple(2 ** ((bits + i) // digits) for i in range(digits))
