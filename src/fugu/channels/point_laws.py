"""A channel problem with point laws, in doubles: what all its solvers share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.channels.problem import ChannelProblem, Found, Prices
from fugu.errors import UsageError
from fugu.laws.masses import Masses

_LARGEST = 300.0
"""Above this epsilon e^epsilon leaves the range of doubles; less is safe, and dearer by less than e^-300."""
_BLOCK = 1 << 22
"""Cells looked at together."""
_SPOILT = 1e-6
_LEAST_SLACK = 1e-3


@dataclass(frozen=True, eq=False)
class PointLaws:
    """The laws as rows of `law` (secrets, points), e^epsilon as `ratio`, and the problem they come from."""

    problem: ChannelProblem
    law: NDArray[np.float64]
    ratio: float

    @classmethod
    def of(cls, problem: ChannelProblem) -> PointLaws:
        """Read a problem; UsageError if a law is a set, or if there is a cap."""
        laws = [law for law in problem.laws if isinstance(law, Masses)]
        if len(laws) < len(problem.laws) or problem.cap is not None:
            raise UsageError("sets of laws and caps need the robust solver: ask `fugu.channels.find.find`")
        law = np.array([one.floats() for one in laws]).reshape(len(laws), problem.n)
        return cls(problem, law, math.exp(min(float(problem.epsilon), _LARGEST)))

    @cached_property
    def ordered(self) -> list[tuple[int, int]]:
        """The pairs in both orders."""
        return self.problem.ordered()

    @cached_property
    def excess(self) -> NDArray[np.float64]:
        """a_c = p_s - e^epsilon p_t for each ordered pair c = (s, t): (ordered pairs, points)."""
        s, t = np.array(self.ordered, dtype=np.int64).reshape(-1, 2).T
        return self.law[s] - self.ratio * self.law[t]

    @cached_property
    def binding(self) -> NDArray[np.bool_]:
        """Which ordered pairs can bind at all: some point says more than e^epsilon."""
        return np.asarray(np.any(self.excess > 0, axis=1))

    @cached_property
    def only_pair(self) -> int | None:
        """The first row in `ordered` of the only pair that can bind; None if several can."""
        first: dict[frozenset[int], int] = {}
        for c, pair in enumerate(self.ordered):
            first.setdefault(frozenset(pair), c)
        able = {first[frozenset(self.ordered[c])] for c in np.flatnonzero(self.binding)}
        return able.pop() if len(able) == 1 else None

    @cached_property
    def groups(self) -> list[list[int]]:
        """The adversaries: connected components of the graph of pairs, laws without a pair left out."""
        parent = list(range(len(self.law)))

        def root(s: int) -> int:
            while parent[s] != s:
                s = parent[s]
            return s

        for s, t in self.problem.pairs:
            parent[max(root(s), root(t))] = min(root(s), root(t))
        paired = sorted({s for pair in self.problem.pairs for s in pair})
        return [[s for s in paired if root(s) == r] for r in sorted({root(s) for s in paired})]

    def complete(self, group: list[int]) -> bool:
        """Whether every two laws of the group are a pair."""
        known = {frozenset(pair) for pair in self.problem.pairs}
        return sum(pair <= set(group) for pair in known) == len(group) * (len(group) - 1) // 2

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """The points that some paired law can take; what the others are sent to costs no privacy. Under the worst law
        also those of laws without a pair, since their loss counts."""
        counted = {s for pair in self.problem.pairs for s in pair}
        laws = self.law if self.problem.weight is None else self.law[sorted(counted)]
        return np.asarray(np.any(laws > 0, axis=0))

    def loss(self, matrix: NDArray[np.float64]) -> float:
        """The expected loss of a channel, or the largest under any law."""
        rows = np.einsum("xy,xy->x", matrix, self.problem.loss)
        weight = self.problem.weight
        return float(np.max(self.law @ rows)) if weight is None else float(weight @ rows)

    def priced(self, prices: Prices, columns: slice = slice(None)) -> NDArray[np.float64]:
        """w_x loss(x, y) + sum_c alpha_{c,y} a_c(x): what the cells of some outputs cost with their promises."""
        weight = self.problem.weight
        if weight is None:
            assert prices.mix is not None
            weight = prices.mix @ self.law / prices.mix.sum()
        cells = weight[:, None] * self.problem.loss[:, columns]
        if prices.ratio is not None and prices.ratio.size:
            cells += self.excess.T @ prices.ratio[:, columns]
        if prices.rise is not None:
            cells += _pull(prices.rise)[:, columns]
        return cells

    def bound(self, prices: Prices) -> float:
        """The lower bound of the optimum that any prices give, in doubles; `bounds.lower` proves it in rationals:
        sum_x min_y [w_x loss(x, y) + sum_c alpha_{c,y} a_c(x)] - delta sum_c max_y alpha_{c,y}."""
        least, step = np.full(self.problem.n, np.inf), max(1, _BLOCK // self.problem.n)
        for first in range(0, self.problem.m, step):
            np.minimum(least, self.priced(prices, slice(first, first + step)).min(axis=1), out=least)
        paid = 0.0 if prices.ratio is None else float(self.problem.delta) * float(prices.ratio.max(axis=1).sum())
        return float(least.sum()) - paid

    def found(self, matrix: NDArray[np.float64], prices: Prices) -> Found:
        """What a solver hands back: rows that sum to 1, the prices (none at all where rounding spoilt them, which
        happens at huge e^epsilon), and how far the loss is above the bound."""
        whole = self.completed(matrix)
        loss, bound = self.loss(whole), self.bound(prices)
        if loss - bound > _SPOILT * loss:
            nothing = replace(prices, ratio=np.zeros((len(self.ordered), self.problem.m)))
            if self.bound(nothing) > bound:
                prices, bound = nothing, self.bound(nothing)
        return Found(whole, prices, max(0.0, loss - bound))

    def shortfall(self, found: Found) -> float:
        """What is wrong with an answer, in units of the loss: its gap, and what mends its promises (`repair`)."""
        over = np.clip(np.max(self.excess @ found.matrix, axis=0, initial=0.0), 0.0, None).sum()
        mended = max(0.0, float(over) - float(self.problem.delta)) / max(self.ratio - 1, _LEAST_SLACK)
        return found.gap + mended * float(self.problem.loss.max())

    def completed(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """The channel on all points, in place: rows that sum to 1, and the best output for points that no law takes."""
        np.clip(matrix, 0.0, None, out=matrix)
        if not self.problem.monotone:
            idle = np.flatnonzero(~self.active)
            matrix[idle] = 0.0
            matrix[idle, np.argmin(self.problem.loss[idle], axis=1)] = 1.0
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix

    def spread(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows for the points that some law takes, as rows of all points."""
        if self.active.all():
            return rows
        matrix = np.zeros((self.problem.n, self.problem.m))
        matrix[self.active] = rows
        return matrix


def _pull(rise: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the prices of F(j|x + 1) <= F(j|x) add to each cell (x, y): sum over j >= y of rise[x - 1] - rise[x]."""
    tails = np.pad(np.cumsum(rise[:, ::-1], axis=1)[:, ::-1], ((1, 1), (0, 1)))
    return np.asarray(tails[:-1] - tails[1:])
