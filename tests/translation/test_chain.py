"""Markov chains as priors: what is a chain, what is refused, and laws that are right."""

from __future__ import annotations

from fractions import Fraction

import chain_oracle
import numpy as np
import pytest

import fugu
from fugu.errors import BadLaw, BadTable, FuguError, MissingValues, UsageError
from fugu.priors.chain import ChainSet
from fugu.priors.coupling import DependentGroups, IndependentBlocks
from fugu.priors.transitions import stationary_law

STICKY = [[0.6, 0.4], [0.2, 0.8]]


def exact_rows(kernel):
    rows = [[Fraction(float(x)) for x in row] for row in kernel]
    return [[x / sum(row) for x in row] for row in rows]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([[0.6, 0.3], [0.2, 0.8]], 5), r"sum to 1 within 1e-12; the first that does not is \(0,\)"),
        (([[0.6, 0.4 + 3e-12], [0.2, 0.8]], 5), "sum to 1"),
        (([[1.1, -0.1], [0.2, 0.8]], 5), r"negative entries, first at \(0, 1\)"),
        (([[np.nan, 1], [0.2, 0.8]], 5), "NaN"),
        (([[np.inf, 1], [0.2, 0.8]], 5), "NaN or infinite"),
        (([[0.5, 0.5]], 5), r"\(k, k\)"),
        (([], 5), r"\(k, k\)"),
        (([[1.0], [0.5, 0.5]], 5), "one length"),
        (([["a", "b"], ["c", "d"]], 5), "probabilities"),
        (([[True, False], [False, True]], 5), "probabilities"),
        (([STICKY] * 3, 5, [0.5, 0.5]), "4 steps, got 3"),
        (([STICKY] * 4, 5), "no stationary law; give initial="),
        ((STICKY, 1), "at least 2"),
        ((STICKY, 0), "at least 2"),
        ((STICKY, 2.0), "whole number"),
        ((STICKY, True), "whole number"),
        ((STICKY, 5, [0.5, 0.6]), "initial must sum to 1|row of initial"),
        ((STICKY, 5, [0.5, 0.25, 0.25]), "law over the 2 states"),
        ((STICKY, 5, [1.5, -0.5]), "negative"),
        ((STICKY, 5, "uniform"), "'stationary', 'any' or a law"),
        (([[0.5, 0.5, 0], [0.25, 0.75, 0], [0.1, 0.1, 0.8]], 5), "1 of 3 states have no mass .* left for good: 2"),
        ((STICKY, 5, "stationary", ["a"]), "name the 2 rows"),
        ((STICKY, 5, "stationary", ["a", "a"]), "distinct"),
        ((STICKY, 5, "stationary", [[1], [2]]), "hashable"),
        (([[1.0, 0.0], [0.0, 1.0]], 5), "not unique; give initial="),
        (([[1 - 1e-310, 1e-310], [0.5, 0.5]], 5), "below 1e-300"),
    ],
)
def test_what_is_not_a_chain_is_refused_by_a_typed_error(arguments, says):
    with pytest.raises(FuguError, match=says):
        fugu.MarkovChain(*arguments)


def test_rows_may_be_off_by_the_tolerance_only():
    chain = fugu.MarkovChain([[0.6, 0.4 + 5e-13], [0.2, 0.8]], 5)
    assert chain.transition(1).sum(axis=1) == pytest.approx([1, 1], abs=1e-15)


def test_a_chain_says_what_it_is():
    chain = fugu.MarkovChain(STICKY, 100, states=["a", "b"])
    assert (chain.states, chain.size, chain.length, chain.homogeneous, chain.stationary, chain.forbidden) == (
        ("a", "b"), 2, 100, True, True, False,
    )  # fmt: skip
    given = fugu.MarkovChain([STICKY, [[1.0, 0.0], [0.5, 0.5]]], 3, [0, 1])
    assert (given.homogeneous, given.stationary, given.forbidden) == (False, False, True)
    assert given.transition(2).tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert given.marginal(2) == pytest.approx([0.2, 0.8]) and given.marginal(3) == pytest.approx([0.6, 0.4])
    for t in (0, 3, 1.0):
        with pytest.raises(UsageError, match="from 1 to 2"):
            given.transition(t)
    with pytest.raises(ValueError, match="read-only"):
        chain.transition(1)[0, 0] = 0


def test_backward_kernels_are_those_of_the_given_start():
    chain = fugu.MarkovChain([[0.9, 0.1], [0.99, 0.01]], 5, [0.25, 0.75])
    law = chain_oracle.joint([[[Fraction(9, 10), Fraction(1, 10)], [Fraction(99, 100), Fraction(1, 100)]]] * 4,
                             [Fraction(1, 4), Fraction(3, 4)])  # fmt: skip
    for t in range(2, 6):
        for x in range(2):
            total = sum(p for d, p in law.items() if d[t - 1] == x)
            for y in range(2):
                both = sum(p for d, p in law.items() if d[t - 1] == x and d[t - 2] == y)
                assert chain.backward(t)[x, y] == pytest.approx(float(both / total), rel=1e-13)
    reversal = fugu.MarkovChain([[0.9, 0.1], [0.99, 0.01]], 5).backward(2)
    assert abs(chain.backward(2) - reversal).max() > 0.1


@pytest.mark.parametrize("seed", range(10))
def test_stationary_laws_are_within_their_stated_error(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    kernel = rng.dirichlet(np.ones(k), k) ** (1 + 10 * (seed % 2))
    kernel /= kernel.sum(axis=1, keepdims=True)
    law, error = stationary_law(kernel)
    exact = chain_oracle.stationary(exact_rows(kernel))
    assert error < 1e-13
    assert all(abs(Fraction(float(p)) / q - 1) <= Fraction(error) for p, q in zip(law, exact, strict=True))


def test_elimination_in_floats_agrees_with_balls(monkeypatch):
    from fugu.priors import transitions

    kernel = np.random.default_rng(3).dirichlet(np.ones(60), 60)
    in_balls, near = stationary_law(kernel)
    monkeypatch.setattr(transitions, "_BALLS", 59)
    in_floats, far = stationary_law(kernel)
    assert in_floats == pytest.approx(in_balls, rel=1e-13) and far > near
    wide = np.random.default_rng(4).dirichlet(np.ones(150), 150)
    law, error = stationary_law(wide)
    assert abs(law @ wide - law).max() < 1e-14 and error > 1e-10


def test_nearly_decoupled_stationary_laws_keep_their_digits():
    e = 1e-14
    kernel = np.array([[1 - e, e, 0.0], [0.0, 1 - 2 * e, 2 * e], [4 * e, 0.0, 1 - 4 * e]])
    law, error = stationary_law(kernel)
    exact = chain_oracle.stationary(exact_rows(kernel))
    assert all(abs(Fraction(float(p)) / q - 1) <= Fraction(error) for p, q in zip(law, exact, strict=True))
    values, vectors = np.linalg.eig(kernel.T)
    naive = np.real(vectors[:, np.argmax(np.real(values))])
    naive /= naive.sum()
    assert max(abs(float(p) / float(q) - 1) for p, q in zip(naive, exact, strict=True)) > 1e-6


def test_transient_states_are_reported_and_reducible_chains_need_a_start():
    kernel = [[0.5, 0.5, 0], [0.25, 0.75, 0], [0.1, 0.1, 0.8]]
    chain = fugu.MarkovChain(kernel, 9, [0.5, 0.5, 0], states=["a", "b", "never"])
    assert chain.unused == ("never",) and chain.marginal(3)[2] == 0.0
    two = fugu.MarkovChain([[1, 0], [0, 1]], 5, [0.5, 0.5])
    assert two.unused == () and two.marginal(5).tolist() == pytest.approx([0.5, 0.5])
    assert fugu.MarkovChain([[1, 0], [0, 1]], 5, [1, 0]).unused == (1,)
    late = fugu.MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]], 3, [1, 0, 0])
    assert late.unused == () and late.supports.tolist() == np.eye(3, dtype=bool).tolist()


def test_marginals_of_long_chains_are_those_of_the_start():
    chain = fugu.MarkovChain(STICKY, 100_000, [1.0, 0.0])
    assert chain.marginal(3) == pytest.approx([0.44, 0.56]) and chain.marginal(100_000) == pytest.approx([1 / 3, 2 / 3])
    logs, errors = chain.log_marginals
    assert logs.shape == (100_000, 2) and errors[-1] > errors[0] and errors[-1] < 1e-9
    exact = Fraction(1, 3) + Fraction(2, 3) * Fraction(2, 5) ** 9
    assert abs(np.exp(logs[9, 0]) / float(exact) - 1) <= errors[9] + 1e-15


def test_fitting_counts_transitions_inside_sequences_only():
    chain = fugu.MarkovChain.fit([["a", "b", "a"], ["b", "b", "a", "a"]])
    assert chain.states == ("a", "b") and chain.length == 4
    assert chain.transition(1).tolist() == [[0.5, 0.5], [2 / 3, 1 / 3]]  # a->b, a->a; b->a, b->b, b->a
    joined = fugu.MarkovChain.fit([["a", "b", "a", "b", "b", "a", "a"]])
    assert joined.transition(1).tolist() != chain.transition(1).tolist()
    assert fugu.MarkovChain.fit(np.array([[0, 1, 0], [1, 1, 0]]), length=50).length == 50


def test_smoothing_is_the_callers_choice_and_is_said():
    plain = fugu.MarkovChain.fit(["aab", "bba"])
    smooth = fugu.MarkovChain.fit(["aab", "bba"], states=["a", "b", "c"], smoothing=0.5)
    assert not any("smoothed" in line for line in plain.assumptions)
    assert any("the guarantee is for the smoothed prior: 0.5 was added" in line for line in smooth.assumptions)
    assert smooth.transition(1)[0].tolist() == pytest.approx([1.5 / 3.5, 1.5 / 3.5, 0.5 / 3.5])
    assert smooth.transition(1)[2].tolist() == pytest.approx([1 / 3] * 3)
    assert any("2 reference sequences" in line for line in plain.assumptions)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (([],), BadTable, "at least one"),
        ((["a"],), BadTable, "fewer than 2"),
        (([[]],), BadTable, "fewer than 2"),
        (([1, 2, 3],), BadTable, "list of sequences"),
        (([["a", None, "b"]],), MissingValues, "missing"),
        (([[0.0, float("nan"), 1.0]],), MissingValues, "missing"),
        ((["aab"],), BadTable, "1 of 2 states are never left.*smoothing="),
        ((["aba"], ["a"]), BadTable, "does not list"),
        ((["aba"], ["a", "b", "b"]), UsageError, "distinct"),
        ((["aba"], None, -1), UsageError, "smoothing"),
        ((["aba"], None, float("nan")), UsageError, "smoothing"),
        ((["aba"], None, "1"), UsageError, "smoothing"),
        ((["aba"], None, 0.0, 1), UsageError, "at least 2"),
        (([[[1], [2]]],), BadTable, "hashable"),
        ((["aa", "bb"], None, 0.0, None, "stationary"), BadLaw, "not unique"),
        (([[1, 1, 2, 2]], None, 0.0, None, "stationary"), BadLaw, "no mass in the stationary law.*: 1"),
        ((["aba"], None, 0.0, None, "uniform"), UsageError, "'fitted', 'any', 'stationary' or a law"),
        ((["aba"], None, 0.0, None, [1.0]), BadLaw, "law over the 2 states"),
    ],
)
def test_reference_sequences_that_cannot_be_fitted(arguments, error, says):
    with pytest.raises(error, match=says):
        fugu.MarkovChain.fit(*arguments)


def test_no_state_of_the_data_is_in_a_message():
    with pytest.raises(BadTable) as caught:
        fugu.MarkovChain.fit([["home", "clinic"], ["home", "home"]], states=["home"])
    assert "clinic" not in str(caught.value)


def test_sets_of_chains_are_of_one_shape():
    chain = fugu.MarkovChain(STICKY, 5)
    assert list(ChainSet([chain])) == [chain] and "1 chains" in repr(ChainSet([chain]))
    for wrong in ([], [1], [chain, chain.with_length(6)], [chain, fugu.MarkovChain(STICKY, 5, states="ab")]):
        with pytest.raises(UsageError):
            ChainSet(wrong)


def test_blocks_say_that_they_are_independent():
    blocks = IndependentBlocks(fugu.MarkovChain(STICKY, 5))
    assert "independent of each other under every belief" in blocks.assumptions[0]
    assert any("independent under every belief" in line for line in DependentGroups(4).assumptions)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(UsageError):
            DependentGroups(wrong)
    with pytest.raises(UsageError, match="at least one block"):
        IndependentBlocks()
