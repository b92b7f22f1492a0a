"""Channels for one pair of laws by other ways: closed forms, all rays at once, mixtures, finer outputs; and the
shortcuts that the notes warn of, each shown to fail."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

from channels.point_oracle import CASES, counted, every_pair, excess, expected, least_loss, on_line, printed
from fugu.channels.find import find, pairwise, solve_grid, squared_outputs, with_outputs
from fugu.channels.problem import ChannelProblem, PointLaws
from hunting import search


def two_points(problem):
    """The least loss on two points in closed form (notes, section 1); exact, without a solver."""
    p, q = (law.floats() for law in problem.laws)
    ratio, w = math.exp(float(problem.epsilon)), problem.weight
    gap, a, b = problem.points[1] - problem.points[0], p - ratio * q, q - ratio * p
    tells_p, tells_q = np.flatnonzero(a > 0), np.flatnonzero(b > 0)
    if tells_p.size and tells_q.size:
        (h,), (k,) = tells_p, tells_q
        phi, psi = np.linalg.solve([[1 / a[h], 1 / -b[h]], [1 / -a[k], 1 / b[k]]], [1, 1])
        return gap * (phi * min(w[h] / a[h], w[k] / -a[k]) + psi * min(w[k] / b[k], w[h] / -b[h]))
    for rate in (a, b):
        for h in np.flatnonzero(rate > 0):
            return gap * min(w[h], w[1 - h] * rate[h] / -rate[1 - h])
    return 0.0


@search("channels on two points against the closed form", quick=100)
def test_two_points_have_a_closed_form(rng):
    counts = rng.integers(0, 20, (2, 2)) + np.eye(2, dtype=np.int64)[rng.permutation(2)]
    problem = on_line([0, 3], counts.tolist(), str(rng.choice([".05", ".3", "1", "3"])))
    found = find(problem)
    assert expected(problem, found.matrix) == pytest.approx(two_points(problem), rel=1e-10, abs=1e-14)


def all_rays(problem):
    """(columns, costs, share of delta on each side) of all extreme columns, each at its best output."""
    p, q = (law.floats() for law in problem.laws)
    ratio = math.exp(float(problem.epsilon))
    rates = [p - ratio * q, q - ratio * p]
    columns, spent = [], []
    for x in range(problem.n):
        columns.append(np.eye(problem.n)[x])
        spent.append([max(0.0, rate[x]) for rate in rates])
    for rate in rates:
        for h in np.flatnonzero(rate > 0):
            for x in np.flatnonzero(rate < 0):
                columns.append(np.eye(problem.n)[h] / rate[h] - np.eye(problem.n)[x] / rate[x])
                spent.append([0.0, 0.0])
    columns = np.array(columns)
    return columns, np.min((columns * problem.weight) @ problem.loss, axis=1), np.array(spent)


def by_rays(problem, units=None):
    """The optimum over all rays (Theorems 2 and 4); `units` says how much of each telling point stays exact."""
    columns, costs, spent = all_rays(problem)
    ceiling = [(0, None)] * len(costs)
    if units is not None:
        ceiling[: problem.n] = [(u, u) if s.any() else (0, None) for u, s in zip(units, spent, strict=False)]
    limit = np.full(2, float(problem.delta))
    found = linprog(costs, spent.T, limit, columns.T, np.ones(problem.n), ceiling)
    return found.fun if found.status == 0 else math.inf  # what stays exact can hide nothing


def largest_first(problem):
    """How much of each telling point stays exact if delta is spent on the heaviest first: a wrong version."""
    p, q = (law.floats() for law in problem.laws)
    ratio, units = math.exp(float(problem.epsilon)), np.zeros(problem.n)
    for rate in (p - ratio * q, q - ratio * p):
        left = float(problem.delta) * (1 - 1e-9)
        for h in sorted(np.flatnonzero(rate > 0), key=lambda h: -problem.weight[h]):
            units[h] = min(1.0, left / rate[h])
            left -= units[h] * rate[h]
    return units


@pytest.mark.parametrize("delta", ["0", ".01", ".05"])
def test_rays_at_once_agree_and_delta_is_not_spent_on_the_heaviest_first(delta):
    case = CASES[7]
    problem = on_line(case["points"], case["counts"], ".1", delta=Fraction(delta))
    loss = expected(problem, find(problem).matrix)
    assert loss == pytest.approx(by_rays(problem), rel=1e-9)
    greedy = by_rays(problem, largest_first(problem))
    assert greedy >= loss * (1 - 1e-9)
    assert (greedy > 1.01 * loss) == (delta != "0")


def without_crossing(problem):
    """The monotone plan, in which no two ways cross: the best if all points cost the same for a unit, else wrong."""
    columns, costs, spent = all_rays(problem)
    far = np.array([np.ptp(problem.points[column > 0]) for column in columns])
    alone = [(0, 0) if used.any() else (0, None) for used in spent]
    plan = linprog(far**1.5, None, None, columns.T, np.ones(problem.n), alone)
    return float(costs @ plan.x)


def test_a_plan_without_crossings_is_not_the_best():
    worst = 1.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        counts = [[9, 8, 1, 1, 20], [1, 1, 6, 7, 24]]
        problem = on_line([0, 1, 4, 7, 30], counts, ".5")
        problem = replace(problem, weight=rng.dirichlet(np.ones(5)))
        loss = expected(problem, find(problem).matrix)
        assert loss == pytest.approx(least_loss(problem), rel=1e-9)
        worst = max(worst, without_crossing(problem) / loss)
    assert worst > 1.1


@pytest.mark.parametrize("case", [c for c in CASES if c["weight"] == "minimax" and len(c["counts"]) == 2])
def test_the_worst_law_is_the_worst_mixture(case):
    problem = printed(case)
    p, q = (law.floats() for law in problem.laws)

    def at(share):
        mixed = share * p + (1 - share) * q
        weighted = replace(problem, weight=mixed / mixed.sum())
        return expected(weighted, find(weighted).matrix)

    best = minimize_scalar(lambda share: -at(share), bounds=(0, 1), method="bounded", options={"xatol": 1e-9})
    assert max(-best.fun, at(0.0), at(1.0)) == pytest.approx(float(case["value"]), rel=1e-7)
    assert at(0.5) < float(case["value"])  # the mean of the laws is not enough


@search("labels without an order against all cells", quick=40)
def test_labels_have_the_loss_of_all_cells(rng):
    n = int(rng.integers(2, 40))
    counts = rng.integers(0, int(rng.choice([3, 50])), (2, n))
    counts[:, rng.integers(n)] += 1
    delta = Fraction(0) if rng.random() < 0.5 else Fraction(int(rng.integers(1, 50)), 1000)
    problem = on_line(range(n), counts.tolist(), str(rng.choice([".1", ".5", "2"])), loss="zero-one", delta=delta)
    problem = replace(problem, points=None, outputs=None)
    found, other = find(problem), solve_grid(PointLaws.of(problem))
    loss = expected(problem, found.matrix)
    assert loss == pytest.approx(expected(problem, other.matrix), rel=1e-9, abs=1e-13)
    assert found.gap <= 1e-10 * loss + 1e-14
    assert excess(problem, found.matrix) < 1e-12


@search("squared error over real outputs against a grid of outputs", quick=15)
def test_free_outputs_are_as_good_as_the_finest_grid(rng):
    n = int(rng.integers(2, 8))
    points = np.sort(rng.choice(20, n, replace=False))
    counts = rng.integers(1, 20, (2, n))
    problem = on_line(points, counts.tolist(), str(rng.choice([".1", ".5"])), loss="squared")
    free = with_outputs(problem, squared_outputs(problem))
    grid = with_outputs(problem, np.linspace(points[0], points[-1], 201))
    loss, on_grid = (expected(one, find(one).matrix) for one in (free, grid))
    step = float(np.ptp(points)) / 200
    assert loss <= on_grid * (1 + 1e-9) + 1e-13
    assert on_grid <= loss + step**2 / 4 + 1e-9


def test_outputs_at_the_points_are_too_few_for_the_squared_error():
    case = next(c for c in CASES if c["loss"] == "squared" and c["name"] == "Student")
    problem = printed(case)
    assert expected(problem, find(problem).matrix) > 1.5 * float(case["value"])


def test_several_secrets_get_means_as_outputs():
    case = next(c for c in CASES if c["name"] == "random 2")
    problem = on_line(case["points"], case["counts"], ".5", loss="squared")
    better = with_outputs(problem, squared_outputs(problem))
    assert expected(better, find(better).matrix) < 0.9 * expected(problem, find(problem).matrix)


def test_prices_of_pairs_add_up_to_those_of_the_laws():
    rng = np.random.default_rng(0)
    mu, nu = rng.random((4, 6)) * (rng.random((4, 6)) < 0.4), rng.random((4, 6))
    nu *= 2 * 1.5 * mu.sum(axis=0) / nu.sum(axis=0)
    alpha = pairwise(mu, nu, 1.5)
    assert np.all(alpha >= 0)
    assert np.all(np.diagonal(alpha) == 0)
    both = np.minimum(mu, nu)
    assert np.allclose(alpha.sum(axis=1), mu - both)
    assert np.all(1.5 * alpha.sum(axis=0) <= nu - both + 1e-12)


@pytest.mark.parametrize("epsilon", ["0", "1", "40", "800"])
def test_ends_of_the_scale(epsilon):
    problem = on_line([0, 1, 5], [[1, 0, 3], [0, 2, 2]], epsilon)
    found = find(problem)
    if epsilon == "0":
        out = [law.floats() @ found.matrix for law in problem.laws]
        assert np.allclose(*out, atol=1e-13)
    if epsilon in ("40", "800"):
        assert expected(problem, found.matrix) < 1e-12
    assert found.gap < 1e-12


def test_nothing_to_protect_is_published_as_it_is():
    law = counted([1, 2, 3])
    problem = on_line([0, 1, 5], [[1, 2, 3], [1, 2, 3]], ".5")
    for same in (problem, ChannelProblem((law,), (), Fraction(1), problem.loss, None)):
        assert np.array_equal(find(same).matrix, np.eye(3))
    assert every_pair(3) == ((0, 1), (0, 2), (1, 2))


def test_a_law_without_a_pair_counts_among_the_worst():
    problem = on_line([0, 1, 5], [[2, 1, 0], [1, 2, 0], [0, 1, 9]], ".1", "minimax", pairs=[(0, 1)])
    few = replace(problem, loss=problem.loss[:, :2].copy(), outputs=problem.outputs[:2].copy())
    for one in (problem, few):
        found = find(one)
        assert expected(one, found.matrix) == pytest.approx(least_loss(one), rel=1e-9)
        assert found.gap < 1e-12
    assert expected(few, find(few).matrix) > 3.5  # all but a tenth of the third law is 4 away from any output
