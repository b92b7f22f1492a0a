"""When releases compose: Theorem 4 corrected, the converse, Theorem 5's false half, and the examples of collapse."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fugu.errors import BadLaw, UsageError
from fugu_papers.collapse import box_epsilon, every_bit, many_priors, softened, two_secrets
from fugu_papers.compose import Composition, composition, constraint, joint_leakage, necessary, processed

HALF = Fraction(1, 2)


def flip_two_bits(eps):
    keep = math.exp(eps) / (1 + math.exp(eps))
    bits = list(product((0, 1), repeat=2))
    return [[math.prod(keep if a == b else 1 - keep for a, b in zip(d, w, strict=True)) for w in bits] for d in bits]


def test_randomised_response_costs_its_epsilon_and_points_at_the_neighbour():
    found = necessary([flip_two_bits(0.7)], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5])
    assert found.epsilon == pytest.approx(0.7, abs=1e-9) and found.lower == pytest.approx(0.7, abs=1e-9)
    assert found.lower <= found.epsilon
    assert [[float(b) for b in p.beta] for p in found.weightings] == [[0, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(("eta", "expected"), [(0.01, 2.64665241), (0.1, 1.47221949), (0.3, 0.86730053)])
def test_the_softened_example_has_its_closed_form_and_half_the_cost_of_one_neighbour(eta, expected):
    soft = softened([0.5, 0.5], [0.5, 0.5], eta)
    found = composition([soft.mechanism], *soft.pairs[0])
    assert found.epsilon == pytest.approx(expected, abs=1e-8)
    assert found.epsilon == pytest.approx(0.5 * math.log((2 - eta) / eta), abs=1e-12)
    assert found.lower <= found.epsilon <= found.lower + 1e-12
    one_hot = min(constraint(soft.mechanism, 0, beta) for beta in ([0, 0, 1, 0], [0, 0, 0, 1]))
    assert one_hot == pytest.approx(2 * found.epsilon, abs=1e-9)
    assert soft.leakage(1) == 0


def test_the_converse_bounds_repeated_runs_and_is_the_rate_in_the_long_run():
    soft = softened([0.5, 0.5], [0.5, 0.5], 0.3)
    found = composition([soft.mechanism], *soft.pairs[0])
    true = soft.leakage(16)
    assert true == pytest.approx(13.1837, abs=1e-3)
    assert true <= found.after(16) == pytest.approx(13.8768, abs=1e-3)
    assert true > 15 * found.epsilon  # one run less is too little: the rate is right
    for runs in (1, 2, 3, 5, 8):
        assert soft.leakage(runs) <= found.after(runs)


def test_the_offset_is_needed():
    """Wrong version: r eps without KL. One dataset of s2 that matches, but is believed with probability 1/100."""
    mechanism = [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]
    first, second = [1, 0, 0], [0, 0.01, 0.99]
    found = necessary([mechanism], first, second)
    assert found.epsilon == 0.0 and found.weightings[0].offset == pytest.approx(math.log(100))
    true = joint_leakage([mechanism], first, second, [6])
    assert true > 6 * found.epsilon
    assert true <= found.after(6)


def test_the_converse_holds_on_random_mechanisms():
    rng = np.random.default_rng(11)
    for _ in range(25):
        mechanisms = [rng.dirichlet(np.ones(3) * 0.6, size=4) for _ in range(2)]
        first = [*rng.dirichlet(np.ones(2)), 0, 0]
        second = [0, 0, *rng.dirichlet(np.ones(2))]
        found = necessary(mechanisms, first, second)
        for runs in ([1, 1], [3, 0], [2, 3]):
            assert joint_leakage(mechanisms, first, second, runs) <= found.after(runs)
        assert found.lower - 1e-12 <= found.epsilon <= found.lower + 1e-8


def test_separate_programs_do_not_add():
    """Each mechanism alone costs 0 in the long run (a different dataset hides it); together 5 + 5 runs leak 22.5."""
    keep = 1 / (1 + math.exp(-4.5))
    a, b = [keep, 1 - keep], [1 - keep, keep]
    m1, m2 = [a, a, b], [a, b, a]
    first, second = [1, 0, 0], [0, 0.5, 0.5]
    assert necessary([m1], first, second).epsilon == 0 == necessary([m2], first, second).epsilon
    true = joint_leakage([m1, m2], first, second, [5, 5])
    assert true == pytest.approx(22.5, abs=0.1)
    stacked = necessary([m1, m2], first, second)
    assert stacked.epsilon == pytest.approx(2.25, abs=1e-9)
    assert true <= stacked.after([5, 5])


def test_only_datasets_that_are_possible_count():
    """D0 has prior 0 and an output of its own: without the correction Theorem 4 would deny a harmless mechanism."""
    mechanism = [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]
    assert composition([mechanism], [0, 1, 0], [0, 0, 1]).epsilon == 0
    assert composition([mechanism], [0.5, 0.5, 0], [0, 0, 1]).collapses


@pytest.mark.parametrize("example", [two_secrets([0.5, 0.5], [0.5, 0.5]), every_bit(3), every_bit(4)])
def test_the_examples_fail_the_condition_for_every_epsilon(example):
    for first, second in example.pairs:
        found = composition([example.mechanism], first, second)
        assert found.collapses and math.isinf(found.after(2))
    assert example.leakage(1) == 0 and example.leakage(2) == math.inf and example.revealing()


def test_a_solver_that_lies_cannot_produce_a_false_epsilon(monkeypatch):
    import fugu_papers.compose as module

    soft = softened([0.5, 0.5], [0.5, 0.5], 0.3)
    honest = necessary([soft.mechanism], *soft.pairs[0])
    monkeypatch.setattr(module, "_solve", lambda w: (np.array([0.9, 0.1]), np.ones(w.shape[1])))
    lied = necessary([soft.mechanism], *soft.pairs[0])
    assert lied.epsilon > honest.epsilon and lied.lower <= honest.epsilon
    assert soft.leakage(8) <= lied.after(8)


def test_theorem_1_expected_runs_are_exact():
    found = two_secrets([0.5, 0.3, 0.2], [0.6, 0.25, 0.1, 0.05])
    first, second = found.pairs[0]
    assert float(found.expected_runs(first)) == pytest.approx(2.997076023391813, rel=1e-15)
    assert float(found.expected_runs(second)) == pytest.approx(2.678571428571429, rel=1e-15)
    assert max(found.expected_runs(first), found.expected_runs(second)) <= Fraction(7, 2)
    assert found.expected_runs(first) == 1 + sum(Fraction(p) / (1 - Fraction(p)) for p in map(Fraction, second[3:]))


def test_expected_runs_by_simulation_of_the_definition():
    rng = np.random.default_rng(12)
    found = two_secrets([0.5, 0.3, 0.2], [0.6, 0.25, 0.1, 0.05])
    row = np.array([float(x) for x in found.mechanism[1]])
    first_seen, others = rng.choice(len(row), 40_000, p=row), rng.choice(len(row), (40_000, 60), p=row)
    differs = others != first_seen[:, None]
    mean = np.mean(2 + np.argmax(differs, axis=1))
    assert abs(mean - 2.99707602) < 0.06


@pytest.mark.parametrize("n", [3, 4, 5])
def test_theorem_2_three_runs_and_one_output_of_each_kind_determines_the_data(n):
    found = every_bit(n)
    assert found.leakage(1) == 0 and len(found.pairs) == n
    assert found.expected_runs([Fraction(1, 2**n)] * 2**n) == 3
    rows = [tuple(w for w, p in enumerate(row) if p > 0) for row in found.mechanism]
    assert len(set(rows)) == 2**n and all(len(r) == 2 for r in rows)


def test_theorem_3_needs_both_orders():
    box = (0.1, 0.2, 0.7, 0.8)
    found = many_priors(*box)
    assert box_epsilon(*box) == pytest.approx(2.0794415416798357, abs=1e-12)
    assert box_epsilon(*box, both=False) == pytest.approx(1.5040773967762742, abs=1e-12)  # as printed
    assert found.leakage(1) == box_epsilon(*box)
    assert found.leakage(1) > box_epsilon(*box, both=False)  # the printed epsilon is exceeded
    assert found.leakage(2) == math.inf and found.revealing()
    assert found.expected_runs([HALF, HALF, 0, 0]) == 3


def test_theorem_3_on_random_boxes_against_enumeration():
    rng = np.random.default_rng(13)
    printed_fails = 0
    for _ in range(60):
        lt, ut = sorted(rng.uniform(0.02, 0.98, 2).round(3))
        lf, uf = sorted(rng.uniform(0.02, 0.98, 2).round(3))
        exact = many_priors(lt, ut, lf, uf).leakage(1)
        assert box_epsilon(lt, ut, lf, uf) == exact
        printed_fails += box_epsilon(lt, ut, lf, uf, both=False) < exact
    assert printed_fails > 15


def test_theorem_5_second_half_is_false_every_constraint_survives_processing():
    rng = np.random.default_rng(14)
    for _ in range(150):
        mechanism = rng.dirichlet(np.ones(4) * 0.5, size=4)
        beta = [0, *rng.dirichlet(np.ones(3))]
        channel = rng.dirichlet(np.ones(3) * 0.5, size=4)
        assert constraint(processed(mechanism, channel), 0, beta) <= constraint(mechanism, 0, beta) + 1e-12


def test_the_papers_own_construction_does_not_violate_its_constraint():
    """Steps 1 to 3 of the proof: eps = 1/2, beta = (1/2, 1/2); after processing 0.3799, not above 0.5."""
    c, v, w = 1.5, (-1.0, -2.0, -1.0), (-1.0, -1.0, -2.0)
    a = [math.exp(x - c) for x in v]
    b = [math.exp(x - c) for x in w]
    mechanism = [[a[d], 0.5 - a[d], b[d], 0.5 - b[d]] for d in range(3)]
    beta = [0, 0.5, 0.5]
    before = [
        math.log(mechanism[0][o]) - 0.5 * (math.log(mechanism[1][o]) + math.log(mechanism[2][o])) for o in range(4)
    ]
    assert before == pytest.approx([0.5, -0.0585, 0.5, -0.0585], abs=1e-4)
    after = processed(mechanism, [[0, 1], [1, 0], [0, 1], [1, 0]])
    assert constraint(mechanism, 0, beta) == pytest.approx(0.5, abs=1e-9)
    assert constraint(after, 0, beta) == pytest.approx(0.3799, abs=1e-4)


def test_weights_that_are_no_probabilities_are_what_breaks_it():
    with pytest.raises(BadLaw, match="sum to one"):
        constraint([[0.5, 0.5], [0.4, 0.6]], 0, [0, 0.5])
    with pytest.raises(BadLaw):
        constraint([[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]], 0, [0, 2, -1])


def test_wrong_use_is_refused():
    with pytest.raises(UsageError, match="both secrets"):
        necessary([[[1.0], [1.0]]], [0.5, 0.5], [0, 1])
    with pytest.raises(UsageError, match="one row per dataset"):
        necessary([[[1.0]]], [1, 0], [0, 1])
    with pytest.raises(UsageError, match="whole number"):
        necessary([[[1.0], [1.0]]], [1, 0], [0, 1]).after(-1)
    with pytest.raises(BadLaw, match="same outputs"):
        necessary([[[1.0], [0.5, 0.5]]], [1, 0], [0, 1])
    with pytest.raises(BadLaw):
        box_epsilon(0.0, 0.5, 0.2, 0.3)
    assert isinstance(necessary([[[1.0], [1.0]]], [1, 0], [0, 1]), Composition)


def test_both_orders_are_needed():
    """Wrong version: one order only. From s1 the dataset hides behind a twin; from s2 one dataset stands alone."""
    mechanism = [[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]
    first, second = [1, 0, 0], [0, 0.5, 0.5]
    assert necessary([mechanism], first, second).epsilon == 0
    back = joint_leakage([mechanism], second, first, [12])
    found = composition([mechanism], first, second)
    assert back > necessary([mechanism], first, second).after(12)
    assert back <= found.after(12) and found.epsilon == pytest.approx(math.log(1.8))
