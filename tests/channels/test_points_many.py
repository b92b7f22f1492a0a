"""Many points: coarse to fine, sifting of cells and telling points near and far, each held against its own prices."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from channels.point_oracle import excess, expected, on_line
from fugu.channels.find import _merged, find, solve_grid, solve_sifted
from fugu.channels.problem import PointLaws


def shifted(n, secrets=2, seed=0, epsilon=".5", **more):
    """Counts of normal laws whose means differ by a fifth of the range: every point tells."""
    rng, x = np.random.default_rng(seed), np.arange(n)
    laws = [np.exp(-0.5 * ((x - mean * n) / (0.15 * n)) ** 2) for mean in np.linspace(0.4, 0.6, secrets)]
    counts = [rng.multinomial(20 * n, law / law.sum()) for law in laws]
    return on_line(x, [row.tolist() for row in counts], epsilon, **more)


def local(n, seed=0):
    """Telling points here and there among many."""
    rng = np.random.default_rng(seed)
    base = 10 * rng.gamma(2, 1, n)
    unlike = np.where(rng.random((2, n)) < 0.2, rng.choice([0.2, 3.0], (2, n)), 1.0)
    return on_line(range(n), rng.poisson(base * unlike).tolist(), ".5")


def waves(n, length):
    """Telling points in groups that cancel when enough neighbours are merged."""
    x = np.arange(n)
    up = (x // (length // 2)) % 2 == 0
    return on_line(x, [np.where(up, 30, 10).tolist(), np.where(up, 10, 30).tolist()], ".5")


def proved_gap(problem, found):
    """The loss less the bound of the prices, from the definitions, relative to the loss."""
    law, ratio = np.array([one.floats() for one in problem.laws]), math.exp(float(problem.epsilon))
    weight = problem.weight if problem.weight is not None else found.prices.mix @ law
    cells = weight[:, None] * problem.loss
    for c, (s, t) in enumerate(problem.ordered()):
        assert found.prices.ratio[c].min() >= 0
        cells = cells + np.outer(law[s] - ratio * law[t], found.prices.ratio[c])
    bound = cells.min(axis=1).sum() - float(problem.delta) * found.prices.ratio.max(axis=1).sum()
    loss = expected(problem, found.matrix)
    return (loss - bound) / loss


@pytest.mark.parametrize(
    "problem",
    [
        shifted(260),
        shifted(150, seed=1, epsilon=".1"),
        shifted(150, delta=Fraction(1, 20)),
        shifted(120, weight="minimax"),
        replace(shifted(90), points=None, outputs=None),
        replace(shifted(120), outputs=None, loss=shifted(120).loss[:, 3::7].copy()),
        local(500),
        waves(320, 32),
        waves(640, 64),
        shifted(100, 4),
        shifted(80, 3, delta=Fraction(1, 50)),
        shifted(80, 3, weight="minimax"),
        shifted(100, 4, pairs=[(0, 1), (1, 2), (2, 3)]),
        replace(shifted(80, 3, loss="zero-one"), points=None, outputs=None),
    ],
    ids=[
        "far", "small epsilon", "delta", "worst", "no order", "few outputs", "local", "waves", "long waves", "secrets",
        "secrets and delta", "worst of secrets", "chain", "labels",
    ],
)  # fmt: skip
def test_every_way_ends_at_a_channel_that_its_prices_prove(problem):
    found = find(problem)
    assert abs(proved_gap(problem, found)) < 1e-10
    assert excess(problem, found.matrix) < 1e-11


def test_sifted_cells_reach_the_value_of_all_cells():
    problem = shifted(70, 3)
    whole = solve_grid(PointLaws.of(problem))
    assert expected(problem, find(problem).matrix) == pytest.approx(expected(problem, whole.matrix), rel=1e-11)


def test_a_coarse_solution_alone_is_not_the_optimum():
    laws = PointLaws.of(shifted(200))
    coarse = _merged(laws)
    truth = laws.loss(solve_sifted(laws).matrix)
    assert abs(coarse.loss(solve_sifted(coarse, 1e-5).matrix) / truth - 1) > 1e-3


@pytest.mark.parametrize("problem", [shifted(200), local(300)], ids=["far", "near"])
def test_cells_begun_without_a_coarse_problem_end_at_the_same_loss(problem):
    losses = [expected(problem, find(one).matrix) for one in (problem, replace(problem, points=None, outputs=None))]
    assert losses[0] == pytest.approx(losses[1], rel=1e-11)


def test_many_labels_are_settled_too():
    rng = np.random.default_rng(0)
    problem = on_line(range(600), rng.poisson(5, (2, 600)).tolist(), ".5", loss="zero-one")
    found = find(replace(problem, points=None, outputs=None))
    assert abs(proved_gap(problem, found)) < 1e-10
