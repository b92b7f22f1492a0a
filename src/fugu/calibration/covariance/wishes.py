"""`Wishes`: what the user asks of the noise on a vector beyond the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UsageError
from fugu.noise.lattice import as_grid
from fugu.numbers.exact import Real


@dataclass(frozen=True, eq=False)
class Wishes:
    """Method, grid, and how the noise may look."""

    method: str = "best"
    grid: Fraction | None = None
    """None: as fine as the proof needs."""
    declared_exact: bool = False
    floor: float | None = None
    """The least variance in every direction; None: a sixteenth of what isotropic noise would have."""
    weight: NDArray[np.float64] | None = None
    objective: str = "absolute"
    model: object | None = None
    """The model of a property behind the laws, where there is one: baselines need the ranges of its records."""

    @staticmethod
    def of(
        method: str,
        grid: Real | str,
        declared_exact: bool = False,
        floor: float | None = None,
        weight: ArrayLike | None = None,
        objective: str = "absolute",
        model: object | None = None,
    ) -> Wishes:
        """Wishes as a user states them, checked."""
        if floor is not None and not 0 <= floor < float("inf"):
            raise UsageError(f"floor must be a finite variance >= 0, got {floor!r}")
        matrix = None if weight is None else np.asarray(weight, dtype=np.float64)
        if matrix is not None and (matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]):
            raise UsageError(f"weight must be a square matrix, got shape {matrix.shape}")
        step = None if grid == "auto" else as_grid(grid)
        return Wishes(method, step, declared_exact, floor, matrix, objective, model)
