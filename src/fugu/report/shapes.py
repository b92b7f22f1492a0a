"""How pictures see laws: one entry for each shape, and the shape that the others come down to, atoms on a line."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fugu.errors import OutOfReach
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily
from fugu.laws.masses import Masses, exact_sum
from fugu.laws.normal import Analytic, Normal, components
from fugu.loss.door import pure_bounds
from fugu.loss.lattice_gaussian import width_of
from fugu.loss.rounded import Span, float_cells, span_of
from fugu.loss.search.sets import worst_laws
from fugu.loss.search.shapes import fast_pure
from fugu.loss.sets_extremes import DecayKernel as SetKernel
from fugu.noise import Gaussian
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.report.kernels import Floats, kernel_of

# What a picture needs of laws, whatever their shape, and the shape that the others come down to: atoms on a line.


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


# How pictures see laws: one entry for each shape. What is proved is proved on the laws as the certificate has them.
#
# Laws of one number become atoms on lattice points. Laws of vectors are drawn one coordinate at a time, with the noise
# of that coordinate.


_NOTHING = 1e-280
_WORST = "The beliefs are sets of laws, and the promise is for every law in them. Drawn are two, worst at one output."
_COORDINATES = 64
"""Coordinates beyond these are not drawn."""


class Sets(Picture):
    """Sets of laws: drawn are two of their laws that are worst at one output."""

    def limit(self, item: SetFamily, noise: Any) -> float:
        """What is proved of all their laws."""
        return max(self._each(item, noise), default=0.0)

    def why_unlimited(self, item: SetFamily, noise: Any) -> str:
        """Values that one law need not have, unless noise covers them."""
        return LINE.why_unlimited(item, noise)  # type: ignore[arg-type]

    def losses(self, item: SetFamily, noise: Any, epsilon: float) -> Floats:
        """What is proved of every pair; as they come where nothing finite is."""
        del epsilon
        found = np.array(self._each(item, noise))
        return np.where(np.isfinite(found), found, 0.0)

    def _each(self, item: SetFamily, noise: Any) -> list[float]:
        if kernel_of(noise).extra(noise):
            return [math.inf] * len(item.pairs)
        return [loss.value for loss in pure_bounds(item, noise, Fraction(0))]

    def margins(self, item: SetFamily, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
        """Two laws that are worst at one output, as any other two."""
        chosen = replace(item, pairs=(item.pairs[k],), labels=(item.labels[k],))
        laws = tuple(Masses(law, exact_sum(law)) for law in worst_laws(chosen, SetKernel.of(noise)))
        shown = Family(item.points, laws, ((0, 1),), chosen.labels)
        for margin in LINE.margins(shown, 0, noise, lattice):
            yield margin._replace(note=_WORST)


class Smooth(Number):
    """Laws with Gaussian components."""

    def limit(self, item: Analytic, noise: Any) -> float:
        """Only noise that decays as slowly as Laplace noise limits the ratio."""
        steps = kernel_of(noise).decay(noise)
        if item.same or steps == 0:
            return 0.0 if item.same else math.inf
        try:
            fast = fast_pure(item, steps)
        except OutOfReach:
            fast = None
        try:
            return max(loss.value for loss in pure_bounds(item, noise, Fraction(0))) if fast is None else fast
        except OutOfReach:
            return math.inf

    def why_unlimited(self, item: Analytic, noise: Any) -> str:
        """A law with atoms against one without."""
        return "only" if noise.silent and not all(law.stds.any() for law in (item.p, item.q)) else "tails"

    def losses(self, item: Analytic, noise: Any, epsilon: float) -> Floats:
        """The limit where the noise gives one, or delta(epsilon)."""
        if kernel_of(noise).extra(noise) == 0:
            return np.array([self.limit(item, noise)])
        shown, drawn, _ = self.drawable(item, noise)
        return kernel_of(drawn).losses(self.atoms(shown, drawn)[0], drawn, epsilon)

    def span(self, item: Analytic, noise: Any) -> None:
        """The cells that hold all that doubles can see."""
        _span(item, noise)

    def atoms(self, item: Analytic, noise: Any) -> tuple[Family, tuple[bool, bool]]:
        """The pair on the lattice points that hold all of it that doubles can see, also once Laplace noise is added."""
        assert item.lattice is not None
        span = _span(item, noise)
        rows = np.stack([float_cells(law, item.lattice, span) for law in (item.p, item.q)])
        rows[rows < _NOTHING] = 0.0
        held = rows.any(axis=0)
        laws = tuple(Masses(row, exact_sum(row)) for row in rows[:, held])
        family = Family(np.arange(span.first, span.last + 1)[held], laws, ((0, 1),), (item.label,))
        return family, (bool(item.p.stds.any()), bool(item.q.stds.any()))

    def coarser(self, item: Analytic, factor: int) -> Analytic:
        """The laws without their rounding, rounded more."""
        assert item.lattice is not None
        return item.on(Lattice(item.lattice.grid * factor, item.lattice.origin))

    def margins(self, item: Analytic, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
        """The pair."""
        del k, lattice
        yield Margin(item, noise, None)


class Vectors(Picture):
    """Laws of vectors: what they lose is not drawn, their coordinates are."""

    def losses(self, item: Any, noise: Any, epsilon: float) -> Floats:
        """As they come: the certificate names the worst pair."""
        del noise, epsilon
        return np.zeros(len(item.pairs))


class Space(Vectors):
    """Laws of vectors with atoms; every coordinate gets the same noise, by itself."""

    def limit(self, item: Family, noise: Any) -> float:
        """What is proved; noise without a bound of its own leaves what the laws tell."""
        return max((loss.value for loss in pure_bounds(item, noise, Fraction(0))), default=0.0)

    def why_unlimited(self, item: Family, noise: Any) -> str:
        """Atoms that one law lacks, unless noise covers them."""
        return LINE.why_unlimited(item, noise)

    def margins(self, item: Family, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
        """Every coordinate: masses that meet are added exactly."""
        for j, column in enumerate(item.points.T[:_COORDINATES]):
            points, where = np.unique(column, return_inverse=True)
            laws = tuple(law.scatter(where, len(points)) for law in item.laws)
            own = noise.coordinate(j) if isinstance(noise, DirectedLaplace) else noise
            for margin in LINE.margins(replace(item, points=points, laws=laws), k, own, lattice):
                yield margin._replace(coordinate=j)


class Cells(Vectors):
    """Laws of one record's cell: drawn is the count of each cell, which the record raises by one or not."""

    def limit(self, item: CellFamily, noise: Any) -> float:
        """What is proved; noise without a bound of its own leaves what the laws tell."""
        return max((loss.value for loss in pure_bounds(item, noise, Fraction(0))), default=0.0)

    def why_unlimited(self, item: CellFamily, noise: Any) -> str:
        """Cells that one law lacks, unless noise covers them."""
        del item
        return "only" if noise.silent else "tails"

    def margins(self, item: CellFamily, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
        """Every cell by itself: the record is in it, or in another."""
        pair, label = item.pairs[k], item.labels[k]
        for j in range(min(item.dimension, _COORDINATES)):
            each = [(int(law.sum()), int(law[j])) for law in (item.laws[n] for n in pair)]
            laws = tuple(Masses(np.array([total - held, held]), Fraction(total)) for total, held in each)
            shown = Family(np.array([0, 1]), laws, ((0, 1),), (label,))
            for margin in LINE.margins(shown, 0, noise, lattice):
                yield margin._replace(coordinate=j)


class NormalVectors(Vectors):
    """Normal laws of vectors."""

    def limit(self, item: Any, noise: Any) -> float:
        """No Gaussian noise limits the ratio of two different normal laws."""
        del noise
        return 0.0 if item.same else math.inf

    def why_unlimited(self, item: Any, noise: Any) -> str:
        """Values far out tell more and more; without noise, laws on different planes tell everything."""
        del item
        return "only" if noise.silent else "tails"

    def margins(self, item: Any, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
        """Every coordinate, with Gaussian noise of the deviation that its noise has."""
        del k
        assert lattice is not None
        variances = noise.covariance()
        for j in range(min(item.dimension, _COORDINATES)):
            p, q = (components(Normal(law.mean[j], _root(law.cov[j][j]))) for law in (item.p, item.q))
            drawn = Gaussian(_root(variances[j][j]), lattice.grid)
            yield Margin(Analytic(p, q, item.label).on(lattice), drawn, j)


PICTURES: dict[str, Picture] = {
    "line": LINE, "smooth": Smooth(), "space": Space(), "normal": NormalVectors(), "sets": Sets(),
    "cells": Cells(),
}  # fmt: skip
NUMBERS: dict[str, Number] = {name: found for name, found in PICTURES.items() if isinstance(found, Number)}


def limit(item: Any, noise: Any) -> float:
    """max |ln(f_A / f_B)| over all values and pairs of an item, from above; inf where no limit is known."""
    return PICTURES[item.shape].limit(item, noise)


def why_unlimited(item: Any, noise: Any) -> str:
    """Why `limit` is inf: "error", "only" or "tails"."""
    return PICTURES[item.shape].why_unlimited(item, noise)


def _root(variance: Fraction) -> float:
    return math.sqrt(float(variance))


def _span(item: Analytic, noise: Any) -> Span:
    assert item.lattice is not None
    return span_of((item.p, item.q), item.lattice, float(noise.scale) if kernel_of(noise).decay(noise) else 0.0)
