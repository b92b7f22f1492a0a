"""One request id, one charge, one value: retries, reuse, failures, and values that come back bit by bit."""

from __future__ import annotations

import json
import math
import struct
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.errors import BadBudget, BudgetExceeded, FuguError, RequestReused, Unstorable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.ledger import Charge
from fugu.ledger.fingerprint import fingerprint
from fugu.ledger.values import decode, encode
from fugu.mechanism import PerEntryDP


@pytest.fixture
def ledger(place):
    with fugu.Ledger(place("ledger"), Pure(1), data="people") as found:
        yield found


def never():
    pytest.fail("produce() must not run")


def test_a_retry_returns_the_same_value_for_nothing(ledger, place):
    first = ledger.spend("q", Charge.per_entry(0.25), lambda: np.array([0.1, -0.0, math.inf]))
    again = fugu.Ledger(place("ledger"), Pure(1), data="people").spend("q", Charge.per_entry(0.25), never)
    assert first.tobytes() == again.tobytes() and ledger.spent() == Pure(0.25)


def test_an_id_asks_one_question(ledger):
    ledger.spend("q", Charge.per_entry(0.25), lambda: 1)
    for other in (Charge.per_entry(0.5), Charge.per_entry(0.1), Charge.per_entry(Approx(0.25, 1e-9))):
        with pytest.raises(RequestReused, match="another question"):
            ledger.spend("q", other, never)
    assert ledger.spent() == Pure(0.25)


def test_a_law_based_mechanism_is_known_by_its_certificate(ledger):
    pair = fugu.LawPair(fugu.Discrete([0, 1], [9, 1]), fugu.Discrete([0, 1], [1, 9]))
    mechanism = fugu.calibrate(pair, Pure(0.5))
    release = ledger.spend("q", mechanism, lambda: mechanism.release(1))
    assert ledger.spend("q", fugu.calibrate(pair, Pure(0.5)), never).value == release.value
    assert release.certificate == mechanism.certificate and release.interval == mechanism.interval(0.95)
    other = fugu.calibrate(fugu.LawPair(fugu.Discrete([0, 2], [9, 1]), fugu.Discrete([0, 2], [1, 9])), Pure(0.5))
    with pytest.raises(RequestReused):
        ledger.spend("q", other, never)


def test_a_per_entry_mechanism_is_charged_what_it_states(ledger):
    noisy = PerEntryDP(lambda data: sum(data) + 1, epsilon=0.3, name="total")
    found = ledger.spend("q", noisy, lambda: noisy.release([1, 2], charged=True))
    assert found.value == 4 and found.guarantee == Pure(0.3) and ledger.spent() == Pure(0.3)
    with pytest.raises(RequestReused):
        ledger.spend("q", PerEntryDP(max, epsilon=0.3, name="largest"), never)


def test_a_failed_request_keeps_its_charge_and_can_be_repeated_under_it(ledger):
    def fails():
        raise RuntimeError("the private value is 4711.0815")

    with pytest.raises(RuntimeError):
        ledger.spend("q", Charge.per_entry(0.6), fails)
    (entry,) = ledger.history()
    assert (entry.state, entry.note) == ("failed", "produce() raised RuntimeError") and ledger.spent() == Pure(0.6)
    assert "4711.0815" not in json.dumps(ledger.export())
    with pytest.raises(BudgetExceeded):
        ledger.spend("other", Charge.per_entry(0.6), never)
    assert ledger.spend("q", Charge.per_entry(0.6), lambda: 5) == 5
    assert ledger.spent() == Pure(0.6) and ledger.verify()
    assert {e.request: e.state for e in ledger.history()} == {"q": "settled", "other": "refused"}


def test_a_refused_id_may_ask_for_less(ledger):
    with pytest.raises(BudgetExceeded):
        ledger.spend("q", Charge.per_entry(2), never)
    assert ledger.spend("q", Charge.per_entry(1), lambda: "yes") == "yes" and ledger.verify()


def test_the_charge_is_on_disk_before_anything_is_evaluated(ledger, place):
    def look():
        (entry,) = fugu.Ledger(place("ledger"), Pure(1), data="people").history()
        return entry.state

    assert ledger.spend("q", Charge.per_entry(0.5), look) == "reserved"


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -(2**70), 0.1, -0.0, 5e-324, math.inf, "π", Fraction(1, 3), [1, [2.5]], (1, 2),
        {"int": 1, "a": {"float": [0.2]}}, {}, [],
    ],
)  # fmt: skip
def test_plain_values_come_back_as_they_were(value):
    found = decode(encode(value))
    assert found == value and type(found) is type(value)
    if isinstance(value, float):
        assert struct.pack("d", found) == struct.pack("d", value)


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "f4", "i8", "u1", "?", "<U3", "f2"])
def test_arrays_come_back_bit_by_bit(dtype):
    value = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype).T
    found = decode(encode(value))
    assert found.dtype == value.dtype.newbyteorder("=") and found.shape == value.shape
    assert np.array_equal(found, value)
    assert math.isnan(decode(encode(np.float32("nan"))))


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, 1j, np.array([None]), np.array([1j]), b"x", {"a": {3}}, np.longdouble(1)]
)
def test_what_cannot_be_written_down_is_refused_and_the_request_can_be_repeated(ledger, value):
    with pytest.raises(Unstorable, match="not"):
        ledger.spend("q", Charge.per_entry(1), lambda: value)
    assert ledger.history()[0].state == "failed"
    assert ledger.spend("q", Charge.per_entry(1), lambda: 3) == 3


def test_a_nesting_without_end_is_refused(ledger):
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(Unstorable, match="deep"):
        ledger.spend("q", Charge.per_entry(1), lambda: endless)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"budget": Pure(math.inf)}, BadBudget),
        ({"budget": 1.0}, BadBudget),
        ({"data": ""}, UsageError),
        ({"data": 7}, UsageError),
        ({"entries": 0}, UsageError),
        ({"entries": True}, UsageError),
        ({"fingerprint": "abc"}, UsageError),
        ({"prior": object()}, UsageError),
        ({"path": "/no/such/folder/x.db"}, UsageError),
    ],
)
def test_wrong_terms_are_refused(tmp_path, change, error):
    with pytest.raises(error):
        fugu.Ledger(**({"path": tmp_path / "l.db", "budget": Pure(1)} | change))


def test_wrong_requests_are_refused_before_any_charge(ledger):
    wrong = [("", Charge.per_entry(1), never), ("q", Pure(1), never), ("q", 0.5, never), ("q", Charge.per_entry(1), 7)]
    for request, mechanism, produce in wrong:
        with pytest.raises(UsageError):
            ledger.spend(request, mechanism, produce)
    with pytest.raises(UsageError):
        ledger.spend("q", Charge.per_entry(1), never, block="north")
    with pytest.raises(FuguError):
        Charge.per_entry(math.inf)
    assert ledger.history() == [] and ledger.spent() == Pure(0) and ledger.remaining() == Pure(1)


def test_a_shuffled_copy_is_the_same_data_and_another_column_is_not():
    assert fingerprint([3, 1, 2]) == fingerprint(np.array([1.0, 2.0, 3.0])) != fingerprint([3, 1, 1])
    table = {"age": [1, 2], "sex": ["F", "M"]}
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frames = [pandas.DataFrame(table), polars.DataFrame(table), {"sex": ["M", "F"], "age": [2, 1]}]
    assert {fingerprint(frame) for frame in frames} == {fingerprint(table)}
    assert fingerprint({"age": [1, 2], "sex": ["F", "F"]}) != fingerprint(table)
