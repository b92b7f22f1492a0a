"""Joint laws of a whole data sequence: what the last iterate leaks under the best coupling of two of them, and how
records move whose whole joint law is a table, `Joint`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fugu.errors import BadLaw, BadNoise, NotProvable, UsageError
from fugu.guarantee import Renyi
from fugu.guarantee.asks import check_epsilon
from fugu.laws import Discrete
from fugu.laws.family import Family, distinct
from fugu.laws.masses import Masses, masses
from fugu.loss.atoms import bare_divergences, prove_delta
from fugu.loss.cost import finite_order, log_cost
from fugu.loss.search.normal import fast_gaussian_log_delta
from fugu.noise import Laplace
from fugu.numbers.checks import is_number
from fugu.numbers.exact import MatrixLike, Real, VectorLike, as_fraction, float_up, is_whole, meant_up, read_number
from fugu.priors.coupling import Case, Coupled, Indices, Move, Price, Run
from fugu.priors.joint import JointTable
from fugu.training.allocation import UNIT, Floats, Squares, Steps, covered, fast_allocation, mixed
from fugu.training.bound import StepNoise, scales_of, shift_bound
from fugu.transport.coupling import Coupling, one_total
from fugu.transport.plan import bottleneck_plan, optimal_plan
from fugu.visible import Json

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
    first: Discrete, second: Discrete, noise: StepNoise, alpha: Real, contraction: Real | VectorLike = 1.0, *,
    shift: Shift | None = None, dimension: int = 1,
) -> Renyi:  # fmt: skip
    """The Rényi divergence of the last iterate in both orders, for two finite joint laws of the whole data sequence.

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
    first: Discrete, second: Discrete, noise: StepNoise, epsilon: Real, contraction: Real | VectorLike = 1.0, *,
    shift: Shift | None = None,
) -> float:  # fmt: skip
    """The delta of the last iterate at an epsilon, in both orders, for Gaussian noise, rounded up.

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
    first: Discrete, second: Discrete, noise: StepNoise, contraction: Real | VectorLike = 1.0, *,
    shift: Shift | None = None,
) -> float:  # fmt: skip
    """How many standard deviations of the noise cover the shifts between two joint laws: the least mu for which some
    coupling has its shifts covered within mu^2 for sure (Gaussian noise), from above.

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
        cls, first: Discrete, second: Discrete, noise: Any, contraction: Any = 1.0, shift: Shift | None = None, *,
        dimension: int = 1,
    ) -> SequencePair:  # fmt: skip
        """Check the laws, the noise and the contraction; the iteration has one step for each record."""
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
        found = cls(x, y, a, b, shift or apart, noise, contraction, x.shape[1], dimension)
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
        found, steps = np.empty(len(self.x) * len(self.y)), self.steps()
        for low in range(0, found.size, _BLOCK):
            every = np.arange(low, min(low + _BLOCK, found.size))
            hidden = fast_allocation(self.shifts(*np.divmod(every, len(self.y))), steps)
            if alpha is not None and self._laplace:
                each = self.dimension * log_cost(self.noise, alpha, hidden / math.sqrt(self.dimension))
            else:
                each = np.square(hidden / steps.scales)
            found[every] = each.sum(axis=1)
        costs = found.reshape(len(self.x), len(self.y))
        if alpha is not None and self._laplace:
            return optimal_plan(costs, self.a, self.b)
        return plan_for(costs, self.a, self.b, alpha, epsilon)

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


def plan_for(
    squares: Floats, p: Masses, q: Masses, alpha: Fraction | None, epsilon: Real | None, noise: float = 1.0
) -> Coupling:
    """A coupling of two laws, of which each pair of atoms costs `squares` under Gaussian noise of deviation `noise`,
    that is best for a divergence, or for a delta; if neither is named, for the largest square.

    Found in doubles, which only steer: any coupling is valid."""
    if alpha is not None:
        return optimal_plan(float(alpha * (alpha - 1) / 2) * squares / noise**2, p, q)
    if epsilon is not None:
        return optimal_plan(fast_gaussian_log_delta(float(epsilon), np.sqrt(squares) / noise), p, q)
    return bottleneck_plan(squares, p, q)


def _chances(plan: Coupling) -> Floats:
    """The masses of the cells of a plan as chances, from above."""
    return np.array([float_up(Fraction(mass, plan.total)) for mass in plan.masses.tolist()])


# `Joint`: how records move whose whole joint law is a `JointTable`, by transport plans with exact marginals.

MOST_PAIRS = 4_200_000
"""Pairs of sequences up to which a coupling is looked for (2,048 sequences under each secret)."""
_WEIGHT = 8.0
"""By default E exp(8 q / q_sure) is made small: mostly small squares q, few far above what can be had for sure."""


class Joint(Coupled):
    """The joint law of all records, one axis of the table each (at most 2,048 combinations given one record's value).

    `table`: a `JointTable`. Raises `UsageError` for other arguments.

    For every record and every pair of its values that have positive probability the two laws of all records are coupled
    by one transport plan with exact marginals (`training.joint`). All plans are valid; which one is best depends on the
    question. `noise` (standard deviation) with `alpha` or `epsilon`: best for that divergence or delta. `sure`=True:
    the largest square is as small as it can be. By default something in between.

    `values`: the number each value stands for, one list for all records or one for each; two values are then their
    difference apart. Without it, different values may be anything.

    >>> from fugu.training.accountant import NoisySGD
    >>> table = JointTable([[0.4, 0.1], [0.1, 0.4]])
    >>> sgd = NoisySGD(2, 0.5, 1, 1, noise=1, prior=Joint(table, noise=1, alpha=2))
    >>> round(sgd.renyi(2).epsilon, 6), round(NoisySGD(2, 0.5, 1, 1, noise=1, prior="group").renyi(2).epsilon, 6)
    (1.708513, 2.0)
    """

    kind = "joint"
    table: JointTable
    noise: Real | None
    epsilon: Real | None
    sure: bool
    order: Fraction | None
    values: tuple[Floats | None, ...]
    _gaps: tuple[tuple[Floats, Indices], ...]

    def __init__(
        self, table: JointTable, values: VectorLike | MatrixLike | None = None, *, noise: Real | None = None,
        alpha: Real | None = None, epsilon: Real | None = None, sure: bool = False,
    ) -> None:  # fmt: skip
        if not isinstance(table, JointTable):
            raise UsageError(f"a joint prior is a fugu.JointTable, got {type(table).__name__}")
        asked = (alpha is not None) + (epsilon is not None)
        if asked + sure > 1 or (noise is None) != (asked == 0):
            raise UsageError("give noise with alpha, noise with epsilon, sure=True, or none of them")
        if noise is not None and (not is_number(noise) or not 0 < noise < math.inf):
            raise UsageError("noise must be the standard deviation of Gaussian noise, a finite number above 0")
        if epsilon is not None:
            check_epsilon(epsilon)
            if math.isinf(epsilon):
                raise UsageError("no delta is left at an infinite epsilon; give a finite one")
        order, numbers = None if alpha is None else finite_order(alpha), _values(values, table.shape)
        gaps = tuple(_gaps(size, v) for size, v in zip(table.shape, numbers, strict=True))
        vars(self).update(table=table, noise=noise, epsilon=epsilon, sure=sure, order=order, values=numbers, _gaps=gaps)

    def __repr__(self) -> str:
        return f"Joint({len(self.table.shape)} records, {self.table.masses.size} combinations)"

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        if len(self.table.shape) != run.records:
            raise UsageError(f"the table has {len(self.table.shape)} axes for {run.records} records; give one for each")
        known: dict[int, float] = {}
        found = []
        for axis, size in enumerate(self.table.shape):  # one order of each pair: the distances are the same in both
            laws = []
            for value in range(size):  # the combinations that have mass when the record has this value, if it ever has
                fixed = np.zeros_like(self.table.masses)
                at = (slice(None),) * axis + (value,)
                fixed[at] = self.table.masses[at]
                if len(cells := np.argwhere(fixed != 0)):
                    laws.append((cells, masses(fixed[fixed != 0], len(cells))))
            for p, q in combinations(laws, 2):
                if len(p[0]) * len(q[0]) > MOST_PAIRS:
                    raise NotProvable(
                        f"the table makes more than {MOST_PAIRS:,} pairs of combinations; describe the dependence as a "
                        "MarkovChain or by Groups"
                    )
                codes = np.zeros((len(p[0]), len(q[0])), dtype=np.int64)
                for t, (levels, numbers) in enumerate(self._gaps):
                    codes = codes * len(levels) + numbers[p[0][:, t][:, None], q[0][:, t]]
                distinct, where = np.unique(codes, return_inverse=True)
                for code in distinct.tolist():
                    if code not in known:
                        move = self._move(code)
                        known[code] = weigh(Case.sure(move.positions, move.distances)).height
                heights = np.array([known[code] for code in distinct.tolist()])[np.asarray(where).reshape(codes.shape)]
                plan = plan_for(heights, p[1], q[1], self.order, self.epsilon, float(self.noise or 1.0))
                most = float(heights[plan.rows, plan.columns].max())
                if self.noise is None and not self.sure and most > 0:
                    plan = optimal_plan(heights * (_WEIGHT / most), p[1], q[1])
                sums: dict[int, int] = {}  # cells with the same distances are one move, its chance added exactly
                for code, mass in zip(codes[plan.rows, plan.columns].tolist(), plan.masses.tolist(), strict=True):
                    sums[code] = sums.get(code, 0) + mass
                chances = np.array([float_up(Fraction(mass, plan.total)) for mass in sums.values()])
                found.append(weigh(Case(chances, partial(lambda codes, k: self._move(codes[k]), list(sums)))))
        return found or [weigh(Case.sure(np.zeros(0)))]

    def _move(self, code: int) -> Move:
        """The distances that a code stands for; records that stay are left out."""
        distances = np.zeros(len(self._gaps))
        for t in reversed(range(len(self._gaps))):
            levels = self._gaps[t][0]
            code, number = divmod(code, len(levels))
            distances[t] = levels[number]
        moved = np.flatnonzero(distances)
        return Move(moved, distances[moved])

    def words(self) -> str:
        return (
            f"the {len(self.table.shape)} records have the stated joint law, a table of {self.table.masses.size} "
            "combinations of values"
        )

    def parameters(self) -> Json:
        total = int(self.table.masses.sum())
        return {
            "kind": self.kind, "shape": list(self.table.shape),
            "cells": [str(Fraction(int(m), total)) for m in self.table.masses.ravel()],
            "values": None if self.values[0] is None else [v.tolist() for v in self.values if v is not None],
            "noise": None if self.noise is None else str(as_fraction(self.noise)),
            "alpha": None if self.order is None else str(self.order),
            "epsilon": None if self.epsilon is None else str(as_fraction(self.epsilon)),
            "sure": self.sure,
        }  # fmt: skip

    @classmethod
    def of(
        cls, shape: list[int], cells: list[str], values: VectorLike | MatrixLike | None, sure: bool,
        **numbers: str | None,
    ) -> Joint:  # fmt: skip
        """The prior that `parameters` wrote down."""
        table = np.array([read_number(x) for x in cells], dtype=object).reshape(shape)
        given = {name: None if x is None else read_number(x) for name, x in numbers.items()}
        return cls(JointTable(table), values, sure=sure, **given)

    @classmethod
    def example(cls) -> Joint:
        return cls(JointTable.example())

    @property
    def entries(self) -> int:
        """One for each axis of the table."""
        return len(self.table.shape)


def _values(values: Any, shape: tuple[int, ...]) -> tuple[Floats | None, ...]:
    """One array of numbers for each record, or None for each."""
    if values is None:
        return (None,) * len(shape)
    try:
        nested = bool(len(values)) and all(np.ndim(v) == 1 for v in values)
        found: list[Floats] = [np.array(v, dtype=np.float64) for v in (values if nested else [values] * len(shape))]
    except (TypeError, ValueError):
        raise UsageError("values must be numbers: one list for all records, or one for each") from None
    if [v.shape for v in found] != [(size,) for size in shape] or not all(np.isfinite(v).all() for v in found):
        raise UsageError("values must be finite numbers, one for each value that a record can have")
    for v in found:
        v.flags.writeable = False
    return tuple(found)


def _gaps(size: int, values: Floats | None) -> tuple[Floats, Indices]:
    """The distances between values: the different ones (0 first), and for each pair of values which one it is."""
    gaps = np.where(np.eye(size, dtype=bool), 0.0, np.inf) if values is None else apart(values[:, None], values)
    levels, where = np.unique(np.append(gaps, 0.0), return_inverse=True)
    return levels, np.asarray(where).ravel()[:-1].reshape(size, size)


def apart(x: Floats, y: Floats) -> Floats:
    """|x - y|, exact for whole numbers below 2^52; else from above, whether read as binary numbers or as decimals."""
    size = np.abs(x) + np.abs(y)
    exact = (x == y) | ((size < 2.0**52) & (x == np.rint(x)) & (y == np.rint(y)))
    gap = np.abs(x - y)
    return np.where(exact, gap, np.nextafter(gap + size * 2.0**-52, np.inf))
