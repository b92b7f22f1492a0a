"""The laws of what a channel publishes, as whole numbers, and the losses between two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.laws.set_family import SetFamily
from fugu.laws.sets import LawSet
from fugu.loss.channel.exponential import exp_below
from fugu.noise.channel import Channel
from fugu.numbers import balls


@dataclass(frozen=True)
class Side:
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


def published(law: Masses, rows: Sequence[tuple[int, ...]], channel: Channel) -> Side:
    """sum_x p(x) K(y | x) of every output, exactly."""
    parts, total = law.whole()
    sums: list[int] = [0] * len(channel.outputs)
    for part, row in zip(parts, rows, strict=True):
        if part:
            sums = [s + part * mass for s, mass in zip(sums, row, strict=True)]
    return Side(tuple(sums), total * channel.total)


def extremes(laws: LawSet, rows: Sequence[tuple[int, ...]], channel: Channel) -> tuple[Side, Side]:
    """The most and the least that any law of a set gives each output."""
    columns = list(zip(*rows, strict=True))
    most, least = tuple(map(laws.top, columns)), tuple(max(Fraction(0), laws.bottom(column)) for column in columns)
    return Side(most, channel.total), Side(least, channel.total)


def worst_ratio(above: Side, below: Side) -> Fraction | None:
    """max_y of the two masses of output y, at least 1; None if it is infinite."""
    worst = Fraction(1)
    for a, b in zip(above.parts, below.parts, strict=True):
        if a and not b:
            return None
        if a * below.total * worst.denominator > worst.numerator * b * above.total:
            worst = Fraction(a * below.total) / (b * above.total)
    return worst


def excess(above: Side, below: Side, epsilon: Fraction) -> Fraction:
    """sum_y [P(y) - E Q(y)]_+ for a rational E at or below e^epsilon: at or above the same with e^epsilon."""
    e = exp_below(epsilon)
    up, down = e.denominator * below.total, e.numerator * above.total
    whole = sum(max(0, a * up - b * down) for a, b in zip(above.parts, below.parts, strict=True))
    return Fraction(whole) / (e.denominator * above.total * below.total)


def divergence(above: Side, below: Side, alpha: Fraction) -> float:
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
