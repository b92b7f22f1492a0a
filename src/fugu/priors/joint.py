"""Explicit joint laws of a few discrete variables, in exact rationals: the oracle for everything else in this room.

Proofs: docs/proofs/quilts.md#joint-tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import TensorLike, as_fraction, meant_up
from fugu.priors.prior import Belief, of_variables, place
from fugu.priors.products import Quilts

_BITS = 96
_MOST_CELLS = 1 << 16
_MOST_WORK = 1 << 22


class JointTable(Belief):
    """P(X_1, ..., X_n) as an array with one axis per variable; entries are read as decimals and normalised exactly.

    `probabilities`: numbers >= 0 that sum to 1 within 1e-9, at most 65,536 cells; `names`: of the variables, by default
    x1, x2, ... Raises `BadLaw` for what is not a law, `UsageError` for other names.

    >>> table = JointTable([[0.25, 0.25], [0, 0.5]])
    >>> table.leak(0, 0, 1, seen=[1]), round(table.leak(0, 1, 0, seen=[1]), 6)
    (inf, 0.693147)
    """

    masses: NDArray[Any]
    names: tuple[str, ...]
    shape: tuple[int, ...]
    nodes: tuple[int, ...]

    def __init__(self, probabilities: TensorLike, names: Sequence[str] | None = None) -> None:
        given = np.asarray(probabilities, dtype=object)
        if given.ndim == 0 or given.size == 0 or given.size > _MOST_CELLS:
            raise BadLaw(f"a joint table needs one axis per variable and at most {_MOST_CELLS} cells")
        try:
            cells = [as_fraction(x) for x in given.ravel()]
        except (TypeError, ValueError):
            raise BadLaw("a joint table must hold finite numbers, one per combination of values") from None
        total = sum(cells, Fraction(0))
        if min(cells) < 0 or abs(total - 1) > Fraction(1, 10**9):
            raise BadLaw("the cells of a joint table must be >= 0 and sum to one within 1e-9; divide by the sum first")
        unit = math.lcm(*(c.denominator for c in cells))
        masses = np.empty(given.size, dtype=object)
        masses[:] = [c.numerator * (unit // c.denominator) for c in cells]
        own = masses.reshape(given.shape)
        own.flags.writeable = False
        called = tuple(names) if names is not None else tuple(f"x{i}" for i in range(1, given.ndim + 1))
        if len(set(called)) != given.ndim:
            raise UsageError(f"a table of {given.ndim} variables needs that many different names")
        vars(self).update(masses=own, names=called, shape=given.shape, nodes=tuple(range(given.ndim)))

    def __repr__(self) -> str:
        return f"JointTable({len(self.shape)} variables, {self.masses.size} combinations)"

    @classmethod
    def example(cls) -> JointTable:
        return cls([[[0.1, 0.2], [0.05, 0.15]], [[0.2, 0.1], [0.1, 0.1]]])

    @cached_property
    def skipped(self) -> tuple[str, ...]:
        """The values that a variable never has."""
        sums = (self.masses.sum(axis=tuple(a for a in self.nodes if a != axis)) for axis in self.nodes)
        return of_variables(self.names, [np.asarray(found > 0, dtype=bool) for found in sums])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted."""
        return (f"the {len(self.shape)} entries have the stated joint law",)

    def index(self, variable: int | str) -> int:
        """The axis of a `variable`, by position or name."""
        return place(variable, {name: axis for axis, name in enumerate(self.names)})

    def marginal(self, *variables: int | str) -> JointTable:
        """The joint law of some of the variables (`variables`, by position or name), in the order of the axes."""
        keep = {self.index(v) for v in variables}
        summed = self.masses.sum(axis=tuple(a for a in self.nodes if a not in keep)) if keep else self.masses
        cells = np.array([Fraction(int(m), int(self.masses.sum())) for m in np.ravel(summed)], dtype=object)
        return JointTable(cells.reshape(np.shape(summed)), [self.names[a] for a in sorted(keep)])

    def given(self, variable: int | str, value: int) -> JointTable:
        """The joint law of the others given that `variable` has its `value`-th value, from 0; `UsageError` if it never
        has."""
        axis = self.index(variable)
        rows = np.take(self.masses, value, axis=axis)
        total = int(np.sum(rows))
        if total == 0:
            raise UsageError(f"{self.names[axis]} never has its value number {value}: there is nothing to condition on")
        cells = np.array([Fraction(int(m), total) for m in np.ravel(rows)], dtype=object)
        return JointTable(cells.reshape(np.shape(rows)), [n for a, n in enumerate(self.names) if a != axis])

    def leak(self, variable: int | str, first: int, second: int, seen: Sequence[int | str]) -> float:
        """max over x_L with P(x_L | first) > 0 of log P(x_L | first) / P(x_L | second) (Definition 7, corrected).

        `variable`: the secret one; `first`, `second`: two of its values, from 0; `seen`: the variables of L.
        +inf where a denominator is zero: the reading "x_L possible under both" makes Theorem 6 false. A float at or
        above the logarithm of the exact rational.
        """
        axis = self.index(variable)
        others = frozenset(self.index(v) for v in seen)
        if axis in others:
            raise UsageError("the secret's own variable cannot be among those that are seen")
        ratio = self._ratio(axis, first, second, others)
        return math.inf if ratio is None else _log_up(ratio)

    def _ratio(self, axis: int, first: int, second: int, seen: frozenset[int]) -> Fraction | None:
        """The largest exact ratio; None for infinity; 0 if one of the secrets is impossible."""
        drop = tuple(a for a in self.nodes if a != axis and a not in seen)
        table = self.masses.sum(axis=drop) if drop else self.masses
        table = np.moveaxis(np.asarray(table, dtype=object), sum(a < axis for a in seen), 0)
        p, q = np.ravel(table[first]), np.ravel(table[second])
        p_total, q_total = int(p.sum()), int(q.sum())
        if p_total == 0 or q_total == 0:
            return Fraction(0)
        if any(b == 0 < a for a, b in zip(p, q, strict=True)):
            return None
        return max(Fraction(int(a), int(b)) for a, b in zip(p, q, strict=True) if a > 0) * Fraction(q_total, p_total)

    @lru_cache(maxsize=64)  # noqa: B019  (a table is small and does not change)
    def quilts(self, node: int) -> Quilts:
        """Every set L of other variables, with the leakage of each ordered pair of values: Definition 7 in full."""
        if (1 << len(self.nodes)) * self.masses.size > _MOST_WORK:
            raise NotProvable("this table has too many subsets to enumerate; describe it as a BayesianNetwork")
        axis = self.index(node)
        others = [a for a in self.nodes if a != axis]
        sets = [frozenset(s) for r in range(len(others) + 1) for s in combinations(others, r)]
        size = self.shape[axis]
        leaks = np.zeros((len(sets), size, size))
        for at, seen in enumerate(sets):
            for x in range(size):
                for y in range(size):
                    ratio = self._ratio(axis, x, y, seen) if x != y else Fraction(1)
                    leaks[at, x, y] = math.inf if ratio is None else _log_up(ratio) if ratio else -math.inf
        cards = np.array([len(self.nodes) - len(s) for s in sets])
        return Quilts(len(self.nodes), cards, leaks, tuple(tuple(sorted(s)) for s in sets))


@lru_cache(maxsize=4096)
def _log_up(ratio: Fraction) -> float:
    """A float at or above ln(ratio), 0 for a ratio of at most one (leakages are never negative)."""
    if ratio <= 1:
        return 0.0
    with balls.precision(_BITS):
        found: arb = balls.of(ratio).log()
        return meant_up(balls.upper(found))
