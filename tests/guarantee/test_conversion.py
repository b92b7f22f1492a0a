"""The optimal conversion: the theory's numbers, violated by no pair of laws, attained by one, never above Balle's."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.errors import BadBudget
from fugu.guarantee import balle, exact_delta, exact_epsilon
from fugu.guarantee.kinds import balle_delta
from fugu.guarantee.optimal import _log_up
from fugu.numbers.exact import as_fraction

sys.path.insert(0, str(Path(__file__).parent))
from conversion_oracle import best_delta, hockey_stick, mp, random_pair, real, renyi

from hunting import search

VECTORS = [
    (2, 0.1, 1e-5, 11.6129254650, 10.2266311039, 7.8748429000),
    (2, 1, 1e-5, 12.5129254650, 11.1266311039, 10.6679792370),
    (10, 1, 1e-5, 2.2792139406, 1.9180106368, 1.9179969358),
    (32, 0.5, 1e-6, 0.9456616309, 0.8021150002, 0.8021149943),
    (1.5, 2, 0.01, 11.2103403720, 9.3007978671, 8.4094242137),
    (5, 0.01, 0.1, 0.5856462732, 0, 0),
]
DELTAS = [
    (2, 0.1, 1, 0.101642414935, 0.015167864190),
    (2, 1, 2, 0.091969860293, 0.066542314071),
    (10, 1, 1.5, 4.30385287e-4, 4.30334018e-4),
    (1.5, 2, 3, 0.233453759771, 0.180839773998),
]


def mironov(alpha, renyi_epsilon, delta):
    """The rule of Mironov 2017, Proposition 3: valid, and never the best."""
    return renyi_epsilon + math.log(1 / delta) / (alpha - 1)


@pytest.mark.parametrize(("alpha", "renyi_epsilon", "delta", "loose", "rule", "best"), VECTORS)
def test_the_three_conversions_give_the_numbers_of_the_theory(alpha, renyi_epsilon, delta, loose, rule, best):
    assert mironov(alpha, renyi_epsilon, delta) == pytest.approx(loose, abs=6e-11)
    assert balle(alpha, renyi_epsilon, delta) == pytest.approx(rule, abs=6e-11)
    assert exact_epsilon({alpha: renyi_epsilon}, delta) == pytest.approx(best, abs=6e-11)


@pytest.mark.parametrize(("alpha", "renyi_epsilon", "epsilon", "rule", "best"), DELTAS)
def test_delta_at_an_epsilon_gives_the_numbers_of_the_theory(alpha, renyi_epsilon, epsilon, rule, best):
    assert balle_delta(alpha, renyi_epsilon, epsilon) == pytest.approx(rule, rel=2e-9)
    assert exact_delta({alpha: renyi_epsilon}, epsilon) == pytest.approx(best, rel=2e-9)


CASES = [
    ({2: 0.1}, 1, False), ({2: 0.1}, 7.874842, False), ({10: 1}, 1.5, False), ({1.5: 2}, 3, False), ({2: 3}, 0, False),
    ({2: 3}, 0, True), ({200: 1}, 0.5, False), ({200: 1}, 0.5, True), ({1.01: 0.5}, 1, False), ({2: 1e-6}, 0, True),
    ({2: 0.1, 8: 0.5}, 1.2, False), ({2: 0.1, 8: 0.5}, 1.7, False), ({1.5: 0.3, 4: 1, 30: 2}, 1.5, True),
    ({2: 0.2, 5: 0.4, 20: 1.5}, 0.8, False),
]  # fmt: skip


@pytest.mark.parametrize(("orders", "epsilon", "symmetric"), CASES)
def test_the_optimum_is_attained_by_a_pair_of_laws_and_less_is_false(orders, epsilon, symmetric):
    """A pair of laws on two outcomes that satisfies the bounds leaks this much: nothing below it is true."""
    found = mp.mpf(exact_delta(orders, epsilon, symmetric))
    exact_orders = {a: real(as_fraction(r)) for a, r in orders.items()}
    attained = best_delta(exact_orders, real(as_fraction(epsilon)), symmetric)
    assert attained <= found <= attained * (1 + mp.mpf("1e-9")), (found, attained)
    assert 0.99 * found < attained  # the wrong version: one per cent less


@pytest.mark.parametrize(
    "orders",
    [{2: 0.1}, {1e4: 1}, {1e4: 50}, {1.0001: 1e-3}, {1.0001: 1}, {1.0001: 50}, {2: 50}, {100: 1e-6}, {2: 1e-9},
     {2: 0.1, 4: 0.2, 8: 0.4, 32: 1.6}, {2: 0.05, 64: 3, math.inf: 4}, {1.0016: 8.5e-5, 1.12: 0.01, 3692.5: 21.479}],
)  # fmt: skip
@pytest.mark.parametrize("delta", [1e-30, 1e-5, 0.3])
@pytest.mark.parametrize("symmetric", [False, True])
def test_there_and_back_at_extreme_orders_and_deltas(orders, delta, symmetric):
    epsilon = exact_epsilon(orders, delta, symmetric)
    assert epsilon <= min(balle(a, r, delta) for a, r in orders.items())
    back = exact_delta(orders, epsilon, symmetric)
    if epsilon > 0:  # rounding epsilon up moves delta by up to alpha units in the last place of epsilon
        assert back == pytest.approx(delta, rel=1e-9)
    else:
        assert back <= delta


def test_a_coarse_grid_without_slack_would_claim_too_little():
    """The theory's warning: on a grid of p the best p - e^eps q(p) misses the hill, here altogether."""
    orders, epsilon = {2: 0.1}, Fraction("7.8")
    truth = best_delta({2: mp.mpf("0.1")}, real(epsilon))
    e = math.exp(7.8)
    coarse = 0.0
    for p in np.linspace(0, 1, 201)[1:-1]:
        root = np.roots([math.exp(0.1), -(2 * p + math.exp(0.1) - 1), p * p])  # p^2/q + (1-p)^2/(1-q) = e^0.1
        coarse = max(coarse, p - e * min(root.real))
    assert coarse == 0 < truth
    assert exact_delta(orders, epsilon) >= truth > 1e-5


@search("conversions of Renyi divergences against the hockey stick of random laws")
def check_pair(rng):
    """The true hockey stick of one random pair against the conversions of its own divergences."""
    p, q = random_pair(rng)
    alphas = [float(a) for a in rng.choice([1.05, 1.5, 2, 3, 5, 10, 40], size=int(rng.integers(1, 4)), replace=False)]
    both = bool(rng.integers(0, 2))
    orders = {}
    for a in alphas:
        d = max(renyi(p, q, a), renyi(q, p, a) if both else mp.zero, mp.zero)
        orders[a] = math.nextafter(float(d), math.inf)
        assert real(as_fraction(orders[a])) >= d or orders[a] == 0
    epsilon = round(float(rng.uniform(0, 1.3 * float(renyi(p, q, mp.inf)))), 6)
    truth = hockey_stick(p, q, epsilon)
    found = exact_delta(orders, epsilon, both)
    assert truth <= found, (p, q, orders, epsilon)
    if truth > mp.mpf("1e-200") and rng.random() < 0.2:
        delta = float(truth)
        assert hockey_stick(p, q, exact_epsilon(orders, delta, both)) <= real(as_fraction(delta))
    return float(truth), found


def test_no_random_pair_leaks_more_than_the_conversion_says():
    rng = np.random.default_rng(1)
    results = [check_pair(rng) for _ in range(300)]
    assert sum(truth > 0.99 * found for truth, found in results) > 10  # some pairs are worst cases: the check has teeth


ORDERS = st.dictionaries(
    st.sampled_from([1.001, 1.1, 1.5, 2, 3, 8, 32, 1000, math.inf]),
    st.floats(1e-6, 20).map(lambda x: round(x, 6)),
    min_size=1,
    max_size=3,
)
SMALL = st.sampled_from([1e-30, 1e-12, 1e-6, 1e-3, 0.05, 0.4, 0.9])


@settings(max_examples=15)
@given(ORDERS, SMALL, SMALL, st.booleans())
def test_more_delta_never_needs_more_epsilon_and_balle_is_never_beaten_by_it(orders, one, two, symmetric):
    less, more = sorted((one, two))
    at_less, at_more = exact_epsilon(orders, less, symmetric), exact_epsilon(orders, more, symmetric)
    assert at_more <= at_less * (1 + 1e-12) + 1e-12
    assert (
        at_less
        <= min(balle(a, r, less) for a, r in orders.items())
        <= min(mironov(a, r, less) for a, r in orders.items()) + 1e-9
    )


@settings(max_examples=15)
@given(ORDERS, SMALL, st.booleans())
def test_orders_together_are_never_worse_than_one_alone_and_both_directions_than_one(orders, delta, symmetric):
    together = exact_epsilon(orders, delta, symmetric)
    alone = min(exact_epsilon({a: r}, delta, symmetric) for a, r in orders.items())
    assert together <= alone * (1 + 1e-9) + 1e-9
    assert exact_epsilon(orders, delta, True) <= exact_epsilon(orders, delta, False) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(("orders", "delta"), [({32: 1.0}, 0.9), ({32: 1.0}, 0.8), ({8: 1.0}, 0.99)])
def test_a_delta_above_the_total_variation_needs_no_epsilon(orders, delta):
    for symmetric in (True, False):
        assert exact_delta(orders, 0, symmetric) < delta and exact_epsilon(orders, delta, symmetric) == 0


def test_two_orders_together_are_strictly_better_in_a_corner():
    together = exact_epsilon({1.5: 0.1, 30: 2}, 0.01)
    assert together < 0.9 * min(exact_epsilon({1.5: 0.1}, 0.01), exact_epsilon({30: 2}, 0.01))
    attained = best_delta({1.5: mp.mpf("0.1"), 30: mp.mpf(2)}, together)  # and still true: a pair of laws gets there
    assert attained == pytest.approx(0.01, rel=1e-9)


def test_both_orders_of_the_pair_help_for_large_divergences():
    assert exact_epsilon({1e4: 1}, 0.3) == pytest.approx(1 + math.log(0.7), abs=1e-3)
    assert exact_epsilon({1e4: 1}, 0.3, symmetric=True) == pytest.approx(0.4718, abs=1e-4)
    truth = math.log(math.e - 0.3 * (1 + math.e))  # randomised response, the limit of large orders
    assert exact_epsilon({math.inf: 1}, 0.3, symmetric=True) == pytest.approx(truth, abs=1e-12)


def test_no_information_and_full_information():
    assert exact_delta({2: 0}, 0) == 0 == exact_epsilon({2: 0}, 1e-9)
    assert exact_delta({2: math.inf}, 1) == 1 and exact_epsilon({2: math.inf}, 0.5) == math.inf
    assert exact_delta({math.inf: 1}, 1) == 0 and exact_delta({2: 1}, math.inf) == 0


@pytest.mark.parametrize(
    ("alpha", "epsilon", "delta"), [(1, 1, 0.1), (2, -1, 0.1), (2, 1, 0), (2, 1, 1), (2, 1, math.nan)]
)
def test_numbers_outside_the_domain_are_refused(alpha, epsilon, delta):
    for convert in (balle, lambda a, e, d: exact_epsilon({a: e}, d)):
        with pytest.raises(BadBudget):
            convert(alpha, epsilon, delta)


def test_a_bad_search_costs_tightness_and_never_the_truth(monkeypatch):
    """The proof must hold wherever the search looks: displace what it finds and nothing false may follow."""
    from fugu.guarantee import optimal

    rng = np.random.default_rng(8)
    hill = optimal._climb
    cases = [
        ({2: 0.1}, 1.0, False),
        ({1.5: 0.3, 30: 2}, 1.5, True),
        ({200: 1}, 0.5, True),
        ({3: 0.5, math.inf: 1}, 0.7, True),
    ]
    best = [(exact_delta(o, e, s), exact_epsilon(o, exact_delta(o, e, s), s)) for o, e, s in cases]
    worse = 0
    for _ in range(4):
        moved = float(rng.normal(0, 1)), float(np.exp(rng.normal(0, 0.5)))

        def displaced(*args, moved=moved):
            x, d, tight = hill(*args)
            return x + moved[0], d * moved[1], tight

        monkeypatch.setattr(optimal, "_climb", displaced)
        for (orders, epsilon, symmetric), (delta, least) in zip(cases, best, strict=True):
            found = exact_delta(orders, epsilon, symmetric)
            assert found >= delta * (1 - 1e-9)
            assert exact_epsilon(orders, delta, symmetric) >= least * (1 - 1e-9)
            worse += found > delta * 1.001
    assert worse > 3


def test_a_slope_that_is_not_surely_positive_is_read_from_its_upper_end():
    assert math.log(3) <= _log_up(arb(1, 2)) <= math.log(3) * (1 + 1e-7)
    assert _log_up(arb(-2, 1)) == 0  # p <= delta - q: no epsilon is needed
    assert _log_up(arb(0.5)) < 0
