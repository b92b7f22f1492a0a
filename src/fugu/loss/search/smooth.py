"""The losses of lattice Laplace noise on laws with Gaussian components, in floating point, to search with."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fugu.laws.analytic import Analytic
from fugu.laws.components import Components
from fugu.loss.search.scan import decayed_sums
from fugu.loss.smooth.rounded import DELTA_TILT, Span, float_cells, span_of

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
