"""Steps of hidden chains by plans: never below the best function that is allowed, and next to it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from tree_oracle import best_of_table, possible, seen_given_hidden

import fugu
from fugu.priors.hidden import HiddenMarkov
from fugu.translation.joint import JointSteps
from fugu.translation.sequence import HiddenContraction
from hunting import search

VECTORS = json.loads(Path(__file__).with_name("hidden_vectors.json").read_text())


def metric(rng, n):
    """Random lengths of all ways between n points, shortest paths, some of them 0."""
    found = rng.exponential(size=(n, n)) * rng.choice([0.01, 0.3, 1, 3]) * (rng.random((n, n)) > 0.1)
    np.fill_diagonal(found, 0)
    for z in range(n):
        found = np.minimum(found, found[:, [z]] + found[z])
    return found


def law(rng, n, power):
    weights = rng.exponential(size=n) ** power * (rng.random(n) > rng.choice([0, 0.3]))
    return weights / weights.sum() if weights.sum() else np.full(n, 1 / n)


def largest(p, q, lengths):
    """ln p.G / q.G of the best G that a linear program over G itself finds, made to be allowed."""
    n = len(p)
    a, b = np.nonzero(~np.eye(n, dtype=bool))
    rows = np.zeros((len(a), n))
    rows[np.arange(len(a)), a], rows[np.arange(len(a)), b] = 1, -np.exp(lengths[a, b])
    found = linprog(-p, A_ub=rows, b_ub=np.zeros(len(a)), A_eq=q[None], b_eq=[1], method="highs")
    if found.x is None:
        return 0.0
    g = (np.exp(lengths) * np.maximum(found.x, 1e-300)).min(axis=1)
    return math.log(p @ g / (q @ g))


def both(rng):
    """(what plans state, the best function) of random pairs: of the plans that are found, then of the same ones for
    other laws and lengths, when none may be looked for."""
    n, pairs, power = int(rng.integers(1, 8)), int(rng.integers(1, 4)), float(rng.choice([0.5, 1, 3]))
    steps = JointSteps(None, None)
    for most in (10**6, 0):
        p, q = (np.array([law(rng, n, power) for _ in range(pairs)]) for _ in range(2))
        lengths, steps._left = metric(rng, n), most
        found = steps.passed(p, q, 0.0, np.exp(lengths))
        for one, other, loss in zip(p, q, found, strict=True):
            yield loss, largest(one, other, lengths), bool(most)


@search("plans of joint steps against functions")
def stated(rng):
    told = list(both(rng))
    assert all(best <= loss + 1e-12 for loss, best, _ in told)
    return len(told)


def test_no_allowed_function_loses_more_than_a_plan_states():
    """And where plans were looked for, one loses as much."""
    assert stated(np.random.default_rng(7)) > 0
    told = [each for seed in range(60) for each in both(np.random.default_rng(seed))]
    assert all(best <= loss + 1e-12 for loss, best, _ in told)
    fresh = [loss <= best * (1 + 1e-4) + 1e-8 for loss, best, looked in told if looked]
    assert np.mean(fresh) > 0.97


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: f"{case['eps']}")
def test_the_vectors_of_the_theory(case):
    model = HiddenMarkov(VECTORS["transition"], VECTORS["emission"], VECTORS["length"])
    found = HiddenContraction(model)(case["eps"])[VECTORS["node"]].max()
    assert case["metric"] * (1 - 1e-9) <= found <= case["metric"] * (1 + 1e-5)


def test_the_chain_that_is_farthest_from_its_best_mechanism():
    told = VECTORS["looser"]
    model = HiddenMarkov(told["transition"], told["emission"], told["length"])
    found = HiddenContraction(model)(told["eps"])[told["node"]].max()
    assert told["lp"] < found <= told["metric"] * (1 + 1e-5)


def short(rng):
    """(with joint steps, without, the best mechanism) of a random hidden chain of three states: the worst of all."""
    s, power = int(rng.integers(2, 4)), float(rng.choice([0.5, 1, 3]))
    length = int(rng.integers(3, 6 if s == 2 else 5))
    rows = [np.array([rng.exponential(size=n) ** power for _ in range(3)]) for n in (3, s)]
    step, emission = (each / each.sum(axis=1, keepdims=True) for each in rows)
    start = rng.dirichlet(np.ones(3))
    contraction = HiddenContraction(HiddenMarkov(step, emission, length, start))
    epsilon, most = float(rng.choice([0.05, 0.3, 1, 2.5])), []
    for steps in (contraction.joint, (None, None)):
        contraction.joint = steps
        most.append(max(float(table.max()) for table in contraction(epsilon).values()))
    laws = seen_given_hidden([step] * (length - 1), start, emission)
    best = max(best_of_table(each, epsilon, x, y) for each in laws for x, y in possible(each))
    return *most, best


@search("hidden chains with joint steps against all mechanisms")
def chains(rng):
    joint, without, best = short(rng)
    assert best * (1 - 1e-9) <= joint <= without
    return 1


def test_steps_taken_together_are_next_to_the_best_mechanism():
    """Without them the median is 1 % above it."""
    assert chains(np.random.default_rng(7)) == 1
    told = np.array([short(np.random.default_rng(seed)) for seed in range(6)])
    assert np.all(told[:, 2] * (1 - 1e-9) <= told[:, 0]) and np.all(told[:, 0] <= told[:, 1])
    assert np.median(told[:, 0] / told[:, 2]) < 1 + 1e-4 and np.median(told[:, 1] / told[:, 2]) > 1.001


@pytest.mark.parametrize("start", ["stationary", [0.2, 0.3, 0.5], "any"])
def test_long_chains_settle_below_what_was_known(start):
    """A bound for every number of nodes is one for each: no long chain is worth less than a short one of the same."""
    step, emission = VECTORS["transition"], VECTORS["emission"]
    worth = [fugu.translate(HiddenMarkov(step, emission, n, start), 0.5) for n in (6, 60, 600)]
    assert worth == sorted(worth) or max(worth) <= worth[-1] * (1 + 3e-5)
    long = HiddenContraction(HiddenMarkov(step, emission, 600, start))
    own, long.joint = max(float(t.max()) for t in long(0.5).values()), (None, None)
    assert worth[1] * (1 - 3e-5) <= own <= max(float(t.max()) for t in long(0.5).values())
    assert own == pytest.approx(worth[2], rel=3e-5)


def test_what_is_not_yet_settled_bounds_nothing_later():
    contraction = HiddenContraction(HiddenMarkov(VECTORS["transition"], VECTORS["emission"], 100, [0.2, 0.3, 0.5]))
    for side, steps in zip(contraction.sides, contraction.joint, strict=True):
        known = side.levels(0.5, 99)
        levels = steps.levels(0.5, known, 99)
        for early in (1, 2, 3, 20):
            bound = steps.rest(early, levels.at(early), known.values[-1], 0.5)
            assert bound is None or all(np.all(levels.at(m) <= bound * (1 + 3e-5)) for m in range(early, 99))


def test_zeros_are_never_compared_and_rare_values_are_left_to_the_older_bound():
    left_right = HiddenMarkov([[0.5, 0.5, 0], [0, 0.6, 0.4], [0, 0, 1]], [[1, 0], [0.5, 0.5], [0, 1]], 5, [1, 0, 0])
    found = HiddenContraction(left_right)(0.4)
    assert all(np.isfinite(table).all() for table in found.values()) and found[1].max() == 0
    rare = HiddenMarkov([[1 - 1e-260, 1e-260, 0], [0.5, 0.25, 0.25], [0.2, 0.3, 0.5]], np.eye(3), 4, [0.3, 0.3, 0.4])
    with_steps = HiddenContraction(rare)
    tables, with_steps.joint = with_steps(0.4), (None, None)
    assert all((tables[t] <= other).all() for t, other in with_steps(0.4).items())
