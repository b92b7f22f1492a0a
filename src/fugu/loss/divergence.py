"""Proved Rényi divergences of lattice noise, pair by pair, both orders; by a coupling, or given likely events."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb, fmpz

from fugu.errors import BadBudget, NotProvable
from fugu.guarantee.asks import PairLoss
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.laws.normal import Analytic
from fugu.laws.shapes import Item
from fugu.loss.atoms import Pair, PowerSum, bare_divergences, blocks, working_bits
from fugu.loss.cost import ball_log_cost, log_cost
from fugu.loss.door import pure_bounds
from fugu.loss.lattice_gaussian import prove_renyi_gaussian
from fugu.loss.leakage import require_exact
from fugu.loss.smooth_divergence import prove_renyi_analytic
from fugu.noise import Gaussian, Laplace, LatticeNoise
from fugu.numbers import balls
from fugu.numbers.exact import float_up
from fugu.progress import report
from fugu.transport.coupling import Coupling, close_coupling, compact, monotone
from fugu.transport.matching import closeness_index
from fugu.transport.plan import partial_plan
from fugu.transport.wasserstein import w_inf_index

LARGEST = 400_000
"""Most lattice points times laws that one proof visits."""
_NEAR = 100
"""In a gap, points within this many scales of an atom are visited from the start."""
_NOTHING = Fraction(1, 2**80)


def renyi_bounds(item: Item, noise: LatticeNoise, alpha: Fraction | float) -> list[PairLoss]:
    """For each pair a bound on D_alpha of the two noised laws, in both orders, for the lattice noise that is drawn.

    alpha = inf is the pure loss. Laws known up to an error have no finite divergence and are refused."""
    if not alpha > 1:
        raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {alpha!r}")
    if isinstance(alpha, float) and math.isinf(alpha):
        return pure_bounds(item, noise, Fraction(0))
    order = Fraction(alpha)
    if isinstance(item, Analytic):
        return [PairLoss(item.label, prove_renyi_analytic(item, noise, order))]
    require_exact(item)
    with balls.precision(working_bits(order)):
        if noise.scale == 0:
            found = bare_divergences(item, order)
        elif isinstance(noise, Laplace):
            found = _laplace(item, noise.rate, order)
        else:
            found = prove_renyi_gaussian(item, noise.precision, order)
    known = {pair: value for (pair, _), value in zip(item.different, found, strict=True)}
    if noise.scale == 0:
        return [
            PairLoss(label, known.get(pair, 0.0), pair) for pair, label in zip(item.pairs, item.labels, strict=True)
        ]
    losses = []
    for pair, label in zip(item.pairs, item.labels, strict=True):
        # alpha W^2 g^2 / (2 s^2) for Gaussian noise, W g / b for Laplace noise, in exact rationals, W = W_inf in steps:
        # settles equality, which balls cannot (docs/proofs/renyi.md#3-gaussian-noise-on-a-lattice-shifts-and-couplings)
        steps = w_inf_index(item.points, item.laws[pair[0]], item.laws[pair[1]])
        coupled = order * noise.precision * steps**2 if isinstance(noise, Gaussian) else noise.rate * steps
        losses.append(PairLoss(label, min(known.get(pair, 0.0), float_up(coupled)), pair))
    return losses


def _laplace(family: Family, rate: Fraction, alpha: Fraction) -> list[float]:
    """c0 { sum over atoms and gaps of S_i^alpha S_j^(1-alpha) + q/(1-q) (the first atom's term + the last one's) }.

    Beyond the first and the last atom both noised laws are multiples of q^distance, so the tails are geometric.
    Inside a gap S(t) = L q^t + R q^(gap-t); the points are visited one by one, except the middle of a long gap, which
    is bounded by its number of points times the larger end: the term falls, then rises
    (docs/proofs/renyi.md#2-in-a-gap-the-terms-fall-then-rise)."""
    sums = PowerSum([pair for pair, _ in family.different], alpha)
    if not sums.pairs:
        return []
    slope, laws, powers = balls.of(rate), len(family.laws), [arb(1)]
    room = LARGEST - laws * min(len(family.points), LARGEST // (2 * laws))
    q = (-slope).exp()
    tail = q / (1 - q)

    def power(t: int) -> arb:
        """q^t."""
        if t < len(powers):
            return powers[t]
        found = (-slope * t).exp()
        if t == len(powers) and t < 100_000:
            powers.append(found)
        return found

    def inside(left: list[arb], beyond: list[arb], gap: int) -> None:
        """The points strictly between two neighbouring atoms, from both ends; `beyond` is what comes from the right,
        measured at the left atom."""
        nonlocal room
        grown = (slope * gap).exp()
        ends = (left, [b * grown for b in beyond])  # L at the left atom, R at the right one
        back = ([x / grown for x in left], beyond)  # L at the right atom, R at the left one
        done, near = 0, math.ceil(_NEAR / rate) + 1
        while True:
            near = min(near, gap // 2)
            room -= 2 * (near - done) * laws
            if room < 0:
                raise NotProvable(
                    f"the Rényi divergence of lattice Laplace noise needs more than {LARGEST:,} lattice points here; "
                    "choose a coarser grid, or bins"
                )
            edges: dict[Pair, arb] = {}
            for t in range(done + 1, near + 1):
                for side in (0,) if 2 * t == gap else (0, 1):
                    own, other = ends[side], back[1 - side]
                    terms = sums.terms([a * power(t) + b / power(t) for a, b in zip(own, other, strict=True)])
                    for order, term in terms.items():
                        sums.sums[order] += term
                        edges[order] = arb.max(edges[order], term) if t == near and order in edges else term
            middle = gap - 1 - 2 * near
            if middle <= 0:
                return
            small = balls.of(_NOTHING)
            if all(middle * edge <= small * sums.sums[order] for order, edge in edges.items()):
                for order, edge in edges.items():
                    sums.sums[order] += middle * edge
                return
            done, near = near, 2 * near

    last: dict[Pair, arb] = {}
    for _, lefts, beyonds, gaps in blocks(family, rate, "proving a Rényi divergence"):
        for k, gap in enumerate(gaps):
            left, beyond = [row[k] for row in lefts], [row[k] for row in beyonds]
            here = sums.terms([a + b for a, b in zip(left, beyond, strict=True)])
            for order, term in here.items():
                sums.sums[order] += term if last else term * (1 + tail)
            last = here
            if gap > 1:
                inside(left, beyond, gap)
    for order, term in last.items():
        sums.sums[order] += term * tail
    return sums.divergences(family, (1 - q) / (1 + q))


_PRECISION = 128


def coupling_bounds(family: Family, noise: LatticeNoise, alpha: Fraction) -> list[PairLoss]:
    """For each pair, log E exp((a-1) D_a(zeta_X, zeta_Y)) / (a-1) under the monotone coupling, rounded up.

    (JC): sum P^a Q^(1-a) is jointly convex in (P, Q), so it is at most its mean over any coupling; the noise is
    symmetric, so one number serves both orders. The points are lattice indices, the noise is on the same lattice."""
    found, grid = [], noise.grid or Fraction(1)
    for pair, label in family.different:
        plan = monotone(family.points, family.laws[pair[0]], family.laws[pair[1]])
        distances, where = np.unique(plan.distances, return_inverse=True)
        sums = plan.sums(where, len(distances)).tolist()  # cells at the same distance are joined first
        with balls.precision(_PRECISION):
            mean = arb(0)
            for k, (steps, mass) in enumerate(zip(distances.tolist(), sums, strict=True)):
                mean += arb(fmpz(mass)) * ball_log_cost(noise, alpha, steps * grid).exp()
                if k % 4096 == 0:
                    report("proving the coupling", k, len(sums))
            loss = max(0.0, balls.upper((mean / arb(fmpz(plan.total))).log() / balls.of(alpha - 1)))
        found.append(PairLoss(label, loss, pair))
    return found or [PairLoss("", 0.0)]


# Laws given likely events: leave out a share delta of the mass where it costs most.
#
# Let gamma be a sub-coupling (row sums at most p, column sums at most q) of mass 1 - d, d <= delta. Accept x with
# probability gamma(x, .) / p(x) and y with gamma(., y) / q(y): events of probability 1 - d under the two secrets, given
# which the laws are the normalised margins of gamma, and gamma itself couples them. So the divergence of the
# conditioned outputs is that of the margins, at most log(sum c gamma / (1 - d)) / (a - 1), in both orders for symmetric
# noise.


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
    return Coupling(rows, columns, found.masses, sum(found.masses.tolist()), distances[found.rows, found.columns])


def margins(family: Family, plan: Coupling, label: str) -> Family:
    """The two normalised margins of a sub-coupling, as a pair of laws on the family's points."""
    total, size = int(plan.masses.sum()), len(family.points)
    sums = (plan.sums(where, size) for where in (plan.rows, plan.columns))
    return Family(
        family.points, tuple(Masses(compact(each, total), Fraction(total)) for each in sums), ((0, 1),), (label,)
    )


def unmoved(family: Family, pair: tuple[int, int], delta: Fraction) -> float:
    """Without noise: nothing is lost if all but delta of the mass can stay where it is."""
    i, j = pair
    return 0.0 if closeness_index(family.points, family.laws[i], family.laws[j], delta) == 0 else math.inf
