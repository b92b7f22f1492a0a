"""Where a search for a scale begins, and losses in doubles shape by shape: atoms, components, cells, vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.components import Components
from fugu.laws.family import Family, value_range
from fugu.laws.normal import Analytic
from fugu.laws.shapes import Item
from fugu.loss.lattice_gaussian import check_size, reach_of, widest_scale, width_of, window
from fugu.loss.rounded import DELTA_TILT, Span, float_cells, span_of
from fugu.loss.search.laplace import decayed_sums, delta_loss
from fugu.loss.search.normal import fast_gaussian_mu
from fugu.loss.vectors import grid_of
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Noise
from fugu.numbers import balls
from fugu.numbers.exact import float_up
from fugu.transport.coupling import monotone

LEAST = 1e-15
"""What rounding may hide of a delta that is summed in doubles."""


def fast_window_delta(item: Item, noise: Noise, reach: int, epsilon: float) -> float:
    """max over pairs and orders of the tight delta in floating point, of what the noise puts within a reach; within
    1e-12 of the truth, to search with."""
    from scipy.signal import fftconvolve

    if isinstance(item, Analytic):
        span = window(item, reach)
        assert item.lattice is not None
        rows = [float_cells(law, item.lattice, span) for law in (item.p, item.q)]
        pairs = [] if item.same else [(0, 1)]
    else:
        check_size(width_of(item) + 2 * reach, len(item.laws))  # before anything is allocated
        places = (item.points - item.points[0]).astype(np.int64)
        dense = np.zeros((len(item.laws), int(places[-1]) + 1))
        dense[:, places] = item.weights
        rows, pairs = list(dense), [pair for pair, _ in item.different]
    kernel = np.exp(noise.log_mass(np.arange(-reach, reach + 1)))
    kernel /= kernel.sum()
    noised = [np.maximum(fftconvolve(row, kernel), 0) for row in rows]
    e, worst = math.exp(min(epsilon, 700.0)), 0.0
    for i, j in (order for pair in pairs for order in (pair, pair[::-1])):
        positive = float(np.maximum(noised[i] - e * noised[j], 0).sum())
        worst = max(worst, positive + balls.upper(item.slack((i, j), arb(e))))
    return min(1.0, worst) * (1 + 1e-12) + LEAST


def fast_lattice_delta(item: Item, steps: float, ask: Ratio) -> float:
    """delta of Gaussian noise, raised by what doubles may hide; 0 steps is no noise."""
    if steps == 0:
        return fast_bare_delta(item, float(ask.epsilon))
    return fast_window_delta(item, Gaussian(steps, 1), reach_of(0.5 / steps**2), float(ask.epsilon))


def fast_bare_delta(item: Item, epsilon: float) -> float:
    """delta of the laws themselves, without noise."""
    return fast_delta(item, 0.0, epsilon) if isinstance(item, Analytic) else delta_loss(item, 0.0, epsilon, None).value


def lattice_start(item: Item, ask: Ratio) -> float:
    """What continuous noise needs for a shift by the whole range (Balle and Wang 2018), and a step for the lattice; the
    widest noise whose window is within reach, if that will do."""
    epsilon, target = float(ask.epsilon), ask.target
    if target <= LEAST:
        raise NotProvable(
            f"a delta of {target:g} is below what the search for Gaussian noise can tell from 0; give at least 1e-14, "
            "or use Laplace noise"
        )
    guess = 1.001 * value_range(item) / float(fast_gaussian_mu(epsilon, target)) + 1
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


_TINY = 1e-250
_SLACK = 1e-11
"""Relative slack on sums that rounding may have made too small; the proof decides, this only saves a second try."""


def fast_pure(pair: Analytic, steps: float) -> float | None:
    """The tight epsilon at a scale of that many lattice steps; None where doubles cannot hold the sums."""
    weights, span = _cells(pair, steps)
    sums = decayed_sums(np.arange(len(span)), weights, steps)
    total = sums.total(weights)
    if float(total.min()) < _TINY:
        return None
    worst = 1.0
    for i, j in ((0, 1), (1, 0)):
        law = (pair.p, pair.q)[i]
        worst = max(worst, float(np.max(total[i] / total[j])))
        right = sums.left[i, -1] + _tilted(pair, law, span, 1 / steps, right=True)
        left = sums.right[i, 0] + _tilted(pair, law, span, 1 / steps, right=False)
        worst = max(worst, right / float(total[j, -1]), left / float(total[j, 0]))
    return math.log(worst) + _SLACK if math.isfinite(worst) else None


def fast_delta(pair: Analytic, steps: float, epsilon: float) -> float:
    """The tight delta at a scale of that many lattice steps; 0 steps is rounding alone."""
    weights, span = _cells(pair, steps, DELTA_TILT)
    e = math.exp(min(epsilon, 700.0))
    if steps == 0:
        silent = [float(np.maximum(weights[i] - e * weights[1 - i], 0).sum()) for i in (0, 1)]
        return min(1.0, max(silent) + _SLACK)
    sums = decayed_sums(np.arange(len(span)), weights, steps)
    total = sums.total(weights)
    rate = 1 / steps
    norm, ratio = math.tanh(rate / 2), math.exp(-rate) / -math.expm1(-rate)
    deltas = []
    for i, j in ((0, 1), (1, 0)):
        law = (pair.p, pair.q)[i]
        found = norm * float(np.maximum(total[i] - e * total[j], 0).sum())
        for near, end, right in ((sums.left[i, -1], -1, True), (sums.right[i, 0], 0, False)):
            top, bottom = float(near) + _tilted(pair, law, span, rate, right), float(total[j, end])
            if top > e * bottom:
                found += norm * ratio * float(near) * (1 - e * bottom / top)
        deltas.append(found)
    return min(1.0, max(deltas) * (1 + _SLACK) + 1e-15)


def _cells(pair: Analytic, steps: float, most_tilt: float = 60.0) -> tuple[NDArray[np.float64], Span]:
    assert pair.lattice is not None
    span = span_of((pair.p, pair.q), pair.lattice, steps * float(pair.lattice.grid), most_tilt)
    return np.stack([float_cells(law, pair.lattice, span) for law in (pair.p, pair.q)]), span


def _tilted(pair: Analytic, law: Components, span: Span, rate: float, right: bool) -> float:
    """sum of p_k e^{rate x distance} beyond one end, from above: see `rounded.ball_cells`."""
    from scipy.special import log_ndtr

    assert pair.lattice is not None
    grid, origin = float(pair.lattice.grid), float(pair.lattice.origin)
    end = origin + ((span.last + 0.5) if right else (span.first - 0.5)) * grid
    total = 0.0
    for weight, mean, std in zip(law.weights, law.means, law.stds, strict=True):
        if std == 0:
            continue
        z = (end - mean) / std * (1 if right else -1)
        tilt = rate * std / grid
        exponent = tilt * tilt / 2 - tilt * z + rate + float(log_ndtr(tilt - z))
        total += float(weight) * math.exp(min(exponent, 700.0))
    return total


_CLOSE = 1e-6
_WIDEST = 1e6


def least_gaussian(loss: Callable[[float], float], target: float, start: float) -> float:
    """A scale with loss(scale) <= target, some 1e-6 above one with more, from a first guess.

    Raises `NotProvable` where no scale within reach meets the target."""
    from scipy.optimize import brentq

    @cache
    def height(scale: float) -> float:
        return math.log(max(loss(scale), 1e-300) / target)

    low = high = start
    step = 1.0
    while height(high) > 0:
        low, high = high, high * 2
        if high > _WIDEST:
            raise NotProvable("no Gaussian noise within reach meets the budget; ask for a larger epsilon or delta")
    while low == high or height(low) <= 0:
        step *= 2
        high, low = min(high, low), low / step
        if low < 1e-3:
            return high
    found = float(brentq(height, low, high, xtol=0.3 * _CLOSE * high, rtol=1e-12))
    while height(found) > 0:
        found *= 1 + _CLOSE
    return found


def fast_vector_pure(family: Family, steps: float) -> float:
    """max over pairs and orders of the largest log ratio on the product grid, in doubles and logarithms; to search
    with. `steps` is the scale in the unit of the points; 0 means no noise."""
    axes, places = grid_of(family)
    rows = []
    for weights in family.weights:
        with np.errstate(divide="ignore"):
            dense = np.full([len(axis) for axis in axes], -np.inf)
            dense[places] = np.log(weights)
        rows.append(_spread(dense, axes, steps) if steps > 0 else dense)
    worst = 0.0
    for (i, j), _ in family.different:
        held = ~(np.isneginf(rows[i]) & np.isneginf(rows[j]))
        worst = max(worst, float(np.max(np.abs(rows[i][held] - rows[j][held]))))
    return worst


def _spread(dense: NDArray[np.float64], axes: list[NDArray[np.int64]], steps: float) -> NDArray[np.float64]:
    """Every axis in turn: log of sum_k m_k e^{-|y - x_k| / b} at all coordinates y, by one pass each way."""
    for number, axis in enumerate(axes):
        rows = np.moveaxis(dense, number, 0)
        gaps = np.diff(axis) / steps
        left, right = rows.copy(), rows.copy()
        for k, gap in enumerate(gaps):
            left[k + 1] = np.logaddexp(rows[k + 1], left[k] - gap)
        for k in range(len(gaps) - 1, -1, -1):
            right[k] = np.logaddexp(rows[k], right[k + 1] - gaps[k])
        total = left.copy()
        total[:-1] = np.logaddexp(left[:-1], right[1:] - gaps.reshape(-1, *[1] * (rows.ndim - 1)))
        dense = np.moveaxis(total, 0, number)
    return dense


def over(distance: float, epsilon: Fraction) -> float:
    """distance / epsilon, rounded up; 0 for no distance at all, inf for epsilon 0."""
    if distance == 0:
        return 0.0
    return float_up(Fraction(distance) / epsilon) if epsilon else math.inf


def l1_distance(family: Family) -> float:
    """max over pairs of the farthest two atoms of positive mass, in the unit of the points."""
    held = [family.points[law.parts != 0] for law in family.laws]
    ends = [(float(points[0]), float(points[-1])) for points in held]
    return max((max(ends[i][1] - ends[j][0], ends[j][1] - ends[i][0]) for (i, j), _ in family.different), default=0.0)


def farthest(family: Family) -> float:
    """The largest W_inf of any pair, in the unit of the points."""
    plans = (monotone(family.points, family.laws[i], family.laws[j]) for (i, j), _ in family.different)
    return max((plan.distances.max().item() for plan in plans), default=0)
