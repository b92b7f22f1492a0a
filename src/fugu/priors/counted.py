"""Sums and products of nonnegative floats that count their roundings, so that every ratio has a proved bound.

Each rounding multiplies a number by 1 + d, |d| <= u = 2^-53, which moves its logarithm by at most u / (1 - u). Adding
nonnegative numbers never amplifies this. So a number made with m roundings on the way has |log(computed / true)|
<= m u / (1 - u), whatever it is, as long as nothing underflows; that is checked.

Proofs: docs/proofs/quilts.md#rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable

Floats = NDArray[np.float64]
STEP = 1.12e-16  # above u / (1 - u)
_LEAST = 1e-290
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Counted:
    """Nonnegative floats, and the most roundings that any of them has gone through."""

    values: Floats
    roundings: int = 0

    def transposed(self) -> Counted:
        """The last two axes exchanged."""
        return Counted(np.swapaxes(self.values, -1, -2), self.roundings)


def least(values: Floats) -> float:
    """The smallest positive entry, 1 if there is none."""
    positive = values[values > 0]
    return float(positive.min()) if positive.size else 1.0


def combine(subscripts: str, a: Counted, b: Counted) -> Counted:
    """An einsum of two arrays of nonnegative numbers; a sum of K products adds at most K roundings."""
    if least(a.values) * least(b.values) < _LEAST:
        raise NotProvable(
            "some probability of this prior lies below 1e-290, where floats lose their digits; merge rare states"
        )
    inputs, output = subscripts.split("->")
    sizes = dict(zip(inputs.replace(",", ""), (*a.values.shape, *b.values.shape), strict=True))
    summed = math.prod(size for letter, size in sizes.items() if letter not in output)
    return Counted(np.einsum(subscripts, a.values, b.values), a.roundings + b.roundings + summed)


def laws(given: Any, name: str) -> Counted:
    """Rows that each sum to one: read as decimals, within 1e-12, and divided by their exact sum.

    One rounding reads a decimal; the sum of K entries takes K more, the division one.
    """
    try:
        rows = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be numbers") from None
    if rows.ndim == 0 or rows.size == 0 or not np.all(np.isfinite(rows)) or np.any(rows < 0):
        raise BadLaw(f"{name} must be probabilities: finite numbers >= 0 with at least one entry")
    if least(rows) < _LEAST:
        raise BadLaw(f"{name} has a positive probability below 1e-290; write 0 or merge rare states")
    sums = rows.sum(axis=-1, keepdims=True)
    if np.any(np.abs(sums - 1.0) > _TOLERANCE):
        raise BadLaw(f"{name} must sum to one along the last axis within {_TOLERANCE}; divide by the sum first")
    found = rows / sums
    found.flags.writeable = False
    return Counted(found, rows.shape[-1] + 3)


def log_ratios(laws: Counted) -> Floats:
    """max_z log p(z | x) / p(z | x') for all pairs of rows x, x', from above; +inf where p(z | x) > 0 = p(z | x').

    A z with p(z | x) = 0 does not count. A row of zeros is an impossible x: its pairs give -inf. The division, the
    logarithm (4 units in the last place) and the counted roundings of both rows are added on top.

    >>> log_ratios(Counted(np.array([[0.5, 0.5], [1.0, 0.0]])))[0]
    array([ 0., inf])
    """
    table = laws.values.reshape(laws.values.shape[0], -1)
    found = np.full((table.shape[0], table.shape[0]), -np.inf)
    for x, row in enumerate(table):
        seen = row > 0
        if not seen.any():
            continue
        with np.errstate(divide="ignore"):
            logs = np.log(row[seen] / table[:, seen]).max(axis=1)
        found[x] = outward(logs, 2 * laws.roundings + 1)
        found[x, x] = 0.0
    found[:, ~np.any(table > 0, axis=1)] = -np.inf
    return found


def outward(logs: Floats, roundings: int) -> Floats:
    """Logarithms of counted numbers, moved up past every rounding."""
    with np.errstate(invalid="ignore"):
        moved = logs + (roundings + 2) * STEP + 1e-15 * np.abs(logs)
    return np.where(np.isfinite(logs), moved, logs)
