"""The channel of least loss for a problem, by the solver that suits it."""

from __future__ import annotations

import numpy as np

from fugu.channels.cells.sift import solve_sifted
from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import ChannelProblem, Found, Prices
from fugu.channels.rays.search import solve_pair
from fugu.channels.robust import solve_robust


def find(problem: ChannelProblem) -> Found:
    """A channel of least expected loss in doubles, with prices that bound the optimum from below.

    - `problem`: the laws, the pairs, the budget and the loss.

    Nothing here is a guarantee: `repair.repaired` makes the channel exact, `bounds.value` and `bounds.lower` prove how
    far it is from the best.
    """
    if problem.robust or problem.cap is not None:
        return solve_robust(problem)
    laws = PointLaws.of(problem)
    if not laws.binding.any() and not problem.monotone:
        return _best_outputs(laws)
    pair = laws.only_pair
    if pair is not None and not problem.monotone:
        return solve_pair(laws, pair)
    return solve_sifted(laws)


def _best_outputs(laws: PointLaws) -> Found:
    """No pair can bind: every point goes to its best output, which is the best under every law."""
    problem = laws.problem
    matrix = np.zeros((problem.n, problem.m))
    matrix[np.arange(problem.n), np.argmin(problem.loss, axis=1)] = 1.0
    mix = None
    if problem.weight is None:
        mix = np.zeros(len(laws.law))
        mix[np.argmax(laws.law @ problem.loss.min(axis=1))] = 1.0
    return laws.found(matrix, Prices(ratio=np.zeros((len(laws.ordered), problem.m)), mix=mix))
