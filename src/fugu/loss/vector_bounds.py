"""Proved losses of independent lattice noise in every coordinate, on discrete laws of vectors, pair by pair.

Points are lattice indices, distances whole steps. Laplace noise goes with the l1 norm, Gaussian noise with l2."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu import balls
from fugu.errors import NotProvable
from fugu.exact import Real, float_up
from fugu.guarantee.conversion import exact_delta
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.vectors import VectorFamily
from fugu.loss.bounds import Noise
from fugu.loss.cost import ball_log_cost, log_cost
from fugu.loss.decay import Reader
from fugu.loss.proof import PairLoss
from fugu.loss.shift import shift_renyi
from fugu.loss.vector_exact import LARGEST, prove_vector_pure, vertices
from fugu.noise import Gaussian, Laplace
from fugu.transport.bottleneck import bottleneck, kept_within
from fugu.transport.cells import SubCoupling
from fugu.transport.plan import optimal_plan
from fugu.transport.space import Space, in_space

_PRECISION = 128
ORDERS = (Fraction(5, 4), Fraction(3, 2), *map(Fraction, (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)))
PLANNED = 4_000_000
"""Pairs of atoms up to which an optimal plan is looked for."""


def vector_pure(family: VectorFamily, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """max log ratio of every pair: on the product grid where it is small enough, else W_inf (l1) times the rate."""
    _require_exact(family)
    if noise.scale == 0 or isinstance(noise, Gaussian):
        # Gaussian noise bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either
        return [PairLoss(label, _ratio(family, pair), pair) for pair, label in family.different]
    tight = {loss.pair: loss for loss in prove_vector_pure(family, noise.rate)} if vertices(family) <= LARGEST else {}
    found = []
    for pair, label in family.different:
        if (loss := tight.get(pair)) is not None and loss.within(epsilon):
            found.append(loss)
            continue
        moved = Fraction(bottleneck(space_of(family, pair, 1), Fraction(0))[0]) * noise.rate
        value = min(float_up(moved), loss.value if loss else math.inf)
        found.append(PairLoss(label, value, pair, met=moved <= epsilon))
    return found


def vector_renyi(family: VectorFamily, noise: Noise, alpha: Fraction) -> list[PairLoss]:
    """D_alpha of every pair: the least of R_alpha(noise, W_inf) and the expected cost of a plan (joint convexity)."""
    _require_exact(family)
    found = []
    for pair, label in family.different:
        if noise.scale == 0:
            found.append(PairLoss(label, max(_divergence(family, p, alpha) for p in (pair, pair[::-1])), pair))
            continue
        space = space_of(family, pair, 1 if isinstance(noise, Laplace) else 2)
        reach = bottleneck(space, Fraction(0))[0]
        value = _within(noise, reach, alpha)
        if len(space.x) * len(space.y) <= PLANNED:
            value = min(value, plan_loss(space, plan_for(space, noise, alpha), noise, alpha))
        found.append(PairLoss(label, value, pair))
    return found


def vector_delta(family: VectorFamily, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """delta(epsilon) of every pair. Laplace: the mass that no coupling brings within epsilon x scale in l1 (Chen and
    Ohrimenko 2023, Theorem 4.2). Gaussian: the best conversion of the divergences at several orders."""
    _require_exact(family)
    if noise.scale == 0:
        return [
            PairLoss(label, max(_excess(family, p, epsilon) for p in (pair, pair[::-1])), pair)
            for pair, label in family.different
        ]
    if isinstance(noise, Laplace):
        steps = epsilon / noise.rate
        found = []
        for pair, label in family.different:
            space = space_of(family, pair, 1)
            kept = kept_within(space, math.floor(steps / _unit(space)))
            found.append(PairLoss(label, float_up(1 - kept), pair))
        return found
    losses = [vector_renyi(family, noise, alpha) for alpha in ORDERS]
    found = []
    for k, (pair, label) in enumerate(family.different):
        values = {a: loss[k].value for a, loss in zip(ORDERS, losses, strict=True)}
        orders: dict[Real, Real] = {a: Fraction(value) for a, value in values.items() if math.isfinite(value)}
        found.append(PairLoss(label, exact_delta(orders, epsilon) if orders else 1.0, pair))
    return found


def space_of(family: VectorFamily, pair: tuple[int, int], norm: int) -> Space:
    """The two laws of a pair, in lattice steps."""
    p, q = (Discrete(family.points, _weights(family.laws[k])) for k in pair)
    return in_space(p, q, norm)


def _unit(space: Space) -> int:
    """How many lattice steps one unit of the space is: it may stand on a coarser lattice that holds all its atoms."""
    if space.unit is None:
        raise NotProvable("the vectors are too far apart, in lattice steps, to be told apart exactly; coarsen the grid")
    assert space.unit.denominator == 1
    return int(space.unit)


def steps_moved(space: Space, plan: SubCoupling) -> NDArray[np.int64]:
    """|x - y| in lattice steps, coordinate by coordinate, for every cell of a plan."""
    apart: NDArray[np.int64] = np.abs(space.x[plan.rows] - space.y[plan.columns]).astype(np.int64) * _unit(space)
    return apart


def costs_of(space: Space, noise: Noise, alpha: Fraction) -> NDArray[np.float64]:
    """The log costs of all pairs of atoms: for independent noise the sum over coordinates."""
    grid = float(noise.grid or 1)
    costs = np.zeros((len(space.x), len(space.y)))
    for column in range(space.x.shape[1]):
        apart = np.abs(space.x[:, None, column] - space.y[None, :, column]) * (_unit(space) * grid)
        costs += log_cost(noise, float(alpha), apart.ravel()).reshape(costs.shape)
    return costs


def plan_for(space: Space, noise: Noise, alpha: Fraction, costs: NDArray[np.float64] | None = None) -> SubCoupling:
    """A coupling of little expected cost, its marginals exact."""
    total = Fraction(space.total)
    known = costs_of(space, noise, alpha) if costs is None else costs
    return optimal_plan(known, Masses(space.a, total), Masses(space.b, total))


def plan_loss(space: Space, plan: SubCoupling, noise: Noise, alpha: Fraction) -> float:
    """log E exp((a-1) sum_j h_a(X_j - Y_j)) / (a-1) of a plan, in balls and rounded up."""
    apart = steps_moved(space, plan)
    grid = noise.grid or Fraction(1)
    with balls.precision(_PRECISION):
        known = {int(k): ball_log_cost(noise, alpha, int(k) * grid) for k in np.unique(apart).tolist()}
        mean = arb(0)
        for steps, mass in zip(apart.tolist(), plan.masses.tolist(), strict=True):
            mean += arb(fmpz(mass)) * sum((known[k] for k in steps), arb(0)).exp()
        return max(0.0, balls.upper((mean / arb(fmpz(plan.total))).log() / balls.of(alpha - 1)))


def _within(noise: Noise, steps: float, alpha: Fraction) -> float:
    """R_alpha of a shift by at most that many steps in the noise's own norm.

    Laplace: a vertex of the l1 ball. Gaussian: alpha |k|^2 grid^2 / (2 scale^2) holds for every lattice shift k."""
    if isinstance(noise, Laplace):
        return shift_renyi(noise, int(steps) * (noise.grid or 1), alpha)
    with balls.precision(_PRECISION):
        return balls.upper(balls.of(alpha * noise.precision) * balls.of(steps) ** 2)


def _ratio(family: VectorFamily, pair: tuple[int, int]) -> float:
    """The largest |log ratio| of the masses themselves; inf where one law has an atom that the other lacks."""
    p, q = (family.laws[k] for k in pair)
    held = (p.parts != 0) | (q.parts != 0)
    if np.any((p.parts != 0)[held] != (q.parts != 0)[held]):
        return math.inf
    (a, s), (b, t) = p.whole(), q.whole()
    ratios = [Fraction(x * t, y * s) for x, y in zip(a, b, strict=True) if x]
    with balls.precision(_PRECISION):
        return balls.upper(balls.of(max(*ratios, *(1 / r for r in ratios))).log())


def _divergence(family: VectorFamily, order: tuple[int, int], alpha: Fraction) -> float:
    """D_alpha of the masses themselves."""
    p, q = (family.laws[k] for k in order)
    if np.any((p.parts != 0) & (q.parts == 0)):
        return math.inf
    with balls.precision(_PRECISION):
        read, a = (Reader(p), Reader(q)), balls.of(alpha)
        share = (balls.of(1 / p.total), balls.of(1 / q.total))
        total = arb(0)
        for k in np.flatnonzero(p.parts != 0).tolist():
            total += (read[0](k) * share[0]) ** a * (read[1](k) * share[1]) ** (1 - a)
        return max(0.0, balls.upper(total.log() / (a - 1)))


def _excess(family: VectorFamily, order: tuple[int, int], epsilon: Fraction) -> float:
    """sum of (p - e^epsilon q)_+ over the atoms."""
    p, q = (family.laws[k] for k in order)
    with balls.precision(_PRECISION):
        e = balls.of(epsilon).exp()
        read, share = (Reader(p), Reader(q)), (balls.of(1 / p.total), balls.of(1 / q.total))
        total = arb(0)
        for k in range(len(family.points)):
            part = (read[0](k) * share[0] - e * read[1](k) * share[1]).upper()
            if part > 0:
                total += part
        return min(1.0, balls.upper(total))


def _weights(law: Masses) -> list[Fraction]:
    numerators, total = law.whole()
    return [Fraction(n, total) for n in numerators]


def _require_exact(family: VectorFamily) -> None:
    if family.inexact:
        raise NotProvable("laws of vectors that are known up to an error only are not supported; give them exactly")
