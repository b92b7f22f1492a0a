"""Translations under chains of every kind against linear programs over all mechanisms, and the case that was false."""

from __future__ import annotations

import numpy as np
import pytest
from chain_attack import attack, joint_of
from lp_oracle import best_translation

import fugu
from fugu.translation.sequence import Contraction
from fugu.translation.side import Side
from hunting import search


@search("chains of every kind against all mechanisms", quick=8)
def test_many_random_chains_of_every_kind(rng):
    ran, broken = attack(rng, 10)
    assert not broken, broken[0]
    return sum(ran.values())


def cycles(count=5):
    """ok or toxic for some cycles, then discharged; who is toxic stays toxic."""
    size = 2 * count + 1
    kernel = np.zeros((size, size))
    for t in range(count - 1):
        kernel[2 * t, 2 * t + 2], kernel[2 * t, 2 * t + 3], kernel[2 * t + 1, 2 * t + 3] = 0.95, 0.05, 1
    kernel[2 * count - 2 :, -1] = 1
    return kernel, np.array([0.999, 0.001, *[0.0] * (size - 2)])


@pytest.mark.parametrize("length", [3, 4, 5, 6, 8])
def test_fewer_entries_than_states(length):
    """Stated was 3.324 for 5 entries, true is 4.825: one support for all times is closed under no transition."""
    kernel, start = cycles()
    exact = best_translation(joint_of([kernel] * (length - 1), start), 1.0)
    found = fugu.translate(fugu.MarkovChain(kernel, length, start), 1.0)
    assert exact - 1e-9 <= found <= exact + 1e-6
    if length == 5:
        assert exact == pytest.approx(4.825247, abs=1e-6)


def test_the_values_that_ever_occur_are_no_support():
    """The wrong version: the forward side with the union of the supports of all entries."""
    kernel, start = cycles()
    chain = fugu.MarkovChain(kernel, 5, start)
    accountant = Contraction(chain)
    union = np.asarray(chain.supports).any(axis=0)
    accountant.__dict__["forward"] = Side([kernel], [union])
    assert accountant(1.0) == pytest.approx(3.324, abs=1e-3)
    right = Contraction(chain).forward.levels(1.0, 4)
    assert len(right.values) == 5


def test_many_states_that_never_meet_cost_no_more():
    """Twelve cycles have 25 states, one number for all pairs: only those of the same time count."""
    kernel, start = cycles(12)
    found = Contraction(fugu.MarkovChain(kernel, 9, start))(1.0)
    exact = best_translation(joint_of([kernel] * 8, start), 1.0)
    assert exact - 1e-9 <= found <= 1.1 * exact
