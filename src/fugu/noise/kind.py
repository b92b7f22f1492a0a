"""`Noise`: what every noise answers for itself. A new one is a class with `@kind` in a file of this room."""

from __future__ import annotations

import importlib
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.aliases import own_noise
from fugu.errors import CertificateError, UnknownName
from fugu.guarantee.asks import Ask
from fugu.noise.bits import BitSource
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.visible import Json, brief

Objective = Literal["absolute", "squared"]
OBJECTIVES: tuple[Objective, ...] = ("absolute", "squared")


class Sampler(Protocol):
    """Independent exact draws of lattice noise, in lattice steps."""

    def draw(self, size: int, source: BitSource = ...) -> NDArray[np.int64]: ...


class Noise(ABC):
    """Independent noise of one scale, continuous (grid None, for analysis) or on a lattice. Scale 0 is no noise."""

    name: ClassVar[str]
    released: ClassVar[bool] = True
    """Whether an exact sampler on a lattice is proved; noise without one is for analysis only."""
    ordered: ClassVar[bool] = False
    """Whether noise of a larger scale is a post-processing of noise of a smaller one, also on a lattice."""
    considered: ClassVar[bool] = True
    """Whether noise="best" considers it: noise that is added, and so without bias. Others are asked for by name."""
    on_atoms: ClassVar[bool] = False
    """Whether what is drawn depends on the atoms of the laws: see `placed`."""
    norm: ClassVar[int] = 1
    """The norm in which moved vectors are measured: the density falls with it."""
    place: ClassVar[int] = 9
    """Where tables list it: lower comes first."""
    scale: Real
    grid: Fraction | None

    @classmethod
    def at(cls, scale: Real, grid: Fraction) -> Self:
        """The noise of this kind with that scale: on the lattice, unless the kind is for analysis only."""
        return cls(scale, grid)  # type: ignore[call-arg]

    @classmethod
    @abstractmethod
    def refusal(cls, ask: Ask) -> str | None:
        """Why this noise cannot meet such a budget unless the laws are equal; None if it can."""

    @abstractmethod
    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| or E N^2."""

    @abstractmethod
    def quantile(self, level: float) -> float:
        """The least error h with P(|N| <= h) >= level, from above."""

    def total_error(self, objective: Objective, coordinates: int) -> float:
        """E ||N||_1 or E ||N||_2^2 of independent noise in so many coordinates."""
        return coordinates * self.expected_error(objective)

    @property
    def sampler(self) -> Sampler:
        """The exact sampler of lattice noise of positive scale; only noise that is released has one."""
        raise NotImplementedError(f"{self.name} noise is for analysis only")

    def move(self, places: NDArray[np.int64], sampler: Sampler, source: BitSource) -> NDArray[np.int64]:
        """Where values at these lattice indices go: noise is added, with draws of its own `sampler`."""
        return places + sampler.draw(places.size, source)

    def placed(self, atoms: NDArray[np.int64], weight: Sequence[int] | None) -> Self:
        """The noise for values at these lattice indices of public weights; added noise does not depend on them."""
        del atoms, weight
        return self

    @property
    def silent(self) -> bool:
        """Whether nothing is added."""
        return self.scale == 0

    def in_steps(self, grid: Fraction) -> Self:
        """The noise as laws on lattice indices see it: lattice noise itself, continuous noise in units of the grid."""
        del grid
        return self

    def to_json(self) -> Json:
        """The kind and its numbers, exactly."""
        return {"kind": self.name, "scale": str(as_fraction(self.scale)), "grid": str(self.grid)}

    @classmethod
    def from_json(cls, found: Json) -> Self:
        """The noise that `to_json` wrote."""
        return cls.at(float(read_number(found["scale"])), read_number(found["grid"]))


Kind = type[Noise]
_KINDS: dict[str, Kind] = {}
Made = TypeVar("Made", bound=Kind)


def kind(made: Made) -> Made:
    """Register a noise under its name."""
    _KINDS[made.name] = made
    return made


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of noise by name, in the order of tables: found by walking the files of this room."""
    room = importlib.import_module("fugu.noise")
    for file in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"fugu.noise.{file.name}")
    return dict(sorted(_KINDS.items(), key=lambda item: (item[1].place, item[0])))


def kind_of(name: str) -> Kind:
    """The noise of that name, or of the papers' name for it; or an error that lists the others."""
    found = kinds().get(own_noise(name)) if isinstance(name, str) else None
    if found is None:
        raise UnknownName("noise", name, ("best", *kinds()))
    return found


def noise_from(found: dict[str, Any]) -> Noise:
    """The noise of a document."""
    name = found["kind"]
    if not isinstance(name, str) or name not in kinds():
        raise CertificateError(f"this version of fugu knows no noise {brief(str(name), 40)}")
    return kinds()[name].from_json(found)


def check_objective(objective: str) -> None:
    """One of `OBJECTIVES`, or an error that lists them."""
    if objective not in OBJECTIVES:
        raise UnknownName("objective", objective, OBJECTIVES)


def finite_or_none(x: float) -> float | None:
    """For JSON, which has no infinity."""
    return x if math.isfinite(x) else None
