"""Old names of what `family` now holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family as VectorFamily
from fugu.laws.family import distinct
from fugu.laws.family import families as vector_families
from fugu.noise.lattice import Lattice

__all__ = ["VectorFamily", "distinct", "reached", "vector_families"]


def reached(families: Sequence[VectorFamily], lattice: Lattice | None, support: NDArray[np.float64]) -> bool:
    """Whether rounding the supported vectors onto the lattice leads to every atom of the laws, as a release does."""
    if lattice is None:
        return False
    places = set(map(tuple, lattice.index(support).tolist()))
    return all(tuple(point) in places for family in families for point in family.points.tolist())
