"""Vectors as they come to a release: one, or one a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import BadLaw, MissingValues


def as_rows(values: ArrayLike, dimension: int) -> tuple[NDArray[np.float64], bool]:
    """A float64 table with one vector a row, and whether one single vector was given; errors name no value."""
    try:
        array = np.asarray(values, dtype=np.float64) + 0.0
    except (TypeError, ValueError):
        raise BadLaw("the values to release must be vectors of numbers") from None
    if array.ndim not in (1, 2) or array.shape[-1] != dimension:
        raise BadLaw(f"release takes one vector of {dimension} numbers, or one a row, got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise MissingValues("the vectors to release have missing or infinite coordinates; impute them first")
    return np.atleast_2d(array), array.ndim == 1
