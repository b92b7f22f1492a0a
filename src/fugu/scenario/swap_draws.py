"""Draws of record swaps: D_j = A (x_1 + ... + x_j - y_1 - ... - y_j) for every j up to k, from uniform whole numbers.

x are records of the reference with the property, y without; see `fugu.scenario.swap`. Where the numbers come from is
the caller's: fair bits in a release, a generator in an analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from fugu.noise.bits import BitSource
from fugu.scenario.property_model import PropertyModel

Floats = NDArray[np.float64]
Uniform = Callable[[int, int], NDArray[np.int64]]
"""(count, below): so many independent uniform whole numbers in [0, below)."""
_CELLS = 2_000_000


def swaps(model: PropertyModel, draws: int, uniform: Uniform) -> Iterator[Floats]:
    """Draws of (D_1, ..., D_k), in blocks (rows, k, statistics); each D_j follows its own law.

    `model`: whose records are swapped, k = `model.swapped`; `draws`: how many; `uniform`: where they come from."""
    factors, k = np.array([float(a) for a in model.factors]), model.swapped
    block = max(1, _CELLS // (k * len(factors)))
    while draws:
        rows = min(draws, block)
        x, y = (
            records[places_among(uniform, rows, k, len(records), model.replacement)]
            for records in (model.having, model.lacking)
        )
        yield np.cumsum((x - y) * factors, axis=1)
        draws -= rows


def places_among(uniform: Uniform, rows: int, k: int, population: int, replacement: bool) -> NDArray[np.int64]:
    """k places among the population in every row, each ordered choice as likely; all different without `replacement`.

    Without, the j-th is drawn among the N - j places left and moved past the taken ones in increasing order.

    `uniform`: where they come from; `rows`, `k`, `population`: whole numbers, k at most N without replacement."""
    if replacement:
        return uniform(rows * k, population).reshape(rows, k)
    found = np.empty((rows, k), dtype=np.int64)
    for j in range(k):
        place = uniform(rows, population - j)
        for taken in np.sort(found[:, :j], axis=1).T:
            place += place >= taken
        found[:, j] = place
    return found


def from_bits(source: BitSource) -> Uniform:
    """Whole numbers from fair bits: words of as many bits as they need, those above thrown away.

    >>> from fugu.noise.bits import OsBits
    >>> int(from_bits(OsBits())(1000, 3).max()) < 3
    True
    """

    def uniform(count: int, below: int) -> NDArray[np.int64]:
        bits = max(1, (below - 1).bit_length())
        found = np.empty(0, dtype=np.int64)
        while len(found) < count:
            words = source.words(bits, count - len(found)).astype(np.int64)
            found = np.concatenate([found, words[words < below]])
        return found

    return uniform


def from_generator(rng: np.random.Generator) -> Uniform:
    """Whole numbers from a generator, whose draws a confidence is about."""
    return lambda count, below: rng.integers(below, size=count)
