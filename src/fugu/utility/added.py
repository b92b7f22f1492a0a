"""`Added`: lattice noise on a value of the beliefs. Exact up to rounding where the lattice is small, else on a coarser
one of some thousand points to the scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.laws.components import Components
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.utility.joint import Floats, Joint, Law

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

    >>> two = Added(np.array([0, 1]), np.array([0.5, 0.5]), 1.0, 0.0, Laplace(1.0, grid=1))
    >>> round(two.squared, 6), round(two.correlation(), 6), round(two.order(), 6)
    (1.841347, 0.345746, 0.731059)
    """

    places: NDArray[np.int64]
    shares: Floats
    step: float
    origin: float
    noise: Laplace | Gaussian
    endless: bool = False
    """Whether values may lie anywhere on the line."""

    @staticmethod
    def to_normals(laws: list[Components], noise: Laplace | Gaussian) -> Added:
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

    @cached_property
    def _grid(self) -> tuple[int, int, int, Floats]:
        """(how many steps make one of the coarser lattice, first place there, steps that noise reaches, X there)."""
        decay = self._decay(1)
        reach = 0 if self.noise.silent else math.ceil((_REACH / decay) ** (1 / self.noise.norm))
        first, last = int(self.places.min()), int(self.places.max())
        factor = max(1, math.ceil((last - first + 2 * reach) / _MOST))
        at = np.rint((self.places - first) / factor).astype(np.int64)
        found = np.bincount(at, weights=self.shares, minlength=(last - first) // factor + 1)
        return factor, first, math.ceil(reach / factor), np.asarray(found, dtype=np.float64)

    def _decay(self, factor: int) -> float:
        """The mass of noise of k coarser steps falls as exp(-decay |k|^norm)."""
        if self.noise.silent:
            return math.inf
        return (factor * self.step / float(self.noise.scale)) ** self.noise.norm / self.noise.norm

    @cached_property
    def _drawn(self) -> Floats:
        """The noise on the coarser lattice, from -reach to reach."""
        factor, _, reach, _ = self._grid
        if self.noise.silent:
            return np.ones(1)
        steps = np.arange(-reach, reach + 1).astype(np.float64)
        found = np.exp(-self._decay(factor) * np.abs(steps) ** self.noise.norm)
        return np.asarray(found / found.sum())

    @cached_property
    def published(self) -> Law:
        factor, first, reach, found = self._grid
        masses = np.maximum(_convolved(found, self._drawn), 0.0)
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
        apart = np.maximum(_convolved(found, found[::-1])[n:], 0.0)  # P(X_2 - X_1 = t), t = 1, 2, ...
        if apart.sum() <= 0:
            return 1.0
        noise = np.maximum(_convolved(self._drawn, self._drawn), 0.0)  # of N_1 - N_2, from -2 reach on
        kept = np.cumsum(noise) - noise / 2  # P(N_1 - N_2 < t) + P(=) / 2
        at = np.minimum(np.arange(1, n) + 2 * reach, len(kept) - 1)
        reached = np.where(np.arange(1, n) <= 2 * reach, kept[at], 1.0)
        return float(apart @ reached / apart.sum())


def _convolved(a: Floats, b: Floats) -> Floats:
    """sum_i a_i b_(k - i), through Fourier transforms: each within 1e-15 or so."""
    size = len(a) + len(b) - 1
    if min(len(a), len(b)) < 64:
        return np.convolve(a, b)
    width = 1 << (size - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(a, width) * np.fft.rfft(b, width), width)[:size])
