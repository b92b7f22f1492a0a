"""Rényi divergence of noised laws bounded by a coupling, in ball arithmetic: for laws too large for the tight sum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, fmpz

from fugu.laws.family import Family
from fugu.loss.leakage import PairLoss
from fugu.loss.shifts.cost import ball_log_cost
from fugu.noise import LatticeNoise
from fugu.numbers import balls
from fugu.progress import report
from fugu.transport.coupling import Coupling, monotone

_PRECISION = 128


def coupling_bounds(family: Family, noise: LatticeNoise, alpha: Fraction) -> list[PairLoss]:
    """For each pair, log E exp((a-1) D_a(zeta_X, zeta_Y)) / (a-1) under the monotone coupling, rounded up.

    (JC): sum P^a Q^(1-a) is jointly convex in (P, Q), so it is at most its mean over any coupling; the noise is
    symmetric, so one number serves both orders. The points are lattice indices, the noise is on the same lattice."""
    found = []
    for pair, label in family.different:
        plan = monotone(family.points, family.laws[pair[0]], family.laws[pair[1]])
        found.append(PairLoss(label, coupling_loss(plan, noise, alpha), pair))
    return found or [PairLoss("", 0.0)]


def coupling_loss(plan: Coupling, noise: LatticeNoise, alpha: Fraction) -> float:
    """The bound of one plan: cells at the same distance are joined first, exactly."""
    distances, where = np.unique(plan.distances, return_inverse=True)
    sums = [0] * len(distances)
    for k, mass in zip(where.tolist(), plan.masses.tolist(), strict=True):
        sums[k] += mass
    grid = noise.grid or Fraction(1)
    with balls.precision(_PRECISION):
        mean = arb(0)
        for k, (steps, mass) in enumerate(zip(distances.tolist(), sums, strict=True)):
            mean += arb(fmpz(mass)) * ball_log_cost(noise, alpha, steps * grid).exp()
            if k % 4096 == 0:
                report("proving the coupling", k, len(sums))
        return max(0.0, balls.upper((mean / arb(fmpz(plan.total))).log() / balls.of(alpha - 1)))
