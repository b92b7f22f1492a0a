"""Distribution privacy in its own words: Figure 1 of the paper, ordered pairs, chains of pairs, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fugu
from fugu import Discrete, Laplace, LawPair, Normal, Pure, Scenario, Shifted
from fugu.errors import UnknownName, UsageError
from fugu.scenario.scenario import LABELS

THETA = {"mu": Discrete([1, 2, 100], [6, 2, 2]), "nu": Discrete([1, 2, 3, 100], [4, 3, 2, 1])}
PAIR = LawPair(THETA["mu"], THETA["nu"])


def test_figure_1():
    scenario = Scenario.from_distributions(THETA)
    assert fugu.wasserstein(*THETA.values()) == 97
    made = fugu.calibrate(scenario, Pure(1), noise="laplace", grid="0.001")
    assert float(made.noise.scale) == pytest.approx(0.86824395779771, rel=2e-3)
    assert fugu.verify(made).holds
    assert LABELS in made.certificate.assumptions
    assert any("mu, nu" in line and "drawn from one of" in line for line in made.certificate.assumptions)


@pytest.mark.parametrize(("scale", "epsilon", "there", "back"), [(2.0, 0.5, 0.035127872925974, 0.0), (1.0, 1.0, 0, 0)])
def test_the_two_orders_of_figure_1(scale, epsilon, there, back):
    assert fugu.delta(Laplace(scale), PAIR, epsilon) == pytest.approx(max(there, back), abs=1e-12)  # both are protected


def test_both_orders_are_integrals():
    rng = np.random.default_rng(3)
    for _ in range(5):
        p, q = (Discrete(np.sort(rng.choice(12, 4, replace=False)), rng.integers(1, 9, 4)) for _ in range(2))
        b, e = float(rng.uniform(0.5, 4)), float(rng.uniform(0, 1))
        t = np.linspace(-60, 80, 1_400_001)
        f, g = (sum(w * np.exp(-np.abs(t - x) / b) / (2 * b) for x, w in zip(law.values, law.weights, strict=True))
                for law in (p, q))  # fmt: skip
        step = t[1] - t[0]
        truth = [float(np.maximum(a - math.exp(e) * c, 0).sum() * step) for a, c in ((f, g), (g, f))]
        assert fugu.delta(Laplace(b), LawPair(p, q), e) == pytest.approx(max(truth), abs=1e-6)


def test_ordered_pairs_are_symmetric_unless_said_otherwise_and_protected_anyway():
    both = Scenario.from_distributions(THETA, psi=[("mu", "nu")])
    assert any("each in both orders" in line for line in both.assumptions)
    one = Scenario.from_distributions(THETA, psi=[("mu", "nu")], symmetric=False)
    assert any("(nu, mu) not asked for, and protected as well" in line for line in one.assumptions)
    listed = Scenario.from_distributions(THETA, psi=[("mu", "nu"), ("nu", "mu")], symmetric=False)
    assert any("each in both orders" in line for line in listed.assumptions)
    assert len(listed.law_pairs()) == len(one.law_pairs()) == 1
    scales = {float(fugu.calibrate(s, Pure(1)).noise.scale) for s in (both, one, listed)}
    assert len(scales) == 1


def test_what_distributions_may_be():
    assert Scenario.from_distributions({"a": [1, 1, 2], "b": [1, 2, 2]}).law_pairs()[0].p.weights.tolist() == [
        2 / 3,
        1 / 3,
    ]
    for law in (Normal(0, 1), Shifted(1)):
        other = Normal(1, 1) if isinstance(law, Normal) else Shifted(3)
        assert len(Scenario.from_distributions({"a": law, "b": other}).law_pairs()) == 1
    for wrong, error in (
        ([("a", "b")], UsageError),
        ({"a": "text", "b": [1]}, UsageError),
        ({"a": [1]}, UsageError),
    ):
        with pytest.raises(error):
            Scenario.from_distributions(wrong)
    for psi, error in (
        ("some", UnknownName),
        ([("mu", "xi")], UnknownName),
        ([("mu", "mu")], UsageError),
        ([], UsageError),
        (3, UsageError),
        (["mu"], UsageError),
    ):
        with pytest.raises(error):
            Scenario.from_distributions(THETA, psi)
