"""The repair makes any matrix of doubles an exact channel; each shortcut in it is shown to fail."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from channels.channel_draws import draw_problem
from fugu.channels import exact as repair
from fugu.channels.exact import holds, power_above, power_below, repaired, value
from fugu.channels.problem import ChannelProblem
from fugu.errors import NotProvable, UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses, masses
from fugu.laws.sets import Box
from hunting import search


def noisy(rng, problem):
    """A channel that breaks its promises by a little or by a lot."""
    loose = rng.dirichlet(np.full(problem.m, rng.choice([0.2, 1.0])), problem.n)
    flat = np.tile(rng.dirichlet(np.ones(problem.m)), (problem.n, 1))
    mixed = rng.choice([0.0, 1e-9, 1e-3, 1.0])
    if problem.monotone:
        loose = flat
    return mixed * loose + (1 - mixed) * flat + rng.normal(0, 1e-12, loose.shape)


def kept(problem, rows):
    """Every promise from the definition in rationals, e^x to 60 digits, members at random."""
    with mpmath.workdps(60):
        ratio = Fraction(str(mpmath.exp(mpmath.mpf(problem.epsilon.numerator) / problem.epsilon.denominator)))
        cap = None if problem.cap is None else mpmath.exp(mpmath.mpf(problem.cap.numerator) / problem.cap.denominator)
    total, columns = sum(rows[0]), list(zip(*rows, strict=True))
    ends = [[_mean(law, column) for column in columns] for law in problem.laws]
    for s, t in problem.ordered():
        over = [top - ratio * bottom for (top, _), (_, bottom) in zip(ends[s], ends[t], strict=True)]
        if sum(max(v, 0) for v in over) > problem.delta * total + Fraction(1, 10**30):
            return False
    high = None if cap is None else Fraction(str(cap))
    return high is None or all(max(c) <= high * min(c) * (1 + Fraction(1, 10**40)) for c in columns)


def _mean(law, column):
    if isinstance(law, Masses):
        parts, total = law.whole()
        mean = Fraction(sum(a * k for a, k in zip(parts, column, strict=True)), total)
        return mean, mean
    near = law.extreme(np.array(column, dtype=float)), law.extreme(-np.array(column, dtype=float))
    return tuple(sum(Fraction(float(a)) * k for a, k in zip(p, column, strict=True)) for p in near)


@search("repair of any matrix", quick=120)
def test_whatever_comes_in_an_exact_channel_comes_out(rng):
    kinds = ("box", "tv", "law", "both")
    problem = draw_problem(rng, kinds, delta=bool(rng.random() < 0.3))
    bits = int(rng.choice([4, 12, 48]))
    rows, theta = repaired(problem, noisy(rng, problem), bits)
    total = sum(rows[0])
    assert all(sum(row) == total and min(row) >= 0 for row in rows)
    assert 0 <= theta < 1 and theta == 1 - Fraction(2**bits, total)
    assert holds(problem, rows)
    if all(isinstance(law, Masses) for law in problem.laws):
        assert kept(problem, rows)


@search("repair with delta, single laws", quick=60)
def test_delta_is_a_sum_over_all_outputs(rng):
    problem = draw_problem(rng, ("law",), delta=True, extras=False)
    rows, _ = repaired(problem, rng.dirichlet(np.full(problem.m, 0.3), problem.n))
    assert holds(problem, rows) and kept(problem, rows)


def test_delta_that_each_output_keeps_and_their_sum_does_not():
    points, counts = np.arange(4.0), ([30, 30, 20, 20], [10, 10, 40, 40])
    laws = tuple(masses(c, 4) for c in counts)
    problem = ChannelProblem(laws, ((0, 1),), Fraction(1, 2), np.abs(points[:, None] - points), np.full(4, 0.25))
    each = 0.3 - math.exp(0.5) * 0.1
    assert not holds(replace(problem, delta=Fraction(1.5 * each)), np.eye(4, dtype=int).tolist())
    assert holds(replace(problem, delta=Fraction(2.1 * each)), np.eye(4, dtype=int).tolist())


@search("repair costs at most theta", quick=60)
def test_the_loss_grows_by_at_most_theta_times_the_largest(rng):
    problem = replace(draw_problem(rng, ("box", "law"), extras=False), delta=Fraction(0))
    matrix = noisy(rng, problem)
    rows, theta = repaired(problem, matrix)
    clean = np.clip(matrix, 0, None)
    before = float(problem.weight @ (clean / clean.sum(axis=1, keepdims=True) * problem.loss).sum(axis=1))
    largest = float(problem.loss.max())
    assert float(value(problem, rows)) <= (1 - float(theta)) * before + float(theta) * largest + 1e-11 * largest


def pair(epsilon, counts=((50, 30, 20), (20, 30, 50)), **more):
    points = np.arange(3.0)
    laws = tuple(masses(list(c), 3) for c in counts)
    return ChannelProblem(
        laws, ((0, 1),), Fraction(epsilon), np.abs(points[:, None] - points), np.full(3, 1 / 3), **more
    )


def test_weights_rounded_down_fail(monkeypatch):
    rng, broken = np.random.default_rng(0), 0
    for _ in range(10):
        problem, matrix = pair(Fraction(1, 5)), rng.dirichlet(np.ones(3), 3)
        assert holds(problem, repaired(problem, matrix, bits=6)[0])
        with monkeypatch.context() as patch:
            patch.setattr(repair.math, "ceil", math.floor)
            rows, _ = repaired(problem, matrix, bits=6)
        broken += not holds(problem, rows)
        assert holds(problem, rows) == kept(problem, rows)
    assert broken > 2


def test_a_repair_that_forgets_the_cap_breaks_it():
    capped = pair(1, cap=Fraction(1))
    rng, broken = np.random.default_rng(1), 0
    for _ in range(20):
        flat = rng.dirichlet(np.ones(3))
        matrix = flat * np.exp(rng.choice([0.0, 1.0], (3, 3)))  # at the cap, up to rounding
        matrix /= matrix.sum(axis=1, keepdims=True)
        without, _ = repaired(replace(capped, cap=None), matrix)
        broken += not holds(capped, without)
        rows, _ = repaired(capped, matrix)
        assert holds(capped, rows) and kept(capped, rows)
    assert broken > 5


def test_mixing_inside_a_fixed_row_sum_goes_negative_where_adding_does_not():
    """(2^B - T) q + 2^B w has negative weights as soon as T > 2^B; q + w, row sum 2^B + T, has none."""
    problem, bits = pair(Fraction(1, 100)), 8
    matrix = np.eye(3)
    rows, theta = repaired(problem, matrix, bits)
    added = sum(rows[0]) - 2**bits
    assert added > 2**bits  # the case in question
    assert holds(problem, rows) and theta == Fraction(added, added + 2**bits)
    old = [[(2**bits - added) * (2**bits * (x == y)) + 2**bits * 1 for y in range(3)] for x in range(3)]
    assert min(map(min, old)) < 0 and not holds(problem, old)


def test_entries_below_0_count_as_0():
    rows, _ = repaired(pair(9), np.eye(3) + np.array([[0, -1e-9, 1e-9], [0, 0, 0], [-1e-9, 0, 1e-9]]))
    assert min(map(min, rows)) >= 0 and sum(rows[0]) == sum(rows[2])
    matrix = np.array([[1.0, -1e-18, 0.0], [0.0, 1.0, -1e-18], [0.0, 0.0, 1.0]])
    rows, _ = repaired(pair(9), matrix)
    assert min(map(min, rows)) >= 0
    assert math.floor(2.0**48 * -1e-18) == -1  # what floor alone would have written


def test_what_needs_no_repair_is_not_touched():
    for epsilon in (0, 1):
        rows, theta = repaired(pair(epsilon), np.tile([0.25, 0.5, 0.25], (3, 1)))
        assert theta == 0 and rows == [[2**46, 2**47, 2**46]] * 3
    with pytest.raises(NotProvable, match="epsilon 0"):
        repaired(pair(0), np.eye(3))
    with pytest.raises(NotProvable, match="cap 0"):
        repaired(pair(9, cap=Fraction(0)), np.eye(3))


def test_order_survives_rounding():
    rng, broken = np.random.default_rng(3), 0
    points = np.arange(5.0)
    law = masses([1, 2, 3, 2, 1], 5)
    problem = ChannelProblem(
        (law, masses([2, 2, 2, 2, 1], 5)), ((0, 1),), Fraction(3), np.abs(points[:, None] - points), np.full(5, 0.2),
        monotone=True, points=points, outputs=points,
    )  # fmt: skip
    for _ in range(20):
        ends = np.sort(rng.random(5)) + 1e-4 * np.sort(rng.random((5, 5)), axis=0)[::-1]
        ends = np.clip(np.sort(ends, axis=1), 0, 1)
        ends[:, -1] = 1.0
        matrix = np.diff(ends, axis=1, prepend=0.0)
        rows, _ = repaired(problem, matrix, bits=10)
        assert holds(problem, rows)
        naive, _ = repaired(replace(problem, monotone=False), matrix, bits=10)
        broken += not holds(problem, naive)
    assert broken > 0


def test_theta_for_delta_is_at_most_the_excess_over_what_is_allowed():
    """D / (delta + D), D what the channel spends beyond delta; less where e^epsilon leaves slack of its own."""
    for epsilon in (0.0, 0.5):
        for delta in (Fraction(1, 100), Fraction(1, 10)):
            problem = pair(Fraction(epsilon), delta=delta)
            rows, theta = repaired(problem, np.eye(3))
            laws = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)
            spent = sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(*laws, strict=True))
            limit = (spent - float(delta)) / spent
            assert float(theta) == pytest.approx(limit, abs=1e-9) if not epsilon else float(theta) < limit * 0.9
            assert holds(problem, rows) and kept(problem, rows)
            assert epsilon or not holds(replace(problem, delta=delta * Fraction(999, 1000)), rows)


def test_a_tiny_excess_over_a_small_delta_costs_next_to_nothing():
    """1e-9 too much beside delta = 1e-3 and e^8: growing the rows alone would take 1e-6 of the draws."""
    problem = pair(8, counts=((998, 1, 1), (1, 1, 998)), delta=Fraction(1, 1000))
    exact, _ = repaired(problem, np.eye(3))
    spoilt = np.array(exact, dtype=object).astype(float) / sum(exact[0])
    spoilt[0] += np.array([1e-9, 0, -1e-9])
    _, theta = repaired(problem, spoilt)
    assert theta < Fraction(1, 10**9)


def test_a_wrong_channel_does_not_hold():
    problem = pair(1)
    assert holds(problem, [[1, 1, 1]] * 3)
    for rows in ([[1, 1, 1]] * 2, [[1, 1]] * 3, [[1, 1, 1], [1, 1, 1], [2, 1, 1]], [[0, 0, 0]] * 3, [[3, 1, -1]] * 3):
        assert not holds(problem, rows)
    assert not holds(pair(Fraction(9, 10)), np.eye(3, dtype=int).tolist())  # ln 2.5 is .916
    assert holds(pair(Fraction(92, 100)), np.eye(3, dtype=int).tolist())


def test_bad_matrices_are_refused():
    for matrix in (np.eye(2), np.full((3, 3), np.nan), np.full((3, 3), 2.0), np.full((3, 3), -1.0)):
        with pytest.raises(UsageError):
            repaired(pair(1), matrix)


def test_sets_need_the_largest_over_the_set_not_that_of_the_centre():
    """Repaired for the centres alone, some member of the boxes loses more."""
    x = np.arange(3)
    boxes = (Box(x, [0.4, 0.2, 0.1], [0.6, 0.4, 0.3]), Box(x, [0.1, 0.2, 0.4], [0.3, 0.4, 0.6]))
    robust = replace(pair(Fraction(1, 2)), laws=boxes)
    centres = replace(robust, laws=tuple(box.centre().masses for box in boxes))
    rng = np.random.default_rng(4)
    matrix = rng.dirichlet(np.ones(3), 3)
    assert holds(robust, repaired(robust, matrix)[0])
    assert not holds(robust, repaired(centres, matrix)[0])


@pytest.mark.parametrize("x", ["0", "1/1000000000000", "1/3", "1", "50", "700", "3000"])
def test_powers_lie_on_their_side(x):
    number = Fraction(x)
    low, high = power_below(number), power_above(number)
    assert 1 <= low <= high and (number > 0) == (low > 1)
    with mpmath.workdps(1400):
        truth = mpmath.expm1(mpmath.mpf(number.numerator) / number.denominator)
        below, above = (mpmath.mpf((a - 1).numerator) / (a - 1).denominator for a in (low, high))
        assert below <= truth <= above
        assert not truth or (above - below) / truth < mpmath.mpf(2) ** -90


def test_problems_refuse_what_makes_no_sense():
    good = pair(1)
    wrong = [
        {"loss": np.ones((2, 3))},
        {"loss": np.full((3, 3), np.nan)},
        {"loss": -np.ones((3, 3))},
        {"loss": np.ones(3)},
        {"weight": np.ones(3)},
        {"weight": np.array([0.5, np.nan, 0.5])},
        {"weight": np.array([1.5, -0.5, 0.0])},
        {"weight": np.ones(2) / 2},
        {"pairs": ((0, 2),)},
        {"pairs": ((0, 0),)},
        {"epsilon": Fraction(-1)},
        {"delta": Fraction(1)},
        {"cap": Fraction(-1)},
        {"monotone": True},
        {"points": np.array([0.0, 0.0, 1.0])},
        {"outputs": np.array([0.0, np.inf, 1.0])},
        {"laws": (Discrete([0, 1]).masses, good.laws[1])},
        {"laws": (), "pairs": (), "weight": None},
    ]
    for change in wrong:
        with pytest.raises(UsageError):
            replace(good, **change)
