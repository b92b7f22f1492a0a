"""W_inf and closeness of laws of vectors, against every set of atoms in rationals, and against linear programs."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.laws import Discrete
from fugu.numbers.exact import as_fraction
from fugu.transport.coupling import monotone, on_line
from fugu.transport.matching import Space, bottleneck, closeness, in_space, kept_within, root_up
from fugu.transport.wasserstein import wasserstein

NORMS = (1, 2, math.inf)


def measure(x, y, norm, read):
    """The distance, squared for norm 2, in rationals."""
    apart = [abs(read(s) - read(t)) for s, t in zip(x, y, strict=True)]
    return sum(d * d for d in apart) if norm == 2 else sum(apart) if norm == 1 else max(apart)


def distances(p, q, norm, read=as_fraction):
    return [[measure(x, y, norm, read) for y in q.values.tolist()] for x in p.values.tolist()]


def fractions(law):
    parts, total = law.masses.whole()
    return [Fraction(m, total) for m in parts]


def unmatched(p, q, apart, reach):
    """max over sets A of atoms of p(A) - q(within reach of A) (Strassen), and a set that attains it."""
    a, b = fractions(p), fractions(q)
    near = [sum(1 << j for j, d in enumerate(row) if d <= reach) for row in apart]
    best, violator = Fraction(0), 0
    for s in range(1 << len(a)):
        inside = [i for i in range(len(a)) if s >> i & 1]
        hood = 0
        for i in inside:
            hood |= near[i]
        gap = sum((a[i] for i in inside), Fraction(0)) - sum(
            (b[j] for j in range(len(b)) if hood >> j & 1), Fraction(0)
        )
        if gap > best:
            best, violator = gap, s
    return best, violator


def least(p, q, norm, delta, read=as_fraction):
    apart = distances(p, q, norm, read)
    steps = sorted({d for row in apart for d in row})
    for below, step in zip([None, *steps], steps, strict=False):
        if unmatched(p, q, apart, step)[0] <= delta:
            return step, below, apart
    raise AssertionError


def up(step, norm):
    return (
        root_up(step)
        if norm == 2
        else float(np.nextafter(float(step), np.inf))
        if Fraction(float(step)) < step
        else float(step)
    )


def law(rng, d, most=6, digits=1):
    n = int(rng.integers(1, most))
    counts = rng.integers(0, 6, n)
    counts[rng.integers(n)] += 1
    return Discrete(np.round(rng.normal(size=(n, d)), digits), counts)


@pytest.mark.parametrize("norm", NORMS)
def test_w_inf_is_the_least_distance_and_one_step_less_has_a_hall_violator(norm):
    rng = np.random.default_rng(31)
    shorter = 0
    for case in range(40):
        d = 2 + case % 2
        p, q = law(rng, d), law(rng, d)
        step, below, apart = least(p, q, norm, 0)
        assert wasserstein(p, q, norm=norm) == wasserstein(q, p, norm=norm) == up(step, norm)
        if below is not None:
            gap, violator = unmatched(p, q, apart, below)
            assert gap > 0
            assert violator
            shorter += 1
    assert shorter > 25


@pytest.mark.parametrize("norm", NORMS)
def test_closeness_is_the_least_distance_for_delta(norm):
    rng = np.random.default_rng(32)
    for case in range(60):
        d = 2 + case % 2
        p, q = law(rng, d), law(rng, d)
        delta = float(rng.choice([0, 0.01, 0.1, 0.25, 0.3, 0.5, 0.9]))
        step, _, _ = least(p, q, norm, as_fraction(delta))
        assert closeness(p, q, delta, norm=norm) == up(step, norm)
        w, plan = bottleneck(in_space(p, q, norm), as_fraction(delta))
        assert plan.kept >= 1 - as_fraction(delta)
        moved = zip(plan.rows.tolist(), plan.columns.tolist(), strict=True)
        assert all(measure(p.values[i], q.values[j], norm, as_fraction) <= step for i, j in moved)
        for sums, held in ((plan.sums(plan.rows, len(p.values)), p), (plan.sums(plan.columns, len(q.values)), q)):
            assert all(Fraction(int(s), plan.total) <= f for s, f in zip(sums, fractions(held), strict=True))
        assert w == up(step, norm)


@pytest.mark.parametrize("norm", NORMS)
def test_binary_values_and_masses_are_rounded_up_by_little(norm):
    rng = np.random.default_rng(33)
    for _ in range(40):
        n, m = rng.integers(1, 6, 2)
        a, b = rng.random(n), rng.random(m)
        scale = 10.0 ** rng.integers(-200, 200)
        p, q = Discrete(rng.normal(size=(n, 3)) * scale, a / a.sum()), Discrete(rng.normal(size=(m, 3)), b / b.sum())
        step, _, _ = least(p, q, norm, 0, Fraction)
        w = Fraction(wasserstein(p, q, norm=norm))
        w, slack = (w * w, 2) if norm == 2 else (w, 1)
        assert step <= w <= step * (1 + slack * Fraction(2) ** -47)


def test_agrees_with_linear_programs():
    rng = np.random.default_rng(34)
    for _ in range(40):
        p, q = law(rng, 2, 12), law(rng, 2, 12)
        w = wasserstein(p, q)
        apart = np.linalg.norm(p.values[:, None] - q.values[None], axis=-1)
        for reach, whole in ((w + 1e-9, True), (w - 1e-9, False)):
            i, j = np.nonzero(apart <= reach)
            if not len(i):
                assert not whole
                continue
            rows = np.zeros((len(p.values) + len(q.values), len(i)))
            rows[i, np.arange(len(i))] = 1
            rows[len(p.values) + j, np.arange(len(i))] = 1
            found = -linprog(-np.ones(len(i)), A_ub=rows, b_ub=np.concatenate([p.weights, q.weights])).fun
            assert (found >= 1 - 1e-9) == whole


def test_a_line_in_space_is_the_line():
    rng = np.random.default_rng(35)
    for _ in range(12):
        x, y = rng.integers(0, 40, 8) / 4, rng.integers(0, 40, 9) / 4
        a, b = rng.integers(1, 9, 8), rng.integers(1, 9, 9)
        flat = Discrete(x, a), Discrete(y, b)
        laid = Discrete(np.stack([x, 0 * x], 1), a), Discrete(np.stack([y, 0 * y], 1), b)
        for norm in NORMS:
            assert wasserstein(*laid, norm=norm) == wasserstein(*flat)
            for delta in (0.05, 0.3):
                assert closeness(*laid, delta, norm=norm) == closeness(*flat, delta)


def test_the_monotone_coupling_in_place_of_the_flow_is_rejected():
    x, y = np.arange(10.0), np.arange(1.0, 11.0)
    line = on_line(Discrete(x), Discrete(y), 1)
    assert monotone(line.points, line.p, line.q).distances.min() == 1  # nothing of it stays in place
    assert closeness(Discrete(np.stack([x, x], 1)), Discrete(np.stack([y, y], 1)), 0.1) == 0
    assert closeness(Discrete(np.stack([x, x], 1)), Discrete(np.stack([y, y], 1)), 0.0999) == 2


def test_decimal_masses_that_meet_leave_no_sliver():
    p, q = Discrete([[0, 0], [0, 0], [5, 5]], [0.1, 0.2, 0.7]), Discrete([[0, 0], [5, 5]], [0.3, 0.7])
    assert wasserstein(p, q) == 0
    assert 0.1 + 0.2 > 0.3  # in floats the sliver would travel the whole way


def test_a_mass_of_1e_17_counts_in_full_and_can_be_spared():
    p, q = Discrete([[0, 0], [30, 40]], [1.0, 1e-17]), Discrete([[0, 0]])
    assert wasserstein(p, q) == 50
    assert closeness(p, q, 1e-16) == 0
    huge = Discrete([[0, 0], [30, 40]], [10**40, 1])
    assert wasserstein(huge, q) == 50
    assert closeness(huge, q, Fraction(1, 10**40 + 1)) == 0
    assert closeness(huge, q, Fraction(1, 10**40 + 2), norm=2) == 50


def test_far_apart_and_extreme_values():
    for norm in NORMS:
        assert wasserstein(Discrete([[0.0, 0.0]]), Discrete([[1e300, 0.0]]), norm=norm) == 1e300
        assert wasserstein(Discrete([[1e-310, 0.1]]), Discrete([[0.0, 0.1]]), norm=norm) == 1e-310
        far = wasserstein(Discrete([[-1.7e308, 0.1]]), Discrete([[1.7e308, math.pi]]), norm=norm)
        assert far == math.inf
    rng = np.random.default_rng(36)
    x = rng.integers(0, 1000, (300, 2))
    assert wasserstein(Discrete(x), Discrete(x + np.array([3000, 4000]))) == 5000  # a shift is its own distance


def test_finite_orders_are_upper_bounds_that_grow_to_w_inf():
    rng = np.random.default_rng(37)
    for norm in NORMS:
        for _ in range(10):
            p, q = law(rng, 2), law(rng, 2)
            w = [wasserstein(p, q, order=r, norm=norm) for r in (1, 2, 4, math.inf)]
            assert all(s <= t * (1 + 1e-12) for s, t in pairwise(w))
            apart = np.linalg.norm(p.values[:, None] - q.values[None], ord=norm, axis=-1)
            n, m = apart.shape
            rows = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
            for r, found in zip((1, 2), w, strict=False):
                exact = linprog((apart**r).ravel(), A_eq=rows, b_eq=np.concatenate([p.weights, q.weights])).fun
                assert found**r == pytest.approx(exact, rel=1e-9, abs=1e-12)
    same = law(rng, 3)
    assert [wasserstein(same, same, order=r) for r in (1, 3, math.inf)] == [0, 0, 0]


def test_two_thousand_atoms_agree_with_the_cut_just_below():
    rng = np.random.default_rng(38)
    p, q = (Discrete(rng.integers(0, 10**4, (2000, 2)) / 10**4, rng.integers(1, 9, 2000)) for _ in range(2))
    space = in_space(p, q, 2)
    w, plan = bottleneck(space, Fraction(0))
    assert plan.kept == 1
    apart = np.linalg.norm(p.values[plan.rows] - q.values[plan.columns], axis=1)
    assert apart.max() == pytest.approx(w, rel=1e-12)


def test_wrong_use_is_refused(monkeypatch):
    p = Discrete([[0, 1], [1, 0]])
    for norm in (0, 1.5, 3, math.nan, True, "l2"):
        with pytest.raises(UsageError, match="norm"):
            wasserstein(p, p, norm=norm)
    with pytest.raises(BadLaw, match="dimension"):
        closeness(p, Discrete([[0, 0, 1]]), 0.1)
    with pytest.raises(NotProvable, match="error"):
        in_space(p, Discrete._with_error(p.values.copy(), p.masses, 1e-9), 2)
    monkeypatch.setattr("fugu.transport.matching._MOST_PAIRS", 1)
    with pytest.raises(NotProvable, match="fewer atoms"):
        wasserstein(p, p)
    assert isinstance(in_space(p, p, 1), Space)


def test_a_flow_that_is_no_sub_coupling_never_counts(monkeypatch):
    from fugu.transport import matching as module

    space, right = in_space(Discrete([[0, 0], [1, 0]]), Discrete([[0, 0], [9, 9]]), 1), module.max_flow
    assert kept_within(space, 1) == Fraction(1, 2)
    monkeypatch.setattr(module, "max_flow", lambda *given: -right(*given))
    with pytest.raises(NotProvable, match="marginals"):
        kept_within(space, 1)
    monkeypatch.setattr(module, "max_flow", lambda *given: right(*given) + 1)
    for measured in (lambda: kept_within(space, 1), lambda: bottleneck(space, Fraction(1, 2))):
        with pytest.raises(NotProvable, match="marginals"):
            measured()
