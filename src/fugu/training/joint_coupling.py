"""`Joint`: how records move whose whole joint law is a `JointTable`, by transport plans with exact marginals.

It adds no law to the table, only which coupling of it is used; `fugu.priors` has no place for it, as the plans that are
good depend on the training."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import check_epsilon
from fugu.laws.masses import Masses, masses
from fugu.loss.cost import finite_order
from fugu.loss.search.normal import fast_gaussian_log_delta
from fugu.numbers.checks import is_number
from fugu.numbers.exact import MatrixLike, Real, VectorLike, as_fraction, float_up, read_number
from fugu.priors.coupling import Case, Coupled, Floats, Indices, Move, Price, Run
from fugu.priors.joint import JointTable
from fugu.transport.coupling import Coupling
from fugu.transport.plan import bottleneck_plan, optimal_plan
from fugu.visible import Json

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
    _gaps: tuple[tuple[Floats, NDArray[np.int64]], ...]

    def __init__(
        self,
        table: JointTable,
        values: VectorLike | MatrixLike | None = None,
        *,
        noise: Real | None = None,
        alpha: Real | None = None,
        epsilon: Real | None = None,
        sure: bool = False,
    ) -> None:
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
            laws = [law for value in range(size) if (law := _given(self.table, axis, value)) is not None]
            found += [weigh(self._case(p, q, weigh, known)) for p, q in combinations(laws, 2)]
        return found or [weigh(Case.sure(np.zeros(0)))]

    def _case(self, p: _Law, q: _Law, weigh: Callable[[Case], Price], known: dict[int, float]) -> Case:
        """The coupling of two laws, as a case."""
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
        plan = self._plan(heights, p[1], q[1])
        sums: dict[int, int] = {}  # cells with the same distances are one move, its chance added exactly
        for code, mass in zip(codes[plan.rows, plan.columns].tolist(), plan.masses.tolist(), strict=True):
            sums[code] = sums.get(code, 0) + mass
        order = list(sums)
        chances = np.array([float_up(Fraction(sums[code], plan.total)) for code in order])
        return Case(chances, lambda k: self._move(order[k]))

    def _plan(self, heights: Floats, p: Masses, q: Masses) -> Coupling:
        """A coupling that is good for the question asked. Heights only steer: any coupling is valid."""
        if self.noise is not None and self.order is not None:
            return optimal_plan(float(self.order * (self.order - 1) / 2) * heights / float(self.noise) ** 2, p, q)
        if self.noise is not None and self.epsilon is not None:
            moved = np.sqrt(heights) / float(self.noise)
            return optimal_plan(fast_gaussian_log_delta(float(self.epsilon), moved), p, q)
        plan = bottleneck_plan(heights, p, q)
        most = float(heights[plan.rows, plan.columns].max())
        return plan if self.sure or most == 0 else optimal_plan(heights * (_WEIGHT / most), p, q)

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
            "kind": self.kind,
            "shape": list(self.table.shape),
            "cells": [str(Fraction(int(m), total)) for m in self.table.masses.ravel()],
            "values": None if self.values[0] is None else [v.tolist() for v in self.values if v is not None],
            "noise": None if self.noise is None else str(as_fraction(self.noise)),
            "alpha": None if self.order is None else str(self.order),
            "epsilon": None if self.epsilon is None else str(as_fraction(self.epsilon)),
            "sure": self.sure,
        }

    @classmethod
    def of(
        cls,
        shape: list[int],
        cells: list[str],
        values: VectorLike | MatrixLike | None,
        sure: bool,
        **numbers: str | None,
    ) -> Joint:
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


_Law = tuple[Indices, Masses]


def _given(table: JointTable, axis: int, value: int) -> _Law | None:
    """The combinations that have mass when one record has this value, and their masses; None if it never has it."""
    fixed = np.zeros_like(table.masses)
    at = (slice(None),) * axis + (value,)
    fixed[at] = table.masses[at]
    cells = np.argwhere(fixed != 0)
    return (cells, masses(fixed[fixed != 0], len(cells))) if len(cells) else None


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


def _gaps(size: int, values: Floats | None) -> tuple[Floats, NDArray[np.int64]]:
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
