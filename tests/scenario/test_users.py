"""Sums over independent users: exact laws, no central limit approximation, and the point where no noise is needed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import Approx, Discrete, LawPair, Normal, Pure, Scenario, calibrate, delta, epsilon, verify
from fugu.errors import NotProvable, UsageError
from fugu.noise import Laplace
from fugu.scenario.moves import needed, total
from hunting import search


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def test_takes_part_is_the_sum_with_and_without_the_user():
    coin = Discrete([0, 1], [Fraction(3, 4), Fraction(1, 4)])
    laws = Scenario.takes_part(coin, coin, count=9).adversaries[0]
    assert np.allclose(laws["takes part"].weights, [float(x) for x in binomial(10, Fraction(1, 4))], rtol=1e-13)
    assert np.allclose(laws["stays away"].weights, [float(x) for x in binomial(9, Fraction(1, 4))], rtol=1e-13)


def test_reports_moves_the_others_by_one_value_or_the_other():
    scenario = Scenario.reports(0, 5, [Discrete([0, 1]), Discrete([0, 2])])
    assert scenario.secrets == ("reports 0", "reports 5")
    first, second = scenario.adversaries[0].values()
    assert np.array_equal(first.values + 5, second.values) and np.array_equal(first.weights, second.weights)


def test_normal_users_add_means_and_variances():
    """Ding 2024, Corollary 1: K users of law N(1, 2^2)."""
    laws = Scenario.takes_part(Normal(1, 2), Normal(1, 2), count=9).adversaries[0]
    assert laws["takes part"] == Normal(10, float(f"{math.sqrt(40):.15g}"))
    assert laws["stays away"] == Normal(9, 6)


@pytest.mark.parametrize(("count", "truth"), [(2, 3.6e-2), (10, 7.9e-4)])
def test_the_claim_that_mu_over_epsilon_becomes_pure_is_false_and_its_delta_is_this(count, truth):
    """theory section 3: at b = mu / epsilon, mu = epsilon = sigma = 1, the pure level is 1.5 for every K."""
    pair = Scenario.takes_part(Normal(1, 1), Normal(1, 1), count=count - 1)
    assert epsilon(Laplace(1.0), pair) == pytest.approx(1.5, abs=1e-6)
    assert delta(Laplace(1.0), pair, 1) == pytest.approx(truth, rel=0.02)
    assert calibrate(pair, Pure(1)).noise.scale == pytest.approx(1.36602540, rel=1e-4)


def test_with_enough_users_no_noise_is_needed_and_how_many_that_takes():
    coin = Discrete([0, 1])
    budget = Approx(0.1, 1e-6)
    count = needed(coin, coin, budget)
    assert calibrate(Scenario.takes_part(coin, coin, count), budget).noise.scale == 0
    assert calibrate(Scenario.takes_part(coin, coin, count - 1), budget).noise.scale > 0
    # the definition, from binomial coefficients in Fractions at the answer
    p, q = ([Fraction(math.comb(n, k), 2**n) for k in range(n + 1)] for n in (count + 1, count))
    e = Fraction(math.exp(0.1))
    both = max(sum(max(a - e * b, 0) for a, b in zip(x, y, strict=True)) for x, y in ((p, [*q, 0]), ([*q, 0], p)))
    assert both <= Fraction(1, 10**6)


@search("totals of up to a million users", quick=1)
def test_very_many_users_take_part_in_a_certified_total(seed):
    count = 3_000 if seed == 0 else int(10 ** np.random.default_rng(seed).uniform(3, 6))
    levels = Discrete(range(100), np.arange(1, 101))
    scenario = Scenario.reports(0, 99, levels, count=count)
    law = next(iter(scenario.adversaries[0].values()))
    assert 0 < law.error < 1e-9  # convolved by FFT, the error certified
    mechanism = calibrate(scenario, Approx(0.5, 1e-6), noise="laplace")
    assert mechanism.noise.scale == 0
    assert mechanism.certificate.proved["delta"] >= law.error  # the error is part of delta
    assert verify(mechanism).holds
    with pytest.raises(NotProvable):
        calibrate(scenario, Pure(0.1))


def test_bad_users_are_refused():
    coin = Discrete([0, 1])
    for bad in (0, -1, 1.5, None, True):
        with pytest.raises(UsageError, match="count"):
            Scenario.takes_part(coin, coin, bad)
    with pytest.raises(UsageError, match="nothing to hide"):
        Scenario.reports(1, 1, coin, 5)
    with pytest.raises(NotProvable, match="one kind"):
        total([coin, Normal(0, 1)])
    with pytest.raises(UsageError, match="list"):
        Scenario.takes_part(coin, [], None)


def test_the_order_of_the_pair_does_not_matter():
    coin = Discrete([0, 1])
    p, q = Scenario.takes_part(coin, coin, 20).adversaries[0].values()
    assert delta(Laplace(0), LawPair(p, q), 0.1) == delta(Laplace(0), LawPair(q, p), 0.1)
