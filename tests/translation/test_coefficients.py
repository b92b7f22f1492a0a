"""Coefficients of forgetting: real backward kernels, every position, never below the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import chain_oracle
import numpy as np
import pytest

import fugu
from fugu.errors import BadLaw, UsageError
from fugu.priors.chain import ChainSet
from fugu.priors.correlated import backward_coefficient, forward_coefficient, free_start_coefficient
from fugu_papers.closed_forms import ContractingChains, birkhoff, dobrushin, projective_diameter

ODD = [[0.9, 0.1], [0.99, 0.01]]


def exact_variation(law, frm, to):
    """max over values of entry `frm` of the total variation between the laws of entry `to`, by enumeration."""
    sides = {}
    for d, p in law.items():
        side = sides.setdefault(d[frm], {})
        side[d[to]] = side.get(d[to], 0) + p
    sides = [{y: p / sum(side.values()) for y, p in side.items()} for side in sides.values()]
    keys = {y for side in sides for y in side}
    return max(sum(abs(a.get(y, 0) - b.get(y, 0)) for y in keys) / 2 for a in sides for b in sides)


def above(found, exact):
    return 0 <= Fraction(found) - exact < Fraction(1, 10**13)


def test_the_backward_coefficient_is_not_the_forward_one():
    """Second check of the theory notes: the true value is .537, the stationary reversal says .09."""
    chain = fugu.MarkovChain(ODD, 5, [0.25, 0.75])
    assert backward_coefficient(chain) == pytest.approx(0.537, abs=5e-4)
    assert backward_coefficient(fugu.MarkovChain(ODD, 5)) == pytest.approx(0.09, abs=1e-12)
    assert forward_coefficient(chain) == pytest.approx(0.09, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_equal_to_enumeration_over_every_position(seed):
    rng = np.random.default_rng(seed)
    k, length = 2 + seed % 2, 5
    kernels = [
        [
            [Fraction(int(x), int(sum(row))) for x in row]
            for row in rng.integers(0 if seed > 5 else 1, 9, (k, k)) + np.eye(k, dtype=int)
        ]
        for _ in range(length - 1)
    ]
    if seed % 2:
        kernels = [kernels[0]] * (length - 1)
    start = [Fraction(int(x) + 1, 20 + k) for x in rng.multinomial(20, np.ones(k) / k)]
    given = kernels[0] if seed % 2 else kernels
    chain = fugu.MarkovChain(given, length, start)
    law = chain_oracle.joint(kernels, start)
    for d in (1, 2, 3):
        ahead = [exact_variation(law, t, t + d) for t in range(length - d)]
        back = [exact_variation(law, t + d, t) for t in range(length - d)]
        assert above(forward_coefficient(chain, d), max(ahead))
        assert above(backward_coefficient(chain, d), max(back))
        if not seed % 2:
            assert max(ahead) > min(ahead)  # one position would not do
        assert backward_coefficient(chain, d) <= free_start_coefficient(chain, d) + 1e-13


def test_a_free_start_reaches_the_birkhoff_coefficient():
    """tanh(Delta / 4) is the supremum over start laws: never exceeded, and reached on a fine grid."""
    bound = birkhoff(ODD)
    weights = np.linspace(0.001, 0.999, 999)
    found = [backward_coefficient(fugu.MarkovChain(ODD, 2, [w, 1 - w])) for w in weights]
    assert max(found) <= bound + 1e-13 and max(found) > bound - 1e-4
    assert bound > 5 * dobrushin(ODD)


def test_zeros_facing_positive_entries_do_not_contract():
    assert projective_diameter([[1, 0], [0.5, 0.5]]) == math.inf and birkhoff([[1, 0], [0.5, 0.5]]) == 1.0
    assert dobrushin([[0, 1], [1, 0]]) == 1.0
    assert dobrushin([[1, 0], [0.5, 0.5]]) == pytest.approx(0.5)
    flip = fugu.MarkovChain([[0, 1], [1, 0]], 9, [0.5, 0.5])
    assert [forward_coefficient(flip, d) for d in (1, 2, 5)] == [1.0, 1.0, 1.0]


def test_equal_rows_forget_at_once():
    assert dobrushin([[0.3, 0.7]] * 2) < 1e-13 and birkhoff([[0.3, 0.7]] * 2) < 1e-13


def test_known_values():
    sticky = [[0.6, 0.4], [0.2, 0.8]]
    assert dobrushin(sticky) == pytest.approx(0.4) and projective_diameter(sticky) == pytest.approx(math.log(6))
    chain = fugu.MarkovChain(sticky, 50)
    assert [forward_coefficient(chain, d) for d in (1, 2, 3)] == pytest.approx([0.4, 0.16, 0.064])
    assert [backward_coefficient(chain, d) for d in (1, 2, 3)] == pytest.approx([0.4, 0.16, 0.064])
    assert forward_coefficient(chain, 50) == 0.0  # a sequence of 50 has no 50 steps
    both = ChainSet([chain, fugu.MarkovChain([[0.9, 0.1], [0.05, 0.95]], 50)])
    assert forward_coefficient(both) == pytest.approx(0.85) and backward_coefficient(both) == pytest.approx(0.85)


def test_the_birkhoff_curve_falls_by_tau_at_every_second_b():
    curve = ContractingChains(math.log(6), 1000).influence_curve()
    tau = math.tanh(math.log(6) / 4)
    assert curve(1) == pytest.approx(2 * math.log(6)) and curve(3) == pytest.approx(2 * math.log(6) * tau)
    assert curve(2) == pytest.approx(math.log(6) * (1 + tau)) and curve(1000) == 0.0
    assert ContractingChains(math.inf, 7).influence_curve()(6) == math.inf


def test_wrong_input():
    with pytest.raises(BadLaw):
        dobrushin([[0.5, 0.6], [0.5, 0.5]])
    for wrong in (-1.0, math.nan, "1", None, True):
        with pytest.raises(UsageError, match="diameter"):
            ContractingChains(wrong, 5)
    with pytest.raises(UsageError, match="at least one kernel"):
        ContractingChains.around([], 5)
    with pytest.raises(UsageError, match="MarkovChain or a ChainSet"):
        forward_coefficient([[1.0]])
    with pytest.raises(UsageError, match="steps"):
        forward_coefficient(fugu.MarkovChain(ODD, 5), 0)
