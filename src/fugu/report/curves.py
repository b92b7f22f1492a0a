"""The numbers behind the figures: laws before and after noise, and how strongly each value speaks for a secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.loss.search.laplace import delta_loss
from fugu.report.kernels import DRAWN, FLOOR, REACH
from fugu.report.sums import log_sums
from fugu.report.views import View

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
