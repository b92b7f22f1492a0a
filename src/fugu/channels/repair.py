"""From a channel in doubles to an exact one in integers: no tolerance of a solver enters a promise.

A column that is constant has the same mean under every law, so it has slack (e^epsilon - 1) times its height. Adding to
column y of the integer channel q a constant w_y >= v_y / (e^epsilon - 1), v_y its largest violation, repairs it, for
sets of laws as for single ones: weights q_xy + w_y, row sum 2^B + T, T = sum w, theta = T / (2^B + T) of the draws are
then independent of x, and the loss is at most (1 - theta) loss + theta max loss. The cap is repaired the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fugu.channels.exact_sets import Extremes
from fugu.channels.powers import power_below
from fugu.channels.problem import ChannelProblem
from fugu.errors import NotProvable, UsageError

_LEAST = 2.0**-40
"""Outputs that every point takes with less than this chance are dropped."""
_ROUNDS = 8

Rows = list[list[int]]


def repaired(problem: ChannelProblem, matrix: NDArray[np.float64], bits: int = 48) -> tuple[Rows, Fraction]:
    """Integer weights, all rows with the same sum, that keep every promise of the problem exactly; and theta.

    - `problem`: what the channel must do.
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
    """Whether an integer channel keeps every promise of the problem, in exact arithmetic.

    - `problem`: what it must do.
    - `rows`: n rows of m weights; refused unless none is negative and all rows have the same positive sum.
    """
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
        self.sides = [Extremes(law) for law in problem.laws]
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
        ends = {s: (self.sides[s].top(column), self.sides[s].bottom(column)) for s in used}
        return [ends[s][0] - self.ratio * ends[t][1] for s, t in self.ordered]

    def _spent(self, over: list[list[Fraction]], total: int) -> list[int]:
        """The same for delta: sum_y [v_y]_+ <= delta total; the sum over y bounds every single pair of members.

        Adding w_y takes (E - 1) w_y from the violation of column y, and allows delta w_y more. So w_y = s_c v_cy for
        every pair c, s_c = (1 - delta total / D_c) / (E - 1 + delta), repairs a pair that spends D_c. Longer rows alone
        need D / delta - total, which is far more for a small delta, and less for a tiny epsilon: the lesser is taken.
        """
        limit, delta = self.problem.delta * total, self.problem.delta
        sums = [sum((max(v[c], Fraction(0)) for v in over), Fraction(0)) for c in range(len(self.ordered))]
        worst = max(range(len(sums)), key=sums.__getitem__, default=None)
        if worst is None or sums[worst] <= limit:
            return [0] * len(over)
        shares = [(1 - limit / d) / (self.ratio - 1 + delta) if d > limit else Fraction(0) for d in sums]
        slack = [math.ceil(max(Fraction(0), *(s * v[c] for c, s in enumerate(shares)))) for v in over]
        needed = math.ceil(sums[worst] / delta) - total  # theta = D / (delta + D)
        longer = [math.ceil(needed * max(v[worst], Fraction(0)) / sums[worst]) for v in over]
        return min(slack, longer, key=sum)


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
    """Rows of whole numbers with sum 2^bits: rounded down, the rest to the largest entry of the row."""
    if monotone:
        return _whole_rising(matrix, bits)
    rows = [[int(math.ldexp(value, bits)) for value in row] for row in matrix.tolist()]
    for row in rows:
        row[max(range(len(row)), key=row.__getitem__)] += (1 << bits) - sum(row)
    return rows


def _whole_rising(matrix: NDArray[np.float64], bits: int) -> Rows:
    """The same by cumulated rows, which are made to fall with x exactly before they are taken apart."""
    one = 1 << bits
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
