"""What leaves a channel of whole numbers: sums of its columns, exactly, under stated laws or any belief."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.laws.family import Family, SetFamily
from fugu.laws.masses import Masses
from fugu.laws.sets import LawSet
from fugu.noise.channel import Channel
from fugu.numbers import balls

# The laws of what a channel publishes, as whole numbers, and the losses between two of them.


@dataclass(frozen=True)
class OutputMasses:
    """parts[y] / total: the mass of every output; of a set of laws the most, or the least, that any member gives it."""

    parts: tuple[int | Fraction, ...]
    total: int


def rows_at(points: NDArray[np.int64], channel: Channel) -> list[tuple[int, ...]]:
    """The rows of the points, which are row numbers."""
    if points.dtype.kind not in "iu" or (
        len(points) and not 0 <= int(points.min()) <= int(points.max()) < len(channel.rows)
    ):
        raise BadNoise(f"a channel of {len(channel.rows)} values has no row for some point of the laws")
    return [channel.rows[x] for x in points.tolist()]


def law_list(item: Family | SetFamily) -> tuple[Masses, ...] | tuple[LawSet, ...]:
    """The laws of a family, or its sets of laws."""
    return item.sets if isinstance(item, SetFamily) else item.laws


def published(law: Masses, rows: Sequence[tuple[int, ...]], channel: Channel) -> OutputMasses:
    """sum_x p(x) K(y | x) of every output, exactly."""
    parts, total = law.whole()
    sums: list[int] = [0] * len(channel.outputs)
    for part, row in zip(parts, rows, strict=True):
        if part:
            sums = [s + part * mass for s, mass in zip(sums, row, strict=True)]
    return OutputMasses(tuple(sums), total * channel.total)


def extremes(laws: LawSet, rows: Sequence[tuple[int, ...]], channel: Channel) -> tuple[OutputMasses, OutputMasses]:
    """The most and the least that any law of a set gives each output."""
    columns = list(zip(*rows, strict=True))
    most, least = tuple(map(laws.top, columns)), tuple(max(Fraction(0), laws.bottom(column)) for column in columns)
    return OutputMasses(most, channel.total), OutputMasses(least, channel.total)


def worst_ratio(above: OutputMasses, below: OutputMasses) -> Fraction | None:
    """max_y of the two masses of output y, at least 1; None if it is infinite."""
    worst = Fraction(1)
    for a, b in zip(above.parts, below.parts, strict=True):
        if a and not b:
            return None
        if a * below.total * worst.denominator > worst.numerator * b * above.total:
            worst = Fraction(a * below.total) / (b * above.total)
    return worst


def excess(above: OutputMasses, below: OutputMasses, epsilon: Fraction) -> Fraction:
    """sum_y [P(y) - E Q(y)]_+ for a rational E at or below e^epsilon: at or above the same with e^epsilon."""
    e = exp_below(epsilon)
    up, down = e.denominator * below.total, e.numerator * above.total
    whole = sum(max(0, a * up - b * down) for a, b in zip(above.parts, below.parts, strict=True))
    return Fraction(whole) / (e.denominator * above.total * below.total)


def divergence(above: OutputMasses, below: OutputMasses, alpha: Fraction) -> float:
    """ln(sum_y P(y)^alpha Q(y)^(1 - alpha)) / (alpha - 1), in balls, from above; inf where P has mass and Q none."""
    a, total = balls.of(alpha), arb(0)
    up, down = balls.of(above.total), balls.of(below.total)
    for p, q in zip(above.parts, below.parts, strict=True):
        if p and not q:
            return math.inf
        if p:
            ratio = balls.of(p) / up * (down / balls.of(q))
            total += balls.of(q) / down * (ratio.log() * a).exp()
    return max(0.0, balls.upper(total.log() / (a - 1)))


# What a channel tells at most, whatever is believed about the values that go in.


def any_belief(channel: Channel) -> float:
    """The least epsilon, from above, with K(y | x) <= e^epsilon K(y | x') for all values and outputs; inf if none.

    P(y) / Q(y) is a ratio of means of K(y | .), so no two beliefs about the value lose more.

    >>> any_belief(Channel([0, 1], [[3, 1], [1, 3]])) == 1.0986122886681098
    True
    """
    worst: Fraction | None = Fraction(1)
    for column in channel.columns():
        least, most = min(column), max(column)
        if most and not least:
            return log_up(None)
        if most and worst is not None:
            worst = max(worst, Fraction(most, least))
    return log_up(worst)


# e^epsilon against rationals, decided exactly: a channel of least error meets its budget with nothing to spare.


_BITS = (128, 512, 2048, 8192)
_FINE = 192
"""Bits of the rational below e^epsilon that positive parts are taken with."""


def at_most_exp(ratio: Fraction | None, epsilon: Fraction) -> bool:
    """Whether ratio <= e^epsilon, proved; None stands for an infinite ratio.

    For a rational epsilon > 0 no rational is equal to e^epsilon (Lindemann), so more bits decide at last; what they do
    not decide counts as above.

    >>> at_most_exp(Fraction(2), Fraction(1)), at_most_exp(Fraction(1), Fraction(0)), at_most_exp(None, Fraction(9))
    (True, True, False)
    """
    if ratio is None:
        return False
    if ratio <= 1:
        return True
    for bits in _BITS if epsilon > 0 else ():
        with balls.precision(bits):
            found = balls.of(ratio).log()
            if found <= balls.of(epsilon):
                return True
            if found > balls.of(epsilon):
                return False
    return False


def log_up(ratio: Fraction | None) -> float:
    """A float at or above ln(ratio), for a ratio >= 1; inf for None.

    >>> log_up(Fraction(1)), log_up(None)
    (0.0, inf)
    """
    if ratio is None:
        return math.inf
    with balls.precision(_BITS[0]):
        return 0.0 if ratio <= 1 else balls.upper(balls.of(ratio).log())


def exp_below(epsilon: Fraction) -> Fraction:
    """A rational at or below e^epsilon, within 2^-180 of it relatively; 1 at 0.

    >>> exp_below(Fraction(0)), float(exp_below(Fraction(1)))
    (Fraction(1, 1), 2.718281828459045)
    """
    if epsilon == 0:
        return Fraction(1)
    with balls.precision(_FINE):
        mantissa, exponent = balls.of(epsilon).exp().lower().man_exp()
    whole, power = int(mantissa), int(exponent)
    return Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power)
