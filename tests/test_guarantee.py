"""Guarantees are values with a partial order that is decided by proofs."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu import Approx, Pure, Renyi
from fugu.errors import BadBudget, NotProvable

EPSILONS = st.floats(0, 20).map(lambda x: round(x, 6))
DELTAS = st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 0.5, 0.9])


@pytest.mark.parametrize("bad", [-1, -0.1, math.nan, "1", None, True])
def test_epsilon_outside_its_domain_is_refused(bad):
    with pytest.raises(BadBudget, match="epsilon"):
        Pure(bad)


@pytest.mark.parametrize("bad", [-1e-9, 1, 1.5, math.nan, math.inf, "0", None])
def test_delta_outside_its_domain_is_refused(bad):
    with pytest.raises(BadBudget, match="delta"):
        Approx(1, bad)


@pytest.mark.parametrize("bad", [1, 0.5, 0, -2, math.nan, True, "2", None])
def test_alpha_outside_its_domain_is_refused(bad):
    with pytest.raises(BadBudget, match="alpha"):
        Renyi(bad, 1)


def test_a_float_is_its_decimal_and_fractions_stay_exact():
    assert Pure(0.1) == Pure(Fraction(1, 10))
    assert Pure(0.1) != Pure(Fraction(0.1))
    assert hash(Pure(0.1)) == hash(Pure(Fraction(1, 10)))
    assert Pure(Fraction(1, 3)).epsilon == Fraction(1, 3)


def test_the_same_promise_in_other_words_is_equal():
    assert Approx(1, 0) == Pure(1) == Renyi(math.inf, 1)
    assert Approx(1, 1e-6) != Pure(1)


def test_smaller_epsilon_is_stronger_and_pure_is_stronger_than_approx():
    assert Pure(0.5) < Pure(1) < Approx(1, 1e-6) < Approx(2, 1e-6)
    assert not Approx(1, 1e-6) <= Pure(1)
    assert Pure(3) <= Pure(math.inf)
    assert not Pure(math.inf) <= Pure(3)


def test_incomparable_guarantees_are_not_ordered():
    a, b = Approx(1, 1e-3), Approx(2, 1e-6)
    assert not a <= b and not b <= a


def test_pure_implies_approx_with_smaller_epsilon_at_the_randomised_response_delta():
    delta = (math.e**2 - math.e) / (1 + math.e**2)  # what randomised response at epsilon 2 leaks beyond epsilon 1
    assert Pure(2) <= Approx(1, delta + 1e-12)
    assert not Pure(2) <= Approx(1, delta - 1e-12)


@given(EPSILONS, DELTAS, DELTAS)
def test_to_approx_agrees_with_the_trade_off_curve_and_rounds_up(epsilon, have, wanted):
    g = Approx(epsilon, have)
    if wanted < have:
        with pytest.raises(NotProvable):
            g.to_approx(wanted)
        return
    found = float(g.to_approx(wanted).epsilon)
    assert 0 <= found <= epsilon
    # the claim holds: the worst pair's delta at the converted epsilon is at most the wanted one
    worst = have + (1 - have) * max(0.0, math.exp(epsilon) - math.exp(found)) / (1 + math.exp(epsilon))
    assert worst <= wanted + 1e-12
    if found > 1e-6:  # and it is tight: a smaller epsilon would not do
        smaller = have + (1 - have) * (math.exp(epsilon) - math.exp(found * (1 - 1e-6) - 1e-9)) / (
            1 + math.exp(epsilon)
        )
        assert smaller >= wanted - 1e-12


@given(EPSILONS, DELTAS, EPSILONS, DELTAS, EPSILONS, DELTAS)
def test_the_order_is_transitive(e1, d1, e2, d2, e3, d3):
    a, b, c = Approx(e1, d1), Approx(e2, d2), Approx(e3, d3)
    if a <= b <= c:
        assert a <= Approx(float(c.epsilon) * (1 + 1e-12) + 1e-12, c.delta)


def test_pure_implies_renyi_of_randomised_response_only():
    truth = math.log((math.exp(2) + math.exp(-1)) / (1 + math.e))  # alpha 2, epsilon 1
    assert Pure(1) <= Renyi(2, truth + 1e-9)
    assert not Pure(1) <= Renyi(2, truth - 1e-9)
    assert Renyi(4, 1) <= Renyi(2, 1)
    assert not Renyi(2, 1) <= Renyi(4, 1)
