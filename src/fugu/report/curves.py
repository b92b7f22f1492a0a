"""What is drawn: pairs of laws with the noise that was added to them, the pair that loses most first; the laws before
and after noise, and how values speak for a secret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.promises import secrets_named
from fugu.laws.family import Family
from fugu.loss.search.laplace import decayed_sums, delta_loss
from fugu.noise.lattice import Lattice
from fugu.noised import Noised
from fugu.report.facts import Facts, parts
from fugu.report.shapes import (
    REACH,
    Floats,
    Indices,
    Margin,
    atoms,
    decay,
    drawable,
    limit,
    log_sums,
    losses,
    margins,
    noised,
    spread,
    visited,
    why_unlimited,
    window,
)

MOST = 5
HIDDEN = 1e-4
"""How much of a law that has no ends is left out on each side of a picture."""
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
class View:
    """Two laws on lattice indices (or on numbered atoms, if there is no lattice), and the noise added to both."""

    label: str
    first: str
    second: str
    pair: Family
    """The two laws, as a family of one pair."""
    lattice: Lattice | None
    noise: Any
    endless: tuple[bool, bool]
    """Which of the laws spread over the whole line; of these `pair` holds what doubles can see."""
    limit: float
    """max |ln(f_A / f_B)| over all values, drawn or not, from above; inf where no limit is known."""
    unlimited: str
    """Why `limit` is inf: "only", "tails" or "error" (see `shapes.why_unlimited`); "" where it is finite."""
    coordinate: int | None
    """Which coordinate of a vector this is."""
    note: str
    """What a caption adds, where these are two laws of many."""
    noisy: bool
    """Whether anything is added."""
    steps: float
    """The scale in lattice steps at which ratios of the noise decay; 0 where they do not."""
    tight: bool
    """Whether `limit` is reached: noise is summed along the atoms, and not over every lattice point."""

    @cached_property
    def shown(self) -> tuple[int, int]:
        """The lattice indices between which the laws are drawn: all atoms, or all but the far ends of endless laws."""
        points = self.pair.points
        if not any(self.endless):
            return int(points[0]), int(points[-1])
        sums = np.cumsum(self.pair.weights, axis=1)
        ends = [np.searchsorted(row, (HIDDEN, 1 - HIDDEN)) for row in sums]
        first, last = min(int(a) for a, _ in ends), max(int(b) for _, b in ends)
        return int(points[first]), int(points[min(last, len(points) - 1)])

    @cached_property
    def noised(self) -> tuple[Indices, Floats]:
        """Where noise that is not summed along the atoms goes: lattice indices, and the masses of both laws there."""
        if self.noise.added:
            return noised(self.pair, self.noise)
        return Noised(self.pair.points, self.pair.weights, self.noise).masses

    def values(self, index: Indices) -> Floats:
        """The column's values at lattice indices; 1, 2, 3, ... where the certificate only knows the order."""
        return self.lattice.value(index) if self.lattice else index.astype(np.float64) + 1


def views(certificate: Certificate, most: int = MOST) -> tuple[View, ...]:
    """At most `most` views: the certificate's worst pair first, then the pairs by what they lose, largest first; a pair
    of vectors as its coordinates, each with what it loses by itself."""
    listed: list[tuple[bool, float, tuple[Margin, str, Facts, str]]] = []
    running = parts(certificate)
    epsilon = float(certificate.budget.epsilon)
    for part in running:
        chance = f"noise of scale {part.scale:.4g}, " if len(running) > 1 else ""
        for item in part.certificate.laws:
            lost = losses(item, part.certificate.in_steps, epsilon)
            marked = np.array([label == certificate.worst_pair for label in item.labels])
            for k in np.lexsort((-lost, ~marked))[:most].tolist():
                label = item.labels[k] or f"pair {k + 1}"
                for margin in margins(item, k, part.certificate.in_steps, part.certificate.lattice):
                    loss = lost[k] if margin[2] is None else losses(*margin[:2], epsilon)[0]
                    listed.append((not marked[k], -float(loss), (margin, label, part, chance)))
            listed = sorted(listed, key=lambda entry: entry[:2])[:most]
    found = []
    for _, _, ((item, added, coordinate, note), label, part, chance) in listed:
        shown, noise, factor = drawable(item, added)
        lattice = part.certificate.lattice
        if factor != 1 and lattice is not None:
            lattice = Lattice(lattice.grid * factor, lattice.origin)
        pair, endless = atoms(shown, noise)
        which = "" if coordinate is None else f", coordinate {coordinate + 1}"
        why = why_unlimited(item, added) if np.isinf(largest := limit(item, added)) else ""
        found.append(View(chance + label + which, *secrets_of(label), pair, lattice, noise, endless, largest, why,
                          coordinate, note, not noise.silent, decay(noise), not visited(noise)))  # fmt: skip
    return tuple(found)


def secrets_of(label: str) -> tuple[str, str]:
    """The names of the two secrets of a pair labelled "a vs b"; neutral ones if the label is not of that form.

    >>> secrets_of("adversary 2: F vs M"), secrets_of("shift by 3")
    (('F', 'M'), ('the first secret', 'the second secret'))
    """
    if (named := secrets_named(label)) is not None and named[1] != named[2]:
        return named[1], named[2]
    return "the first secret", "the second secret"


Laws = tuple[Facts, Facts]
"""The two laws of a pair before noise and after it; the same thing if there is no noise. Of each the `values` of groups
of lattice points and their probabilities, `heights`, of which row 0 is the first secret; how many points one `group`
holds, 1 if nothing was gathered, and what `width` that is in the units of the column."""


def laws(view: View, most: int = DRAWN) -> Laws:
    """Both laws, each group's probability summed exactly: before noise at the atoms if they are few, else in at most
    64 groups; after noise in at most `most` groups of lattice points."""
    points, weights = view.pair.points, view.pair.weights
    inside = (points >= view.shown[0]) & (points <= view.shown[1])
    points, weights = points[inside], weights[:, inside]
    step = float(view.lattice.grid) if view.lattice else 1.0

    def outline(first: Indices, group: int, heights: Floats) -> Facts:
        middle = (view.values(first) + view.values(first + (group - 1))) / 2
        return Facts(values=middle, heights=heights.astype(np.float64), group=group, width=group * step)

    if len(points) <= FEW:
        before = Facts(values=view.values(points), heights=weights, group=1, width=step)
    else:
        first, group = groups(*view.shown, _FINE if all(view.endless) else _BINS)
        first = np.concatenate(([first[0] - group], first, [first[-1] + group]))  # so that lines end at 0
        place = (points - first[0]) // group
        heights = np.array([np.bincount(place, weights=row, minlength=len(first)) for row in weights])
        before = outline(first, group, heights)
    if not view.noisy:
        return before, before
    reach = window(view.noise)
    first, group = groups(view.shown[0] - reach, view.shown[1] + reach, most)
    edges = np.append(first - 1, first[-1] + group - 1)
    return before, outline(first, group, np.maximum(np.diff(distribution(view, edges), axis=1), 0.0))


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


def ratio(view: View, most: int = DRAWN) -> Facts:
    """ln(f_A / f_B) against the value: after noise as a curve, thinned so that every peak stays; before noise, and
    without any, at the atoms.

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
    return Facts(
        values=view.values(curve),
        after=after,
        atoms=view.values(atoms),
        before=before,  # ln(p_A / p_B) where both are positive, +-inf where only one of them is
        # the probability, if one secret holds, of a value that is impossible under the other
        only_first=float(weights[0][kinds[1]].sum()),
        only_second=float(weights[1][kinds[2]].sum()),
        thinned=len(atoms) < len(points),  # some points were left out for drawing; the extremes of the curve never are
        # max |ln(f_A / f_B)| over all values, what this pair really loses, inf where it has no known limit; and the
        # largest shift in the picture: the curve is nan where a piece of it is missing
        largest=float(np.max(np.abs(after))) if exact else view.limit,
        drawn=float(np.abs(after[np.isfinite(after)]).max(initial=0.0)),
    )


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
