"""The monotone coupling: exact marginals, no spurious and no lost cell, one answer in both integer kinds."""

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu.errors import BadLaw
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.transport.coupling import Coupling, monotone, on_line, one_total


def law(parts, total=None):
    kind = object if max(parts) >= 2**62 or sum(parts) >= 2**62 else np.int64
    return Masses(np.array(parts, dtype=kind), Fraction(sum(parts) if total is None else total))


def marginals(plan: Coupling, size: int):
    rows, columns = [0] * size, [0] * size
    for i, j, m in zip(plan.rows.tolist(), plan.columns.tolist(), plan.masses.tolist(), strict=True):
        rows[i] += m
        columns[j] += m
    return [Fraction(m, plan.total) for m in rows], [Fraction(m, plan.total) for m in columns]


def cells(plan: Coupling):
    share = [Fraction(int(m), plan.total) for m in plan.masses.tolist()]
    return list(zip(plan.rows.tolist(), plan.columns.tolist(), share, plan.distances.tolist(), strict=True))


def random_parts(rng, n):
    parts = rng.integers(0, 7, n) * rng.integers(0, 2, n)
    parts[rng.integers(n)] += 1
    return [int(x) for x in parts]


def test_marginals_are_exact_and_cells_monotone_on_random_laws():
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        a, b = random_parts(rng, n), random_parts(rng, n)
        points = np.sort(rng.choice(50, n, replace=False)).astype(np.int64)
        plan = monotone(points, law(a), law(b))
        assert plan.masses.dtype == np.int64
        assert marginals(plan, n) == ([Fraction(x, sum(a)) for x in a], [Fraction(x, sum(b)) for x in b])
        assert np.all(plan.masses > 0)
        assert np.all(np.diff(plan.rows) >= 0)
        assert np.all(np.diff(plan.columns) >= 0)
        assert len(plan.rows) <= sum(x > 0 for x in a) + sum(x > 0 for x in b) - 1
        assert plan.distances.tolist() == np.abs(points[plan.rows] - points[plan.columns]).tolist()


def test_python_integers_and_int64_give_the_same_cells():
    rng = np.random.default_rng(2)
    for _ in range(100):
        n = int(rng.integers(1, 10))
        a, b = random_parts(rng, n), random_parts(rng, n)
        points = np.arange(n, dtype=np.int64)
        small = monotone(points, law(a), law(b))
        big = monotone(points, law([x * 3**45 for x in a]), law([x * 5**31 for x in b]))
        assert small.masses.dtype == np.int64
        assert big.masses.dtype == object
        assert all(type(m) is int for m in big.masses.tolist())
        assert cells(small) == cells(big)


def test_the_switch_between_integer_kinds_loses_nothing():
    edge = 2**31
    for s, t in ((edge - 1, edge + 1), (edge, edge + 1), (2**61 - 1, 2**61 - 1), (2**61 - 1, 2**61)):
        plan = monotone(np.arange(2), law([s - 1, 1]), law([1, t - 1]))
        rows, columns = [Fraction(s - 1, s), Fraction(1, s)], [Fraction(1, t), Fraction(t - 1, t)]
        assert marginals(plan, 2) == (rows, columns)
        assert (plan.masses.dtype == np.int64) == (math.lcm(s, t) < 2**62)


def test_decimal_masses_that_merge_leave_no_spurious_cell():
    p, q = Discrete([0, 0, 5], [0.1, 0.2, 0.7]), Discrete([0, 5], [0.3, 0.7])
    line = on_line(p, q, 1)
    plan = monotone(line.points, line.p, line.q)
    assert cells(plan) == [(0, 0, Fraction(3, 10), 0), (1, 1, Fraction(7, 10), 0)]
    wrong = np.union1d(np.cumsum([0.1 + 0.2, 0.7]), np.cumsum([0.3, 0.7]))
    assert len(wrong) > 2  # the version to reject: float sums


def test_a_tiny_cell_that_float_sums_drop_is_kept():
    p, q = Discrete([0, 7, 100], [1.0, 0, 1e-17]), Discrete([0, 7], [1 - 1e-6, 1e-6])
    line = on_line(p, q, 1)
    plan = monotone(line.points, line.p, line.q)
    assert line.unit == 1
    assert plan.distances.tolist() == [0, 7, 93]
    assert Fraction(plan.masses[2], plan.total) == Fraction(1e-17) / (1 + Fraction(1e-17))
    assert np.cumsum([1.0, 1e-17])[-1] == 1.0  # the version to reject sees no third cell


def test_double_distances_are_the_least_double_at_or_above():
    rng = np.random.default_rng(3)
    short = 0
    for _ in range(200):
        points = np.sort(rng.normal(size=6) * 10.0 ** rng.integers(-8, 8, 6))
        plan = monotone(points, law(random_parts(rng, 6)), law(random_parts(rng, 6)))
        for i, j, d in zip(plan.rows, plan.columns, plan.distances.tolist(), strict=True):
            exact = abs(Fraction(points[i]) - Fraction(points[j]))
            assert exact <= Fraction(d)
            assert d == 0 or Fraction(math.nextafter(d, 0)) < exact
            short += Fraction(abs(points[i] - points[j])) < exact
    assert short > 20  # the plain difference, to be rejected, falls below the distance


def test_overflowing_distances_are_infinite_not_wrong():
    plan = monotone(np.array([-1.7e308, 1.7e308]), law([1, 0]), law([0, 1]))
    assert plan.distances.tolist() == [math.inf]


def test_one_total_refuses_masses_that_do_not_add_up():
    with pytest.raises(BadLaw, match="add up"):
        one_total(Masses(np.array([1, 1]), Fraction(3)), Masses(np.array([1, 1]), Fraction(2)))
    with pytest.raises(BadLaw, match="support"):
        monotone(np.arange(3), law([1, 1]), law([1, 1]))


def test_atoms_without_mass_change_nothing():
    p, q = Discrete([0.5, 1.5], [1, 3]), Discrete([0.5, 2.5], [2, 2])
    padded = Discrete([math.pi, 0.5, 1.5, 7], [0, 1, 3, 0])
    a, b = on_line(p, q, 1), on_line(padded, q, 1)
    assert a.points.tolist() == b.points.tolist()
    assert a.unit == b.unit == Fraction(1)
    assert cells(monotone(a.points, a.p, a.q)) == cells(monotone(b.points, b.p, b.q))
