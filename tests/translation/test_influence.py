"""Influence curves are exact: equal to enumeration from the definition, never below it, and not a wrong reading."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import chain_oracle
import mpmath
import numpy as np
import pytest

import fugu
from fugu.priors.chain import ChainSet
from fugu.priors.coupling import DependentGroups, IndependentBlocks
from fugu.priors.prior import InfluenceCurve
from fugu_papers.closed_forms import ContractingChains
from hunting import search

STICKY = [[0.6, 0.4], [0.2, 0.8]]


def exact_curve(kernels, initial, length, **reading):
    """The oracle's curve for rows and start given as decimals."""
    steps = [[chain_oracle.meant(row) for row in kernel] for kernel in kernels]
    start = chain_oracle.stationary(steps[0]) if initial is None else chain_oracle.meant(initial)
    return chain_oracle.curve(chain_oracle.joint(steps, start), **reading)


def agrees(found, wanted, slack=2e-12):
    """Never below, and above by no more than the rounding."""
    return all(
        (math.isinf(a) and w == mpmath.inf) or (w != mpmath.inf and 0 <= mpmath.mpf(a) - w < slack)
        for a, w in zip(found, wanted, strict=True)
    )


def decimals(rng, k, zeros=0.0):
    """A random kernel of decimals that sum to one exactly."""
    parts = rng.integers(1, 40, (k, k)) * (rng.random((k, k)) >= zeros)
    parts[np.arange(k), rng.integers(0, k, k)] += 1
    return [[Fraction(int(x), int(row.sum())) for x in row] for row in parts]


@search("influence of chains against enumeration", quick=16)
def test_equal_to_enumeration_at_length(seed):
    """Given starts, some without some values, and the stationary one; steps alike or not; forbidden transitions."""
    rng = np.random.default_rng(1000 + seed)
    k, length = ((2, 6), (3, 4), (3, 5), (2, 7), (4, 4))[seed % 5]
    differ, zeros = seed % 4 == 1, 0.35 * (seed % 3 == 1)
    kernels = [decimals(rng, k, zeros) for _ in range(length - 1 if differ else 1)]
    start = [Fraction(int(x), 9) for x in rng.multinomial(9, rng.dirichlet(np.ones(k)))]
    if seed % 4 == 2 and not zeros:
        start = None
    chain = fugu.MarkovChain(kernels if differ else kernels[0], length, *([] if start is None else [start]))
    found, steps = fugu.influence(chain), kernels if differ else kernels * (length - 1)
    assert agrees([found(b) for b in range(1, length + 1)], exact_curve(steps, start, length))


@pytest.mark.parametrize("seed", range(4))
def test_the_two_ways_to_compute_agree_on_longer_chains(seed):
    """Shared tables and block minima against a plain loop over windows: all b, beyond enumeration."""
    rng = np.random.default_rng(300 + seed)
    length = (9, 14, 17, 23)[seed]
    kernel = rng.dirichlet(np.ones(3), 3)
    kernel[0] = (0.5, 0.5, 0.0) if seed == 3 else kernel[0]
    start = ([1, 0, 0], [0.2, 0.5, 0.3], [0, 0.5, 0.5], [0, 1, 0])[seed]
    fast = fugu.influence(fugu.MarkovChain(kernel, length, start))
    plain = fugu.influence(fugu.MarkovChain(np.tile(kernel, (length - 1, 1, 1)), length, start))
    assert [fast(b) for b in range(1, length)] == pytest.approx([plain(b) for b in range(1, length)], abs=1e-12)


def test_one_sided_windows_beat_the_long_formula():
    """Theory notes 6.1: p=.9, q=.95, T=7, b=4 is 2.89037176 (one-sided), the formula of long chains 3.92943779."""
    short = fugu.influence(fugu.MarkovChain([[0.9, 0.1], [0.05, 0.95]], length=7))
    long = fugu.influence(fugu.MarkovChain([[0.9, 0.1], [0.05, 0.95]], length=70))
    assert short(4) == pytest.approx(2.89037176, abs=1e-8)
    assert long(4) == pytest.approx(3.92943779, abs=1e-8)


def test_a_value_that_rules_out_the_rest_is_infinite_and_not_skipped():
    """Definition 7 read as "x_L possible under both values" would say a(1) = 0 for two equal bits."""
    equal = fugu.influence(fugu.MarkovChain([[1, 0], [0, 1]], 2, [0.5, 0.5]))
    assert equal.points == [(1, math.inf), (2, 0.0)]
    partial = fugu.influence(fugu.MarkovChain([[0.5, 0.5], [0, 1]], 2, [0.5, 0.5]))
    assert partial(1) == math.inf


def test_the_centre_is_not_the_worst_entry_of_a_given_start():
    kernel, start, length = [[0.55, 0.45], [0.45, 0.55]], [0.02, 0.98], 5
    steps = [[[Fraction(str(x)) for x in row] for row in kernel]] * (length - 1)
    law = chain_oracle.joint(steps, chain_oracle.meant(start))
    centre = chain_oracle.curve(law, nodes=[2])
    found = fugu.influence(fugu.MarkovChain(kernel, length, start))
    assert agrees([found(b) for b in range(1, 6)], chain_oracle.curve(law))
    assert any(found(b) > centre[b - 1] + 1e-3 for b in range(1, 5))


def test_the_stationary_reversal_is_wrong_for_another_start():
    kernel, start = [[0.9, 0.1], [0.99, 0.01]], [0.25, 0.75]
    given = fugu.influence(fugu.MarkovChain(kernel, 5, start))
    wrong = fugu.influence(fugu.MarkovChain(kernel, 5))
    exact = exact_curve([kernel] * 4, start, 5)
    assert agrees([given(b) for b in range(1, 6)], exact)
    assert any(wrong(b) < exact[b - 1] - 0.01 for b in range(1, 5))


def test_nearly_decoupled_chains_are_not_rounded_down():
    """A stationary law by linear algebra in floats is off by 6e-3 here; elimination without subtraction is not."""
    e = 1e-14
    kernel = [[1 - e, e, 0.0], [0.0, 1 - 2 * e, 2 * e], [e, 0.0, 1 - e]]
    found = fugu.influence(fugu.MarkovChain([[0.5 - e, e, 0.5], [0.25, 0.5, 0.25], [0.5, e, 0.5 - e]], 4))
    rows = [[Fraction(x) for x in row] for row in [[0.5 - e, e, 0.5], [0.25, 0.5, 0.25], [0.5, e, 0.5 - e]]]
    rows = [[x / sum(row) for x in row] for row in rows]
    exact = chain_oracle.curve(chain_oracle.joint([rows] * 3, chain_oracle.stationary(rows)))
    assert agrees([found(b) for b in range(1, 5)], exact, slack=1e-11)
    rows = [[Fraction(x) for x in row] for row in kernel]
    rows = [[x / sum(row) for x in row] for row in rows]
    law = chain_oracle.stationary(rows)
    marginal = fugu.MarkovChain(kernel, 4).marginal(1)
    assert all(abs(Fraction(float(m)) / p - 1) < Fraction(1, 10**13) for m, p in zip(marginal, law, strict=True))


def test_tiny_probabilities_do_not_underflow_to_zeros():
    """P^2 has entries of 1e-400, which floats call zero: reachability says otherwise, and logarithms say how much."""
    t = 1e-200
    kernel = [[1 - t, t, 0.0], [0.0, 1 - t, t], [t, 0.0, 1 - t]]
    rows = [[Fraction(x) for x in row] for row in kernel]
    rows = [[x / sum(row) for x in row] for row in rows]
    exact = chain_oracle.curve(chain_oracle.joint([rows] * 4, [Fraction(1, 3)] * 3))
    found = fugu.influence(fugu.MarkovChain(kernel, 5, [1, 1, 1] / np.float64(3)))
    assert agrees([found(b) for b in range(1, 6)], exact, slack=1e-9)
    assert found(1) == math.inf and 900 < found(4) < 1000


@pytest.mark.parametrize("seed", range(3))
def test_far_windows_are_never_below_the_exact_value(seed):
    """U_l + c + R_r in 60 digits at every b up to 40 (theory notes 6.2); plain floats would be below half the time."""
    rng = np.random.default_rng(400 + seed)
    k, far = 4, 40
    counts = rng.integers(1, 30, (k, k))
    rows = [[Fraction(int(x), int(row.sum())) for x in row] for row in counts]
    found = fugu.influence(fugu.MarkovChain(rows, 200))
    law = chain_oracle.stationary(rows)
    with mpmath.workdps(60):
        one = mpmath.matrix([[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in rows])
        mu = [mpmath.mpf(x.numerator) / x.denominator for x in law]
        powers = [one]
        for _ in range(far - 1):
            powers.append(powers[-1] * one)
        states = range(k)
        right = [
            {(x, y): max(mpmath.log(p[x, z] / p[y, z]) for z in states) for x in states for y in states} for p in powers
        ]
        left = [
            {
                (x, y): max(mpmath.log(p[z, x] * mu[y] / (p[z, y] * mu[x])) for z in states)
                for x in states
                for y in states
            }
            for p in powers
        ]
        for b in range(1, far + 1):
            exact = max(
                min(left[d - 1][x, y] + right[b - d][x, y] for d in range(1, b + 1))
                for x in states
                for y in states
                if x != y
            )
            assert 0 <= mpmath.mpf(found(b)) - exact < 1e-11


def test_curves_fall_stop_at_the_length_and_come_lazily():
    curve = fugu.influence(fugu.MarkovChain(STICKY, length=10**6), max_b=40)
    values = [a for _, a in curve.points]
    assert values == sorted(values, reverse=True) and curve.points[-1] == (10**6, 0.0) and len(values) == 41
    assert curve(10**6) == 0.0 and curve(10**9) == 0.0 and curve(500) == curve(40)
    began = time.process_time()
    fugu.influence(fugu.MarkovChain(STICKY, length=10**6))(60)
    assert time.process_time() - began < 5


def test_independent_entries_leak_nothing_at_all():
    curve = fugu.influence(fugu.MarkovChain([[0.3, 0.7], [0.3, 0.7]], 50, [0.9, 0.1]))
    assert curve(1) == 0.0


def test_unreached_states_are_not_compared():
    kernel = [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.1, 0.1, 0.8]]
    stationary = fugu.MarkovChain([[0.5, 0.5], [0.25, 0.75]], 9).marginal(1)
    found = fugu.influence(fugu.MarkovChain(kernel, 9, [*stationary, 0.0]))
    alone = fugu.influence(fugu.MarkovChain([[0.5, 0.5], [0.25, 0.75]], 9))
    assert [found(b) for b in range(1, 9)] == pytest.approx([alone(b) for b in range(1, 9)], abs=1e-13)


def test_a_set_is_as_bad_as_its_worst_chain():
    weak, strong = fugu.MarkovChain(STICKY, 30), fugu.MarkovChain([[0.9, 0.1], [0.05, 0.95]], 30)
    curve = fugu.influence(ChainSet([weak, strong]), max_b=6)
    assert [curve(b) for b in range(1, 7)] == [fugu.influence(strong)(b) for b in range(1, 7)]
    assert fugu.influence(weak)(3) < curve(3)


def test_states_with_other_names_change_nothing():
    kernel, order = np.array([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1], [0.25, 0.25, 0.5]]), [2, 0, 1]
    a, moved = fugu.influence(fugu.MarkovChain(kernel, 20)), kernel[np.ix_(order, order)]
    b = fugu.influence(fugu.MarkovChain(moved, 20, states=["z", "x", "y"]))
    assert [a(n) for n in range(1, 20)] == pytest.approx([b(n) for n in range(1, 20)], abs=1e-13)


def test_birkhoff_bounds_every_chain_in_the_set():
    kernels = [STICKY, [[0.7, 0.3], [0.4, 0.6]]]
    rng = np.random.default_rng(5)
    bound = fugu.influence(ContractingChains.around(kernels, 9))
    for _ in range(20):
        steps = [kernels[i] for i in rng.integers(0, 2, 8)]
        curve = fugu.influence(fugu.MarkovChain(steps, 9, rng.dirichlet([1, 1])))
        assert all(curve(b) <= bound(b) + 1e-13 for b in range(1, 10))
    assert bound(3) < 2 and bound(9) == 0


def test_groups_and_blocks():
    assert fugu.influence(DependentGroups(3)).points == [(1, math.inf), (2, math.inf), (3, 0.0)]
    user = fugu.MarkovChain(STICKY, 24)
    users = fugu.influence(IndependentBlocks(user, fugu.MarkovChain(STICKY, 7)))
    assert users.length == 24 and users(24) == 0.0 and users(5) == fugu.influence(user)(5)
    assert fugu.influence(DependentGroups(1))(1) == 0.0


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None, "1"])
def test_sizes_must_be_whole(bad):
    curve = InfluenceCurve(lambda b: 1.0, 5)
    with pytest.raises(fugu.errors.UsageError, match="at least 1"):
        curve(bad)
    if bad is not None:
        with pytest.raises(fugu.errors.UsageError, match="max_b"):
            fugu.influence(fugu.MarkovChain(STICKY, 5), max_b=bad)


def test_other_things_have_no_influence():
    with pytest.raises(fugu.errors.UsageError, match="no influence curve for list"):
        fugu.influence([1, 2])


def test_what_is_no_number_bounds_nothing():
    """max(0.0, nan) is 0.0: a leakage that could not be computed must not read as none."""
    curve = InfluenceCurve(lambda b: math.nan if b < 3 else 1.0, 5)
    assert [curve(b) for b in range(1, 6)] == [math.inf, math.inf, 1.0, 1.0, 0.0]
