"""Searches for lattice Gaussian noise on one number, whatever the laws."""

from __future__ import annotations

import math

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.atoms.gaussian import check_size, errors_cost, reach_of, widest_scale, width_of, window
from fugu.loss.search.shifts import fast_gaussian_mu
from fugu.loss.smooth.rounded import float_cells
from fugu.noise.gaussian import Gaussian

LEAST = 1e-15
"""What rounding may hide of a delta that is summed in doubles."""


def require_delta(ask: Ask) -> None:
    """Refuse budgets that Gaussian noise cannot meet."""
    if (reason := Gaussian.refusal(ask)) is not None:
        raise NotProvable(reason)


def fast_gaussian_delta(item: Family | Analytic, precision: float, epsilon: float) -> float:
    """max over pairs and orders of the tight delta in floating point; within 1e-12 of the truth, to search with."""
    from scipy.signal import fftconvolve

    reach = reach_of(precision)
    rows, pairs = _dense(item, reach)  # refuses what is out of reach before anything is allocated
    narrow = min(precision, 1e3)  # e^-1000 is 0 in doubles: beyond, nothing changes, and infinity times 0 is no number
    kernel = np.exp(-narrow * np.arange(-reach, reach + 1, dtype=np.float64) ** 2)
    kernel /= kernel.sum()
    noised = [np.maximum(fftconvolve(row, kernel), 0) for row in rows]
    e = math.exp(min(epsilon, 700.0))
    worst = 0.0
    for a, b in pairs:
        for i, j in ((a, b), (b, a)):
            worst = max(
                worst, float(np.maximum(noised[i] - e * noised[j], 0).sum()) + errors_cost(item, (i, j), arb(e))
            )
    return min(1.0, worst)


def _dense(item: Family | Analytic, reach: int) -> tuple[list[NDArray[np.float64]], list[tuple[int, int]]]:
    """The laws as dense rows over consecutive lattice points, and the pairs that differ."""
    if isinstance(item, Analytic):
        span = window(item, reach)
        assert item.lattice is not None
        return [float_cells(law, item.lattice, span) for law in (item.p, item.q)], [] if item.same else [(0, 1)]
    check_size(width_of(item) + 2 * reach, len(item.laws))
    offsets = (item.points - item.points[0]).astype(np.int64)
    rows = []
    for weights in item.weights:
        row = np.zeros(int(offsets[-1]) + 1)
        row[offsets] = weights
        rows.append(row)
    return rows, [pair for pair, _ in item.different]


def fast_lattice_delta(item: Item, steps: float, ask: Ratio) -> float:
    """delta of noise of positive scale, raised by what doubles may hide."""
    return fast_gaussian_delta(item, 0.5 / steps**2, float(ask.epsilon)) * (1 + 1e-12) + LEAST


def lattice_start(item: Item, distance: float, ask: Ask) -> float:
    """What continuous noise needs for a shift by `distance` (Balle and Wang 2018), and a step for the lattice; the
    widest noise whose window is within reach, if that will do."""
    assert isinstance(ask, Ratio)
    epsilon, target = float(ask.epsilon), ask.target
    if target <= LEAST:
        raise NotProvable(
            f"a delta of {target:g} is below what the search for Gaussian noise can tell from 0; give at least 1e-14, "
            "or use Laplace noise"
        )
    guess = 1.001 * distance / float(fast_gaussian_mu(epsilon, target)) + 1
    widest = widest_scale(item)
    if guess <= widest or (widest >= 1 and fast_lattice_delta(item, widest, ask) <= target):
        return min(guess, widest)
    fast_lattice_delta(item, guess, ask)  # says how many points that would take
    return guess


def gaussian_scale(distance: float, ask: Ask) -> float:
    """The scale at which a shift by so many steps has D_alpha = alpha distance^2 / (2 scale^2) <= epsilon for every
    order; inf where ratios are asked for."""
    if not isinstance(ask, Divergences) or ask.impossible:
        return math.inf
    return max(distance * math.sqrt(a / (2 * e)) for a, e in ask.orders)
