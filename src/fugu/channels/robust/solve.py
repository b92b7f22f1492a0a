"""Channels of least loss for sets of laws, and for any laws with a cap on what any belief can learn.

    min sum_y cost_y.k_y   subject to   sum_y k_y = 1,   G z_y >= 0 for every output y,   z_y = (k_y, ...)

With delta there is a slack for each pair and output, whose sum over the outputs is at most delta: it bounds the sum
over y of [max p.k_y - e^epsilon min q.k_y]_+, which is at least the delta of every pair of members. So it is sound.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from fugu.channels.bounds import lower
from fugu.channels.problem import ChannelProblem, Found, Prices
from fugu.channels.robust.cone import Floats
from fugu.channels.robust.outer import provable
from fugu.channels.robust.planes import finer, from_within
from fugu.channels.robust.tried import expected, solved
from fugu.errors import OutOfReach
from fugu.laws.masses import Masses

_CELLS = 160_000
"""Points times outputs, a minute or two."""
_HOPE = 0.25
"""What finer planes around a Kullback-Leibler ball may be expected to gain."""
_LEAST = 1e-9
"""Interior points leave outputs that hardly occur; those below this chance everywhere are dropped."""


def solve_robust(problem: ChannelProblem) -> Found:
    """The channel of least loss in doubles, with prices and members that bound the optimum from below.

    - `problem`: laws and sets of laws in any mixture; cap, delta, worst case and order as it asks for.

    For epsilon 0 without delta, and for a cap of 0, the channel is the best constant one. Raises `OutOfReach` beyond
    400 points with as many outputs.
    """
    if problem.n * problem.m > _CELLS:
        raise OutOfReach(
            f"a channel for sets of laws with {problem.n} points and {problem.m} outputs is not searched for; "
            f"declare bins so that points times outputs are at most {_CELLS}",
            points=problem.n * problem.m,
            limit=_CELLS,
        )
    if (problem.epsilon == 0 and problem.delta == 0) or problem.cap == 0:
        return constant(problem)
    tries = [solved(dataclasses.replace(problem, laws=laws)) for laws in provable(problem.laws)]
    least = min(each.value for each in tries)
    tries = [finer(each) if each.round and each.value * (1 - _HOPE) < least else each for each in tries]
    best = min(tries, key=lambda each: each.value)
    prices = best.prices()
    if best.round:
        prices = max(prices, from_within(best), key=lambda known: lower(problem, known))
    matrix = cleaned(best.matrix)
    return Found(matrix, prices, _gap(problem, matrix, prices))


def cleaned(matrix: Floats) -> Floats:
    """The channel without outputs that hardly occur, whose ratios are arbitrary; rows with sum 1."""
    kept = np.clip(matrix, 0.0, None)
    kept = kept * (kept.max(axis=0) >= _LEAST)
    chances: Floats = kept / kept.sum(axis=1, keepdims=True)
    return chances


def constant(problem: ChannelProblem) -> Found:
    """The best channel that does not look at its input: right for every law, so also for epsilon 0.

    Its prices prove it the best where the cap is 0; for epsilon 0 alone there are none, since equal laws could do
    better.
    """
    matrix = np.zeros(problem.loss.shape)
    if problem.weight is None:
        same = dataclasses.replace(problem, pairs=(), cap=Fraction(0), monotone=False, delta=Fraction(0))
        matrix[:] = cleaned(solved(same).matrix.mean(axis=0)[None, :])
    else:
        matrix[:, np.argmin(problem.weight @ problem.loss)] = 1.0
    if problem.cap != 0 or problem.weight is None:
        return Found(matrix, None, np.inf)
    cost = problem.weight[:, None] * problem.loss
    prices = Prices(cap=cost.mean(axis=0) - cost)
    return Found(matrix, prices, _gap(problem, matrix, prices))


def _gap(problem: ChannelProblem, matrix: Floats, prices: Prices) -> float:
    """The loss of the channel less the bound of the prices, in doubles."""
    laws = [law.floats() if isinstance(law, Masses) else None for law in problem.laws]
    weight = problem.weight
    if weight is None and prices.mix is not None and prices.mixed is not None:
        members = [mixed if law is None else law for law, mixed in zip(laws, prices.mixed, strict=True)]
        weight = (prices.mix / prices.mix.sum()) @ np.array(members)
    if weight is None:
        return np.inf
    terms = weight[:, None] * problem.loss
    spent, ratio = 0.0, float(np.exp(min(float(problem.epsilon), 600.0)))
    if prices.ratio is not None and prices.upper is not None and prices.lower is not None:
        spent = float(problem.delta) * float(prices.ratio.max(axis=1).sum())
        for alpha, (s, t) in zip(prices.ratio, problem.ordered(), strict=True):
            p, q = prices.upper[s].T, prices.lower[t].T
            terms = terms + alpha * (p - ratio * q)
    if prices.cap is not None:
        terms = terms + prices.cap
    if prices.rise is not None:
        tails = np.zeros((problem.n + 1, problem.m))
        tails[1:-1, :-1] = np.cumsum(prices.rise[:, ::-1], axis=1)[:, ::-1]
        terms = terms + tails[:-1] - tails[1:]
    return expected(problem, matrix) - (float(terms.min(axis=1).sum()) - spent)
