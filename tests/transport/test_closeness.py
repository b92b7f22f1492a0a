"""(W, delta)-closeness against the Strassen dual, linear programs and all candidate distances."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import ndtr

from fugu.errors import BadBudget, UsageError
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.numbers.exact import as_fraction, float_up
from fugu.transport.coupling import monotone, on_line, one_total
from fugu.transport.matching import closeness, closeness_index, unmatched
from fugu.transport.wasserstein import wasserstein


def law(parts):
    return Masses(np.array(parts, dtype=np.int64), Fraction(int(sum(parts))))


def random_parts(rng, n):
    parts = rng.integers(0, 6, n) * rng.integers(0, 2, n)
    parts[rng.integers(n)] += 1
    return parts


def strassen(points, p, q, reach):
    """max over all sets A of atoms of p(A) - q(within reach of A), by trying every set."""
    a, b, total = one_total(p, q)
    n = len(points)
    near = [sum(1 << j for j in range(n) if abs(points[i] - points[j]) <= reach) for i in range(n)]
    gain, cost, hood = [0] * (1 << n), [0] * (1 << n), [0] * (1 << n)
    for s in range(1, 1 << n):
        low, rest = (s & -s).bit_length() - 1, s & (s - 1)
        gain[s], cost[s], hood[s] = gain[rest] + int(a[low]), cost[rest] + int(b[low]), hood[rest] | near[low]
    return Fraction(max(gain[s] - cost[hood[s]] for s in range(1 << n)), total)


def trading_dual(points, p, q, reach):
    """The same maximum in one pass: intervals bought at F(x-) - G((x - W)-) and sold at F(x) - G(x + W)."""
    a, b, total = one_total(p, q)
    below_a, below_b = np.concatenate([[0], np.cumsum(a)]), np.concatenate([[0], np.cumsum(b)])
    n = len(points)
    sale = below_a[1:] - below_b[np.searchsorted(points, points + reach, side="right")]
    price = below_a[:n] - below_b[np.searchsorted(points, points - reach, side="left")]
    cash, hold = 0, -(2**62)
    for buy, sell in zip(price.tolist(), sale.tolist(), strict=True):
        hold = max(hold, cash - buy)
        cash = max(cash, hold + sell)
    return Fraction(cash, total)


def by_linear_program(points, p, q, reach):
    i, j = np.nonzero(np.abs(points[:, None] - points[None, :]) <= reach)
    n = len(points)
    rows = np.zeros((2 * n, len(i)))
    rows[i, np.arange(len(i))] = 1
    rows[n + j, np.arange(len(i))] = 1
    return 1 + linprog(-np.ones(len(i)), A_ub=rows, b_ub=np.concatenate([p.floats(), q.floats()])).fun


def left_by_monotone(points, p, q, reach):
    plan = monotone(points, p, q)
    return Fraction(int(plan.masses[plan.distances > reach].sum()), plan.total)


def test_unmatched_is_the_strassen_dual_on_every_subset():
    rng = np.random.default_rng(21)
    worse = 0
    for _ in range(200):
        n = int(rng.integers(1, 9))
        points = np.sort(rng.choice(16, n, replace=False)).astype(np.int64)
        p, q = law(random_parts(rng, n)), law(random_parts(rng, n))
        reach = int(rng.integers(0, 8))
        left = unmatched(points, p, q, reach)
        assert left == strassen(points.tolist(), p, q, reach) == trading_dual(points, p, q, reach)
        assert left == unmatched(points, q, p, reach)
        assert left == unmatched(points.astype(np.float64), p, q, float(reach))
        mirrored = [Masses(m.parts[::-1], m.total) for m in (p, q)]
        assert left == unmatched(-points[::-1], *mirrored, reach)
        worse += left_by_monotone(points, p, q, reach) > left
    assert worse > 20  # the monotone coupling in place of the greedy pass


def test_unmatched_is_the_linear_program():
    rng = np.random.default_rng(22)
    for _ in range(80):
        n = int(rng.integers(1, 9))
        points = np.sort(rng.choice(20, n, replace=False)).astype(np.int64)
        p, q, reach = law(random_parts(rng, n)), law(random_parts(rng, n)), int(rng.integers(0, 8))
        expected = by_linear_program(points, p, q, reach)
        assert float(unmatched(points, p, q, reach)) == pytest.approx(expected, abs=1e-9)


def test_uniform_shift_by_one_leaves_a_tenth_not_everything():
    points = np.arange(11)
    low, high = law([1] * 10 + [0]), law([0] + [1] * 10)
    assert unmatched(points, low, high, 0) == Fraction(1, 10)
    assert left_by_monotone(points, low, high, 0) == 1
    p, q = Discrete(range(10)), Discrete(range(1, 11))
    assert closeness(p, q, 0.1) == 0
    assert closeness(p, q, 0.0999) == 1


def test_translated_normals_on_a_grid():
    """N(0, 1) against N(2, 1): 2 Phi((t - W) / 2) - 1."""
    grid = np.arange(-60, 81)
    p, q = (np.rint(np.exp(-((grid / 10 - m) ** 2) / 2) * 2**40).astype(np.int64) for m in (0, 2))
    for w, expected in ((0, 0.6826895), (0.5, 0.5467453), (1, 0.3829249), (1.5, 0.1974127)):
        assert 2 * ndtr((2 - w) / 2) - 1 == pytest.approx(expected, abs=1e-7)
        assert float(unmatched(grid, law(p), law(q), int(w * 10))) == pytest.approx(expected, abs=2e-3)


def candidates(p, q, read):
    pairs = ((read(x), read(y)) for x in p.values.tolist() for y in q.values.tolist())
    return sorted({abs(x - y) for x, y in pairs} | {Fraction(0)})


@pytest.mark.parametrize("kind", ["lattice", "binary"])
def test_least_distance_among_all_candidates(kind):
    rng = np.random.default_rng(23)
    for _ in range(100):
        n, m = rng.integers(1, 7, 2)
        x, y = rng.normal(size=n), rng.normal(size=m)
        if kind == "lattice":
            x, y = np.round(x, 2), np.round(y, 2)
        read = as_fraction if kind == "lattice" else Fraction
        p, q = Discrete(x, random_parts(rng, n)), Discrete(y, random_parts(rng, m))
        delta = float(rng.choice([0, 0.01, 0.1, 0.25, 0.5, 0.9]))
        line = on_line(p, q, 1)
        assert (line.unit is None) == (kind == "binary")
        unit = Fraction(1) if line.unit is None else line.unit
        least = next(
            w for w in candidates(p, q, read) if unmatched(line.points, line.p, line.q, w / unit) <= as_fraction(delta)
        )
        assert closeness(p, q, delta) == float_up(least)
        if kind == "lattice":
            assert closeness_index(line.points, line.p, line.q, as_fraction(delta)) * unit == least


def test_delta_zero_is_w_inf_and_more_delta_is_never_farther():
    rng = np.random.default_rng(24)
    for _ in range(60):
        n, m = rng.integers(1, 8, 2)
        p = Discrete(rng.choice(30, n, replace=False) / 4, random_parts(rng, n))
        q = Discrete(rng.choice(30, m, replace=False) / 4, random_parts(rng, m))
        reached = [closeness(p, q, d) for d in (0, 1e-300, 0.05, 0.2, 0.7, 0.999)]
        assert reached[0] == reached[1] == wasserstein(p, q)
        assert reached == sorted(reached, reverse=True)


def test_extreme_doubles():
    p, q = Discrete([1e-300, 1e300], [0.5, 0.5]), Discrete([0, 1e-310], [0.25, 0.75])
    assert closeness(p, q, 0.5) == float_up(Fraction(1e-300) - Fraction(1e-310))  # only the far half is spared
    assert closeness(p, q, 0.49) == 1e300
    assert closeness(p, q, 0) == 1e300
    sliver = Discrete([0, math.pi], [1.0, 1e-17])
    share = Fraction(1e-17) / (1 + Fraction(1e-17))
    assert closeness(sliver, Discrete([0]), share) == 0
    assert closeness(sliver, Discrete([0]), share - Fraction(1, 10**40)) == math.pi


def test_wrong_use_is_refused():
    p = Discrete([0, 1])
    for delta in (-0.1, 1, 1.5, math.nan, "0.1", True):
        with pytest.raises(BadBudget, match="delta"):
            closeness(p, p, delta)
    with pytest.raises(UsageError, match="1, 2 or inf"):
        closeness(Discrete([[0, 1], [1, 0]]), Discrete([[0, 1], [1, 0]]), 0.1, norm=3)
    assert unmatched(np.arange(2), p.masses, p.masses, -1) == 1


def test_many_atoms():
    rng = np.random.default_rng(25)
    n = 200_000
    p, q = Discrete(np.arange(n), rng.integers(0, 50, n)), Discrete(np.arange(n), rng.integers(0, 50, n))
    begin = time.perf_counter()
    w = closeness(p, q, 0.01)
    assert time.perf_counter() - begin < 15
    line = on_line(p, q, 1)
    assert trading_dual(line.points, line.p, line.q, int(w)) <= Fraction(1, 100)
    assert trading_dual(line.points, line.p, line.q, int(w) - 1) > Fraction(1, 100)
