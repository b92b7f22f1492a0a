"""Where a search for a scale begins, and losses in doubles shape by shape: atoms, components, cells, vectors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.components import Components
from fugu.laws.family import Family, value_range
from fugu.laws.normal import Analytic
from fugu.laws.shapes import Item
from fugu.loss.densities import log_sum
from fugu.loss.divergence import bells, reach
from fugu.loss.lattice_gaussian import (
    MOST_TERMS,
    End,
    _ends,
    check_size,
    check_window,
    gaussian_window,
    reach_of,
    widest_scale,
    width_of,
    window,
)
from fugu.loss.leakage import require_exact
from fugu.loss.rounded import DELTA_TILT, Span, float_cells, span_of
from fugu.loss.search.laplace import decayed_sums, delta_loss, log_decayed_sums
from fugu.loss.search.normal import fast_gaussian_mu
from fugu.loss.vectors import grid_of
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Noise
from fugu.numbers import balls
from fugu.numbers.exact import float_up
from fugu.progress import on_time
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
        on_time()
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


def fast_vector_pure(family: Family, steps: float) -> float:
    """max over pairs and orders of the largest log ratio on the product grid, in doubles and logarithms; to search
    with. `steps` is the scale in the unit of the points; 0 means no noise."""
    axes, places = grid_of(family)
    rows = []
    for weights in family.weights:
        with np.errstate(divide="ignore"):
            dense = np.full([len(axis) for axis in axes], -np.inf)
            dense[places] = np.log(weights)
        for number, axis in enumerate(axes if steps > 0 else ()):
            # every axis in turn: log of sum_k m_k e^{-|y - x_k| / b} at all coordinates y, by one pass each way
            row = np.moveaxis(dense, number, 0)
            gaps = np.diff(axis) / steps
            left, right = row.copy(), row.copy()
            for k, gap in enumerate(gaps):
                left[k + 1] = np.logaddexp(row[k + 1], left[k] - gap)
            for k in range(len(gaps) - 1, -1, -1):
                right[k] = np.logaddexp(row[k], right[k + 1] - gaps[k])
            total = left.copy()
            total[:-1] = np.logaddexp(left[:-1], right[1:] - gaps.reshape(-1, *[1] * (row.ndim - 1)))
            dense = np.moveaxis(total, 0, number)
        rows.append(dense)
    worst = 0.0
    for (i, j), _ in family.different:
        held = ~(np.isneginf(rows[i]) & np.isneginf(rows[j]))
        worst = max(worst, float(np.max(np.abs(rows[i][held] - rows[j][held]))))
    return worst


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


Floats = NDArray[np.float64]
_NEAR = 60.0
_CHUNK = 1 << 20
_MOST_TERMS = 5e7
"""Most terms of one convolution in logarithms: about a second, and a search takes some forty of them."""


def fast_renyi(item: Item, kind: str, steps: float, alpha: float) -> float:
    """max over pairs and orders of D_alpha at a scale of that many lattice steps; 0 steps is no noise.

    Relative error about 1e-9. alpha = inf is not searched for here: it is the pure loss."""
    if isinstance(item, Analytic):
        return 0.0 if item.same else _analytic(item, kind, steps, alpha)
    require_exact(item)
    if not item.different:
        return 0.0
    pairs = [pair for pair, _ in item.different]
    logs = np.stack([law.logs() for law in item.laws])
    if steps == 0:
        return worst_divergence(logs, pairs, alpha, np.zeros(logs.shape[1]))
    if kind == "laplace":
        points, more = _near(item.points, steps, len(item.laws))
        spread = np.full((len(logs), points.size), -np.inf)
        spread[:, np.searchsorted(points, item.points)] = logs
        noised = log_decayed_sums(points, spread, steps) + math.log(math.tanh(0.5 / steps))
        return worst_divergence(noised, pairs, alpha, more)
    c = 1 / (2 * steps * steps)
    offsets = (item.points - item.points[0]).astype(np.int64)
    ends: dict[int, tuple[End, End]] = {i: _ends(offsets.tolist(), item, i) for pair in pairs for i in pair}
    window = gaussian_window(pairs, ends, c, alpha)
    check_window(len(window) * len(ends))
    noised = np.stack([_convolved(offsets, row, window, c) for row in logs]) - _log_theta(c)
    return worst_divergence(noised, pairs, alpha, np.zeros(len(window)))


def worst_divergence(logs: Floats, pairs: list[tuple[int, int]], alpha: float, more: Floats) -> float:
    """The largest ln(sum e^{alpha P + (1-alpha) Q + more}) / (alpha-1) over pairs and orders, rows being logarithms.

    Near alpha = 1 the sum is 1 and its logarithm is found from sum P expm1((alpha-1) ln(P/Q)) instead."""
    worst = 0.0
    for pair in pairs:
        for i, j in (pair, pair[::-1]):
            held = logs[i] > -np.inf
            p, q, extra = logs[i][held], logs[j][held], more[held]
            if np.any(q == -np.inf):
                return math.inf
            tilt = (alpha - 1) * (p - q)
            if float(np.max(np.abs(tilt))) < 1e-2:
                total = math.log1p(float(np.sum(np.exp(p + extra) * np.expm1(tilt))))
            else:
                total = float(log_sum((p + tilt + extra)[None, :])[0])
            worst = max(worst, total / (alpha - 1))
    return worst


def _near(points: NDArray[np.int64], steps: float, laws: int) -> tuple[NDArray[np.int64], Floats]:
    """The lattice points within 60 scales of an atom (farther ones weigh nothing), and ln of how often the first and
    the last one count: beyond them the terms are geometric."""
    near = math.ceil(_NEAR * steps) + 1
    gaps = np.diff(points)
    size = float(np.minimum(gaps - 1, 2.0 * near).sum()) + points.size
    if size * laws > 2 * MOST_TERMS:
        raise OutOfReach(
            f"the Rényi divergence of lattice Laplace noise needs {size * laws:,.0f} lattice points here, more than "
            f"{2 * MOST_TERMS:,}; choose a coarser grid, or bins",
            points=size * laws,
            limit=2 * MOST_TERMS,
        )
    parts = [points[:1]]
    for x, gap in zip(points[:-1].tolist(), gaps.tolist(), strict=True):
        if gap - 1 <= 2 * near:
            parts.append(np.arange(x + 1, x + gap + 1))
        else:
            parts += [np.arange(x + 1, x + near + 1), np.arange(x + gap - near, x + gap + 1)]
    found = np.concatenate(parts)
    more = np.zeros(found.size)
    tail = math.exp(-1 / steps) / -math.expm1(-1 / steps)
    more[0] += tail
    more[-1] += tail
    return found, np.log1p(more)


def _log_theta(c: float) -> float:
    """ln of the sum over all integers of exp(-c k^2), by the faster of the two sides of Poisson's formula."""
    k = np.arange(1, 41, dtype=np.float64)
    if c > 0.1:
        return math.log1p(2 * float(np.exp(-c * k * k).sum()))
    return 0.5 * math.log(math.pi / c) + math.log1p(2 * float(np.exp(-(math.pi**2) * k * k / c).sum()))


def _convolved(offsets: NDArray[np.int64], logs: Floats, window: Span, c: float) -> Floats:
    """ln sum_i p_i e^{-c (k - x_i)^2}: by a direct product of positive doubles where they do not underflow, so that
    relative errors stay small (an FFT would lose the tails), in logarithms elsewhere."""
    held = logs > -np.inf
    x, weights = offsets[held], logs[held]
    points = np.arange(window.first, window.last + 1)
    found = np.full(points.size, -np.inf)
    top = float(weights.max())
    if x.size > 64 and float(weights.min()) - top > -300:
        row = np.zeros(int(x[-1] - x[0]) + 1)
        row[x - x[0]] = np.exp(weights - top)
        half = math.ceil(math.sqrt(600 / c))
        kernel = np.exp(-c * np.arange(-half, half + 1, dtype=np.float64) ** 2)
        first = int(x[0]) - half
        full = np.convolve(row, kernel) if min(row.size, kernel.size) * points.size < 4e9 else np.zeros(0)
        low, high = max(window.first, first), min(window.last, first + full.size - 1)
        if low <= high:
            with np.errstate(divide="ignore"):
                part = np.log(full[low - first : high - first + 1]) + top
            # a term beyond the kernel is below e^-600; what is above e^-520 is right to 1e-30
            found[low - window.first : high - window.first + 1] = np.where(part > top - 520, part, -np.inf)
    todo = np.flatnonzero(found == -np.inf)
    if todo.size * x.size > _MOST_TERMS:
        raise OutOfReach(
            f"the Rényi divergence needs {todo.size * x.size:,} terms here, at {points.size:,} lattice points; choose "
            "a coarser grid, or bins",
            points=math.sqrt(todo.size * x.size),
            limit=math.sqrt(_MOST_TERMS),
        )
    for start in range(0, todo.size, max(1, _CHUNK // x.size)):
        own = todo[start : start + max(1, _CHUNK // x.size)]
        apart = (points[own, None] - x[None, :]).astype(np.float64)
        with np.errstate(over="ignore"):  # a noise of no width: everything is infinitely far
            found[own] = log_sum(weights[None, :] - c * apart * apart)
    return found


def _analytic(pair: Analytic, kind: str, steps: float, alpha: float) -> float:
    assert pair.lattice is not None
    if kind == "laplace" and steps > 0:
        weights, span = _cells(pair, steps)
        with np.errstate(divide="ignore"):
            noised = log_decayed_sums(np.arange(len(span)), np.log(weights), steps)
        tail = math.exp(-1 / steps) / -math.expm1(-1 / steps)
        norm = math.log(math.tanh(0.5 / steps))
        worst = 0.0
        for i, j in ((0, 1), (1, 0)):
            law = (pair.p, pair.q)[i]
            more = []
            for end, right in ((-1, True), (0, False)):
                rise = _tilted(pair, law, span, 1 / steps, right) * math.exp(min(700.0, -float(noised[i, end])))
                more.append(
                    float(noised[i, end]) + (alpha - 1) * (float(noised[i, end] - noised[j, end]) + math.log1p(rise))
                )
            inner = alpha * noised[i] - (alpha - 1) * noised[j]
            logs = np.concatenate((inner, np.array(more) + math.log(tail)))
            worst = max(worst, float(log_sum(logs[None, :])[0] + norm) / (alpha - 1))
        return worst
    precision = None if steps == 0 else Fraction(1 / (2 * steps * steps))
    shapes = [bells(law, pair.lattice, precision) for law in (pair.p, pair.q)]
    ends = [reach(shapes[i], shapes[j], alpha) for i, j in ((0, 1), (1, 0))]
    known = [end for end in ends if end is not None]
    if len(known) < 2:
        return math.inf
    window = Span(math.floor(min(e[0] for e in known)), math.ceil(max(e[1] for e in known)))
    check_window(2 * len(window))
    rows = []
    for law in (pair.p, pair.q):
        # Rounding and lattice noise together are a wider normal law, rounded, up to 1e-16 of its density: cell masses
        # are samples of the density of N(m, s) + uniform, and lattice Gaussians are samples of a Gaussian; sampling
        # commutes with convolution up to aliases of size e^{-2 pi^2 s^2 t^2 / (s^2 + t^2)}, s and t in steps.
        if min(float(law.stds.min()) / float(pair.lattice.grid), steps) >= 2:
            wide = np.hypot(law.stds, steps * float(pair.lattice.grid))
            rows.append(_log_cells(pair, law.weights, law.means, wide, Span(window.first, window.last)))
            continue
        margin = 0
        if precision is not None:
            widest = float(law.stds.max()) / float(pair.lattice.grid)
            margin = math.ceil(9 * widest / math.sqrt(1 + widest**2 / steps**2)) + 2
        span = Span(window.first - margin, window.last + margin)
        cells = _log_cells(pair, law.weights, law.means, law.stds, span)
        if precision is None:
            rows.append(cells)
        else:
            c = float(precision)
            rows.append(_convolved(np.arange(span.first, span.last + 1), cells, window, c) - _log_theta(c))
    return worst_divergence(np.stack(rows), [(0, 1)], alpha, np.zeros(len(window)))


def _log_cells(pair: Analytic, weights: Floats, means: Floats, stds: Floats, span: Span) -> Floats:
    """ln of the cells' masses, each component from its nearer tail."""
    from scipy.special import log_ndtr

    assert pair.lattice is not None
    grid, origin = float(pair.lattice.grid), float(pair.lattice.origin)
    edge = origin + (np.arange(span.first, span.last + 2) - 0.5) * grid
    total = np.full(len(span), -np.inf)
    for weight, mean, std in zip(weights.tolist(), means.tolist(), stds.tolist(), strict=True):
        if std == 0:
            k = int(pair.lattice.index(np.array([mean]))[0]) - span.first
            if 0 <= k < len(span):
                total[k] = np.logaddexp(total[k], math.log(weight))
            continue
        z = (edge - mean) / std
        flip = z[:-1] > 0
        far, near = np.where(flip, -z[1:], z[:-1]), np.where(flip, -z[:-1], z[1:])
        high, low = log_ndtr(near), log_ndtr(far)
        with np.errstate(divide="ignore"):
            total = np.logaddexp(total, math.log(weight) + high + np.log(-np.expm1(low - high)))
    return total
