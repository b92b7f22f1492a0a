"""Prices of a solver as exact numbers that the lower bound of `bounds` may use, and near them in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fugu.channels.members import mean_member, member
from fugu.channels.powers import power_above
from fugu.channels.problem import ChannelProblem, Prices
from fugu.errors import UsageError
from fugu.laws.masses import Masses

Table = list[list[Fraction]]

_UNIT = 2.0**-52
_TINY = 1e-290
"""More than all that underflow can hide in one of the sums."""
_LARGE = 1e300


class ExactPrices:
    """term(x, y) = w_x loss(x, y) + sum_s (up_sy p_sy(x) - down_sy q_sy(x)) + cap and order, in rationals.

    up_sy = sum_t alpha_(s,t),y and down_sy = E sum_t alpha_(t,s),y with E >= e^epsilon; p and q are members of law s.

    - `problem`: what the channel must do.
    - `prices`: any numbers; refused only if their shapes are wrong or they are not finite.
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
            parts, total = law.whole()
            return [[Fraction(part, total) for part in parts]] * len(factor)
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
                    part = _floats([factor])[0] * _stacked(law, self.problem.n)
                    near, size, count = near + sign * part, size + part, count + 1
        for table in (self.cap, self.rise):
            if table is not None:
                part = _floats(table)
                near, size, count = near + part, size + np.abs(part), count + 1
        error = (2 * count + 10) * _UNIT * size + _TINY
        lost = ~np.isfinite(near) | ~np.isfinite(error) | (size > _LARGE)
        return np.where(lost, 0.0, near), np.where(lost, np.inf, error)


def _pair_prices(problem: ChannelProblem, prices: Prices) -> tuple[Table, tuple[Table, Table]]:
    """alpha of each ordered pair (none in the form of shares), and what they add up to for each law."""
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
    if prices.shares is not None:
        check("shares", prices.shares, (len(problem.laws), m))
        if problem.delta or problem.robust:
            raise UsageError("shares are prices for single laws and delta 0; give a price for each pair")
        for group in groups(problem):
            _add_shares(group, prices.shares, ratio, up, down)
    return alpha, (up, down)


def _add_shares(group: list[int], shares: NDArray[np.float64], ratio: Fraction, up: Table, down: Table) -> None:
    """g_s of the laws of ONE group: sum g^- >= E sum g^+ is made true, output by output, by less of g^+."""
    for y in range(shares.shape[1]):
        g = [Fraction(float(shares[s, y])) for s in group]
        gain, pay = sum((a for a in g if a > 0), Fraction(0)), -sum((a for a in g if a < 0), Fraction(0))
        part = Fraction(1) if pay >= ratio * gain else pay / (ratio * gain)
        for s, a in zip(group, g, strict=True):
            up[s][y] += max(a, Fraction(0)) * part
            down[s][y] += max(-a, Fraction(0))


def groups(problem: ChannelProblem) -> list[list[int]]:
    """The laws that pairs link, group by group (adversaries); every two of a group must be a pair."""
    owner = list(range(len(problem.laws)))
    for s, t in problem.pairs:
        a, b = owner[s], owner[t]
        owner = [a if o == b else o for o in owner]
    found = [[s for s, o in enumerate(owner) if o == first] for first in sorted(set(owner))]
    linked = {frozenset(pair) for pair in problem.pairs}
    for group in found:
        if any(frozenset((s, t)) not in linked for s in group for t in group if s < t):
            raise UsageError("shares need every two laws of a group to be a pair; give a price for each pair")
    return [group for group in found if len(group) > 1]


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
            chosen = (
                _law(law) if isinstance(law, Masses) else member(law, None if prices.mixed is None else prices.mixed[s])
            )
            weight = [w + part / total * c for w, c in zip(weight, chosen, strict=True)]
    return weight


def _law(law: Masses) -> list[Fraction]:
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
        part = Fraction(1) if pay >= ratio * gain else pay / (ratio * gain)
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
    return np.array([[_float(a) for a in row] for row in table], dtype=np.float64)


def _float(a: Fraction) -> float:
    try:
        return float(a)
    except OverflowError:
        return np.inf if a > 0 else -np.inf


def _stacked(law: list[list[Fraction] | None], n: int) -> NDArray[np.float64]:
    """Members as an array (points, outputs)."""
    known: dict[int, NDArray[np.float64]] = {}
    columns = []
    for chosen in law:
        key = id(chosen)
        if key not in known:
            known[key] = np.zeros(n) if chosen is None else np.array([float(a) for a in chosen])
        columns.append(known[key])
    return np.stack(columns, axis=1)
