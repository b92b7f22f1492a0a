"""Sums of nonnegative floats with proved errors, the quilts of an entry, and explicit joint laws in rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import TensorLike, as_fraction, meant_up
from fugu.priors.prior import Belief, of_variables, place
from fugu.priors.transitions import UNIT

# Sums and products of nonnegative floats that count their roundings, so that every ratio has a proved bound.
#
# Each rounding multiplies a number by 1 + d, |d| <= u = 2^-53, which moves its logarithm by at most u / (1 - u). Adding
# nonnegative numbers never amplifies this. So a number made with m roundings on the way has |log(computed / true)|
# <= m u / (1 - u), whatever it is, as long as nothing underflows; that is checked.
#
# Proofs: docs/proofs/quilts.md#rounding.

Floats = NDArray[np.float64]
STEP = 1.12e-16  # above u / (1 - u)
_LEAST = 1e-290
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class RoundedFloats:
    """Nonnegative floats, and the most roundings that any of them has gone through."""

    DIGESTED: ClassVar[str] = "Counted"
    """What the digests of priors call it since 0.1 (`fugu.ledger.fingerprint`)."""
    values: Floats
    roundings: int = 0


def least(values: Floats) -> float:
    """The smallest positive entry, 1 if there is none."""
    positive = values[values > 0]
    return float(positive.min()) if positive.size else 1.0


def combine(subscripts: str, a: RoundedFloats, b: RoundedFloats) -> RoundedFloats:
    """An einsum of two arrays of nonnegative numbers; a sum of K products adds at most K roundings."""
    if least(a.values) * least(b.values) < _LEAST:
        raise NotProvable(
            "some probability of this prior lies below 1e-290, where floats lose their digits; merge rare states"
        )
    inputs, output = subscripts.split("->")
    sizes = dict(zip(inputs.replace(",", ""), (*a.values.shape, *b.values.shape), strict=True))
    summed = math.prod(size for letter, size in sizes.items() if letter not in output)
    return RoundedFloats(np.einsum(subscripts, a.values, b.values), a.roundings + b.roundings + summed)


def laws(given: Any, name: str) -> RoundedFloats:
    """Rows that each sum to one: read as decimals, within 1e-12, and divided by their exact sum.

    One rounding reads a decimal; the sum of K entries takes K more, the division one.
    """
    try:
        rows = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be numbers") from None
    if rows.ndim == 0 or rows.size == 0 or not np.all(np.isfinite(rows)) or np.any(rows < 0):
        raise BadLaw(f"{name} must be probabilities: finite numbers >= 0 with at least one entry")
    if least(rows) < _LEAST:
        raise BadLaw(f"{name} has a positive probability below 1e-290; write 0 or merge rare states")
    sums = rows.sum(axis=-1, keepdims=True)
    if np.any(np.abs(sums - 1.0) > _TOLERANCE):
        raise BadLaw(f"{name} must sum to one along the last axis within {_TOLERANCE}; divide by the sum first")
    found = rows / sums
    found.flags.writeable = False
    return RoundedFloats(found, rows.shape[-1] + 3)


def log_ratios(laws: RoundedFloats) -> Floats:
    """max_z log p(z | x) / p(z | x') for all pairs of rows x, x', from above; +inf where p(z | x) > 0 = p(z | x').

    A z with p(z | x) = 0 does not count. A row of zeros is an impossible x: its pairs give -inf. The division, the
    logarithm (4 units in the last place) and the counted roundings of both rows are added on top.

    >>> log_ratios(RoundedFloats(np.array([[0.5, 0.5], [1.0, 0.0]])))[0]
    array([ 0., inf])
    """
    table = laws.values.reshape(laws.values.shape[0], -1)
    found = np.full((table.shape[0], table.shape[0]), -np.inf)
    for x, row in enumerate(table):
        seen = row > 0
        if not seen.any():
            continue
        with np.errstate(divide="ignore"):
            logs = np.log(row[seen] / table[:, seen]).max(axis=1)
        found[x] = outward(logs, 2 * laws.roundings + 1)
        found[x, x] = 0.0
    found[:, ~np.any(table > 0, axis=1)] = -np.inf
    return found


def leaks(joint: RoundedFloats) -> Floats:
    """max_z log P(z | x) / P(z | x') for all pairs x, x', from above, of the masses of (x, z), x along the first axis;
    at least 0, and -inf for pairs with an impossible value."""
    rows = joint.values.reshape(joint.values.shape[0], -1)
    sums = rows.sum(axis=1)
    law = RoundedFloats(rows / np.where(sums > 0, sums, 1.0)[:, None], 2 * joint.roundings + rows.shape[1] + 1)
    found = log_ratios(law)
    return np.where(np.isfinite(found), np.maximum(found, 0.0), found)


def outward(logs: Floats, roundings: int) -> Floats:
    """Logarithms of counted numbers, moved up past every rounding."""
    with np.errstate(invalid="ignore"):
        moved = logs + (roundings + 2) * STEP + 1e-15 * np.abs(logs)
    return np.where(np.isfinite(logs), moved, logs)


# The quilts of one entry: which entries shield it, how many stay near, and what those that shield say about it.
#
# A quilt of entry i splits the other entries into N (near, with i in it), Q (the quilt) and R (remote) such that X_R is
# independent of X_i given X_Q. What it leaks is max_q log P(X_Q = q | X_i = x) / P(X_Q = q | X_i = x'). What follows
# from that for a release is the matter of `fugu.translation.influence`.
#
# Proofs: docs/proofs/quilts.md#quilts.


@dataclass(frozen=True)
class Quilts:
    """The quilts of one entry: card(N), and an upper bound of the leakage for every ordered pair of its values.

    The trivial quilt (Q empty, N everything, leakage 0) must be among them. Pairs with an impossible value are -inf.
    """

    length: int
    cards: Any
    leaks: Floats
    separators: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        trivial = (self.cards == self.length) & np.all(self.leaks <= 0, axis=(1, 2))
        if not trivial.any():
            raise UsageError("a set of quilts must contain the trivial one: everything near, leakage 0")
        if np.any(self.cards < 1) or np.any(np.isnan(self.leaks)):
            raise UsageError("a quilt has at least the entry itself near, and a leakage that is a number")
        impossible = np.isneginf(self.leaks).any(axis=0)
        object.__setattr__(self, "leaks", np.where(impossible, -np.inf, self.leaks))

    def worst(self) -> Floats:
        """Per quilt, the largest leakage over pairs."""
        return np.asarray(np.maximum(self.leaks.max(axis=(1, 2)), 0.0))


def assemble(length: int, t: int, left: Floats, right: Floats, trivial: Floats) -> Quilts:
    """The quilts of entry t of a sequence from the leakages of its sides, nearest first: both ends, one of them, none.

    `trivial` is -inf for the pairs that cannot occur."""
    a, b = np.arange(1, len(left) + 1), np.arange(1, len(right) + 1)
    both = np.nextafter(left[:, None] + right[None, :], np.inf) * (1 + 4 * UNIT)
    cards = np.concatenate([(a[:, None] + b[None, :] - 1).ravel(), length - t + a, t + b - 1, [length]])
    leaks = np.concatenate([both.reshape(-1, *trivial.shape), left, right, trivial[None]])
    return Quilts(length, cards, np.where(np.isneginf(trivial), -np.inf, leaks))


# Explicit joint laws of a few discrete variables, in exact rationals: the oracle for everything else in this room.
#
# Proofs: docs/proofs/quilts.md#joint-tables.

_BITS = 96
_MOST_CELLS = 1 << 16
_MOST_WORK = 1 << 22


class JointTable(Belief):
    """The joint law of a few entries, written out: P(X_1, ..., X_n) as an array with one axis per variable; entries are
    read as decimals and normalised exactly.

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
