"""Prices on many states: proved, near a bound from below, and quick enough; the longest runs are shown at length."""

from __future__ import annotations

import json
import time
from fractions import Fraction

import metric_oracle
import numpy as np
import pytest
from metric_oracle import largest, price

from fugu.translation.records.bounds import check
from fugu.translation.records.plan import Nearness, find, lower_bound, proof_of
from fugu.translation.records.pricer import Pricer
from fugu.translation.records.problem import Distances, Jump, PricingProblem, Rate

F = Fraction


def people(rows, seed=0):
    """Education, weekly hours and age, each depending on the others and on a secret bit."""
    rng = np.random.default_rng(seed)
    bit = rng.integers(0, 2, rows)
    education = np.clip(rng.normal(8 + 0.5 * bit, 3, rows), 0, 15).astype(int)
    age = np.clip(rng.gamma(6, 6, rows) + 15 + 2 * bit + 0.3 * education, 17, 90).astype(int)
    hours = np.clip(rng.normal(38 + 5 * bit + 0.4 * education, 11, rows), 1, 99).astype(int)
    hours = np.where(rng.random(rows) < 0.35, 40, hours)
    distinct, where = np.unique(np.stack([education, hours, age]), axis=1, return_inverse=True)
    p, q = (np.bincount(where.ravel()[bit == side], minlength=distinct.shape[1]) for side in (0, 1))
    return dict(zip(("education", "hours", "age"), distinct, strict=True)), p, q


def charges(share=F(1)):
    return [Jump(("education",), share), Rate("hours", share / 100, 100), Rate("age", share / 75, 75)]


def compared(states, p, q, asked, within):
    """A plan, checked from its text, and a Lipschitz function that shows how far it is from the best."""
    problem = PricingProblem.of(states, p, q, asked)
    found, distances = find(problem), Distances(problem)
    proof = json.loads(json.dumps(proof_of(found.plan, 7)))
    epsilon = check(states, p, q, asked, proof)
    assert np.all(distances.closure(found.h) >= found.h - 1e-9)  # Lipschitz: it bounds every price from below
    low = lower_bound(problem, distances.closure(found.h))
    assert low <= epsilon <= low * (1 + within)
    return epsilon, proof


def test_interior_points_and_coarser_lines():
    """Enough states for both: within a thousandth of the best, where the scalar bound is several times as large."""
    states, p, q = people(1850)
    assert p.size > 1500
    epsilon, _ = compared(states, p, q, charges(), 2e-3)
    assert check(states, p, q, charges(), {"how": "threshold"}) > 3 * epsilon


def test_three_hundred_states_against_a_program_over_all_pairs():
    states, p, q = people(320, seed=3)
    for share in (F(1, 2), F(2)):
        truth = metric_oracle.by_program(metric_oracle.distances(states, charges(share)), p, q)
        began = time.process_time()
        found = price(states, p, q, charges(share))
        assert time.process_time() - began < 2
        assert truth - 1e-12 <= found.epsilon <= truth + 1e-9


def test_thirteen_thousand_states():
    states, p, q = people(27_000)
    assert p.size > 12_500
    began = time.process_time()
    _, proof = compared(states, p, q, charges(), 0.02)
    assert time.process_time() - began < 60  # about 20 on a core of its own
    assert len(proof["plan"]) < 6 * p.size


def test_the_largest_rate_on_many_states():
    states, p, q = people(10_000, seed=1)
    assert p.size > 4000
    before, target = charges()[:2], F(1, 4)
    rate = largest(Pricer(states, p, q), before, lambda r: Rate("age", r, 75), target, F(16, 75), 0.01)
    assert 0 < rate < F(16, 75)
    at = price(states, p, q, [*before, Rate("age", rate, 75)])
    assert at.epsilon == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize("share", [F(1, 2), F(3), F(8)])
@pytest.mark.parametrize(
    "limits", [Nearness(), Nearness(enough=0.9), Nearness(target=1.0)], ids=["near", "enough", "target"]
)
def test_plans_of_smooth_laws_are_short_enough_to_be_checked(share, limits):
    """Two numbers that hardly depend on the secret, of every pair of values: what two means ask of a table. Wrong
    versions, which refused them: plans that send a little of every state everywhere, interior points without a vertex.
    """
    rng = np.random.default_rng(7)
    bit, rows = rng.integers(0, 2, 9000), 9000
    values = np.clip(rng.normal([[20], [18]], 5, (2, rows)) + 2 * bit, 0, 36).round().astype(int)
    distinct, where = np.unique(values, axis=1, return_inverse=True)
    p, q = (np.bincount(where.ravel()[bit == side], minlength=distinct.shape[1]) for side in (0, 1))
    assert 700 < p.size < 1400
    states, asked = dict(zip(("a", "b"), distinct, strict=True)), [Rate("a", share / 36, 36), Rate("b", share / 36, 36)]
    found = find(PricingProblem.of(states, p, q, asked), limits=limits)
    epsilon = check(states, p, q, asked, json.loads(json.dumps(proof_of(found.plan, 7))))  # refuses a longer plan
    assert found.lower - 1e-9 <= epsilon <= found.high * (1 + 1e-4) + 1e-9 and found.done(limits)
