"""Bounds by the number of further nodes, node by node: dense, settled and on a grid, against all mechanisms."""

from __future__ import annotations

import math
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import mpmath
import numpy as np
import pytest
from chain_attack import SLACK, case, joint_of, worst_simple
from every_length import every_length
from lp_oracle import best_loss
from test_chain_forgets import sticky
from test_contraction import exact_binary, lp_passed, random_rows

import fugu
from fugu.translation import kernel as operator
from fugu.translation import number
from fugu.translation import sequence as chains
from fugu.translation.kernel import Frontiers, by_variation, passed_pairs, passed_scalar, sort_rows, variations
from fugu.translation.number import Numbered, Wide
from fugu.translation.sequence import Contraction
from fugu.translation.side import Side
from hunting import search

BINARY = [[0.95, 0.05], [0.1, 0.9]]


@contextmanager
def way(name):
    """Short chains made to go the way of long ones: each pair by itself or one number, all nodes or a coarse grid."""
    table = {
        "pairs": [(chains, "MOST_RECURSION", 1), (chains, "_SHORT", 0)],
        "pairs, grid": [
            (chains, "MOST_RECURSION", 1),
            (chains, "_SHORT", 0),
            (number, "_LEAST_DENSE", 1),
            (number, "_MOST_DENSE", 0),
            (number, "_OCTAVE", 1),
        ],
        "one number": [
            (chains, "MOST_PAIRWISE", 1),
            (chains, "_AT_ONCE", 2),
            (operator, "_SORTED_AT_ONCE", 1),
        ],
        "one number, grid": [
            (chains, "MOST_PAIRWISE", 1),
            (number, "_MOST_STEPS", 1),
            (number, "_GRID", 1),
            (chains, "_AT_ONCE", 2),
            (chains, "_MOST_STRETCHES", 2),
        ],
    }
    with ExitStack() as stack:
        for module, constant, value in table[name]:
            stack.enter_context(patch.object(module, constant, value))
        yield


WAYS = ("pairs", "pairs, grid", "one number", "one number, grid")


@search("chains by the number of nodes against all mechanisms", quick=4)
def test_no_way_states_less_than_the_linear_program(rng):
    _, kernels, start, epsilon = case(rng)
    same = all(kernel is kernels[0] for kernel in kernels)
    if not same:
        return 0
    joint = joint_of(kernels, start)
    exact, node, x, y = worst_simple(joint, epsilon)
    if math.isinf(exact):
        return 0
    exact = max(exact, best_loss(joint, epsilon, node, int(x), int(y)))
    priors = [fugu.MarkovChain(kernels[0], len(kernels) + 1, begin) for begin in (start, "any")]
    for name in WAYS:
        with way(name):
            for prior in priors:
                assert Contraction(prior)(epsilon) >= exact - SLACK * (1 + exact), (name, prior)
    return len(WAYS) * len(priors)


@search("long stationary chains of two values by the number of nodes", quick=6)
def test_long_chains_of_two_values_are_never_below_the_optimum(rng):
    """For two values the optimum is known for every length, in many digits."""
    kernel = random_rows(rng, 2, zeros=False) * 0.3 + 0.7 * np.eye(2)[:: rng.choice([1, -1])]
    length, epsilon = int(rng.integers(3, 90)), float(rng.choice([0.01, 0.1, 0.7]))
    chain = fugu.MarkovChain(kernel, length)
    with mpmath.workdps(40):
        exact = float(exact_binary(kernel, chain.marginal(1), epsilon, length))
    for name in WAYS:
        with way(name):
            found = Contraction(chain)(epsilon)
        assert found >= exact * (1 - 1e-12), name
        assert found <= (1 + 1e-6) * exact or name != "pairs"
    return len(WAYS)


@search("what passes pairs of rows, without sorting", quick=20)
def test_no_sorting_is_as_good_as_sorting(rng):
    k = int(rng.integers(2, 9))
    kernel = random_rows(rng, k, zeros=rng.random() < 0.5)
    alpha = float(rng.choice([1e-9, 0.1, 1.0, 5.0, 40.0, 800.0]))
    every = np.ones(k, dtype=bool)
    pairs = np.nonzero(~np.eye(k, dtype=bool))
    found = passed_pairs(kernel, kernel > 0, 0.0, pairs, alpha)
    rows = sort_rows(kernel[None], (kernel > 0)[None], np.zeros(1), every)
    by_sorting = passed_scalar(rows, np.array([alpha]))[0][pairs]
    assert np.allclose(found, by_sorting, rtol=1e-9, atol=1e-12)
    assert np.all(by_variation(alpha, variations(kernel, kernel > 0, 0.0))[pairs] >= found - 1e-12)
    most = Frontiers([operator.frontier(kernel, kernel > 0, 0.0, every)]).passed(np.array([alpha]))[0]
    assert most == pytest.approx(found.max(), rel=1e-9, abs=1e-12)
    if 1e-3 < alpha < 10:  # a solver's tolerance of 1e-9 is more than the smallest alpha
        x, y = pairs[0][0], pairs[1][0]
        assert found[0] >= lp_passed(kernel[x], kernel[y], alpha * (1 - np.eye(k))) - 1e-9
    return len(found)


@pytest.mark.parametrize(("k", "stay"), [(3, 0.9), (7, 0.8)])
def test_a_grid_is_above_all_nodes_and_the_bound_for_every_number_above_both(k, stay):
    kernel = sticky(np.random.default_rng(k), k, stay)
    side = Side([kernel], [np.ones(k, dtype=bool)])
    dense = side.levels(0.03, 150)
    with patch.multiple(number, _LEAST_DENSE=8, _MOST_DENSE=0):
        grid = Numbered(side).levels(0.03, 150)
    ever = Numbered(side).ever(0.03)
    assert len(grid.grid) < 100
    for m in range(1, 151):
        assert np.all(grid.at(m) >= dense.at(m) * (1 - 3e-3))  # its larger d help a little
        assert grid.most(m) <= 1.05 * dense.most(m)
        assert np.all(ever >= dense.at(m) * (1 - 3e-3))
    assert ever.max() <= 1.001 * side.levels(0.03, 3000).values[-1].max()
    assert every_length(Contraction(fugu.MarkovChain(kernel, 150)), 0.03) < math.inf


def test_slow_chains_of_seven_states_beat_the_group_bound():
    """One table for all nodes gave every node T - 1 neighbours on both sides: the group bound was all that was left."""
    chain = fugu.MarkovChain(sticky(np.random.default_rng(1), 7, 0.97), 60)
    found = fugu.dp_budget(chain, 1.0)
    assert found > 1.15 / 60
    assert fugu.translate(chain, found) <= 1.0


def test_long_chains_that_never_settle_take_few_steps():
    ring = np.roll(np.eye(7), 1, axis=1) * 0.999 + np.eye(7) * 0.001
    chain = fugu.MarkovChain(ring, 50_000)
    found = Contraction(chain)
    assert found(0.1) <= 0.1 * 50_000 * (1 + 1e-9)
    later = found.forward.levels(0.1, 49_999)
    assert len(later.grid) < 2000 and (later.settled or later.grid[-1] == 49_999)
    wide = Wide(Side([ring], [np.ones(7, dtype=bool)])).levels(0.1, 50_000)
    assert len(wide.grid) < 3000


@pytest.mark.parametrize("begin", ["first", "any"])
def test_first_entries_with_values_of_their_own(begin):
    """A state that is never entered again: only the first entry takes it; the others keep one table."""
    rng = np.random.default_rng(3)
    kernel = np.zeros((15, 15))
    kernel[:, 1:] = 0.4 * rng.dirichlet(np.ones(14), 15) + 0.6 * np.eye(15)[:, 1:]
    kernel[0, 1:] = rng.dirichlet(np.ones(14))
    start = np.full(15, 1 / 15)
    chain = fugu.MarkovChain(kernel / kernel.sum(axis=1, keepdims=True), 40, start if begin == "first" else "any")
    accountant = Contraction(chain)
    assert isinstance(accountant.forward, Wide) and accountant.forward.tail == 38
    for epsilon in (0.02, 0.3):
        found = accountant(epsilon)
        with patch.object(chains, "_MOST_FIRST", -1):
            before = Contraction(chain)(epsilon)
        assert epsilon < found <= before * (1 + 1e-9)
        fine = Side([chain.transition(1)], [np.ones(15, dtype=bool)]).levels(epsilon, 12).at(12)
        later = accountant.forward.levels(epsilon, 39)
        every = ~np.eye(15, dtype=bool)
        assert np.all(later.at(39, every)[every] >= 0.999 * fine[every])


def test_wrong_versions_are_below_the_optimum():
    """Off by one, one side alone, and a grid point below: each is less than the exact value for two values."""
    epsilon, length = 0.3, 40
    chain = fugu.MarkovChain(BINARY, length)
    with mpmath.workdps(40):
        exact = float(exact_binary(BINARY, chain.marginal(1), epsilon, length))
    accountant = Contraction(chain)
    later, earlier = accountant.sides(epsilon)

    def total(ahead, behind):
        return epsilon + max(float((ahead(i) + behind(i)).max()) for i in range(1, length + 1))

    def right_later(i):
        return later.at(length - i)

    def right_earlier(i):
        return earlier.at(i - 1)

    assert total(right_later, right_earlier) >= exact * (1 - 1e-12)
    assert total(lambda i: later.at(max(length - 1 - i, 0)), right_earlier) < exact * (1 - 1e-6)  # sides at T - 1 - i
    assert total(right_later, lambda _: np.zeros((2, 2))) < exact * (1 - 1e-3)  # one side alone
    with way("pairs, grid"), patch.object(number, "_OCTAVE", 4):
        side = Side([np.array(BINARY)], [np.ones(2, dtype=bool)])
        assert Numbered(side).levels(epsilon, 30).most(30) >= side.levels(epsilon, 30).most(30)
        with patch.object(number, "next_place", lambda places, m: max(int(np.searchsorted(places, m, "right")) - 1, 0)):
            wrong = Numbered(side)
            wrong._known[epsilon] = None
            assert wrong.levels(epsilon, 30).most(30) < side.levels(epsilon, 30).most(30) * (1 - 1e-3)
