"""How pictures see laws and noise: what each pair loses, and every pair as atoms on a line with noise of one number.

In doubles on lattice points: to draw, not to prove. What is proved is proved on the laws as the certificate has them.
Laws of one number become atoms on lattice points; laws of vectors are drawn one coordinate at a time, with the noise of
that coordinate. Noise whose logarithm changes by at most `rate` in a step is summed along the atoms; of other noise
every lattice point is visited."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import OutOfReach
from fugu.laws.family import Family
from fugu.laws.masses import Masses, exact_sum
from fugu.laws.normal import Analytic, Normal
from fugu.loss.door import pure_bounds
from fugu.loss.lattice_gaussian import width_of
from fugu.loss.rounded import Span, float_cells, span_of
from fugu.loss.search.laplace import decayed_sums, log_decayed_sums, pure_loss
from fugu.loss.search.sets import worst_laws
from fugu.loss.search.shapes import fast_pure
from fugu.loss.sets_extremes import DecayKernel
from fugu.noise import Gaussian
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.noised import convolved
from fugu.transport.coupling import monotone

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
REACH = 0.98
"""How much of the noise is drawn beyond the outermost atoms."""
_TINY = 1e-280
_NOTHING = 128.0
"""Of masses all but e^-128 of the noise is summed."""
_FARTHEST = 2**60
_MANY = 40_000_000
_FINE = 16
"""Points for one scale of continuous noise."""
_DRAWN = 1_000_000
"""Most lattice points of one picture."""
_COORDINATES = 64
"""Coordinates beyond these are not drawn."""
_WORST = "The beliefs are sets of laws, and the promise is for every law in them. Drawn are two, worst at one output."


def decay(noise: Any) -> float:
    """The scale in lattice steps at which ratios of the noise decay geometrically; 0 where they do not."""
    return 0.0 if noise.silent or noise.rate is None else float(1 / noise.rate)


def visited(noise: Any) -> int:
    """How many lattice points on each side of an atom must be visited; 0 where noise is summed along the atoms."""
    if noise.silent or not noise.added or noise.rate is not None:
        return 0
    return int(noise.reach(_NOTHING)) if noise.released else window(noise)


def window(noise: Any, level: float = REACH) -> int:
    """How many lattice points on each side of the outermost atoms hold that much of the noise."""
    if noise.silent or not noise.added:
        return 0
    steps: int = round(noise.quantile(level) / float(noise.grid or 1))
    return max(1, min(_FARTHEST, steps))


def log_sums(family: Family, steps: float, extra: Indices | None = None) -> tuple[Indices, Floats]:
    """Points, and ln sum_j p_j e^{-|x_k - x_j| / steps} at them, one row a law; without noise it is ln p_k.

    The points are the atoms, and `extra` ones if given. Right to about 1e-12."""
    points, weights = family.points, family.weights
    if steps and extra is not None:
        points, weights = spread(family, extra, weights)
    if (
        steps
        and not family.minute
        and float((total := decayed_sums(points, weights, steps).total(weights)).min()) > _TINY
    ):
        return points, np.log(total)
    logs = np.stack([law.logs() for law in family.laws])
    if not steps:
        return points, logs
    if extra is not None:
        points, logs = spread(family, extra, logs, empty=-np.inf)
    return points, log_decayed_sums(points, logs, steps)


def spread(family: Family, extra: Indices, rows: Floats, empty: float = 0.0) -> tuple[Indices, Floats]:
    """Atoms and extra points together, sorted; rows of numbers at the atoms continued by `empty` elsewhere."""
    points = np.union1d(family.points, extra)
    wide = np.full((len(rows), len(points)), empty)
    wide[:, np.searchsorted(points, family.points)] = rows
    return points, wide


def noised(family: Family, noise: Any) -> tuple[Indices, Floats]:
    """Lattice points, and the masses of the laws with noise that is visited there, one row a law.

    Tails of continuous noise are not cut off at any point that is drawn: far from one atom may be near to another."""
    points, extra = family.points, visited(noise)
    span = int(points[-1] - points[0])
    more = 0 if noise.released else span
    kernel = np.exp(noise.log_mass(np.arange(-extra - more, extra + more + 1)))
    kernel /= kernel.sum() if noise.released else 1.0
    rows = np.zeros((len(family.laws), span + 1))
    rows[:, points - points[0]] = family.weights
    drawn = slice(more, more + span + 2 * extra + 1)
    return np.arange(points[0] - extra, points[-1] + extra + 1), np.stack(
        [convolved(row, kernel)[drawn] for row in rows]
    )


def limit(item: Any, noise: Any) -> float:
    """max |ln(f_A / f_B)| over all values and pairs of an item, from above; inf where no limit is known.

    Noise is a post-processing of the value: what that cannot tell, the published one cannot either. No Gaussian noise
    limits the ratio of two different normal laws, and of smooth ones only noise that decays as slowly as Laplace noise
    does."""
    steps = decay(noise)
    if item.shape in ("normal", "smooth") and (item.same or item.shape == "normal" or not steps):
        return 0.0 if item.same else math.inf
    if item.shape == "line":
        return _line_limit(item, noise)
    if item.shape == "sets" and visited(noise):
        return math.inf
    try:
        if item.shape == "smooth" and (fast := fast_pure(item, steps)) is not None:
            return fast
    except OutOfReach:
        pass
    try:
        return max((loss.value for loss in pure_bounds(item, noise, Fraction(0))), default=0.0)
    except OutOfReach:
        return math.inf


def _line_limit(family: Family, noise: Any) -> float:
    """By the laws and the decay of the noise; of Cauchy noise also by the largest ratio of two copies of the density
    that are w = W_inf apart: (1 + (x - w)^2) / (1 + x^2) is at most 1 + (w^2 + w sqrt(w^2 + 4)) / 2."""
    known = pure_loss(family, decay(noise)).value if family.different else 0.0
    if noise.released or noise.silent or family.inexact:
        return known
    moved = [
        monotone(family.points, *(Masses(family.laws[k].parts, Fraction(family.laws[k].total)) for k in pair))
        for pair, _ in family.different
    ]
    width = max((int(each.distances.max(initial=0)) for each in moved), default=0) / float(noise.scale)
    most = float(noise.tail) / 2 * math.log1p((width**2 + width * math.sqrt(width**2 + 4)) / 2)
    return min(known, most * (1 + 1e-12))


def why_unlimited(item: Any, noise: Any) -> str:
    """Why `limit` is inf: "error" (a law is known up to an error only), "only" (some values are possible under one
    secret only) or "tails" (the ratio may grow without end far out)."""
    everywhere = item.shape == "smooth" and all(law.stds.any() for law in (item.p, item.q))
    return "error" if item.inexact else "only" if noise.silent and not everywhere else "tails"


def losses(item: Any, noise: Any, epsilon: float) -> Floats:
    """What each pair loses, to rank them: max over atoms of |ln(S_i / S_j)|, or of other noise delta(epsilon).

    Of sets of laws what is proved of every pair; of vectors as they come: the certificate names the worst pair."""
    found = np.zeros(len(item.pairs))
    if item.shape not in ("line", "smooth", "sets"):
        return found
    extra = visited(noise)
    if item.shape == "sets":
        known = found if extra else np.array([loss.value for loss in pure_bounds(item, noise, Fraction(0))])
        return np.where(np.isfinite(known), known, 0.0)
    if item.shape == "smooth" and not extra:
        return np.array([limit(item, noise)])
    shown, drawn, _ = drawable(item, noise)
    family = atoms(shown, drawn)[0]
    if extra and len(family.laws) * int(family.points[-1] - family.points[0]) > _MANY:
        return found
    rows = noised(family, drawn)[1] if extra else log_sums(family, decay(drawn))[1]
    for k, (i, j) in enumerate(family.pairs):
        if extra:
            e = np.exp(min(epsilon, 700.0))
            found[k] = max(np.maximum(rows[a] - e * rows[b], 0).sum() for a, b in ((i, j), (j, i)))
        else:
            with np.errstate(invalid="ignore"):
                found[k] = np.nanmax(np.abs(rows[i] - rows[j]))
    return found


def drawable(item: Any, noise: Any) -> tuple[Any, Any, Fraction]:
    """Laws of one number and the noise on a lattice so many times coarser that every point can be drawn; as they are,
    times 1, where that is so already.

    Noise that is summed along atoms needs no lattice points between them; continuous noise needs finer ones."""
    extra = visited(noise)
    if item.atoms and not extra:
        return item, noise, Fraction(1)
    if item.atoms and not noise.released:
        wanted = 1 << max(0, math.ceil(math.log2(_FINE / float(noise.scale))))
        if (finer := min(wanted, max(1, _DRAWN // width_of(item)))) > 1:
            step = Fraction(1, finer)
            return replace(item, points=item.points * finer), noise.in_steps(step), step
    try:
        if not item.atoms:
            _span(item, noise)
        factor = math.ceil((width_of(item) + 2 * extra) / _DRAWN)
    except OutOfReach as error:
        factor = math.ceil(2 * error.points / error.limit)
    if factor == 1:
        return item, noise, Fraction(1)
    wide = Fraction(factor)
    lattice = Lattice(wide) if item.atoms else Lattice(item.lattice.grid * wide, item.lattice.origin)
    coarse = type(noise).at(noise.scale, (noise.grid or 1) * wide) if noise.released else noise.in_steps(wide)
    shown, coarse, more = drawable(item.on(lattice), coarse)
    return shown, coarse, wide * more


def atoms(item: Any, noise: Any) -> tuple[Family, tuple[bool, bool]]:
    """Laws of one number on the lattice points that hold all of them that doubles can see, also once Laplace noise is
    added; and which of the two spread over the whole line."""
    if item.atoms:
        return item, (False, False)
    span = _span(item, noise)
    rows = np.stack([float_cells(law, item.lattice, span) for law in (item.p, item.q)])
    rows[rows < _TINY] = 0.0
    held = rows.any(axis=0)
    laws = tuple(Masses(row, exact_sum(row)) for row in rows[:, held])
    family = Family(np.arange(span.first, span.last + 1)[held], laws, ((0, 1),), (item.label,))
    return family, (bool(item.p.stds.any()), bool(item.q.stds.any()))


def _span(item: Analytic, noise: Any) -> Span:
    """The cells that hold all that doubles can see; `OutOfReach` where they are too many."""
    assert item.lattice is not None
    return span_of((item.p, item.q), item.lattice, float(noise.scale) if decay(noise) else 0.0)


Margin = tuple[Any, Any, int | None, str]
"""Laws of one published number and the noise added to it: the value itself, or one coordinate of a vector; and what a
caption adds, where these are two laws of many."""


def margins(item: Any, k: int, noise: Any, lattice: Lattice | None) -> Iterator[Margin]:
    """One pair by itself, as laws of one number: two laws of sets that are worst at one output; of vectors every
    coordinate, with noise of the deviation that it has; of cells whether the record is in each of them."""
    if item.shape == "line":
        yield _alone(item, k), noise, None, ""
    elif item.shape == "smooth":
        yield item, noise, None, ""
    elif item.shape == "sets":
        chosen = replace(item, pairs=(item.pairs[k],), labels=(item.labels[k],))
        laws = tuple(Masses(law, exact_sum(law)) for law in worst_laws(chosen, DecayKernel.of(noise)))
        yield _alone(Family(item.points, laws, ((0, 1),), chosen.labels), 0), noise, None, _WORST
    for j in range(min(item.dimension, _COORDINATES) if item.shape in ("space", "cells", "normal") else 0):
        if item.shape == "space":
            points, where = np.unique(item.points[:, j], return_inverse=True)
            laws = tuple(law.scatter(where, len(points)) for law in item.laws)
            own = noise.coordinate(j) if isinstance(noise, DirectedLaplace) else noise
            yield _alone(replace(item, points=points, laws=laws), k), own, j, ""
        elif item.shape == "cells":
            each = [(int(law.sum()), int(law[j])) for law in (item.laws[n] for n in item.pairs[k])]
            laws = tuple(Masses(np.array([total - held, held]), Fraction(total)) for total, held in each)
            yield _alone(Family(np.array([0, 1]), laws, ((0, 1),), (item.labels[k],)), 0), noise, j, ""
        else:
            assert lattice is not None
            p, q = (Normal(law.mean[j], math.sqrt(float(law.cov[j][j]))).components() for law in (item.p, item.q))
            own = Gaussian(math.sqrt(float(noise.covariance()[j][j])), lattice.grid)
            yield Analytic(p, q, item.label).on(lattice), own, j, ""


def _alone(item: Family, k: int) -> Family:
    """A pair on its own atoms: those of other laws say nothing of it."""
    pair = item.pairs[k]
    first, second = (item.laws[i] for i in pair)
    held = (first.parts > 0) | (second.parts > 0)
    both = Masses(first.parts[held], first.total), Masses(second.parts[held], second.total)
    errors = tuple(item.errors[i] if item.blurred(pair) else 0.0 for i in pair)
    return Family(item.points[held], both, ((0, 1),), (item.labels[k],), errors=errors)
