"""Small channels of every kind against an independent linear program."""

from __future__ import annotations

import numpy as np
import pytest

from channels.point_oracle import draw, excess, expected, least_loss
from fugu.channels import problem as channel_problem
from fugu.channels.exact import holds, lower, repaired, value
from fugu.channels.find import find
from hunting import search

_EACH = 5


def check(problem, found):
    """The channel keeps its promises, is as good as the oracle's, and its prices prove it; False if there is none."""
    scale = float(problem.loss.max()) or 1.0
    loss, truth = expected(problem, found.matrix), least_loss(problem)
    assert np.all(found.matrix >= 0)
    assert np.allclose(found.matrix.sum(axis=1), 1, rtol=0, atol=1e-12)
    fine = problem.epsilon < 5  # beyond it e^epsilon times the tolerance of a cell is what a promise can be off by
    assert excess(problem, found.matrix) < (1e-9 if fine else 1e-7)
    assert found.gap <= 1e-8 * loss + (1e-11 if fine else 1e-9) * scale
    if truth is not None:
        assert loss <= truth + 1e-9 * scale
        # from below the prices have proved it; e^5 and more is beyond the tolerances of the oracle
        assert not fine or loss >= truth - 1e-9 * scale
    return truth is not None


@search("small channels for point laws against a linear program", quick=60)
def test_no_small_channel_differs_from_the_linear_program(rng):
    return sum(check(problem, find(problem)) for problem in (draw(rng) for _ in range(_EACH)))


@search("brackets of small channels in rationals", quick=60)
def test_the_optimum_of_a_small_channel_is_proved(rng):
    problem = draw(rng)
    if problem.epsilon == 0:
        return 0  # the repair has no room to mix
    found = find(problem)
    rows, _ = repaired(problem, found.matrix, bits=60)
    assert holds(problem, rows)
    least, loss = lower(problem, found.prices), value(problem, rows)
    assert least <= loss
    assert float(loss - least) <= 1e-8 * float(loss) + 1e-9 * float(problem.loss.max())
    return 1


def test_a_solver_that_protects_one_order_only_is_caught(monkeypatch):
    def one_order(laws):
        both = true(laws)
        both[1::2] = -1.0
        return both

    true = channel_problem.PointLaws.__dict__["excess"].func
    monkeypatch.setattr(channel_problem.PointLaws, "excess", property(one_order))
    caught = 0
    for seed in range(40):
        problem = draw(np.random.default_rng(seed))
        if problem.epsilon == 0:
            continue
        try:
            check(problem, find(problem))
        except AssertionError:
            caught += 1
    assert caught > 5


def test_a_channel_with_a_little_too_little_mixing_is_caught():
    caught = 0
    for seed in range(60):
        problem = draw(np.random.default_rng(seed))
        found = find(problem)
        best = np.zeros_like(found.matrix)
        best[np.arange(problem.n), problem.loss.argmin(axis=1)] = 1.0
        wrong = type(found)(0.999 * found.matrix + 0.001 * best, found.prices, found.gap)
        try:
            check(problem, wrong)
        except AssertionError:
            caught += 1
    assert caught > 20


@pytest.mark.parametrize("seed", range(3))
def test_the_same_problem_gives_the_same_channel(seed):
    problem = draw(np.random.default_rng(seed))
    first, second = find(problem), find(problem)
    assert np.array_equal(first.matrix, second.matrix)


@pytest.mark.parametrize(("seed", "place"), [(101627, 4), (102008, 0), (103953, 1), (101281, 1), (100428, 4)])
def test_what_the_hunt_once_caught(seed, place):
    """Cells of 1e-10 behind e^12 lost in the tolerance of the solver, and laws without a pair under the worst law."""
    rng = np.random.default_rng(seed)
    problem = [draw(rng) for _ in range(place + 1)][-1]
    assert check(problem, find(problem))
