"""The running examples of the Renyi Pufferfish paper, by enumeration; the printed numbers where they are wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from fugu import Approx, Discrete, LawPair, Pure, Scenario, calibrate, delta, verify
from fugu.errors import BadLaw
from fugu.noise import Laplace
from fugu.transport.matching import closeness
from fugu.transport.wasserstein import wasserstein
from fugu_papers.examples import example_1, example_2, example_3


def laws(scenario):
    return list(scenario.adversaries[0].values())


@pytest.mark.parametrize("p", [0.5, 0.3, 0.8])
@pytest.mark.parametrize("rho", [0.3, 1, 0, -0.1, -0.2])
def test_example_1_distances(p, rho):
    one, other = laws(example_1(p, rho))
    square = 1 + 3 * rho if rho >= 0 else 1 + rho
    assert wasserstein(one, other, order=2) == pytest.approx(math.sqrt(square), rel=1e-12)
    assert wasserstein(one, other) == (2 if rho > 0 else 1)


def test_example_1_is_the_joint_law():
    """The correlation of the bits, recomputed from P(X2 = 1 | X1)."""
    p, rho = Fraction(3, 10), Fraction(-1, 5)
    zero, one = laws(example_1(p, rho))
    both = p * Fraction(float(one.weights[1])).limit_denominator(10**6)
    assert (both - p * p) / (p * (1 - p)) == rho
    neither = (1 - p) * Fraction(float(zero.weights[0])).limit_denominator(10**6)
    assert both + neither + 2 * (p - both) == 1


def test_example_1_at_the_edges():
    assert wasserstein(*laws(example_1(0.5, -1))) == 0
    assert wasserstein(*laws(example_1(0.5, -0.3)), order=2) ** 2 == pytest.approx(0.7), "printed: 0.1"
    for p, rho in ((0.3, -0.5), (0.8, -0.26), (0.5, 1.01), (0, 0.1), (1, 0)):
        with pytest.raises(BadLaw):
            example_1(p, rho)
    assert len(example_1(0.25, Fraction(-1, 3)).law_pairs()) == 1


def test_example_2_distances():
    one, two, rare = laws(example_2())
    assert (wasserstein(one, two), wasserstein(two, rare), wasserstein(one, rare)) == (0.5, 49, 49.5)
    left = {0.5: Fraction(999, 1000), 49: Fraction(1, 2), 49.5: Fraction(0)}
    for distance, mass in left.items():
        assert closeness(one, rare, mass) <= distance
        if mass:
            assert closeness(one, rare, mass - Fraction(1, 10**9)) > distance
    assert closeness(one, rare, 0.003) == 49.5, "printed: 1"


def test_example_2_noise_for_the_printed_closeness_is_refuted():
    one, _, rare = laws(example_2())
    assert delta(Laplace(1), LawPair(one, rare), 1) > 0.9
    mechanism = calibrate(example_2(), Approx(1, 0.003))
    assert mechanism.noise.scale > 40 and verify(mechanism, example_2()).holds


def test_example_3_is_narrower_than_the_group():
    scenario, group = example_3(0.5, 2), Scenario.group(4)
    assert wasserstein(Discrete([0]), Discrete([2.5])) == scenario.law_pairs()[0].q.by < group.law_pairs()[0].q.by
    assert calibrate(scenario, Pure(1)).noise.scale == 2.5 < calibrate(group, Pure(1)).noise.scale == 4
