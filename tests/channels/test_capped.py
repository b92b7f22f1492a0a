"""Channels with a cap and a delta, epsilon 0 among them, against a linear program written from the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import fugu
from fugu.channels import program
from hunting import search

LOSSES = {"absolute": lambda a, b: abs(a - b), "squared": lambda a, b: (a - b) ** 2, "zero-one": lambda a, b: a != b}


def least(p, q, weight, loss, epsilon, delta, cap):
    """min sum_x w_x sum_y K(y|x) loss: sum_y [p K_y - e^eps q K_y]_+ <= delta both ways, K(y|x) <= e^cap K(y|z).

    The laws are whole numbers; their difference is taken before it is divided, and each row by its largest entry."""
    n, m = loss.shape
    cost = np.concatenate([(weight[:, None] * loss).ravel(), np.zeros(2 * m)])
    rows, right = [], []
    sums = sum(p), sum(q)
    for order, (one, two, a, b) in enumerate(((p, q, *sums), (q, p, *sums[::-1]))):
        both = zip(one, two, strict=True)
        over = np.array([(x * b - math.exp(epsilon) * y * a if epsilon else x * b - y * a) for x, y in both])
        over = over.astype(float) / (a * b)
        size = max(np.abs(over).max(), 1e-300)
        for y in range(m):
            row = np.zeros(cost.size)
            row[y : n * m : m] = over / size
            row[n * m + order * m + y] = -1
            rows.append(row)
            right.append(0.0)
        row = np.zeros(cost.size)
        row[n * m + order * m : n * m + (order + 1) * m] = 1
        rows.append(row)
        right.append(min(delta / size, 10.0))
    for y in range(m if cap is not None else 0):
        for x in range(n):
            for z in range(n):
                if x != z:
                    row = np.zeros(cost.size)
                    row[x * m + y], row[z * m + y] = math.exp(-cap), -1
                    rows.append(row)
                    right.append(0.0)
    equal = np.zeros((n, cost.size))
    for x in range(n):
        equal[x, x * m : (x + 1) * m] = 1
    found = linprog(
        cost, np.array(rows), right, equal, np.ones(n), bounds=(0, None), method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert found.status == 0
    return found.fun


def case(rng):
    n = int(rng.integers(2, 5))
    base = rng.integers(1, 9, n) * 10 ** int(rng.integers(0, 9))
    p = [int(x) for x in base + rng.integers(0, 5, n)]
    q = [int(x) for x in (rng.permutation(p) if rng.random() < 0.3 else base + rng.integers(0, 5, n))]
    epsilon = float(rng.choice([0, 0, 0, 1e-6, 0.1, 2]))
    delta = float(rng.choice([1e-9, 1e-6, 1e-3, 0.1]))
    cap = float(rng.choice([0.1, 1, 3, 8, 15]))
    return p, q, epsilon, delta, cap, str(rng.choice(list(LOSSES)))


def solved(p, q, epsilon, delta, cap, name):
    pair = fugu.LawPair(fugu.Discrete(range(len(p)), p), fugu.Discrete(range(len(q)), q))
    made = fugu.optimal_channel(pair, fugu.Approx(epsilon, delta), loss=name, cap=cap)
    weight = (np.array(p) / sum(p) + np.array(q) / sum(q)) / 2
    loss = np.array([[float(LOSSES[name](x, y)) for y in made.noise.outputs] for x in range(len(p))])
    return made, least(p, q, weight, loss, epsilon, delta, cap)


def near(made, truth):
    optimum = made.optimum
    return optimum.value <= truth * (1 + 2e-3) + 1e-9 and optimum.lower <= truth * (1 + 1e-6) + 1e-9


@search("capped channels with delta against their program", quick=40)
def test_no_capped_channel_loses_more_than_it_must(rng):
    made, truth = solved(*case(rng))
    assert near(made, truth) and made.any_belief <= float(made.optimum.cap) + 1e-9
    assert made.optimum.value >= truth * (1 - 1e-4) - 1e-9, "better than the best: the oracle or the proof is wrong"
    assert fugu.verify(made).holds


DEGENERATE = [
    ([20000001, 80000001, 70000002, 80000002], [20000004, 80000002, 70000003, 80000003], 0.0, 1e-9, 8.0, "absolute"),
    ([300000004, 100000000, 200000000, 4004], [300000001, 100000001, 200000003, 4001], 0.0, 1e-9, 9.0, "absolute"),
    ([80000003, 30000001, 20000004], [80000001, 30000004, 20000002], 0.0, 1e-9, 8.0, "absolute"),
    ([3, 2, 5], [3, 2, 5], 0.0, 1e-9, 15.0, "squared"),
]  # fmt: skip


@pytest.mark.parametrize("given", DEGENERATE, ids=["four", "far", "three", "equal"])
def test_laws_that_hardly_differ(given, monkeypatch):
    """At epsilon 0 with delta 1e-9 a row of 1e-8 is below every tolerance: beside a vertex, the loss is far larger."""
    made, truth = solved(*given)
    assert near(made, truth)
    if given[0] != given[1]:
        monkeypatch.setattr(program, "_FEW", 0)
        wrong, _ = solved(*given)
        assert wrong.optimum.value > 2 * made.optimum.value


def test_the_worst_of_the_laws_has_a_cap_too():
    pair = fugu.LawPair(fugu.Discrete([0, 1, 2], [5, 3, 2]), fugu.Discrete([0, 1, 2], [2, 3, 5]))
    made = fugu.optimal_channel(pair, fugu.Approx(0.5, 1e-3), weight="worst", cap=2)
    assert made.optimum.value - made.optimum.lower < 1e-6 and fugu.verify(made).holds
