"""The masses that noised laws give to outputs: sums over atoms of mass times noise, between whole numbers.

Noise of mass ~ e^(-decay m), m the l1 distance (Laplace) or the squared l2 distance (Gaussian) in lattice steps, is
left without its normalising constant, which is the same for every law. Outputs are the lattice points of a box.

**Laplace.** The box is the hull of the atoms, coordinate by coordinate. Beyond an end of it, every |y_i - x_i| grows by
one with each step, for every atom: all sums fall by r = e^-decay, and their ratios stay. So an output on n ends stands
for all beyond it, with the weight (1 + r + r^2 + ...)^n = (1 - r)^-n. Where all atoms share a coordinate, both sides
are beyond, and the coordinate's noise sums to its own normaliser: it drops out.

**Gaussian.** The box is the hull and a margin; what lies beyond is bounded where it is needed (`tail`).

**Cauchy.** Weights are rational, and so are all sums. Beyond a margin r of the hull of width w every ratio is at most

    far = ((s^2 + (r + 1 + w)^2) / (s^2 + (r + 1)^2))^m,      s = 1 / decay, (r + 1) (r + 1 + w) >= s^2,

as |y - x| and |y - x'| are above r there, on one side and at most w apart, and that quotient falls in r from there."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from fugu_verify.arithmetic import exp, log, pi, up
from fugu_verify.reading import Drawn, Family, Law
from fugu_verify.result import NotSummed

MOST_TERMS = 30_000_000
"""So many products of a mass and a noise are summed, no more; about half a minute."""
_MOST_BITS = 60_000
_EXACT = 256
"""Weights of Cauchy noise up to a million spreads away are above 2^-128."""
_WIDEST = 2**16
"""Cauchy noise is summed so far out, and no further."""
_WIDTH = 2
"""Weights are floors: the truth is at most two units above."""
Point = tuple[int, ...]


@dataclass
class Work:
    """Terms summed so far; more than `MOST_TERMS` are refused before they are begun."""

    terms: int = 0

    def take(self, terms: int, bits: int = 0) -> None:
        """Count what comes next: long numbers count for more."""
        if bits > _MOST_BITS:
            raise NotSummed(f"its smallest masses need {bits} bits, and at most {_MOST_BITS} are carried")
        self.terms += terms * (1 + bits // 2000)
        if self.terms > MOST_TERMS:
            raise NotSummed(f"it has {self.terms} terms, and at most {MOST_TERMS} are summed")


@dataclass(frozen=True)
class Outputs:
    """Lattice points, and on how many ends of the hull each of them lies."""

    points: tuple[Point, ...]
    ends: tuple[int, ...]
    spread: int
    """In how many coordinates the atoms differ."""


@dataclass(frozen=True)
class Noised:
    """Masses of every law at every output, in units of 2^-bits, without the noise's normaliser."""

    low: tuple[tuple[int, ...], ...]
    high: tuple[tuple[int, ...], ...]
    bits: int


def hull(family: Family) -> list[tuple[int, int]]:
    """The least and the largest value of every coordinate."""
    return [(min(axis), max(axis)) for axis in zip(*family.points, strict=True)]


def size(family: Family, margin: int = 0) -> int:
    """How many outputs the box has."""
    return math.prod([high - low + 1 + 2 * margin for low, high in hull(family)])


def box(family: Family, margin: int = 0) -> Outputs:
    """Every lattice point of the hull and the margin."""
    ranges = [range(low - margin, high + margin + 1) for low, high in hull(family)]
    return _on_ends(family, tuple(itertools.product(*ranges)))


def corners(family: Family) -> Outputs:
    """The points whose every coordinate is that of some atom. Along one coordinate, between two neighbouring values of
    the atoms, Laplace sums are A r^t + B r^-t: the ratio of two is a Möbius function of r^(2t), so monotone. Its
    extremes over the line, coordinate after coordinate, are at these points."""
    axes = [sorted(set(axis)) for axis in zip(*family.points, strict=True)]
    return _on_ends(family, tuple(itertools.product(*axes)))


def atoms(family: Family) -> Outputs:
    """The points of the laws themselves: the outputs where nothing is added."""
    return Outputs(family.points, (0,) * len(family.points), 0)


def _on_ends(family: Family, points: tuple[Point, ...]) -> Outputs:
    limits = hull(family)
    ends = tuple(sum(a < b and x in (a, b) for x, (a, b) in zip(y, limits, strict=True)) for y in points)
    return Outputs(points, ends, sum(a < b for a, b in limits))


def distance(noise: Drawn, y: Point, x: Point) -> int:
    """What the noise counts: steps for Laplace, squared steps for Gaussian noise; whether they differ without noise."""
    steps = [abs(a - b) for a, b in zip(y, x, strict=True)]
    if noise.silent:
        return int(any(steps))
    return sum(steps) if noise.kind == "laplace" else sum(k * k for k in steps)


def bits_for(family: Family, noise: Drawn, outputs: Outputs, spare: int) -> int:
    """So many bits that every noised mass at these outputs keeps `spare` significant ones."""
    least = max(law.total.bit_length() - min(m for m in law.low if m).bit_length() + 1 for law in family.laws)
    if noise.silent or noise.power:
        return least + spare + (_EXACT if noise.power else 0)
    ranges = zip(zip(*outputs.points, strict=True), hull(family), strict=True)
    far: list[int] = [max(max(axis) - low, high - min(axis)) for axis, (low, high) in ranges]
    steps = sum(far) if noise.kind == "laplace" else sum(k * k for k in far)
    return int(least + spare + math.ceil(noise.decay * steps * Fraction(3, 2)))  # log2(e) < 3/2


def noised(family: Family, noise: Drawn, outputs: Outputs, bits: int, work: Work) -> Noised:
    """Sum over atoms, for every law and output."""
    work.take(len(outputs.points) * len(family.points) * (1 + len(family.laws)), bits)
    weigh = Weights(noise, bits)
    width = 0 if noise.silent else _WIDTH
    low: list[list[int]] = [[] for _ in family.laws]
    high: list[list[int]] = [[] for _ in family.laws]
    for y in outputs.points:
        weights = [weigh(distance(noise, y, x)) for x in family.points]
        for law, floor, ceiling in zip(family.laws, low, high, strict=True):
            least = sum(map(mul, law.low, weights))
            floor.append(least // law.total)
            most = least if law.low is law.high else sum(map(mul, law.high, weights))
            ceiling.append(up(most + width * sum_of(law), law.total))
    return Noised(tuple(map(tuple, low)), tuple(map(tuple, high)), bits)


def sum_of(law: Law) -> int:
    """The numerators together: the total, where the law is exact."""
    return law.total if law.low is law.high else sum(law.high)


class Weights:
    """floor(e^(-decay m) 2^bits) for whole m >= 0, from the squares of e^-decay; 1 and 0 where nothing is added.

    An enclosure of a product of two numbers in [0, 1] is at most the sum of their widths and two units wide. So the
    power 2^i is at most 2^(i+2) units wide, and m as many more bits, doubled, keep the floor within two units."""

    def __init__(self, noise: Drawn, bits: int) -> None:
        self.noise, self.bits = noise, bits
        self.known: dict[int, int] = {0: 1 << bits}
        self.squares: list[tuple[int, int]] = []
        self.spare = 64

    def __call__(self, m: int) -> int:
        if (found := self.known.get(m)) is None:
            found = self.known[m] = self._power(m)
        return found

    def _power(self, m: int) -> int:
        if power := self.noise.power:
            square = self.noise.decay**2
            n, d = square.numerator, square.denominator
            return int((d**power << self.bits) // (d + n * m) ** power)
        if self.noise.silent or self.noise.decay * m > self.bits:
            return 0  # e^-x < 2^-x: below one unit
        if 2 * m.bit_length() + 16 > self.spare:
            self.spare, self.squares = 4 * m.bit_length() + 64, []
        work = self.bits + self.spare
        low = high = 1 << work
        for i, bit in enumerate(reversed(bin(m)[2:])):
            if i == len(self.squares):
                a, b = self.squares[-1] if self.squares else (0, 0)
                first = exp(-self.noise.decay, work) if not self.squares else (a * a >> work, -(-b * b >> work))
                self.squares.append(first)
            if bit == "1":
                a, b = self.squares[i]
                low, high = low * a >> work, -(-high * b >> work)
        if high - low >> self.spare:
            raise ArithmeticError("a weight lost its digits; this is a fault of fugu")
        return low >> self.spare


def tail(decay: Fraction, beyond: Fraction, bits: int) -> Fraction:
    """At least the sum over k >= 0 of e^(-decay (beyond + k)^2), for beyond > 0: (beyond + k)^2 >= beyond^2 + 2 beyond
    k, so the terms are below a geometric series."""
    first, ratio = exp(-decay * beyond**2, bits)[1], exp(-2 * decay * beyond, bits)[1]
    unit = 1 << bits
    if ratio >= unit:
        raise NotSummed("its noise is too wide for its tail to be enclosed")
    return Fraction(first, unit - ratio)


def normaliser(noise: Drawn, bits: int) -> tuple[Fraction, Fraction]:
    """The sum of all weights of one coordinate: (1 + r) / (1 - r), or term by term with a tail; 1 without noise."""
    unit = 1 << bits
    if noise.silent:
        return Fraction(1), Fraction(1)
    if noise.power:
        return _cauchy(noise, bits)
    if noise.kind == "laplace":
        low, high = exp(-noise.decay, bits)
        if high >= unit:
            raise NotSummed("its noise is too wide for its mass to be enclosed")
        return Fraction(unit + low, unit - low), Fraction(unit + high, unit - high)
    last = reach(noise.decay, bits)
    weigh = Weights(noise, bits)
    within = weigh(0) + 2 * sum(weigh(k * k) for k in range(1, last + 1))
    rest = 2 * tail(noise.decay, Fraction(last + 1), bits)
    return Fraction(within, unit), Fraction(within + 2 * _WIDTH * last, unit) + rest


def reach(decay: Fraction, bits: int) -> int:
    """So many steps that e^(-decay steps^2) is below 2^-bits: ln 2 < 7/10."""
    return math.isqrt(math.ceil(bits * Fraction(7, 10) / decay)) + 1


# Cauchy noise. With x = pi s, c = coth x and h = 1 / sinh^2 x, the sums over all k of (1 + (k / s)^2)^-m are, by the
# partial fractions of the cotangent and two derivatives by s,
#
#     x c,      x c / 2 + x^2 h / 2,      3 x c / 8 + 3 x^2 h / 8 + x^3 c h / 4,      for m = 1, 2, 3.


def _cauchy(noise: Drawn, bits: int) -> tuple[Fraction, Fraction]:
    s, work = 1 / noise.decay, bits + 64 + 4 * noise.decay.__ceil__().bit_length()
    ends = [Fraction(x, 1 << work) * s for x in pi(work)]
    falls = [Fraction(exp(-2 * x, work)[side], 1 << work) for side, x in ((0, ends[1]), (1, ends[0]))]
    if falls[1] >= 1:
        raise NotSummed("its noise is too narrow for its mass to be enclosed")
    found = []
    for x, e in zip(ends, falls, strict=True):  # c and h rise with e, and all terms are positive
        c, h = (1 + e) / (1 - e), 4 * e / (1 - e) ** 2
        found.append((x * c, (x * c + x**2 * h) / 2, 3 * (x * c + x**2 * h) / 8 + x**3 * c * h / 4)[noise.power - 1])
    return found[0], found[1]


def far(family: Family, noise: Drawn, margin: int) -> Fraction:
    """At least every ratio of two noised masses beyond a margin of the hull that `margins` gives."""
    ((low, high),) = hull(family)
    first, square = margin + 1, 1 / noise.decay**2
    return ((square + (first + high - low) ** 2) / (square + first**2)) ** noise.power


def margins(family: Family, noise: Drawn, epsilon: Fraction | None) -> int:
    """A margin beyond which no ratio is above e^epsilon; None: four spreads and hulls, and some thousand steps."""
    if len(family.points[0]) > 1:
        raise NotSummed("Cauchy noise is for one number")
    ((low, high),) = hull(family)
    margin = 4 * (math.ceil(1 / noise.decay) + high - low + 1)
    if epsilon is None:
        return max(margin, 2**13)
    while log(far(family, noise, margin), 64)[1] > epsilon * 2**64:
        margin *= 2
        if margin > _WIDEST:
            raise NotSummed("the ratios of its tails reach further than is summed here")
    return margin
