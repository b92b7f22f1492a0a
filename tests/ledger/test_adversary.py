"""Attempts to make the ledger accept what is not proved: false names, edited certificates, wrong types, other terms."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from datetime import UTC, datetime
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fugu
from fugu.errors import (
    BadBudget,
    BudgetExceeded,
    CertificateError,
    DataKnown,
    LedgerBroken,
    NotComposable,
    RequestReused,
    UsageError,
)
from fugu.guarantee import Approx, Pure, Renyi, RenyiCurve
from fugu.guarantee.composition import fits
from fugu.ledger import Charge, log
from fugu.ledger.accountant import Charges, Terms, total
from fugu.ledger.charge import at
from fugu.priors import BayesianNetwork, DependentGroups, IndependentBlocks, MarkovChain
from ledger_files import forge


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def certified(p=(0, 1), q=(1, 2), epsilon=0.5, label="s=0 vs s=1"):
    return fugu.calibrate(fugu.LawPair(fugu.Discrete(list(p)), fugu.Discrete(list(q)), label), Pure(epsilon))


def never():
    pytest.fail("produce() must not run")


def test_a_charge_of_no_known_kind_is_refused():
    """Any other word used to be added up as if it were a charge for each entry: two law-based releases then add."""
    for kind in ("Law", "law ", "laws", "", None, "per entry"):
        with pytest.raises(UsageError, match="kind"):
            Charge(kind, Pure(0.1))


@pytest.mark.parametrize("block", ["", "  ", 1, 0, True, float("nan"), ("a",), b"x", "\ud800", "x" * 501])
def test_a_block_has_a_name(path, block):
    """An empty name was taken for a block of its own and stored as none; nan differs from itself."""
    ledger = fugu.Ledger(path, Pure(9), blocks=["north", "south"])
    ledger.spend("first", certified(), lambda: 0, block="north")
    with pytest.raises(UsageError, match="block"):
        ledger.spend("second", certified(), never, block=block)
    assert ledger.spent() == Pure(0.5) and len(ledger.history()) == 1


@pytest.mark.parametrize("other", ["north", "North", " north", "north ", "NORTH", "ｎorth", "no\u200brth", "north\x00"])
def test_a_block_in_other_letters_is_the_same_block(path, other):
    ledger = fugu.Ledger(path, Pure(9), blocks=["north", "south"])
    ledger.spend("first", certified(), lambda: 0, block="north")
    with pytest.raises(NotComposable):
        ledger.spend("second", certified((0, 1), (0, 2)), never, block=other)
    ledger.spend("third", certified(), lambda: 0, block="south")
    assert ledger.spent() == Pure(1)


def test_a_second_caller_cannot_declare_independent_what_was_released_whole(path):
    fugu.Ledger(path, Pure(9), blocks=["north"]).spend("whole", certified(), lambda: 0)
    second = fugu.Ledger(path, Pure(9))
    for words in ({}, {"block": "north"}):
        with pytest.raises(NotComposable):
            second.spend("part", certified(), never, **words)
    for words in ({"point_masses": "no"}, {"planned": "no"}, {"planned": 1}, {"point_masses": None}):
        with pytest.raises(UsageError):  # "no" is true in Python
            second.spend("part", certified([1], [2]), never, **words)
    with pytest.raises(UsageError, match="one atom"):
        second.spend("part", certified(), never, point_masses=True)
    with pytest.raises(NotComposable):  # the first was not about point masses
        second.spend("part", certified([1], [2]), never, point_masses=True)


def test_a_charge_states_its_own_block(path):
    ledger = fugu.Ledger(path, Pure(9))
    for words in ({"block": "north"}, {"point_masses": True}):
        with pytest.raises(UsageError, match="Charge states"):
            ledger.spend("q", Charge("law", Pure(0.1)), never, **words)
    for points in (["a"], "a", ("",), (1,)):
        with pytest.raises(UsageError, match="points"):
            Charge("law", Pure(0.1), points=points)


@pytest.mark.parametrize("through", ["mechanism", "certificate"])
def test_an_edited_certificate_is_not_charged(path, through):
    mechanism = certified(epsilon=2)
    body = copy.deepcopy(mechanism.certificate.body)
    body["budget"]["epsilon"] = "1/100"
    mechanism = dataclasses.replace(mechanism, certificate=fugu.Certificate(body))
    ledger = fugu.Ledger(path, Pure(0.1))
    with pytest.raises(CertificateError, match="edited"):
        ledger.spend("q", mechanism if through == "mechanism" else mechanism.certificate, never)
    assert ledger.history() == []


def test_new_names_for_known_data_are_refused_whoever_comes_first(path):
    column = [3.0, 1.0, 2.0]
    fugu.Ledger(path, Pure(1), data="a", fingerprint=column).spend("q", certified(), lambda: 0)
    with pytest.raises(DataKnown, match="'a'"):
        fugu.Ledger(path, Pure(1), data="b", fingerprint=[1, 2, 3])
    fugu.Ledger(path, Pure(1), data="c").spend("q", certified(), lambda: 0)
    with pytest.raises(DataKnown):  # named first, identified later
        fugu.Ledger(path, Pure(1), data="c", fingerprint=column)
    with pytest.raises(UsageError, match="other content"):
        fugu.Ledger(path, Pure(1), data="a", fingerprint=[1, 2, 4])
    with pytest.raises(NotComposable):
        fugu.Ledger(path, Pure(1), data="a").spend("again", certified(), never)


def test_odd_request_ids_are_different_ids_or_refused(path):
    ledger = fugu.Ledger(path, Pure(9))
    names = [
        "a",
        "A",
        "a ",
        " a",
        "a\0b",
        "a\0c",
        "a\nb",
        "é",
        "e\u0301",
        "'; DROP TABLE requests; --",
        '["a"]',
        "𝄞",
        "%",
    ]
    for k, name in enumerate(names):
        assert ledger.spend(name, Charge.per_entry(0.1), lambda k=k: k) == k
    again = fugu.Ledger(path, Pure(9))
    assert [again.spend(name, Charge.per_entry(0.1), never) for name in names] == list(range(len(names)))
    assert again.spent() == Pure(Fraction(len(names), 10)) and again.verify()
    for name in ("", " ", "\n", "x" * 501, "\ud800", "a\udfff", b"a", 7, None):
        with pytest.raises(UsageError):
            ledger.spend(name, Charge.per_entry(0.1), never)
        with pytest.raises(UsageError):
            fugu.Ledger(path, Pure(9), data=name)


def test_one_id_in_two_data_sets_is_two_requests(path):
    one, two = (fugu.Ledger(path, Pure(1), data=name) for name in ("one", "two"))
    assert one.spend("q", Charge.per_entry(1), lambda: 1) == 1 and two.spend("q", Charge.per_entry(0.5), lambda: 2) == 2
    assert one.spend("q", Charge.per_entry(1), never) == 1 and one.remaining() == Pure(0)
    assert two.remaining() == Pure(0.5)
    with pytest.raises(RequestReused):
        two.spend("q", Charge.per_entry(1), never)


def test_a_clock_that_goes_back_changes_nothing(path, monkeypatch):
    """Order is that of the events, not of the clock: a law-based release that came second stays second."""

    class Backwards(datetime):
        years = itertools.count(2090, -7)

        @classmethod
        def now(cls, tz=None):
            return datetime(next(cls.years), 1, 1, tzinfo=UTC)

    monkeypatch.setattr(log, "datetime", Backwards)
    ledger = fugu.Ledger(path, Approx(9, 1e-3), entries=2)
    ledger.spend("first", Charge.per_entry(0.5), lambda: 1)
    with pytest.raises(NotComposable, match="planned"):
        ledger.spend("law", Charge("law", Approx(1, 1e-6)), never)
    ledger.spend("second", Charge.per_entry(0.5), lambda: 2)
    times = [e.at for e in ledger.history()]
    assert times == sorted(times, reverse=True) and [e.request for e in ledger.history()] == ["first", "law", "second"]
    assert ledger.verify() and ledger.spent() == Pure(1)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"kind":"per-entry","guarantee":{"kind":"Pure","epsilon":"-1"}}',
             '{"kind":"free","guarantee":{"kind":"Pure","epsilon":"0"}}',
             '{"kind":"law","guarantee":{"kind":"Pure","epsilon":"1/0"}}', '{"kind":"law","guarantee":{"kind":"Zero"}}']
)  # fmt: skip
def test_a_charge_that_was_edited_in_the_file_stops_all_spending(path, text):
    ledger = fugu.Ledger(path, Pure(1))
    ledger.spend("q", Charge.per_entry(0.5), lambda: 0)
    charged = Charge.per_entry(0.5).text()

    def change(events):
        assert events[2]["body"]["charge"] == charged
        events[2]["body"]["charge"] = text

    forge(path, change)  # with new hashes: not even those help
    with pytest.raises(LedgerBroken):
        ledger.spend("more", Charge.per_entry(0.1), never)
    with pytest.raises(LedgerBroken):
        ledger.spent()
    with pytest.raises(LedgerBroken):
        fugu.Ledger(path, Pure(1)).spend("more", Charge.per_entry(0.1), never)


CHAIN = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=2)


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
    with pytest.raises(UsageError, match=r"registered with (an|)other"):
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
