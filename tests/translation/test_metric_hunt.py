"""Searches for a price that is too low, or too high: few states by trees, more by a program, ledgers by enumeration."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import metric_oracle
import numpy as np
from metric_oracle import largest, price

from fugu.translation.records.bounds import check
from fugu.translation.records.pricer import Pricer
from fugu.translation.records.problem import Apart, Jump, Rate
from hunting import search

F = Fraction
TIGHT = 1e-9


def case(rng, size, largest):
    """States, two laws with zeros, and up to four charges that may share features."""
    shape = [("a", 3), ("b", 2), ("v", int(rng.integers(2, 12))), ("w", 4)]
    states = {name: rng.integers(0, top, size) for name, top in shape}
    p, q = (rng.integers(0, rng.choice([2, 3, 30]), size) for _ in range(2))
    p[rng.integers(size)] += 1
    q[rng.integers(size)] += 1
    if rng.random() < 0.1:
        q = p * int(rng.integers(1, 4))
    number = lambda: F(int(rng.integers(1, 1000)), int(rng.choice([100, 300, 1000])))  # noqa: E731
    made = {
        "cells": lambda: Jump((str(rng.choice(["a", "b", "v"])),), number() * largest / 10),
        "table": lambda: Jump(
            tuple(rng.choice(["a", "b", "v", "w"], 2, replace=False).tolist()), number() * largest / 10
        ),
        "line": lambda: Rate(str(rng.choice(["v", "w"])), number() * largest / 50, 11),
        "apart": lambda: Apart(number() / 10),
    }
    chosen = rng.choice(list(made), int(rng.integers(1, 5)), p=[0.35, 0.2, 0.35, 0.1])
    return states, p, q, [made[str(kind)]() for kind in chosen]


def compare(states, p, q, charges, oracle):
    """One price against its definition, from both sides, and against what is known of every price."""
    seen = p + q > 0
    lam = metric_oracle.distances({k: v[seen] for k, v in states.items()}, charges)
    apart = float(sum(c.own for c in charges if isinstance(c, Apart)))
    own = float(sum(c.own for c in charges))
    truth = oracle(lam, p[seen], q[seen]) + apart
    found = price(states, p, q, charges)
    room = 1e-13 * max(1.0, truth)  # the oracle's own rounding
    assert found.epsilon >= truth - room, f"{found.epsilon} is below the truth, {truth}"
    assert found.epsilon <= truth + TIGHT * max(1.0, truth), (
        f"{found.epsilon} is above the truth, {truth}: {found.proof}"
    )
    assert found.epsilon <= own * (1 + 1e-15) and found.lower <= found.epsilon
    assert check(states, p, q, charges, json.loads(json.dumps(found.proof))) == found.epsilon


@search("prices of charges on few states, against every tree", quick=40)
def test_no_price_is_below_or_above_the_definition(rng):
    for _ in range(5):
        compare(*case(rng, int(rng.integers(1, 6)), F(int(rng.choice([1, 1, 3, 10])))), metric_oracle.by_trees)
    return 5


@search("prices of charges on some states, against a program over all pairs", quick=10)
def test_no_price_is_below_or_above_the_program(rng):
    compare(*case(rng, int(rng.integers(6, 60)), F(1)), metric_oracle.by_program)


@search("a new charge raises a price by at most its own epsilon, and never lowers it", quick=8)
def test_marginal_cost(rng):
    states, p, q, charges = case(rng, int(rng.integers(2, 30)), F(2))
    pricer, before = Pricer(states, p, q), 0.0
    for k in range(1, len(charges) + 1):
        after = pricer.price(charges[:k]).epsilon
        assert before - 1e-9 <= after <= before + float(charges[k - 1].own) + 1e-9
        before = after


@search("the largest rate within a target", quick=6)
def test_the_largest_rate(rng):
    states, p, q, charges = case(rng, int(rng.integers(2, 30)), F(1))
    target = F(int(rng.integers(1, 2000)), 1000)
    new = (lambda r: Rate("v", r, 11)) if rng.random() < 0.5 else (lambda r: Jump(("a", "v"), r))
    rate = largest(Pricer(states, p, q), charges, new, target, F(3))
    assert 0 <= rate <= 3
    if rate:
        assert price(states, p, q, [*charges, new(rate)]).epsilon <= float(target)
        if rate < 3:
            assert price(states, p, q, [*charges, new(rate * F(102, 100))]).epsilon >= float(target) * (1 - 2e-3)
    else:
        assert price(states, p, q, charges).epsilon >= float(target) * (1 - 1e-9)


@search("a pricer that knows other rates finds the same prices", quick=8)
def test_a_warm_start_changes_no_price(rng):
    states, p, q, _ = case(rng, int(rng.integers(2, 6)), F(1))
    pricer, seen = Pricer(states, p, q), p + q > 0
    for _ in range(4):
        share, rate = (F(int(10 ** rng.uniform(0, 4.5)), 1000) for _ in range(2))
        charges = [Jump(("a", "b"), share), Rate("v", rate / 10, 11), Jump(("w",), F(1, 7))]
        lam = metric_oracle.distances({k: v[seen] for k, v in states.items()}, charges)
        truth = metric_oracle.by_trees(lam, p[seen], q[seen])
        found = pricer.price(charges).epsilon
        assert truth - 1e-13 * max(1.0, truth) <= found <= truth + TIGHT * max(1.0, truth)
    return 4


# ---- adaptive ledgers, enumerated ------------------------------------------------------------------------------------


def release(rng, charge, states, others):
    """P(1 | x, y) of a release with two outputs that is private as charged, for each state x and other record y."""
    epsilon = float(charge.rate if isinstance(charge, Rate) else charge.epsilon)
    rows = []
    for _ in range(others):
        if isinstance(charge, Rate):
            value = states[charge.feature] * rng.choice([-1.0, 1.0])
            rows.append(1 / (1 + np.exp(-epsilon * (value - value[rng.integers(value.size)]))))
        else:
            _, code = np.unique(np.stack([states[n] for n in charge.features]), axis=1, return_inverse=True)
            side = rng.random(int(code.max()) + 1) < 0.5
            rows.append(np.where(side[code.ravel()], 1.0, math.exp(epsilon)) / (1 + math.exp(epsilon)))
    return np.array(rows)


@search("adaptive ledgers of charges, every transcript enumerated", quick=12)
def test_no_transcript_tells_more_than_the_price_of_its_charges(rng):
    """Theorem 5: requests depend on earlier answers; another record, independent, is at hand; budgets refuse."""
    size, others, depth = int(rng.integers(2, 5)), 2, 3
    states, p, q, _ = case(rng, size, F(2))
    second = rng.dirichlet(np.ones(others))
    budget = float(rng.choice([0.3, 1.0, 9.0]))
    requests = {}

    def request(history):
        if history not in requests:
            charge = next(c for c in case(rng, size, F(2))[3] + [Jump(("a",), F(1, 3))] if not isinstance(c, Apart))
            requests[history] = charge, release(rng, charge, states, others)
        return requests[history]

    pricer, prices = Pricer(states, p, q), {}
    told = 0.0
    for path in product((0, 1), repeat=depth):
        given, spent, charges, history = np.ones((others, size)), 0.0, [], ()
        for answer in path:
            charge, one = request(history)
            key = (*history, "asked")
            if key not in prices:
                prices[key] = pricer.price([*charges, charge]).epsilon
            if prices[key] > budget:
                break
            charges, spent, history = [*charges, charge], prices[key], (*history, answer)
            given = given * (one if answer else 1 - one)
        likelihood = second @ given
        told = max(told, math.log(p @ likelihood / p.sum()) - math.log(q @ likelihood / q.sum()))
        assert told <= budget + 1e-12
        assert math.log(p @ likelihood / p.sum()) - math.log(q @ likelihood / q.sum()) <= spent + 1e-12
