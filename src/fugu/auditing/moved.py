"""Losses of laws moved by at most k steps, bounded through one coupling of the assumed laws.

Let W_inf(mu'_s, mu_s) <= k for both secrets of a pair. Gluing the couplings along any coupling pi of mu_i and mu_j
gives one of mu'_i and mu'_j with |X' - Y'| <= |X - Y| + 2k. Both sum P^a Q^(1-a) and the hockey stick are jointly
convex, and for symmetric unimodal (log-concave) lattice noise both grow with the shift, so

    exp((a-1) D_a(M'_i || M'_j)) <= E_pi c_a(|X - Y| + 2k),      HS_e(M'_i || M'_j) <= E_pi HS_e(shift by |X - Y| + 2k).

The worst case over pi is the plain triangle inequality R_a(noise, W_inf + 2k). The monotone coupling is used; all
masses are exact. Where a support confines the values, no distance exceeds its span.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb

from fugu.auditing.moved_vectors import vector_moved_delta, vector_moved_renyi
from fugu.auditing.reach import Reach
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Number
from fugu.laws.masses import Masses
from fugu.laws.set_family import SetFamily
from fugu.loss.atoms.slack import largest_slack
from fugu.loss.door import delta_bounds
from fugu.loss.shifts.cost import ball_log_cost
from fugu.noise import LatticeNoise
from fugu.noise.lattice import MAX_INDEX
from fugu.numbers import balls
from fugu.numbers.exact import float_up
from fugu.transport.coupling import monotone

_MOST = 64
"""At most this many different distances are told apart; others are raised to the next one."""
_PRECISION = 128

Apart = dict[int, Fraction]
"""The law of the distance |X - Y| of a coupling, in lattice steps."""


def moved_delta(item: Any, noise: LatticeNoise, epsilon: Fraction, reach: Reach) -> float:
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


def moved_renyi(item: Any, noise: LatticeNoise, alpha: Fraction, reach: Reach) -> float:
    """D_alpha of every pair of an item, both orders, for laws moved within the reach; inf where nothing is known."""
    if noise.silent:
        return math.inf
    if item.shape in _VECTORS:
        return vector_moved_renyi(item, noise, alpha, reach)
    known = apart(item)
    if known is None:
        return math.inf
    return max(mean_renyi(cells, noise, alpha, reach) for cells in known)


def mean_delta(cells: Apart, noise: LatticeNoise, epsilon: Fraction, reach: Reach) -> float:
    """E HS_epsilon(shift by the distance, lengthened by the reach), rounded up; the slack of inexact laws not added."""
    shares = (share * Fraction(shift_delta(noise, reach.apart(d), epsilon)) for d, share in cells.items())
    return float_up(sum(shares, Fraction(0)))


def mean_renyi(cells: Apart, noise: LatticeNoise, alpha: Fraction, reach: Reach) -> float:
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


@lru_cache(maxsize=4096)
def shift_delta(noise: LatticeNoise, steps: int, epsilon: Fraction) -> float:
    """sup_S P(N + steps in S) - e^epsilon P(N in S) for lattice noise, rounded up; it grows with |steps|."""
    if steps == 0:
        return 0.0
    if abs(steps) > MAX_INDEX:
        return 1.0
    both = tuple(Masses(np.array(parts), Fraction(1)) for parts in ([1, 0], [0, 1]))
    points = Family(np.array([0, steps], dtype=np.int64), both, ((0, 1),), ("",), translates=True)
    return max(loss.value for loss in delta_bounds(points, noise, epsilon))
