"""What is rounded is rounded the safe way only: decimals, doubles, balls and converted guarantees, at 60 digits."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath.ctx_mp import MPContext

from fugu import Approx, Pure, Renyi
from fugu.guarantee import balle, pure_as_renyi
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction, decimal_step, decimal_up, float_down, float_up

mp = MPContext()
mp.dps = 60
POSITIVE = st.floats(1e-290, 1e290)


def real(x):
    return mp.mpf(Fraction(x).numerator) / Fraction(x).denominator


@given(POSITIVE, st.integers(1, 15))
def test_a_published_decimal_is_at_or_above_and_close(x, digits):
    found = decimal_up(x, digits)
    exact = as_fraction(x)  # a float is the decimal that it shows
    assert exact <= found < exact * (1 + Fraction(10) ** (1 - digits))


@given(st.fractions(-(10**20), 10**20, max_denominator=10**25))
def test_a_fraction_becomes_the_next_double_up_or_down(x):
    up, down = float_up(x), float_down(x)
    assert Fraction(down) <= x <= Fraction(up)
    assert x == down == up or math.nextafter(down, math.inf) == up


def test_only_decimals_are_read_as_decimals():
    assert decimal_step(np.array([0.25, 0.1])) == Fraction(1, 100)
    for binary in (1 / 3, 0.1 + 2.0**-50, 1e-9 / 3):
        assert decimal_step(np.array([0.1, binary])) is None


@given(st.fractions(-(10**6), 10**6, max_denominator=10**30))
def test_a_ball_holds_its_fraction_and_its_ends_are_outside(x):
    with balls.precision(200):
        ball = balls.of(x)
        assert (ball * x.denominator - x.numerator).contains(0)
        up, down = balls.upper(ball), balls.lower(ball)
    assert Fraction(down) <= x <= Fraction(up)
    assert math.nextafter(down, math.inf) >= up


def test_an_unbounded_ball_has_no_upper_end():
    assert balls.upper(balls.of(1) / 0) == math.inf


def random_budgets(count):
    rng = random.Random(3)
    for _ in range(count):
        have = Fraction(rng.randrange(10**9), 10**10) * rng.choice([0, 1])
        wanted = have + (1 - have) * Fraction(rng.randrange(1, 10**9), 10 ** rng.randint(10, 14))
        yield Fraction(rng.randrange(1, 10**12), 10 ** rng.randint(11, 14)), have, wanted


def test_a_converted_epsilon_is_never_below_the_trade_off_curve():
    tight = 0
    for epsilon, have, wanted in random_budgets(300):
        found = real(as_fraction(Approx(epsilon, have).to_approx(wanted).epsilon))
        e = mp.exp(real(epsilon))
        least = e - real((wanted - have) / (1 - have)) * (1 + e)
        assert mp.exp(found) >= least, (epsilon, have, wanted)
        tight += least > 1 and found <= mp.log(least) * (1 + mp.mpf("1e-12")) + mp.mpf("1e-15")
    assert tight > 100


@pytest.mark.parametrize("read", [Fraction, pytest.param(as_fraction)], ids=["double", "decimal"])
def test_a_converted_renyi_epsilon_is_never_below_the_formula(read):
    for epsilon, have, wanted in random_budgets(200):
        alpha = 1 + 1000 * epsilon
        found = real(read(balle(alpha, epsilon, (wanted - have) / (1 - have))))
        a, d0 = real(alpha), real((wanted - have) / (1 - have))
        truth = real(epsilon) + mp.log((a - 1) / a) - (mp.log(d0) + mp.log(a)) / (a - 1)
        assert max(mp.zero, truth) <= found <= max(mp.zero, truth) * (1 + mp.mpf("1e-15"))


@pytest.mark.parametrize("epsilon", [Fraction(791, 1000), Fraction(461, 500)])
def test_pure_implies_no_renyi_guarantee_below_randomised_response(epsilon):
    """The order is decided by proofs: what is claimed for a float must hold for the decimal that it means."""
    e = mp.exp(real(epsilon))
    truth = mp.log((e**2 + 1 / e) / (1 + e))
    nearest = pure_as_renyi(epsilon, Fraction(2))
    assert real(as_fraction(nearest)) >= truth or not Pure(epsilon) <= Renyi(2, nearest)


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2, 7)])
def test_no_conversion_is_no_rounding(epsilon):
    assert Approx(epsilon, 0).to_approx(0).epsilon == epsilon
