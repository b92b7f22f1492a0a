"""Gaussian noise in every coordinate, on discrete laws of vectors (docs/proofs/vectors.md)."""

from __future__ import annotations

from typing import final

from fugu.loss.table.space import Space
from fugu.noise.gaussian import Gaussian


@final
class SpaceGaussian(Space[Gaussian]):
    """Distances in the l2 norm."""

    about = "Gaussian noise on laws of vectors"


LEAKAGE = SpaceGaussian()
