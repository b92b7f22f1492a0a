"""Budgets, priors and numbers of entries that would make too much fit: refused, or counted in full."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fugu
from fugu.errors import (
    BadBudget,
    BudgetExceeded,
    NotComposable,
    UsageError,
)
from fugu.guarantee import Approx, Pure, Renyi, RenyiCurve
from fugu.guarantee.composition import fits
from fugu.ledger import Charge
from fugu.ledger.accountant import Charges, Terms, total
from fugu.ledger.charge import at
from fugu.priors import BayesianNetwork, DependentGroups, IndependentBlocks, MarkovChain

CHAIN = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def never():
    pytest.fail("produce() must not run")


@pytest.mark.parametrize(
    "other",
    [
        {"budget": Pure(2)}, {"budget": Pure(0.5)}, {"budget": Approx(1, 1e-9)}, {"budget": Renyi(2, 1)},
        {"prior": None}, {"prior": MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=3)},
        {"prior": MarkovChain([[0.6, 0.4], [0.2 + 1e-9, 0.8 - 1e-9]], length=2)},
        {"prior": MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=2, initial=[0.5, 0.5])},
        {"entries": None}, {"entries": 3}, {"entries": 5},
    ],
)  # fmt: skip
def test_terms_are_fixed_at_the_first_opening(path, other):
    terms = {"budget": Pure(1), "prior": CHAIN, "entries": 4}
    fugu.Ledger(path, **terms).spend("q", Charge.per_entry(0.1), lambda: 0)
    with pytest.raises(UsageError, match="registered with another"):
        fugu.Ledger(path, **(terms | other))
    again = fugu.Ledger(path, **(terms | {"budget": Pure(1.0)}))
    assert again.spend("q", Charge.per_entry(0.1), never) == 0 and again.verify()


def test_a_chain_for_each_user_does_not_say_how_many_entries_there_are(path):
    """Oracle: m users, one fair bit x_u each; (s xor x_1, ..., s xor x_m) and randomised response on every x_u.

    The first says nothing of s. Together they reach m e: with two entries in a chain, e1 + 2 e would be false."""
    m, e = 4, mpmath.mpf("0.5")
    keep, flip = mpmath.e**e / (1 + mpmath.e**e), 1 / (1 + mpmath.e**e)

    def probability(s, shown, answers):
        return math.prod(keep if (s ^ b) == a else flip for b, a in zip(shown, answers, strict=True)) / 2**m

    outputs = list(itertools.product(itertools.product((0, 1), repeat=m), repeat=2))
    worst = max(mpmath.log(probability(0, *o) / probability(1, *o)) for o in outputs)
    assert worst > 2 * e + 0.9
    ledger = fugu.Ledger(path, Pure(9), data="many", prior=CHAIN)
    ledger.spend("law", Charge("law", Pure(0)), lambda: 0)
    with pytest.raises(NotComposable, match="entries=n"):
        ledger.spend("entries", Charge.per_entry(0.5), never)
    stated = fugu.Ledger(path, Pure(9), data="stated", prior=CHAIN, entries=m)
    stated.spend("law", Charge("law", Pure(0)), lambda: 0)
    stated.spend("entries", Charge.per_entry(0.5), lambda: 0)
    assert float(stated.spent().epsilon) >= worst - 1e-12
    with pytest.raises(UsageError, match="2 entries"):
        fugu.Ledger(path, Pure(9), data="few", prior=CHAIN, entries=1)


@pytest.mark.parametrize("order", [("law", "entry"), ("entry", "law")])
def test_a_law_and_entries_cost_the_same_in_both_orders(path, order):
    charges = {"law": Charge("law", Pure(1)), "entry": Charge.per_entry(0.5)}
    ledger = fugu.Ledger(path, Pure(3), entries=4)
    for kind in order:
        ledger.spend(kind, charges[kind], lambda: 0)
    assert ledger.spent() == Pure(3)
    with pytest.raises(BudgetExceeded):
        ledger.spend("more", Charge.per_entry(1e-9), never)
    late = fugu.Ledger(path, Approx(9, 1e-3), data="late", entries=4)
    late.spend("entry", charges["entry"], lambda: 0)
    with pytest.raises(NotComposable, match="planned"):  # chosen after an answer was seen, with a delta: no theorem
        late.spend("law", Charge("law", Approx(1, 1e-6)), never)


@pytest.mark.parametrize(
    ("budget", "guarantee"),
    [
        (Pure(9), Approx(0.1, 1e-300)),
        (Approx(9, 1e-6), Approx(0.1, 1.0000001e-6)),
        (Pure(9), Renyi(1000, 0.001)),
        (Renyi(2, 9), Approx(0.1, 1e-9)),
        (Renyi(4, 9), Renyi(2, 0.1)),
        (RenyiCurve({2: 9, 8: 9}), Renyi(2, 0.1)),
        (Approx(0.01, 1e-6), Renyi(2, 0.1)),
        (Pure(0.1), Pure(Fraction(1, 10) + Fraction(1, 10**30))),
        (Pure(0.1), Pure(Fraction(0.1))),  # the double 0.1 is above the decimal 0.1, which is what a float means
    ],
)
def test_a_budget_of_another_kind_allows_only_what_implies_it(path, budget, guarantee):
    ledger = fugu.Ledger(path, budget)
    for charge in (Charge.per_entry(guarantee), Charge("law", guarantee)):
        with pytest.raises(BudgetExceeded):
            ledger.spend("q", charge, never)
    assert ledger.spent() == Pure(0)


@pytest.mark.parametrize("number", [-1, -1e-300, math.nan, math.inf, -math.inf, True, "0.1", None, 1j, 10**400])
def test_what_is_no_epsilon_is_no_charge_and_no_budget(path, number):
    with pytest.raises(BadBudget):
        Charge.per_entry(number)
    with pytest.raises(BadBudget):
        fugu.Ledger(path, Pure(number))


def test_no_promise_fits_no_budget():
    """A delta of 1 or more is no promise; the largest finite budget does not allow it."""
    charges = [Charges(Charge.per_entry(Approx(1, 0.6)), 2, 1, True)]
    assert not fits(total(charges, Terms(Pure(1))), Approx(1.7e308, 0.999))


def test_zero_charges_are_free_for_entries_and_still_one_law(path):
    ledger = fugu.Ledger(path, Pure(0))
    for k in range(3):
        ledger.spend(f"{k}", Charge.per_entry(0), lambda: 0)
    with pytest.raises(BudgetExceeded):
        ledger.spend("more", Charge.per_entry(5e-324), never)
    law = fugu.Ledger(path, Pure(0), data="law")
    law.spend("s xor r", Charge("law", Pure(0), "one"), lambda: 0)
    with pytest.raises(NotComposable):
        law.spend("r", Charge("law", Pure(0), "two"), never)


def test_floats_of_other_programs_are_what_they_are(path):
    """0.1 + 0.2 is no decimal of 15 digits, so it means its binary number, which is above 0.3."""
    ledger = fugu.Ledger(path, Pure(0.3))
    with pytest.raises(BudgetExceeded):
        ledger.spend("q", Charge.per_entry(0.1 + 0.2), never)
    ledger.spend("q", Charge.per_entry(np.float64(0.3)), lambda: 0)
    assert ledger.remaining() == Pure(0)


def test_an_order_that_only_equals_a_listed_one_is_another_order(path):
    """Fraction(1.1) == 1.1, which means 11/10 and is below it: D there may be larger than what is listed."""
    curve = RenyiCurve({1.1: 0.1, 2: 10})
    assert at(curve, 1.1) == at(curve, Fraction(11, 10)) == 0.1
    assert at(curve, Fraction(1.1)) == curve(Fraction(1.1)) > 0.1
    ledger = fugu.Ledger(path, Renyi(Fraction(1.1), 0.2))
    ledger.spend("once", Charge.per_entry(curve), lambda: 0, planned=True)
    with pytest.raises(BudgetExceeded):
        ledger.spend("twice", Charge.per_entry(curve), never, planned=True)


@pytest.mark.parametrize(
    ("prior", "least"),
    [
        (IndependentBlocks(CHAIN, CHAIN, CHAIN), 6),  # its longest block has 2
        (IndependentBlocks(CHAIN, IndependentBlocks(CHAIN, CHAIN)), 6),
        (BayesianNetwork({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, {"wet": ["rain"]}), 2),
        (CHAIN, 2),
        (DependentGroups(5), 1),  # groups of at most five: it does not say how many there are
    ],
)
def test_entries_are_not_fewer_than_the_prior_speaks_of(prior, least):
    charges = [Charges(Charge("law", Pure(1)), 1, 1), Charges(Charge.per_entry(0.5), 1, 2)]
    assert total(charges, Terms(Pure(9), prior, least)) == Pure(1 + Fraction(least, 2))
    if least > 1:
        with pytest.raises(UsageError, match=f"speaks of {least} entries"):
            Terms(Pure(9), prior, least - 1)
    with pytest.raises(NotComposable, match="entries=n"):
        total(charges, Terms(Pure(9), prior))
