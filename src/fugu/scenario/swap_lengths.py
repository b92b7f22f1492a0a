"""Draws of record swaps from fair bits: how long A (x_1 + ... + x_j - y_1 - ... - y_j) is, for every number j up to k.

x are records of the reference with the property, y without; see `fugu.scenario.swap`. Lengths are rounded up to the
places of `fugu.loss.vectors.swapped` and counted, so that nothing of a single record is kept. Where many numbers of
records can be swapped, neighbouring ones share a block, which counts the longest of their differences."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.documents.swap import Block
from fugu.loss.vectors.swapped import PLACES
from fugu.noise.bits import BitSource
from fugu.scenario.property_model import PropertyModel
from fugu.scenario.swap_draws import Floats, from_bits, swaps

MOST_BLOCKS = 32
_SLACK = 1 + 1e-9
"""Far above the rounding of sums of doubles: lengths are rounded up."""


def swap_blocks(model: PropertyModel, draws: int, unit: Fraction, source: BitSource) -> list[Block]:
    """Count the lengths of so many draws, for all numbers of swapped records up to `model.swapped`.

    `unit`: the length of place 0, to which shorter ones are rounded up; `source`: fair bits, in a release those of the
    operating system. Without replacement all records of one draw are different ones."""
    starts = _starts(model.swapped)
    ends = [*(start - 1 for start in starts[1:]), model.swapped]
    found: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64) for _ in starts]
    for drawn in swaps(model, draws, from_bits(source)):
        lengths = np.maximum.reduceat(np.sqrt(np.einsum("rkd,rkd->rk", drawn, drawn)), np.array(starts) - 1, axis=1)
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
    """The least number of each block: one number each, or blocks that are shorter where numbers are larger, as the
    longest differences, which decide, are there."""
    if k <= MOST_BLOCKS:
        return list(range(1, k + 1))
    found = {1 + round((k - 1) * (i / MOST_BLOCKS) ** 0.5) for i in range(MOST_BLOCKS)}
    return sorted(found)


def _sum(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    found = longer.copy()
    found[: len(shorter)] += shorter
    return found
