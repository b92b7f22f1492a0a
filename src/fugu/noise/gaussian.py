"""Gaussian noise, continuous for analysis, on a lattice for release; and its exact sampler."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from numbers import Rational
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import OS, BitSource, BoundaryTable, Coin, Widths, exp_minus, working_bits
from fugu.noise.kind import Floats, Ints, Noise, Objective, check_level, check_objective, kind
from fugu.noise.laplace import Laplace, LatticeLaplaceSampler
from fugu.numbers import balls
from fugu.numbers.exact import MatrixLike, Real, VectorLike, as_fraction

if TYPE_CHECKING:
    from fugu.guarantee.asks import Ask
    from fugu.guarantee.composed import Composed

_WIDE = 1 / (2 * 1000.0**2)  # below this decay (a width of 1000 steps) sums are integrals with corrections
_FINEST = Fraction(1, 2**105)  # below this decay doubles do not see the lattice
_SLACK = Fraction(1, 10**12)
NO_RATIO = (
    "Gaussian noise gives no pure guarantee unless the laws are equal: far out, one noised law outweighs the other "
    "without bound. Give a delta > 0, or use Laplace noise"
)


@kind
@dataclass(frozen=True, init=False)
class Gaussian(Noise):
    """Gaussian noise, continuous or on a grid: density ~ exp(-x^2 / (2 scale^2)); with a grid, mass ~ exp(-(k grid)^2 /
    (2 scale^2)) at k * grid.

    Parameters:

    - `scale`: the standard deviation, a finite number >= 0; 0 is no noise.
    - `grid`: None for continuous noise, which is analysed and never released; or the step of the lattice that is
      released, a positive number, a Fraction, or a text such as "0.1" or "1/3", read exactly.

    Raises `BadNoise` for others.

    On a lattice the true standard deviation is a little less (Canonne, Kamath and Steinke 2020). Continuous: N(0, t^2)
    = N(0, s^2) + N(0, t^2 - s^2) for t > s, so every loss is non-increasing in the scale. **On a lattice this fails**:
    lattice Gaussians are not convolutions of each other, and more can leak more. On the integers, scale 0.55 tells (0,
    5, 7) from (6, -1, 1), each with weights (10, 1, 1) / 12, better than scale 0.5 does: total variation 0.7097 against
    0.7013. A larger lattice scale must be proved on its own.

    >>> round(Gaussian(2.0).expected_error(), 6), Gaussian(2.0).expected_error("squared")
    (1.595769, 4.0)
    >>> round(Gaussian(0.5, grid=1).expected_error("squared"), 6)
    0.215013
    """

    name: ClassVar[str] = "gaussian"
    words: ClassVar[str] = "Gaussian noise, a bell curve with a scale (about its standard deviation) of"
    place: ClassVar[int] = 1
    title: ClassVar[str] = "Gaussian noise"
    proof: ClassVar[str] = "docs/proofs/gaussian.md"
    norm: ClassVar[int] = 2
    log_concave: ClassVar[bool] = True
    closed: ClassVar[bool] = True
    scale: Real
    grid: Fraction | None

    @classmethod
    def refusal(cls, ask: Ask) -> str | None:
        """It bounds no ratio, so it needs a delta or a finite order."""
        return NO_RATIO if ask.pure else None

    @property
    def sampler(self) -> LatticeGaussianSampler:
        """Independent integers with P(k) ~ exp(-precision k^2)."""
        return gaussian_sampler(self.precision)

    @property
    def precision(self) -> Fraction:
        """grid^2 / (2 scale^2), the decay per squared lattice step, exactly."""
        if self.grid is None or self.scale == 0:
            raise BadNoise("only lattice noise of positive scale has a precision")
        return self.grid**2 / (2 * as_fraction(self.scale) ** 2)

    def mass(self, k: int) -> arb:
        """e^(-precision k^2) over the sum of all."""
        return (-balls.of(self.precision) * (k * k)).exp() / _total(self.precision, ctx.prec)

    def masses_within(self, reach: int) -> list[arb]:
        """The same, mirrored at 0."""
        c, share = -balls.of(self.precision), 1 / _total(self.precision, ctx.prec)
        half = [(c * (k * k)).exp() * share for k in range(reach + 1)]
        return half[:0:-1] + half

    def beyond(self, k: int) -> arb:
        """2 e^(-c (k + 1)^2) / (1 - e^(-2 c (k + 1))) over the sum of all, c = precision."""
        return _above(self.precision, k + 1) / _total(self.precision, ctx.prec)

    def shift(self, steps: int, alpha: Fraction | None) -> arb:
        """alpha precision steps^2, also on a lattice (Canonne, Kamath and Steinke 2020, Proposition 5)."""
        return super().shift(steps, alpha) if alpha is None else balls.of(alpha * self.precision * steps**2)

    def losses(self, by: Real | MatrixLike | VectorLike) -> Composed:
        """Lattice Gaussian losses, coordinate by coordinate; on lattices too fine for these its zCDP, |by|^2 / (2
        scale^2). A number is how far one coordinate moves: the length of a vector alone does not decide on a lattice.

        >>> from fugu import compose
        >>> round(compose([Gaussian(20, grid=1).losses(1)] * 100).to_approx(1e-6).epsilon, 7)
        2.2540867
        """
        from fugu.guarantee.composed import compose
        from fugu.guarantee.pairs import GaussianShift, moves

        each = GaussianShift(1 / (2 * self.precision), moves(by, self.grid))
        return each.once if each.size < GaussianShift.largest else compose([each.whole])

    def reach(self, fall: float) -> int:
        """sqrt(2 fall) scales."""
        return 0 if self.silent else math.ceil((fall / float(self.precision)) ** (1 / 2))

    def log_mass(self, steps: Ints) -> Floats:
        """-precision k^2 - ln of the sum of all."""
        if self.silent:
            return super().log_mass(steps)
        decay = float(self.precision)
        total = math.log1p(2 * upper_sum(decay, 1)) if decay > 1e-12 else 0.5 * math.log(math.pi / decay)
        return np.asarray(-decay * np.abs(steps).astype(np.float64) ** 2 - total)

    def log_likelihood(self, at: Ints, seen: Ints) -> Floats:
        """-precision |y - x|^2."""
        return np.asarray(-float(self.precision) * np.abs(seen[:, None] - at[None, :]).astype(np.float64) ** 2)

    @property
    def margin(self) -> int:
        """Nine standard deviations."""
        return int(9 * math.sqrt(0.5 / float(self.precision))) + 1

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| (`objective` "absolute") or E N^2 ("squared"). Continuous: scale sqrt(2 / pi), scale^2. Lattice: the
        sums, to some 14 digits.

        By Poisson summation the lattice variance is scale^2 (1 - e) with e < 1e-130 once scale >= 4 grid.
        """
        check_objective(objective)
        if self.scale == 0:
            return 0.0
        s = float(self.scale)
        decay = self._decay()
        if objective == "squared" and decay <= 1 / 32:
            return s * s
        if decay == 0:
            return s * math.sqrt(2 / math.pi)
        g = float(self.grid or 0)
        error = g * g * moment(decay, 2) if objective == "squared" else g * moment(decay, 1)
        return max(error, 5e-324)  # positive, however small: only no noise has no error

    def tail(self, error: float) -> float:
        """P(|N| > `error`); as for every noise, an error within 1e-12 of a lattice point is that point."""
        if not error >= 0:
            raise BadNoise(f"an error must be a number >= 0, got {error!r}")
        if self.scale == 0 or error == math.inf:
            return 0.0
        decay = self._decay()
        if self.grid is None or decay == 0:
            return math.erfc(float(error) / float(self.scale) / math.sqrt(2))
        steps = math.floor(as_fraction(error) * (1 + _SLACK) / self.grid)
        return at_least(decay, steps + 1) if steps**2 * self.precision < 1000 else 0.0

    def quantile(self, level: float) -> float:
        """The least error h (a multiple of the grid, if there is one) with P(|N| <= h) >= `level` < 1, from above.

        What doubles leave in doubt, a relative 1e-12 of 1 - level, goes up.
        """
        if check_level(level) == 0 or self.scale == 0:
            return 0.0
        miss = 1 - as_fraction(level)
        decay = self._decay()
        if self.grid is None or decay == 0:
            return -NormalDist().inv_cdf(float(miss / 2)) * float(self.scale) * (1 + 1e-12)
        allowed = float(miss * (1 - _SLACK))
        high = 1
        while at_least(decay, high) > allowed:
            high *= 2
        steps = bisect_left(range(1, high), True, key=lambda k: at_least(decay, k) <= allowed)
        return float(steps * self.grid)

    def _decay(self) -> float:
        """The precision as a double; 0 without a lattice, or where it is too fine to be seen."""
        if self.grid is None or self.precision < _FINEST:
            return 0.0
        return float(min(self.precision, Fraction(10**4)))


def _above(precision: Fraction, k: int) -> arb:
    """A ball above 2 sum over j >= k of e^(-precision j^2), k >= 1."""
    c = balls.of(precision)
    return 2 * (-c * (k * k)).exp() / (1 - (-2 * c * k).exp())


@lru_cache(maxsize=64)
def _total(precision: Fraction, bits: int) -> arb:
    """A ball that holds the sum over all whole k of e^(-precision k^2)."""
    far = math.ceil(math.sqrt(bits / float(precision))) + 1
    with balls.precision(bits + 32):
        c = balls.of(precision)
        inside = 1 + 2 * sum(((-c * (k * k)).exp() for k in range(1, far + 1)), arb(0))
        return inside.union(inside + _above(precision, far + 1))


def at_least(decay: float, k: int) -> float:
    """P(|K| >= k) for P(K = k) ~ exp(-decay k^2) and k >= 1.

    >>> round(at_least(0.5, 2), 6)
    0.117116
    """
    return 2 * upper_sum(decay, k) / (1 + 2 * upper_sum(decay, 1))


def upper_sum(decay: float, start: int) -> float:
    """sum over k >= start of f(k) = exp(-decay k^2), to some 13 digits (relative), for start >= 1.

    Term by term to a width of 1000 steps. Beyond, with m = start - 1/2, the Euler-Maclaurin formula at midpoints:
    integral from m of f, + f'(m) / 24 - 7 f'''(m) / 5760.
    """
    if decay >= _WIDE:
        j = np.arange(math.ceil(math.sqrt(start**2 + 45 / decay) - start) + 1, dtype=np.float64)
        return math.exp(-decay * start**2) * float(np.exp(-decay * (j * j + 2.0 * start * j)).sum())
    m = start - 0.5
    x = decay * m * m
    slope = 2 * decay * m * (1 / 24 + 7 / 5760 * (6 - 4 * x) * decay)
    return math.sqrt(math.pi / decay) / 2 * math.erfc(math.sqrt(x)) - slope * math.exp(-x)


def moment(decay: float, power: int) -> float:
    """E|K|^power for P(K = k) ~ exp(-decay k^2); for widths beyond 1000 steps by Euler-Maclaurin, power 1 only."""
    if decay < _WIDE:
        return (1 / decay - 1 / 6 - decay / 60) * math.sqrt(decay / math.pi)
    k: NDArray[np.float64] = np.arange(1, math.ceil(math.sqrt(45 / decay)) + 2, dtype=np.float64)
    mass = np.exp(-decay * k * k)
    return float(2 * (k**power * mass).sum() / (1 + 2 * mass.sum()))


@lru_cache(maxsize=64)
def gaussian_sampler(precision: Fraction) -> LatticeGaussianSampler:
    """One sampler for all noise of one precision: its tables take time, and never change."""
    return LatticeGaussianSampler(precision)


LatticeNoise = Laplace | Gaussian
"""What can be released, and is proved on every shape of laws."""


# Lattice Gaussian noise, drawn exactly: P(k) proportional to exp(-precision k^2) on the integers, precision rational.
#
# Up to a width of some 200 steps one table holds the law. With q = exp(-precision) and S(i) = sum over k >= i of
# q^(k^2), the negative integers have mass S(1), the others S(0). Magnitudes from a cut on are one outcome per sign,
# of probability below exp(-44); such a draw goes on with the law of k - cut given k >= cut, a table of its own.
#
# Beyond that width a lattice Laplace draw y is kept with probability exp(-precision (|y| - c)^2), c any integer >= 1
# and the Laplace rate r = 2 precision c: as r |y| + precision (|y| - c)^2 = precision (y^2 + c^2), what is kept has
# mass ~ exp(-precision y^2) (Canonne, Kamath and Steinke 2020, algorithm 3). How many draws it takes is
# independent of what is kept. For c near the width, 76 % are kept.
#
# Nothing rests on rounding: a double decides only outside its proved error, else balls and further bits do. That a
# boundary of the tables is irrational is not known (it is a quotient of theta sums in exp(-rational)), and not
# needed: a uniform equals it with probability zero. A comparison still open at 2^12 bits raises an error.


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
        while missing:  # 76 % of the proposals are kept: these nearly always hold as many, with six sigmas to spare
            enough = missing * 4 // 3 + 4 * math.isqrt(missing) + 10 if self.widths.steady else missing
            y = self.proposal.draw(enough, source)
            kept.append(y[self._keeps(np.abs(y) - self.centre, source)][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept)

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
