"""The channel of least loss for a problem, by the solver that suits it; its outputs."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace

import numpy as np

from fugu.channels.cells import LARGEST_RATIO, solve_sifted
from fugu.channels.problem import ChannelProblem, Prices, RoughChannel
from fugu.channels.program import Floats, PointLaws
from fugu.errors import NotProvable, UsageError


def find(problem: ChannelProblem) -> RoughChannel:
    """A channel of least expected loss in doubles, with prices that bound the optimum from below.

    Nothing here is a guarantee: `repair.repaired` makes the channel exact, `bounds.value` and `bounds.lower` prove how
    far it is from the best.

    >>> from fractions import Fraction
    >>> from fugu.laws.masses import Masses
    >>> laws = tuple(Masses(np.array(counts), Fraction(100)) for counts in ([75, 25], [25, 75]))
    >>> wrong = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> found = find(ChannelProblem(laws, ((0, 1),), Fraction(1, 2), wrong, np.array([0.5, 0.5])))
    >>> found.matrix.round(3).tolist()
    [[0.745, 0.255], [0.255, 0.745]]
    """
    if problem.robust or problem.cap is not None:
        from fugu.channels.robust import solve_robust  # scipy is imported with it

        if problem.cap is None or problem.cap > problem.epsilon:
            return solve_robust(problem)
        free = solve_robust(replace(problem, pairs=()))  # what holds for any two beliefs holds for these
        return (
            free
            if free.prices is None
            else replace(free, prices=replace(free.prices, ratio=None, upper=None, lower=None))
        )
    laws = PointLaws.of(problem)
    beyond, found = laws.ratio > LARGEST_RATIO and not problem.monotone, list[RoughChannel]()
    with suppress(NotProvable) if beyond else nullcontext():
        found += [solve_sifted(laws)] if problem.monotone or laws.binding.any() else []
    if found and not beyond:
        return found[0]
    # Where no pair can bind every point goes to its best output, which is the best under every law; and where e^epsilon
    # is beyond the solver that is mended by next to nothing.
    matrix = np.zeros((problem.n, problem.m))
    matrix[np.arange(problem.n), np.argmin(problem.loss, axis=1)] = 1.0
    mix = None
    if problem.weight is None:
        mix = np.zeros(len(laws.law))
        mix[np.argmax(laws.law @ problem.loss.min(axis=1))] = 1.0
    free = laws.found(matrix, Prices(ratio=np.zeros((len(laws.problem.ordered()), problem.m)), mix=mix))
    return min([*found, free], key=laws.shortfall)


# Outputs for the squared error: the published values are free, so they are found together with the channel.
#
# With a = p - e^epsilon q and b = q - e^epsilon p a column k >= 0 of a channel for one pair of laws needs a.k <= 0 and
# b.k <= 0, so the extreme columns are single points that tell neither and rays: a telling point h, a_h > 0, and a
# partner x, a_x < 0, in the proportion 1 / a_h : 1 / |a_x|, or the same with b
# (docs/proofs/optimal-channels.md#1-few-atoms-behind-every-output). The best output of a ray is its conditional mean,
# where it costs A B / (A + B) (h - x)^2 for each unit, A = w_h / a_h, B = w_x / |a_x|. Outputs are added where a ray at
# its mean would pay, until none does: the channel is then the best over all real outputs. For several secrets the
# outputs are a grid of step s, which costs at most s^2 / 4 more, and the means of the columns that were found.


_ROUNDS = 60
_PAYS = 1e-11
_GRID = 33
_USED = 1e-9


def squared_outputs(problem: ChannelProblem) -> Floats:
    """The values to publish for the least squared error, increasing; `problem.loss` and `problem.outputs` are ignored.

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
        return np.union1d(_of_pair(problem, points, laws.only_pair), points[~laws.active])
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


def _of_pair(problem: ChannelProblem, points: Floats, c: int) -> Floats:
    outputs = points
    for _ in range(_ROUNDS):
        laws = PointLaws.of(with_outputs(problem, outputs))
        try:
            channel = solve_sifted(laws)
        except NotProvable:
            if laws.ratio <= LARGEST_RATIO:
                raise
            return outputs  # e^epsilon is beyond the solver: `find` mends every point's best output
        assert channel.prices is not None
        used = outputs[channel.matrix[laws.active].max(axis=0) > _USED]
        new = _paying_means(laws, c, channel.prices)
        if not new.size:
            return np.asarray(used)
        outputs = np.unique(np.concatenate([points, used, new]))
    return outputs


def _paying_means(laws: PointLaws, c: int, prices: Prices) -> Floats:
    """The means of the rays that would pay at these prices, the best one of every telling point and of every partner;
    only the pair in rows c and c + 1 of `problem.ordered()` can bind."""
    problem, active = laws.problem, laws.active
    assert problem.points is not None
    weight, points = laws.weight(prices)[active], problem.points[active]
    u = laws.priced(prices).min(axis=1)[active]  # what a unit of each point costs
    least = -_PAYS * max(float(problem.loss.max()) * float(weight.mean()), np.finfo(np.float64).tiny)
    means = [np.zeros(0)]
    for rate in laws.excess[c : c + 2, active]:
        tell, hide = np.flatnonzero(rate > 0), np.flatnonzero(rate < 0)
        if not tell.size or not hide.size:
            continue
        up, down = rate[tell], -rate[hide]
        dear, spare = (weight[tell] / up)[:, None], weight[hide] / down
        both = np.maximum(dear + spare, np.finfo(np.float64).tiny)
        gain = dear * (spare / both) * (points[tell][:, None] - points[hide]) ** 2
        gain -= (u[tell] / up)[:, None] + u[hide] / down
        gain *= np.minimum(up[:, None], down)
        mean = (dear * points[tell][:, None] + spare * points[hide]) / both
        for best in ((np.arange(tell.size), gain.argmin(axis=1)), (gain.argmin(axis=0), np.arange(hide.size))):
            means.append(mean[best][gain[best] < least])
    return np.unique(np.concatenate(means))
