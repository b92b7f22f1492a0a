"""Losses of laws moved by at most k steps, of numbers or of vectors, bounded through one coupling of the assumed
laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.auditing.reach import Reach, root_up
from fugu.errors import NotProvable
from fugu.guarantee.conversion import exact_delta
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
from fugu.numbers import balls
from fugu.numbers.exact import Real, float_up
from fugu.transport.coupling import SubCoupling, monotone
from fugu.transport.matching import bottleneck

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

Apart = dict[int, Fraction]
"""The law of the distance |X - Y| of a coupling, in lattice steps."""


def moved_delta(item: Any, noise: Noise, epsilon: Fraction, reach: Reach) -> float:
    """HS_epsilon of every pair of an item, both orders, for laws moved within the reach; 1 where nothing is known."""
    if noise.silent:
        return 1.0
    if item.shape in _VECTORS:
        return vector_moved_delta(item, noise, epsilon, reach)
    known = apart(item)
    if known is None:
        return 1.0
    found = max(mean_delta(cells, noise, epsilon, reach) for cells in known)
    slack = largest_slack(item, epsilon) if item.inexact else 0.0
    return min(1.0, float_up(Fraction(found) + Fraction(slack)))


def moved_renyi(item: Any, noise: Noise, alpha: Fraction, reach: Reach) -> float:
    """D_alpha of every pair of an item, both orders, for laws moved within the reach; inf where nothing is known."""
    if noise.silent:
        return math.inf
    if item.shape in _VECTORS:
        return vector_moved_renyi(item, noise, alpha, reach)
    known = apart(item)
    if known is None:
        return math.inf
    return max(mean_renyi(cells, noise, alpha, reach) for cells in known)


def mean_delta(cells: Apart, noise: Noise, epsilon: Fraction, reach: Reach) -> float:
    """E HS_epsilon(shift by the distance, lengthened by the reach), rounded up; the slack of inexact laws not added."""
    shares = (share * Fraction(shift_delta(noise, reach.apart(d), epsilon)) for d, share in cells.items())
    return float_up(sum(shares, Fraction(0)))


def mean_renyi(cells: Apart, noise: Noise, alpha: Fraction, reach: Reach) -> float:
    """log E c_alpha(the distance, lengthened by the reach) / (alpha - 1), rounded up."""
    grid = noise.grid or Fraction(1)
    with balls.precision(_PRECISION):
        costs = [balls.of(m) * ball_log_cost(noise, alpha, reach.apart(d) * grid).exp() for d, m in cells.items()]
        return max(0.0, balls.upper(sum(costs, arb(0)).log() / balls.of(alpha - 1)))


def apart(item: Number) -> list[Apart] | None:
    """For each pair of an item how far apart a coupling keeps the two values; None if there is no bounded one.

    A pair whose laws are equal under the assumed belief need not be so once they are moved, so it is listed too."""
    return _APART[item.shape](item)


def _line(item: Family) -> list[Apart]:
    return [_apart(item, pair) for pair in dict.fromkeys(item.pairs)]


def _smooth(item: Analytic) -> list[Apart] | None:
    shift = Fraction(0) if item.same else item.shift()
    return None if shift is None else [{math.ceil(abs(shift)): Fraction(1)}]


def _sets(item: SetFamily) -> list[Apart]:
    """Whatever the two laws are, both values lie between the first and the last declared one."""
    return [{int(item.points[-1] - item.points[0]): Fraction(1)}]


_APART: dict[str, Callable[[Any], list[Apart] | None]] = {"line": _line, "smooth": _smooth, "sets": _sets}
_VECTORS = ("space",)


def dominating(found: list[Apart]) -> Apart:
    """A law of the distance that is stochastically above all of these: P(D > d) is the largest of theirs at every d."""
    places = sorted({d for cells in found for d in cells})
    left = [Fraction(1)] * len(found)
    before, law = Fraction(1), {}
    for d in places:
        left = [rest - cells.get(d, 0) for rest, cells in zip(left, found, strict=True)]
        law[d], before = before - max(left), max(left)
    return {d: share for d, share in law.items() if share}


def _apart(family: Family, pair: tuple[int, int]) -> Apart:
    """The different distances of the monotone coupling with their probabilities, some raised to the next one."""
    i, j = pair
    if family.laws[i].same_as(family.laws[j]):
        return {0: Fraction(1)}
    plan = monotone(family.points, family.laws[i], family.laws[j])
    known = np.unique(plan.distances)
    if len(known) > _MOST:
        known = known[np.unique(np.linspace(0, len(known) - 1, _MOST).round().astype(np.int64))]
    sums = [0] * len(known)
    for where, mass in zip(np.searchsorted(known, plan.distances).tolist(), plan.masses.tolist(), strict=True):
        sums[where] += int(mass)
    return {int(d): Fraction(mass, plan.total) for d, mass in zip(known.tolist(), sums, strict=True)}


# Losses of laws of vectors moved by at most k in the noise's own norm: l1 for Laplace noise, l2 for Gaussian noise.
#
# Any coupling of the assumed laws becomes one of the moved laws whose distances are longer by at most 2k, k for each of
# the two secrets (docs/proofs/moves.md#vectors-moved-by-at-most-so-much).


VectorApart = dict[Fraction, Fraction]
"""The law of the distance of a coupling, in lattice steps and in the noise's norm."""


def couplings(item: Family, pair: tuple[int, int], noise: Noise) -> list[VectorApart]:
    """The distances of a coupling that keeps the largest one least, and of one of little cost where there are few
    atoms; both have exact marginals."""
    require_exact(item)
    if item.laws[pair[0]].same_as(item.laws[pair[1]]):
        return [{Fraction(0): Fraction(1)}]
    space = space_of(item, pair, noise.norm)
    widest = bottleneck(space, Fraction(0))[1]  # its rows and columns number the atoms of the family
    moved = [(widest, np.abs(item.points[widest.rows] - item.points[widest.columns]))]
    if isinstance(noise, Laplace | Gaussian) and len(space.x) * len(space.y) <= PLANNED:
        plan = plan_for(space, noise, Fraction(2))
        moved.append((plan, steps_moved(space, plan)))
    return [_distances(plan, apart, _LENGTHS[noise.norm]) for plan, apart in moved]


def _distances(plan: SubCoupling, apart: NDArray[Any], length: Callable[[list[int]], Fraction]) -> VectorApart:
    law: VectorApart = {}
    for steps, mass in zip(apart.tolist(), plan.masses.tolist(), strict=True):
        distance = length(steps)
        law[distance] = law.get(distance, Fraction(0)) + Fraction(int(mass), plan.total)
    if sum(law.values()) != 1:
        raise NotProvable("a plan that leaves mass where it is bounds no loss; give one with both whole margins")
    return law


_LENGTHS: dict[int, Callable[[list[int]], Fraction]] = {
    1: lambda steps: Fraction(sum(steps)),
    2: lambda steps: root_up(sum(k * k for k in steps)),
}


def vector_moved_delta(item: Family, noise: Noise, epsilon: Fraction, reach: Reach) -> float:
    """HS_epsilon of every pair, both orders, for laws moved within the reach."""
    return max(
        min(_DELTAS[noise.name](cells, item.dimension, noise, epsilon, reach) for cells in couplings(item, pair, noise))
        for pair in dict.fromkeys(item.pairs)
    )


def vector_moved_renyi(item: Family, noise: Noise, alpha: Fraction, reach: Reach) -> float:
    """D_alpha of every pair, both orders, for laws moved within the reach."""
    return max(
        min(_renyi(cells, noise, alpha, reach) for cells in couplings(item, pair, noise))
        for pair in dict.fromkeys(item.pairs)
    )


def vector_shift_renyi(noise: Noise, steps: Fraction, alpha: Fraction) -> float:
    """D_alpha of a shift by at most that many steps in the noise's norm, rounded up."""
    return _renyi({Fraction(steps): Fraction(1)}, noise, alpha, Reach(0, None))


def _renyi(cells: VectorApart, noise: Noise, alpha: Fraction, reach: Reach) -> float:
    """log E exp((a-1) h(distance + 2k)) / (a-1), rounded up."""
    with balls.precision(_PRECISION):
        cost = _COSTS[noise.name]
        parts = [balls.of(mass) * cost(noise, alpha, reach.apart(d)).exp() for d, mass in cells.items()]
        return max(0.0, balls.upper(sum(parts, arb(0)).log() / balls.of(alpha - 1)))


def _laplace_cost(noise: Laplace, alpha: Fraction, steps: Fraction) -> arb:
    """(a-1) h: a shift in one coordinate costs at least as much as one of the same l1 length in several."""
    return ball_log_cost(noise, alpha, math.ceil(steps) * (noise.grid or Fraction(1)))


def _gaussian_cost(noise: Gaussian, alpha: Fraction, steps: Fraction) -> arb:
    """(a-1) a c |k|_2^2, which holds for every lattice shift k."""
    return balls.of((alpha - 1) * alpha * noise.precision * steps * steps)


def _laplace_delta(cells: VectorApart, dimension: int, noise: Laplace, epsilon: Fraction, reach: Reach) -> float:
    """E of the delta that the pure loss of a distance implies."""
    del dimension
    shares = (m * Fraction(pure_as_delta(float_up(reach.apart(d) * noise.rate), epsilon)) for d, m in cells.items())
    return min(1.0, float_up(sum(shares, Fraction(0))))


def _gaussian_delta(cells: VectorApart, dimension: int, noise: Gaussian, epsilon: Fraction, reach: Reach) -> float:
    """E of the analytic curve at the distance; for noise of few steps the best conversion of divergences."""
    if wide(noise):
        shares = (
            m * Fraction(vector_shift_delta(float_up(reach.apart(d)), dimension, noise, epsilon))
            for d, m in cells.items()
        )
        return min(1.0, float_up(sum(shares, Fraction(0))))
    orders: dict[Real, Real] = {a: Fraction(_renyi(cells, noise, a, reach)) for a in ORDERS}
    return exact_delta(orders, epsilon)


_COSTS: dict[str, Callable[..., arb]] = {"laplace": _laplace_cost, "gaussian": _gaussian_cost}
_DELTAS: dict[str, Callable[..., float]] = {"laplace": _laplace_delta, "gaussian": _gaussian_delta}
