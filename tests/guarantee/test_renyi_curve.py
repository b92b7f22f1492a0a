"""A Rényi curve is a value; what it says at other orders and deltas holds for every pair of laws that satisfies it."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fugu import Approx, Pure, Renyi, RenyiCurve
from fugu.errors import BadBudget, NotProvable
from fugu.guarantee import balle, exact_epsilon
from fugu.guarantee.curve import budget_from, budget_json
from fugu.numbers.exact import as_fraction

sys.path.insert(0, str(Path(__file__).parent))
from conversion_oracle import hockey_stick, mp, random_pair, real, renyi


@pytest.mark.parametrize(
    "bad", [{}, {1: 1}, {0.5: 1}, {2: -1}, {2: math.nan}, {math.nan: 1}, {"2": 1}, [(2, 1)], None, {2: 1, 2.5: None}]
)
def test_what_is_no_curve_is_refused(bad):
    with pytest.raises(BadBudget):
        RenyiCurve(bad)


def test_one_order_written_twice_is_refused():
    with pytest.raises(BadBudget, match="twice"):
        RenyiCurve({0.1 + 1: 1, Fraction(11, 10): 2})


def test_a_curve_is_frozen_hashable_and_can_be_copied():
    curve = RenyiCurve({8: 0.5, 2: 0.1}, delta=1e-6)
    with pytest.raises(AttributeError):
        curve.delta = 0
    assert curve == RenyiCurve({2: Fraction(1, 10), 8.0: 0.5}, 1e-6) and hash(curve) == hash(copy.deepcopy(curve))
    assert pickle.loads(pickle.dumps(curve)) == curve
    assert repr(curve) == "RenyiCurve({2: 0.1, 8: 0.5}, delta=1e-06)"


def test_a_smaller_epsilon_at_a_larger_order_bounds_the_smaller_orders():
    assert RenyiCurve({2: 1, 4: 0.5}).epsilons == {2: 0.5, 4: 0.5}
    assert RenyiCurve({2: 1, 4: 0.5}) == Renyi(4, 0.5)
    assert RenyiCurve({2: 1, math.inf: 0.5}) == Pure(0.5) == RenyiCurve({math.inf: 0.5})
    assert RenyiCurve({2: math.inf, 4: 1, 8: math.inf}) == Renyi(4, 1)


def test_between_two_orders_the_interpolated_epsilon_holds_and_beyond_none():
    curve = RenyiCurve({2: 0.1, 8: 0.5})
    assert curve(5) == 0.45  # (a-1) eps: 0.1 at 2, 3.5 at 8, 1.8 at 5
    assert curve(1.5) == 0.1 and curve(9) == math.inf == curve(math.inf)
    assert curve(5) < 0.5  # monotonicity alone says 0.5
    linear = 0.1 + (0.5 - 0.1) / 2  # the wrong version: epsilon itself interpolated
    assert linear < curve(5)


def test_interpolating_epsilon_itself_is_false_for_some_pair_and_the_curve_for_none():
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(300):
        p, q = random_pair(rng)
        low, middle, high = sorted(float(x) for x in rng.uniform(1.05, 20, 3))
        top = bool(rng.integers(0, 2))
        orders = [low, high, math.inf] if top else [low, high]
        bounds = {a: math.nextafter(max(float(renyi(p, q, a)), float(renyi(q, p, a))), math.inf) for a in orders}
        curve = RenyiCurve(bounds)
        for a in (middle, low, (1 + low) / 2, high + 3):
            truth = max(renyi(p, q, a), renyi(q, p, a))
            assert (a > high and not top) or truth <= mp.mpf(curve(a)) * (1 + mp.mpf("1e-14")), (bounds, a)
        share = (middle - low) / (high - low)
        broken += renyi(p, q, middle) > bounds[low] + share * (bounds[high] - bounds[low]) + 1e-9
    assert broken > 10


def test_the_order_is_decided_by_proofs():
    curve = RenyiCurve({2: 0.1, 8: 0.5})
    assert curve <= Renyi(2, 0.1) and curve <= Renyi(5, 0.45) and not curve <= Renyi(5, 0.4499)
    assert curve <= RenyiCurve({3: 0.5}) and not RenyiCurve({3: 0.5}) <= curve
    assert RenyiCurve({2: 0.1, 8: 0.4}) < curve
    assert Pure(0.1) <= curve and not Pure(1) <= curve
    assert not curve <= Pure(100) and RenyiCurve({2: 0.1, math.inf: 3}) <= Pure(3)
    assert curve <= RenyiCurve({2: 0.1, 8: 0.5}, 1e-9) and not RenyiCurve({2: 0.1, 8: 0.5}, 1e-9) <= curve
    assert curve <= curve.to_approx(1e-6) and curve <= Approx(math.inf, 1e-9)
    assert not Approx(0.1, 1e-9) <= curve


def test_joint_conversion_is_at_least_as_good_as_each_order_and_uses_both_orders_of_the_pair():
    curve = RenyiCurve({1.5: 0.1, 30: 2})
    found = curve.to_approx(0.01).epsilon
    assert found < 0.9 * min(Renyi(1.5, 0.1).to_approx(0.01).epsilon, Renyi(30, 2).to_approx(0.01).epsilon)
    assert Renyi(1e4, 1).to_approx(0.3).epsilon == exact_epsilon({1e4: 1}, 0.3, symmetric=True)
    pure = RenyiCurve({2: 0.9, math.inf: 1})
    assert pure.to_approx(0.01).epsilon <= Pure(1).to_approx(0.01).epsilon
    assert pure.to_approx(0) == Pure(1)


def test_approximate_renyi_pays_its_delta_first():
    """delta + (1 - delta) d0, and only one order of the pair, because the events may differ between the orders."""
    have, d0 = Fraction(1, 100), Fraction(1, 1000)
    wanted = have + (1 - have) * d0
    assert Renyi(2, 0.1, have).to_approx(wanted).epsilon == exact_epsilon({2: 0.1}, d0)
    assert RenyiCurve({2: 0.1, 8: 0.5}, have).to_approx(wanted).epsilon == exact_epsilon({2: 0.1, 8: 0.5}, d0)
    assert Renyi(1e4, 1, 0.01).to_approx(0.3).epsilon > Renyi(1e4, 1).to_approx(0.3).epsilon + 0.1
    assert float(have) < Renyi(2, 0.1, have).delta_at(1) <= float(have) + 0.99 * Renyi(2, 0.1).delta_at(1) * (1 + 1e-6)
    for short in (0.01, 0.001):
        with pytest.raises(NotProvable):
            RenyiCurve({2: 0.1}, 0.01).to_approx(short)


def test_an_approximate_pair_never_leaks_more():
    """Laws that satisfy the divergence bound only outside an event of probability d on each side."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        p, q = random_pair(rng)
        d = mp.mpf(float(rng.choice([0.01, 0.2])))
        bound = math.nextafter(max(float(renyi(p, q, 3)), float(renyi(q, p, 3))), math.inf)
        p_all, q_all = [(1 - d) * x for x in p] + [d, mp.zero], [(1 - d) * x for x in q] + [mp.zero, d]
        epsilon = round(float(rng.uniform(0, 2)), 3)
        found = Renyi(3, bound, float(d)).delta_at(epsilon)
        assert hockey_stick(p_all, q_all, epsilon) <= found + mp.mpf("1e-15")


def test_a_converted_epsilon_holds_for_the_decimal_that_it_shows():
    rng = np.random.default_rng(7)
    for _ in range(30):
        alpha, e, delta = 1 + round(float(rng.uniform(0.1, 20)), 2), round(float(rng.uniform(0.01, 3)), 3), 1e-4
        found = Renyi(alpha, e).to_approx(delta).epsilon
        assert real(as_fraction(found)) <= real(as_fraction(balle(alpha, e, delta)))


@pytest.mark.parametrize(
    "curve", [RenyiCurve({2: 0.1, 8: 0.5}), RenyiCurve({Fraction(4, 3): 1 / 3, math.inf: 2}, 1e-9), RenyiCurve({2: 1})]
)
def test_a_curve_is_written_and_read_exactly(curve):
    written = budget_json(curve)
    assert all(isinstance(v, str) for v in written.values())
    read = budget_from(written)
    assert isinstance(read, RenyiCurve) and read.points == curve.points and read == curve
