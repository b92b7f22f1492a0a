"""Attacks on shares: samplers follow the records, noise is seen to help, and noise along a line is seen not to."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

import fugu
from fugu.auditing.attack import drawn, property_attack, steps_of
from fugu.errors import UnknownName, UsageError

ASKED = ["mean(age)", "mean(years)", "count(sex=F)"]


def rng(number=0):
    return np.random.default_rng(number)


def people(n=400, seed=5, scale=1):
    """Two classes that differ by a shift only: their covariances are equal, so noise along a line meets the budget."""
    source = rng(seed)
    age, years, sex = source.integers(20, 60, n), source.integers(1, 17, n), source.integers(0, 2, n)
    return {
        "rich": ["yes"] * n + ["no"] * n,
        "age": [*((age + 6) * scale), *(age * scale)],
        "years": [*(years + 2), *years],
        "sex": ["FM"[x] for x in sex] * 2,
    }


def made(table=None, **changes):
    given = {"statistics": ASKED, "property": "rich=yes", "size": 100, "tolerance": 0.2}
    given |= {"values": [0.4, 0.6], **changes}
    return fugu.Scenario.from_property(table or people(), **given)


@pytest.fixture(scope="module")
def scenario():
    return made()


@pytest.mark.parametrize("replacement", [True, False])
def test_samplers_draw_fixed_counts_from_the_records_of_each_class(replacement):
    table = {"rich": ["yes"] * 3 + ["no"] * 4, "age": [100, 200, 400, 1, 2, 4, 8]}
    changes = {"statistics": ["sum(age)"], "size": 4, "values": [0.25, 0.75], "tolerance": 0.5}
    model = made(table, **changes, replacement=replacement).property
    assert model.counts == (1, 3)
    for k in model.counts:
        choices = itertools.combinations if not replacement else lambda rows, k: itertools.product(rows, repeat=k)
        sums = [sum(a) + sum(b) for a in choices((100, 200, 400), k) for b in choices((1, 2, 4, 8), 4 - k)]
        seen, times = np.unique(drawn(model, k)(rng(k), 20_000)[:, 0], return_counts=True)
        values, ways = np.unique(sums, return_counts=True)
        expected = ways / len(sums)
        assert set(seen) <= set(values)
        found = dict(zip(seen, times / 20_000, strict=True))
        worst = max(abs(found.get(v, 0.0) - e) / math.sqrt(e * (1 - e) / 20_000 + 1e-12)
                    for v, e in zip(values, expected, strict=True))  # fmt: skip
        assert worst < 5.5
    if not replacement:
        assert 300 + 1 not in drawn(model, 3)(rng(9), 500), "a record drawn three times would give 301"


def test_an_unprotected_share_is_guessed_as_well_as_the_distance_allows(scenario):
    (pair,) = scenario.law_pairs()
    d = pair.p.mean_array - pair.q.mean_array
    best = NormalDist().cdf(math.sqrt(d @ np.linalg.solve(pair.p.cov_array, d)) / 2)
    found = property_attack(None, scenario, test=10_000, rng=rng(1))
    assert found.accuracy == pytest.approx(best, abs=0.02) and best > 0.7
    assert found.guarantee is None and found.shadow == 1000


def test_full_rank_noise_protects_and_is_not_decoded(scenario):
    mechanism = fugu.calibrate(scenario, fugu.Approx(0.2, 1e-3))
    assert mechanism.noise.base > 0
    found = property_attack(mechanism, scenario, rng=rng(2))
    assert found.consistent and found.interval[0] <= found.ceiling
    assert [a.attack for a in found.attempts] == ["logistic", "likelihood-ratio"], "no direction is left out"


def test_noise_along_a_line_is_decoded_and_the_declared_guarantee_refuted(scenario):
    """The laws are not normal, however the steward declared them: the decoder reads the statistics exactly."""
    mechanism = fugu.calibrate(scenario, fugu.Approx(0.2, 1e-3), method="optimal", declared_exact=True)
    assert mechanism.noise.base == 0 and len(mechanism.noise.columns) == 1
    found = property_attack(mechanism, scenario, rng=rng(3))
    by = {a.attack: a for a in found.attempts}
    assert "100.0%" in by["decoder"].note and by["decoder"].accuracy > 0.65
    assert found.consistent is False and found.epsilon_lower > 1 > 0.2
    blind = property_attack(mechanism, scenario, attacks=("logistic", "likelihood-ratio"), rng=rng(3))
    assert blind.consistent, "attacks that do not look at the lattice see nothing"


def test_a_function_may_name_the_directions_of_its_noise(scenario):
    v = np.array([0.61, 0.65, 0.4532])

    def along(values, source):
        return values + 30 * source.standard_normal((len(values), 1)) * v

    assert "decoder" in {a.attack for a in property_attack(along, scenario, directions=v, rng=rng(4)).attempts}
    assert "decoder" not in {a.attack for a in property_attack(along, scenario, rng=rng(4)).attempts}
    halves = made(people(scale=0.37))
    assert steps_of(halves.property) is None and steps_of(scenario.property).tolist() == [0.01, 0.01, 1]
    with pytest.raises(UsageError, match="whole numbers"):
        property_attack(along, halves, directions=v)


def test_pairs_are_named_and_must_be_within_the_tolerance():
    several = made(values=[0.3, 0.4, 0.5], tolerance=0.1)
    assert property_attack(None, several, ("p=0.3", "p=0.4"), rng=rng()).accuracy > 0.5
    with pytest.raises(UsageError, match="tolerance"):
        property_attack(None, several, ("p=0.3", "p=0.5"))
    with pytest.raises(UnknownName):
        property_attack(None, several, ("p=0.3", "p=0.31"))
    with pytest.raises(UsageError, match="two different"):
        property_attack(None, several, "p=0.3")
    with pytest.raises(UsageError, match="from_property"):
        property_attack(None, fugu.Scenario({"a": fugu.Discrete([0]), "b": fugu.Discrete([1])}))
