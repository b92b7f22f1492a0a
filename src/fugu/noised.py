"""`Noised`: the laws of what is published, in doubles. Searches, pictures, attacks, figures of use and remaps stand on
it; no guarantee does, for proofs read balls (`fugu.loss.generic`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.errors import OutOfReach
from fugu.noise.kind import Floats, Ints, Noise

CHUNK = 2_000_000
"""(output, point) cells that are worked out at once."""
_FALL = 45.0
"""Sums leave out less than e^-45 of the noise."""
_BY_HAND = 20_000_000
"""Up to this many products a convolution is summed term by term, which keeps small numbers right."""
_MOST = 4_000_000
"""Most lattice points that are summed one by one."""


@dataclass(frozen=True, eq=False)
class Noised:
    """Laws of a value, and the noise that it is published with.

    `points`: where values lie, lattice indices (n,), or (n, d) of vectors; `rows`: one law in each row.

    >>> from fugu.noise.laplace import Laplace
    >>> two = Noised(np.array([0, 1]), np.eye(2), Laplace(1.0, grid=1))
    >>> two.log_ratio(np.array([-3, 0, 1, 9])).round(12).tolist()
    [1.0, 1.0, -1.0, -1.0]
    >>> round(two.apart(), 6), round(two.apart(0.5), 6)
    (0.462117, 0.287649)
    """

    points: Ints
    rows: Floats
    noise: Noise

    def window(self, fall: float, most: int) -> tuple[Ints, int]:
        """Outputs of numbers but for e^-fall of the noise, at most `most`, and how many lattice points each stands
        for."""
        return (self.points, 1) if self.noise.silent else self.noise.outputs(self.points, fall, most)

    def log_mass(self, seen: Ints) -> Floats:
        """ln of the probability of every output, one row for each law; -inf where it has none."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.rows)
        blocks = np.array_split(seen, 1 + seen.size * len(self.points) // CHUNK)
        return np.concatenate([log_sums(self.noise.log_kernel(self.points, block), logs) for block in blocks], axis=1)

    def log_ratio(self, seen: Ints, first: int = 0, second: int = 1) -> Floats:
        """ln P/Q of every output; nan where neither law has mass."""
        logs = self.log_mass(seen)
        with np.errstate(invalid="ignore"):
            return np.asarray(logs[first] - logs[second])

    @cached_property
    def masses(self) -> tuple[Ints, Floats]:
        """All outputs of numbers, and their probabilities, a row for each law: by convolution where noise is added."""
        if not self.noise.added or self.noise.silent:
            seen = self.window(_FALL, _MOST)[0]
            return seen, np.exp(self.log_mass(seen))
        reach = self.noise.reach(_FALL)
        first, last = int(self.points[0]), int(self.points[-1])
        if (wide := last - first + 1 + 2 * reach) > _MOST:
            raise OutOfReach(
                f"the outputs are {wide:,} lattice points, more than {_MOST:,}; choose a coarser grid or bins",
                points=wide, limit=_MOST,
            )  # fmt: skip
        rows = np.zeros((len(self.rows), last - first + 1))
        rows[:, self.points - first] = self.rows
        kernel = np.exp(self.noise.log_mass(np.arange(-reach, reach + 1)))
        return np.arange(first - reach, last + reach + 1), np.stack(
            [convolved(row, kernel / kernel.sum()) for row in rows]
        )

    def cdf(self, seen: Ints) -> Floats:
        """P(Y <= y) at every y of `seen`, one row for each law."""
        found = np.zeros((len(self.rows), len(seen)))
        step = max(1, CHUNK // max(1, len(seen)))
        for start in range(0, len(self.points), step):
            own = slice(start, start + step)
            found += self.rows[:, own] @ self.noise.cdf_kernel(self.points[own], seen)
        return found

    def apart(self, epsilon: float = 0.0, first: int = 0, second: int = 1) -> float:
        """The larger of both orders of sum (P - e^epsilon Q)+."""
        rows, e = self.masses[1], math.exp(min(epsilon, 700.0))
        p, q = rows[first], rows[second]
        return float(max(np.maximum(p - e * q, 0.0).sum(), np.maximum(q - e * p, 0.0).sum()))

    def posteriors(self, law: int, seen: Ints) -> Iterator[tuple[slice, Floats]]:
        """P(X = x | Y = y) over the points, one row for each output, for blocks of outputs."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.rows[law])
        step = max(1, CHUNK // len(self.points))
        for start in range(0, len(seen), step):
            own = slice(start, start + step)
            found = logs + self.noise.log_likelihood(self.points, seen[own])
            none = np.isinf(top := found.max(axis=1, keepdims=True))  # what cannot come out says nothing
            found = np.where(none, logs, found)
            found -= np.where(none, logs.max(), top)
            np.exp(found, out=found)
            found /= found.sum(axis=1, keepdims=True)
            yield own, found


def convolved(a: Floats, b: Floats) -> Floats:
    """sum over i of a_i b_(k - i): term by term where that is cheap, else through Fourier transforms, never below 0."""
    if len(a) * len(b) <= _BY_HAND:
        return np.convolve(a, b)
    from scipy.signal import fftconvolve

    return np.asarray(np.maximum(fftconvolve(a, b), 0.0), dtype=np.float64)


def log_sums(kernel: Floats, logs: Floats) -> Floats:
    """ln sum exp over the points, one row for each law; -inf where nothing is."""
    found = np.empty((len(logs), len(kernel)))
    for k, law in enumerate(logs):
        terms = kernel + law[None, :]
        top = np.max(terms, axis=1)
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            found[k] = np.log(np.exp(terms - safe[:, None]).sum(axis=1)) + safe
    return found
