"""Two explicit joint laws of a whole data sequence: what the last iterate leaks under the best coupling of the two."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import BadLaw, BadNoise, NotProvable, UsageError
from fugu.guarantee import Renyi
from fugu.guarantee.asks import check_epsilon
from fugu.laws import Discrete
from fugu.laws.family import Family, distinct
from fugu.laws.masses import Masses
from fugu.loss.atoms import bare_divergences, prove_delta
from fugu.loss.cost import finite_order, log_cost
from fugu.loss.search.normal import fast_gaussian_log_delta
from fugu.noise import Laplace
from fugu.numbers.exact import Real, VectorLike, as_fraction, float_up, is_whole, meant_up
from fugu.training.allocation import UNIT, Floats, Squares, Steps, covered, mixed
from fugu.training.bound import StepNoise, scales_of, shift_bound
from fugu.training.joint_coupling import MOST_PAIRS, apart
from fugu.transport.coupling import Coupling, one_total
from fugu.transport.plan import bottleneck_plan, optimal_plan

# For every coupling pi of the JOINT laws of X_1, ..., X_T given the two secrets, and noise independent of the data,
#
#     D_alpha <= 1 / (alpha - 1) log E_pi exp((alpha - 1) B_alpha(s)),      delta(epsilon) <= E_pi delta_G(epsilon, mu),
#
# s_t the shift of step t, a function of (X_t, X'_t); B_alpha the bound for two known sequences with these shifts, mu^2
# the least sum of squares that covers them (`covered`). Given (X, X') the sequences are known, and exp((alpha - 1)
# D_alpha) and the hockey stick are jointly convex (docs/proofs/iterations.md#2-data-with-a-joint-law). Both right sides
# are linear in pi: the best coupling is an optimal transport plan. Shifts are symmetric in the two records, B and
# delta_G in the order of the pair, so one plan serves both orders. The laws of the single X_t do not suffice, and the
# plain mean of B is not a bound. What the two laws lose without any noise bounds both, too (data processing): the
# lesser is taken.


def joint_bound(
    first: Discrete,
    second: Discrete,
    noise: StepNoise,
    alpha: Real,
    contraction: Real | VectorLike = 1.0,
    *,
    shift: Shift | None = None,
    dimension: int = 1,
) -> Renyi:
    """D_alpha of the last iterate in both orders, for two finite joint laws of the whole data sequence.

    Parameters:

    - `first`, `second`: the laws of (x_1, ..., x_T) given the two secrets, one atom per sequence.
    - `noise`: the standard deviation at every step (or one per step), `Gaussian` or `Laplace` (independent in
      `dimension` coordinates). `alpha`: a finite number above 1. `contraction`: the Lipschitz constant of a step, at
      most 1, or one per step.
    - `shift`: a function of (x, x'), how far a step on x and a step on x' bring the same iterate apart, at most; arrays
      whose last axis is the step. By default |x - x'|.

    Returns `Renyi(alpha, epsilon)`, rounded up. Raises `NotProvable` where there are too many pairs of sequences.

    Each record of this pair has one law under both secrets, so a rule from single records would say 0:

    >>> same, opposite = Discrete([[-1, -1], [1, 1]]), Discrete([[-1, 1], [1, -1]])
    >>> round(float(joint_bound(same, opposite, 1.0, 2).epsilon), 6)
    2.0
    """
    order = finite_order(alpha)
    pair = SequencePair.of(first, second, noise, contraction, shift, dimension=dimension)
    bare = max(bare_divergences(_family(pair), order), default=0.0)
    return Renyi(alpha, meant_up(min(bare, pair.divergence(pair.plan(alpha=order), order))))


def joint_delta(
    first: Discrete,
    second: Discrete,
    noise: StepNoise,
    epsilon: Real,
    contraction: Real | VectorLike = 1.0,
    *,
    shift: Shift | None = None,
) -> float:
    """delta(epsilon) of the last iterate in both orders, for Gaussian noise, rounded up.

    `first`, `second`, `noise`, `contraction` and `shift` are those of `joint_bound`; `epsilon` is a number >= 0. Never
    more than the divergences of `joint_bound` would give by conversion.

    >>> same, opposite = Discrete([[-1, -1], [1, 1]]), Discrete([[-1, 1], [1, -1]])
    >>> round(joint_delta(same, opposite, 4.0, 0.5), 6)
    0.015954
    """
    check_epsilon(epsilon)
    pair = SequencePair.of(first, second, noise, contraction, shift)
    moved = pair.delta(pair.plan(epsilon=epsilon), epsilon)
    bare = prove_delta(_family(pair), None, as_fraction(epsilon))[0].value if math.isfinite(epsilon) else 1.0
    return meant_up(min(bare, moved))


def joint_mu(
    first: Discrete,
    second: Discrete,
    noise: StepNoise,
    contraction: Real | VectorLike = 1.0,
    *,
    shift: Shift | None = None,
) -> float:
    """The least mu for which some coupling has its shifts covered within mu^2 for sure (Gaussian noise), from above.

    `first`, `second`, `noise`, `contraction` and `shift` are those of `joint_bound`.
    The outputs are then no easier to tell apart than N(0, 1) and N(mu, 1), at every epsilon and alpha at once. At one
    alpha or epsilon the best coupling, `joint_bound` or `joint_delta`, is at least as good.

    >>> round(joint_mu(Discrete([[0, 0], [0, 1]]), Discrete([[1, 0], [1, 1]]), 1.0) ** 2, 6)
    0.5
    """
    pair = SequencePair.of(first, second, noise, contraction, shift)
    return math.nextafter(math.sqrt(float(pair.squares(pair.plan()).max())), math.inf)


def _family(pair: SequencePair) -> Family:
    """Both laws on one support: what they lose without noise is a bound too, by data processing."""
    points, where = distinct(np.concatenate([pair.x, pair.y]))
    places = np.split(where, [len(pair.x)])
    laws = tuple(m.scatter(at, len(points)) for m, at in zip((pair.a, pair.b), places, strict=True))
    return Family(points, laws, ((0, 1),), ("the two laws",))


# One pair of joint laws of a data sequence: the search for a coupling of them, and the proof of what it costs.
#
# Any coupling gives a valid bound (`fugu.training.joint`). The search works in doubles and proves nothing; its plan is
# checked to have the marginals of the laws in integers, and then the cells of the plan alone are costed, from above.

Shift = Callable[[Floats, Floats], ArrayLike]
Indices = NDArray[np.int64]
_BLOCK = 1 << 16
_FARTHEST = 1e100


@dataclass(frozen=True, eq=False)
class SequencePair:
    """The sequences x and y that have mass under each secret, their exact masses, and the iteration they feed."""

    x: Floats
    y: Floats
    a: Masses
    b: Masses
    shift: Shift
    noise: Any
    contraction: Any
    count: int
    dimension: int

    @classmethod
    def of(
        cls,
        first: Discrete,
        second: Discrete,
        noise: Any,
        contraction: Any = 1.0,
        shift: Shift | None = None,
        *,
        steps: int | None = None,
        dimension: int = 1,
    ) -> SequencePair:
        """Check the laws, the noise and the contraction; `steps` if the iteration has not one step for each record."""
        for law in (first, second):
            if not isinstance(law, Discrete):
                raise BadLaw(f"expected two Discrete laws of sequences, got {type(law).__name__}")
            if law.error:
                raise NotProvable("a joint law known up to an error has no exact coupling; give the law exactly")
        if first.dimension != second.dimension:
            raise BadLaw(f"the sequences must have one length, got {first.dimension} and {second.dimension}")
        kept = [law.masses.parts != 0 for law in (first, second)]  # the sequences that have mass
        x, y = (s.values.reshape(len(s.values), -1)[k] for s, k in zip((first, second), kept, strict=True))
        a, b = (Masses(s.masses.parts[k], s.masses.total) for s, k in zip((first, second), kept, strict=True))
        if len(x) * len(y) > MOST_PAIRS:
            raise NotProvable(
                f"{len(x):,} and {len(y):,} sequences make more than {MOST_PAIRS:,} pairs; give laws of fewer "
                "sequences, or describe the dependence as a MarkovChain or by groups"
            )
        if not is_whole(dimension, least=1):
            raise UsageError(f"dimension must be a whole number of at least 1, got {dimension!r}")
        found = cls(x, y, a, b, shift or apart, noise, contraction, steps or x.shape[1], dimension)
        found.steps()
        return found

    def steps(self) -> Steps:
        """The noise and the contraction of the steps that matter, read and checked; their shifts are 0 here."""
        return Steps.read(np.zeros(self.count), scales_of(self.noise), self.contraction)

    def shifts(self, i: Indices, j: Indices) -> Floats:
        """The shifts of all steps for pairs of sequences, (pairs, T); the larger of both orders of the records."""
        x, y = self.x[i], self.y[j]
        try:
            there, back = (np.asarray(self.shift(*both), dtype=np.float64) for both in ((x, y), (y, x)))
        except (TypeError, ValueError):
            raise UsageError("shift must take two arrays of records and return an array of numbers") from None
        if not there.shape == back.shape == (len(x), self.count):
            raise UsageError(
                f"shift must return one number for each pair of records: {x.shape} numbers, got {there.shape}"
            )
        if not all(((s >= 0) & (s <= _FARTHEST)).all() for s in (there, back)):
            raise UsageError("a shift is a finite distance >= 0, below 1e100: bound it by 2 learning_rate lipschitz")
        if not np.allclose(there, back, rtol=1e-9, atol=0.0):
            raise UsageError("shift must be the same for (x, x') and (x', x): it is a distance of two maps")
        return np.maximum(there, back)

    @property
    def _laplace(self) -> bool:
        return isinstance(self.noise, Laplace)

    def plan(self, alpha: Fraction | None = None, epsilon: Real | None = None) -> Coupling:
        """A coupling that is best for a divergence, or for a delta; if neither is named, for the largest mu^2."""
        if alpha is None and epsilon is None:
            return bottleneck_plan(self._costs(None, None), self.a, self.b)
        return optimal_plan(self._costs(alpha, epsilon), self.a, self.b)

    def squares(self, plan: Coupling) -> Floats:
        """mu^2 of every cell of a coupling, from above."""
        if self._laplace:
            raise BadNoise("mu and delta are proved here for Gaussian noise; for Laplace noise ask for a divergence")
        return self._each(plan, lambda row: covered(row, scales_of(self.noise), self.contraction))

    def divergence(self, plan: Coupling, alpha: Fraction) -> float:
        """1 / (alpha - 1) log E exp((alpha - 1) B_alpha) of a coupling, from above; never the plain mean."""
        order = float_up(alpha)  # D_alpha does not decrease in alpha
        if not self._laplace:
            return self._cost(plan).renyi(1.0, order)

        def known(row: Floats) -> float:
            return float(shift_bound(row, self.noise, order, self.contraction, dimension=self.dimension).epsilon)

        return mixed(_chances(plan), self._each(plan, known) * (order - 1) * (1 + 4 * UNIT), order - 1)

    def delta(self, plan: Coupling, epsilon: Real) -> float:
        """E delta_G(epsilon, mu) of a coupling, from above."""
        return self._cost(plan).delta(1.0, epsilon)

    def _cost(self, plan: Coupling) -> Squares:
        """The squares of a coupling, with their chances."""
        return Squares(_chances(plan), self.squares(plan))

    def _each(self, plan: Coupling, cost: Callable[[Floats], float]) -> Floats:
        """What every cell of a plan costs. What is no coupling of the two laws is refused: its marginals are compared
        in integers."""
        a, b, total = one_total(self.a, self.b)
        scale = Fraction(plan.total, total)
        if plan.kept != 1 or scale.denominator != 1:
            raise NotProvable("a coupling must move all of the mass of both laws; this plan does not")
        whole = scale.numerator
        plan.checked(a.astype(object) * whole, b.astype(object) * whole, plan.total)
        rows, where = np.unique(self.shifts(plan.rows, plan.columns), axis=0, return_inverse=True)
        return np.array([cost(row) for row in rows], dtype=np.float64)[np.asarray(where).ravel()]

    def _costs(self, alpha: Fraction | None, epsilon: Real | None) -> Floats:
        """Log costs of all pairs in doubles, to search with; mu^2 if neither an alpha nor an epsilon is named."""
        found, steps = np.empty(len(self.x) * len(self.y)), self.steps()
        for low in range(0, found.size, _BLOCK):
            every = np.arange(low, min(low + _BLOCK, found.size))
            hidden = fast_allocation(self.shifts(*np.divmod(every, len(self.y))), steps)
            if alpha is not None and self._laplace:
                each = self.dimension * log_cost(self.noise, alpha, hidden / math.sqrt(self.dimension))
                found[every] = each.sum(axis=1)
                continue
            squares = np.square(hidden / steps.scales).sum(axis=1)
            if alpha is not None:
                squares = float(alpha * (alpha - 1) / 2) * squares
            elif epsilon is not None:
                squares = fast_gaussian_log_delta(float(epsilon), np.sqrt(squares))
            found[every] = squares
        return found.reshape(len(self.x), len(self.y))


def _chances(plan: Coupling) -> Floats:
    """The masses of the cells of a plan as chances, from above."""
    return np.array([float_up(Fraction(mass, plan.total)) for mass in plan.masses.tolist()])


def fast_allocation(shifts: Floats, steps: Steps) -> Floats:
    """`isotonic` for many rows of shifts at once, in doubles: it steers the search and proves nothing.

    Isotonic regression by its max-min formula, level_t = max over k <= t of min over l >= t of the mean of k .. l."""
    count = steps.shifts.size
    w = np.maximum(np.broadcast_to(steps.weights(), (count,)), 1e-150)
    v = np.broadcast_to(w * w * steps.scales**2, (count,))
    sums = np.concatenate([np.zeros((len(shifts), 1)), np.cumsum(shifts[:, -count:] * w, axis=1)], axis=1)
    levels = np.zeros((len(shifts), count))
    for k in range(count):
        slopes = (sums[:, k + 1 :] - sums[:, k : k + 1]) / np.cumsum(v[k:])
        least = np.minimum.accumulate(slopes[:, ::-1], axis=1)[:, ::-1]
        levels[:, k:] = np.maximum(levels[:, k:], least)
    return np.asarray(levels * v / w)
