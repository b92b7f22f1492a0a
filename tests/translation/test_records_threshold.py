"""T, its inverse and the hockey stick against every set at 50 digits and every mechanism on whole tables.

Wrong versions that must be caught: one order for both, the epsilon itself, rounding to nearest, the hockey stick of the
other order, a set that is decided by doubles alone.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from records_oracle import attained, best_loss, inverse, mp, over_all_sets, real, stick, whole_tables

from fugu.errors import BadBudget, BadLaw
from fugu.loss.cells import hockey_stick, largest, worth
from fugu.numbers.exact import as_fraction
from hunting import search

VECTORS = json.loads((Path(__file__).parent / "records_vectors.json").read_text(encoding="utf-8"))
CLOSE = mp.mpf("1e-15")


def counts(*numbers):
    return np.array(numbers, dtype=np.int64)


def rounded_up(found, truth):
    """The number that the float means is at or above the truth (of 50 digits), by no more than a few roundings."""
    assert real(found) >= truth * (1 - mp.mpf("1e-40")), (found, truth)
    assert found <= truth * (1 + CLOSE) + mp.mpf("1e-320"), (found, truth)


@pytest.mark.parametrize("case", VECTORS["T"], ids=lambda v: f"{v['p']}{v['q']}{v['eps0']}")
def test_worth_is_that_of_the_vectors_in_both_orders(case):
    p, q = counts(*case["p"]), counts(*case["q"])
    for first, second, told in ((p, q, "T_pq"), (q, p, "T_qp")):
        found = worth(first, second, case["eps0"])
        assert found == pytest.approx(case[told], rel=1e-14, abs=1e-300)
        assert found <= case["eps0"]
        if real(as_fraction(found)) < over_all_sets(first, second, case["eps0"]):
            pytest.fail("below the best set")


def test_the_two_orders_differ_so_one_is_not_enough():
    one_order = [worth(counts(*v["p"]), counts(*v["q"]), v["eps0"]) for v in VECTORS["T"]]
    assert any(found < v["T_qp"] * (1 - 1e-9) for found, v in zip(one_order, VECTORS["T"], strict=True))


@pytest.mark.parametrize("case", VECTORS["inverse"], ids=lambda v: f"{v['p']}{v['q']}{v['eps']}")
def test_the_inverse_is_that_of_the_vectors(case):
    p, q, epsilon = counts(*case["p"]), counts(*case["q"]), case["eps"]
    assert hockey_stick(p, q, epsilon) == pytest.approx(case["hs_pq"], rel=1e-14, abs=1e-300)
    assert hockey_stick(q, p, epsilon) == pytest.approx(case["hs_qp"], rel=1e-14, abs=1e-300)
    found = min(largest(p, q, epsilon), largest(q, p, epsilon))
    assert found == pytest.approx(float(case["eps0"]), rel=1e-14)
    assert max(worth(p, q, found), worth(q, p, found)) <= epsilon


def drawn(rng, states=None):
    """Two laws of a few states, with zeros, equal laws, singular ones and ratios that nearly tie."""
    k = int(rng.integers(1, 7)) if states is None else states
    top = int(rng.choice([2, 4, 12, 1000, 10**9, 2**49]))
    p, q = rng.integers(0, top, (2, k))
    kind = rng.integers(8)
    if kind == 0:
        q = p.copy()
    if kind == 1:
        p, q = np.r_[p[:3], np.zeros_like(q[:3])], np.r_[np.zeros_like(p[:3]), q[:3]]
    if kind == 2:
        q = 3 * p + rng.integers(0, 2, p.size)
    p[rng.integers(p.size)] += 1
    q[rng.integers(q.size)] += 1
    return p, q


def an_epsilon(rng):
    kind = rng.integers(6)
    if kind == 0:
        return Fraction(int(rng.integers(1, 400)), int(rng.integers(1, 100)))
    if kind == 1:
        return float(10 ** rng.uniform(-20, -3))
    if kind == 2:
        return float(rng.uniform(20, 900))
    return round(float(10 ** rng.uniform(-2, 1)), int(rng.integers(1, 17)))


@search("T of records against all sets", quick=150)
def test_worth_is_the_best_of_all_sets(rng):
    p, q = drawn(rng)
    epsilon = an_epsilon(rng)
    with mp.workdps(450 if epsilon > 20 else 60):  # a ratio may tie with a value up to e^-900
        truth = over_all_sets(p, q, epsilon)
    found = worth(p, q, epsilon)
    assert found <= epsilon or as_fraction(found) <= as_fraction(math.nextafter(float(epsilon), math.inf))
    rounded_up(found, min(truth, real(epsilon)))


@search("the inverse for records is rounded down and spent in full", quick=150)
def test_the_inverse_is_rounded_down_and_its_worth_is_within_the_budget(rng):
    p, q = drawn(rng)
    epsilon = an_epsilon(rng)
    if not epsilon:
        return 0
    found, truth = largest(p, q, epsilon), inverse(p, q, epsilon)
    rounded_up(hockey_stick(p, q, epsilon), stick(p, q, epsilon))
    if truth is None:
        assert found == math.inf and worth(p, q, found) <= epsilon
        return 1
    truth = max(truth, real(epsilon))
    assert (
        truth * (1 - 1000 * CLOSE) <= real(found) <= truth
    )  # where T is flat, the last digit of T is many of epsilon0
    assert as_fraction(worth(p, q, found)) <= as_fraction(epsilon)
    return 1


def test_rounding_to_nearest_would_overspend():
    rng, over = np.random.default_rng(5), 0
    for _ in range(60):
        p, q = drawn(rng)
        epsilon = float(rng.uniform(0.05, 2))
        here = math.fsum(max(0.0, x - math.exp(epsilon) * y) for x, y in zip(p / p.sum(), q / q.sum(), strict=True))
        if here > 1e-9:
            nearest = math.log1p(math.expm1(epsilon) / here)
            over += over_all_sets(p, q, Fraction(nearest)) > real(Fraction(epsilon))
    assert over > 5


@search("T of records against all mechanisms on whole tables", quick=12)
def test_worth_is_the_best_of_all_mechanisms(rng):
    """Others of any joint law, dependent and with zeros; 2 or 3 records."""
    states, n = [(2, 2), (3, 2), (4, 2), (2, 3)][rng.integers(4)]
    p, q = rng.integers(0, 6, (2, states))
    p[rng.integers(states)] += 1
    q[rng.integers(states)] += 1
    others = rng.dirichlet(np.full(states ** (n - 1), 0.4)).reshape((states,) * (n - 1))
    epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
    tables = whole_tables(p, others), whole_tables(q, others)
    found = worth(p, q, epsilon)
    assert best_loss(*tables, epsilon) <= found + 1e-12, "some mechanism loses more"
    assert found <= attained(*tables, epsilon) + 1e-12, "no mechanism loses as much"
    return 1


def test_records_that_depend_on_each_other_lose_more_than_is_claimed():
    """Why independence is assumed: .5 claimed, 1.0, .746 and 1.123 true; and the secret in two records at once."""
    equal = np.diag([0.5, 0.5])
    often = np.array([[0.75, 0.25], [0.25, 0.75]]) / 2
    latent = sum(0.5 * np.einsum("i,j,k->ijk", law, law, law) for law in (np.array([0.9, 0.1]), np.array([0.1, 0.9])))
    for joint, true in ((equal, 1.0), (often, 0.7461540879), (latent, 1.1232299408)):
        s, t = np.zeros_like(joint), np.zeros_like(joint)
        s[0], t[1] = joint[0] / joint[0].sum(), joint[1] / joint[1].sum()
        assert best_loss(s, t, 0.5) == pytest.approx(true, abs=1e-8)
        assert worth(counts(1, 0), counts(0, 1), 0.5) == 0.5 < true
    even, odd = np.array([[0.5, 0], [0, 0.5]]), np.array([[0, 0.5], [0.5, 0]])  # the secret is X_1 xor X_2
    assert best_loss(even, odd, 0.5) == pytest.approx(0.5, abs=1e-8) and worth(counts(1, 1), counts(1, 1), 0.5) == 0


def test_an_exact_aggregate_that_is_public_loses_more_than_is_claimed():
    """X_1 + X_2 = 1 is known: the other record tells everything."""
    s, t = np.array([[0.0, 1.0], [0, 0]]), np.array([[0, 0], [1.0, 0]])
    assert best_loss(s, t, 0.5) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize(
    "epsilon", [1e-320, 1e-20, 0.1, 0.3, 1, 50, 800, 2e6, 1e300, Fraction(1, 3), Fraction(1, 10**40)]
)
def test_ends_of_the_range(epsilon):
    same, apart = (counts(2, 1, 4), counts(2, 1, 4)), (counts(1, 0), counts(0, 1))
    assert worth(*same, epsilon) == 0 and largest(*same, epsilon) == math.inf and hockey_stick(*same, epsilon) == 0
    assert worth(counts(5), counts(3), epsilon) == 0
    bought = largest(*apart, epsilon)
    assert hockey_stick(*apart, epsilon) == 1 and as_fraction(bought) <= as_fraction(epsilon)
    assert as_fraction(worth(*apart, bought)) <= as_fraction(epsilon), "what the budget buys is not refused"
    if isinstance(epsilon, int | float):
        assert bought == epsilon == worth(*apart, epsilon)
    half = worth(counts(1, 1), counts(0, 1), epsilon)
    assert 0 < half <= math.nextafter(float(epsilon), math.inf)
    assert worth(counts(2, 1, 1), counts(1, 1, 1), epsilon) <= math.nextafter(math.log(1.5), 1)


def test_nothing_and_infinity():
    p, q = counts(7, 3), counts(4, 6)
    assert worth(p, q, 0) == 0 == largest(p, q, 0) and largest(p, p, 0) == math.inf
    assert hockey_stick(p, q, 0) == pytest.approx(0.3, rel=1e-15) and hockey_stick(p, q, math.inf) == 0
    assert worth(p, q, math.inf) == pytest.approx(math.log(7 / 4), rel=1e-15) and largest(p, q, math.inf) == math.inf
    assert (
        worth(counts(1, 3), counts(0, 1), math.inf) == math.inf and hockey_stick(counts(1, 3), counts(0, 1), 99) == 0.25
    )
    wide = counts(2**50 + 1, 2**50, 2**51), counts(2**50, 2**50 + 1, 2**51)
    assert real(as_fraction(worth(*wide, math.inf))) >= mp.log1p(mp.mpf(1) / 2**50) > 0


def test_a_state_that_ties_in_doubles_is_decided_exactly():
    """Two ratios a few roundings apart: for a large epsilon the set of the larger one alone is the best."""
    p, q = counts(3, 3 * 10**15 + 1, 0), counts(2, 2 * 10**15, 10**15)
    assert pytest.approx(3 / 2, rel=1e-14) == p[1] / q[1] != 3 / 2
    for epsilon in (1, 40, 300):
        with mp.workdps(300):
            rounded_up(worth(p, q, epsilon), over_all_sets(p, q, epsilon))
    rounded_up(worth(p, q, math.inf), mp.log(real(Fraction(int(p[1]) * int(q.sum()), int(q[1]) * int(p.sum())))))


@pytest.mark.parametrize("bad", [[], [0, 0], [-1, 2], [2**53, 0], [2**62, 2**62]])
def test_what_is_no_law_is_refused(bad):
    good = counts(*range(1, len(bad) + 1)) if bad else counts()
    for ask in (worth, largest, hockey_stick):
        for pair in ((counts(*bad), good), (good, counts(*bad))):
            with pytest.raises(BadLaw):
                ask(*pair, 1)
        with pytest.raises(BadLaw, match="same states"):
            ask(counts(1, 2), counts(1, 2, 3), 1)
        for epsilon in (-1, math.nan, "1", True):
            with pytest.raises(BadBudget):
                ask(counts(1, 2), counts(2, 1), epsilon)
