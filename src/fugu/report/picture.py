"""What a picture needs of laws, whatever their shape, and the shape that the others come down to: atoms on a line."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from fugu.errors import OutOfReach
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.atoms.gaussian import width_of
from fugu.noise.lattice import Lattice
from fugu.report.kernels import kernel_of
from fugu.report.sums import Floats

_DRAWN = 1_000_000
"""Most lattice points of one picture."""


class Margin(NamedTuple):
    """Laws of one published number and the noise added to it: the value itself, or one coordinate of a vector."""

    item: Any
    noise: Any
    coordinate: int | None
    note: str = ""
    """What a caption adds, where these are two laws of many."""


class Picture(ABC):
    """What a picture needs of one shape of laws."""

    @abstractmethod
    def limit(self, item: Any, noise: Any) -> float:
        """max |ln(f_A / f_B)| over all values and pairs of an item, from above; inf where no limit is known."""

    @abstractmethod
    def why_unlimited(self, item: Any, noise: Any) -> str:
        """Why `limit` is inf: "error" (a law is known up to an error only), "only" (some values are possible under one
        secret only) or "tails" (the ratio may grow without end far out)."""

    @abstractmethod
    def losses(self, item: Any, noise: Any, epsilon: float) -> Floats:
        """What each pair loses, to rank them: max over atoms of |ln(S_i / S_j)|, or of other noise delta(epsilon)."""

    @abstractmethod
    def margins(self, item: Any, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
        """One pair by itself, as laws of one number."""


class Number(Picture):
    """Laws of one number."""

    @abstractmethod
    def atoms(self, item: Any, noise: Any) -> tuple[Family, tuple[bool, bool]]:
        """The laws on lattice points, and which of the two spread over the whole line."""

    @abstractmethod
    def coarser(self, item: Any, factor: int) -> Any:
        """The laws on a lattice so many times coarser."""

    def span(self, item: Any, noise: Any) -> None:
        """Refuse laws that have too many lattice points to be visited."""

    def drawable(self, item: Any, noise: Any) -> tuple[Any, Any, Fraction]:
        """The laws and the noise on a lattice so many times coarser that every point can be drawn; as they are, times
        1, where that is so already."""
        extra = kernel_of(noise).extra(noise)
        try:
            self.span(item, noise)
            factor = math.ceil((width_of(item) + 2 * extra) / _DRAWN)
        except OutOfReach as error:
            factor = math.ceil(2 * error.points / error.limit)
        if factor == 1:
            return item, noise, Fraction(1)
        coarse = kernel_of(noise).on(noise, Fraction(factor))
        item, coarse, more = self.drawable(self.coarser(item, factor), coarse)
        return item, coarse, factor * more


class Line(Number):
    """Laws with atoms."""

    def limit(self, item: Family, noise: Any) -> float:
        """By the noise."""
        return kernel_of(noise).limit(item, noise)

    def why_unlimited(self, item: Family, noise: Any) -> str:
        """Atoms that one law lacks, unless noise covers them."""
        return "error" if item.inexact else "only" if noise.silent else "tails"

    def losses(self, item: Family, noise: Any, epsilon: float) -> Floats:
        """On points that can be drawn."""
        shown, drawn, _ = self.drawable(item, noise)
        return kernel_of(drawn).losses(shown, drawn, epsilon)

    def atoms(self, item: Family, noise: Any) -> tuple[Family, tuple[bool, bool]]:
        """As they are."""
        del noise
        return item, (False, False)

    def coarser(self, item: Family, factor: int) -> Family:
        """Masses that meet are added."""
        return item.on(Lattice(Fraction(factor)))

    def drawable(self, item: Family, noise: Any) -> tuple[Family, Any, Fraction]:
        """Noise that is summed along atoms needs no lattice points between them; continuous noise needs finer ones."""
        kernel = kernel_of(noise)
        if kernel.extra(noise) == 0:
            return item, noise, Fraction(1)
        finer = min(kernel.finer(noise), max(1, _DRAWN // width_of(item)))
        if finer == 1:
            return super().drawable(item, noise)
        step = Fraction(1, finer)
        return replace(item, points=item.points * finer), kernel.on(noise, step), step

    def margins(self, item: Family, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
        """The pair on its own atoms: those of other laws say nothing of it."""
        del lattice
        pair = item.pairs[k]
        first, second = (item.laws[i] for i in pair)
        held = (first.parts > 0) | (second.parts > 0)
        both = Masses(first.parts[held], first.total), Masses(second.parts[held], second.total)
        errors = tuple(item.errors[i] if item.blurred(pair) else 0.0 for i in pair)
        yield Margin(Family(item.points[held], both, ((0, 1),), (item.labels[k],), errors=errors), noise, None)


LINE = Line()
