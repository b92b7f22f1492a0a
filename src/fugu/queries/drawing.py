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
from fugu.queries.features import Coded, Codes, Feature, Gridded, Placed, SquaredFeature
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
        totals = [_sums(own, group, len(names)) for own in codes]
        drawn = [_noise([found[k] for found in rates], 1, source)[:, 0] for k in range(len(codes))]
        return [[int(t[g]) + int(d[g]) for t, d in zip(totals, drawn, strict=True)] for g in range(len(names))]
    size = noised.features[0].top + 1
    counts = np.bincount(group * size + codes[0], minlength=len(names) * size).reshape(len(names), size)
    if noised.law == FLIP:
        found = zip(counts, rates, strict=True)
        return [[permute_and_flip(utilities(row, noised), rate[0], source)] for row, rate in found]
    noised_counts: list[list[int]] = (counts + _noise([found[0] for found in rates], size, source)).tolist()
    return noised_counts


def _sums(codes: Codes, group: Codes, groups: int) -> Codes:
    found = np.zeros(groups, dtype=np.int64)
    np.add.at(found, group, codes)
    return found


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
    asked = StatisticQuestion.parse(noised.query)
    shown = _SHOWN[noised.kind]
    return tuple(cell for group, found in drawn.items() for cell in shown(noised, asked, group, found, rows[group]))


@lru_cache(maxsize=4096)
def half_width(rate: Fraction, level: float = LEVEL) -> float:
    """h with P(abs(noise) <= h) >= level, in steps."""
    return error_bound(rate, level=level)


def _summed(
    noised: NoisedQuestion, asked: StatisticQuestion, group: str, drawn: Sequence[int], rows: int
) -> list[Cell]:
    rate = noised.rates[group][0]
    low, step, share = 0.0, 1.0, 1
    feature = noised.features[0]
    if isinstance(feature, Coded):
        low, step = float(feature.coding.low), float(feature.coding.step)
    if asked.kind in ("mean", "proportion"):
        share = rows
    value, half = low * rows + step * drawn[0], step * half_width(rate)
    return [Cell(group, "", value / share, (value - half) / share, (value + half) / share, step / float(rate) / share)]


def _varied(
    noised: NoisedQuestion,
    asked: StatisticQuestion,  # noqa: ARG001
    group: str,
    drawn: Sequence[int],
    rows: int,
) -> list[Cell]:
    """The variance, and an interval that holds if both sums lie within theirs at half the error each."""
    one, two = noised.rates[group]
    squared = noised.features[1]
    assert isinstance(squared, SquaredFeature)
    step = float(squared.coding.step)
    level = (1 + LEVEL) / 2
    mean, moment = drawn[0] / rows - squared.centre, drawn[1] / rows
    a, b = half_width(one, level) / rows, half_width(two, level) / rows
    nearest = max(abs(mean) - a, 0.0)
    low, high = moment - b - (abs(mean) + a) ** 2, moment + b - nearest**2
    value = moment - mean**2
    return [Cell(group, "", value * step**2, low * step**2, high * step**2, step**2 / float(two) / rows)]


def _tabled(
    noised: NoisedQuestion,
    asked: StatisticQuestion,  # noqa: ARG001
    group: str,
    drawn: Sequence[int],
    rows: int,  # noqa: ARG001
) -> list[Cell]:
    (feature,) = noised.features
    assert isinstance(feature, Placed)
    rate = noised.rates[group][0]
    half = half_width(rate)
    labels = zip(feature.labels, drawn, strict=True)
    return [Cell(group, label, float(v), float(v - half), float(v + half), 1 / float(rate)) for label, v in labels]


def _topped(
    noised: NoisedQuestion, asked: StatisticQuestion, group: str, drawn: Sequence[int], rows: int
) -> list[Cell]:
    labels = choices(noised.features[0])
    if noised.law == FLIP:  # its count is not released
        nan = math.nan
        return [Cell(group, labels[drawn[0]], nan, nan, nan, 1 / float(noised.rates[group][0]))]
    cells = _tabled(noised, asked, group, drawn, rows)[: len(labels)]
    return sorted(cells, key=lambda cell: -cell.value)[: int(asked.at or 1)]


def _ranked(
    noised: NoisedQuestion,
    asked: StatisticQuestion,  # noqa: ARG001
    group: str,
    drawn: Sequence[int],
    rows: int,  # noqa: ARG001
) -> list[Cell]:
    """The chosen point. Its error is one of ranks, `scale` in rows: no interval of values follows from the noise."""
    feature, nan = noised.features[0], math.nan
    if isinstance(feature, Gridded):
        value = feature.points[drawn[0]]
    else:
        assert isinstance(feature, Coded)
        value = float(feature.coding.low + feature.coding.step * drawn[0])
    return [Cell(group, "", value, nan, nan, 1 / float(noised.rates[group][0]))]


_SHOWN = {
    **dict.fromkeys(("count", "proportion", "sum", "mean"), _summed),
    "variance": _varied,
    "histogram": _tabled,
    "crosstab": _tabled,
    "top": _topped,
    "quantile": _ranked,
}
