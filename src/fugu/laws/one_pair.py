"""`OnePair`: what two laws without atoms that must look alike have in common, whatever they are laws of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise


class OnePair:
    """One pair of laws with a spread: nothing can be moved to atoms, and values are always rounded."""

    label: str
    atoms: ClassVar[bool] = False
    translates: ClassVar[bool] = False
    inexact: ClassVar[bool] = False
    point_masses: ClassVar[bool] = False

    @property
    def same(self) -> bool:
        """Whether the two laws are equal."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the pair."""
        return (self.label,)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """One pair."""
        return ((0, 1),)

    @property
    def differing(self) -> int:
        """How many pairs differ."""
        return 0 if self.same else 1

    def alone(self) -> Iterator[Self]:
        """The pair, if it differs."""
        if not self.same:
            yield self

    def push(self, support: NDArray[np.float64]) -> Self:  # noqa: ARG002
        """Refused: values without atoms are not moved to atoms."""
        raise BadNoise("it moves every value to its own atoms, and these laws have none")

    def numbered(self) -> Self:
        """Refused: values without atoms are always rounded."""
        raise BadNoise("laws without atoms need a lattice, and this certificate has none")
