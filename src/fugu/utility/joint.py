"""`PublishedJoint`: a value X of the beliefs and what is published of it, Y, together; all figures of utility are read
off it. Doubles throughout: no guarantee rests on any of it.

It comes from a table of chances (`moved`: channels, noise on atoms, remaps), or from noise on a lattice (`added`). What
statistics of n published rows are worth is read off the laws of X and Y."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fugu.laws.components import Components
from fugu.noise.kind import Noise
from fugu.noised import convolved
from fugu.numbers.exact import as_fraction

Floats = NDArray[np.float64]
_MOST = 2**16
"""Lattice points that are looked at; finer lattices are coarsened."""
_REACH = 32.0
"""Noise of less mass than e^-32 is left out."""
_NORMAL = 8.5
"""Normal laws are cut so many standard deviations from their means."""
_FINE = 4096


@dataclass(frozen=True)
class PointLaw:
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

        >>> PointLaw(np.array([1.0, 2.0, 5.0]), np.array([0.5, 0.25, 0.25])).quantile(0.5)
        1.0
        """
        below = np.cumsum(self.shares)
        return float(self.points[min(int(np.argmax(below >= level - 1e-12)), len(self.points) - 1)])

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest point that has mass."""
        there = self.points[self.shares > 0]
        return float(there[0]), float(there[-1])


@dataclass(frozen=True, eq=False)
class PublishedJoint:
    """A value X of the beliefs and what is published of it, Y.

    `value`, `published`: their laws; `bias`: E (Y - X); `squared`: E (Y - X)^2; `absolute`: E |Y - X|; `covariance`:
    Cov(X, Y). `order`: P(Y_1 < Y_2) + P(Y_1 = Y_2) / 2 for two independent rows with X_1 < X_2: 1 keeps every order,
    1/2 none. `unchanged`: P(Y = X), of a table. `endless`: whether X may lie anywhere on the line. `rows`: how many
    rows of a reference the law of X was counted on, None where it is the mean of beliefs."""

    value: PointLaw
    published: PointLaw
    bias: float
    squared: float
    absolute: float
    covariance: float
    order: float
    unchanged: float = math.nan
    endless: bool = False
    rows: int | None = None

    @property
    def correlation(self) -> float:
        """corr(X, Y), with Var Y = Var X + Var (Y - X) + 2 Cov(X, Y - X); 0 where one of them is constant."""
        spread_published = self.squared - self.bias**2 + 2 * self.covariance - self.value.variance
        both = self.value.variance * spread_published
        return float(self.covariance / np.sqrt(both)) if both > 0 else 0.0


def moved(value: PointLaw, outputs: Floats, rows: Floats) -> PublishedJoint:
    """X takes the points of `value`, and goes out as `outputs[k]` with probability `rows[x, k]`.

    >>> fair = PointLaw(np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    >>> coin = moved(fair, fair.points, np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> coin.absolute, coin.correlation, coin.order
    (0.5, 0.5, 0.75)
    """
    increasing = np.argsort(outputs, kind="stable")
    out = outputs[increasing]
    both = np.asarray(value.shares[:, None] * rows[:, increasing])  # P(X = x, Y = y)
    error = np.asarray(out[None, :] - value.points[:, None])
    published = PointLaw(out, both.sum(axis=0))
    before = np.cumsum(both, axis=0) - both  # P(X_1 < x, Y_1 = y)
    behind = np.cumsum(before, axis=1) - before / 2
    apart = float((1 - value.shares @ value.shares) / 2)
    return PublishedJoint(
        value, published, float((both * error).sum()), float((both * error**2).sum()),
        float((both * np.abs(error)).sum()),
        float((value.points - value.mean) @ both @ (out - published.mean)),
        float((both * behind).sum()) / apart if apart > 0 else 1.0,
        float((both * (error == 0)).sum()),
    )  # fmt: skip


def added(places: NDArray[np.int64], shares: Floats, step: float, origin: float, noise: Noise) -> PublishedJoint:
    """Y = X + N on a lattice: X at `places`, whole numbers of `step` from `origin`, N of the noise independent. Exact
    up to rounding where the lattice is small, else on a coarser one of some thousand points to the scale.

    >>> from fugu.noise.laplace import Laplace
    >>> two = added(np.array([0, 1]), np.array([0.5, 0.5]), 1.0, 0.0, Laplace(1.0, grid=1))
    >>> round(two.squared, 6), round(two.correlation, 6), round(two.order, 6)
    (1.841347, 0.345746, 0.731059)
    """
    value = PointLaw(np.asarray(places * step + origin, dtype=np.float64), shares)
    reach = 0 if noise.silent else type(noise).at(noise.scale, as_fraction(step)).reach(_REACH)
    first, last = int(places.min()), int(places.max())
    factor = max(1, math.ceil((last - first + 2 * reach) / _MOST))  # so many steps make one of the coarser lattice
    at, reach = np.rint((places - first) / factor).astype(np.int64), math.ceil(reach / factor)
    found = np.asarray(np.bincount(at, weights=shares, minlength=(last - first) // factor + 1), dtype=np.float64)
    drawn = np.ones(1)
    if not noise.silent:
        drawn = np.exp(type(noise).at(noise.scale, as_fraction(factor * step)).log_mass(np.arange(-reach, reach + 1)))
        drawn = np.asarray(drawn / drawn.sum())
    masses = np.maximum(convolved(found, drawn), 0.0)
    seen = (first + factor * (np.arange(len(masses)) - reach)) * step + origin
    published = PointLaw(np.asarray(seen, dtype=np.float64), masses / masses.sum())
    order, n = 1.0, len(found)
    apart = np.maximum(convolved(found, found[::-1])[n:], 0.0)  # P(X_2 - X_1 = t), t = 1, 2, ...
    if apart.sum() > 0:
        differences = np.maximum(convolved(drawn, drawn), 0.0)  # of N_1 - N_2, from -2 reach on
        kept = np.cumsum(differences) - differences / 2  # P(N_1 - N_2 < t) + P(=) / 2
        at = np.minimum(np.arange(1, n) + 2 * reach, len(kept) - 1)
        order = float(apart @ np.where(np.arange(1, n) <= 2 * reach, kept[at], 1.0) / apart.sum())
    squared, absolute = noise.expected_error("squared"), noise.expected_error()
    return PublishedJoint(value, published, 0.0, squared, absolute, value.variance, order)


def added_to_normals(laws: Iterable[Components], noise: Noise) -> PublishedJoint:
    """Noise on the average of laws with bell shapes, each rounded to a lattice of some thousand points."""
    from scipy.special import ndtr

    laws = list(laws)
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
    return replace(added(places, total / total.sum(), step, 0.0, noise), endless=True)


_DISTINCT, _CELLS = 20, 10


@dataclass(frozen=True)
class Estimate:
    """How far a statistic of so many rows lies from what the beliefs say: of `published` rows, and of `exact` ones."""

    what: str
    published: float
    exact: float


def quantile(level: float, rows: int, value: PointLaw, published: PointLaw) -> Estimate:
    """The root mean square distance of the ceil(level n)-th smallest of n rows from the quantile of the beliefs.

    P(Y_(k) <= y) = P(Bin(n, F(y)) >= k) for n independent rows with P(Y <= y) = F(y)."""
    true, name = value.quantile(level), "median" if level == 0.5 else f"{100 * level:g} % quantile"
    k = max(1, math.ceil(level * rows - 1e-9))
    found = []
    for law in (published, value):
        below = at_least(k, rows, np.minimum(np.cumsum(law.shares), 1.0))
        masses = np.diff(below, prepend=0.0)
        masses[-1] += 1 - below[-1]
        found.append(math.sqrt(float(np.maximum(masses, 0.0) @ (law.points - true) ** 2)))
    return Estimate(name, *found)


def histogram(rows: int, value: PointLaw, published: PointLaw) -> Estimate:
    """The expected share of n rows that stands in a wrong cell: half the sum over cells of E|B/n - p|, with B the count
    of a cell, binomial of the chance that a row is published there, and p the share that the beliefs give it."""
    there = value.points[value.shares > 0]
    if len(there) <= _DISTINCT:
        edges = (there[1:] + there[:-1]) / 2
    else:
        edges = np.linspace(there[0], there[-1], _CELLS + 1)[1:-1]
    true = in_cells(value, edges)
    found = in_cells(published, edges)
    name = f"histogram of {len(true)} cells"
    return Estimate(name, wrong_share(rows, found, true), wrong_share(rows, true, true))


def in_cells(law: PointLaw, edges: Floats) -> Floats:
    """The chance of each cell between the edges; the first and the last are open."""
    cell = np.searchsorted(edges, law.points, side="right")
    return np.asarray(np.bincount(cell, weights=law.shares, minlength=len(edges) + 1), dtype=np.float64)


def wrong_share(rows: int, chances: Floats, true: Floats) -> float:
    """sum over cells of E|B/n - p| / 2, B ~ Bin(n, chance).

    E|B - a| = 2 E(B - a)+ - (n r - a) and E[B; B >= k] = n r P(Bin(n - 1, r) >= k - 1).

    >>> round(wrong_share(1, np.array([0.5, 0.5]), np.array([0.5, 0.5])), 12)
    0.5
    """
    a = rows * true
    k = np.floor(a * (1 + 1e-15)).astype(np.int64) + 1
    above = rows * chances * at_least(k - 1, rows - 1, chances) - a * at_least(k, rows, chances)
    return float(np.maximum(2 * above - (rows * chances - a), 0.0).sum() / (2 * rows))


def at_least(k: int | np.ndarray[tuple[int, ...], np.dtype[np.int64]], rows: int, chances: Floats) -> Floats:
    """P(Bin(n, r) >= k), by the incomplete beta function."""
    from scipy.special import betainc

    k = np.asarray(k)
    inside = betainc(np.clip(k, 1, max(rows, 1)), np.maximum(rows - k + 1, 1), np.clip(chances, 0.0, 1.0))
    return np.asarray(np.where(k <= 0, 1.0, np.where(k > rows, 0.0, inside)))
