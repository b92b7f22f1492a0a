"""Draws of record swaps from fair bits: how long A (x_1 + ... + x_j - y_1 - ... - y_j) is, for every number j up to k.

x are records of the reference with the property, y without; see `fugu.scenario.swap`. Lengths are rounded up to the
places of `fugu.loss.vectors.swapped` and counted, so that nothing of a single record is kept. Where many numbers of
records can be swapped, neighbouring ones share a block, which counts the longest of their differences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.documents.swap import Block
from fugu.loss.vectors.swapped import PLACES
from fugu.noise.bits import BitSource
from fugu.scenario.property_model import PropertyModel

Floats = NDArray[np.float64]
MOST_BLOCKS = 32
_CELLS = 2_000_000
_SLACK = 1 + 1e-9
"""Far above the rounding of sums of doubles: lengths are rounded up."""


def swap_blocks(model: PropertyModel, draws: int, unit: Fraction, source: BitSource) -> list[Block]:
    """Count the lengths of so many draws, for all numbers of swapped records up to `model.swapped`.

    `unit`: the length of place 0, to which shorter ones are rounded up; `source`: fair bits, in a release those of the
    operating system. Without replacement all records of one draw are different ones."""
    starts = _starts(model.swapped)
    ends = [*(start - 1 for start in starts[1:]), model.swapped]
    found: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64) for _ in starts]
    for swaps in _swaps(model, draws, source):
        lengths = np.maximum.reduceat(np.sqrt(np.einsum("rkd,rkd->rk", swaps, swaps)), np.array(starts) - 1, axis=1)
        places = places_of(lengths * (_SLACK / float(unit)))
        for k in range(len(starts)):
            found[k] = _sum(found[k], np.bincount(places[:, k]))
    return [
        Block(start, end, tuple(np.flatnonzero(seen).tolist()), tuple(seen[seen > 0].tolist()))
        for start, end, seen in zip(starts, ends, found, strict=True)
    ]


def places_of(lengths: Floats) -> NDArray[np.int64]:
    """The least place whose length, in units, is at least each of these.

    >>> places_of(np.array([0.0, 1.0, 1.5, 1.501, 2.0])).tolist()
    [0, 0, 128, 129, 256]
    """
    part, octave = np.frexp(np.maximum(lengths, 1.0))
    return np.asarray((octave - 1) * PLACES + np.ceil((2 * part - 1) * PLACES), dtype=np.int64)


def _starts(k: int) -> list[int]:
    """The least number of each block: one number each, or blocks that are longer where numbers are larger."""
    if k <= MOST_BLOCKS:
        return list(range(1, k + 1))
    found = {1 + round((k - 1) * (i / MOST_BLOCKS) ** 0.5) for i in range(MOST_BLOCKS)}
    return sorted(found)


def _sum(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    found = longer.copy()
    found[: len(shorter)] += shorter
    return found


def _swaps(model: PropertyModel, draws: int, source: BitSource) -> Iterator[Floats]:
    """Draws of (D_1, ..., D_k), in blocks (rows, k, statistics); each D_j follows its own law."""
    factors, k = np.array([float(a) for a in model.factors]), model.swapped
    block = max(1, _CELLS // (k * len(factors)))
    while draws:
        rows = min(draws, block)
        x, y = (
            records[places_among(source, rows, k, len(records), model.replacement)]
            for records in (model.having, model.lacking)
        )
        yield np.cumsum((x - y) * factors, axis=1)
        draws -= rows


def places_among(source: BitSource, rows: int, k: int, population: int, replacement: bool) -> NDArray[np.int64]:
    """k places among the population in every row, uniform; all different ones without replacement.

    Without, the j-th is drawn among the places left and moved past the taken ones in increasing order."""
    if replacement:
        return uniform(source, rows * k, population).reshape(rows, k)
    found = np.empty((rows, k), dtype=np.int64)
    for j in range(k):
        place = uniform(source, rows, population - j)
        for taken in np.sort(found[:, :j], axis=1).T:
            place += place >= taken
        found[:, j] = place
    return found


def uniform(source: BitSource, count: int, below: int) -> NDArray[np.int64]:
    """Independent uniform whole numbers in [0, below): words of as many bits as that needs, those above thrown away."""
    bits = max(1, (below - 1).bit_length())
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        words = source.words(bits, count - len(found)).astype(np.int64)
        found = np.concatenate([found, words[words < below]])
    return found
