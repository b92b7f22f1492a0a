"""What an output costs: distances of numbers, categories that went out as others, or a table that the user states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UnknownName, UsageError
from fugu.numbers.exact import MatrixLike

Floats = NDArray[np.float64]
LossName = Literal["absolute", "squared", "zero-one"]
STATED = "stated"
"""What a loss is called that was given as a table."""


def _absolute(points: Floats, outputs: Floats) -> Floats:
    found: Floats = np.abs(points[:, None] - outputs[None, :])
    return found


def _squared(points: Floats, outputs: Floats) -> Floats:
    found: Floats = np.square(_absolute(points, outputs))
    return found


def _zero_one(points: Floats, outputs: Floats) -> Floats:
    return np.where(points[:, None] == outputs[None, :], 0.0, 1.0)


LOSSES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "absolute": _absolute,
    "squared": _squared,
    "zero-one": _zero_one,
}


def named_loss(name: str, points: Floats, outputs: Floats) -> Floats:
    """|x - y|, (x - y)^2 or 1 where x and y differ, in doubles: one row for each point, one column for each output.

    >>> named_loss("squared", np.array([0.0, 2.0]), np.array([1.0, 2.0])).tolist()
    [[1.0, 4.0], [1.0, 0.0]]
    """
    if name not in LOSSES:
        raise UnknownName("loss", name, (*LOSSES, "or a table with one row for each value, one column for each output"))
    with np.errstate(over="ignore"):
        found = LOSSES[name](points, outputs)
    if not np.all(np.isfinite(found)):
        raise UsageError(f"the {name} loss of these values is beyond the range of doubles; rescale the values")
    return found


def stated_loss(table: MatrixLike, values: int, outputs: int) -> Floats:
    """A table of losses as given: finite numbers >= 0, one row for each value, one column for each output."""
    try:
        found = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("a loss is a name, or a table of numbers") from None
    if found.shape != (values, outputs):
        raise UsageError(
            f"a table of losses has one row for each of the {values} values and one column for each of the {outputs} "
            f"outputs, got shape {found.shape}"
        )
    if not np.all(np.isfinite(found)) or np.any(found < 0):
        raise UsageError("losses are finite numbers that are not negative; NaN and infinity say nothing here")
    return found
