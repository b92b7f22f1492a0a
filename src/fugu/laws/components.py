"""`Components`: one view of all laws with a bell shape, and what every law answers for itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.numbers.exact import Real, as_fraction

Floats = NDArray[np.float64]


class Described:
    """What a law says of itself; each kind of law says otherwise where it differs."""

    __slots__ = ()

    shifted: ClassVar[bool] = False
    """Whether it is an unknown law, known up to a shift."""
    normal_vector: ClassVar[bool] = False
    """Whether it is a normal law of a vector."""
    smooth: ClassVar[bool] = False
    """Whether it is the view of a law with spread, rather than a law."""

    def read(self) -> Described | Components:
        """Itself; a bell shape as its components, or as the atoms that it is if it has no spread."""
        return self

    def components(self) -> Components:
        """The law as a mixture of normals; refused where it is none."""
        raise BadLaw(f"expected a Normal, NormalMixture or Discrete law, got {type(self).__name__}")

    def parts(self) -> Iterator[tuple[Real, Real, Real]]:
        """(weight, mean, std) of every component that has mass, as they were given."""
        raise BadLaw(f"expected a Normal, NormalMixture or Discrete law, got {type(self).__name__}")


@final
@dataclass(frozen=True, eq=False)
class Components:
    """A law as sum_k weights[k] N(means[k], stds[k]^2), in doubles and, on demand, exactly; null weights are left out.

    >>> from fugu import Discrete
    >>> Discrete([0, 5], [1, 3]).components().exact_weights
    (Fraction(1, 4), Fraction(3, 4))
    """

    law: Any
    weights: Floats
    means: Floats
    stds: Floats
    smooth: ClassVar[bool] = True

    @cached_property
    def _exact(self) -> tuple[tuple[Fraction, ...], ...]:
        """The rows of weights, means and standard deviations, as the decimals they were given as."""
        return tuple(zip(*(map(as_fraction, part) for part in self.law.parts()), strict=True))

    @property
    def exact_weights(self) -> tuple[Fraction, ...]:
        """The weights as Fractions that sum to 1."""
        return self._exact[0]

    @property
    def exact_means(self) -> tuple[Fraction, ...]:
        """The means as the decimals they were given as."""
        return self._exact[1]

    @property
    def exact_stds(self) -> tuple[Fraction, ...]:
        """The standard deviations as the decimals they were given as."""
        return self._exact[2]

    def components(self) -> Components:
        """Itself."""
        return self
