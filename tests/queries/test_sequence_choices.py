"""Selection, randomised response and a user's own query on sequences: laws and losses by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import exp, log, mpf
from sequence_oracle import Silent, datasets, em, peeled, pf, spread

from fugu.errors import BadNoise, UsageError
from fugu.noise.bits import OS
from fugu.queries import choices, entry_noise, sequences
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.sequences import (
    ArgMax,
    Histogram,
    Lipschitz,
    RandomisedResponse,
    Select,
    States,
    TopK,
)

AB = States(("a", "b"))
ABC = States(("a", "b", "c"))


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(entry_noise, "laplace_sampler", Silent)
    Silent.rates = []
    return Silent


# --- a user's own query --------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.fractions(-3, 3, max_denominator=97), st.fractions(-1, 1, max_denominator=97)), min_size=1,
             max_size=4),
    st.fractions(Fraction(1, 20), 2, max_denominator=60),
)  # fmt: skip
def test_rounding_a_vector_costs_what_is_said(moves, step):
    before = [a for a, _ in moves]
    after = [a + d for a, d in moves]
    stated = sum(abs(d) for _, d in moves) or Fraction(1)
    query = Lipschitz(lambda users: 0, stated, AB, dimension=len(moves), step=step)
    moved = sum(
        abs(sequences.rounded(a, step) - sequences.rounded(b, step)) for a, b in zip(before, after, strict=True)
    )
    assert moved * step <= query.sensitivity


def test_rounding_coordinates_without_paying_for_it_is_wrong():
    """Two coordinates that move by half a unit each, across a rounding edge: l1 1, but 2 after rounding to units."""
    query = Lipschitz(lambda users: 0, 1, AB, dimension=2, step=1)
    jumps = [sequences.rounded(Fraction(b, 2), Fraction(1)) - sequences.rounded(Fraction(0), Fraction(1))
             for b in (1, 1)]  # fmt: skip
    assert sum(jumps) == 2 == query.sensitivity > 1
    assert Lipschitz(lambda users: 0, 1, AB, dimension=2, step=1, whole=True).sensitivity == 1
    assert Lipschitz(lambda users: 0, 1, AB).sensitivity == 1


def test_a_users_query_is_noised_by_its_stated_sensitivity(silent):
    switches = Lipschitz(lambda users: sum(a != b for u in users for a, b in pairwise(u)), 2, AB, whole=True)
    assert spread(switches, (4,), "ab") == 2
    assert switches.mechanism(1).simulate(["a", "b", "b", "a"], np.random.default_rng(0)).value == 2.0
    assert silent.rates == [Fraction(1, 2)]
    vector = Lipschitz(lambda users: [0.5, 1.5], 1, AB, dimension=2, step=0.25)
    out = vector.mechanism(1).release(["a"])
    assert out.value.tolist() == [0.5, 1.5] and silent.rates[-1] == Fraction(1, 5)
    assert out.certificate["sensitivity stated by"] == "the user"


@pytest.mark.parametrize("result", [float("nan"), float("inf"), "hidden", [1, 2], None])
def test_a_users_query_that_returns_no_number_is_refused_without_the_value(result):
    with pytest.raises(UsageError) as caught:
        Lipschitz(lambda users: result, 1, AB).mechanism(1).release(["a"])
    assert "hidden" not in str(caught.value)


def test_a_users_function_that_fails_tells_nothing():
    def fails(users, *_):
        raise KeyError(users)

    for query in (Lipschitz(fails, 1, AB), Select(fails, (1, 2), 1, AB)):
        with pytest.raises(UsageError, match="KeyError") as caught:
            query.mechanism(1).release(["a", "b"])
        assert "'a'" not in str(caught.value) and caught.value.__suppress_context__


def test_whole_is_checked():
    with pytest.raises(BadNoise, match="whole"):
        Lipschitz(lambda users: 0.5, 1, AB, whole=True).mechanism(1).release(["a"])
    with pytest.raises(UsageError):
        Lipschitz(lambda users: 0, 0.5, AB, whole=True)


# --- selection -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("method", "one"), [("permute-and-flip", pf), ("exponential", em)])
def test_the_exact_loss_of_top_k_is_at_most_epsilon(k, method, one, monkeypatch):
    """The utilities and the rate that really go into the sampler, and the law of the rounds by enumeration."""
    asked = []

    def record(utilities, rounds, rate, name, source):
        asked.append((tuple(utilities), rounds, rate, name))
        return tuple(range(rounds))

    monkeypatch.setattr(choices, "peel", record)
    mechanism = TopK(k, ABC, method).mechanism(1)
    pairs = set()
    for d, e in datasets((5,), "abc"):
        pairs.add((tuple(Histogram(ABC).exact(d).tolist()), tuple(Histogram(ABC).exact(e).tolist())))
    laws = {}
    for counts in {a for a, _ in pairs}:
        mechanism.simulate([s for s, n in zip("abc", counts, strict=True) for _ in range(n)], np.random.default_rng(0))
        utilities, rounds, rate, name = asked[-1]
        assert name == method and rounds == k and utilities == counts
        laws[counts] = [list(peeled(utilities, rounds, rate * factor, one).values()) for factor in (1, 2)]

    def worst(which):
        return max(log(p / q) for a, b in pairs for p, q in zip(laws[a][which], laws[b][which], strict=True))

    assert worst(0) <= 1
    assert worst(1) > 1  # without the factor 2


def test_the_last_state_left_is_not_paid_for():
    assert TopK(3, ABC, "exponential").rounds == 2 and TopK(2, ABC, "exponential").rounds == 2
    assert TopK(3, ABC).way == "laplace" and TopK(1, ABC).way == "permute-and-flip"


@pytest.mark.parametrize("method", ["best", "laplace", "permute-and-flip", "exponential"])
def test_top_k_at_a_large_epsilon_is_the_ranking(method):
    data = list("cccccbbba")
    assert TopK(3, ABC, method).mechanism(200).release(data).value == ("c", "b", "a")
    assert ArgMax(ABC).mechanism(200).release(data).value == "c"


def test_selection_by_a_users_utility(monkeypatch):
    query = Select(lambda users, n: -abs(sum(s == "a" for s in users[0]) - n), (0, 1, 2), 1, AB)
    worst = max(
        abs(a - b)
        for d, e in datasets((3,), "ab")
        for a, b in zip(query.utilities(AB.read(d)), query.utilities(AB.read(e)), strict=True)
    )
    assert worst == query.sensitivity == 1
    assert query.mechanism(500).release(["a", "b", "a"]).value == 2
    asked = []
    monkeypatch.setattr(choices, "peel", lambda u, k, rate, *_: asked.append(rate) or (0,))
    Select(lambda users, c: 0, "xy", 3, AB).mechanism(1).release(["a"])
    assert asked == [Fraction(1, 6)]


# --- randomised response -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**30), Fraction(1, 10), Fraction(1), Fraction(42), Fraction(5000)])
def test_the_weights_of_randomised_response_are_just_below_e_to_the_epsilon(epsilon):
    keep, other = choices.weights(epsilon)
    bound = exp(mpf(epsilon.numerator) / epsilon.denominator)
    assert other <= keep and mpf(keep) / other <= bound
    if epsilon < 42:
        assert mpf(keep) / other > bound * (1 - mpf(2) ** -55)
        assert not mpf(keep + 1) / other <= bound * (1 - mpf(2) ** -90) or epsilon < Fraction(1, 10**20)


def test_randomised_response_has_its_law_and_costs_epsilon(monkeypatch):
    monkeypatch.setattr(choices, "weights", lambda epsilon: (3, 1))
    query = RandomisedResponse(ABC)
    assert query.law(Fraction(1)) == (Fraction(3, 5), Fraction(1, 5))
    for code in range(3):
        told = []
        for r in range(5):  # every outcome of the uniform that is tossed
            monkeypatch.setattr(choices, "uniform_below", lambda n, source, r=r: {5: r}[n])
            told.append(query.draw(((code,),), EntryNoise(Fraction(1)), OS).value[0][0])
        assert sorted(told.count(s) for s in "abc") == [1, 1, 3] and told.count("abc"[code]) == 3


def test_the_loss_of_randomised_response_over_all_sequences():
    epsilon = Fraction(1, 2)
    own, other = RandomisedResponse(AB).law(epsilon)

    def mass(out, data):
        return math.prod(own if a == b else other for a, b in zip(out, data, strict=True))

    worst = max(mass(out, d[0]) / mass(out, e[0]) for d, e in datasets((3,), "ab") for out in product("ab", repeat=3))
    assert (
        mpf(worst.numerator) / worst.denominator <= exp(mpf(1) / 2) < mpf(worst.numerator) / worst.denominator + 1e-15
    )


def test_counts_from_randomised_response_are_unbiased():
    query, data = RandomisedResponse(ABC), [["a"] * 600 + ["b"] * 300 + ["c"] * 100]
    rng, mechanism = np.random.default_rng(11), query.mechanism(1)
    mean = np.mean([query.estimate(mechanism.simulate(data, rng).value, mechanism.epsilon) for _ in range(60)], axis=0)
    assert mean == pytest.approx([600, 300, 100], abs=25)
    with pytest.raises(UsageError):
        query.estimate(data, Fraction(1, 10**30))
