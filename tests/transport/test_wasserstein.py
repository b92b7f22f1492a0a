"""W_inf and W_r on the line against quantile functions, linear programs and closed forms."""

import math
import time
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.laws import Discrete, Shifted
from fugu.numbers.exact import as_fraction, float_up
from fugu.transport.coupling import on_line
from fugu.transport.wasserstein import w_inf_index, wasserstein


def fractions(law):
    parts, total = law.masses.whole()
    return [Fraction(m, total) for m in parts]


def quantile(values, cumulative, level):
    return next(v for v, c in zip(values, cumulative, strict=True) if c >= level)


def by_quantiles(p, q, read=as_fraction):
    """sup over levels of |F^-1 - G^-1| and the integral of |F^-1 - G^-1|, in rationals."""
    x, y = [read(v) for v in p.values.tolist()], [read(v) for v in q.values.tolist()]
    cx, cy = list(accumulate(fractions(p))), list(accumulate(fractions(q)))
    levels = sorted({c for c in cx + cy if c > 0})
    gaps = [abs(quantile(x, cx, u) - quantile(y, cy, u)) for u in levels]
    return max(gaps), sum(g * (u - v) for g, u, v in zip(gaps, levels, [Fraction(0), *levels], strict=False))


def feasible(p, q, reach):
    """Whether some coupling moves no mass further than `reach`: a linear program over the allowed cells."""
    near = np.abs(p.values[:, None] - q.values[None, :]) <= reach + 1e-9
    if not near.any():
        return False
    i, j = np.nonzero(near)
    rows = np.zeros((len(p.values) + len(q.values), len(i)))
    rows[i, np.arange(len(i))] = 1
    rows[len(p.values) + j, np.arange(len(i))] = 1
    found = linprog(-np.ones(len(i)), A_ub=rows, b_ub=np.concatenate([p.weights, q.weights]))
    return -found.fun >= 1 - 1e-9


def counts(rng, n):
    c = rng.integers(0, 6, n)
    c[rng.integers(n)] += 1
    return c


def test_agrees_with_quantile_functions_on_decimals():
    rng = np.random.default_rng(11)
    rejected = 0
    for case in range(200):
        n, m = rng.integers(1, 9, 2)
        digits = int(rng.integers(0, 5))
        x, y = np.round(rng.normal(size=n) * 20, digits), np.round(rng.normal(size=m) * 20, digits)
        p, q = Discrete(x, counts(rng, n)), Discrete(y, counts(rng, m))
        largest, mean = by_quantiles(p, q)
        assert wasserstein(p, q) == float_up(largest)
        assert 0 <= Fraction(wasserstein(p, q, order=1)) - mean <= mean / 2**51, case
        rejected += mean < largest
    assert rejected > 100  # the mean cost W_1 in place of W_inf


def test_agrees_with_quantile_functions_on_binary_values_and_masses():
    rng = np.random.default_rng(12)
    for _ in range(100):
        n, m = rng.integers(1, 9, 2)
        a, b = rng.random(n), rng.random(m)
        p, q = Discrete(rng.normal(size=n), a / a.sum()), Discrete(rng.normal(size=m), b / b.sum())
        largest, _ = by_quantiles(p, q, Fraction)
        assert wasserstein(p, q) == float_up(largest)


def test_agrees_with_linear_programs():
    rng = np.random.default_rng(13)
    for _ in range(60):
        n, m = rng.integers(1, 7, 2)
        p = Discrete(rng.choice(15, n, replace=False), counts(rng, n))
        q = Discrete(rng.choice(15, m, replace=False), counts(rng, m))
        w = wasserstein(p, q)
        assert feasible(p, q, w)
        assert w == 0 or not feasible(p, q, w - 1)
        assert wasserstein(p, q, order=1) == pytest.approx(
            wasserstein_distance(p.values, q.values, p.weights, q.weights), abs=1e-12
        )


def test_merged_decimal_masses_give_no_gap():
    assert wasserstein(Discrete([0, 0, 5], [0.1, 0.2, 0.7]), Discrete([0, 5], [0.3, 0.7])) == 0
    assert wasserstein(Discrete([0, 1, 5], [0.1, 0.2, 0.7]), Discrete([0, 5], [0.3, 0.7])) == 1
    assert 0.1 + 0.2 > 0.3  # in floats a sliver of mass would travel the full 5


def test_a_cell_of_mass_1e_17_counts_in_full():
    p, q = Discrete([0, 100], [1.0, 1e-17]), Discrete([0])
    assert wasserstein(p, q) == 100
    assert 9.9e-16 < wasserstein(p, q, order=1) < 1.01e-15
    assert wasserstein(p, q, order=10_000) == pytest.approx(100 * 1e-17**1e-4, rel=1e-12)


def test_values_are_read_as_decimals():
    assert wasserstein(Discrete([0.1]), Discrete([0.3])) == 0.2
    assert 0.3 - 0.1 < 0.2  # the plain difference falls short
    third = Discrete([1 / 3])  # no decimal: every value is then the binary number it is
    exact = Fraction(1 / 3) - Fraction(0.1)
    assert wasserstein(Discrete([0.1]), third) == float_up(exact)


def test_the_mean_cost_is_not_a_scale_that_protects():
    p, q = Discrete([0, 100], [99, 1]), Discrete([0])

    def level(b):  # exact pure level of Laplace noise: the ratio is extreme at an atom
        ratios = (0.99 + 0.01 * math.exp((abs(z) - abs(z - 100)) / b) for z in (0, 100))
        return max(abs(math.log(r)) for r in ratios)

    assert level(wasserstein(p, q)) <= 1
    assert level(wasserstein(p, q, order=1)) > 90


def test_point_masses_symmetry_shift_reflection_rescaling_and_triangle():
    rng = np.random.default_rng(14)
    assert wasserstein(Discrete([2.5]), Discrete([-1])) == 3.5
    for order in (1, 1.5, 2, 7, math.inf):
        assert wasserstein(Discrete([2.5]), Discrete([-1]), order) == 3.5
        assert wasserstein(Discrete([2.5]), Discrete([2.5]), order) == 0
    for _ in range(60):
        x, y, z = (rng.choice(40, 5, replace=False) for _ in range(3))
        a, b, c = (counts(rng, 5) for _ in range(3))
        p, q, r = Discrete(x, a), Discrete(y, b), Discrete(z, c)
        w = wasserstein(p, q)
        assert w == wasserstein(q, p) == wasserstein(Discrete(x + 7, a), Discrete(y + 7, b))
        assert w == wasserstein(Discrete(-x, a), Discrete(-y, b))
        assert wasserstein(Discrete(x / 8, a), Discrete(y / 8, b)) == w / 8
        assert wasserstein(p, r) <= w + wasserstein(q, r)
        orders = [wasserstein(p, q, order) for order in (1, Fraction(3, 2), 2, 3, 50, math.inf)]
        assert orders == sorted(orders)


def test_order_two_matches_a_direct_sum_and_exact_squares_stay_exact():
    assert wasserstein(Discrete([0, 0, 0, 1]), Discrete([0]), order=2) == 0.5
    p, q = Discrete([0, 1, 4], [0.2, 0.3, 0.5]), Discrete([1, 2], [0.5, 0.5])
    assert wasserstein(p, q, order=2) == pytest.approx(math.sqrt(0.2 + 0.5 * 4), rel=1e-15)


def test_index_distance_on_a_lattice():
    p, q = Discrete([0, 3, 9], [1, 1, 2]), Discrete([0, 3, 9], [2, 1, 1])
    w = w_inf_index(np.array([0, 3, 9]), p.masses, q.masses)
    assert w == 6
    assert type(w) is int


def test_one_column_of_numbers_is_a_law_of_numbers():
    assert wasserstein(Discrete([[1.0], [2.0]]), Discrete([1.0, 4.0])) == 2


def test_wrong_use_is_refused():
    p = Discrete([0, 1])
    for order in (0, 0.99, -1, math.nan, "2", True):
        with pytest.raises(UsageError, match="order"):
            wasserstein(p, p, order)
    for norm in (0, 0.5, math.nan, "l1", True):
        with pytest.raises(UsageError, match="norm"):
            wasserstein(p, p, norm=norm)
    assert wasserstein(p, p, norm=math.inf) == 0
    plane = Discrete([[0, 1], [1, 0]])
    assert wasserstein(plane, plane) == 0
    with pytest.raises(UsageError, match="1, 2 or inf"):
        wasserstein(plane, plane, norm=3)
    with pytest.raises(NotProvable, match="line"):
        on_line(plane, plane, 2)
    with pytest.raises(BadLaw, match="dimension"):
        wasserstein(p, plane)
    with pytest.raises(BadLaw, match="Shifted"):
        wasserstein(p, Shifted(1))


def test_two_hundred_thousand_atoms_take_about_a_second():
    rng = np.random.default_rng(15)
    n = 200_000
    p, q = Discrete(np.arange(n), rng.integers(0, 50, n)), Discrete(np.arange(n), rng.integers(0, 50, n))
    begin = time.perf_counter()
    w = wasserstein(p, q)
    assert time.perf_counter() - begin < 4
    assert 0 < w < n
