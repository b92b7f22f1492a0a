"""Least-cost plans and partial plans: exact marginals always, the optimum of an exact solver in rationals."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.laws.masses import Masses, masses
from fugu.numbers.exact import as_fraction
from fugu.transport import Coupling, optimal_plan, partial_plan, plan_log_cost
from fugu.transport.coupling import compact, one_total

A, B = np.array([0, 1, 4]), np.array([0, 2, 3])
P, Q = Masses(np.array([2, 1, 1]), Fraction(4)), Masses(np.array([1, 2, 1]), Fraction(4))


def law(parts):
    whole = [int(m) for m in parts]
    return Masses(compact(np.array(whole, dtype=object), sum(whole)), Fraction(sum(whole)))


def least_cost(cost, a, b, needed):
    """min sum cost * mass with row sums <= a, column sums <= b, total mass `needed`: successive shortest paths.

    Each path is a shortest one of the residual graph, so after any amount the flow is the cheapest of that amount."""
    n, m = len(a), len(b)
    left, room, flow, done, paid = list(a), list(b), {}, 0, Fraction(0)
    while done < needed:
        far = [Fraction(0) if left[i] else None for i in range(n)] + [None] * m
        back = [None] * (n + m)
        for _ in range(n + m):
            for i in range(n):
                for j in range(m):
                    if far[i] is not None and (far[n + j] is None or far[i] + cost[i][j] < far[n + j]):
                        far[n + j], back[n + j] = far[i] + cost[i][j], i
                    if flow.get((i, j)) and far[n + j] is not None:
                        there = far[n + j] - cost[i][j]
                        if far[i] is None or there < far[i]:
                            far[i], back[i] = there, n + j
        end = min((far[n + j], n + j) for j in range(m) if room[j] and far[n + j] is not None)[1]
        path = [end]
        while back[path[-1]] is not None:
            path.append(back[path[-1]])
        path.reverse()
        arcs = list(pairwise(path))
        amount = min([left[path[0]], room[end - n], needed - done] + [flow[t, s - n] for s, t in arcs if s >= n])
        for s, t in arcs:
            cell, sign = ((s, t - n), 1) if s < n else ((t, s - n), -1)
            flow[cell] = flow.get(cell, 0) + sign * amount
            paid += sign * amount * cost[cell[0]][cell[1]]
        left[path[0]], room[end - n], done = left[path[0]] - amount, room[end - n] - amount, done + amount
    return paid


def exact_log(plan, log_cost):
    with mpmath.workdps(50):
        cells = zip(plan.rows.tolist(), plan.columns.tolist(), plan.masses.tolist(), strict=True)
        return mpmath.log(mpmath.fsum(m * mpmath.exp(log_cost[i][j]) for i, j, m in cells) / plan.total)


def rational(log_cost):
    with mpmath.workdps(60):
        return [[Fraction(int(mpmath.exp(c) * 2**150), 2**150) for c in row] for row in log_cost.tolist()]


def tiny_atoms(rng):
    """Masses from 1 to 10^12, and dear cells of e^30 and more that the smallest atoms cannot avoid."""
    n, m = rng.integers(2, 5, 2)
    a, b = ([int(10 ** rng.integers(0, 13)) for _ in range(k)] for k in (n, m))
    cost = np.round(rng.uniform(0, 2, (n, m)), 3)
    cost[int(np.argmin(a))] = 30 + rng.integers(0, 10, m)
    cost[:, int(np.argmin(b))] = 30 + rng.integers(0, 10, n)
    return cost, law(a), law(b)


def plain(rng):
    n, m, d = *rng.integers(1, 6, 2), int(rng.integers(2, 4))
    apart = rng.normal(size=(n, d))[:, None] - rng.normal(size=(m, d))
    return (apart**2).sum(-1), law(rng.integers(1, 9, n)), law(rng.integers(1, 9, m))


@pytest.mark.parametrize("kind", [plain, tiny_atoms])
@pytest.mark.parametrize("delta", [0, Fraction(1, 7), 0.3])
def test_plans_have_exact_marginals_and_the_least_cost(kind, delta):
    rng = np.random.default_rng(41)
    for _ in range(40):
        cost, p, q = kind(rng)
        plan = partial_plan(cost, p, q, delta) if delta else optimal_plan(cost, p, q)
        a, b, total = one_total(p, q)
        scale = plan.total // total
        assert plan.kept == 1 - as_fraction(delta)
        assert np.all(plan.sums(plan.rows, len(a)) <= a.astype(object) * scale)
        assert np.all(plan.sums(plan.columns, len(b)) <= b.astype(object) * scale)
        supply, demand = ([int(m) * scale for m in side.tolist()] for side in (a, b))
        least = least_cost(rational(cost), supply, demand, int(plan.kept * plan.total)) / plan.total
        truth = exact_log(plan, cost.tolist())
        assert truth <= plan_log_cost(plan, cost) <= truth + 2e-12
        assert float(truth) == pytest.approx(math.log(least), abs=1e-9)


def test_the_objective_of_a_solver_is_below_the_truth():
    """HiGHS on tiny atoms: no error, and a value that no coupling has. Published, it would be a false bound."""
    rng = np.random.default_rng(42)
    below = 0
    for _ in range(60):
        cost, p, q = tiny_atoms(rng)
        n, m = cost.shape
        rows = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
        found = linprog(np.exp(cost).ravel(), A_eq=rows, b_eq=np.concatenate([p.floats(), q.floats()]))
        a, b, total = one_total(p, q)
        least = least_cost(rational(cost), a.tolist(), b.tolist(), total) / total
        below += found.fun is not None and found.fun < float(least) * (1 - 1e-6)
        assert plan_log_cost(optimal_plan(cost, p, q), cost) >= math.log(least)
    assert below >= 5


def test_cost_in_logarithms_is_at_or_above_the_truth_whatever_the_range():
    rng = np.random.default_rng(43)
    for _ in range(60):
        n = int(rng.integers(1, 30))
        weights = [int(10 ** rng.uniform(0, rng.choice([2, 15, 400]) % 300)) for _ in range(n)]
        spread = float(rng.choice([1, 30, 1000, 1e5]))
        cost = rng.uniform(-spread, spread, (n, 1))
        total = sum(weights) + int(rng.integers(0, 5))
        plan = Coupling(np.arange(n), np.zeros(n, np.int64), compact(np.array(weights, object), total), total)
        truth = exact_log(plan, cost.tolist())
        found = plan_log_cost(plan, cost)
        assert truth <= found <= truth + 1e-11 + 1e-14 * spread
    assert plan_log_cost(plan, np.full((n, 1), -np.inf)) == -np.inf
    assert plan_log_cost(plan, np.full((n, 1), np.inf)) == np.inf


def test_decimal_masses_and_functions_as_costs():
    p, q = masses([0.1, 0.2, 0.7], 3), masses([0.3, 0.7], 2)
    cost = np.array([[0.0, 40.0], [0.0, 40.0], [40.0, 0.0]])
    plan = optimal_plan(lambda i, j: cost[i, j], p, q)
    assert plan.rows.tolist() == [0, 1, 2]  # no sliver of .1 + .2 - .3 pays e^40
    assert plan_log_cost(plan, cost) == pytest.approx(0, abs=1e-12)
    assert optimal_plan(cost, p, q).masses.tolist() == plan.masses.tolist()


def test_atoms_without_mass_and_costs_beyond_the_doubles():
    p, q = law([0, 3, 1]), law([2, 0, 2])
    cost = np.array([[0, 0, 0], [5000.0, 0, 1.0], [0.0, 0, 7000.0]])
    plan = optimal_plan(cost, p, q)
    assert sorted(zip(plan.rows.tolist(), plan.columns.tolist(), strict=True)) == [(1, 0), (1, 2), (2, 0)]
    assert plan_log_cost(plan, cost) == pytest.approx(5000 - math.log(4), abs=1e-9)
    assert partial_plan(cost, p, q, 0.25).kept == Fraction(3, 4)
    assert plan_log_cost(partial_plan(cost, p, q, 0.25), cost) < 1


def test_infinite_costs_forbid_a_cell_where_another_way_exists():
    cost = np.array([[np.inf, 3.0, 0.0], [1.0, np.inf, 2.0], [4.0, 2.0, np.inf]])
    plan = optimal_plan(cost, P, Q)
    assert all(np.isfinite(cost[i, j]) for i, j in zip(plan.rows.tolist(), plan.columns.tolist(), strict=True))
    assert math.isfinite(plan_log_cost(plan, cost))
    shut = optimal_plan(np.full((3, 3), np.inf), P, Q)
    assert plan_log_cost(shut, np.full((3, 3), np.inf)) == math.inf


def test_beyond_all_pairs_the_plan_is_still_a_coupling(monkeypatch):
    rng = np.random.default_rng(44)
    x, y = rng.random((60, 2)), rng.random((50, 2))
    cost = 20 * ((x[:, None] - y) ** 2).sum(-1)
    p, q = law(rng.integers(1, 99, 60)), law(rng.integers(1, 99, 50))
    best = plan_log_cost(optimal_plan(cost, p, q), cost)
    monkeypatch.setattr("fugu.transport.plan._FULL", 10)
    monkeypatch.setattr("fugu.transport.plan._NEAREST", 3)
    monkeypatch.setattr("fugu.transport.plan._BLOCK", 300)
    sparse = optimal_plan(cost, p, q)
    assert sparse.kept == 1
    assert best - 1e-12 <= plan_log_cost(sparse, cost) <= best + 0.2
    monkeypatch.setattr("fugu.transport.plan._PIVOTS", -1000)
    unfinished = optimal_plan(cost, p, q)
    assert unfinished.kept == 1
    assert plan_log_cost(unfinished, cost) > best  # a search cut short costs more, and is still a coupling


def test_a_plan_with_wrong_marginals_never_leaves():
    a = np.array([1, 1])
    one = np.array([0, 1])
    assert Coupling(one, one, a, 2).checked(a, a, 2)
    for rows, mass, needed in ((one * 0, a, 2), (one, np.array([2, 0]), 2), (one, a, 3), (one, np.array([2, 1]), 2)):
        with pytest.raises(NotProvable, match="marginals"):
            Coupling(rows, one, mass, 2).checked(a, a, needed)


def test_wrong_use_is_refused():
    for delta in (-0.1, 1, math.nan, "0.1"):
        with pytest.raises(BadBudget, match="delta"):
            partial_plan(np.zeros((3, 3)), P, Q, delta)
    with pytest.raises(UsageError, match="NaN"):
        optimal_plan(np.full((3, 3), np.nan), P, Q)
    with pytest.raises(UsageError, match="one number"):
        optimal_plan(lambda i, j: 0.0 * i[:1], P, Q)
