"""The envelope and the dual of `fugu.loss.sets.bounds` in doubles, and where the dual is least."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fugu.laws.set_family import SetFamily
from fugu.laws.sets import LawSet
from fugu.loss.search.plane import least
from fugu.loss.search.scan import decayed_sums
from fugu.loss.search.sets_extremes import extreme_masses
from fugu.loss.sets.bounds import Point
from fugu.loss.sets.forms import Floats
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.measure import Measure
from fugu.loss.sets.outputs import Outputs, outputs
from fugu.loss.sets.reach import at_outputs
from fugu.loss.sets.tails import reach

DUAL = 50_000
"""Most outputs for which the dual is solved: some hundred passes over all of them."""
_STEEPEST = 1e200


def fast_loss(family: SetFamily, kernel: Kernel, measure: Measure, enough: float) -> float:
    """The largest bound over pairs and orders; the dual is solved only where the envelope is not `enough`."""
    found = noised(family, outputs(family, kernel, reach(family, kernel, measure)))
    worst = 0.0
    for order in ((i, j) for pair in family.pairs for i, j in (pair, pair[::-1])):
        first = measure.loss(envelope(family.sets[order[0]], found, order, measure))
        loss = first if first <= enough else min(first, measure.loss(dual(found, order, measure)[0]))
        worst = max(worst, math.inf if math.isnan(loss) else loss)
    return worst


@dataclass(frozen=True, eq=False)
class Noised:
    """N and D of every set at every output, normalised, and how often each output counts."""

    where: Outputs
    norm: float
    times: Floats
    most: list[Floats]
    least: list[Floats]


def noised(family: SetFamily, where: Outputs) -> Noised:
    """N and D at the outputs."""
    found = [extreme_masses(one, where.kernel) for one in at_outputs(family, where.at)]
    norm, times = _norm(where.kernel), np.ones(len(where.at))
    if where.kernel.scans and where.kernel.decay is not None:
        beyond = 1 / math.expm1(min(float(where.kernel.decay), 700.0))
        times[0] += beyond
        times[-1] += beyond
    return Noised(where, norm, times, [norm * n for n, _ in found], [norm * np.maximum(d, 0.0) for _, d in found])


def _norm(kernel: Kernel) -> float:
    """What the kernel is multiplied by."""
    if kernel.decay is None:
        return 1.0
    c = float(kernel.decay)
    if kernel.scans:
        return math.tanh(c / 2)
    far = math.ceil(8.7 / math.sqrt(2 * c)) + 2
    return 1 / float(kernel.floats(np.arange(-far, far + 1)).sum())


def envelope(law_set: LawSet, found: Noised, order: tuple[int, int], measure: Measure) -> float:
    """The first bound."""
    i, j = order
    psi = measure.psi(found.most[i], found.least[j])
    return float(law_set.tops(_spreads(found, psi)[None, :])[0]) if np.all(np.isfinite(psi)) else math.inf


def _spreads(found: Noised, psi: Floats) -> Floats:
    """sum_y g(y - x) psi(y) at every declared value x, normalised."""
    where, weighted = found.where, psi * found.times * found.norm
    if where.kernel.decay is None:
        return weighted
    if where.kernel.scans:
        row = weighted[None, :]
        seen: Floats = decayed_sums(where.at, row, where.kernel.steps).total(row)[0][where.points - where.at[0]]
        return seen
    spread: Floats = where.kernel.floats(np.abs(where.points[:, None] - where.at[None, :])) @ weighted
    return spread


@dataclass(frozen=True, eq=False)
class _Corners:
    """f, P and Q at the four corners of every output, and how often the output counts."""

    f: Floats
    p: Floats
    q: Floats
    times: Floats

    def slope(self, tau: float, other: float) -> tuple[float, Point]:
        """The second bound at tau and tau', and a subgradient."""
        height = self.f - tau * self.p + other * self.q
        best = np.argmax(height, axis=0)[None, :]
        value, p, q = (np.take_along_axis(x, best, axis=0)[0] @ self.times for x in (height, self.p, self.q))
        return float(tau - other + value), (float(1 - p), float(q - 1))


def dual(found: Noised, order: tuple[int, int], measure: Measure) -> tuple[float, Point]:
    """The second bound, and where it is least; infinite where it is out of reach."""
    (i, j), nowhere = order, (math.inf, (0.0, 0.0))
    p = np.stack([found.least[i], found.least[i], found.most[i], found.most[i]])
    q = np.stack([found.least[j], found.most[j], found.least[j], found.most[j]])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = float(np.max(np.where(found.most[i] > 0, found.most[i] / found.least[j], 0.0)))
    try:
        widths = measure.steepest(ratio)
    except OverflowError:
        return nowhere
    f = measure.f(p, q)
    if not (np.all(np.isfinite(f)) and max(widths) < _STEEPEST) or p.shape[1] > DUAL:
        return nowhere
    corners = _Corners(f, p, q, found.times)
    at = least(corners.slope, widths)
    return corners.slope(*at)[0], at
