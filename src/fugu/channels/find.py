"""The channel of least loss for a problem, by the solver that suits it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fugu.channels.capped import solve_capped
from fugu.channels.cells.sift import solve_sifted
from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import ChannelProblem, Found, Prices
from fugu.channels.rays.search import solve_pair


def find(problem: ChannelProblem) -> Found:
    """A channel of least expected loss in doubles, with prices that bound the optimum from below.

    - `problem`: the laws, the pairs, the budget and the loss.

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

        if problem.cap is None:
            return solve_robust(problem)
        if problem.cap > problem.epsilon:
            return solve_capped(problem) or solve_robust(problem)
        free = solve_robust(replace(problem, pairs=()))  # what holds for any two beliefs holds for these
        return free if free.prices is None else replace(free, prices=_without_pairs(free.prices))
    laws = PointLaws.of(problem)
    if not laws.binding.any() and not problem.monotone:
        return _best_outputs(laws)
    pair = laws.only_pair
    if pair is not None and not problem.monotone:
        return solve_pair(laws, pair)
    return solve_sifted(laws)


def _without_pairs(prices: Prices) -> Prices:
    """The prices of a program that no pair is in: theirs are none."""
    return replace(prices, ratio=None, upper=None, lower=None)


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
