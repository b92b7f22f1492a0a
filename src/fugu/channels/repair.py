"""From a channel in doubles to an exact one in integers: no tolerance of a solver enters a promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.channels.problem import ChannelProblem
from fugu.errors import NotProvable, UsageError
from fugu.laws.masses import Masses
from fugu.numbers.balls import of, precision

if TYPE_CHECKING:
    from fugu.laws.sets.law_set import LawSet


# From a channel in doubles to an exact one in integers: no tolerance of a solver enters a promise.
#
# A column that is constant has the same mean under every law, so it has slack (e^epsilon - 1) times its height. Adding
# to column y of the integer channel q a constant w_y >= v_y / (e^epsilon - 1), v_y its largest violation, repairs it,
# for sets of laws as for single ones: weights q_xy + w_y, row sum 2^B + T, T = sum w, theta = T / (2^B + T) of the
# draws are then independent of x, and the loss is at most (1 - theta) loss + theta max loss. The cap is repaired the
# same way.


_LEAST = 2.0**-40
"""Outputs that every point takes with less than this chance are dropped."""
_ROUNDS = 8

Rows = list[list[int]]
Mean = Callable[[Sequence[Fraction | int]], Fraction]


def repaired(problem: ChannelProblem, matrix: NDArray[np.float64], bits: int = 48) -> tuple[Rows, Fraction]:
    """Integer weights, all rows with the same sum, that keep every promise of the problem exactly; and theta.

    - `matrix`: n rows, m columns in doubles, rows with a sum near 1; entries below 0 are taken as 0.
    - `bits`: rows are rounded to multiples of 2^-bits first.

    theta is the share of the draws that the repair makes independent of the point: about 1e-13 for a good solution.
    Raises `NotProvable` for epsilon 0 (or a cap of 0), where nothing but a channel that is right as it is can pass.
    """
    if matrix.shape != problem.loss.shape:
        raise UsageError(f"the channel has shape {matrix.shape}, the loss {problem.loss.shape}")
    rows = _whole(_clean(matrix), bits, problem.monotone)
    judge = Judge(problem)
    total = start = 1 << bits
    for _ in range(_ROUNDS):  # one is enough where `top` is exact
        extra = judge.missing(rows, total)
        if not any(extra):
            return rows, Fraction(total - start, total)
        rows = [[weight + more for weight, more in zip(row, extra, strict=True)] for row in rows]
        total += sum(extra)
    raise NotProvable("no exact channel was found near this one: its bounds over the sets of laws do not settle")


def holds(problem: ChannelProblem, rows: Sequence[Sequence[int]]) -> bool:
    """Whether an integer channel keeps every promise of the problem, in exact arithmetic; refused unless `rows` are n
    rows of m weights, none negative, with the same positive sum."""
    total = sum(rows[0])
    fits = len(rows) == problem.n and all(len(row) == problem.m and sum(row) == total for row in rows)
    if not fits or total <= 0 or any(weight < 0 for row in rows for weight in row):
        return False
    if problem.monotone and not _rising(rows):
        return False
    return not any(Judge(problem).missing(rows, total))


class Judge:
    """Holds integer channels against a problem: what must be added to each column so that it passes."""

    def __init__(self, problem: ChannelProblem) -> None:
        self.problem, self.ordered = problem, problem.ordered()
        self.sides = [exact_extremes(law) for law in problem.laws]
        self.ratio = power_below(problem.epsilon)
        self.cap = None if problem.cap is None else power_below(problem.cap)

    def missing(self, rows: Sequence[Sequence[int]], total: int) -> list[int]:
        """One number for each column, all 0 if and only if the promises are proved to hold."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        over = [self.violations(column) for column in columns]
        if self.problem.delta:
            extra = self._spent(over, total)
        else:
            extra = [_share(max(v, default=Fraction(0)), self.ratio, "epsilon") for v in over]
        if self.cap is not None:
            limits = [max(column) - self.cap * min(column) for column in columns]
            extra = [max(a, _share(c, self.cap, "cap")) for a, c in zip(extra, limits, strict=True)]
        return extra

    def violations(self, column: list[int]) -> list[Fraction]:
        """max p.k - E min q.k for each ordered pair, E <= e^epsilon; 0 or less is a promise kept."""
        if min(column) == max(column):  # the same under every law
            return [Fraction(0)] * len(self.ordered)
        used = {s for pair in self.ordered for s in pair}
        ends = {}
        for s in used:
            largest, least = self.sides[s]
            top = largest(column)
            ends[s] = top, top if least is largest else least(column)  # of a single law both are its mean
        return [ends[s][0] - self.ratio * ends[t][1] for s, t in self.ordered]

    def _spent(self, over: list[list[Fraction]], total: int) -> list[int]:
        """The same for delta: sum_y [v_y]_+ <= delta total; the sum over y bounds every single pair of members.

        With the sum X too large by D, either each column y gets v_y D / (X (E - 1 + delta)): it loses (E - 1) times
        that, and delta of the longer rows covers the rest; or the rows grow to X / delta. Whichever adds less, because
        adding more never makes another pair worse.
        """
        parts = [[max(v[c], Fraction(0)) for v in over] for c in range(len(self.ordered))]
        lowered, grown, rate = [0] * len(over), [0] * len(over), self.ratio - 1 + self.problem.delta
        for part in parts:
            spent = sum(part, Fraction(0))
            excess = spent - self.problem.delta * total
            if excess > 0:
                rows = math.ceil(excess / self.problem.delta)  # theta = D / (delta + D)
                grown = max(grown, [math.ceil(rows * v / spent) for v in part], key=sum)
                lowered = [max(a, math.ceil(v * excess / (spent * rate))) for a, v in zip(lowered, part, strict=True)]
        return min(lowered, grown, key=sum)


def _share(excess: Fraction, ratio: Fraction, name: str) -> int:
    """ceil(excess / (ratio - 1)): rounded up, since what is rounded down fails."""
    if excess <= 0:
        return 0
    if ratio == 1:
        raise NotProvable(f"{name} 0 leaves no slack to repair a channel with; publish the same law for every value")
    return math.ceil(excess / (ratio - 1))


def _clean(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of chances: nothing below 0, no output that hardly occurs, sums of 1 up to rounding."""
    if not np.all(np.isfinite(matrix)):
        raise UsageError("the channel has entries that are not finite numbers")
    clean = np.clip(matrix, 0.0, None)
    sums = clean.sum(axis=1, keepdims=True)
    if np.any(np.abs(sums - 1) > 0.5):
        raise UsageError("the channel has rows whose sum is not near 1")
    clean = clean / sums
    clean[:, clean.max(axis=0) < _LEAST] = 0.0
    chances: NDArray[np.float64] = clean / clean.sum(axis=1, keepdims=True)
    return chances


def _whole(matrix: NDArray[np.float64], bits: int, monotone: bool) -> Rows:
    """Rows of whole numbers with sum 2^bits: rounded down, the rest to the largest entry of the row. Monotone rows by
    their cumulated ones, which are made to fall with x exactly before they are taken apart."""
    one = 1 << bits
    if not monotone:
        rows = [[int(math.ldexp(value, bits)) for value in row] for row in matrix.tolist()]
        for row in rows:
            row[max(range(len(row)), key=row.__getitem__)] += one - sum(row)
        return rows
    before, rows = [one] * matrix.shape[1], []
    for row in np.cumsum(matrix, axis=1).tolist():
        ends = [min(one, int(math.ldexp(value, bits)), last) for value, last in zip(row, before, strict=True)]
        ends[-1] = one
        before = ends
        rows.append([b - a for a, b in zip([0, *ends[:-1]], ends, strict=True)])
    return rows


def _rising(rows: Sequence[Sequence[int]]) -> bool:
    """Whether the cumulated rows fall with x."""
    ends = [[sum(row[: j + 1]) for j in range(len(row))] for row in rows]
    return all(b <= a for one, two in pairwise(ends) for a, b in zip(one, two, strict=True))


# The least and the largest mean of whole numbers over a law, or over a set of laws, exactly.


def exact_extremes(law: Masses | LawSet) -> tuple[Mean, Mean]:
    """max and min of sum_x p(x) v_x over p in a set of laws, in rationals; both are the mean for a single law. For a
    set the largest is `law.top`, an exact upper bound where it is not the maximum."""
    if not isinstance(law, Masses):
        return law.top, lambda v: -law.top([-a for a in v])
    parts, total = law.whole()
    support = [(x, part) for x, part in enumerate(parts) if part]

    def mean(v: Sequence[Fraction | int]) -> Fraction:
        return Fraction(sum(part * v[x] for x, part in support)) / total

    return mean, mean


# Rational numbers on either side of e^x: below it where privacy is proved, above it where a limit of utility is.


_BITS = 96
"""Bits that count: those of e^x, or of e^x - 1 where that is smaller."""


@lru_cache(maxsize=256)
def power_below(x: Fraction) -> Fraction:
    """A rational E with 1 <= E <= e^x for x >= 0, relative distance of E - 1 from e^x - 1 below 2^-90."""
    return 1 + _end(x, -1)


@lru_cache(maxsize=256)
def power_above(x: Fraction) -> Fraction:
    """A rational E >= e^x for x >= 0, relative distance of E - 1 from e^x - 1 below 2^-90."""
    return 1 + _end(x, 1)


def _end(x: Fraction, side: int) -> Fraction:
    """One end of a ball around e^x - 1: a dyadic number."""
    if x == 0:
        return Fraction(0)
    with precision(_BITS + max(0, x.numerator.bit_length() - x.denominator.bit_length())):
        ball = of(x).expm1()
        end: arb = ball.upper() if side > 0 else ball.lower()
        mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
