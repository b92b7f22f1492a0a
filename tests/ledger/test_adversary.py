"""Attempts to make the ledger accept what is not proved: false names, edited certificates, wrong types, other terms."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from datetime import UTC, datetime
from fractions import Fraction

import pytest

import fugu
from fugu.errors import (
    CertificateError,
    DataKnown,
    LedgerBroken,
    NotComposable,
    RequestReused,
    UsageError,
)
from fugu.guarantee import Approx, Pure
from fugu.ledger import Charge, log
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
