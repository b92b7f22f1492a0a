"""Outputs for the squared error: the published values are free, so they are found together with the channel.

For one pair of laws and a ray with telling point h and partner x the best output is the conditional mean, and the ray
costs A B / (A + B) (h - x)^2 for each unit, A = w_h / a_h, B = w_x / |a_x|. Outputs are added where a ray at its mean
would pay, until none does: the channel is then the best over all real outputs. For several secrets the outputs are a
grid of step s, which costs at most s^2 / 4 more, and the means of the columns that were found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fugu.channels.find import find
from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import ChannelProblem
from fugu.channels.rays.master import State
from fugu.channels.rays.pair import Floats, Pair
from fugu.channels.rays.search import Search
from fugu.errors import UsageError

_ROUNDS = 60
_PAYS = 1e-11
_GRID = 33
_USED = 1e-9


def squared_outputs(problem: ChannelProblem) -> Floats:
    """The values to publish for the least squared error, increasing; `problem.loss` and `problem.outputs` are ignored.

    - `problem`: the laws, pairs and budget, with `points`.

    The best over all real outputs for point laws where one pair can bind. With more pairs a grid, and the means of the
    columns of the best channel on it; with sets of laws, a cap or a monotone channel the grid alone.
    """
    points = problem.points
    if points is None:
        raise UsageError("the squared error needs points with values, not labels")
    grid = np.unique(np.concatenate([points, np.linspace(points[0], points[-1], _GRID)]))
    if problem.robust or problem.cap is not None or problem.monotone:
        return grid
    laws = PointLaws.of(problem)
    if not laws.binding.any():
        return points
    if laws.only_pair is not None:
        return np.union1d(_of_pair(problem, laws.only_pair), points[~laws.active])
    weight = laws.law.mean(axis=0) if problem.weight is None else problem.weight
    matrix = find(with_outputs(problem, grid)).matrix
    used = matrix.max(axis=0) > _USED
    mass = weight @ matrix[:, used]
    means = (weight * points) @ matrix[:, used] / np.maximum(mass, np.finfo(np.float64).tiny)
    return np.unique(np.concatenate([grid[used], means[mass > _USED]]))


def with_outputs(problem: ChannelProblem, outputs: Floats) -> ChannelProblem:
    """The problem with these outputs and the squared error."""
    assert problem.points is not None
    return replace(problem, loss=(problem.points[:, None] - outputs) ** 2, outputs=outputs)


def _of_pair(problem: ChannelProblem, c: int) -> Floats:
    points, outputs = problem.points, problem.points
    assert points is not None
    assert outputs is not None
    for _ in range(_ROUNDS):
        laws = PointLaws.of(with_outputs(problem, outputs))
        pair = Pair.of(laws, c)
        search = Search(pair)
        state = search.run()
        used = outputs[search.master.matrix().max(axis=0) > _USED]
        new = _paying_means(pair, state, points[laws.active])
        if not new.size:
            return np.asarray(used)
        outputs = np.unique(np.concatenate([points, used, new]))
    return outputs


def _paying_means(pair: Pair, state: State, points: Floats) -> Floats:
    """The means of the rays that would pay, the best one of every telling point and of every partner."""
    found = [np.zeros(0)]
    for side in (0, 1):
        tell, hide = pair.tellers[side], pair.partners[side]
        if not tell.size or not hide.size:
            continue
        up, down = pair.rate[side, tell], -pair.rate[side, hide]
        dear, spare = (state.weight[tell] / up)[:, None], state.weight[hide] / down
        both = np.maximum(dear + spare, np.finfo(np.float64).tiny)
        value = dear * (spare / both) * (points[tell][:, None] - points[hide]) ** 2
        value -= (state.u[tell] / up)[:, None] + state.u[hide] / down
        value *= np.minimum(up[:, None], down)
        mean = (dear * points[tell][:, None] + spare * points[hide]) / both
        for best in ((np.arange(tell.size), value.argmin(axis=1)), (value.argmin(axis=0), np.arange(hide.size))):
            found.append(mean[best][value[best] < -_PAYS * pair.scale])
    return np.unique(np.concatenate(found))
