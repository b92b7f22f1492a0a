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
        (lambda: NormalMixture.fit([1, 2, 1e200], components=2), BadLaw),
        (lambda: NormalMixture.fit_shared({"a": [1, 2], "b": [1, -1e308]}), BadLaw),
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


def test_no_component_is_narrower_than_the_resolution() -> None:
    """Whole numbers with spikes: a likelihood without a floor fits a standard deviation of 0.01 or less to them."""
    rng = np.random.default_rng(0)
    values = np.concatenate([np.full(3000, 9.0), np.full(2000, 10.0), np.rint(rng.normal(12, 2, 3000))])
    for components in ("bic", 3, 5):
        law = NormalMixture.fit(values, components=components)
        assert min(law.stds) >= 1 / np.sqrt(12) * (1 - 1e-9)
    shared = NormalMixture.fit_shared({"a": values, "b": values[::2]}, components=5)
    assert all(min(law.stds) >= 1 / np.sqrt(12) * (1 - 1e-9) for law in shared.values())
    # in tenths the same law, ten times narrower
    tenth = NormalMixture.fit(values / 10, components=3)
    assert np.allclose(np.array(tenth.stds) * 10, NormalMixture.fit(values, components=3).stds, rtol=1e-6)


def test_a_fine_resolution_changes_no_fit() -> None:
    from sklearn.mixture import GaussianMixture

    plain = GaussianMixture(2, random_state=0, n_init=1, reg_covar=1e-6 * float(np.var(TWO))).fit(TWO[:, None])
    law = NormalMixture.fit(TWO, components=2)
    assert np.allclose(sorted(law.stds), sorted(np.sqrt(plain.covariances_[:, 0, 0])), rtol=1e-9)


def test_the_floor_is_never_above_the_spread_of_the_values() -> None:
    from fugu.laws.normal import least_std

    rare = np.array([0.0] * 99 + [1.0])
    assert least_std(rare) == pytest.approx(rare.std())
    assert least_std(np.array([5.0, 5.0])) == 0
    assert NormalMixture.fit(rare, components=1).std() <= 1.01 * rare.std() * np.sqrt(2)
