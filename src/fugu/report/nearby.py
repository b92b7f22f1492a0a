"""The figure "loss against the distance of the adversary's beliefs", from the certificate's promise and its laws.

Every point is a proved upper bound: where all values may lie up to r away from where the stated beliefs have them, the
promised epsilon grows by at most 2 k rate under Laplace noise (k: the steps that r can make), and every loss is at most
its mean over a coupling lengthened by 2k (`fugu.auditing.moved`; here one law of the distance stands for all pairs).
The loss grows with r, so between two points the line stays at the height of the farther one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fugu.auditing.hoelder import straight
from fugu.auditing.moved import Apart, apart, dominating, mean_delta, mean_renyi, moved_delta, moved_renyi
from fugu.auditing.nearby import delta_within, rate_of
from fugu.auditing.raw import raw_edges
from fugu.auditing.reach import Reach, reach
from fugu.documents.certificate import Certificate
from fugu.drawing.charts import Axis, Chart, Level, Line, Panel
from fugu.drawing.text import VALUE, clean, number, quoted, shortened
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee import Guarantee
from fugu.loss.atoms.gaussian import width_of
from fugu.loss.atoms.slack import largest_slack
from fugu.loss.door import AnyNoise
from fugu.numbers.exact import as_fraction, decimal_up, float_up
from fugu.report.facts import Facts
from fugu.report.kernels import kernel_of
from fugu.report.views import Part, parts

POINTS = 24
_BINNED = (
    " The distance is of the raw values, before they go into bins. A value may stand at the edge of its bin, so the "
    "smallest move can take it into the next one: that is the step at the beginning."
)
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
        laws: Sequence[Any] = part.certificate.items
        size = sum(cells_of(item) for item in laws)
        needed = (budget.asks().finite or budget.delta > 0) and not part.noise.on_atoms  # no cost of a shift is known
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
                return delta_within(self.part.certificate.items, self.part.noise, epsilon, far)
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


def _quick(noise: AnyNoise, laws: Sequence[Any]) -> bool:
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


def nearby_figure(found: Curve, f: Facts) -> Chart:
    """The proved loss as steps over the distance, the promise as a dotted line; drawn heights are rounded up."""
    distances, losses = _down(found.distances), tuple(float(decimal_up(v, 5)) for v in found.losses)
    of = "" if f.query == VALUE else f", in units of {clean(f.query, 40)}"
    wide = found.promised > 0 and found.losses[-1] > 30 * found.promised
    upward = Axis(found.measure, found.promised / 1.5 if wide else 0.0, losses[-1] * (1.5 if wide else 1.06), log=wide)
    across = Axis(f"how far the beliefs may be off{of}", 0.0, distances[-1])
    marks = (Level(found.promised, "promised", "promised"), Line(distances, losses, "ink", "proved limit", "ahead"))
    about = f"It rises from {number(found.promised, 'up', 4)} to at most {number(losses[-1], 'up', 4)}."
    title = f"Proved limit ({found.measure}) against how far the beliefs are off"
    return Chart("nearby", title, about, (Panel(marks, across, upward, 230.0),))


def nearby_caption(found: Curve | None, f: Facts) -> str:
    """What the figure shows, and its last point in words."""
    if found is None:
        return ""
    return (
        "What is left of the promise if an observer's beliefs are not the stated ones, but can be had from them by "
        f"moving every value by at most the distance below: the limit rises from {number(found.promised, 'up', 4)} to "
        f"at most {number(found.losses[-1], 'up', 4)} ({found.measure}) at a distance of "
        f"{number(found.distances[-1], 'down')}, in the units of {quoted(f.query)}.{_BINNED if found.binned else ''}"
    )


def _down(distances: tuple[float, ...]) -> tuple[float, ...]:
    """Five digits of each, never farther than what was proved."""
    return tuple(float(shortened(Decimal(x), "down", 5)) for x in distances)
