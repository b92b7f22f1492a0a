"""Hidden Markov models: what is protected is stated, and the bounds cover the full joint law and the exact program."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from lp_oracle import best
from tree_oracle import seen_given_hidden

import fugu
from fugu.errors import BadLaw, UnknownName
from fugu.priors.hidden import HiddenMarkov
from fugu.translation.influence import curve, guarantee

STEP, EMIT = np.array([[0.9, 0.1], [0.25, 0.75]]), np.array([[0.8, 0.2], [0.3, 0.7]])


@pytest.mark.parametrize("start", ["stationary", [0.1, 0.9]])
@pytest.mark.parametrize("eps", [0.3, 2.0])
def test_both_kinds_of_secret_are_covered_in_every_position(start, eps):
    length = 4
    law = fugu.MarkovChain(STEP, length, start).marginal(1)
    joint = seen_given_hidden([STEP] * 3, law, EMIT)
    hidden = guarantee(HiddenMarkov(STEP, EMIT, length, start, protect="hidden"), [eps])
    observed = guarantee(HiddenMarkov(STEP, EMIT, length, start, protect="observed"), [eps])
    for t in range(length):
        for x in (0, 1):
            assert best(joint[t][x], joint[t][1 - x], eps) <= hidden + 1e-9
            table = joint[t].sum(axis=0)
            p, q = (np.where(np.indices(table.shape)[t] == v, table, 0.0) for v in (x, 1 - x))
            assert best(p, q, eps) <= observed + 1e-9
    assert observed <= length * eps + 1e-9


def test_treating_the_picture_as_a_chain_of_its_own_is_wrong():
    """Wrong version: the observed entries are no Markov chain; one neighbour on each side does not shield.

    Two hidden states that hardly change: with the neighbours seen, farther entries still tell about Y_t.
    """
    step, emit, length = np.array([[0.999, 0.001], [0.001, 0.999]]), np.array([[0.6, 0.4], [0.4, 0.6]]), 5
    joint = seen_given_hidden([step] * 4, [0.5, 0.5], emit)[2].sum(axis=0)
    middle = [np.take(joint, v, axis=2) for v in (0, 1)]
    near = [m.sum(axis=(0, 3)) / m.sum() for m in middle]
    far = [m / m.sum() for m in middle]
    leak_near = np.log(near[0] / near[1]).max()
    leak_all = np.log(far[0] / far[1]).max()
    assert leak_all > leak_near * 1.2
    ours = dict(curve(HiddenMarkov(step, emit, length, [0.5, 0.5], protect="observed")))
    assert ours[1] >= leak_all - 1e-9


def test_the_observed_leakage_is_that_of_the_two_hidden_ends():
    model = HiddenMarkov(STEP, EMIT, 3, [0.4, 0.6], protect="observed")
    quilts = model.quilts(2)
    law = np.zeros((2, 2, 2))
    for a, x, b, y in product(range(2), repeat=4):
        law[y, a, b] += [0.4, 0.6][a] * STEP[a, x] * STEP[x, b] * EMIT[x, y]
    law /= law.sum(axis=(1, 2), keepdims=True)
    expected = np.log(law[0] / law[1]).max()
    at = int(np.flatnonzero(quilts.cards == 1)[0])
    assert expected <= quilts.leaks[at, 0, 1] <= expected + 1e-12
    assert sorted(quilts.cards.tolist()) == [1, 2, 2, 3]


def test_a_picture_that_says_nothing_costs_only_the_entry():
    blind = HiddenMarkov(STEP, [[0.5, 0.5], [0.5, 0.5]], 6, protect="observed")
    assert guarantee(blind, [0.4]) == pytest.approx(0.4, abs=1e-12)
    clear = HiddenMarkov(STEP, np.eye(2), 6, protect="observed")
    chain = fugu.influence(fugu.MarkovChain(STEP, 6))
    for b, a in curve(clear):
        assert a == pytest.approx(chain(b), abs=1e-9)  # a perfect picture is the chain itself


def test_the_pair_chain_has_the_law_of_the_model():
    pairs = HiddenMarkov(STEP, EMIT, 4, [0.1, 0.9]).pairs()
    assert pairs.states[1] == (0, 1)
    np.testing.assert_allclose(pairs.marginal(1), (np.array([0.1, 0.9])[:, None] * EMIT).ravel(), rtol=1e-12)
    hidden = fugu.MarkovChain(STEP, 4, [0.1, 0.9])
    np.testing.assert_allclose(pairs.marginal(3).reshape(2, 2).sum(axis=1), hidden.marginal(3), rtol=1e-12)
    assert HiddenMarkov(STEP, EMIT, 4).pairs().stationary


def test_what_is_protected_is_said_and_wrong_models_are_refused():
    assert "hidden state" in HiddenMarkov(STEP, EMIT, 3).protects
    assert "observed entry" in HiddenMarkov(STEP, EMIT, 3, protect="observed").protects
    with pytest.raises(UnknownName, match="did you mean 'hidden'"):
        HiddenMarkov(STEP, EMIT, 3, protect="hiden")
    with pytest.raises(BadLaw, match="one row for each of the 2"):
        HiddenMarkov(STEP, [[0.5, 0.5]], 3)
    with pytest.raises(BadLaw, match="sum to one"):
        HiddenMarkov(STEP, [[0.5, 0.4], [0.5, 0.5]], 3)
