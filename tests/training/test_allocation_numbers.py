"""The least allocation of shifts to noises: the vectors of the theory notes, and exact rational certificates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from allocating import allocation
from iteration_oracle import dual_value, laplace_cost, least, least_laplace, paid

import fugu
from fugu.errors import FuguError
from fugu.iterate import shift_bound
from fugu.training.allocation import Steps, covered, feasible, isotonic
from hunting import search


def drawn(rng):
    """Shifts, scales and contractions of every kind, as floats."""
    size = int(rng.choice([1, 2, 3, 5, 8, 13]))
    s = rng.exponential(size=size) * (rng.random(size) < rng.choice([0.2, 0.6, 1]))
    kind = rng.integers(6)
    if kind == 1:
        s = s * np.exp(5 * rng.normal(size=size))
    elif kind in {2, 3, 4}:
        s = s if kind < 4 else np.zeros(size)
        s[rng.choice([0, -1])] = 10.0 ** rng.integers(-12, 13)
    v = [np.exp(rng.normal(size=size)), 10.0 ** rng.uniform(-3, 3, size), np.full(size, 0.7)][rng.integers(3)]
    c = [
        np.ones(size),
        rng.random(size),
        np.full(size, rng.random()),
        rng.choice([0.0, 0.5, 1.0], size),
        rng.choice([1e-300, 1e-120, 0.3, 1.0], size),
        1 - 10.0 ** rng.uniform(-16, -1, size),
    ][rng.integers(6)]
    return s, v, c


def hunt(cases, seed):
    """The largest relative gap between `covered` and the exact optimum; fails on the least bit below it."""
    rng, gap = np.random.default_rng(seed), 0.0
    for _ in range(cases):
        s, v, c = drawn(rng)
        exact, levels = least(s, v, c)
        assert dual_value(s, v, c, levels) == exact
        found = Fraction(covered(s, v, c))
        assert found >= exact, (s, v, c)
        hidden = paid(s, v, c, allocation(s, v, c))
        if exact > Fraction(1, 10**200):
            assert hidden is not None and exact <= hidden <= found
            gap = max(gap, float(found / exact - 1))
    return gap


@search("allocation against the exact optimum", quick=20)
def test_covered_is_never_below_the_exact_optimum_long(seed):
    assert hunt(10, [2, seed]) < 1e-9
    return 10


def test_any_allocation_is_repaired_until_it_pays():
    """The proof is in the repair, not in the search: halved, noisy or empty allocations come out sufficient."""
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(200):
        s, v, c = drawn(rng)
        steps = Steps.read(s, v, c).recent()
        if not steps.shifts.any() or least(s, v, c)[0] < Fraction(1, 10**100):
            continue
        size = steps.shifts.size
        given = isotonic(steps) * rng.choice([0.0, 0.5, rng.uniform(0, 1.3)], size)
        scales, contraction = (np.broadcast_to(x, (size,)) for x in (steps.scales, steps.contraction))
        assert paid(steps.shifts, scales, contraction, feasible(steps, given)) is not None
        wrong += paid(steps.shifts, scales, contraction, given) is None
    assert wrong > 100  # the wrong version: without the repair


def test_leaving_out_early_steps_never_helps_and_costs_nothing_that_is_seen():
    """Steps of weight below 1e-60 are replaced by where they leave the iterates; dropping them altogether is wrong."""
    shifts, c = np.r_[1e90, np.zeros(9), 1e-3], np.r_[1, np.full(10, 1e-8)]
    steps = Steps.read(shifts, 1.0, c)
    left = steps.recent()
    assert left.shifts.size < shifts.size
    exact = least(shifts, [1] * 11, c)[0]
    assert exact <= Fraction(covered(shifts, 1, c)) <= exact * (1 + Fraction(1, 10**9))
    assert Fraction(covered(shifts[-left.shifts.size :], 1, c[-left.shifts.size :])) < exact / 2  # dropped: wrong


def test_plain_doubles_would_be_below():
    """The wrong version: the isotonic regression in doubles, without the correction."""
    from scipy.optimize import isotonic_regression

    rng, below = np.random.default_rng(3), 0
    for _ in range(200):
        s = rng.exponential(size=9)
        plain = float(np.sum(isotonic_regression(s).x ** 2))
        below += Fraction(plain) < least(s, [1] * 9, [1] * 9)[0]
    assert below > 20


def test_a_wrong_weight_is_rejected_by_the_dual():
    """Dividing by the product of c up to t without multiplying back: c = 1/2, (1, 1, 1) costs 7/3, not 1.3."""
    from scipy.optimize import isotonic_regression

    shifts, product = np.ones(3), np.array([0.5, 0.25, 0.125])
    wrong = float(np.sum((isotonic_regression(shifts * product, weights=1 / product**2).x) ** 2))
    exact, levels = least(shifts, [1] * 3, [0.5] * 3)
    assert wrong < dual_value(shifts, [1] * 3, [0.5] * 3, levels) == exact == Fraction(7, 3)


@pytest.mark.parametrize("where", [0, -1])
def test_long_runs_and_products_that_underflow(where):
    """c = 1/2 for a million steps: the last block is a geometric series, the first shift leaves nothing."""
    shifts = np.zeros(10**6)
    shifts[where] = 1.0
    found = covered(shifts, 1.0, 0.5)
    assert found == pytest.approx(1.0, rel=1e-9) if where else 0 <= found < 1e-200
    ones = covered(np.ones(10**6), 1.0, 0.5)
    sixty, _ = least([1] * 120, [1] * 120, [0.5] * 120)
    assert ones == pytest.approx(float(sixty), rel=1e-9) and Fraction(ones) >= sixty
    assert covered(np.ones(10**6), 1.0, 1.0) == pytest.approx(1e6, rel=1e-8)


def test_degenerate_problems():
    assert covered([0, 0], 1, 0.5) == 0.0 and shift_bound([0.0], 1, 2).epsilon == 0
    assert covered(np.array([3]), 2) == pytest.approx(9 / 4)
    assert covered([5, 1], 1, 0.0) == pytest.approx(1) and covered([5, 1], 1, [1, 0]) == pytest.approx(1)
    assert covered([1e12, 0, 1], [1, 1, 1], [1, 1e-300, 1]) == pytest.approx(1, rel=1e-9)
    assert covered([1, 0, 0], [1e6, 1, 1e-6], 1) == pytest.approx(1e-12, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        ([], 1, 1), ([1, -1], 1, 1), ([math.nan], 1, 1), ([math.inf], 1, 1), ([[1, 2]], 1, 1), (["a"], 1, 1),
        ([1], 0, 1), ([1], -1, 1), ([1], math.nan, 1), ([1], 1, 1.0000001), ([1], 1, -0.1), ([1], 1, math.nan),
        ([1, 2], [1, 2, 3], 1), ([1, 2], 1, [1, 1, 1]), (None, 1, 1), ([1], None, 1), ([1], 1, None), (3, 1, 1),
        ([1], "a", 1), ([1j], 1, 1), ([1], [], 1), ([1], 1, []),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_with_an_error_of_ours(wrong):
    shifts, noise, contraction = wrong
    with pytest.raises(FuguError):
        covered(shifts, noise, contraction)
    with pytest.raises(FuguError):
        shift_bound(shifts, noise, 2, contraction)


def laplace_gap(cases, seed):
    """The largest relative gap of the Laplace bound to the optimum of an independent solver."""
    rng, gap = np.random.default_rng(seed), 0.0
    for _ in range(cases):
        s, _, c = drawn(rng)
        scale, d = float(np.exp(rng.normal())), int(rng.choice([1, 1, 3, 100]))
        s, alpha = np.minimum(s, 20 * scale), float(rng.choice([1.01, 1.5, 2, 7, 20]))
        exact, _ = least_laplace(s, scale, alpha, c, d)
        found = shift_bound(s, fugu.Laplace(scale), alpha, c, dimension=d).epsilon
        assert found >= exact * (1 - 1e-10) - 1e-250, (s, scale, alpha, c, d)
        if exact > 1e-9:
            gap = max(gap, found / exact - 1)
    return gap


@search("allocation for Laplace noise against a solver", quick=10)
def test_laplace_long(seed):
    assert laplace_gap(5, [6, seed]) < 1e-6
    return 5


def test_the_gaussian_allocation_is_loose_for_laplace_noise_with_contraction():
    """The wrong version of the optimum: it is sound, but 13 to 27 % too much in examples."""
    shifts, c = [3.0, 0, 0, 0], [0.5] * 4
    gaussian = float(laplace_cost(allocation(shifts, 0.05, 0.5), 0.05, 2.0).sum())
    exact, _ = least_laplace(shifts, 0.05, 2.0, c)
    assert shift_bound(shifts, fugu.Laplace(0.05), 2, 0.5).epsilon == pytest.approx(exact, rel=1e-6)
    assert gaussian > 1.02 * exact
