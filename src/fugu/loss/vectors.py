"""Proved losses of independent lattice noise in every coordinate, on discrete laws of vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Divergences, PairLoss, Ratio
from fugu.guarantee.kinds import exact_delta, pure_as_renyi
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.atoms import ball_masses, bare_divergences, forwards, prove_delta, prove_pure
from fugu.loss.blocks import Bracket, block_delta, block_divergence
from fugu.loss.cost import ball_log_cost, log_cost
from fugu.loss.leakage import Leakage, largest
from fugu.loss.shifts import gaussian_mu, shift_renyi
from fugu.loss.vectors_gaussian import levelled_delta, shift_delta, smooth_delta, smooth_plan, wide
from fugu.noise import Gaussian, Laplace, LatticeNoise
from fugu.noise.kind import kind_of
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_up, integers
from fugu.transport.coupling import Coupling
from fugu.transport.matching import Space, bottleneck, in_space, kept_within
from fugu.transport.plan import optimal_plan

# Points are lattice indices, distances whole steps. Laplace noise goes with the l1 norm, Gaussian noise with l2.


_PRECISION = 128
ORDERS = (Fraction(5, 4), Fraction(3, 2), *map(Fraction, (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)))
IMPLIED = 2_000
"""Vertices of the product grid up to which a divergence is also bounded by the exact pure epsilon."""
PLANNED = 4_000_000
"""Pairs of atoms up to which an optimal plan is looked for."""
_LARGE = 600.0
"""A pure epsilon of this size implies nothing useful."""


@final
class SpaceLeakage(Leakage[Family, Laplace | Gaussian]):
    """Independent noise in every coordinate: bounds by couplings, plans and the exact ratio on the product grid
    (docs/proofs/vectors.md). Distances are in the norm of the noise, l1 for Laplace and l2 for Gaussian noise."""

    def pure(self, item: Family, noise: Laplace | Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """max log ratio of every pair: on the product grid where it is small enough, else W_inf (l1) times the rate,
        or what the laws lose without noise."""
        require_exact(item)
        if noise.scale == 0 or isinstance(noise, Gaussian):
            # Gaussian noise bounds no ratio by itself, but what the laws do not lose, they do not lose after it either
            return prove_pure(item, None)[: len(item.different)]
        tight = {loss.pair: loss for loss in prove_vector_pure(item, noise.rate)} if vertices(item) <= LARGEST else {}
        bare = {} if tight else {loss.pair: loss.value for loss in prove_pure(item, None)}
        found = []
        for pair, label in item.different:
            if (loss := tight.get(pair)) is not None and loss.within(epsilon):
                found.append(loss)
                continue
            space = space_of(item, pair, 1)
            if loss is not None and len(space.x) * len(space.y) > PLANNED:
                found.append(loss)  # the distance would only settle equality, and its flow could be too large
                continue
            moved = Fraction(bottleneck(space, Fraction(0))[0]) * noise.rate
            value = min(float_up(moved), loss.value if loss else bare[pair])
            found.append(PairLoss(label, value, pair, met=moved <= epsilon))
        return found

    def delta(self, item: Family, noise: Laplace | Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """delta(epsilon) of every pair: the sum over blocks of outputs (`fugu.loss.blocks`); where it does not decide,
        the least of it and of what couplings imply; at most that of the laws without noise."""
        require_exact(item)
        found, narrow = [], True
        for loss in prove_delta(item, None, epsilon)[: len(item.different)]:
            if noise.scale > 0:
                sums = block_delta(item, loss.pair, noise, epsilon, float(delta))
                loss = replace(loss, value=min(loss.value, sums.high))  # noqa: PLW2901
                narrow &= sums.low > delta * (1 + 1e-9) or loss.within(delta) if delta else sums.narrow
            found.append(loss)
        return found if narrow else _least(found, self.coupled_delta(item, noise, epsilon, delta))

    def coupled_delta(
        self, item: Family, noise: Laplace | Gaussian, epsilon: Fraction, delta: Fraction
    ) -> list[PairLoss]:
        """Laplace: the mass that no coupling brings within epsilon x scale in l1 (Chen and Ohrimenko 2023, Theorem
        4.2), compared with `delta` in rationals; or, where that is more, what the pure epsilon implies. Gaussian: the
        analytic curve, averaged over a plan or one with levels, or for noise of few steps the best conversion of the
        divergences."""
        found = []
        if isinstance(noise, Laplace):
            for pair, label in item.different:
                space = space_of(item, pair, 1)
                missed = 1 - kept_within(space, math.floor(epsilon / noise.rate / unit_of(space)))
                found.append(PairLoss(label, float_up(missed), pair, met=missed <= delta))
            if all(loss.within(delta) for loss in found):
                return found
            pure = [pure_as_delta(loss.value, epsilon) for loss in self.pure(item, noise, epsilon)]
            return [replace(loss, value=min(loss.value, other)) for loss, other in zip(found, pure, strict=True)]
        if wide(noise):
            for pair, label in item.different:
                space = space_of(item, pair, 2)
                if len(space.x) * len(space.y) <= PLANNED:
                    plan = smooth_plan(space, unit_of(space), noise, epsilon)
                    curve = smooth_delta(space, unit_of(space), noise, epsilon, plan)
                    curve = (
                        curve if curve <= delta else min(curve, levelled_delta(space, unit_of(space), noise, epsilon))
                    )
                else:  # too many atoms for a plan: at the largest distance
                    curve = shift_delta(bottleneck(space, Fraction(0))[0], space.x.shape[1], noise, epsilon)
                found.append(PairLoss(label, curve, pair))
            return found
        losses = [self.coupled_divergence(item, noise, alpha) for alpha in ORDERS]
        for k, (pair, label) in enumerate(item.different):
            values = {a: loss[k].value for a, loss in zip(ORDERS, losses, strict=True)}
            orders: dict[Real, Real] = {a: Fraction(value) for a, value in values.items() if math.isfinite(value)}
            found.append(PairLoss(label, exact_delta(orders, epsilon) if orders else 1.0, pair))
        return found

    def divergence(self, item: Family, noise: Laplace | Gaussian, alpha: Fraction) -> list[PairLoss]:
        """D_alpha of every pair: the sum over blocks of outputs, to the last digits; or the least of it and of what
        couplings imply; at most that of the laws without noise."""
        require_exact(item)
        found, sharp = [], True
        for (pair, label), bare in zip(item.different, bare_divergences(item, alpha), strict=True):
            sums = Bracket(bare, bare) if noise.scale == 0 else block_divergence(item, pair, noise, alpha)
            found.append(PairLoss(label, min(bare, sums.high), pair))
            sharp &= noise.scale == 0 or sums.high <= sums.low * (1 + 1e-9)
        return found if sharp else _least(found, self.coupled_divergence(item, noise, alpha))

    def coupled_divergence(self, item: Family, noise: Laplace | Gaussian, alpha: Fraction) -> list[PairLoss]:
        """The least of R_alpha(noise, W_inf), the expected cost of a plan (joint convexity), and for Laplace noise what
        its exact pure epsilon implies."""
        found = []
        tight: dict[tuple[int, int], float] = {}
        if isinstance(noise, Laplace) and vertices(item) <= IMPLIED:
            losses = prove_vector_pure(item, noise.rate)
            tight = {x.pair: pure_as_renyi(Fraction(x.value), alpha) for x in losses if math.isfinite(x.value)}
        for pair, label in item.different:
            space = space_of(item, pair, noise.norm)
            least = [_within(noise, bottleneck(space, Fraction(0))[0], alpha), tight.get(pair, math.inf)]
            if len(space.x) * len(space.y) <= PLANNED:
                least.append(plan_loss(space, plan_for(space, noise, alpha), noise, alpha))
            found.append(PairLoss(label, min(least), pair))
        return found

    def guess(self, item: Family, steps: float, ask: Ask) -> float:
        """The largest ratio on the product grid; or the sum over blocks, where that is not narrow at most what the
        largest ratio of Laplace noise implies. In doubles."""
        from fugu.loss.search.shapes import fast_vector_pure

        noise: Laplace | Gaussian = kind_of(self.noise).at(steps, Fraction(1))  # type: ignore[assignment]
        laplace, few = isinstance(noise, Laplace), vertices(item)

        def loss(
            bare: list[float],
            goal: float,
            block: Callable[[tuple[int, int]], Bracket],
            implied: Callable[[float], float],
        ) -> float:
            if steps == 0:
                return max(bare)
            sums = [block(pair) for pair, _ in item.different]
            known = max(min(one.low if one.low > goal else one.high, own) for one, own in zip(sums, bare, strict=True))
            if known > goal and laplace and few <= LARGEST:
                return min(known, implied(min(fast_vector_pure(item, steps), _LARGE)))
            return known

        if isinstance(ask, Divergences):
            goals = {alpha: float(epsilon) for alpha, epsilon in ask.orders}
            return ask.excess(lambda alpha: loss(
                bare_divergences(item, alpha), goals[alpha],
                lambda pair: block_divergence(item, pair, noise, alpha, goals[alpha], proved=False),
                lambda pure: pure_as_renyi(Fraction(pure), alpha),
            ))  # fmt: skip
        if ask.delta:
            return loss(
                [x.value for x in prove_delta(item, None, ask.epsilon)[: len(item.different)]], ask.target,
                lambda pair: block_delta(item, pair, noise, ask.epsilon, ask.target, proved=False),
                lambda pure: pure_as_delta(pure, ask.epsilon),
            )  # fmt: skip
        if few > LARGEST:
            raise NotProvable(f"the product grid of the coordinates has {few} points, more than {LARGEST}")
        return fast_vector_pure(item, steps)

    def resolution(self, ask: Ask) -> float:
        """Of sums over blocks what is well below their own width."""
        return super().resolution(ask) if isinstance(ask, Ratio) and ask.pure else 1e-6

    def start(self, item: Family, ask: Ask) -> tuple[float, float]:
        """What a shift by the whole range needs, for ratios one by W_inf; Laplace noise of range / epsilon suffices."""
        sure = math.inf
        if isinstance(ask, Ratio) and ask.pure:
            reach = max(bottleneck(space_of(item, pair, 1), Fraction(0))[0] for pair, _ in item.different)
            sure = float_up(Fraction(reach) / ask.epsilon)
            return sure * (1 + 1e-9), sure
        far = np.ptp(item.points, axis=0).astype(np.float64)
        length = float(far.sum() if self.noise == Laplace.name else np.sqrt((far * far).sum()))
        if isinstance(ask, Divergences):
            high = ask.start(length)
        elif self.noise == Laplace.name:
            high = length / max(float(ask.epsilon), 2 * ask.target)
            sure = float_up(Fraction(length) / ask.epsilon) if ask.epsilon else sure
        else:
            high = length / gaussian_mu(ask.epsilon, ask.target)
        high = 1.01 * high + 1  # a lattice asks for a little more, and brackets have a width
        if self.guess(item, high, ask) > ask.target:
            raise NotProvable("the outputs are too many for sums over blocks of them")
        return high, sure

    def conditioned(self, item: Family, noise: Laplace | Gaussian, alpha: Fraction, delta: Fraction) -> Family:
        """The pair given the events of probability at least 1 - delta that bring the laws closest: the normalised
        margins of a sub-coupling of least distance (`fugu.loss.divergence`)."""
        from fugu.loss.divergence import margins

        return margins(item, bottleneck(space_of(item, item.pairs[0], noise.norm), delta)[1], item.labels[0])

    def coupled(self, item: Family, pair: tuple[int, int], noise: Laplace | Gaussian) -> Fraction | None:
        """Of Laplace noise W_inf x rate."""
        if noise.silent or isinstance(noise, Gaussian):
            return None
        return Fraction(bottleneck(space_of(item, pair, noise.norm), Fraction(0))[0]) * noise.rate

    def leak(self, item: Family, noise: Laplace | Gaussian) -> None:
        """None: only bounds are known."""

    def given(self, item: Family, noise: Laplace | Gaussian) -> tuple[Family, Laplace | Gaussian]:
        """Laws in lattice steps, and the noise on that lattice. Continuous Laplace noise has the ratios of lattice
        noise at the points of any lattice that holds all atoms; the Gaussian bounds hold for both."""
        lattice = Lattice.holding([item.points]) if noise.grid is None else Lattice(noise.grid)
        if lattice is None:
            raise NotProvable("coordinates that are not short decimals stand on no lattice; round them first")
        step, points = decimal_step(item.points), item.points
        exact = (as_fraction(x) for x in np.unique(points).tolist())
        if step is not None:
            exact = (int(k) * step for k in np.unique(integers(points, step)).tolist())
        if noise.grid is not None and any((x / lattice.grid).denominator != 1 for x in exact):
            raise BadNoise("some atoms are off the lattice of this grid; round the laws onto it first (calibrate does)")
        return item.on(lattice), noise.at(noise.scale, lattice.grid)

    def delta_at(self, item: Family, noise: Laplace | Gaussian, epsilon: Real) -> float:
        """A proved delta(epsilon), by bounds that hold for continuous and for lattice noise."""
        if isinstance(noise, Laplace) or noise.grid is not None or noise.silent:
            return min(1.0, super().delta_at(item, noise, epsilon))
        laws, drawn = self.given(item, noise)
        require_exact(laws)
        bare = prove_delta(laws, None, as_fraction(epsilon))[: len(laws.different)]
        coupled = self.coupled_delta(laws, drawn, as_fraction(epsilon), Fraction(0))
        return min(1.0, largest(_least(bare, coupled)))

    def renyi(self, item: Family, noise: Laplace | Gaussian, alpha: Fraction) -> float:
        """A proved bound on D_alpha; of continuous noise by joint convexity, and of continuous Laplace noise none."""
        if noise.grid is not None or noise.silent:
            return super().renyi(item, noise, alpha)
        if isinstance(noise, Laplace):
            raise NotProvable("for vectors the divergence is bounded for lattice noise; give the noise a grid")
        laws, drawn = self.given(item, noise)
        require_exact(laws)
        coupled = [loss.value for loss in self.coupled_divergence(laws, drawn, alpha)]
        return max(map(min, coupled, bare_divergences(laws, alpha)), default=0.0)


@final
class SpaceDirected(Leakage[Family, DirectedLaplace]):
    """Laplace noise along whole directions, on translates of laws of vectors (docs/proofs/directed.md): exact
    rationals, the whole multiples of the directions that make up the shift."""

    def pure(self, item: Family, noise: DirectedLaplace, epsilon: Fraction) -> list[PairLoss]:
        """sum_j |z_j| / t_j for translates; infinite where the shift leaves the directions."""
        found = []
        for pair, label in item.different:
            ends = []
            for number in pair:
                held = np.flatnonzero(item.laws[number].parts != 0)
                if len(held) != 1 or item.blurred(pair):
                    raise NotProvable("noise along directions is proved for translates; these laws have several atoms")
                ends.append(item.points[held[0]])
            loss = noise.loss(tuple(int(x) for x in np.atleast_1d(ends[1] - ends[0])))
            value = math.inf if loss is None else float_up(loss)
            found.append(PairLoss(label, value, pair, met=loss is not None and loss <= epsilon))
        return found

    def delta(self, item: Family, noise: DirectedLaplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """By conversion from the pure loss."""
        return [
            PairLoss(loss.label, pure_as_delta(loss.value, epsilon), loss.pair)
            for loss in self.pure(item, noise, epsilon)
        ]


def _least(first: list[PairLoss], second: list[PairLoss]) -> list[PairLoss]:
    """Pair by pair the lesser of two bounds; what meets exactly does."""
    return [replace(b, value=min(a.value, b.value)) for a, b in zip(first, second, strict=True)]


def pure_as_delta(pure: float, epsilon: Fraction) -> float:
    """The largest delta(epsilon) of a pair that is `pure`-pure: (e^pure - e^epsilon)_+ / (e^pure + 1), that of
    randomised response (Kairouz, Oh and Viswanath 2015, Theorem 3.4; docs/proofs/vectors.md)."""
    if math.isinf(pure):
        return 1.0
    if Fraction(pure) <= epsilon:
        return 0.0
    with balls.precision(_PRECISION):
        most = balls.of(pure).exp()
        return min(1.0, max(0.0, balls.upper((most - balls.of(epsilon).exp()) / (most + 1))))


def space_of(family: Family, pair: tuple[int, int], norm: int) -> Space:
    """The two laws of a pair, in lattice steps."""
    whole = (family.laws[k].whole() for k in pair)
    p, q = (Discrete(family.points, [Fraction(n, total) for n in numerators]) for numerators, total in whole)
    return in_space(p, q, norm)


def unit_of(space: Space) -> int:
    """How many lattice steps one unit of the space is: it may stand on a coarser lattice that holds all its atoms."""
    if space.unit is None or space.unit.denominator != 1:
        raise NotProvable("the vectors are too far apart, in lattice steps, to be told apart exactly; coarsen the grid")
    return int(space.unit)


def steps_moved(space: Space, plan: Coupling) -> NDArray[np.int64]:
    """|x - y| in lattice steps, coordinate by coordinate, for every cell of a plan."""
    apart: NDArray[np.int64] = np.abs(space.x[plan.rows] - space.y[plan.columns]).astype(np.int64) * unit_of(space)
    return apart


def plan_for(space: Space, noise: LatticeNoise, alpha: Fraction, costs: NDArray[np.float64] | None = None) -> Coupling:
    """A coupling of little expected cost, its marginals exact."""
    if costs is None:  # the log costs of all pairs of atoms: for independent noise the sum over coordinates
        costs, step = np.zeros((len(space.x), len(space.y))), unit_of(space) * float(noise.grid or 1)
        for column in range(space.x.shape[1]):
            apart = np.abs(space.x[:, None, column] - space.y[None, :, column]) * step
            costs += log_cost(noise, float(alpha), apart.ravel()).reshape(costs.shape)
    total = Fraction(space.total)
    return optimal_plan(costs, Masses(space.a, total), Masses(space.b, total))


def plan_loss(space: Space, plan: Coupling, noise: LatticeNoise, alpha: Fraction) -> float:
    """log E exp((a-1) sum_j h_a(X_j - Y_j)) / (a-1) of a plan that moves all mass, in balls and rounded up."""
    if plan.kept != 1:
        raise NotProvable("a plan that leaves mass where it is bounds no divergence; give one with both whole margins")
    apart = steps_moved(space, plan)
    grid = noise.grid or Fraction(1)
    with balls.precision(_PRECISION):
        known = {int(k): ball_log_cost(noise, alpha, int(k) * grid) for k in np.unique(apart).tolist()}
        mean = arb(0)
        for steps, mass in zip(apart.tolist(), plan.masses.tolist(), strict=True):
            mean += arb(fmpz(mass)) * sum((known[k] for k in steps), arb(0)).exp()
        return max(0.0, balls.upper((mean / arb(fmpz(plan.total))).log() / balls.of(alpha - 1)))


def _within(noise: LatticeNoise, steps: float, alpha: Fraction) -> float:
    """R_alpha of a shift by at most that many steps in the noise's own norm.

    Laplace: a vertex of the l1 ball. Gaussian: alpha |k|^2 grid^2 / (2 scale^2) holds for every lattice shift k."""
    if isinstance(noise, Laplace):
        return shift_renyi(noise, int(steps) * (noise.grid or 1), alpha)
    with balls.precision(_PRECISION):
        return balls.upper(balls.of(alpha * noise.precision) * balls.of(steps) ** 2)


# The exact pure epsilon of d-dimensional Laplace noise on discrete laws: the largest ratio on the product grid.
#
# Along one coordinate, between neighbouring atoms' values, each noised law is e^{-y/b} (A e^{2y/b} + B) with A, B >= 0
# that do not depend on y: the ratio of two laws is a ratio of affine functions of e^{2y/b}, hence monotone, and
# constant beyond the outermost values. So its extremes lie where every coordinate is that of some atom: on the product
# grid of coordinate values, **not** on the atoms alone. Lattice and continuous noise have the same ratios there.


LARGEST = 60_000
"""Product grids of more vertices are not enumerated."""


def vertices(family: Family) -> int:
    """How many points the product grid of the atoms' coordinates has."""
    return math.prod(len(np.unique(column)) for column in family.points.T)


def prove_vector_pure(family: Family, rate: Fraction | None) -> list[PairLoss]:
    """For each pair an epsilon with S_i <= e^epsilon S_j and the reverse at every vertex, hence everywhere; in balls.

    `rate` is grid / scale; None means no noise. The family's points are lattice indices."""
    with balls.precision(_PRECISION):
        axes, places = grid_of(family)
        shape = [len(axis) for axis in axes]
        rows = []
        for law in family.laws:
            dense = [arb(0)] * math.prod(shape)
            for place, mass in zip(np.ravel_multi_index(places, shape).tolist(), ball_masses(law), strict=True):
                dense[place] = mass
            rows.append(dense if rate is None else _spread_balls(dense, axes, rate))
        losses = []
        for (i, j), label in family.different:
            worst = arb(1)
            for a, b in zip(rows[i], rows[j], strict=True):
                worst = balls.raised(balls.raised(worst, a, b), b, a)
            losses.append(PairLoss(label, balls.upper(worst.log()), (i, j)))
        return losses


def _spread_balls(dense: list[arb], axes: list[NDArray[np.int64]], rate: Fraction) -> list[arb]:
    """`_spread` in balls, on the flat list of vertices."""
    r = balls.of(rate)
    shape = [len(axis) for axis in axes]
    for number, axis in enumerate(axes):
        factors = [(-r * int(gap)).exp() for gap in np.diff(axis).tolist()]
        stride = math.prod(shape[number + 1 :])
        ranges = [range(n) for k, n in enumerate(shape) if k != number]
        strides = [math.prod(shape[k + 1 :]) for k in range(len(shape)) if k != number]
        for rest in itertools.product(*ranges):
            start = sum(i * s for i, s in zip(rest, strides, strict=True))
            line = slice(start, start + stride * len(axis), stride)
            # sum_k m_k q^{|y - x_k|} along one line of vertices
            mass = dense[line]
            left, right = forwards(mass, factors), forwards(mass[::-1], factors[::-1])[::-1]
            inner = (here + q * beyond for here, q, beyond in zip(left, factors, right[1:], strict=False))
            dense[line] = [*inner, left[-1]]
    return dense


def grid_of(family: Family) -> tuple[list[NDArray[np.int64]], tuple[NDArray[np.int64], ...]]:
    """The coordinate values along every axis, and the place of every atom on their product."""
    found = [np.unique(column, return_inverse=True) for column in family.points.T]
    return [axis for axis, _ in found], tuple(np.asarray(where).ravel() for _, where in found)


def require_exact(family: Family) -> None:
    """Refuse laws known up to an error."""
    if family.inexact:
        raise NotProvable("laws of vectors that are known up to an error only are not supported; give them exactly")
