"""Drawing the answer of a question: exact numbers of the private table, noise from fair bits, and what comes out of it.

The numbers before noise live in `draw` alone. What it returns is noised, and `cells_of` shows it without looking at
the table again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.noise.bits import OS, BitSource
from fugu.noise.selection import draw_one, permute_and_flip
from fugu.queries.answer import Cell
from fugu.queries.features import Codes, Feature, Placed, SquaredFeature
from fugu.queries.sequence_query import error_bound, laplace_sampler
from fugu.queries.session_certificate import FLIP, LINES, NoisedQuestion
from fugu.queries.statistic import StatisticQuestion

LEVEL = 0.95
"""How often an interval holds."""
_OFTEN = 200
"""Fewer draws of one rate than this are drawn without tables, if there are many rates."""


def draw(
    noised: NoisedQuestion, reading: Schema, table: Table, group: Codes, names: Sequence[str], source: BitSource = OS
) -> list[list[int]]:
    """The noised numbers of each group, in the order of `names`: sums, counts of cells, or the place that was chosen.

    `noised`: the question with its noise. `reading`, `table`: the private table, read. `group`: each row's place in
    `names`; a row counts in its own group alone. `source`: where bits come from."""
    codes = [feature.of(reading, table) for feature in noised.features]
    rates = [noised.rates[name] for name in names]
    if noised.kind in LINES:
        totals = np.zeros((len(codes), len(names)), dtype=np.int64)
        for total, own in zip(totals, codes, strict=True):
            np.add.at(total, group, own)
        drawn = [_noise([found[k] for found in rates], 1, source)[:, 0] for k in range(len(codes))]
        return [[int(t[g]) + int(d[g]) for t, d in zip(totals, drawn, strict=True)] for g in range(len(names))]
    size = noised.features[0].top + 1
    counts = np.bincount(group * size + codes[0], minlength=len(names) * size).reshape(len(names), size)
    if noised.law == FLIP:
        found = zip(counts, rates, strict=True)
        return [[permute_and_flip(utilities(row, noised), rate[0], source)] for row, rate in found]
    noised_counts: list[list[int]] = (counts + _noise([found[0] for found in rates], size, source)).tolist()
    return noised_counts


def _noise(rates: Sequence[Fraction], size: int, source: BitSource) -> Codes:
    """`size` draws of each rate. A rate that is drawn often, or one of few, is worth a table."""
    found = np.zeros((len(rates), size), dtype=np.int64)
    rows: dict[Fraction, list[int]] = {}
    for k, rate in enumerate(rates):
        rows.setdefault(rate, []).append(k)
    for rate, places in rows.items():
        draws = len(places) * size
        if draws >= _OFTEN or len(rows) <= 4:
            found[places] = laplace_sampler(rate).draw(draws, source).reshape(len(places), size)
        else:
            found[places] = np.reshape([draw_one(rate, source) for _ in range(draws)], (len(places), size))
    return found


def utilities(counts: NDArray[np.int64], noised: NoisedQuestion) -> list[Fraction]:
    """What a selection is made by, from the counts of the cells. Of a top list the count of each label: one record
    moves each by at most 1. Of a quantile minus how far the wanted rank lies outside the ranks of a point's cell: a
    record that moves changes the numbers below and up to a point by at most 1 each, and so the utility."""
    if noised.kind != "quantile":
        return [Fraction(int(c)) for c in counts[: len(choices(noised.features[0]))]]
    upto = np.cumsum(counts)
    wanted = int(upto[-1]) * (StatisticQuestion.parse(noised.query).at or Fraction(1, 2))
    below = np.concatenate([[0], upto[:-1]])
    return [-max(Fraction(0), int(a) - wanted, wanted - int(b)) for a, b in zip(below, upto, strict=True)]


def choices(feature: Feature) -> list[str]:
    """The names of the cells that a top list chooses from: all but the one for everything else."""
    assert isinstance(feature, Placed)
    return feature.labels if feature.axes[0].edges is not None else feature.labels[:-1]


def cells_of(noised: NoisedQuestion, drawn: Mapping[str, Sequence[int]], rows: Mapping[str, int]) -> tuple[Cell, ...]:
    """The released numbers with their intervals; post-processing of what was drawn, and of public sizes."""
    most = int(StatisticQuestion.parse(noised.query).at or 1) if noised.kind == "top" else None
    return tuple(cell for group, found in drawn.items() for cell in _cells(noised, group, found, rows[group], most))


def _cells(noised: NoisedQuestion, group: str, drawn: Sequence[int], rows: int, most: int | None) -> list[Cell]:
    """The numbers of one group; `most`: how many of the top.

    Of what was chosen by rank no interval of values follows, and of the top one no count is released: `scale` is in
    rows. A variance lies in its interval if both sums lie within theirs at half the error each."""
    first, rate = noised.features[0], noised.rates[group][0]
    if noised.law == FLIP:
        label, value = ("", first.number(drawn[0])) if most is None else (choices(first)[drawn[0]], math.nan)
        return [Cell(group, label, value, math.nan, math.nan, 1 / float(rate))]
    if noised.kind == "variance":
        squared = noised.features[1]
        assert isinstance(squared, SquaredFeature)
        one, two = (half_width(rate, (1 + LEVEL) / 2) / rows for rate in noised.rates[group])
        mean, moment = drawn[0] / rows - squared.centre, drawn[1] / rows
        low, high = moment - two - (abs(mean) + one) ** 2, moment + two - max(abs(mean) - one, 0.0) ** 2
        unit = float(squared.coded.step) ** 2
        scale = unit / float(noised.rates[group][1]) / rows
        return [Cell(group, "", (moment - mean**2) * unit, low * unit, high * unit, scale)]
    averaged, scale = noised.kind in ("mean", "proportion"), float(first.step) / float(rate)
    cells = feature_cells(first, group, drawn, rows, averaged, half_width(rate), scale)
    return cells if most is None else sorted(cells[: len(choices(first))], key=lambda cell: -cell.value)[:most]


def feature_cells(
    feature: Feature, group: str, drawn: Sequence[float], rows: int, averaged: bool, half: float, scale: float
) -> list[Cell]:
    """The noised counts of a group's cells, or the noised sum of its codes as a sum or a mean of its `rows` numbers.

    `half`: of the interval, in codes; `scale`: of the noise, in numbers."""
    if isinstance(feature, Placed):
        labels = zip(feature.labels, drawn, strict=True)
        return [Cell(group, label, float(v), float(v - half), float(v + half), scale) for label, v in labels]
    far, share = float(feature.step) * half, rows if averaged else 1
    value = feature.total(drawn[0], rows)
    return [Cell(group, "", value / share, (value - far) / share, (value + far) / share, scale / share)]


@lru_cache(maxsize=4096)
def half_width(rate: Fraction, level: float = LEVEL) -> float:
    """h with P(abs(noise) <= h) >= level, in steps."""
    return error_bound(rate, level=level)
