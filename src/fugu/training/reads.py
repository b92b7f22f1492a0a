"""What estimators and transformers share: X as columns, looked at for its shape and names only."""

from __future__ import annotations

from typing import Any

import numpy as np

from fugu.errors import BadTable, MissingExtra
from fugu.training.inputs import Features

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import validate_data
except ImportError as error:
    raise MissingExtra(
        "the estimators need scikit-learn 1.6 or later; install it with: pip install 'fugu-privacy[fit]'"
    ) from error

_HARMLESS = ("X has ", "The feature names ", "Feature names ")
"""How those messages of scikit-learn begin that speak of names and of the number of features."""


class Reads(BaseEstimator):  # type: ignore[misc]
    """Something of scikit-learn that takes X, in which every cell has a reading."""

    def _features(self, X: Any, least: int, reset: bool) -> Features:
        """X as columns, once its shape and its names are those expected; no cell is looked at."""
        found = Features.of(X)
        rows, size = found.rows, len(found.columns)
        for count, what, needed in ((size, "feature", 1), (rows, "sample", least)):
            if count < needed:
                told = f"Found array with {count} {what}(s) (shape=({rows}, {size}))"
                raise BadTable(f"{told} while a minimum of {needed} is required.")
        try:
            validate_data(self, np.broadcast_to(0.0, (rows, size)) if found.frame is None else found.frame, reset=reset,
                          skip_check_array=True)  # fmt: skip
        except ValueError as error:
            raise BadTable(plainly(str(error))) from None
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True  # every cell has a reading
        return tags


def plainly(message: str) -> str:
    """What scikit-learn has to say about names and shapes, unless it might quote a value.

    >>> plainly("could not convert string to float: 'ward 7'")
    'X must be an array, a frame or a list of rows'
    """
    return message if message.startswith(_HARMLESS) else "X must be an array, a frame or a list of rows"
