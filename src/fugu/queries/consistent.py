"""Counts that fit together: the nearest ones that are not negative and have the totals that are public anyway.

A function of what was published and of public numbers alone, so that it costs nothing. The nearest point of a convex
set that holds the true counts is nearer to them than the noised counts were (in the sum of squares), whatever the
noise: the projection onto a convex set brings no two points farther apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fugu.errors import UnknownName, UsageError
from fugu.numbers.checks import is_count
from fugu.queries.cell import Cell

Margins = Mapping[str, Mapping[str, int]]
Axes = tuple[tuple[str, tuple[str, ...]], ...]
"""Each column of a table of counts with the labels of its cells, the last one varying fastest."""


def consistent(
    cells: Sequence[Cell],
    axes: Axes,
    sizes: Mapping[str, int],
    total: bool,
    nonnegative: bool,
    margins: Margins | None,
) -> tuple[Cell, ...]:
    """The cells of each group, in order, as near as can be to what was released: see `Answer.consistent`."""
    if margins and len(sizes) > 1:
        raise UsageError("margins are for a table without groups; the sizes of groups are public and taken anyway")
    parts = _blocks(axes, margins or {}, next(iter(sizes.values())))
    found = list(cells)
    each = len(cells) // len(sizes)
    for n, size in enumerate(sizes.values()):
        for places, wanted in parts:
            own = [n * each + place for place in places]
            asked = wanted if wanted is not None else size if total else None
            moved = nearest([Fraction(found[k].value) for k in own], asked, nonnegative)
            for k, value in zip(own, moved, strict=True):
                found[k] = _placed(found[k], float(value), size if asked is None else asked, nonnegative)
    return tuple(found)


def nearest(values: Sequence[Fraction], total: int | None, nonnegative: bool) -> list[Fraction]:
    """The point of least squared distance that adds up to `total` (if there is one) and has no negative coordinate (if
    that is asked for), exactly.

    With both: max(v - t, 0), t such that they add up (Held, Wolfe, Crowder 1974): the coordinates that stay are the
    largest ones, as many as keep v - t positive.

    >>> [str(x) for x in nearest([Fraction(5), Fraction(-2), Fraction(1)], 5, True)]
    ['9/2', '0', '1/2']
    """
    if total is None:
        return [max(v, Fraction(0)) for v in values] if nonnegative else list(values)
    if not nonnegative:
        by = (sum(values, Fraction(0)) - total) / len(values)
        return [v - by for v in values]
    running, by = Fraction(0), Fraction(0)
    for count, v in enumerate(sorted(values, reverse=True), start=1):
        running += v
        found = (running - total) / count
        if v - found <= 0 and count > 1:
            break
        by = found
    return [max(v - by, Fraction(0)) for v in values]


def _blocks(axes: Axes, margins: Margins, size: int) -> list[tuple[list[int], int | None]]:
    """The cells that add up to one public number, and that number; None: the size of the group."""
    places = np.arange(int(np.prod([len(labels) for _, labels in axes])))
    if not margins:
        return [(places.tolist(), None)]
    if len(margins) > 1:
        raise UsageError("give the margins of one column; the nearest table with two margins is not worked out")
    ((column, stated),) = margins.items()
    columns = [name for name, _ in axes]
    if column not in columns:
        raise UnknownName("column of the table", column, columns)
    axis = columns.index(column)
    labels = axes[axis][1]
    if set(stated) != set(labels) or not all(is_count(n) or n == 0 for n in stated.values()):
        raise UsageError(f"the margins of column {column!r} must name every cell of it, each with a whole number >= 0")
    if sum(stated.values()) != size:
        raise UsageError(f"the margins of column {column!r} do not add up to the number of rows, {size}")
    shape = tuple(len(found) for _, found in axes)
    along = np.moveaxis(places.reshape(shape), axis, 0)
    return [(along[k].reshape(-1).tolist(), stated[label]) for k, label in enumerate(labels)]


def _placed(cell: Cell, value: float, most: int, nonnegative: bool) -> Cell:
    """The interval of the noised count, cut to what is possible and widened to hold the value: as sure as before."""
    low, high = (max(cell.low, 0.0), min(cell.high, float(most))) if nonnegative else (cell.low, cell.high)
    return replace(cell, value=value, low=min(low, value), high=max(high, value))
