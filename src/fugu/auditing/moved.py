"""Values that are moved: from a distance of raw values to steps of the lattice, and the losses of laws moved by at most
so many, of numbers or of vectors, bounded through one coupling of the assumed laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.data.moments import middles
from fugu.documents.certificate import Certificate
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.kinds import exact_delta
from fugu.laws.components import nearest
from fugu.laws.family import Family, SetFamily
from fugu.laws.normal import Analytic
from fugu.laws.shapes import Number
from fugu.loss.cost import ball_log_cost
from fugu.loss.door import shift_delta
from fugu.loss.leakage import largest_slack
from fugu.loss.vectors import ORDERS, PLANNED, plan_for, pure_as_delta, require_exact, space_of, steps_moved
from fugu.loss.vectors_gaussian import shift_delta as vector_shift_delta
from fugu.loss.vectors_gaussian import wide
from fugu.noise import Gaussian, Laplace
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.scenario.query import ColumnQuery
from fugu.transport.coupling import monotone
from fugu.transport.matching import bottleneck

ONE_RECORD = "one record"
"""The unit of sums and tables over records (`fugu.answer`)."""


def raw_edges(certificate: Certificate) -> tuple[float, ...] | None:
    """The edges of the query's bins, None where raw numbers go out; refuses where raw values have no distance."""
    if certificate.body.get("unit") == ONE_RECORD:
        raise NotProvable(
            "this certificate is about a sum over records, in steps of its rounding; how far one record's raw value "
            "may move is not what its laws speak of. kind='renyi' needs no distance of values"
        )
    stated = certificate.body.get("query")
    if stated is None:
        return None
    query = ColumnQuery.from_json(stated)
    if query.categories is not None:
        raise NotProvable(
            f"{query.publish!r} is an ordering of categories, and between categories there is no distance; state the "
            "other beliefs themselves (guarantee_against), or use kind='renyi'"
        )
    return query.edges


# From a distance of raw values to steps of the lattice: how far the query and the rounding can take a value.
#
# The distance is of the values as they stand in the table, before the query. A query that publishes numbers as they are
# changes nothing. With bins, the beliefs say which bin a value is in and no more, so a value may stand at either edge
# of its bin: a raw move of r takes it from bin b, [e_b, e_{b+1}), at most to the bins of e_b - r and of e_{b+1} + r,
# however small r > 0 is. Places in an ordering of categories have no raw distance, and one record's distance is not
# that of a sum over records: both are refused. What is missing stays missing.
#
# A release moves a value to the nearest supported one, then to the lattice. Beliefs are assumed about supported values
# x; a value y with |x - y| <= r may be moved on, to the supported s' whose cell (up to the middle to the next supported
# value) it reaches. So |index(y) - index(x)| is at most the largest |index(s') - index(s)| over supported s, s' such
# that the cell of s' comes within r of s. Without a support, index(x) = floor(x / grid + 1/2), and |x - y| <= r gives
# floor(a) <= floor(b + ceil t) = floor(b) + ceil t for a <= b + t, t = r / grid: at most ceil(r / grid) steps.
#
# Vectors are measured in the norm of the noise (docs/proofs/moves.md#vectors-moved-by-at-most-so-much).


_SLACK = 1e-12
"""Relative; doubles decide whether a cell is reached, and this covers their rounding, towards reaching it."""


@dataclass(frozen=True)
class Reach:
    """How far values may end from where the assumed belief has them, and from each other, in lattice steps."""

    steps: Any
    """|index(y) - index(x)| for every x of the assumed belief and every y within the distance: a whole number; of
    vectors in the l2 norm a fraction at or above it."""
    span: Any
    """The largest distance of two supported values; None if values are not moved to a support."""

    def apart(self, distance: Any) -> Any:
        """The largest distance of two values that were `distance` apart, both moved: the triangle inequality."""
        far = distance + 2 * self.steps
        return far if self.span is None else min(far, self.span)


def checked(distance: object) -> Fraction:
    """A distance as an exact number >= 0."""
    if not is_number(distance) or not 0 <= distance < math.inf:
        raise UsageError(f"a distance must be a finite number >= 0, got {distance!r}")
    return as_fraction(distance)


def reach(certificate: Certificate, distance: Real) -> Reach:
    """The reach of a release whose raw values lie within `distance` of the assumed ones."""
    if certificate.runs == "channel":
        raise NotProvable(
            "a channel exchanges values wherever they lie, so beliefs within a distance of the stated ones have no "
            "bound but the one for beliefs of any kind; state sets of laws, or a cap, or the other beliefs themselves "
            "(guarantee_against)"
        )
    if not certificate.spatial:
        raise NotProvable(
            f"beliefs within a distance of those of a certificate of kind {certificate.runs!r} have no bound: near a "
            "normal law there are laws that are not normal, and continuous noise is for analysis only; state the "
            "other beliefs themselves (guarantee_against), or use kind='renyi'"
        )
    if checked(distance) and any(item.shape == "cells" for item in certificate.laws):
        raise NotProvable(
            "the cells of a histogram have no distance between them; state the other beliefs themselves "
            "(guarantee_against), or use kind='renyi'"
        )
    return (_number if certificate.runs == "additive" else _vector)(certificate, distance)


def _number(certificate: Certificate, distance: Real) -> Reach:
    """The reach of one published number."""
    r, support, lattice = checked(distance), certificate.support, certificate.lattice
    edges = raw_edges(certificate) if r else None
    if edges is not None:
        return _binned(edges, r, support, lattice)
    if support is None:
        if lattice is None:
            return Reach(1 if r else 0, None)
        return Reach(math.ceil(r / lattice.grid), None)
    index = np.arange(len(support)) if lattice is None else lattice.index(support)
    span = int(index[-1] - index[0])
    if len(support) == 1 or r == 0:
        return Reach(0, span)
    far = float_up(r) * (1 + _SLACK) + _SLACK * float(np.abs(support).max())
    middle = support[:-1] / 2 + support[1:] / 2
    lowest = np.minimum(np.searchsorted(middle, support - far, "left"), np.arange(len(support)))
    highest = np.maximum(np.searchsorted(middle, support + far, "right"), np.arange(len(support)))
    return Reach(int(max((index - index[lowest]).max(), (index[highest] - index).max())), span)


def _vector(certificate: Certificate, distance: Real) -> Reach:
    """The reach of a published vector.

    With a support, x is supported and y is moved to the nearest supported s' in l2: |s' - x|_2 <= 2 |y - x|_2 <= 2r.
    Without one, every coordinate moves by less than its own distance plus one step."""
    r, support, lattice = checked(distance), certificate.support, certificate.lattice
    assert lattice is not None
    l1 = certificate.noise.norm == 1
    if r and raw_edges(certificate) is not None:
        raise NotProvable("bins of a vector's coordinates are not gone through; state the other beliefs themselves")
    if support is None:
        t, d = r / lattice.grid, certificate.dimension
        return Reach((math.ceil(t) + d - 1 if l1 else t + root_up(d)) if r else 0, None)
    index = lattice.index(support)
    far = 2 * float_up(r) * (1 + _SLACK) + _SLACK * float(np.abs(support).max(initial=0.0))
    steps = span = 0
    block = max(1, _BLOCK // support.size)
    for start in range(0, len(support), block):
        moved = np.abs(index[start : start + block, None, :] - index[None, :, :])
        if np.abs(index).max(initial=0) > 2**28:  # squares of differences may leave int64
            moved = moved.astype(object)
        keys = (moved if l1 else moved * moved).sum(axis=2)
        span = max(span, int(keys.max()))
        if r:
            apart = support[start : start + block, None, :] - support[None, :, :]
            reached = np.sqrt((apart**2).sum(axis=2)) <= far
            steps = max(steps, int(np.where(reached, keys, 0).max()))
    return Reach(steps, span) if l1 else Reach(root_up(steps), root_up(span))


def root_up(square: int | Fraction) -> Fraction:
    """A fraction at or above the root of a number >= 0, exact for squares of whole numbers."""
    scaled = math.ceil(Fraction(square) * _ROOT**2)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), _ROOT)


_ROOT = 2**60
_BLOCK = 4_000_000


def _binned(
    edges: tuple[float, ...], r: Fraction, support: NDArray[np.float64] | None, lattice: Lattice | None
) -> Reach:
    """The largest |index(middle of b') - index(middle of b)| over bins b of the beliefs and b' that a raw move reaches.

    Without a support (fitted beliefs) over all bins, in the units of the value, then in lattice steps."""
    places, ends, inner = middles(edges), np.array(edges), np.array(edges[1:-1])
    bins = np.arange(len(places))
    if support is not None:
        bins = np.searchsorted(places, support)
        if not np.array_equal(places[np.minimum(bins, len(places) - 1)], support):
            raise NotProvable("the certificate's values are not the middles of its bins, so raw values are not known")
    far = float_up(r) * (1 + _SLACK) + _SLACK * float(np.abs(ends).max())
    lowest = np.where(bins == 0, 0, np.searchsorted(inner, ends[bins] - far, "left"))
    highest = np.where(bins == len(places) - 1, bins, np.searchsorted(inner, ends[bins + 1] + far, "right"))
    if support is None:
        moved = float(max((places[highest] - places[bins]).max(), (places[bins] - places[lowest]).max()))
        moved = float_up(Fraction(moved) * (1 + Fraction(_SLACK)))
        return Reach(int(moved > 0) if lattice is None else math.ceil(Fraction(moved) / lattice.grid), None)
    found = [nearest(support, places[which]) for which in (lowest, bins, highest)]
    low, own, high = (np.searchsorted(support, x) if lattice is None else lattice.index(x) for x in found)
    every = np.arange(len(support)) if lattice is None else lattice.index(support)
    return Reach(int(max((own - low).max(), (high - own).max())), int(every[-1] - every[0]))


# Losses of laws moved by at most k steps, bounded through one coupling of the assumed laws.
#
# Let W_inf(mu'_s, mu_s) <= k for both secrets of a pair. Gluing the couplings along any coupling pi of mu_i and mu_j
# gives one of mu'_i and mu'_j with |X' - Y'| <= |X - Y| + 2k. Both sum P^a Q^(1-a) and the hockey stick are jointly
# convex, and for symmetric unimodal (log-concave) lattice noise both grow with the shift, so
#
#     exp((a-1) D_a(M'_i || M'_j)) <= E_pi c_a(|X - Y| + 2k),      HS_e(M'_i || M'_j) <= E_pi HS_e(shift by |X - Y| +
#     2k).
#
# The worst case over pi is the plain triangle inequality R_a(noise, W_inf + 2k). The monotone coupling is used; all
# masses are exact. Where a support confines the values, no distance exceeds its span.


_MOST = 64
"""At most this many different distances are told apart; others are raised to the next one."""
_PRECISION = 128

Apart = dict[Any, Fraction]
"""The law of the distance |X - Y| of a coupling, in lattice steps: whole ones of numbers, and of vectors fractions in
the noise's norm."""


def moved_delta(item: Any, noise: Noise, epsilon: Fraction, reach: Reach) -> float:
    """HS_epsilon of every pair of an item, both orders, for laws moved within the reach; 1 where nothing is known."""
    found = _worst(item, noise, lambda cells: mean_delta(cells, noise, epsilon, reach, item.dimension))
    slack = largest_slack(item, epsilon) if found is not None and item.inexact else 0.0
    return 1.0 if found is None else min(1.0, float_up(Fraction(found) + Fraction(slack)))


def moved_renyi(item: Any, noise: Noise, alpha: Fraction, reach: Reach) -> float:
    """D_alpha of every pair of an item, both orders, for laws moved within the reach; inf where nothing is known."""
    found = _worst(item, noise, lambda cells: mean_renyi(cells, noise, alpha, reach, item.dimension))
    return math.inf if found is None else found


def _worst(item: Any, noise: Noise, mean: Callable[[Apart], float]) -> float | None:
    """The worst pair of an item, each at the best of its couplings; None if there is no bounded one."""
    if noise.silent:
        return None
    if item.dimension > 1:
        return max(min(map(mean, couplings(item, pair, noise))) for pair in dict.fromkeys(item.pairs))
    known = apart(item)
    return None if known is None else max(map(mean, known))


def mean_delta(cells: Apart, noise: Any, epsilon: Fraction, reach: Reach, dimension: int = 1) -> float:
    """E HS_epsilon(shift by the distance, lengthened by the reach), rounded up; the slack of inexact laws not added.

    Of vectors the delta that the pure loss of a distance implies; without one the analytic curve at the distance, and
    for noise of few steps the best conversion of divergences."""
    rate = None if dimension == 1 else noise.rate
    if dimension > 1 and rate is None and not wide(noise):
        orders: dict[Real, Real] = {a: Fraction(mean_renyi(cells, noise, a, reach, dimension)) for a in ORDERS}
        return exact_delta(orders, epsilon)
    total = Fraction(0)
    for distance, share in cells.items():
        steps = reach.apart(distance)
        if dimension == 1:
            delta = shift_delta(noise, steps, epsilon)
        elif rate is not None:
            delta = pure_as_delta(float_up(steps * rate), epsilon)
        else:
            delta = vector_shift_delta(float_up(steps), dimension, noise, epsilon)
        total += share * Fraction(delta)
    return min(1.0, float_up(total))


def mean_renyi(cells: Apart, noise: Any, alpha: Fraction, reach: Reach, dimension: int = 1) -> float:
    """log E c_alpha(the distance, lengthened by the reach) / (alpha - 1), rounded up.

    log c_alpha bounds (alpha - 1) D_alpha of a shift. Of vectors under Laplace noise, a shift in one coordinate costs
    at least as much as one of the same l1 length in several; under Gaussian noise it is (a-1) a c |k|_2^2, which holds
    for every lattice shift k."""
    parts = []
    with balls.precision(_PRECISION):
        for distance, mass in cells.items():
            steps = reach.apart(distance)
            if dimension > 1 and noise.rate is None:
                cost = balls.of((alpha - 1) * alpha * noise.precision * steps * steps)
            else:
                cost = ball_log_cost(noise, alpha, math.ceil(steps) * (noise.grid or Fraction(1)))
            parts.append(balls.of(mass) * cost.exp())
        return max(0.0, balls.upper(sum(parts, arb(0)).log() / balls.of(alpha - 1)))


def apart(item: Number) -> list[Apart] | None:
    """For each pair of an item how far apart a coupling keeps the two values; None if there is no bounded one.

    A pair whose laws are equal under the assumed belief need not be so once they are moved, so it is listed too.
    Whatever two laws of sets are, both values lie between the first and the last declared one."""
    if isinstance(item, Analytic):
        shift = Fraction(0) if item.same else item.shift()
        return None if shift is None else [{math.ceil(abs(shift)): Fraction(1)}]
    if isinstance(item, SetFamily):
        return [{int(item.points[-1] - item.points[0]): Fraction(1)}]
    laws: list[Apart] = []
    for i, j in dict.fromkeys(item.pairs):
        if item.laws[i].same_as(item.laws[j]):
            laws.append({0: Fraction(1)})
            continue
        plan = monotone(item.points, item.laws[i], item.laws[j])
        known = np.unique(plan.distances)
        if len(known) > _MOST:  # some distances are raised to the next one
            known = known[np.unique(np.linspace(0, len(known) - 1, _MOST).round().astype(np.int64))]
        sums = [0] * len(known)
        for where, mass in zip(np.searchsorted(known, plan.distances).tolist(), plan.masses.tolist(), strict=True):
            sums[where] += int(mass)
        laws.append({int(d): Fraction(mass, plan.total) for d, mass in zip(known.tolist(), sums, strict=True)})
    return laws


def dominating(found: list[Apart]) -> Apart:
    """A law of the distance that is stochastically above all of these: P(D > d) is the largest of theirs at every d."""
    places = sorted({d for cells in found for d in cells})
    left = [Fraction(1)] * len(found)
    before, law = Fraction(1), {}
    for d in places:
        left = [rest - cells.get(d, 0) for rest, cells in zip(left, found, strict=True)]
        law[d], before = before - max(left), max(left)
    return {d: share for d, share in law.items() if share}


# Losses of laws of vectors moved by at most k in the noise's own norm: l1 for Laplace noise, l2 for Gaussian noise.
#
# Any coupling of the assumed laws becomes one of the moved laws whose distances are longer by at most 2k, k for each of
# the two secrets (docs/proofs/moves.md#vectors-moved-by-at-most-so-much).


def couplings(item: Family, pair: tuple[int, int], noise: Noise) -> list[Apart]:
    """The distances of a coupling that keeps the largest one least, and of one of little cost where there are few
    atoms; both have exact marginals."""
    if not isinstance(noise, Laplace | Gaussian):
        raise NotProvable(f"what moved vectors lose under {noise.name} noise is not known")
    require_exact(item)
    if item.laws[pair[0]].same_as(item.laws[pair[1]]):
        return [{Fraction(0): Fraction(1)}]
    space = space_of(item, pair, noise.norm)
    widest = bottleneck(space, Fraction(0))[1]  # its rows and columns number the atoms of the family
    moved = [(widest, np.abs(item.points[widest.rows] - item.points[widest.columns]))]
    if len(space.x) * len(space.y) <= PLANNED:
        plan = plan_for(space, noise, Fraction(2))
        moved.append((plan, steps_moved(space, plan)))
    found: list[Apart] = []
    for plan, apart in moved:
        law: Apart = {}
        for steps, mass in zip(apart.tolist(), plan.masses.tolist(), strict=True):
            distance = Fraction(sum(steps)) if noise.norm == 1 else root_up(sum(k * k for k in steps))
            law[distance] = law.get(distance, Fraction(0)) + Fraction(int(mass), plan.total)
        if sum(law.values()) != 1:
            raise NotProvable("a plan that leaves mass where it is bounds no loss; give one with both whole margins")
        found.append(law)
    return found
