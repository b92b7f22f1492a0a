"""A table of k x k matrices, one per distance, that grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Growing:
    """Matrices for the distances 1, 2, ..., kept in one array so that ranges of them are views."""

    def __init__(self, size: int) -> None:
        self._held = np.empty((8, size, size))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, matrix: Array) -> None:
        """The matrix of the next distance; a value against itself leaks nothing."""
        if self._count == len(self._held):
            self._held = np.concatenate([self._held, np.empty_like(self._held)])
        self._held[self._count] = matrix
        np.fill_diagonal(self._held[self._count], 0.0)
        self._count += 1

    def at(self, distance: int) -> Array:
        """The matrix of one distance."""
        return np.asarray(self._held[distance - 1])

    def first(self, distances: int) -> Array:
        """The matrices of the distances 1 .. distances, as a view."""
        return self._held[:distances]
