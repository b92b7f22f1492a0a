"""Questions about sequences: sensitivities, losses and laws by enumeration of all short sequences and all replaced
entries; noised numbers, selection, randomised response and a user's own query."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import exp, log, mpf
from sequence_oracle import Silent, datasets, flat, peeled, spread

import fugu
from fugu.errors import BadNoise, UsageError
from fugu.noise.bits import OS
from fugu.queries import choices, entry_noise, sequences
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.sequences import (
    ArgMax,
    Count,
    Histogram,
    Lipschitz,
    Mean,
    Numbers,
    RandomisedResponse,
    Select,
    States,
    Sum,
    TopK,
    Transitions,
)  # fmt: skip
from selection_laws import em, pf

AB = States(("a", "b"))
ABC = States(("a", "b", "c"))


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(entry_noise, "laplace_sampler", Silent)
    Silent.rates = []
    return Silent


FIGURES = (-3, 0, 0.25, 1, 2, 7)  # some outside the bounds 0 .. 2

ADDITIVE = [
    (Count("a", ABC), (3, 1), "abc", 1, Fraction(1)),
    (Histogram(ABC), (3, 1), "abc", 2, Fraction(1)),
    (Transitions(ABC), (3,), "abc", 4, Fraction(1)),
    (Transitions(AB), (4, 1), "ab", 4, Fraction(1)),
    (Transitions(ABC, longest=2), (2, 2), "abc", 2, Fraction(1)),
    (Sum(Numbers(0, 2)), (2, 1), FIGURES, 2, Fraction(1, 500)),
    (Sum(Numbers(0, 2), step=0.5), (2, 1), FIGURES, 2, Fraction(1, 2)),
    (Mean(Numbers(0, 2)), (2, 1), FIGURES, Fraction(2, 3), Fraction(1, 1500)),
]


@pytest.mark.parametrize(("query", "shape", "values", "worst", "step"), ADDITIVE, ids=lambda x: getattr(x, "name", ""))
def test_the_sensitivity_is_the_worst_change_over_all_data_and_replacements(query, shape, values, worst, step):
    found = spread(query, shape, values)
    assert found == worst
    over = sum(shape) if isinstance(query, Mean) else 1
    assert query.sensitivity == found * over


def test_smaller_sensitivities_are_rejected():
    """1 for a histogram, 2 for transitions inside a chain (right only at its ends), 3 for them."""
    assert spread(Histogram(AB), (2,), "ab") > 1
    assert spread(Transitions(AB), (3,), "ab") > 3
    assert spread(Transitions(AB), (2,), "ab") == 2


@pytest.mark.parametrize(("query", "shape", "values", "worst", "step"), ADDITIVE, ids=lambda x: getattr(x, "name", ""))
def test_the_noise_that_is_drawn_pays_for_every_change_and_no_more(query, shape, values, worst, step, silent):
    """rate x (l1 change in lattice steps, rounding included) <= epsilon, with equality somewhere."""
    epsilon = Fraction(3, 10)
    rng = np.random.default_rng(0)
    seen = {}

    def steps(data):
        key = json.dumps(data)
        if key not in seen:
            value = flat(query.mechanism(epsilon).simulate(data, rng).value)
            seen[key] = [round(float(v) / float(step)) for v in value]
        return np.array(seen[key])

    moved = max(int(np.abs(steps(d) - steps(e)).sum()) for d, e in datasets(shape, values))
    assert len(set(silent.rates)) == 1
    assert silent.rates[0] * moved == epsilon


def test_the_exact_loss_of_a_noised_histogram_is_epsilon():
    """sup over outputs of log P(z | D) / P(z | D'), with the masses of the noise itself, over a window of outputs."""
    epsilon, window = mpf(1) / 2, range(-3, 7)

    def log_mass(z, counts, rate):
        q = exp(-rate)
        return sum(log((1 - q) / (1 + q)) - rate * abs(a - b) for a, b in zip(z, counts, strict=True))

    def worst(rate):
        pairs = [(Histogram(AB).exact(d), Histogram(AB).exact(e)) for d, e in datasets((3,), "ab")]
        pairs = {(tuple(map(int, a)), tuple(map(int, b))) for a, b in pairs}
        outputs = list(product(window, repeat=2))
        return max(log_mass(z, a, rate) - log_mass(z, b, rate) for a, b in pairs for z in outputs)

    assert abs(worst(epsilon / 2) - epsilon) < mpf(10) ** -40
    assert worst(epsilon) > epsilon * mpf("1.9")  # Lap(1 / epsilon) on every count


def test_released_noise_has_the_claimed_scale():
    states = States(tuple(range(50)))
    zeros = [[0] * 3]
    mechanism = Histogram(states).mechanism(Fraction(1, 2))
    rng = np.random.default_rng(7)
    exact = Histogram(states).exact(zeros)
    noise = np.concatenate([mechanism.simulate(zeros, rng).value - exact for _ in range(600)])
    expected = fugu.Laplace(4, grid=1).expected_error()
    assert np.mean(np.abs(noise)) == pytest.approx(expected, rel=0.03)
    assert abs(np.mean(np.abs(noise)) / fugu.Laplace(4.0 * 0.95, grid=1).expected_error() - 1) > 0.03


def test_the_interval_holds_all_counts_together():
    mechanism = Histogram(ABC).mechanism(0.2)
    data, rng = [list("aabc")], np.random.default_rng(8)
    exact = Histogram(ABC).exact(data)
    answers = [mechanism.simulate(data, rng) for _ in range(1500)]
    held = np.mean([np.all(np.abs(a.value - exact) <= a.interval[1]) for a in answers])
    assert 0.93 <= held <= 0.985
    alone = fugu.Laplace(10, grid=1).quantile(0.95)
    assert np.mean([np.all(np.abs(a.value - exact) <= alone) for a in answers]) < 0.9
    low, high = (answers[0].value + end for end in answers[0].interval)
    assert np.all(low <= answers[0].value) and np.all(answers[0].value <= high)


@pytest.mark.parametrize("query", [Sum(Numbers(0, 10)), Mean(Numbers(0, 10)), Count("a", AB)])
def test_intervals_of_single_numbers_hold(query):
    data = ["a", "b"] * 5 if isinstance(query, Count) else [1.23456, 9.87, 3.3]
    rng, mechanism = np.random.default_rng(9), query.mechanism(0.7)
    exact = float(query.exact(data))
    answers = [mechanism.simulate(data, rng) for _ in range(1500)]
    held = np.mean([a.interval[0] <= a.value - exact <= a.interval[1] for a in answers])
    assert 0.93 <= held <= 0.985


def test_the_error_bound_covers_many_parts():
    for parts in (1, 5, 400):
        rate = Fraction(1, 7)
        h = EntryNoise(rate).half(Count("a", States(["a", "b"])), parts)
        tail = fugu.Laplace(7, grid=1).tail(h)
        assert (1 - tail) ** parts >= 0.95 - 1e-12
        assert (1 - fugu.Laplace(7, grid=1).tail(h - 1)) ** parts < 0.95


def test_how_an_entry_is_read_does_not_depend_on_the_others():
    """0.1 and Fraction(0.1) are equal but mean 1/10 and 1/10 + 5.6e-18; once the first one read set both."""
    query, others = Sum(Numbers(0.1, 1.1), step=1), [Fraction(0.1), Fraction(3, 10) - Fraction(1, 10**18)]
    low, high = query.exact([0.1, *others]), query.exact([1.1, *others])
    assert high - low == query.sensitivity
    assert sequences.rounded(high, Fraction(1)) - sequences.rounded(low, Fraction(1)) == 1
    wrong = low - (Fraction(0.1) - Fraction(1, 10))  # the second entry read as the first: two steps, twice the epsilon
    assert sequences.rounded(high, Fraction(1)) - sequences.rounded(wrong, Fraction(1)) == 2
    big = Numbers(0, 10**24)
    assert big.read([1e23, int(1e23)]) == ((Fraction(10**23), Fraction(int(1e23))),)
    assert big.read([int(1e23), 1e23]) == ((Fraction(int(1e23)), Fraction(10**23)),)


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


def test_a_ranking_by_counts_is_noised_as_the_histogram_is(silent):
    TopK(2, ABC, "laplace").mechanism(1).release(["a", "b"])
    assert silent.rates == [Fraction(1, 2)]


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
