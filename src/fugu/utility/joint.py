"""`PublishedJoint`: a value X of the beliefs and what is published of it, Y, together; all figures of utility are read
off it. Doubles throughout: no guarantee rests on any of it.

It comes from a table of chances (`moved`: channels, noise on atoms, remaps), or from noise on a lattice (`added`)."""

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
    order = _order_kept(found, drawn, reach)
    squared, absolute = noise.expected_error("squared"), noise.expected_error()
    return PublishedJoint(value, published, 0.0, squared, absolute, value.variance, order)


def _order_kept(found: Floats, drawn: Floats, reach: int) -> float:
    """`order`, of laws of X and of noise on one lattice, that of the noise from -reach to reach."""
    n = len(found)
    apart = np.maximum(convolved(found, found[::-1])[n:], 0.0)  # P(X_2 - X_1 = t), t = 1, 2, ...
    if apart.sum() <= 0:
        return 1.0
    noise = np.maximum(convolved(drawn, drawn), 0.0)  # of N_1 - N_2, from -2 reach on
    kept = np.cumsum(noise) - noise / 2  # P(N_1 - N_2 < t) + P(=) / 2
    at = np.minimum(np.arange(1, n) + 2 * reach, len(kept) - 1)
    reached = np.where(np.arange(1, n) <= 2 * reach, kept[at], 1.0)
    return float(apart @ reached / apart.sum())


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
