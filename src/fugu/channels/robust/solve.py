"""Channels of least loss for sets of laws, and for any laws with a cap on what any belief can learn.

    min sum_y cost_y.k_y   subject to   sum_y k_y = 1,   G z_y >= 0 for every output y,   z_y = (k_y, ...)

With delta there is a slack for each pair and output, whose sum over the outputs is at most delta: it bounds the sum
over y of [max p.k_y - e^epsilon min q.k_y]_+, which is at least the delta of every pair of members. So it is sound.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from fugu.channels.problem import ChannelProblem, Found, Prices
from fugu.channels.robust.cone import Floats
from fugu.channels.robust.interior import Interior
from fugu.channels.robust.outer import provable
from fugu.channels.robust.planes import ball_of, cuts, touching
from fugu.channels.robust.program import Solved, WholeProgram
from fugu.channels.robust.promises import Planes, Promises
from fugu.laws.masses import Masses
from fugu.laws.sets.law_set import LawSet

_NEAR = 1e-7
"""Distance from the optimum, relative to the largest cost, at which an answer is taken."""
_ROUNDS, _GAIN = 8, 1e-5
"""How often Kullback-Leibler balls are cut again, and the gain at which that ends."""
_LEAST = 1e-9
"""Interior points leave outputs that hardly occur; those below this chance everywhere are dropped."""


def solve_robust(problem: ChannelProblem) -> Found:
    """The channel of least loss in doubles, with prices and members that bound the optimum from below.

    - `problem`: laws and sets of laws in any mixture; cap, delta, worst case and order as it asks for.

    For epsilon 0 without delta, and for a cap of 0, the channel is the best constant one.
    """
    if (problem.epsilon == 0 and problem.delta == 0) or problem.cap == 0:
        return constant(problem)
    tries = [_solved(problem, laws) for laws in provable(problem.laws)]
    return min(tries, key=lambda found: found[1])[0]


def _solved(problem: ChannelProblem, laws: tuple[Masses | LawSet, ...]) -> tuple[Found, float]:
    """The channel for sets that hold those of the problem, with its loss and its prices."""
    held = dataclasses.replace(problem, laws=laws)
    planes: Planes = {}
    best = np.inf
    for _ in range(_ROUNDS):
        promises = Promises(held, planes)
        solved = _near_optimum(promises)
        value = _value(held, solved.matrix)
        if value > (1 - _GAIN) * best or not _cut_off(promises, solved, planes):
            break
        best = value
    prices = Prices(
        ratio=promises.ratios(solved.duals),
        upper=promises.members(solved.duals, 1),
        lower=promises.members(solved.duals, -1),
        cap=promises.caps(solved.duals),
        mix=solved.mix,
        mixed=solved.mixed,
        rise=solved.rise,
    )
    matrix = cleaned(solved.matrix)
    return Found(matrix, prices, _gap(problem, matrix, prices)), _value(problem, matrix)


def _cut_off(promises: Promises, solved: Solved, planes: Planes) -> bool:
    """Add planes that cut off members outside their Kullback-Leibler balls; whether there were any."""
    members = np.concatenate([promises.members(solved.duals, side) for side in (1, -1)], axis=1)
    found = False
    for s, law in enumerate(promises.problem.laws):
        ball = ball_of(law)
        if ball is not None and len(more := cuts(ball, members[s])):
            touched = touching(ball, solved.matrix)
            planes[s] = np.concatenate([planes.get(s, np.zeros((0, promises.problem.n))), more, touched])
            found = True
    return found


def _near_optimum(promises: Promises) -> Solved:
    """By the method that knows the shape of the program; where it does not come near, or has no place for what is
    asked, by a general solver."""
    problem = promises.problem
    if problem.weight is not None and not problem.monotone and not promises.planes:
        matrix, duals, error = Interior(promises).solve()
        if error < _NEAR:
            return Solved(matrix, duals)
    return WholeProgram(promises).solve()


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
        solved = WholeProgram(Promises(same)).solve()
        matrix[:] = cleaned(solved.matrix.mean(axis=0)[None, :])
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
    return _value(problem, matrix) - (float(terms.min(axis=1).sum()) - spent)


def _value(problem: ChannelProblem, matrix: Floats) -> float:
    """The expected loss of the channel, in doubles."""
    means = (matrix * problem.loss).sum(axis=1)
    if problem.weight is not None:
        return float(problem.weight @ means)
    return max(
        float(law.floats() @ means if isinstance(law, Masses) else law.tops(means[None, :])[0]) for law in problem.laws
    )
