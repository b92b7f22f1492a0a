"""Channels of least loss for sets of laws, and for any laws with a cap on what any belief can learn."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from fugu.channels.bounds import lower
from fugu.channels.problem import ChannelProblem, Prices, RoughChannel
from fugu.channels.robust.cone import Floats
from fugu.channels.robust.program import Tried, expected, solved
from fugu.channels.robust.sets import Planes, provable, round_ball
from fugu.errors import OutOfReach
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Hull

# Channels of least loss for sets of laws, and for any laws with a cap on what any belief can learn.
#
#     min sum_y cost_y.k_y   subject to   sum_y k_y = 1,   G z_y >= 0 for every output y,   z_y = (k_y, ...)
#
# With delta there is a slack for each pair and output, whose sum over the outputs is at most delta: it bounds the sum
# over y of [max p.k_y - e^epsilon min q.k_y]_+, which is at least the delta of every pair of members. So it is sound.


_CELLS = 160_000
"""Points times outputs, a minute or two."""
_HOPE = 0.25
"""What finer planes around a Kullback-Leibler ball may be expected to gain."""
_LEAST = 1e-9
"""Interior points leave outputs that hardly occur; those below this chance everywhere are dropped."""


def solve_robust(problem: ChannelProblem) -> RoughChannel:
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
    return RoughChannel(matrix, prices, _gap(problem, matrix, prices))


def cleaned(matrix: Floats) -> Floats:
    """The channel without outputs that hardly occur, whose ratios are arbitrary; rows with sum 1."""
    kept = np.clip(matrix, 0.0, None)
    kept = kept * (kept.max(axis=0) >= _LEAST)
    chances: Floats = kept / kept.sum(axis=1, keepdims=True)
    return chances


def constant(problem: ChannelProblem) -> RoughChannel:
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
        return RoughChannel(matrix, None, np.inf)
    cost = problem.weight[:, None] * problem.loss
    prices = Prices(cap=cost.mean(axis=0) - cost)
    return RoughChannel(matrix, prices, _gap(problem, matrix, prices))


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


# Planes around Kullback-Leibler balls, where a solution needs them.
#
# f(p) = -sum c ln p is convex, so at a law z on the edge of the ball KL(c, p) <= r every p of the ball has
# f(z) + f'(z).(p - z) <= f(p) <= f(z), that is sum_x (c_x / z_x) p_x >= 1. The member that a program uses and that lies
# outside the ball is cut off by the plane at z on its way from the centre, and planes touch the ball where the channel
# does; the program over the smaller set is solved again (Kelley 1960). From within, the hull of members at which the
# channel touches gives a bound from below.


_ROUNDS, _GAIN = 8, 1e-4
"""How often planes are added, and the gain at which that ends."""
_WITHIN = 3
"""How often members are added to the hull."""
_STEPS = 50
_NEAR = 1e-6
"""How far from the edge, relative to the radius, a law may be to get a plane."""
_SAFE = 1e-10
"""Planes are moved outward by this much: the doubles behind them are good to 1e-13."""


def finer(tried: Tried) -> Tried:
    """The channel for balls with planes around them, round after round while it gains."""
    planes: Planes = {}
    for _ in range(_ROUNDS):
        _add_planes(tried, planes)
        more = solved(tried.promises.problem, planes)
        if more.value > (1 - _GAIN) * tried.value:
            return more if more.value < tried.value else tried
        tried = more
    return tried


def _add_planes(tried: Tried, planes: Planes) -> None:
    """Planes where the channel touches a ball, and where its duals use a law outside; four for each output."""
    problem, answer = tried.promises.problem, tried.answer
    upper, lower = (tried.promises.members(answer.duals, side) for side in (1, -1))
    vectors = _vectors(tried)
    for s, law in enumerate(problem.laws):
        ball = round_ball(law)
        if ball is not None:
            last = np.zeros((1, problem.n)) if answer.mixed is None else answer.mixed[s : s + 1]
            ends = [cuts(ball, np.concatenate([side[s], last])) for side in (upper, lower)]
            more = np.stack([touching(ball, vectors), touching(ball, -vectors), *ends], axis=1)
            planes[s] = np.concatenate([planes[s], more], axis=1) if s in planes else more


def from_within(tried: Tried) -> Prices:
    """Prices for the hulls of members at which the channel touches the balls: what no channel for them goes below, none
    for the balls does."""
    problem = tried.promises.problem
    members: dict[int, Floats] = {}
    for _ in range(_WITHIN):
        vectors, laws = _vectors(tried), list(problem.laws)
        for s, law in enumerate(problem.laws):
            ball = round_ball(law)
            if ball is not None:
                ends = np.array([ball.extreme(sign * v) for v in vectors for sign in (1.0, -1.0)])
                members[s] = np.concatenate([members[s], ends]) if s in members else ends
                members[s] = np.unique(members[s].round(9), axis=0)
                laws[s] = Hull([Discrete(ball.values, law / law.sum()) for law in members[s]], ball.values)
        tried = solved(dataclasses.replace(problem, laws=tuple(laws)))
    return tried.prices()


def _vectors(tried: Tried) -> Floats:
    """The columns of the channel, and the mean losses."""
    means = (tried.matrix * tried.promises.problem.loss).sum(axis=1)
    return np.concatenate([tried.matrix.T, means[None, :]])


def cuts(ball: Ball, members: Floats) -> Floats:
    """For each law a plane h.p >= 1 around the ball that cuts it off if it lies outside; one in each row.

    - `ball`: with KL(centre, p) <= radius.
    - `members`: laws, one in each row; a row of zeros gets a plane that says nothing.
    """
    centre, sums = ball.weights, members.sum(axis=1, keepdims=True)
    laws = np.where(sums > 0.5, members / np.maximum(sums, 0.5), centre)
    inside, outside = np.zeros(len(laws)), np.ones(len(laws))
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        within = _divergence(centre, centre + middle[:, None] * (laws - centre)) <= ball.radius
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    return _planes(ball, centre + inside[:, None] * (laws - centre))


def touching(ball: Ball, vectors: Floats) -> Floats:
    """For each vector v the plane h.p >= 1 that touches the ball at its extreme law for v; one in each row.

    - `ball`: with KL(centre, p) <= radius.
    - `vectors`: one in each row.
    """
    return _planes(ball, np.array([ball.extreme(v) for v in vectors]))


def _planes(ball: Ball, edge: Floats) -> Floats:
    """The planes at laws of the edge; sum p >= 1, which says nothing, where a law is not on it or has no plane."""
    centre, seen = ball.weights, ball.weights > 0
    far = _divergence(centre, edge)
    fit = (edge[:, seen] > 0).all(axis=1) & (np.abs(far - ball.radius) <= _NEAR * ball.radius)
    rows = np.ones_like(edge)
    rows[fit] = 0.0
    rows[np.ix_(fit, seen)] = centre[seen] / edge[np.ix_(fit, seen)]
    rows[fit] *= 1 + 2 * np.maximum(far[fit] - ball.radius, 0.0)[:, None] + _SAFE
    return rows


def _divergence(centre: Floats, laws: Floats) -> Floats:
    seen = centre > 0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        parts = centre[seen] * (np.log(centre[seen]) - np.log(laws[:, seen]))
    total: Floats = np.where(np.isnan(parts), np.inf, parts).sum(axis=1)
    return total
