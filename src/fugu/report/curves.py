"""The numbers behind the figures: laws before and after noise, how values speak for a secret, losses by distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.moved import Apart, apart, dominating, mean_delta, mean_renyi, moved_delta, moved_renyi
from fugu.auditing.nearby import delta_within, rate_of
from fugu.auditing.reach import Reach, raw_edges, reach
from fugu.auditing.theorems import straight
from fugu.documents.certificate import Certificate
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee import Guarantee
from fugu.loss.lattice_gaussian import width_of
from fugu.loss.leakage import largest_slack
from fugu.loss.search.laplace import delta_loss
from fugu.noise.kind import Noise
from fugu.numbers.exact import as_fraction, float_up
from fugu.numbers.text import number
from fugu.report.kernels import DRAWN, FLOOR, REACH, kernel_of, log_sums
from fugu.report.views import Part, View, parts

# The numbers behind the figures: laws before and after noise, and how strongly each value speaks for a secret.


FEW = 40
"""Up to this many atoms each is drawn by itself."""
_BINS, _FINE = 64, 200
"""Groups in which laws before noise are gathered: with atoms, and without."""
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histogram:
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

    before: Histogram
    after: Histogram


@dataclass(frozen=True, eq=False)
class Ratio:
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

    @property
    def drawn(self) -> float:
        """The largest shift in the picture; the curve is nan where a piece of it is missing."""
        finite = np.abs(self.after[np.isfinite(self.after)])
        return float(finite.max(initial=0.0))


def laws(view: View, most: int = DRAWN) -> Laws:
    """Both laws, each group's probability summed exactly: before noise at the atoms if they are few, else in at most
    64 groups; after noise in at most `most` groups of lattice points."""
    points, weights = view.pair.points, view.pair.weights
    inside = (points >= view.shown[0]) & (points <= view.shown[1])
    points, weights = points[inside], weights[:, inside]
    if len(points) <= FEW:
        before = Histogram(view.values(points), weights, 1, _width(view, 1))
    else:
        first, group = groups(*view.shown, _FINE if all(view.endless) else _BINS)
        first = np.concatenate(([first[0] - group], first, [first[-1] + group]))  # so that lines end at 0
        place = (points - first[0]) // group
        heights = np.array([np.bincount(place, weights=row, minlength=len(first)) for row in weights])
        before = _histogram(view, first, group, heights)
    if not view.noisy:
        return Laws(before, before)
    first, group = groups(*_window(view, REACH), most)
    edges = np.append(first - 1, first[-1] + group - 1)
    return Laws(before, _histogram(view, first, group, np.maximum(np.diff(distribution(view, edges), axis=1), 0.0)))


def groups(start: int, stop: int, most: int) -> tuple[Indices, int]:
    """The first index of each of at most `most` equal groups that cover start..stop, and how many points one holds."""
    group = -(-(stop - start + 1) // most)
    return start + group * np.arange(-(-(stop - start + 1) // group), dtype=np.int64), group


def _histogram(view: View, first: Indices, group: int, heights: Floats) -> Histogram:
    middle = (view.values(first) + view.values(first + (group - 1))) / 2
    return Histogram(middle, heights.astype(np.float64), group, _width(view, group))


def _width(view: View, group: int) -> float:
    return group * float(view.lattice.grid) if view.lattice else float(group)


def distribution(view: View, index: Indices) -> Floats:
    """F(k), the probability that the noised lattice index is at most k, at sorted indices; one row a law."""
    return view.kernel.distribution(view, index)


def ratio(view: View, most: int = DRAWN) -> Ratio:
    """The log-ratio where the noise has it, thinned so that every peak of the curve stays; without noise at the atoms.

    Where it has no limit it is drawn where the two masses are not minute."""
    points, weights, plain = _plain(view)
    kinds = (np.isfinite(plain), plain == np.inf, plain == -np.inf)
    kept = [_thin(points[kind], plain[kind], most // 3) for kind in kinds]
    atoms, before = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    largest = view.limit
    if view.noisy:
        curve, after = _broken(*view.kernel.curve(view, *_window(view, view.kernel.level), most), most)
    else:
        order = np.argsort(atoms, kind="stable")
        curve, after = atoms[order], before[order]
    if view.kernel.tight and not any(view.endless) and not view.unlimited:
        largest = float(np.max(np.abs(after)))
    return Ratio(
        view.values(curve), after, view.values(atoms), before, float(weights[0][kinds[1]].sum()),
        float(weights[1][kinds[2]].sum()), len(atoms) < len(points), largest)  # fmt: skip


def _plain(view: View) -> tuple[Indices, Floats, Floats]:
    """Atoms, weights and ln(p_A / p_B) before noise. Of laws without ends, what is drawn and not minute: there no
    value is impossible, only beyond doubles."""
    points, weights = view.pair.points, view.pair.weights
    _, logs = log_sums(view.pair, 0.0)
    plain = logs[0] - logs[1]  # never inf - inf: every atom belongs to one of the two
    if not any(view.endless):
        return points, weights, plain
    seen = (points >= view.shown[0]) & (points <= view.shown[1])
    for row, endless in zip(weights, view.endless, strict=True):
        if endless:
            seen &= row > FLOOR * row.max()
    return points[seen], weights[:, seen], plain[seen]


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
    return (1 + before) / 2, (1 + view.kernel.apart(view)) / 2


def _window(view: View, level: float) -> tuple[int, int]:
    """The lattice indices drawn: all atoms of the pair, and what the noise adds on both sides."""
    reach = view.kernel.window(view.noise, level)
    return view.shown[0] - reach, view.shown[1] + reach


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
class Curve:
    """Proved losses by distance of the raw values; the first point is the promise itself."""

    distances: tuple[float, ...]
    losses: tuple[float, ...]
    promised: float
    measure: str
    """What the losses are, for the axis."""
    binned: bool = False
    """Whether raw values go into bins before anything else."""


def curve(certificate: Certificate, points: int = POINTS) -> Curve | None:
    """The losses for distances from 0 to about twice the noise; None where nothing finite is known beyond 0."""
    running, budget = parts(certificate), certificate.budget.simplest()
    if certificate.runs not in _KINDS or any(part.noise.silent or part.lattice is None for part in running):
        return None
    try:
        binned = any(raw_edges(part.certificate) for part in running)
    except NotProvable:  # raw values without a distance: there is nothing to draw
        return None
    if any(item.shape == "cells" for part in running for item in part.certificate.laws):
        return None  # cells have no distance between them
    promised, measure = _promise(budget)
    pictures = [_KINDS[certificate.runs].of(part, budget) for part in running]
    grid = max(Fraction(part.lattice.grid) for part in running if part.lattice)
    farthest = max(grid, as_fraction(float(f"{2 * max(part.amount.scale for part in running):.2g}")))
    ends = [reach(part.certificate, 0).span for part in running]
    if all(end is not None for end in ends):
        farthest = min(farthest, max(Fraction(1), *(Fraction(end or 0) for end in ends)) * grid)
    found = [(0.0, promised)]
    for n in range(1, points + 1):
        at = farthest * n / points
        loss = max(picture.loss(at) for picture in pictures)
        if loss >= (1 if _slips(budget) else math.inf):
            break
        found.append((float(at), max(promised, loss)))
    if len(found) < 3:
        return None
    return Curve(tuple(x for x, _ in found), tuple(y for _, y in found), promised, measure, binned)


@dataclass(frozen=True, eq=False)
class _Picture:
    """One noise that may run, with one law of the distance for all its pairs (None if there is no bounded one)."""

    part: Part
    budget: Guarantee
    cells: Apart | None
    slack: float
    small: bool
    """Whether there is time to prove a delta anew for every point."""

    @staticmethod
    def of(part: Part, budget: Guarantee) -> _Picture:
        laws: Sequence[Any] = part.certificate.laws
        size = sum(cells_of(item) for item in laws)
        needed = (budget.asks().finite or budget.delta > 0) and part.noise.added  # no cost of a shift is known
        known = [apart(item) for item in laws] if needed and size <= _MOST_CELLS else [None]
        cells = None if any(k is None for k in known) else dominating([c for k in known if k for c in k])
        blurred = [item for item in laws if item.inexact] if _slips(budget) else []
        slack = max((largest_slack(item, budget.epsilon) for item in blurred), default=0.0)
        return _Picture(part, budget, cells, slack, size <= _FEW_CELLS and _quick(part.noise, laws))

    def loss(self, distance: Fraction) -> float:
        """The loss in the budget's own measure, for beliefs within the distance."""
        far = reach(self.part.certificate, distance)
        if far.steps == 0:
            return 0.0  # nothing moves: the promise holds as it is
        if self.budget.asks().finite:
            return self._renyi(far)
        if _slips(self.budget):
            epsilon = as_fraction(self.budget.epsilon)
            if self.small:
                return delta_within(self.part.certificate.laws, self.part.noise, epsilon, far)
            if self.cells is None:
                return 1.0
            found = mean_delta(self.cells, self.part.noise, epsilon, far)
            return float_up(Fraction(found) + Fraction(self.slack))
        return self._pure(far)

    def _pure(self, far: Reach) -> float:
        if (rate := rate_of(self.part.noise)) is None:
            return math.inf
        end = as_fraction(self.budget.epsilon) + 2 * far.steps * rate
        return float_up(end if far.span is None else min(end, far.span * rate))

    def _renyi(self, far: Reach) -> float:
        noise, (alpha, epsilon) = self.part.noise, _order(self.budget)
        found = math.inf if self.cells is None else mean_renyi(self.cells, noise, alpha, far)
        if (rate := rate_of(noise)) is not None:
            found = min(found, straight(float_up(epsilon), alpha, far.steps * rate))
        return found


@dataclass(frozen=True, eq=False)
class _Vectors(_Picture):
    """The same for vectors: from the promise where the noise has a rate, else anew where there are few atoms."""

    @staticmethod
    def of(part: Part, budget: Guarantee) -> _Vectors:
        size = sum(cells_of(item) for item in part.certificate.laws)
        return _Vectors(part, budget, None, 0.0, size <= _FEW_CELLS)

    def loss(self, distance: Fraction) -> float:
        """The loss in the budget's own measure."""
        far = reach(self.part.certificate, distance)
        if far.steps == 0:
            return 0.0
        finite, laws, noise = self.budget.asks().finite, self.part.certificate.laws, self.part.noise
        if _slips(self.budget):
            epsilon = as_fraction(self.budget.epsilon)
            return max(moved_delta(item, noise, epsilon, far) for item in laws) if self.small else 1.0
        if not finite:
            return self._pure(far)
        alpha, _ = _order(self.budget)
        least = self._renyi(far)
        return min(least, max(moved_renyi(item, noise, alpha, far) for item in laws)) if self.small else least


_KINDS: dict[str, type[_Picture]] = {"additive": _Picture, "vector": _Vectors}


def cells_of(item: Any) -> int:
    """Points times pairs; laws without atoms count like a few hundred."""
    return len(item.points) * len(item.pairs) if item.atoms else _EACH


def _quick(noise: Noise, laws: Sequence[Any]) -> bool:
    """Whether a delta is proved in no time: Gaussian noise visits every lattice point."""
    extra = kernel_of(noise).extra(noise)
    try:
        return extra == 0 or all(width_of(item) + 2 * extra <= _FEW_POINTS for item in laws)
    except OutOfReach:
        return False


def _slips(budget: Guarantee) -> bool:
    """Whether the promise has a remainder delta, and is about every ratio."""
    return budget.delta > 0 and not budget.asks().finite


def _order(budget: Guarantee) -> tuple[Fraction, Fraction]:
    """The order that is drawn: the least one of a curve."""
    alpha, epsilon = budget.orders[0]
    return as_fraction(alpha), as_fraction(epsilon)


def _promise(budget: Guarantee) -> tuple[float, str]:
    if budget.asks().finite:
        alpha, epsilon = _order(budget)
        return float(epsilon), f"Rényi divergence of order {number(float(alpha))}"
    if _slips(budget):
        return float(budget.delta), f"δ at ε = {number(float(budget.epsilon), 'up', 6)}"
    return float(budget.epsilon), "ε"
