"""Losses of laws of vectors moved by at most k in the noise's own norm: l1 for Laplace noise, l2 for Gaussian noise.

Any coupling of the assumed laws becomes one of the moved laws whose distances are longer by at most 2k, k for each of
the two secrets (docs/proofs/moves.md#vectors-moved-by-at-most-so-much)."""

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
from fugu.laws.family import Family
from fugu.loss.shifts.cost import ball_log_cost
from fugu.loss.vectors.bare import require_exact
from fugu.loss.vectors.bounds import ORDERS, PLANNED, plan_for, pure_as_delta, space_of, steps_moved
from fugu.loss.vectors.gaussian import shift_delta, wide
from fugu.noise import Gaussian, Laplace, LatticeNoise
from fugu.numbers import balls
from fugu.numbers.exact import Real, float_up
from fugu.transport.bottleneck import bottleneck
from fugu.transport.cells import SubCoupling

_PRECISION = 128
Apart = dict[Fraction, Fraction]
"""The law of the distance of a coupling, in lattice steps and in the noise's norm."""


def couplings(item: Family, pair: tuple[int, int], noise: LatticeNoise) -> list[Apart]:
    """The distances of a coupling that keeps the largest one least, and of one of little cost where there are few
    atoms; both have exact marginals."""
    require_exact(item)
    if item.laws[pair[0]].same_as(item.laws[pair[1]]):
        return [{Fraction(0): Fraction(1)}]
    space = space_of(item, pair, noise.norm)
    widest = bottleneck(space, Fraction(0))[1]  # its rows and columns number the atoms of the family
    moved = [(widest, np.abs(item.points[widest.rows] - item.points[widest.columns]))]
    if len(space.x) * len(space.y) <= PLANNED:
        plan = plan_for(space, noise, Fraction(2))
        moved.append((plan, steps_moved(space, plan)))
    return [_distances(plan, apart, _LENGTHS[noise.norm]) for plan, apart in moved]


def _distances(plan: SubCoupling, apart: NDArray[Any], length: Callable[[list[int]], Fraction]) -> Apart:
    law: Apart = {}
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


def vector_moved_delta(item: Family, noise: LatticeNoise, epsilon: Fraction, reach: Reach) -> float:
    """HS_epsilon of every pair, both orders, for laws moved within the reach."""
    return max(
        min(_DELTAS[noise.name](cells, item.dimension, noise, epsilon, reach) for cells in couplings(item, pair, noise))
        for pair in dict.fromkeys(item.pairs)
    )


def vector_moved_renyi(item: Family, noise: LatticeNoise, alpha: Fraction, reach: Reach) -> float:
    """D_alpha of every pair, both orders, for laws moved within the reach."""
    return max(
        min(_renyi(cells, noise, alpha, reach) for cells in couplings(item, pair, noise))
        for pair in dict.fromkeys(item.pairs)
    )


def vector_shift_renyi(noise: LatticeNoise, steps: Fraction, alpha: Fraction) -> float:
    """D_alpha of a shift by at most that many steps in the noise's norm, rounded up."""
    return _renyi({Fraction(steps): Fraction(1)}, noise, alpha, Reach(0, None))


def _renyi(cells: Apart, noise: LatticeNoise, alpha: Fraction, reach: Reach) -> float:
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


def _laplace_delta(cells: Apart, dimension: int, noise: Laplace, epsilon: Fraction, reach: Reach) -> float:
    """E of the delta that the pure loss of a distance implies."""
    del dimension
    shares = (m * Fraction(pure_as_delta(float_up(reach.apart(d) * noise.rate), epsilon)) for d, m in cells.items())
    return min(1.0, float_up(sum(shares, Fraction(0))))


def _gaussian_delta(cells: Apart, dimension: int, noise: Gaussian, epsilon: Fraction, reach: Reach) -> float:
    """E of the analytic curve at the distance; for noise of few steps the best conversion of divergences."""
    if wide(noise):
        shares = (
            m * Fraction(shift_delta(float_up(reach.apart(d)), dimension, noise, epsilon)) for d, m in cells.items()
        )
        return min(1.0, float_up(sum(shares, Fraction(0))))
    orders: dict[Real, Real] = {a: Fraction(_renyi(cells, noise, a, reach)) for a in ORDERS}
    return exact_delta(orders, epsilon)


_COSTS: dict[str, Callable[..., arb]] = {"laplace": _laplace_cost, "gaussian": _gaussian_cost}
_DELTAS: dict[str, Callable[..., float]] = {"laplace": _laplace_delta, "gaussian": _gaussian_delta}
