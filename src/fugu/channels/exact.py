"""From a channel in doubles to an exact one in integers, what that costs, and what no channel can go below: no
tolerance of a solver enters a promise, and together they are a proved distance from the optimum."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.channels.problem import ChannelProblem, Prices
from fugu.errors import NotProvable, UsageError
from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Band, Box, Hull, Intersection
from fugu.laws.sets.law_set import LawSet
from fugu.numbers.balls import of, precision

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


_POWER_BITS = 96
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
    with precision(_POWER_BITS + max(0, x.numerator.bit_length() - x.denominator.bit_length())):
        ball = of(x).expm1()
        end: arb = ball.upper() if side > 0 else ball.lower()
        mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# Lower bound (weak duality): for prices alpha_cy >= 0 of the ordered pairs c = (s, t), ANY members p of the set of s
# and q of the set of t, chosen for each c and y, E >= e^epsilon, and w the weight (or any mixture of members, for the
# worst),
#
#     optimum >= sum_x min_y [ w_x loss(x, y) + sum_c alpha_cy (p_cy(x) - E q_cy(x)) + cap and order terms ]
#                - delta sum_c max_y alpha_cy.
#
# Proof: a channel that keeps the promises makes every price term at most 0 (at most delta), and the rows of K are free.
# With delta the promise is about one pair of members for all outputs, so there p and q must not depend on y
# (docs/proofs/robust-channels.md).
# Only rationals decide: doubles with a proved error merely leave out the outputs that cannot be the least.


def value(problem: ChannelProblem, rows: Sequence[Sequence[int]]) -> Fraction:
    """The expected loss of an integer channel, exactly; under the worst of the laws if the problem has no weight.

    Its loss and weight are read as the binary numbers they are; `rows`: n rows of m whole weights of one sum."""
    ratios = [[a.as_integer_ratio() for a in row] for row in problem.loss.tolist()]
    scale, total = max(d for row in ratios for _, d in row), sum(rows[0])
    losses = [[a * (scale // d) for a, d in row] for row in ratios]  # whole numbers over one power of two, exactly
    sums = [sum(k * a for k, a in zip(row, loss, strict=True) if k) for row, loss in zip(rows, losses, strict=True)]
    means = [Fraction(a) / (total * scale) for a in sums]
    if problem.weight is None:
        return max(exact_extremes(law)[0](means) for law in problem.laws)
    return sum((Fraction(w) * mean for w, mean in zip(problem.weight.tolist(), means, strict=True)), Fraction(0))


def lower(problem: ChannelProblem, prices: Prices) -> Fraction:
    """A rational that the expected loss of no channel for this problem goes below, for ANY prices.

    - `problem`: what the channel must do; for several groups of laws (adversaries) each has its own condition.
    - `prices`: the dual of a solver, read exactly, clipped to what the theorem asks for; members of sets are moved
      into their sets in exact arithmetic first.
    """
    exact = ExactPrices(problem, prices)
    near, error = exact.near()
    reach = near.min(axis=1, keepdims=True) + 2 * error.max(axis=1, keepdims=True)
    total = -exact.spent()
    for x in range(problem.n):
        total += min(exact.term(x, y) for y in np.flatnonzero(near[x] <= reach[x]).tolist())
    return max(total, Fraction(0))


# Prices of a solver as exact numbers that the lower bound may use, and near them in doubles.


Table = list[list[Fraction]]

_UNIT = 2.0**-52
_TINY = 1e-290
"""More than all that underflow can hide in one of the sums."""
_LARGE = 1e300


class ExactPrices:
    """term(x, y) = w_x loss(x, y) + sum_s (up_sy p_sy(x) - down_sy q_sy(x)) + cap and order, in rationals.

    up_sy = sum_t alpha_(s,t),y and down_sy = E sum_t alpha_(t,s),y with E >= e^epsilon; p and q are members of law s.

    Prices are any numbers; refused only if their shapes are wrong or they are not finite.
    """

    def __init__(self, problem: ChannelProblem, prices: Prices) -> None:
        self.problem = problem
        self.alpha, (self.up, self.down) = _pair_prices(problem, prices)
        self.p = [self._members(s, self.up[s], prices.upper) for s in range(len(problem.laws))]
        self.q = [self._members(s, self.down[s], prices.lower) for s in range(len(problem.laws))]
        self.weight = _weight(problem, prices)
        self.cap = _cap_prices(problem, prices)
        self.rise = _rise_prices(problem, prices)

    def _members(
        self, s: int, factor: list[Fraction], hints: NDArray[np.float64] | None
    ) -> list[list[Fraction] | None]:
        """The member of law s for each output with a price; with delta one for all outputs."""
        law = self.problem.laws[s]
        if isinstance(law, Masses):
            return [_exact(law)] * len(factor)
        if hints is not None:
            check("members", hints, (len(self.problem.laws), self.problem.m, self.problem.n))
        found = [member(law, None if hints is None else hints[s, y]) if a else None for y, a in enumerate(factor)]
        return mean_member(found, factor) if self.problem.delta else found

    def spent(self) -> Fraction:
        """delta sum_c max_y alpha_cy."""
        return self.problem.delta * sum((max(row, default=Fraction(0)) for row in self.alpha), Fraction(0))

    def term(self, x: int, y: int) -> Fraction:
        """The bracket of the lower bound at (x, y)."""
        total = self.weight[x] * Fraction(float(self.problem.loss[x, y]))
        for factors, laws, sign in ((self.up, self.p, 1), (self.down, self.q, -1)):
            for factor, law in zip(factors, laws, strict=True):
                chosen = law[y]
                if chosen is not None and factor[y]:
                    total += sign * factor[y] * chosen[x]
        if self.cap is not None:
            total += self.cap[x][y]
        if self.rise is not None:
            total += self.rise[x][y]
        return total

    def near(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All terms in doubles, and for each a proved limit of its error. (Every factor is within two units in the last
        place, every product and sum adds one; numbers too large for doubles give an error of infinity.)"""
        near = np.array([float(w) for w in self.weight])[:, None] * self.problem.loss
        size, count = np.abs(near), 1
        for factors, laws, sign in ((self.up, self.p, 1.0), (self.down, self.q, -1.0)):
            for factor, law in zip(factors, laws, strict=True):
                if any(factor):
                    nowhere = [Fraction(0)] * self.problem.n
                    members = {id(chosen): nowhere if chosen is None else chosen for chosen in law}  # each once
                    known = {key: [float(a) for a in chosen] for key, chosen in members.items()}
                    part = _floats([factor])[0] * np.array([known[id(chosen)] for chosen in law]).T
                    near, size, count = near + sign * part, size + part, count + 1
        for table in (self.cap, self.rise):
            if table is not None:
                part = _floats(table)
                near, size, count = near + part, size + np.abs(part), count + 1
        error = (2 * count + 10) * _UNIT * size + _TINY
        lost = ~np.isfinite(near) | ~np.isfinite(error) | (size > _LARGE)
        return np.where(lost, 0.0, near), np.where(lost, np.inf, error)


def _pair_prices(problem: ChannelProblem, prices: Prices) -> tuple[Table, tuple[Table, Table]]:
    """alpha of each ordered pair, and what they add up to for each law."""
    ratio, m, ordered = power_above(problem.epsilon), problem.m, problem.ordered()
    up = [[Fraction(0)] * m for _ in problem.laws]
    down = [[Fraction(0)] * m for _ in problem.laws]
    alpha = [[Fraction(0)] * m for _ in ordered]
    if prices.ratio is not None:
        check("ratio", prices.ratio, (len(ordered), m))
        alpha = [[Fraction(max(a, 0.0)) for a in row] for row in prices.ratio.tolist()]
        for (s, t), row in zip(ordered, alpha, strict=True):
            for y, a in enumerate(row):
                if a:
                    up[s][y] += a
                    down[t][y] += ratio * a
    return alpha, (up, down)


def _weight(problem: ChannelProblem, prices: Prices) -> list[Fraction]:
    """The declared weight; for the worst of the laws a mixture of members, equal parts if there are no prices."""
    if problem.weight is not None:
        return [Fraction(w) for w in problem.weight.tolist()]
    size, n = len(problem.laws), problem.n
    mix = np.ones(size) if prices.mix is None else np.clip(prices.mix, 0.0, None)
    check("mix", mix, (size,))
    if not mix.any():
        mix = np.ones(size)
    if prices.mixed is not None:
        check("mixed", prices.mixed, (size, n))
    parts = [Fraction(a) for a in mix.tolist()]
    total = sum(parts, Fraction(0))
    weight = [Fraction(0)] * n
    for s, (law, part) in enumerate(zip(problem.laws, parts, strict=True)):
        if part:
            near = None if prices.mixed is None else prices.mixed[s]
            chosen = _exact(law) if isinstance(law, Masses) else member(law, near)
            weight = [w + part / total * c for w, c in zip(weight, chosen, strict=True)]
    return weight


def _exact(law: Masses) -> list[Fraction]:
    parts, total = law.whole()
    return [Fraction(part, total) for part in parts]


def _cap_prices(problem: ChannelProblem, prices: Prices) -> Table | None:
    """kappa with sum_x kappa^- >= e^cap sum_x kappa^+ for each output, made true by less of kappa^+."""
    if problem.cap is None or prices.cap is None:
        return None
    check("cap", prices.cap, (problem.n, problem.m))
    ratio, columns = power_above(problem.cap), []
    for column in prices.cap.T.tolist():
        kappa = [Fraction(a) for a in column]
        gain, pay = sum((a for a in kappa if a > 0), Fraction(0)), -sum((a for a in kappa if a < 0), Fraction(0))
        part = Fraction(1) if pay >= ratio * gain else pay / (ratio * gain)  # the largest that is paid for
        columns.append([a * part if a > 0 else a for a in kappa])
    return [list(row) for row in zip(*columns, strict=True)]


def _rise_prices(problem: ChannelProblem, prices: Prices) -> Table | None:
    """sum_{j >= y} (nu_(x-1)j - nu_xj) with nu >= 0: what K(y|x) pays for F(j|x) >= F(j|x + 1)."""
    if not problem.monotone or prices.rise is None:
        return None
    check("rise", prices.rise, (problem.n - 1, problem.m - 1))
    after: Table = [[Fraction(0)] * problem.m]
    for row in np.clip(prices.rise, 0.0, None).tolist():
        tail = [Fraction(0)]
        for a in reversed(row):
            tail.append(tail[-1] + Fraction(a))
        after.append(tail[::-1])
    after.append([Fraction(0)] * problem.m)
    return [[a - b for a, b in zip(one, two, strict=True)] for one, two in pairwise(after)]


def check(name: str, array: NDArray[np.float64], shape: tuple[int, ...]) -> None:
    """Refuse prices of another shape, and NaN."""
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise UsageError(f"the prices {name!r} must be finite numbers of shape {shape}, got shape {array.shape}")


def _floats(table: Sequence[Sequence[Fraction]]) -> NDArray[np.float64]:
    """Nearest doubles; infinity where there is none."""
    most = Fraction(sys.float_info.max)
    return np.array(
        [[float(a) if abs(a) <= most else math.copysign(math.inf, a) for a in row] for row in table], dtype=np.float64
    )


# Laws that are in a set for sure: a law in doubles near its edge is moved into it in exact arithmetic.


_BITS = 60
_STEPS = 24
"""How often the way from the centre to a law outside is halved."""

Law = list[Fraction]


def member(law_set: LawSet, near: NDArray[np.float64] | None) -> Law:
    """A law of the set, exactly: one near a law in doubles; of None, or a vector without mass, the centre.

    Raises `NotProvable` if not even the centre is proved to be in the set."""
    parts = law_set.sets if isinstance(law_set, Intersection) else (law_set,)
    if near is None or not np.any(near > 0):
        found = _centre(law_set)
    elif all(isinstance(part, Box | Band) for part in parts):
        found = _between(_limits(law_set), np.clip(near, 0.0, None))
    elif isinstance(law_set, Hull):
        found = _mixture(law_set, np.clip(near, 0.0, None))
    else:
        found = _towards_centre(law_set, np.clip(near, 0.0, None))
    if not law_set.contains(found):
        raise NotProvable(f"no law was proved to be in {law_set!r}, so the error of the best channel is not bounded")
    return found


def mean_member(laws: Sequence[Law | None], weights: Sequence[Fraction]) -> list[Law | None]:
    """The same law in every place: the mean of those given, by weight; sets are convex, so it is a member."""
    total = sum(weights, Fraction(0))
    if not total:
        return list(laws)
    pairs = [(law, weight) for law, weight in zip(laws, weights, strict=True) if law is not None]
    size = len(pairs[0][0])
    mean = [sum((weight * law[x] for law, weight in pairs), Fraction(0)) / total for x in range(size)]
    return [mean] * len(laws)


def _exactly(near: NDArray[np.float64]) -> Law:
    """A law in rationals of few bits: rounded, the rest to the largest."""
    whole = [int(a) for a in np.floor(np.ldexp(near / near.sum(), _BITS)).tolist()]
    whole[int(np.argmax(near))] += (1 << _BITS) - sum(whole)
    return [Fraction(a, 1 << _BITS) for a in whole]


@lru_cache(maxsize=64)
def _centre(law_set: LawSet) -> Law:
    return _exact(law_set.centre().masses)


@lru_cache(maxsize=64)
def _limits(law_set: LawSet) -> tuple[list[int], list[int], list[int], list[int], int]:
    """Limits of p and of what the cumulated law can reach from the left, as whole numbers over one total."""
    parts = law_set.sets if isinstance(law_set, Intersection) else (law_set,)
    size = law_set.values.size
    ends = [np.zeros(size), np.ones(size), np.zeros(size), np.ones(size)]
    for part in parts:
        first = 0 if isinstance(part, Box) else 2
        if isinstance(part, Box | Band):
            ends[first] = np.maximum(ends[first], part.lower)
            ends[first + 1] = np.minimum(ends[first + 1], part.upper)
    ratios = [[a.as_integer_ratio() for a in row.tolist()] for row in ends]
    total = max(1 << _BITS, *(d for row in ratios for _, d in row))
    lower, upper, low, high = ([a * (total // d) for a, d in row] for row in ratios)
    left = right = 0
    for i in range(size):
        left, right = max(left + lower[i], low[i]), min(right + upper[i], high[i])
        low[i], high[i] = left, right
    return lower, upper, low, high, total


def _between(limits: tuple[list[int], list[int], list[int], list[int], int], near: NDArray[np.float64]) -> Law:
    """From the last value back: each cumulated mass as near to the wanted one as the limits on both sides allow."""
    lower, upper, low, high, total = limits
    wanted = np.cumsum(near / near.sum()).tolist()
    law, after = [], total
    for i in range(len(lower) - 1, -1, -1):
        before = 0
        if i:
            want = int(Fraction(wanted[i - 1]) * total)
            before = min(max(want, low[i - 1], after - upper[i]), high[i - 1], after - lower[i])
        law.append(Fraction(after - before, total))
        after = before
    return law[::-1]


def _mixture(hull: Hull, near: NDArray[np.float64]) -> Law:
    """The mixture of the laws nearest in least squares."""
    from scipy.optimize import nnls

    weights = _exactly(np.clip(nnls(hull.weights.T, near / near.sum())[0], 0.0, None) + 1e-300)
    rows = [law.masses.whole() for law in hull.laws]
    return [
        sum((w * Fraction(parts[x], total) for w, (parts, total) in zip(weights, rows, strict=True)), Fraction(0))
        for x in range(near.size)
    ]


def _towards_centre(law_set: LawSet, near: NDArray[np.float64]) -> Law:
    """The last law of the set on the way from its centre; for a ball in total variation where the radius ends."""
    centre, wanted = _centre(law_set), _exactly(near)
    if isinstance(law_set, Ball) and law_set.distance == "tv":
        away = sum((abs(a - b) for a, b in zip(centre, wanted, strict=True)), Fraction(0)) / 2
        radius = Fraction(law_set.radius)
        return wanted if away <= radius else _way(centre, wanted, radius / away)
    if law_set.contains(wanted):
        return wanted
    inside, outside = Fraction(0), Fraction(1)
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if law_set.contains(_way(centre, wanted, middle)):
            inside = middle
        else:
            outside = middle
    return _way(centre, wanted, inside)


def _way(one: Law, two: Law, part: Fraction) -> Law:
    return [a + part * (b - a) for a, b in zip(one, two, strict=True)]
