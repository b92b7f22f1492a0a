"""Laws given likely events: leave out a share delta of the mass where it costs most.

Let gamma be a sub-coupling (row sums at most p, column sums at most q) of mass 1 - d, d <= delta. Accept x with
probability gamma(x, .) / p(x) and y with gamma(., y) / q(y): events of probability 1 - d under the two secrets, given
which the laws are the normalised margins of gamma, and gamma itself couples them. So the divergence of the conditioned
outputs is that of the margins, at most log(sum c gamma / (1 - d)) / (a - 1), in both orders for symmetric noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.shifts.cost import log_cost
from fugu.noise import LatticeNoise
from fugu.transport.closeness import closeness_index
from fugu.transport.coupling import Coupling
from fugu.transport.greedy import close_coupling
from fugu.transport.partial import partial_plan

_CELLS = 40_000


def kept(family: Family, pair: tuple[int, int], noise: object, alpha: Fraction, delta: Fraction) -> Coupling:
    """A sub-coupling of mass at least 1 - delta: of least cost where the atoms are few, else of least distance.

    Its `total` is the mass it keeps, so that it couples its own normalised margins."""
    i, j = pair
    p, q = family.laws[i], family.laws[j]
    x, y = np.flatnonzero(p.parts != 0), np.flatnonzero(q.parts != 0)
    if len(x) * len(y) > _CELLS or not isinstance(noise, LatticeNoise):
        return close_coupling(family.points, p, q, closeness_index(family.points, p, q, delta))
    distances = np.abs(family.points[x][:, None] - family.points[y][None, :])
    step = float(noise.grid or 1)  # the points are lattice indices, the noise is in the unit of the values
    costs = log_cost(noise, float(alpha), distances.ravel() * step).reshape(distances.shape)
    found = partial_plan(costs, Masses(p.parts[x], p.total), Masses(q.parts[y], q.total), delta)
    rows, columns = x[found.rows], y[found.columns]
    return Coupling(rows, columns, found.masses, distances[found.rows, found.columns], sum(found.masses.tolist()))


def margins(family: Family, plan: Coupling, label: str) -> Family:
    """The two normalised margins of a sub-coupling, as a pair of laws on the family's points."""
    laws = tuple(_margin(plan, where, len(family.points)) for where in (plan.rows, plan.columns))
    return Family(family.points, laws, ((0, 1),), (label,))


def _margin(plan: Coupling, where: np.ndarray[tuple[int], np.dtype[np.int64]], size: int) -> Masses:
    sums = [0] * size
    for k, mass in zip(where.tolist(), plan.masses.tolist(), strict=True):
        sums[k] += mass
    kind: type[np.int64] | type[object] = np.int64 if plan.total < 2**62 else object
    return Masses(np.array(sums, dtype=kind), Fraction(plan.total))


def unmoved(family: Family, pair: tuple[int, int], delta: Fraction) -> float:
    """Without noise: nothing is lost if all but delta of the mass can stay where it is."""
    i, j = pair
    return 0.0 if closeness_index(family.points, family.laws[i], family.laws[j], delta) == 0 else math.inf
