"""The numbers behind the figures: laws before and after noise, how values speak for a secret, losses by distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.auditing.against import delta_within, rate_of
from fugu.auditing.moved import (
    apart,
    dominating,
    mean_delta,
    mean_renyi,
    moved_delta,
    moved_renyi,
    raw_edges,
    reach,
)
from fugu.auditing.theorems import straight
from fugu.documents.certificate import Certificate
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee import Guarantee
from fugu.loss.lattice_gaussian import width_of
from fugu.loss.leakage import largest_slack
from fugu.loss.search.laplace import decayed_sums, delta_loss
from fugu.noised import Noised
from fugu.numbers.exact import as_fraction, float_up
from fugu.numbers.text import number
from fugu.report.shapes import REACH, Floats, Indices, log_sums, spread, visited, window
from fugu.report.views import RunningNoise, View, parts

DRAWN = 400
"""At most this many points are drawn for one curve."""
FLOOR = 1e-12
"""Log-ratios without a limit are drawn where both masses are above this share of the largest."""
FAR = 0.9999
"""How much of the noise is drawn where log-ratios tell more the farther out a value is."""
FEW = 40
"""Up to this many atoms each is drawn by itself."""
_BINS, _FINE = 64, 200
"""Groups in which laws before noise are gathered: with atoms, and without."""


@dataclass(frozen=True, eq=False)
class Outline:
    """Probabilities of groups of lattice points; row 0 is the first secret, row 1 the second."""

    values: Floats
    heights: Floats
    group: int
    """How many lattice points one group holds; 1 means nothing was gathered."""
    width: float
    """What that is in the units of the column."""


@dataclass(frozen=True, eq=False)
class Laws:
    """The two laws of a pair before noise and after it; the same thing if there is no noise."""

    before: Outline
    after: Outline


@dataclass(frozen=True, eq=False)
class LogRatio:
    """ln(f_A / f_B) against the value: after noise as a curve, before noise at the atoms."""

    values: Floats
    after: Floats
    atoms: Floats
    before: Floats
    """ln(p_A / p_B) where both are positive, +-inf where only one of them is."""
    only_first: float
    """Probability, if the first secret holds, of a value that is impossible under the second."""
    only_second: float
    thinned: bool
    """Whether some points were left out for drawing; the extremes of the curve never are."""
    largest: float
    """max |ln(f_A / f_B)| over all values: what this pair really loses; inf where it has no known limit."""
    drawn: float
    """The largest shift in the picture; the curve is nan where a piece of it is missing."""


def laws(view: View, most: int = DRAWN) -> Laws:
    """Both laws, each group's probability summed exactly: before noise at the atoms if they are few, else in at most
    64 groups; after noise in at most `most` groups of lattice points."""
    points, weights = view.pair.points, view.pair.weights
    inside = (points >= view.shown[0]) & (points <= view.shown[1])
    points, weights = points[inside], weights[:, inside]
    step = float(view.lattice.grid) if view.lattice else 1.0

    def outline(first: Indices, group: int, heights: Floats) -> Outline:
        middle = (view.values(first) + view.values(first + (group - 1))) / 2
        return Outline(middle, heights.astype(np.float64), group, group * step)

    if len(points) <= FEW:
        before = Outline(view.values(points), weights, 1, step)
    else:
        first, group = groups(*view.shown, _FINE if all(view.endless) else _BINS)
        first = np.concatenate(([first[0] - group], first, [first[-1] + group]))  # so that lines end at 0
        place = (points - first[0]) // group
        heights = np.array([np.bincount(place, weights=row, minlength=len(first)) for row in weights])
        before = outline(first, group, heights)
    if not view.noisy:
        return Laws(before, before)
    reach = window(view.noise)
    first, group = groups(view.shown[0] - reach, view.shown[1] + reach, most)
    edges = np.append(first - 1, first[-1] + group - 1)
    return Laws(before, outline(first, group, np.maximum(np.diff(distribution(view, edges), axis=1), 0.0)))


def groups(start: int, stop: int, most: int) -> tuple[Indices, int]:
    """The first index of each of at most `most` equal groups that cover start..stop, and how many points one holds."""
    group = -(-(stop - start + 1) // most)
    return start + group * np.arange(-(-(stop - start + 1) // group), dtype=np.int64), group


def distribution(view: View, index: Indices) -> Floats:
    """F(k), the probability that the noised lattice index is at most k, at sorted indices; one row a law.

    Lattice Laplace noise with q = e^{-1/steps} turns a law p into f(k) = (1 - q)/(1 + q) sum_j p_j q^{|k - j|}. With
    the decayed sums L (left, j <= k) and R (right, j > k), F(k) = p(<= k) - q L_k/(1 + q) + R_k/(1 + q). The masses of
    other noise are summed."""
    if not view.tight or not view.noise.added:
        points, masses = view.noised
        sums = np.concatenate((np.zeros((len(masses), 1)), np.cumsum(masses, axis=1)), axis=1)
        return np.asarray(sums[:, np.searchsorted(points, index, side="right")])
    points, weights = spread(view.pair, index, view.pair.weights)
    q = math.exp(-1 / view.steps)
    decayed = decayed_sums(points, weights, view.steps)
    sums = np.cumsum(weights, axis=1) - (q * decayed.left - (decayed.right - weights)) / (1 + q)
    return np.asarray(sums[:, np.searchsorted(points, index)])


def ratio(view: View, most: int = DRAWN) -> LogRatio:
    """The log-ratio where the noise has it, thinned so that every peak of the curve stays; without noise at the atoms.

    Where it has no limit it is drawn where the two masses are not minute. Of laws without ends, before noise what is
    drawn and not minute: there no value is impossible, only beyond doubles."""
    points, weights, endless = view.pair.points, view.pair.weights, any(view.endless)
    logs = log_sums(view.pair, 0.0)[1]
    plain = logs[0] - logs[1]  # never inf - inf: every atom belongs to one of the two
    if endless:
        seen = (points >= view.shown[0]) & (points <= view.shown[1])
        for row, without_ends in zip(weights, view.endless, strict=True):
            seen &= (row > FLOOR * row.max()) | (not without_ends)
        points, weights, plain = points[seen], weights[:, seen], plain[seen]
    kinds = (np.isfinite(plain), plain == np.inf, plain == -np.inf)
    kept = [_thin(points[kind], plain[kind], most // 3) for kind in kinds]
    atoms, before = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    if view.noisy:
        curve, after = _broken(*_curve(view, most), most)
    else:
        order = np.argsort(atoms, kind="stable")
        curve, after = atoms[order], before[order]
    exact = view.tight and not endless and not view.unlimited
    return LogRatio(
        view.values(curve), after, view.values(atoms), before, float(weights[0][kinds[1]].sum()),
        float(weights[1][kinds[2]].sum()), len(atoms) < len(points),
        float(np.max(np.abs(after))) if exact else view.limit,
        float(np.abs(after[np.isfinite(after)]).max(initial=0.0)))  # fmt: skip


def _curve(view: View, most: int) -> tuple[Indices, Floats]:
    """Indices where noise may take values, and the log-ratio at them, to be thinned: of noise between values at every
    output; of masses where both are above the floor, nan elsewhere.

    Of Laplace noise at every atom and on an even grid: between atoms the ratio is monotone and outside them constant,
    so that its extremes are at atoms (docs/proofs/laplace.md#2-the-supremum-of-the-ratio-is-attained-at-an-atom)."""
    if not view.noise.added:
        seen = view.noised[0]
        return seen, Noised(view.pair.points, view.pair.weights, view.noise).log_ratio(seen)
    reach = window(view.noise, FAR if view.noise.released and not view.tight else REACH)
    start, stop = view.shown[0] - reach, view.shown[1] + reach
    if view.tight:
        grid, logs = log_sums(view.pair, view.steps, np.linspace(start, stop, 2 * most).astype(np.int64))
        drawn = (grid >= start) & (grid <= stop)
        return grid[drawn], (logs[0] - logs[1])[drawn]
    index, rows = view.noised
    there = (index >= start) & (index <= stop) & (rows > FLOOR * rows.max()).all(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return index, np.where(there, np.log(rows[0]) - np.log(rows[1]), np.nan)


def _broken(index: Indices, heights: Floats, most: int) -> tuple[Indices, Floats]:
    """A curve thinned; nan between two stretches where heights are missing."""
    seen = ~np.isnan(heights)
    if seen.all():
        return _thin(index, heights, most)
    if not seen.any():  # two laws that never meet
        return index[:0], np.zeros(0)
    curve, after = _thin(index[seen], heights[seen], 2 * most // 3)
    missing = np.cumsum(~seen)[curve - index[0]]
    breaks = np.flatnonzero(np.diff(missing)) + 1
    if len(breaks) > most // 3:
        return curve, after
    return np.insert(curve, breaks, curve[breaks] - 1), np.insert(after, breaks, np.nan)


def guess(view: View) -> tuple[float, float]:
    """How often the best guess between the two secrets, equally likely at first, is right: (1 + sup_S P(S) - Q(S)) / 2.

    Before noise and after it, each rounded up."""
    before = delta_loss(view.pair, 0.0, 0.0, grid=1.0).value
    if view.tight and (view.noise.added or not view.noisy):
        return (1 + before) / 2, (1 + delta_loss(view.pair, view.steps, 0.0, grid=1.0).value) / 2
    p, q = view.noised[1]
    most = max(float(np.maximum(p - q, 0).sum()), float(np.maximum(q - p, 0).sum()))
    return (1 + before) / 2, (1 + min(1.0, most + 1e-12 + sum(view.pair.errors))) / 2


def _thin(index: Indices, heights: Floats, most: int) -> tuple[Indices, Floats]:
    """At most `most` of the points: first, last, and the lowest and highest of each of equally wide stretches."""
    if len(index) <= most:
        return index, heights
    stretches = (most - 2) // 2
    span: Any = int(index[-1]) - int(index[0]) + 1
    stretch = ((index - index[0]).astype(np.float64) * (stretches / span)).astype(np.int64)
    order = np.lexsort((heights, stretch))
    new = np.flatnonzero(np.diff(stretch[order])) + 1
    lowest, highest = order[np.append(0, new)], order[np.append(new - 1, len(order) - 1)]
    kept = np.unique(np.concatenate(([0, len(index) - 1], lowest, highest)))
    return index[kept], heights[kept]


# The figure "loss against the distance of the adversary's beliefs", from the certificate's promise and its laws.
#
# Every point is a proved upper bound: where all values may lie up to r away from where the stated beliefs have them,
# the promised epsilon grows by at most 2 k rate under Laplace noise (k: the steps that r can make), and every loss is
# at most its mean over a coupling lengthened by 2k (`fugu.auditing.moved`; here one law of the distance stands for all
# pairs). The loss grows with r, so between two points the line stays at the height of the farther one.


POINTS = 24
_MOST_CELLS, _FEW_CELLS, _EACH, _FEW_POINTS = 20_000_000, 500, 200, 20_000
"""Points times pairs: above the first nothing is coupled; up to the second, proofs are made anew."""


@dataclass(frozen=True)
class LossCurve:
    """Proved losses by distance of the raw values; the first point is the promise itself."""

    distances: tuple[float, ...]
    losses: tuple[float, ...]
    promised: float
    measure: str
    """What the losses are, for the axis."""
    binned: bool = False
    """Whether raw values go into bins before anything else."""


def curve(certificate: Certificate, points: int = POINTS) -> LossCurve | None:
    """The losses for distances from 0 to about twice the noise; None where nothing finite is known beyond 0."""
    running, budget = parts(certificate), certificate.budget.simplest()
    if certificate.runs not in ("additive", "vector") or any(p.noise.silent or p.lattice is None for p in running):
        return None
    try:
        binned = any(raw_edges(part.certificate) for part in running)
    except NotProvable:  # raw values without a distance: there is nothing to draw
        return None
    if any(item.shape == "cells" for part in running for item in part.certificate.laws):
        return None  # cells have no distance between them
    finite, slips = budget.asks().finite, budget.delta > 0 and not budget.asks().finite
    if finite:
        alpha, promised = map(float, budget.orders[0])
        measure = f"Rényi divergence of order {number(alpha)}"
    else:
        promised = float(budget.delta if slips else budget.epsilon)
        measure = f"δ at ε = {number(float(budget.epsilon), 'up', 6)}" if slips else "ε"
    each = [_loss_within(part, budget, finite, slips) for part in running]
    grid = max(Fraction(part.lattice.grid) for part in running if part.lattice)
    farthest = max(grid, as_fraction(float(f"{2 * max(part.amount.scale for part in running):.2g}")))
    ends = [reach(part.certificate, 0).span for part in running]
    if all(end is not None for end in ends):
        farthest = min(farthest, max(Fraction(1), *(Fraction(end or 0) for end in ends)) * grid)
    found = [(0.0, promised)]
    for n in range(1, points + 1):
        at = farthest * n / points
        loss = max(within(at) for within in each)
        if loss >= (1 if slips else math.inf):
            break
        found.append((float(at), max(promised, loss)))
    if len(found) < 3:
        return None
    return LossCurve(tuple(x for x, _ in found), tuple(y for _, y in found), promised, measure, binned)


def _loss_within(part: RunningNoise, budget: Guarantee, finite: bool, slips: bool) -> Callable[[Fraction], float]:
    """The loss of one noise that may run, in the budget's own measure, for beliefs within a distance: from one law of
    the distance for all its pairs, where there is a bounded one; of vectors from the promise where the noise has a
    rate; anew where there are few atoms and a delta is proved in no time."""
    laws: tuple[Any, ...] = part.certificate.laws
    noise, rate, vectors = part.noise, rate_of(part.noise), part.certificate.runs == "vector"
    size = sum(len(item.points) * len(item.pairs) if item.atoms else _EACH for item in laws)
    anew, cells, slack = size <= _FEW_CELLS, None, 0.0
    if not vectors:
        needed = (finite or budget.delta > 0) and noise.added  # else no cost of a shift is known
        known = [apart(item) for item in laws] if needed and size <= _MOST_CELLS else [None]
        cells = None if any(k is None for k in known) else dominating([c for k in known if k for c in k])
        slack = max((largest_slack(item, budget.epsilon) for item in laws if slips and item.inexact), default=0.0)
        try:  # Gaussian noise visits every lattice point
            anew &= not (more := visited(noise)) or all(width_of(i) + 2 * more <= _FEW_POINTS for i in laws)
        except OutOfReach:
            anew = False
    alpha, epsilon = map(as_fraction, budget.orders[0] if finite else (1, budget.epsilon))

    def loss(distance: Fraction) -> float:
        far = reach(part.certificate, distance)
        if far.steps == 0:
            return 0.0  # nothing moves: the promise holds as it is
        if finite:
            found = math.inf if cells is None else mean_renyi(cells, noise, alpha, far)
            if rate is not None:
                found = min(found, straight(float_up(epsilon), alpha, far.steps * rate))
            if vectors and anew:
                found = min(found, max(moved_renyi(item, noise, alpha, far) for item in laws))
            return found
        if not slips:
            if rate is None:
                return math.inf
            end = epsilon + 2 * far.steps * rate
            return float_up(end if far.span is None else min(end, far.span * rate))
        if anew:
            each = (moved_delta(item, noise, epsilon, far) for item in laws)
            return max(each) if vectors else delta_within(laws, noise, epsilon, far)
        return 1.0 if cells is None else float_up(Fraction(mean_delta(cells, noise, epsilon, far)) + Fraction(slack))

    return loss
