"""Fitted beliefs: sensible, deterministic, exact in what they state, and never mistaken for the data."""

from __future__ import annotations

import numpy as np
import pytest

from fugu import Approx, Normal, NormalMixture, Scenario, calibrate, verify
from fugu.errors import BadLaw, BadTable, UnknownName, UsageError

RNG = np.random.default_rng(4)
TWO = np.concatenate([RNG.normal(0, 1, 700), RNG.normal(12, 2, 300)])
TABLE = {"s": ["a", "b"] * 400, "x": np.where(np.arange(800) % 2, 3, 0) + RNG.normal(0, 2, 800).round(2)}


def test_a_normal_law_has_the_moments_of_the_values():
    law = Normal.fit([1, 2, 3, 4])
    assert law.mean == 2.5 and law.std == pytest.approx(np.std([1, 2, 3, 4], ddof=1), rel=1e-11)


def test_a_mixture_finds_two_clear_groups_and_bic_counts_them():
    law = NormalMixture.fit(TWO, components="bic")
    assert len(law.means) == 2
    assert sorted(law.means) == pytest.approx([0, 12], abs=0.4)
    assert sum(law.weights) == pytest.approx(1, abs=1e-11)
    assert NormalMixture.fit(TWO, components=3) == NormalMixture.fit(TWO, components=3)  # always the same


def test_a_shared_model_has_common_weights_and_spreads_and_adapted_means():
    laws = NormalMixture.fit_shared({"a": TWO, "b": TWO[:500] + 1}, components=2)
    a, b = laws.values()
    assert a.weights == b.weights and a.stds == b.stds and a.means != b.means


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Normal.fit([1]), BadLaw),
        (lambda: Normal.fit([1, np.nan]), BadLaw),
        (lambda: NormalMixture.fit([1, 2], components=3), BadLaw),
        (lambda: NormalMixture.fit([1, 2], components=0), UsageError),
        (lambda: NormalMixture.fit([1, 2], components="aic"), UsageError),
        (lambda: NormalMixture.fit_shared({"a": [1, 2]}), UsageError),
        (lambda: Scenario.from_table(TABLE, publish="x", protect="s", prior="normal"), UnknownName),
        (
            lambda: Scenario.from_table({"s": ["a", "b"], "x": [1, 2]}, publish="x", protect="s", prior="gaussian"),
            BadTable,
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("prior", ["gaussian", "mixture", "shared"])
def test_the_certificate_says_whose_belief_it_is_and_shows_the_empirical_loss_beside_it(prior):
    scenario = Scenario.from_table(TABLE, publish="x", protect="s", prior=prior)
    mechanism = calibrate(scenario, Approx(0.5, 0.01))
    assert verify(mechanism).holds
    assert any("fitted" in a for a in mechanism.certificate.assumptions)
    beside = mechanism.certificate.body["empirical"]
    assert beside["delta"] != mechanism.certificate.proved["delta"]
    again = Scenario.from_recipe(TABLE, mechanism.certificate.body["recipe"])
    assert verify(mechanism.certificate, again).holds
    assert (
        calibrate(Scenario.from_table(TABLE, publish="x", protect="s"), Approx(0.5, 0.01)).certificate.body["empirical"]
        is None
    )
