"""Sequence queries under tiny priors: the noise that is drawn, per entry and as Pufferfish loss, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from end_to_end_oracle import cells, geometric, loss, outer, per_entry
from lp_oracle import chain_joint

import fugu
from fugu.queries import choices, entry_noise
from fugu.queries.entries import Numbers, States
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.sequences import (
    ArgMax,
    Count,
    Histogram,
    Lipschitz,
    Mean,
    RandomisedResponse,
    Select,
    Sum,
    TopK,
    Transitions,
    rounded,
)
from selection_laws import exponential_law, permute_and_flip_law

LETTERS = States(("a", "b", "c"))
LAWS = {"permute-and-flip": permute_and_flip_law, "exponential": exponential_law}
STEPS = [np.array([[0.8, 0.1, 0.1], [0.2, 0.8, 0.0], [0.05, 0.05, 0.9]])] * 3
START = [0.5, 0.2, 0.3]


class Silent:
    """Stands for the sampler: notes the rate and adds nothing, so that the answer is the middle of its law."""

    def __init__(self, rate, rates):
        rates.append(rate)

    def draw(self, size, source):
        return np.zeros(size, dtype=np.int64)


@pytest.fixture
def rates(monkeypatch):
    noted = []
    monkeypatch.setattr(entry_noise, "laplace_sampler", lambda rate: Silent(rate, noted))
    return noted


@pytest.fixture
def rounds(monkeypatch):
    noted = []

    def peel(utilities, k, rate, method, source):
        noted.append((list(utilities), k, rate, method))
        return tuple(range(k))

    monkeypatch.setattr(choices, "peel", peel)
    return noted


def peeled(utilities, k, rate, method, left=None):
    """The exact law of k rounds of selection without replacement, over ordered outcomes."""
    left = tuple(range(len(utilities))) if left is None else left
    if k == 0:
        return [1.0]
    law = [float(p.mid()) for p in LAWS[method]([utilities[i] for i in left], rate)]
    return [p * q for i, p in zip(left, law, strict=True)
            for q in peeled(utilities, k - 1, rate, method, tuple(j for j in left if j != i))]  # fmt: skip


def drawn_law(query, names, length, rates, epsilon):
    """(data sets, outputs): the law of the answer on every data set, from the rate and the middle of each draw."""
    table = []
    for data in product(names, repeat=length):
        drawn = query.draw(query.domain.read(list(data)), EntryNoise(epsilon), None)
        middle = np.ravel(np.asarray(drawn.value)).astype(int)
        table.append(outer(*(geometric(length, float(rates[-1]))[m] for m in middle)).ravel())
    return np.array(table)


QUERIES = [Count("a", LETTERS), Histogram(LETTERS), Lipschitz(lambda u: u[0].count("a"), 1, LETTERS, whole=True)]


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.name)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_counts_cost_what_they_say_under_a_chain(query, epsilon, rates):
    table = drawn_law(query, LETTERS.names, 4, rates, epsilon)
    assert per_entry(table, (3,) * 4) == pytest.approx(
        float(epsilon), rel=1e-9
    )  # reached: a larger rate would break it
    chain = fugu.MarkovChain(STEPS[0], 4, START)
    assert loss(cells(chain_joint(STEPS, START)), table) <= fugu.translate(chain, epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(
    "query",
    [
        ArgMax(LETTERS),
        ArgMax(LETTERS, "exponential"),
        TopK(2, LETTERS, "permute-and-flip"),
        TopK(3, LETTERS, "exponential"),
        Select(lambda users, c: 3 * users[0].count(c), ("a", "b"), 3, LETTERS),
    ],
    ids=lambda q: f"{q.name} {getattr(q, 'method', '')}",
)
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(2)])
def test_selections_cost_what_they_say_under_a_chain(query, epsilon, rounds):
    table = []
    for data in product(LETTERS.names, repeat=4):
        query.draw(LETTERS.read(list(data)), EntryNoise(epsilon), None)
        table.append(peeled(*rounds[-1]))
    table = np.array(table)
    assert per_entry(table, (3,) * 4) <= float(epsilon) * (1 + 1e-9)
    wrong = np.array([peeled(u, k, 4 * rate, method) for u, k, rate, method in rounds])
    assert per_entry(wrong, (3,) * 4) > float(epsilon)
    chain = fugu.MarkovChain(STEPS[0], 4, START)
    true = loss(cells(chain_joint(STEPS, START)), table)
    assert true <= fugu.translate(chain, epsilon) * (1 + 1e-12)


def test_randomised_response_costs_what_it_says_under_a_chain():
    chain, joint = fugu.MarkovChain(STEPS[0], 4, START), chain_joint(STEPS, START)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        own, other = RandomisedResponse(LETTERS).law(epsilon)
        channel = np.where(np.eye(3, dtype=bool), float(own), float(other))
        stated = fugu.translate(chain, epsilon)
        assert 0.9 * stated < loss(cells(joint), [channel] * 4) <= stated * (1 + 1e-12)


@pytest.mark.parametrize(
    ("query", "values", "unit"),
    [
        (Transitions(LETTERS), "abc", 1),
        (Sum(Numbers(-1, 2), step=Fraction(1, 2)), (-1, -0.3, 0.2, 0.7, 2), Fraction(1, 2)),
        (Mean(Numbers(0, 1), step=Fraction(1, 4)), (0, 0.1, 0.3, 0.55, 1), Fraction(1, 16)),
        (Lipschitz(lambda u: (sum(u[0]) / 3, u[0][0] / 7), 1, Numbers(0, 1), 2, step=Fraction(1, 3)), (0, 0.4, 1), 0),
    ],
    ids=["transitions", "sum", "mean", "lipschitz"],
)
def test_one_replacement_moves_the_drawn_lattice_point_by_at_most_epsilon(query, values, unit, rates):
    epsilon, size = Fraction(1), 4
    middle = {}
    for data in product(values, repeat=size):
        value = query.draw(query.domain.read(list(data)), EntryNoise(epsilon), None).value
        middle[data] = np.ravel(np.asarray(value, dtype=float)) / float(unit or query.grid)
    worst = 0.0
    for data, here in middle.items():
        for i, new in product(range(size), values):
            there = middle[(*data[:i], new, *data[i + 1 :])]
            worst = max(worst, float(rates[-1]) * float(np.abs(here - there).sum()))
    assert worst <= 1 + 1e-9
    assert worst > (0.2 if not unit else 1 - 1e-9)


def test_how_an_entry_is_read_does_not_depend_on_the_others():
    """0.1 and Fraction(0.1) are equal but mean 1/10 and 1/10 + 5.6e-18; once the first one read set both."""
    query, others = Sum(Numbers(0.1, 1.1), step=1), [Fraction(0.1), Fraction(3, 10) - Fraction(1, 10**18)]
    low, high = query.exact([0.1, *others]), query.exact([1.1, *others])
    assert high - low == query.sensitivity
    assert rounded(high, Fraction(1)) - rounded(low, Fraction(1)) == 1
    wrong = low - (Fraction(0.1) - Fraction(1, 10))  # the second entry read as the first: two steps, twice the epsilon
    assert rounded(high, Fraction(1)) - rounded(wrong, Fraction(1)) == 2
    big = Numbers(0, 10**24)
    assert big.read([1e23, int(1e23)]) == ((Fraction(10**23), Fraction(int(1e23))),)
    assert big.read([int(1e23), 1e23]) == ((Fraction(int(1e23)), Fraction(10**23)),)
