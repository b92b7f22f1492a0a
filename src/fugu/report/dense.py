"""Laws with Gaussian components, and Gaussian noise, as numbers on lattice points: to draw, not to prove."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.errors import OutOfReach
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.masses import Masses, exact_sum
from fugu.loss.atoms.gaussian import reach_of, width_of
from fugu.loss.door import pure_bounds
from fugu.loss.search.laplace import pure_loss
from fugu.loss.search.smooth import fast_pure
from fugu.loss.smooth.rounded import Span, float_cells, span_of
from fugu.noise import LatticeNoise
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice

_NOTHING = 1e-280
_DRAWN = 1_000_000
"""Most lattice points of one picture."""
_BY_HAND = 20_000_000
"""Up to this many products a convolution is summed term by term, which keeps small numbers right."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def steps_of(noise: LatticeNoise) -> float:
    """scale / grid; 0 without noise."""
    if noise.scale == 0:
        return 0.0
    return float(1 / noise.rate) if isinstance(noise, Laplace) else math.sqrt(0.5 / float(noise.precision))


def drawable(item: Item, noise: LatticeNoise) -> tuple[Item, LatticeNoise, int]:
    """The laws and the noise on a lattice so many times coarser that every point can be drawn; as they are, times 1,
    where that is so already. Only for pictures: what is proved is proved on the lattice of the certificate."""
    gaussian = isinstance(noise, Gaussian) and noise.scale > 0
    if isinstance(item, Family) and not gaussian:
        return item, noise, 1
    try:
        if isinstance(item, Analytic):
            _span(item, noise)
        reach = reach_of(float(noise.precision)) if isinstance(noise, Gaussian) and gaussian else 0
        factor = math.ceil((width_of(item) + 2 * reach) / _DRAWN)
    except OutOfReach as error:
        factor = math.ceil(2 * error.points / error.limit)
    if factor == 1:
        return item, noise, 1
    coarse: LatticeNoise = type(noise)(noise.scale, (noise.grid or Fraction(1)) * factor)
    if isinstance(item, Family):
        item = item.on(Lattice(Fraction(factor)))
    else:
        assert item.lattice is not None
        item = item.on(Lattice(item.lattice.grid * factor, item.lattice.origin))
    item, coarse, more = drawable(item, coarse)
    return item, coarse, factor * more


def atoms_of(item: Analytic, noise: LatticeNoise) -> Family:
    """The pair on the lattice points that hold all of it that doubles can see, also once Laplace noise is added."""
    assert item.lattice is not None
    span = _span(item, noise)
    rows = np.stack([float_cells(law, item.lattice, span) for law in (item.p, item.q)])
    rows[rows < _NOTHING] = 0.0
    held = rows.any(axis=0)
    laws = tuple(Masses(row, exact_sum(row)) for row in rows[:, held])
    return Family(np.arange(span.first, span.last + 1)[held], laws, ((0, 1),), (item.label,))


def _span(item: Analytic, noise: LatticeNoise) -> Span:
    assert item.lattice is not None
    return span_of((item.p, item.q), item.lattice, float(noise.scale) if isinstance(noise, Laplace) else 0.0)


def with_gaussian(points: Indices, weights: Floats, steps: float) -> tuple[int, Floats]:
    """The laws convolved with lattice Gaussian noise: the first index, and the masses from there on, one row a law."""
    precision = 0.5 / steps**2
    reach = reach_of(precision)
    kernel = np.exp(-precision * np.arange(-reach, reach + 1, dtype=np.float64) ** 2)
    kernel /= kernel.sum()
    rows = np.zeros((len(weights), int(points[-1] - points[0]) + 1))
    rows[:, points - points[0]] = weights
    return int(points[0]) - reach, np.stack([_convolved(row, kernel) for row in rows])


def _convolved(row: Floats, kernel: Floats) -> Floats:
    if len(row) * len(kernel) <= _BY_HAND:
        return np.convolve(row, kernel)
    from scipy.signal import fftconvolve

    return np.asarray(np.maximum(fftconvolve(row, kernel), 0.0), dtype=np.float64)


def limit(item: Item, noise: LatticeNoise) -> float:
    """max |ln(f_A / f_B)| over all values and pairs of an item, from above; inf where no limit is known.

    Gaussian noise is a post-processing of the value: what that cannot tell, the published one cannot either."""
    if isinstance(item, Family):
        return pure_loss(item, 0.0 if isinstance(noise, Gaussian) else steps_of(noise)).value if item.different else 0.0
    if item.same:
        return 0.0
    if noise.scale == 0 or isinstance(noise, Gaussian):
        return math.inf
    try:
        found = fast_pure(item, steps_of(noise))
    except OutOfReach:
        found = None
    try:
        return max(loss.value for loss in pure_bounds(item, noise, Fraction(0))) if found is None else found
    except OutOfReach:
        return math.inf


def why_unlimited(item: Item, noise: LatticeNoise) -> str:
    """Why `limit` is inf: "error" (a law is known up to an error only), "only" (some values are possible under one
    secret only) or "tails" (the ratio may grow without end far out)."""
    if isinstance(item, Family):
        return "error" if item.inexact else "tails" if noise.scale > 0 else "only"
    return "tails" if noise.scale > 0 or all(law.stds.any() for law in (item.p, item.q)) else "only"
