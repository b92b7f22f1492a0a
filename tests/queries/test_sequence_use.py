"""Sequences as users bring them, wrong use, and what leaves: no private value, one release, an exact charge."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import sequences
from fugu.errors import AlreadyReleased, BadBudget, BadNoise, BadTable, UnknownName, UsageError
from fugu.queries.sequences import (
    ArgMax,
    Count,
    Histogram,
    Lipschitz,
    Mean,
    Numbers,
    RandomisedResponse,
    Select,
    SequenceMechanism,
    States,
    Sum,
    TopK,
    Transitions,
)

AB = States(("a", "b"))
ABC = States(("a", "b", "c"))


# --- data, wrong use, and what leaves ------------------------------------------------------------------------------


def test_users_may_come_as_lists_mappings_arrays_and_series():
    pandas = pytest.importorskip("pandas")
    users = [["a", "b"], ["b", "b"]]
    forms = [users, {"u": users[0], "v": users[1]}, np.array(users), tuple(map(tuple, users)),
             [pandas.Series(u) for u in users], [np.array(u) for u in users]]  # fmt: skip
    assert all(Histogram(AB).exact(form).tolist() == [1, 3] for form in forms)
    assert Histogram(AB).exact(pandas.Series(["a", "b"])).tolist() == [1, 1]
    assert Histogram(States((0, 1))).exact(np.array([0, 1, 1], dtype=np.int8)).tolist() == [1, 2]
    assert Transitions(AB).exact(users).tolist() == [[0, 1], [0, 1]]  # none from one user to the next


@pytest.mark.parametrize(
    "sequences", [[], [[]], "ab", 7, None, [["a"], []], {"u": "ab"}, {}, np.zeros((1, 1, 1)), [np.zeros((1, 1))]]
)
def test_a_shape_that_is_no_sequence_is_refused(sequences):
    with pytest.raises(BadTable):
        Histogram(AB).mechanism(1).release(sequences)


ODD = ["hidden", "V27.0", None, math.nan, math.inf, 1e308, 3.5, b"\xff", ["a"], [], {}, {1: 2}, 10**400, 1j, object()]


@pytest.mark.parametrize("entry", ODD, ids=lambda entry: type(entry).__name__)
def test_an_undeclared_state_counts_as_the_state_that_the_certificate_names(entry):
    """The first declared state, or `other`; in one sequence, in several, and in a list where it is the only list."""
    other = States(("a", "b"), other="b")
    for domain, name in ((AB, "a"), (other, "b")):
        place = domain.code(name)
        assert domain.read(["b", entry, "a"]) == ((1, place, 0),)
        assert domain.read([["b", entry], ["a"]]) == ((1, place), (0,))
        assert domain.read({"u": [entry, "b"]}) == ((place, 1),)
        assert Histogram(domain).mechanism(1).certificate["entries"]["undeclared entries count as"] == name
        Histogram(domain).mechanism(1).release(["b", entry])


def test_states_are_compared_as_categories_are():
    numbers = States((1, 2.5))
    assert numbers.read([1, 1.0, "1", "1.0", Decimal("2.50"), Fraction(5, 2), np.float32(2.5), b"1", True]) == (
        (0, 0, 0, 0, 1, 1, 1, 0, 0),
    )
    codes = States(("250.0", "250.00", "V27.0"))
    assert codes.read(["250.00", "250.0", "V27.0", "V27", 250, " V27.0 "]) == ((1, 0, 2, 0, 0, 2),)
    assert Count("2.5", numbers).exact(["2.5", 1]) == 1
    assert States(("a", "(other)")).other == "(other)"
    with pytest.raises(UsageError, match="one state"):
        States((1, "1"))
    with pytest.raises(UsageError, match="rename"):
        States(("a", "(other)"), other="a")


def test_masked_entries_are_missing():
    masked = np.ma.array([1.0, 2.0, 2.0], mask=[False, True, False])
    assert States((1, 2)).read(masked) == ((0, 0, 1),)
    assert States((1, 2), other=2).read([masked]) == ((0, 1, 1),)
    assert Numbers(0, 2, missing=0).read(masked) == ((1, 0, 2),)


def test_numbers_are_clipped_exactly_and_what_is_none_counts_as_missing():
    numbers = Numbers(0.1, 0.3)
    data = [0.1, 0.2, -math.inf, math.inf, 1e300, -0.0, 10**400, np.float32(9)]
    assert Sum(numbers).exact(data) == Fraction(1, 10) * 3 + Fraction(2, 10) + Fraction(3, 10) * 4
    pandas = pytest.importorskip("pandas")
    missing = (math.nan, None, pandas.NA, np.float32("nan"), Decimal("sNaN"))
    for odd in (*missing, "hidden", 1j, [], ["x"], np.datetime64(1, "D"), np.timedelta64(1, "D")):
        assert Sum(numbers).exact([0.2, odd]) == Fraction(4, 10)  # the middle of the bounds
        assert Sum(Numbers(0, 1, missing=0)).exact([[1, odd], [1]]) == 2
        Sum(numbers).mechanism(1).release([0.2, odd])
    assert Sum(numbers).mechanism(1).certificate["entries"]["missing entries count as"] == "1/5"
    exact = Numbers(0, 10**24)
    data = [True, "0.1", b"2", Decimal("0.30"), Decimal("1e99999"), np.int64(2**53 + 1), Fraction(1, 3)]
    assert exact.read(data) == ((1, Fraction(1, 10), 2, Fraction(3, 10), 10**24, 2**53 + 1, Fraction(1, 3)),)


def test_a_sum_beyond_the_doubles_is_released():
    """An error would say that the data are large; and it would come after the charge."""
    assert Sum(Numbers(0, 1e308)).mechanism(1).release([1e308] * 400).value == pytest.approx(1.797e308, rel=1e-3)
    most = Lipschitz(lambda users: [1.79e308 if users[0][0] == "a" else -1.79e308], 1e308, AB, step=Fraction(10) ** 308)
    for state in "ab":
        assert math.isfinite(most.mechanism(Fraction(1, 10**6)).release([state]).value)


def test_a_float_below_the_bound_whose_decimal_is_above_it_is_clipped():
    """The double 0.3 is below 3/10, which is what it means: a bound between the two must still hold."""
    high = (Fraction(0.3) + Fraction(3, 10)) / 2
    assert Fraction(0.3) < high < Fraction(3, 10)
    assert Sum(Numbers(0, high)).exact([0.3]) == high
    assert Sum(Numbers(-high, 0)).exact([-0.3]) == -high


WRONG = [
    lambda: States(("a",)),
    lambda: States(("a", "a")),
    lambda: States("ab"),
    lambda: States(("a", None)),
    lambda: States(("a", float("nan"))),
    lambda: States(("a", object())),
    lambda: Select(lambda users, c: 0, (1, object()), 1, AB),
    lambda: States(("a", "b"), other="c"),
    lambda: Count("z", AB),
    lambda: Numbers(2, 1),
    lambda: Numbers(1, 1),
    lambda: Numbers(0, math.inf),
    lambda: Numbers(math.nan, 1),
    lambda: Numbers(0, 1, missing=2),
    lambda: Sum(Numbers(0, 1), step=0),
    lambda: Sum(Numbers(0, 1), step=0.3),
    lambda: Mean(Numbers(0, 1), step=math.nan),
    lambda: TopK(4, ABC),
    lambda: TopK(0, ABC),
    lambda: TopK(True, ABC),
    lambda: Transitions(AB, longest=1),
    lambda: Lipschitz(lambda users: 0, 0, AB),
    lambda: Lipschitz(lambda users: 0, math.inf, AB),
    lambda: Lipschitz(lambda users: 0, 1, AB, dimension=0),
    lambda: Lipschitz(3, 1, AB),
    lambda: Select(lambda users, c: 0, (1,), 1, AB),
    lambda: Select(lambda users, c: 0, (1, 1), 1, AB),
    lambda: Select(lambda users, c: 0, (1, 2), -1, AB),
]


@pytest.mark.parametrize("call", WRONG)
def test_wrong_declarations_are_refused(call):
    with pytest.raises(UsageError):
        call()


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, True, "1", None])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(BadBudget):
        Histogram(AB).mechanism(epsilon)


def test_an_unknown_method_is_named():
    with pytest.raises(UnknownName, match="exponential"):
        TopK(1, AB, "exponentiall")


def test_declared_lengths_are_checked_before_the_release_is_used_up():
    mechanism = Transitions(AB, longest=2).mechanism(1)
    with pytest.raises(BadTable, match="longest"):
        mechanism.release(["a", "b", "a"])
    with pytest.raises(BadTable, match="two entries"):
        Transitions(AB).mechanism(1).release([["a"], ["b"]])
    assert mechanism.release(["a", "b"]).value.shape == (2, 2)


def test_one_release_unless_charged_and_the_charge_is_exact():
    mechanism = Count("a", AB).mechanism(0.1)
    answer = mechanism.release(["a"])
    assert answer.charge == mechanism.charge == {"kind": "per-entry", "guarantee": fugu.Pure(Fraction(1, 10))}
    assert answer.epsilon == Fraction(1, 10) and isinstance(answer.value, int)
    with pytest.raises(AlreadyReleased, match="Ledger"):
        mechanism.release(["a"])
    assert mechanism.release(["a"], charged=True).epsilon == Fraction(1, 10)
    mechanism.simulate(["a"], np.random.default_rng(0))


QUERIES = [
    Count("a", AB),
    Histogram(AB),
    Transitions(AB),
    Sum(Numbers(0, 1)),
    Mean(Numbers(0, 1)),
    TopK(2, ABC),
    ArgMax(ABC),
    RandomisedResponse(ABC),
    Lipschitz(lambda users: 0, 1, AB),
    Select(lambda users, c: 0, (1, 2), 1, AB),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.name)
def test_certificates_are_plain_and_say_what_is_claimed(query):
    found = query.mechanism(0.5).certificate.to_json()
    assert found["kind"] == "per-entry" and found["epsilon"] == "1/2" and found["domain"] == "full product"
    assert found["sensitivity"] == str(query.sensitivity) and "replaced" in found["neighbours"]


def test_simulations_repeat_and_releases_do_not():
    states = States(tuple(range(30)))
    mechanism = Histogram(states).mechanism(0.01)
    same = [mechanism.simulate([0, 1], np.random.default_rng(5)).value.tolist() for _ in range(2)]
    assert same[0] == same[1]
    assert mechanism.release([0, 1]).value.tolist() != Histogram(states).mechanism(0.01).release([0, 1]).value.tolist()


def test_answers_read_as_tables():
    answer = Transitions(AB).mechanism(100).release(["a", "b", "b"], allow_no_noise=True)
    assert answer.table() == {("a", "a"): 0, ("a", "b"): 1, ("b", "a"): 0, ("b", "b"): 1}
    with pytest.raises(BadNoise):
        Count("a", AB).mechanism(1).release(["a"]).table()
    assert ArgMax(AB).mechanism(1).release(["a"]).bounds is None


def test_a_ledger_charges_queries_and_gives_a_retry_the_same_answer(tmp_path):
    data = list("abba")
    with fugu.Ledger(tmp_path / "l.db", fugu.Pure(1), data="walks") as ledger:
        first = Histogram(AB).mechanism(0.6)
        once = ledger.spend("r1", first, lambda: first.release(data, charged=True))
        again = ledger.spend("r1", first, lambda: first.release(data, charged=True))
        assert once.value.tolist() == again.value.tolist() and once.charge == first.charge
        assert once.table() == again.table() and once.interval == again.interval
        with pytest.raises(fugu.errors.FuguError):  # another question under the same id
            ledger.spend("r1", Histogram(ABC).mechanism(0.6), lambda: None)
        second = ArgMax(AB).mechanism(0.5)
        with pytest.raises(fugu.errors.BudgetRefused):
            ledger.spend("r2", second, lambda: second.release(data, charged=True))
        third = ArgMax(AB).mechanism(0.4)
        assert ledger.spend("r3", third, lambda: third.release(data, charged=True)).value in ("a", "b")
        assert ledger.spent() == fugu.Pure(1)


@pytest.mark.parametrize(
    "returned", [lambda n: [1] * n, lambda n: [[1] * n, 1], lambda n: [10**400 + n], lambda n: {n}]
)
def test_a_query_that_returns_too_much_is_refused_without_saying_how_much(returned):
    asked = Lipschitz(lambda users: returned(users[0].count("a")), 1, AB)
    with pytest.raises(UsageError) as caught:
        asked.mechanism(1).release(["a"] * 77 + ["b"])
    assert "77" not in str(caught.value)


def test_a_mechanism_reads_its_epsilon_however_it_is_made():
    """Made by hand with 0.1 it charges 1/10, so its noise must be that of 1/10 and not of the double above it."""
    assert SequenceMechanism(Count("a", AB), 0.1).epsilon == Count("a", AB).mechanism(0.1).epsilon == Fraction(1, 10)
    for wrong in (0, -1, math.inf, True, "1"):
        with pytest.raises(BadBudget):
            SequenceMechanism(Count("a", AB), wrong)


def test_arguments_in_each_others_place_are_named():
    for wrong in (
        lambda: sequences.Count(sequences.States(["a", "b"]), ["a"]),
        lambda: sequences.Count("a", ["a", "b"]),
        lambda: sequences.Histogram(["a"]),
        lambda: sequences.Transitions(sequences.Numbers(0, 1)),
        lambda: sequences.TopK(1, ["a", "b"]),
        lambda: sequences.ArgMax(["a"]),
        lambda: sequences.RandomisedResponse("a"),
        lambda: sequences.Sum((0, 1)),
        lambda: sequences.Mean(sequences.States(["a", "b"])),
        lambda: sequences.Lipschitz(len, 1, ["a"]),
        lambda: sequences.Select(lambda u, c: 0, ["x", "y"], 1, ["a"]),
    ):
        with pytest.raises(fugu.errors.UsageError, match=r"needs (States|Numbers)\(...\)"):
            wrong()
