"""Proofs of prices from outside: a plan proves what it proves, whoever wrote it, and nonsense proves nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import metric_oracle
import numpy as np
import pytest
from metric_oracle import price

from fugu.errors import CertificateError
from fugu.translation.records.bounds import check
from fugu.translation.records.problem import Jump, Rate, charge_from

F = Fraction
STATES = {"a": np.array([0, 0, 1, 1, 2]), "v": np.array([0, 3, 1, 3, 2])}
P, Q = np.array([4, 0, 3, 2, 1]), np.array([1, 2, 3, 4, 0])
CHARGES = [Jump(("a",), F(1, 2)), Rate("v", F(1, 4), 3)]
GOOD = [[0, 0, 0.5], [0, 1, 0.5], [2, 2, 1], [3, 3, 1], [4, 3, 2]]


def checked(plan):
    return check(STATES, P, Q, CHARGES, {"how": "plan", "plan": plan})


def test_a_plan_is_worth_what_it_says_by_hand():
    """Row 0 splits in halves, the others move whole: the largest of what arrives, over q."""
    p, q = P / 10, Q / 10
    grown = math.exp(0.75)
    arrived = [p[0] / 2, grown * p[0] / 2, p[2], p[3] + math.exp(0.5 + 0.25) * p[4]]
    truth = math.log(max(a / b for a, b in zip(arrived, q[:4], strict=True)))
    assert checked(GOOD) == pytest.approx(truth, abs=1e-14)
    assert checked(GOOD) >= metric_oracle.by_trees(metric_oracle.distances(STATES, CHARGES), P, Q)
    assert price(STATES, P, Q, CHARGES).epsilon < checked(GOOD)


@pytest.mark.parametrize("scale", [1, 1000, 1e-200])
def test_only_the_proportions_of_a_row_count(scale):
    assert checked([[i, j, w * scale] for i, j, w in GOOD]) == pytest.approx(checked(GOOD), abs=1e-15)


@pytest.mark.parametrize("plan", [
    None, {}, "plan", [[0, 0]], [[0, 0, 1, 1]], [(0, 0, 1)] * 3, GOOD[1:3], GOOD[:4], [*GOOD, [0, 0, 0.1]],
    [*GOOD, [2, 4, 1e-9]], [*GOOD, [1, 1, 1.0]], [*GOOD, [2, 3, -0.5]], [*GOOD, [2, 3, 0]], [*GOOD, [2, 3, math.nan]],
    [*GOOD, [2, 3, math.inf]], [*GOOD, [2, 3, 1e-300]], [*GOOD, [2, 3, True]], [*GOOD, [2, 3, "1"]],
    [*GOOD, [2, 3, 10**400]], [*GOOD, [2, 5, 1.0]], [*GOOD, [-1, 3, 1.0]], [*GOOD, [2.0, 3, 1.0]],
    [*GOOD, [True, 3, 1.0]], [*GOOD, [10**30, 3, 1.0]], [[2, 2, 1.0]] * 10_000, [*GOOD, [2, 3, [1]]],
])  # fmt: skip
def test_what_is_no_plan_proves_nothing(plan):
    with pytest.raises(CertificateError):
        checked(plan)


@pytest.mark.parametrize("proof", [
    None, [], "sum", {}, {"how": "plan"}, {"how": "trust me"}, {"how": ["sum"]}, {"how": "sum", "epsilon": 0.1},
    {"how": "threshold", "plan": GOOD}, {"how": "plan", "plan": GOOD, "epsilon": 0.0}, {"plan": GOOD},
    {"how": "monotone"},
])  # fmt: skip
def test_what_is_no_proof_proves_nothing(proof):
    with pytest.raises(CertificateError):
        check(STATES, P, Q, CHARGES, proof)


@pytest.mark.parametrize(("states", "p"), [({"a": STATES["a"]}, P), (STATES, P[:4]), (STATES, -P), (STATES, P / 10)])
def test_laws_from_outside_that_are_none_prove_nothing(states, p):
    with pytest.raises(CertificateError, match="prove nothing"):
        check(states, p, Q, CHARGES, {"how": "sum"})


def test_a_ratio_that_turns_is_not_monotone():
    """Along v the ratio p/q falls and rises again: the closed form would say less than the truth."""
    states, p, q, line = {"v": np.arange(5)}, np.array([4, 1, 4, 1, 4]), np.array([1, 4, 1, 4, 1]), [Rate("v", F(1), 4)]
    with pytest.raises(CertificateError, match="rise or fall"):
        check(states, p, q, line, {"how": "monotone"})
    weights = np.exp(np.arange(5.0))
    closed = math.log(p @ weights / p.sum()) - math.log(q @ weights / q.sum())
    other = math.log(p @ weights[::-1] / p.sum()) - math.log(q @ weights[::-1] / q.sum())
    assert max(closed, other) < price(states, p, q, line).epsilon - 0.05


@pytest.mark.parametrize(("values", "p", "q"), [
    ([3, 1, 2, 0], [1, 3, 2, 4], [4, 2, 3, 1]), ([0, 1, 2], [0, 1, 5], [5, 1, 0]), ([0, 2, 5], [0, 0, 1], [3, 1, 1]),
])  # fmt: skip
def test_the_closed_form_is_the_truth_in_both_directions(values, p, q):
    states, line, p, q = {"v": np.array(values)}, [Rate("v", F(1, 3), 9)], np.array(p), np.array(q)
    for one, other in ((p, q), (q, p)):
        truth = metric_oracle.by_trees(metric_oracle.distances(states, line), one, other)
        assert check(states, one, other, line, {"how": "monotone"}) == pytest.approx(truth, abs=1e-12)


def test_proofs_are_capped_by_the_sum_of_epsilons():
    states, line = {"v": np.array([0, 4])}, [Rate("v", F(1, 10), 4)]
    p, q = np.array([1, 0]), np.array([0, 1])
    for proof in ({"how": "sum"}, {"how": "threshold"}, {"how": "monotone"}, {"how": "plan", "plan": [[0, 1, 1.0]]}):
        assert check(states, p, q, line, proof) == 0.4  # 4/10 itself, not the double above it


def test_large_distances_do_not_overflow():
    states, line = {"v": np.array([0, 1000])}, [Rate("v", F(5), 1000)]
    p, q = np.array([1, 1]), np.array([1, 3])
    found = price(states, p, q, line)
    assert found.epsilon == pytest.approx(math.log(2), abs=1e-12)  # no more than the largest p/q
    assert check(states, p, q, line, {"how": "plan", "plan": [[0, 0, 1], [1, 0, 1]]}) == 5000


@pytest.mark.parametrize("content", [
    None, {}, {"charge": "lines"}, {"charge": "line", "feature": "v", "rate": "inf", "most": 3},
    {"charge": "line", "feature": "v", "rate": "1/0", "most": 3},
    {"charge": "line", "feature": "v", "rate": "-1", "most": 3},
    {"charge": "line", "feature": "v", "rate": "1", "most": True}, {"charge": "cells", "features": "v", "epsilon": "1"},
    {"charge": "cells", "features": ["v"], "epsilon": float("nan")},
    {"charge": "cells", "features": [3], "epsilon": "1"},
    {"charge": "apart", "epsilon": "1", "more": 1}, {"charge": ["apart"], "epsilon": "1"},
])  # fmt: skip
def test_what_is_no_charge_is_not_read(content):
    with pytest.raises(CertificateError):
        charge_from(content)
