"""`Kind`: a kind of noise, made from a scale in lattice steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fugu.noise import Gaussian, Laplace
from fugu.noise.cauchy import GeneralizedCauchy

AnyNoise = Laplace | Gaussian | GeneralizedCauchy


@dataclass(frozen=True)
class Kind:
    """A kind of noise on laws in lattice steps: lattice noise where it is released, continuous where it is not."""

    name: str
    make: Callable[[float], AnyNoise]


_STEP = Fraction(1)
_KINDS = {
    "laplace": Kind("laplace", lambda steps: Laplace(steps, _STEP)),
    "gaussian": Kind("gaussian", lambda steps: Gaussian(steps, _STEP)),
    "cauchy": Kind("cauchy", GeneralizedCauchy),
}


def kind_of(noise: str) -> Kind:
    """The kind of that name."""
    return _KINDS[noise]
