"""From a covariance to noise that can be drawn: an integer matrix times independent discrete Gaussians on a lattice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.lattice import short_step
from fugu.errors import NotProvable
from fugu.loss.normal.smoothing import TAU
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.lattice import MAX_INDEX
from fugu.numbers.exact import decimal_up

Array = NDArray[np.float64]
_LENGTHS = tuple(32 * 4**k for k in range(15))
"""The longest column of whole numbers has about one of these lengths: the first that costs less than `_CLOSE`."""
_SHORT = (1, 2, 4, 8, 16)
"""On a grid that was asked for also these."""
_CLOSE = 1.001
"""No error may grow by more than this factor of its variance."""
_SPARE = 1e-6
"""What is above the least variance by less than this share of it needs no column."""
_ZERO = 1e-10
"""Eigenvalues below this share of the largest are none; below what a proposal may have without a declaration."""
_FINER = 16
"""The grid is at most this fraction of the least deviation of noise and laws, so that rounding costs little."""
_WIDTH = math.sqrt(2 * float(TAU))
_SAFE = 1 + 1e-12
_FLAT = (
    "a law does not vary at all in some direction, so no lattice is fine enough for it; protect it as a shift "
    "(fugu.Shifted), or leave out statistics that are functions of the others"
)


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a lattice is chosen for: the covariances of the laws, the units of the statistics, the largest mean, and a
    grid if one is given."""

    laws: Sequence[Array]
    unit: Array
    reach: float
    grid: Fraction | None = None


def realise(S: Array, wanted: Wanted, needed: Callable[[Array], float]) -> CorrelatedGaussian:
    """Noise of about the covariance S, on a grid fine enough for `fugu.loss.normal.smoothing`: base^2 I with the least
    variance in any direction, and whole columns for the rest.

    Columns are S's own up to half a step, so longer ones cost less and need a finer grid; the shortest that cost next
    to nothing are taken. Rounded noise is enlarged until it is above S; where S is of deficient rank, which nothing
    rounded is above, by the factor that `needed` finds for its shape. What the result really protects is proved
    afterwards, from its own exact covariance."""
    own = S / np.outer(wanted.unit, wanted.unit)
    values, vectors = np.linalg.eigh(own)
    if not values[-1] > 0:
        return _silent(S, wanted)
    full = bool(values[0] > _ZERO * values[-1])
    base = 0.0
    if full:  # the least eigenvalue of S, through an inverse whose entries are as good as their units
        base = 1 / float(np.linalg.eigvalsh(np.linalg.inv(own) / np.outer(wanted.unit, wanted.unit))[-1])
        values, vectors = np.linalg.eigh(own - np.diag(base / wanted.unit**2))
    held = values > (_SPARE * base / wanted.unit.max() ** 2 if full else _ZERO * values[-1])
    F = wanted.unit[:, None] * vectors[:, held] * np.sqrt(values[held])
    longest = float(np.sqrt((F * F).sum(axis=0)).max(initial=0.0))
    best: tuple[float, CorrelatedGaussian] | None = None
    refusal: NotProvable | None = None
    lengths = _LENGTHS if full else _LENGTHS[3:]
    for length in lengths if wanted.grid is None else (*_SHORT, *lengths):
        step = longest / length
        B = np.rint(F / step) if F.size else F
        B = B[:, B.any(axis=0)]
        shape = base * np.eye(len(S)) + step**2 * (B @ B.T)
        factor, price = _above(own, shape / np.outer(wanted.unit, wanted.unit)) if full else 2 * (needed(shape),)
        if not math.isfinite(factor) or (best is not None and price >= best[0]):
            continue
        try:
            best = price, _made(base * factor, B, math.sqrt(factor) * step, len(S), wanted)
        except NotProvable as error:
            refusal = refusal or error
            if wanted.grid is None:
                break
            continue
        if price <= _CLOSE or not F.size:
            break
    if best is None:
        raise refusal or NotProvable("no whole directions near those of this noise hide the pairs")
    return best[1]


def _above(S: Array, shape: Array) -> tuple[float, float]:
    """The least f with f shape >= S, and the least g with f shape <= g S: no error grows by more than g."""
    from scipy.linalg import eigh

    values = eigh(shape, S, eigvals_only=True)
    return (1 / float(values[0]), float(values[-1] / values[0])) if values[0] > 0 else (math.inf, math.inf)


def _made(base: float, B: Array, step: float, d: int, wanted: Wanted) -> CorrelatedGaussian:
    """base I + step^2 B B' as noise on a lattice: every column has the width step / grid."""
    limits = _limits(base, B, step, wanted)
    grid = short_step(0.99 * min(limits)) if wanted.grid is None else wanted.grid
    if wanted.grid is not None and grid > min(limits[:2]):
        raise NotProvable("the noise is too narrow against its grid to be treated as Gaussian; choose a finer grid")
    size = math.sqrt(base + step**2 * float((B * B).sum(axis=1).max(initial=0.0)))
    if max(64 * size, 4 * wanted.reach) / float(grid) > MAX_INDEX:
        raise NotProvable(
            "the grid is too fine for means or noise this large, so nothing could be released; subtract a public "
            "constant from the values, or give a coarser grid"
        )
    columns = tuple(tuple(int(x) for x in b) for b in B.T)
    width = float(decimal_up(step / float(grid) * _SAFE))
    return CorrelatedGaussian(float(decimal_up(math.sqrt(base) * _SAFE)), columns, (width,) * len(columns), grid, d)


def _limits(base: float, B: Array, step: float, wanted: Wanted) -> list[float]:
    """At most these, first for columns and base, then for the laws: then every sum over the lattice is an integral
    (`loss.normal.smoothing.excess`)."""
    least = min(float(np.linalg.eigvalsh(cov)[0]) for cov in wanted.laws)
    if not least > 0:
        raise NotProvable(_FLAT)
    narrow = step / _WIDTH if B.size else math.inf
    if base:
        spread = math.sqrt(float(np.linalg.eigvalsh(B.T @ B)[-1])) if B.size else 1.0
        finer = _FINER if wanted.grid is None else _WIDTH
        return [narrow, math.sqrt(base) / max(finer, _WIDTH * spread), math.sqrt(least) / _FINER]
    reach = [float(np.linalg.eigvalsh(B.T @ np.linalg.solve(cov, B))[-1]) for cov in wanted.laws]
    return [narrow, *(1 / (_WIDTH * math.sqrt(x)) for x in reach)]


def _silent(S: Array, wanted: Wanted) -> CorrelatedGaussian:
    """No noise: the values are rounded alone."""
    least = min(float(np.linalg.eigvalsh(cov)[0]) for cov in wanted.laws)
    if not least > 0:
        raise NotProvable(_FLAT)
    grid = short_step(0.99 * math.sqrt(least) / 64) if wanted.grid is None else wanted.grid
    return CorrelatedGaussian(0.0, (), (), grid, len(S))
