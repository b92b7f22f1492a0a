"""`Joint`: a value of the beliefs and what is published of it, together; all figures of utility are read off it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.laws.components import Components
from fugu.noise.kind import Noise
from fugu.noised import convolved
from fugu.numbers.exact import as_fraction

# `Joint`: a value X of the beliefs and what is published of it, Y, together; all figures of utility are read off it.
#
# Two forms: `Moved`, a table of chances (channels, noise on atoms, remaps), and `fugu.utility.joint.Added`, noise on a
# lattice. Doubles throughout: no guarantee rests on any of it.


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """Points in increasing order and their probabilities."""

    points: Floats
    shares: Floats

    @property
    def mean(self) -> float:
        """E X."""
        return float(self.shares @ self.points)

    @property
    def variance(self) -> float:
        """Var X."""
        return float(self.shares @ (self.points - self.mean) ** 2)

    def quantile(self, level: float) -> float:
        """The least point with P(X <= point) >= level, up to rounding.

        >>> Law(np.array([1.0, 2.0, 5.0]), np.array([0.5, 0.25, 0.25])).quantile(0.5)
        1.0
        """
        below = np.cumsum(self.shares)
        return float(self.points[min(int(np.argmax(below >= level - 1e-12)), len(self.points) - 1)])

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest point that has mass."""
        there = self.points[self.shares > 0]
        return float(there[0]), float(there[-1])


class Joint(ABC):
    """A value of the beliefs and what is published of it."""

    value: Law
    """The law of X."""
    endless: bool = False
    """Whether X may lie anywhere on the line."""

    @property
    @abstractmethod
    def published(self) -> Law:
        """The law of Y."""

    @property
    @abstractmethod
    def bias(self) -> float:
        """E (Y - X)."""

    @property
    @abstractmethod
    def squared(self) -> float:
        """E (Y - X)^2."""

    @property
    @abstractmethod
    def absolute(self) -> float:
        """E |Y - X|."""

    @property
    @abstractmethod
    def covariance(self) -> float:
        """Cov(X, Y)."""

    @abstractmethod
    def order(self) -> float:
        """P(Y_1 < Y_2) + P(Y_1 = Y_2) / 2 for two independent rows with X_1 < X_2: 1 keeps every order, 1/2 none."""

    @property
    def spread_published(self) -> float:
        """Var Y = Var X + Var (Y - X) + 2 Cov(X, Y - X)."""
        return self.squared - self.bias**2 + 2 * self.covariance - self.value.variance

    def correlation(self) -> float:
        """corr(X, Y); 0 where one of them is constant."""
        both = self.value.variance * self.spread_published
        return float(self.covariance / np.sqrt(both)) if both > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Moved(Joint):
    """X takes the points of `value`, and goes out as `outputs[k]` with probability `rows[x, k]`.

    >>> fair = Law(np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    >>> coin = Moved(fair, fair.points, np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> coin.absolute, coin.correlation(), coin.order()
    (0.5, 0.5, 0.75)
    """

    value: Law
    outputs: Floats
    rows: Floats

    @cached_property
    def both(self) -> Floats:
        """P(X = x, Y = y), outputs in increasing order."""
        return np.asarray(self.value.shares[:, None] * self.rows[:, self._order])

    @property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.outputs, kind="stable")

    @cached_property
    def _apart(self) -> Floats:
        return np.asarray(self.outputs[self._order][None, :] - self.value.points[:, None])

    @property
    def published(self) -> Law:
        return Law(self.outputs[self._order], self.both.sum(axis=0))

    @property
    def bias(self) -> float:
        return float((self.both * self._apart).sum())

    @property
    def squared(self) -> float:
        return float((self.both * self._apart**2).sum())

    @property
    def absolute(self) -> float:
        return float((self.both * np.abs(self._apart)).sum())

    @property
    def covariance(self) -> float:
        centred = self.value.points - self.value.mean
        return float(centred @ self.both @ (self.outputs[self._order] - self.published.mean))

    def order(self) -> float:
        before = np.cumsum(self.both, axis=0) - self.both  # P(X_1 < x, Y_1 = y)
        behind = np.cumsum(before, axis=1) - before / 2
        apart = float((1 - self.value.shares @ self.value.shares) / 2)
        return float((self.both * behind).sum()) / apart if apart > 0 else 1.0

    @property
    def unchanged(self) -> float:
        """P(Y = X)."""
        return float((self.both * (self._apart == 0)).sum())


# `Added`: lattice noise on a value of the beliefs. Exact up to rounding where the lattice is small, else on a coarser
# one of some thousand points to the scale.


_MOST = 2**16
"""Lattice points that are looked at; finer lattices are coarsened."""
_REACH = 32.0
"""Noise of less mass than e^-32 is left out."""
_NORMAL = 8.5
"""Normal laws are cut so many standard deviations from their means."""
_FINE = 4096


@dataclass(frozen=True, eq=False)
class Added(Joint):
    """Y = X + N on a lattice: X at `places`, whole numbers of `step` from `origin`, N of the noise independent.

    >>> from fugu.noise.laplace import Laplace
    >>> two = Added(np.array([0, 1]), np.array([0.5, 0.5]), 1.0, 0.0, Laplace(1.0, grid=1))
    >>> round(two.squared, 6), round(two.correlation(), 6), round(two.order(), 6)
    (1.841347, 0.345746, 0.731059)
    """

    places: NDArray[np.int64]
    shares: Floats
    step: float
    origin: float
    noise: Noise
    endless: bool = False
    """Whether values may lie anywhere on the line."""

    @staticmethod
    def to_normals(laws: list[Components], noise: Noise) -> Added:
        """Noise on the average of laws with bell shapes, each rounded to a lattice of some thousand points."""
        from scipy.special import ndtr

        low = min(float((law.means - _NORMAL * law.stds).min()) for law in laws)
        high = max(float((law.means + _NORMAL * law.stds).max()) for law in laws)
        step = max(float(noise.grid or 0), (high - low) / _FINE) or 1.0
        places = np.arange(math.floor(low / step), math.ceil(high / step) + 1)
        total = np.zeros(len(places))
        for law in laws:
            for weight, mean, std in zip(law.weights, law.means, law.stds, strict=True):
                if std == 0:
                    total[round(mean / step) - int(places[0])] += weight
                else:
                    edges = (np.append(places, places[-1] + 1) - 0.5) * step
                    total += weight * np.diff(ndtr((edges - mean) / std))
        return Added(places, total / total.sum(), step, 0.0, noise, endless=True)

    @cached_property
    def value(self) -> Law:  # type: ignore[override]
        return Law(np.asarray(self.places * self.step + self.origin, dtype=np.float64), self.shares)

    def _on(self, factor: int) -> Noise:
        """The noise on a lattice of so many steps."""
        return type(self.noise).at(self.noise.scale, as_fraction(factor * self.step))

    @cached_property
    def _grid(self) -> tuple[int, int, int, Floats]:
        """(how many steps make one of the coarser lattice, first place there, steps that noise reaches, X there)."""
        reach = 0 if self.noise.silent else self._on(1).reach(_REACH)
        first, last = int(self.places.min()), int(self.places.max())
        factor = max(1, math.ceil((last - first + 2 * reach) / _MOST))
        at = np.rint((self.places - first) / factor).astype(np.int64)
        found = np.bincount(at, weights=self.shares, minlength=(last - first) // factor + 1)
        return factor, first, math.ceil(reach / factor), np.asarray(found, dtype=np.float64)

    @cached_property
    def _drawn(self) -> Floats:
        """The noise on the coarser lattice, from -reach to reach."""
        factor, _, reach, _ = self._grid
        if self.noise.silent:
            return np.ones(1)
        found = np.exp(self._on(factor).log_mass(np.arange(-reach, reach + 1)))
        return np.asarray(found / found.sum())

    @cached_property
    def published(self) -> Law:
        factor, first, reach, found = self._grid
        masses = np.maximum(convolved(found, self._drawn), 0.0)
        places = first + factor * (np.arange(len(masses)) - reach)
        return Law(np.asarray(places * self.step + self.origin, dtype=np.float64), masses / masses.sum())

    @property
    def bias(self) -> float:
        return 0.0

    @property
    def squared(self) -> float:
        return self.noise.expected_error("squared")

    @property
    def absolute(self) -> float:
        return self.noise.expected_error()

    @property
    def covariance(self) -> float:
        return self.value.variance

    def order(self) -> float:
        _, _, reach, found = self._grid
        n = len(found)
        apart = np.maximum(convolved(found, found[::-1])[n:], 0.0)  # P(X_2 - X_1 = t), t = 1, 2, ...
        if apart.sum() <= 0:
            return 1.0
        noise = np.maximum(convolved(self._drawn, self._drawn), 0.0)  # of N_1 - N_2, from -2 reach on
        kept = np.cumsum(noise) - noise / 2  # P(N_1 - N_2 < t) + P(=) / 2
        at = np.minimum(np.arange(1, n) + 2 * reach, len(kept) - 1)
        reached = np.where(np.arange(1, n) <= 2 * reach, kept[at], 1.0)
        return float(apart @ reached / apart.sum())
