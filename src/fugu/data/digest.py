"""A digest of a column, to notice that two columns are the same one."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def column_digest(column: NDArray[Any]) -> str:
    """SHA-256 of the values in increasing order, so that a shuffled copy is the same column."""
    ordered = np.sort(np.asarray(column, dtype="<f8") + 0.0)
    canonical = np.where(np.isnan(ordered), np.nan, ordered)
    return hashlib.sha256(canonical.tobytes()).hexdigest()
