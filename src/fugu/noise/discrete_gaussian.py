"""Lattice Gaussian noise, drawn exactly: P(k) proportional to exp(-precision k^2) on the integers, precision rational.

Up to a width of some 200 steps one table holds the law. With q = exp(-precision) and S(i) = sum over k >= i of
q^(k^2), the negative integers have mass S(1), the others S(0). Magnitudes from a cut on are one outcome per sign,
of probability below exp(-44); such a draw goes on with the law of k - cut given k >= cut, a table of its own.

Beyond that width a lattice Laplace draw y is kept with probability exp(-precision (|y| - c)^2), c any integer >= 1
and the Laplace rate r = 2 precision c: as r |y| + precision (|y| - c)^2 = precision (y^2 + c^2), what is kept has
mass ~ exp(-precision y^2) (Canonne, Kamath and Steinke 2020, algorithm 3). How many draws it takes is
independent of what is kept. For c near the width, 76 % are kept.

Nothing rests on rounding: a double decides only outside its proved error, else balls and further bits do. That a
boundary of the tables is irrational is not known (it is a quotient of theta sums in exp(-rational)), and not
needed: a uniform equals it with probability zero. A comparison still open at 2^12 bits raises an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from numbers import Rational

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import OS, BitSource, BoundaryTable, Widths
from fugu.noise.laplace import LatticeLaplaceSampler
from fugu.numbers import balls

MIN_PRECISION = Fraction(1, 2**105)
"""A width of 2^52 steps, the widest proposal that `LatticeLaplaceSampler` draws."""
_TABLED = Fraction(1, 2 * 200**2)  # from this precision on (a width of 200 steps at most) one table is used
_CUT = 45  # a magnitude passes the cut with probability at most 2 exp(-45), as the law is sub-Gaussian
_MAX_CUT = 2**16
_CHUNK = 2**15
_ABSURD = 2**12
_STEPS, _REACH = 64, 32
MARGIN = 2.0**-40
"""`exp_minus` is within 2^-44 of the truth, and the two roundings of a comparison within 2^-52."""


def working_bits() -> int:
    """The working precision of the balls; an error once it is absurd, so that no tie is pursued for ever."""
    if ctx.prec > _ABSURD:
        raise BadNoise(f"a boundary agrees with a dyadic number, or with a draw, on {_ABSURD} bits; change the scale")
    return int(ctx.prec)


@lru_cache(maxsize=16)
def half_sums(precision: Fraction, start: int, count: int, bits: int) -> tuple[arb, ...]:
    """S(0), ..., S(count) as balls, with S(i) = sum over k >= i of exp(-precision (k^2 + 2 start k)).

    Summed up to m > count with precision (m^2 + 2 start m) >= bits. From m on each term is at most
    exp(-precision (2 m + 1 + 2 start)) times the one before: the rest is between zero and a geometric sum.
    (To be called at a working precision of `bits`.)

    >>> with balls.precision(60):
    ...     s = half_sums(Fraction(1, 2), 0, 1, 60)
    >>> round(float(s[0] + s[1]), 9)  # the theta sum; sqrt(2 pi) is 2.506628275
    2.506628288
    """
    decay = balls.of(-precision)
    m = max(count, math.isqrt(start**2 + math.ceil(bits / precision)) - start) + 1
    rest = (decay * (m * (m + 2 * start))).exp() / -(decay * (2 * (m + start) + 1)).expm1()
    total = rest * arb(0.5, 0.5)
    sums = []
    for k in range(m - 1, -1, -1):
        total += (decay * (k * (k + 2 * start))).exp()
        if k <= count:
            sums.append(total)
    return tuple(reversed(sums))


@dataclass(frozen=True)
class Signed(BoundaryTable):
    """The law itself, with -cut and cut meaning "at least cut steps away".

    From the rare end: P(k <= -i) = S(i) / (S(0) + S(1)) for i = cut .. 1, then S(1) + S(i) in place of S(i).
    All terms are positive: small masses keep their accuracy.

    >>> Signed(Fraction(1), cut=2).outcomes().tolist()
    [-2, -1, 2, 1, 0]
    """

    precision: Fraction
    cut: int

    def outcomes(self) -> NDArray[np.int32]:
        down = np.arange(self.cut, -1, -1, dtype=np.int32)
        return np.concatenate([-down[:-1], down])

    def boundary(self, j: int) -> arb:
        S = half_sums(self.precision, 0, self.cut, working_bits())
        side, place = divmod(j - 1, self.cut)
        mass = S[self.cut - place]
        return (mass if side == 0 else S[1] + mass) / (S[0] + S[1])


@dataclass(frozen=True)
class Tail(BoundaryTable):
    """k - start given k >= start, with cut meaning "at least cut"; from the rare end, P(i or more) = S(i) / S(0).

    >>> Tail(Fraction(1), start=2, cut=3).outcomes().tolist()
    [3, 2, 1, 0]
    """

    precision: Fraction
    start: int
    cut: int

    def outcomes(self) -> NDArray[np.int32]:
        return np.arange(self.cut, -1, -1, dtype=np.int32)

    def boundary(self, j: int) -> arb:
        S = half_sums(self.precision, self.start, self.cut, working_bits())
        return S[self.cut + 1 - j] / S[0]


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


@dataclass(frozen=True)
class LatticeGaussianSampler:
    """Independent integers with P(k) ~ exp(-precision k^2): exactly, given fair bits.

    The precision is grid^2 / (2 scale^2). `cut` (0: propose and reject; else the cut of the table) and `widths`
    change the speed and the bits read, never the law. Keep a sampler: its first draw builds tables, for tens of
    milliseconds.

    >>> LatticeGaussianSampler(Fraction(1, 2 * 16**2)).draw(5).dtype
    dtype('int64')
    >>> int(LatticeGaussianSampler(Fraction(10**6)).draw(10**5).sum())
    0
    """

    precision: Fraction
    cut: int | None = None
    widths: Widths = field(default=Widths())

    def __post_init__(self) -> None:
        given = self.precision
        exact = Fraction(int(given.numerator), int(given.denominator)) if isinstance(given, Rational) else Fraction(0)
        if exact < MIN_PRECISION:
            raise BadNoise(f"grid^2 / (2 scale^2) must be an exact rational >= 2^-105, got {given!r}; coarsen the grid")
        object.__setattr__(self, "precision", exact)
        if not isinstance(self.table.cut, int) or not (self.precision > 1) <= self.table.cut <= _MAX_CUT:
            raise BadNoise(f"a cut of {self.cut!r} does not fit the precision {given}")

    @cached_property
    def table(self) -> Signed:
        """The table of the law up to the cut; a cut of 0 means that there is none."""
        least = math.isqrt(math.ceil(_CUT / self.precision)) + 1 if self.precision >= _TABLED else 0
        return Signed(self.precision, least if self.cut is None else self.cut, widths=self.widths)

    @cached_property
    def centre(self) -> int:
        """The integer c of the proposal: the width 1 / sqrt(2 precision), rounded up."""
        return math.isqrt(math.ceil(1 / (2 * self.precision)) - 1) + 1

    @cached_property
    def proposal(self) -> LatticeLaplaceSampler:
        """Laplace draws of rate 2 precision c >= sqrt(2 precision) >= 2^-52."""
        return LatticeLaplaceSampler(2 * self.precision * self.centre, widths=self.widths)

    def draw(self, size: int, source: BitSource = OS) -> NDArray[np.int64]:
        """`size` independent draws, in chunks: beside the result, memory does not grow with the size."""
        if size < 0:
            raise BadNoise(f"a number of draws must be >= 0, got {size}")
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, _CHUNK):
            part = drawn[start : start + _CHUNK]
            part[:] = self._tabled(part.size, source) if self.table.cut else self._proposed(part.size, source)
        return drawn

    def _tabled(self, count: int, source: BitSource) -> NDArray[np.int64]:
        """Draws from the table; those beyond the cut go on together, as P(k | k >= start) is the same for all."""
        drawn = self.table.draw(count, source).astype(np.int64)
        start = self.table.cut
        beyond = np.flatnonzero(np.abs(drawn) == start)
        while beyond.size:
            more = Tail(self.precision, start, self.table.cut, widths=self.widths).draw(beyond.size, source)
            drawn[beyond] += np.sign(drawn[beyond]) * more
            beyond, start = beyond[more == self.table.cut], start + self.table.cut
        return drawn

    def _proposed(self, count: int, source: BitSource) -> NDArray[np.int64]:
        """The first `count` proposals that are kept, of a sequence of independent ones."""
        kept: list[NDArray[np.int64]] = []
        missing = count
        while missing:
            y = self.proposal.draw(self._enough(missing), source)
            kept.append(y[self._keeps(np.abs(y) - self.centre, source)][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept)

    def _enough(self, count: int) -> int:
        """So many proposals nearly always hold `count` that are kept (76 % are, and six sigmas to spare)."""
        return count * 4 // 3 + 4 * math.isqrt(count) + 10 if self.widths.steady else count

    def _keeps(self, offset: NDArray[np.int64], source: BitSource) -> NDArray[np.bool_]:
        """Coins of probability exp(-precision offset^2): a few bits against a double, the close ones exactly."""
        bits = self.widths.first
        u = source.words(bits, offset.size)
        gap = exp_minus(float(self.precision), offset) - u.astype(np.float64) * 2.0**-bits
        kept = gap > 0
        for i in np.flatnonzero(np.abs(gap) <= MARGIN + 2.0**-bits):
            exponent = self.precision * int(offset[i]) ** 2
            kept[i] = Coin(exponent, widths=self.widths).toss(int(u[i]), bits, source)
        return kept
