"""`Joint`: a value X of the beliefs and what is published of it, Y, together; all figures of utility are read off it.

Two forms: `Moved`, a table of chances (channels, noise on atoms, remaps), and `fugu.utility.added.Added`, noise on a
lattice. Doubles throughout: no guarantee rests on any of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
