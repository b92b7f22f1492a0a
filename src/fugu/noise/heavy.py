"""Generalised Cauchy noise that is drawn: masses ~ (1 + (k / s)^2)^(-tail / 2) at k lattice steps, s = scale / grid and
the tail even, so that every ratio of two masses is rational; and its exact sampler (docs/proofs/heavy.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flint import arb, arb_series, ctx
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import OS, BitSource, bernoulli
from fugu.noise.kind import Floats, Ints, Noise, Objective, check_objective, kind
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

if TYPE_CHECKING:
    from fugu.guarantee.asks import Ask

FARTHEST = 2**61
"""Outputs are clipped here: 2^11 times as far as any value lies, so that the clip does not tell where a value was."""
_NEAR = 1024
"""So many masses are added one by one; from there on Euler and Maclaurin's formula is right to 1e-11 of the tail."""
_TOLD = 14.0
"""Pictures and searches look no further than where e^-14 of the noise lies: power laws have no end in sight."""
_CHUNK = 2**15
_MARGIN = 2.0**-45
"""Acceptance in doubles is right to less than this: some twenty roundings of numbers in [0, 1]."""


@dataclass(frozen=True, init=False)
class HeavyNoise(Noise):
    """What the kinds below share; `power` is the tail exponent, an even number."""

    title: ClassVar[str] = "generalised Cauchy noise on a lattice"
    proof: ClassVar[str] = "docs/proofs/heavy.md"
    place: ClassVar[int] = 3
    considered: ClassVar[bool] = False
    remaps: ClassVar[bool] = False
    closed: ClassVar[bool] = True
    rising: ClassVar[bool] = True
    power: ClassVar[int]
    scale: Real
    grid: Fraction | None

    @classmethod
    def refusal(cls, ask: Ask) -> str | None:
        """Divergences are proved as they are: no event is left out."""
        late = ask.finite and ask.delta
        return f"{cls.name} noise is proved without delta; give Renyi(alpha, epsilon)" if late else None

    @cached_property
    def steps(self) -> Fraction:
        """scale / grid, exactly."""
        if self.grid is None or self.silent:
            raise BadNoise(f"{self.name} noise is known on a lattice and with a positive scale only; give it a grid")
        return as_fraction(self.scale) / self.grid

    def mass(self, k: int) -> arb:
        """(s^2 / (s^2 + k^2))^(power / 2), over the sum of all."""
        return self._masses([k])[0]

    def masses_within(self, reach: int) -> list[arb]:
        """As many on the left as on the right."""
        right = self._masses(range(reach + 1))
        return right[:0:-1] + right

    def _masses(self, steps: Iterable[int]) -> list[arb]:
        m, square = self.power // 2, self.steps**2
        a, b, total = arb(square.numerator), square.denominator, whole(square, m, ctx.prec)
        return [(a / (square.numerator + b * k * k)) ** m / total for k in steps]

    def beyond(self, k: int) -> arb:
        """Masses fall from 0 on, so that what lies beyond k is at most the integral from k."""
        s, m = balls.of(self.steps), self.power // 2
        tail = (1 / (1 + (k / s) ** 2)).beta_lower(balls.of(Fraction(2 * m - 1, 2)), arb(0.5), regularized=True)
        found = tail * s * _line(m) / whole(self.steps**2, m, ctx.prec)
        return arb(1) if found > 1 else found

    def far(self, reach: int, width: int) -> arb:
        """The ratio ((s^2 + (k + w)^2) / (s^2 + k^2))^(power / 2) rises up to k^2 + w k = s^2 and falls from there."""
        s, m = self.steps, self.power // 2
        if reach * (reach + width) >= s * s:
            return balls.of((s * s + (reach + width) ** 2) / (s * s + reach * reach)) ** m
        return (2 * m * (width / (2 * balls.of(s))).asinh()).exp()

    def shift(self, steps: int, alpha: Fraction | None) -> arb:  # noqa: ARG002
        """ln of the largest ratio; a divergence of any order is at most that."""
        return self.far(0, abs(steps)).log() if steps else arb(0)

    # ---- doubles

    def reach(self, fall: float) -> int:
        """As of every noise, but no further than e^-14."""
        return super().reach(min(fall, _TOLD))

    @cached_property
    def _norm(self) -> float:
        with balls.precision(96):
            return float(whole(self.steps**2, self.power // 2, ctx.prec).mid())

    def _weight(self, x: Floats) -> Floats:
        return np.asarray((1 + (x / float(self.steps)) ** 2) ** (-self.power / 2))

    def log_mass(self, steps: Ints) -> Floats:
        """-(power / 2) ln(1 + (k / s)^2) - ln(sum of all)."""
        if self.silent:
            return super().log_mass(steps)
        spread = np.log1p((np.asarray(steps, dtype=np.float64) / float(self.steps)) ** 2)
        return np.asarray(-self.power / 2 * spread - math.log(self._norm))

    @cached_property
    def _sums_near(self) -> Floats:
        """Sums of weights from k to `_NEAR` - 1, for k = 0 .. `_NEAR`."""
        return np.append(np.cumsum(self._weight(np.arange(_NEAR, dtype=np.float64))[::-1])[::-1], 0.0)

    def _more(self, k: Floats) -> Floats:
        """P(N >= k) for whole k >= 1: the integral from k - 1/2 and a term of Euler and Maclaurin's, from 1024 on."""
        from scipy.special import betainc

        s, m = float(self.steps), self.power / 2
        start = np.maximum(k, _NEAR) - 0.5
        with balls.precision(96):
            line = float(_line(self.power // 2).mid())
        far = s * line / 2 * betainc(m - 0.5, 0.5, 1 / (1 + (start / s) ** 2))
        far -= self.power * start / (s * s + start**2) * self._weight(start) / 24
        return np.asarray((far + self._sums_near[np.minimum(k, _NEAR).astype(np.int64)]) / self._norm)

    def cdf(self, steps: Ints) -> Floats:
        """P(N <= k)."""
        if self.silent:
            return super().cdf(steps)
        k = np.asarray(steps, dtype=np.float64)
        tails = self._more(np.where(k >= 0, k + 1, -k))
        return np.asarray(np.where(k >= 0, 1 - tails, tails))

    def tail(self, error: float) -> float:
        """P(|N| > `error`)."""
        if self.silent:
            return 0.0
        return 2 * float(self._more(np.array([math.floor(error / float(self.grid or 1) * (1 + 1e-12)) + 1.0]))[0])

    def quantile(self, level: float) -> float:
        """By bisection of the tail."""
        if self.silent:
            return 0.0
        miss, high = (1 - level) * (1 + 1e-12), 1
        if self.tail(0.0) <= miss:
            return 0.0
        grid = float(self.grid or 1)
        while self.tail(high * grid) > miss:
            high *= 2
        low = high // 2
        while high - low > max(1, high // 2**40):
            middle = (low + high) // 2
            low, high = (low, middle) if self.tail(middle * grid) <= miss else (middle, high)
        return high * grid

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N|, infinite for the power 2; E N^2 = s^2 (Z_(m-1) / Z_m - 1), Z_m the sum of all weights."""
        check_objective(objective)
        if self.silent:
            return 0.0
        if self.power == 2:
            return math.inf
        s, grid, m = float(self.steps), float(self.grid or 1), self.power // 2
        if objective == "squared":
            with balls.precision(256):
                square = self.steps**2
                ratio = whole(square, m - 1, ctx.prec) / whole(square, m, ctx.prec)
                return max(float(((ratio - 1) * balls.of(square)).mid()) * grid**2, 5e-324)
        start, near = _NEAR - 0.5, np.arange(_NEAR, dtype=np.float64)
        weight = float(self._weight(np.array([start]))[0])
        far = s * s / (2 * (m - 1)) * weight * (1 + (start / s) ** 2)
        far += weight * (1 - self.power * start**2 / (s * s + start**2)) / 24
        return max(2 * grid * (float(near @ self._weight(near)) + far) / self._norm, 5e-324)

    # ---- draws

    @property
    def sampler(self) -> HeavySampler:
        """Independent integers of the masses above."""
        return HeavySampler(self.steps, self.power)

    def move(self, places: Any, source: BitSource) -> Any:
        """Outputs beyond 2^61 steps go out as 2^61: a post-processing, as no place is beyond 2^50 and no draw is cut
        before 2^62."""
        return places if self.silent else np.clip(super().move(places, source), -FARTHEST, FARTHEST)


def _kind(tail: int) -> type[HeavyNoise]:
    words = "generalised Cauchy noise on a lattice, a peak at zero with heavy tails and a scale of"
    doc = f"""Noise on a lattice with tails of power {tail}: mass ~ (1 + (k grid / scale)^2)^(-{tail // 2}) at k grid.

    `scale`: a finite number >= 0, 0 is no noise; `grid`: a positive number, a Fraction, or a text such as "0.1"."""
    stated = {"name": f"cauchy{tail}", "power": tail, "words": words, "refused": None, "__doc__": doc}
    made = type(f"Cauchy{tail}", (HeavyNoise,), {**stated, "__module__": __name__})
    return kind(made)


Cauchy2, Cauchy4, Cauchy6 = (_kind(tail) for tail in (2, 4, 6))


def heavy_kind(tail: object) -> type[HeavyNoise]:
    """The lattice noise of that tail exponent."""
    for made in (Cauchy2, Cauchy4, Cauchy6):
        if made.power == tail:
            return made
    raise BadNoise(
        f"generalised Cauchy noise is drawn with a tail of 2, 4 or 6, got {tail!r}; leave out the grid for others, "
        "which are for analysis only"
    )


@lru_cache(maxsize=256)
def whole(square: Fraction, m: int, precision: int) -> arb:
    """The sum over all k of (s^2 / (s^2 + k^2))^m, as a ball.

    sum 1 / (u + k^2) = pi coth(pi sqrt u) / sqrt u, and each derivative by u lowers the power by one: sum (u + k^2)^-m
    is (-1)^(m - 1) times the coefficient of t^(m - 1) of that at u + t.

    >>> round(float(whole(Fraction(1), 1, 64).mid()), 12), round(float(whole(Fraction(4), 2, 64).mid()), 12)
    (3.153348094937, 3.141889916721)
    """
    with balls.precision(precision + 64):
        cap, ctx.cap = ctx.cap, m
        try:
            root = arb_series([balls.of(square), 1], prec=m).sqrt()
            fall = (root * (-2 * arb.pi())).exp()
            series = (fall + 1) / (1 - fall) / root * arb.pi()
            return arb(balls.of(square) ** m * series[m - 1] * (-1) ** (m - 1))
        finally:
            ctx.cap = cap


def _line(m: int) -> arb:
    """The integral of (1 + x^2)^-m over the line: sqrt(pi) Gamma(m - 1/2) / Gamma(m)."""
    half = balls.of(Fraction(2 * m - 1, 2))
    return arb.pi().sqrt() * half.gamma() / arb(m).gamma()


# The sampler. Let c = 2^l >= s be the least such power of two (l >= 0), and T = floor(1 / U) for a uniform U, so that
# P(T = t) = 1 / (t (t + 1)); n = c (T - 1) + V with V uniform on 0 .. c - 1, and S a fair sign. The proposal (n, S) has
# mass 1 / (2 c t (t + 1)) with t = 1 + floor(n / c). It is kept with probability
#
#     A(n) = t (t + 1) / M (s^2 / (s^2 + n^2))^m,      M = 3 for m = 1, else 2,
#
# but (0, minus) never. Kept is k = n or -n, each k with mass 1 / (2 c M) times its weight, once: the law. A <= 1, as
# n >= c (t - 1) >= s (t - 1) gives weight <= (1 + (t - 1)^2)^-m: t = 1: 2 / M; t = 2: 6 / (2^m M); t = 3: 12 / (5^m M)
# and so on, falling. T and the coin are decided on as many bits as they take; nothing rests on doubles but where they
# decide outside their error.


@dataclass(frozen=True)
class HeavySampler:
    """Independent integers with P(k) ~ (1 + (k / steps)^2)^(-power / 2): exactly, given fair bits; beyond 2^62 steps
    they are 2^62.

    >>> HeavySampler(Fraction(5), 4).draw(5).dtype
    dtype('int64')
    """

    steps: Fraction
    power: int
    bits: int = 53
    more: int = 64
    """How many bits each decision begins with, and goes on with; they never alter the law."""

    def __post_init__(self) -> None:
        if not 0 < self.steps <= 2**50:
            raise BadNoise(f"scale / grid must be above 0, at most 2^50, got {float(self.steps):g}; coarsen the grid")

    @cached_property
    def level(self) -> int:
        """The l of the proposal."""
        return max(0, (math.ceil(self.steps) - 1).bit_length())

    @property
    def _most(self) -> int:
        return 3 if self.power == 2 else 2

    def draw(self, size: int, source: BitSource = OS) -> NDArray[np.int64]:
        """`size` independent draws, in chunks: beside the result, memory does not grow with the size."""
        if size < 0:
            raise BadNoise(f"a number of draws must be >= 0, got {size}")
        drawn, done = np.empty(size, dtype=np.int64), 0
        while done < size:
            kept = self._proposed(min(_CHUNK, size - done), source)
            drawn[done : done + kept.size] = kept
            done += kept.size
        return drawn

    def _proposed(self, count: int, source: BitSource) -> NDArray[np.int64]:
        """Those of `count` proposals that are kept."""
        first = source.words(self.bits, count).astype(np.int64)
        offset = source.words(self.level, count).astype(np.int64) if self.level else 0 * first
        minus = source.words(1, count).astype(bool)
        coin = source.words(self.bits, count).astype(np.int64)
        unit, highest = 2**self.bits, 2 ** min(30, 61 - self.level)
        t, most = unit // (first + 1), unit // np.maximum(first, 1)  # 1 / U is in (unit / (u + 1), unit / u]
        sure = (first > 0) & (t == most) & (t < highest)
        t = np.minimum(t, highest)
        n = ((t - 1) << self.level) + offset
        gap = self._chance(t.astype(np.float64), n.astype(np.float64)) - coin / unit
        kept = gap > 0
        sure &= np.abs(gap - 0.5 / unit) > 0.5 / unit + _MARGIN
        for i in np.flatnonzero(~sure).tolist():
            kept[i], n[i] = self._exactly(int(first[i]), int(offset[i]), int(coin[i]), source)
        return np.asarray(np.where(minus, -n, n)[kept & ~(minus & (n == 0))])

    def _chance(self, t: Floats, n: Floats) -> Floats:
        """A(n) in doubles: s, n / s, its square and one more, and a few products."""
        base = 1 / (1 + (n / float(self.steps)) ** 2)
        found = t * (t + 1) / self._most
        for _ in range(self.power // 2):
            found = found * base
        return found

    def _exactly(self, u: int, offset: int, coin: int, source: BitSource) -> tuple[bool, int]:
        """One proposal in whole numbers: its T, then its coin, on as many bits as they take."""
        bits = self.bits
        while not u or 2**bits // (u + 1) != 2**bits // u:
            u, bits = u << self.more | int(source.words(self.more, 1)[0]), bits + self.more
        t = 2**bits // u
        n = ((t - 1) << self.level) + offset
        square = self.steps**2
        chance = Fraction(t * (t + 1), self._most) * (square / (square + n * n)) ** (self.power // 2)
        floor = math.floor(rest := chance * 2**self.bits)
        kept = coin < floor if coin != floor else bernoulli(rest - floor, source, self.more)
        return kept, min(n, 2**62)
