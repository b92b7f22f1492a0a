"""delta of a histogram with lattice Laplace noise in every cell: a finite sum (docs/proofs/histograms.md).

Every cell multiplies its part of the likelihood by e^r or e^-r, r = 1/b, so with c = p - e^epsilon q

    delta(epsilon) = (e^r - e^-r) E (D - sum over cells of |c| G)_+,   D = HS_epsilon - (e^epsilon - 1) / (e^2r - 1),

where G = 1 if a cell is not at the better of its two values: with probability 1 / (1 + e^-r) if c > 0, and
e^-r / (1 + e^-r) if c < 0. D <= 0 is the pure guarantee."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb

from fugu.laws.cells import Counts
from fugu.loss.cells.ratios import Ratios
from fugu.loss.cells.threshold import hockey_stick
from fugu.loss.cells.tilt import UNIT, Floats, tilt
from fugu.numbers import balls

_BITS = 256
_SHARP = 300
"""A rate above this is no noise to speak of: delta is at most that of the laws themselves."""
_MANY = 2**13
"""Sums are kept as they are up to so many; more are spread over a grid."""
_WORK = 2**25
"""Cells times grid points."""


def laplace_delta(p: Counts, q: Counts, rate: Fraction, epsilon: Fraction) -> float:
    """sup over events of P - e^epsilon Q for noise of that `rate` = 1 / scale in every cell, up; one order."""
    bare = hockey_stick(p, q, epsilon)
    if rate > _SHARP or bare == 0:
        return bare
    with balls.precision(_BITS):
        r = balls.of(rate)
        excess = balls.of(epsilon).expm1()
        room = balls.upper(Ratios(p, q).stick(excess)[0] - excess / (2 * r).expm1())
        if room <= 0:
            return 0.0
        swing, stay = r.exp() - (-r).exp(), 1 / (1 + (-r).exp())
        odds = {True: _both(1 - stay, stay), False: _both(stay, 1 - stay)}
        found = balls.upper(swing * arb(_gap(room, p, q, epsilon, odds)))
    return min(bare, found)


def _both(kept: arb, lost: arb) -> tuple[float, float]:
    return balls.upper(kept), balls.upper(lost)


def _gap(room: float, p: Counts, q: Counts, epsilon: Fraction, odds: dict[bool, tuple[float, float]]) -> float:
    """E (room - sum |c| G)_+, up: |c| from below, probabilities from above.

    All terms are positive, so that what doubles lose is relative: at most 6 units for each cell and one for each term
    of the last sum. The sums are kept as they are while there are few. Then each is spread over the two next points of
    a grid with the same mean, which makes no convex function smaller."""
    parts = tilt(p, q, epsilon)
    cells = list(zip(parts.least.tolist(), parts.gains.tolist(), strict=True))
    sums, masses = np.zeros(1), np.ones(1)
    used = 0
    while used < len(cells) and len(sums) <= _MANY:
        sums, masses = _one_more(sums, masses, cells[used][0], *odds[cells[used][1]], room)
        used += 1
    if used < len(cells):
        points = max(256, min(_MANY, _WORK // len(cells)))
        step = 2.0 ** np.ceil(np.log2(room / points))
        masses = spread(sums / step, masses, int(room / step) + 2)
        for size, gain in cells[used:]:
            masses = _shifted(masses, size / step, *odds[gain])
        sums = np.arange(len(masses)) * step
    inside = sums < room
    total = float(np.dot(masses[inside], room - sums[inside]))
    return total * (1 + (6 * len(cells) + 2 * len(sums) + 64) * UNIT) + 1e-290


def _one_more(
    sums: Floats, masses: Floats, size: float, kept: float, lost: float, room: float
) -> tuple[Floats, Floats]:
    """All sums with one more cell; those that leave no room are dropped."""
    if size == 0.0:
        return sums, masses * (kept + lost)
    moved = (sums + size) * (1 - 4 * UNIT)
    inside = moved < room
    return np.concatenate((sums, moved[inside])), np.concatenate((masses * kept, masses[inside] * lost))


def spread(places: Floats, masses: Floats, points: int) -> Floats:
    """Masses on 0, 1, ..., points - 1 with the mean of each; what lies beyond is dropped."""
    low = np.floor(places)
    part = places - low  # exact: places are doubles
    index = low.astype(np.int64)
    inside = index < points - 1
    index, part, masses = index[inside], part[inside], masses[inside]
    return np.asarray(
        np.bincount(index, masses * (1 - part), points) + np.bincount(index + 1, masses * part, points),
        dtype=np.float64,
    ) * (1 + 2 * len(places) * UNIT)


def _shifted(masses: Floats, steps: float, kept: float, lost: float) -> Floats:
    """The masses after a cell that adds 0, or `steps` grid points spread over the two next to it."""
    low = int(steps)
    part = steps - low
    found = masses * kept
    if low < len(masses):
        found[low:] += masses[: len(masses) - low] * (lost * (1 - part))
    if low + 1 < len(masses):
        found[low + 1 :] += masses[: len(masses) - low - 1] * (lost * part)
    return found
