"""Attempts to make the ledger accept what is not proved: false names, edited certificates, wrong types, other terms."""

from __future__ import annotations

import itertools
import math
import sqlite3
import threading
from datetime import UTC, datetime
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fugu
from fugu.dependence import MarkovChain
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
from fugu.ledger import Charge, chain
from fugu.ledger.accountant import Counted, Terms, total

CHAIN = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=2)


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
    ledger = fugu.Ledger(path, Pure(9))
    ledger.spend("first", certified(), lambda: 0, block="north")
    with pytest.raises(UsageError, match="block"):
        ledger.spend("second", certified(), never, block=block)
    assert ledger.spent() == Pure(0.5) and len(ledger.history()) == 1


@pytest.mark.parametrize("other", ["north", "North", " north", "north ", "NORTH", "ｎorth"])
def test_a_block_in_other_letters_is_the_same_block(path, other):
    ledger = fugu.Ledger(path, Pure(9))
    ledger.spend("first", certified(), lambda: 0, block="north")
    with pytest.raises(NotComposable):
        ledger.spend("second", certified((0, 1), (0, 2)), never, block=other)
    ledger.spend("third", certified(), lambda: 0, block="south")
    assert ledger.spent() == Pure(1)


def test_a_second_caller_cannot_declare_independent_what_was_released_whole(path):
    fugu.Ledger(path, Pure(9)).spend("whole", certified(), lambda: 0)
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
    mechanism.certificate.body["budget"]["epsilon"] = "1/100"
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
    charges = [Counted(Charge.per_entry(Approx(1, 0.6)), 2, 1, True)]
    from fugu.ledger.amounts import fits

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


def test_threads_exhaust_a_budget_exactly(path):
    """Nine ask for a third each, through two ledgers: three get it, and nothing is left."""
    ledgers = [fugu.Ledger(path, Pure(1)) for _ in range(2)]
    got, refused, start = [], [], threading.Barrier(9)

    def ask(k):
        start.wait()
        try:
            got.append(ledgers[k % 2].spend(f"{k}", Charge.per_entry(Fraction(1, 3)), lambda: k))
        except BudgetExceeded:
            refused.append(k)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(9)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(got) == 3 and len(refused) == 6 and ledgers[0].remaining() == Pure(0) and ledgers[1].verify()


def test_a_clock_that_goes_back_changes_nothing(path, monkeypatch):
    """Order is that of the events, not of the clock: a law-based release that came second stays second."""

    class Backwards(datetime):
        years = itertools.count(2090, -7)

        @classmethod
        def now(cls, tz=None):
            return datetime(next(cls.years), 1, 1, tzinfo=UTC)

    monkeypatch.setattr(chain, "datetime", Backwards)
    ledger = fugu.Ledger(path, Approx(9, 1e-3), entries=2)
    ledger.spend("first", Charge.per_entry(0.5), lambda: 1)
    with pytest.raises(NotComposable, match="planned"):
        ledger.spend("law", Charge("law", Approx(1, 1e-6)), never)
    ledger.spend("second", Charge.per_entry(0.5), lambda: 2)
    times = [e.at for e in ledger.history()]
    assert times == sorted(times, reverse=True) and [e.request for e in ledger.history()] == ["first", "law", "second"]
    assert ledger.verify() and ledger.spent() == Pure(1)


def test_floats_of_other_programs_are_what_they_are(path):
    """0.1 + 0.2 is no decimal of 15 digits, so it means its binary number, which is above 0.3."""
    ledger = fugu.Ledger(path, Pure(0.3))
    with pytest.raises(BudgetExceeded):
        ledger.spend("q", Charge.per_entry(0.1 + 0.2), never)
    ledger.spend("q", Charge.per_entry(np.float64(0.3)), lambda: 0)
    assert ledger.remaining() == Pure(0)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"kind":"per-entry","guarantee":{"kind":"Pure","epsilon":"-1"}}',
             '{"kind":"free","guarantee":{"kind":"Pure","epsilon":"0"}}',
             '{"kind":"law","guarantee":{"kind":"Pure","epsilon":"1/0"}}', '{"kind":"law","guarantee":{"kind":"Zero"}}']
)  # fmt: skip
def test_a_charge_that_was_edited_in_the_file_stops_all_spending(path, text):
    ledger = fugu.Ledger(path, Pure(1))
    ledger.spend("q", Charge.per_entry(0.5), lambda: 0)
    db = sqlite3.connect(path)
    db.execute("UPDATE requests SET charge = ?", (text,))
    db.commit()
    db.close()
    with pytest.raises(LedgerBroken):
        ledger.spend("more", Charge.per_entry(0.1), never)
    with pytest.raises(LedgerBroken):
        ledger.spent()
