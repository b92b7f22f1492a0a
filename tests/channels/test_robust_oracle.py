"""Channels for sets of laws against one linear program over all corners of the sets, and against members drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from channels.channel_brute import corners, least_loss
from channels.channel_draws import draw_problem
from fugu.channels.exact import holds, lower, repaired, value
from fugu.channels.find import find
from fugu.channels.problem import ChannelProblem
from fugu.laws.discrete import Discrete
from fugu.laws.sets import Ball, Box, Intersection
from hunting import search


def solved(problem):
    found = find(problem)
    rows, theta = repaired(problem, found.matrix)
    assert holds(problem, rows)
    return found, rows, theta


@search("robust channels against all corners", quick=60)
def test_the_least_loss_is_that_of_all_corners(rng):
    problem = draw_problem(rng)
    scale, truth = float(problem.loss.max()) + 1e-12, least_loss(problem)
    found, rows, theta = solved(problem)
    least, most = lower(problem, found.prices), value(problem, rows)
    assert least <= most
    assert float(least) <= truth + 1e-7 * scale and float(most) >= truth - 1e-7 * scale
    assert float(most - least) <= 1e-6 * scale
    assert theta < Fraction(1, 10**6)


@search("robust channels with delta against all corners", quick=12)
def test_delta_is_sound_and_never_better_than_the_truth(rng):
    problem = draw_problem(rng, delta=True)
    scale, truth = float(problem.loss.max()) + 1e-12, least_loss(problem)
    found, rows, _ = solved(problem)
    assert float(lower(problem, found.prices)) <= truth + 1e-7 * scale
    assert float(value(problem, rows)) >= truth - 1e-6 * scale
    assert float(value(problem, rows)) <= least_loss(replace(problem, delta=Fraction(0))) + 1e-6 * scale
    matrix, total = np.array(rows, dtype=object), sum(rows[0])
    ratio = math.exp(float(problem.epsilon))
    for s, t in problem.ordered():
        for p in corners(problem.laws[s]):
            for q in corners(problem.laws[t]):
                over = (p - ratio * q) @ matrix.astype(float) / total
                assert np.clip(over, 0, None).sum() <= float(problem.delta) + 1e-9


@search("members of sets under robust channels")
def no_member_loses_more(rng):
    problem = draw_problem(rng, kinds=("box", "band", "both", "tv"), secrets=2, extras=False)
    _, rows, _ = solved(problem)
    matrix = np.array(rows, dtype=object).astype(float) / sum(rows[0])
    ratio, worst = math.exp(float(problem.epsilon)), 0.0
    for s, t in problem.ordered():
        mine, other = corners(problem.laws[s]), corners(problem.laws[t])
        p = rng.dirichlet(np.ones(len(mine)), 300) @ mine
        q = rng.dirichlet(np.ones(len(other)), 300) @ other
        assert np.all(p @ matrix <= ratio * (q @ matrix) + 1e-12)
        top, bottom = (mine @ matrix).max(axis=0), (other @ matrix).min(axis=0)
        worst = max(worst, float((top / np.maximum(bottom, 1e-300))[top > 1e-12].max(initial=0)))
    no_member_loses_more.used = worst / ratio
    free = float(problem.weight @ problem.loss.min(axis=1))
    return int(float(value(problem, rows)) > free + 1e-6)


def test_no_member_loses_more_and_some_member_loses_all():
    """Where something had to be given up, the budget is used to the last digit by some member; only where nothing but
    outputs that never occur would help it is not."""
    used = [no_member_loses_more.used for seed in range(25) if no_member_loses_more(np.random.default_rng(seed))]
    assert len(used) >= 8 and max(used) <= 1 + 1e-9
    assert sum(part > 1 - 1e-7 for part in used) >= 0.8 * len(used)


def test_one_bound_for_all_laws_at_once_is_dearer_and_is_not_used():
    """t_y <= min over every set and max <= e^epsilon t_y also holds each law against itself."""
    x = np.arange(3)
    laws = (Box(x, [0.1, 0.1, 0.1], [0.8, 0.8, 0.8]), Discrete(x, [2, 1, 1]).masses)
    points = np.arange(3.0)
    problem = ChannelProblem(laws, ((0, 1),), Fraction(1), np.abs(points[:, None] - points), np.full(3, 1 / 3))
    _, rows, _ = solved(problem)
    truth, wrong = least_loss(problem), least_loss(problem, itself=True)
    assert float(value(problem, rows)) == pytest.approx(truth, abs=1e-8)
    assert wrong > 1.05 * truth


@pytest.mark.parametrize("radius", [0.01, 0.1])
def test_a_kullback_leibler_ball_is_the_one_around_its_first_argument(radius):
    """KL(centre, p) <= radius lets p give mass to values without any under the centre; the other direction does not."""
    x = np.arange(3)
    laws = tuple(Ball(Discrete(x, counts), radius, "kl") for counts in ([9, 1, 0], [1, 9, 0]))
    points = np.arange(3.0)
    problem = ChannelProblem(laws, ((0, 1),), Fraction(1), np.abs(points[:, None] - points), np.full(3, 1 / 3))
    found, rows, _ = solved(problem)
    matrix = np.array(rows, dtype=object).astype(float) / sum(rows[0])
    members = [_kl_members(law) for law in laws]
    for p, q in (members, members[::-1]):
        assert np.all((p @ matrix).max(axis=0) <= math.e * (q @ matrix).min(axis=0) + 1e-12)
    assert 0 < lower(problem, found.prices) <= value(problem, rows)
    wrong = replace(problem, laws=tuple(_other_direction(law) for law in laws))
    _, loose, _ = solved(wrong)
    matrix = np.array(loose, dtype=object).astype(float) / sum(loose[0])
    over = [(p @ matrix).max(axis=0) - math.e * (q @ matrix).min(axis=0) for p, q in (members, members[::-1])]
    assert max(part.max() for part in over) > 1e-3


@search("Kullback-Leibler balls against laws on their edges", quick=5)
def test_kullback_leibler_balls_cost_what_their_edges_cost(rng):
    n = int(rng.integers(2, 4))
    x, points = np.arange(n), np.arange(n) * 1.0
    laws = tuple(
        Ball(Discrete(x, rng.multinomial(20, rng.dirichlet(np.ones(n)))), float(rng.choice([0.01, 0.1, 0.5])), "kl")
        for _ in range(2)
    )
    loss = np.abs(points[:, None] - points)
    problem = ChannelProblem(laws, ((0, 1),), Fraction(str(rng.choice([0.3, 1, 2]))), loss, rng.dirichlet(np.ones(n)))
    found, rows, theta = solved(problem)
    truth = least_loss(problem)  # of laws on the edge: a little too small for three points
    assert theta < Fraction(1, 10**6)
    assert truth - 1e-6 <= float(value(problem, rows)) <= truth * (1.0001 if n == 2 else 1.1) + 1e-3 * (n - 2) + 1e-6
    assert float(lower(problem, found.prices)) <= float(value(problem, rows)) + 1e-12
    assert float(lower(problem, found.prices)) >= 0.98 * truth - 1e-4  # proved, and tight


def _kl_members(ball):
    rng, centre = np.random.default_rng(0), ball.weights
    laws = rng.dirichlet(np.full(3, 0.5), 20000) * 0.5 + centre * 0.5
    laws = np.concatenate([laws, rng.dirichlet(1 + 60 * centre, 20000)])
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(centre > 0, centre * np.log(centre / laws), 0.0).sum(axis=1)
    return laws[far <= ball.radius]


def _other_direction(ball):
    """A box around KL(p, centre) <= radius: nothing where the centre has nothing."""
    centre = ball.weights
    reach = math.sqrt(ball.radius / 2)
    lower, upper = np.clip(centre - reach, 0, 1), np.clip(centre + reach, 0, 1)
    upper[centre == 0] = 0.0
    return Intersection([Box(ball.values, lower, upper)])


def test_epsilon_0_and_a_cap_of_0_publish_the_best_constant():
    x, points = np.arange(3), np.arange(3.0)
    laws = (Box(x, [0.1, 0.1, 0.1], [0.8, 0.8, 0.8]), Box(x, [0, 0.2, 0.1], [0.5, 0.8, 0.8]))
    weight, loss = np.array([0.5, 0.25, 0.25]), np.abs(points[:, None] - points)
    for change in ({"epsilon": Fraction(0)}, {"cap": Fraction(0)}, {"epsilon": Fraction(0), "weight": None}):
        problem = replace(ChannelProblem(laws, ((0, 1),), Fraction(1), loss, weight), **change)
        found = find(problem)
        rows, theta = repaired(problem, found.matrix)
        assert theta == 0 and all(row == rows[0] for row in rows)
        if problem.weight is not None:
            assert value(problem, rows) == Fraction(3, 4)
        if problem.cap == 0:
            assert float(lower(problem, found.prices)) == pytest.approx(0.75, abs=1e-12)


def test_large_budgets_and_single_points():
    x, points = np.arange(3), np.arange(3.0)
    laws = (Box(x, [0.1, 0.1, 0.1], [0.8, 0.8, 0.8]), Box(x, [0.1, 0.2, 0.1], [0.5, 0.8, 0.8]))
    problem = ChannelProblem(laws, ((0, 1),), Fraction(50), np.abs(points[:, None] - points), np.full(3, 1 / 3))
    _, rows, _ = solved(problem)
    assert float(value(problem, rows)) < 1e-9
    one = ChannelProblem((Box([0], [1], [1]), Box([0], [0], [1])), ((0, 1),), Fraction(1), np.ones((1, 1)), np.ones(1))
    _, rows, theta = solved(one)
    assert theta == 0 and value(one, rows) == 1


def test_an_intersection_with_a_ball_is_held_to_what_its_top_proves():
    x, points = np.arange(3), np.arange(3.0)
    laws = tuple(
        Intersection(
            [Box(x, np.clip(p - 0.1, 0, 1), p + 0.1), Ball(Discrete(x, (20 * p).round().astype(int)), 0.05, kind)]
        )
        for p, kind in ((np.array([0.5, 0.3, 0.2]), "tv"), (np.array([0.2, 0.3, 0.5]), "kl"))
    )
    problem = ChannelProblem(laws, ((0, 1),), Fraction(1, 2), np.abs(points[:, None] - points), np.full(3, 1 / 3))
    found, rows, theta = solved(problem)
    assert theta < Fraction(1, 10**6)
    assert 0 < lower(problem, found.prices) <= value(problem, rows)
    boxes = replace(problem, laws=tuple(law.sets[0] for law in laws))
    assert float(value(problem, rows)) <= least_loss(boxes) + 1e-7
