"""Laplace noise, continuous for analysis, on a lattice for release; and its exact sampler."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from numbers import Rational
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import OS, BitSource, BoundaryTable, Widths
from fugu.noise.kind import Floats, Ints, Noise, Objective, check_objective, kind
from fugu.numbers import balls
from fugu.numbers.exact import MatrixLike, Real, VectorLike, as_fraction

if TYPE_CHECKING:
    from fugu.guarantee.composed import Composed

MIN_RATE = Fraction(1, 2**52)
"""Below this a magnitude could pass MAX_MAGNITUDE; at or above it, with probability at most exp(-1024)."""
MAX_MAGNITUDE = 2**62
_TOP_SCALE = 64  # the top digit has 1 / (its rate) at most this: some thousand outcomes
_DIGIT_BITS = 10
_CUT = 21  # the top digit passes its cut with probability below exp(-21)
_MAX_TABLE = 2**16
_CHUNK = 2**15
_SEEN = 1e-9
"""A lattice finer than this part of the scale changes no expected error that a double can hold."""


@kind
@dataclass(frozen=True, init=False)
class Laplace(Noise):
    """Laplace noise, continuous or on a grid: density ~ exp(-|x| / scale); with a grid, mass ~ exp(-|k| grid / scale)
    at k * grid.

    Parameters:

    - `scale`: the mean of |x| of continuous noise, a finite number >= 0; 0 is no noise.
    - `grid`: None for continuous noise, which is analysed and never released; or the step of the lattice that is
      released, a positive number, a Fraction, or a text such as "0.1" or "1/3", read exactly.

    Raises `BadNoise` for others.

    Larger scales are post-processings of smaller ones, Lap(c) = Lap(b) + {0 w.p. (b/c)^2, else Lap(c)}, and
    likewise on a lattice (docs/proofs/laplace.md#1-more-noise-is-a-post-processing-of-less):
    every loss is non-increasing in the scale, for every pair of laws.

    >>> Laplace(2.0).expected_error(), Laplace(2.0).expected_error("squared")
    (2.0, 8.0)
    >>> round(Laplace(2.0, grid=1).expected_error(), 6)
    1.919035
    """

    name: ClassVar[str] = "laplace"
    refused: ClassVar[str | None] = None
    words: ClassVar[str] = "Laplace noise, a sharp peak at zero with a scale of"
    place: ClassVar[int] = 0
    title: ClassVar[str] = "Laplace noise"
    proof: ClassVar[str] = "docs/proofs/laplace.md"
    ordered: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    closed: ClassVar[bool] = True
    scale: Real
    grid: Fraction | None

    @property
    def sampler(self) -> LatticeLaplaceSampler:
        """Independent integers with P(k) ~ exp(-rate |k|)."""
        return laplace_sampler(self.rate)

    @property
    def rate(self) -> Fraction:
        """grid / scale, the decay per lattice step, exactly."""
        if self.grid is None or self.scale == 0:
            raise BadNoise("only lattice noise of positive scale has a rate")
        return self.grid / as_fraction(self.scale)

    def mass(self, k: int) -> arb:
        """(1 - q) / (1 + q) q^|k| with q = e^-rate."""
        rate = balls.of(self.rate)
        return (rate / 2).tanh() * (-rate * abs(k)).exp()

    def beyond(self, k: int) -> arb:
        """2 q^(k + 1) / (1 + q)."""
        rate = balls.of(self.rate)
        return 2 * (-rate * (k + 1)).exp() / (1 + (-rate).exp())

    def shift(self, steps: int, alpha: Fraction | None) -> arb:  # noqa: ARG002
        """rate steps, whatever the order."""
        return balls.of(self.rate * steps)

    def losses(self, by: Real | MatrixLike | VectorLike) -> Composed:
        """Lattice Laplace losses. A number stands for every vector that moves by so much in all, coordinate by
        coordinate added up: the worst is one coordinate that moves by all of it.

        >>> from fugu import compose
        >>> once = Laplace(10, grid="1/16").losses(1)
        >>> once.to_pure(), round(compose([once] * 100).to_approx(1e-6).epsilon, 6)
        (Pure(epsilon=0.1), 4.693043)
        """
        from fugu.guarantee.pairs import LaplaceShift, moves

        return LaplaceShift(1 / self.rate, moves(by, self.grid)).once

    def reach(self, fall: float) -> int:
        """fall scales."""
        return 0 if self.silent else math.ceil(fall / float(self.rate))

    def log_likelihood(self, at: Ints, seen: Ints) -> Floats:
        """-rate |y - x|."""
        return np.asarray(-float(self.rate) * np.abs(seen[:, None] - at[None, :]).astype(np.float64))

    @property
    def margin(self) -> int:
        """Beyond the outermost value every output tells the same."""
        return 0

    def log_mass(self, steps: Ints) -> Floats:
        """ln tanh(rate / 2) - rate |k|."""
        if self.silent:
            return super().log_mass(steps)
        rate = float(self.rate)
        return np.asarray(-rate * np.abs(steps).astype(np.float64) + math.log(math.tanh(rate / 2)))

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| (`objective` "absolute") or E N^2 ("squared"). Continuous: b, 2 b^2. Lattice with q = exp(-grid/b): 2 g
        q / (1 - q^2), 2 g^2 q / (1 - q)^2."""
        check_objective(objective)
        if self.scale == 0:
            return 0.0
        b = float(self.scale)
        if self.grid is None or float(self.grid) < _SEEN * b:
            return b if objective == "absolute" else 2 * b * b
        g = float(self.grid)
        h = g / b
        if h > 700:
            return max(2 * g * math.exp(-h), 5e-324)  # positive, however small: only no noise has no error
        return g / math.sinh(h) if objective == "absolute" else g * g / (2 * math.sinh(h / 2) ** 2)

    def tail(self, error: float) -> float:
        """P(|N| > `error`), `error` >= 0."""
        if self.scale == 0:
            return 0.0
        b = float(self.scale)
        if self.grid is None:
            return math.exp(-error / b)
        h = float(self.grid) / b
        k = math.floor(error / float(self.grid) * (1 + 1e-12)) + 1
        return 2 * math.exp(-k * h) / (1 + math.exp(-h))

    def quantile(self, level: float) -> float:
        """The least error h (a multiple of the grid, if there is one) with P(|N| <= h) >= `level` < 1, from above."""
        if self.scale == 0:
            return 0.0
        b = float(self.scale)
        if self.grid is None or float(self.grid) < _SEEN**2 * b:
            return -b * math.log1p(-level) * (1 + 1e-12)
        h = float(self.grid) / b
        k = (math.log(2 / (1 + math.exp(-h))) - math.log1p(-level)) / h - 1
        steps = max(0, math.ceil(k * (1 + 1e-12)))
        return steps * float(self.grid)


@lru_cache(maxsize=64)
def laplace_sampler(rate: Fraction) -> LatticeLaplaceSampler:
    """One sampler for all noise of one rate: its tables take time, and never change."""
    return LatticeLaplaceSampler(rate)


# Lattice Laplace noise, drawn exactly: P(k) proportional to exp(-rate |k|) on the integers, rate rational.
#
# With q = exp(-rate), a sign S with P(S = 1) = q / (1+q) and an independent geometric G, P(G = g) = (1-q) q^g,
#
#     X = G if S = 0, else -1 - G        has        P(X = k) = (1-q) / (1+q) q^|k|     for every integer k,
#
# because k >= 0 has mass 1/(1+q) (1-q) q^k and k < 0 has mass q/(1+q) (1-q) q^(-1-k). Nothing is rejected.
#
# G is written in digits. For a base B, G = B M + D with M and D independent, M geometric with ratio q^B and D
# on 0 .. B-1 with mass ~ q^d, because (1-q) q^(BM+D) = (1-q^B) q^(BM) * (1-q) q^D / (1-q^B). Repeated on M,
# this keeps every table small. The top digit is cut at K: "at least K" is an outcome, and such a draw adds a
# fresh M, as P(M - K = m | M >= K) = P(M = m). Every boundary of a table is a non-constant rational function of
# q, and q is transcendental (Lindemann 1882), so no boundary is rational and `BoundaryTable` applies.


@dataclass(frozen=True)
class SignedTop(BoundaryTable):
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
class LowDigit(BoundaryTable):
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
