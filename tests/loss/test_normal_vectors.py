"""Two normal laws of vectors: vectors of the theory, oracles that share nothing with the proof, wrong versions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from mpmath.ctx_mp import MPContext
from scipy.special import ndtr
from scipy.stats import beta

from fugu.errors import BadBudget, BadLaw, BadNoise
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.loss.normal import (
    Gap,
    gap_delta,
    gap_divergence,
    normal_divergence,
    order_delta,
    prove_normal_delta,
    renyi_delta,
)
from fugu.loss.search.normal import fast_normal_delta
from fugu.loss.shifts import gaussian_delta, gaussian_mu
from hunting import search

mp = MPContext()
mp.dps = 40
F = Fraction
ONE_D = [
    (0, 1, 1, 1, 1, 0.126936737507), (0, 2, 1, 1, 1, 0.189373100207), (0, 2, 1, 1, 0.1, 0.325912497734),
    (0, 1, 0.5, 1.05, 0.5, 0.043252986569), (3, 18.31, 0, 18.03, 1, 0.041357311256), (0, 1, 0, 4, 0.5, 0.064933189863),
    (0, 1, 1, 2, 1, 0.0),
]  # fmt: skip
TWO_D = [
    (0.1, 0.3614691682, 0.3670800428), (0.5, 0.2404847999, 0.2687858391), (1, 0.1318704769, 0.1727006019),
    (2, 0.0330464252, 0.0617391387),
]  # fmt: skip
MEAN = ([1, 0], [0, 0.5])
COV = ([[2, 0.5], [0.5, 1]], [[1.5, 0.2], [0.2, 1.2]])


def zeros(n):
    return tuple((F(0),) * n for _ in range(n))


def noise(matrix):
    return tuple(tuple(F(str(x)) for x in row) for row in matrix)


def gap_of(d, a, b):
    return Gap(tuple(F(str(x)) for x in d), noise(a), noise(b))


def pair_of(p_mean, p_cov, q_mean, q_cov):
    return NormalPair(MultivariateNormal(p_mean, p_cov), MultivariateNormal(q_mean, q_cov), "pair")


def one_order_mc(rng, d, a, b, epsilon, draws=400_000, chance=1e-6):
    """Bernoulli draws with mean E_P (1 - e^{epsilon - L})_+ and their Clopper-Pearson interval at 1 - 2 chance."""
    z = rng.multivariate_normal(d, a, size=draws)

    def log_density(x, v):
        root = np.linalg.cholesky(v)
        return -0.5 * (np.linalg.solve(root, x.T) ** 2).sum(axis=0) - np.log(np.diag(root)).sum()

    h = np.maximum(0, -np.expm1(epsilon - log_density(z - d, a) + log_density(z, b)))
    k = int((rng.random(draws) < h).sum())
    low = beta.ppf(chance, k, draws - k + 1) if k else 0.0
    return low, beta.ppf(1 - chance, k + 1, draws - k) if k < draws else 1.0


def one_d(m1, v1, m2, v2, e):
    """sup_S P(S) - e^e Q(S) in one dimension at 40 digits, between the zeros of the quadratic ln p - ln q - e."""
    m1, v1, m2, v2, e = (mp.mpf(str(x)) for x in (m1, v1, m2, v2, e))
    a, b = (1 / v2 - 1 / v1) / 2, m1 / v1 - m2 / v2
    c = (m2 * m2 / v2 - m1 * m1 / v1 - mp.log(v1 / v2)) / 2 - e
    if a == 0:
        ends = [-c / b] if b else []
    else:
        disc = b * b - 4 * a * c
        ends = sorted((-b + s * mp.sqrt(disc)) / (2 * a) for s in (-1, 1)) if disc > 0 else []
    cells = [-mp.inf, *ends, mp.inf]
    total = mp.mpf(0)
    for lo, hi in pairwise(cells):

        def mass(m, v, lo=lo, hi=hi):
            return mp.ncdf((hi - m) / mp.sqrt(v)) - mp.ncdf((lo - m) / mp.sqrt(v))

        total += max(0, mass(m1, v1) - mp.exp(e) * mass(m2, v2))
    return total


@pytest.mark.parametrize(("m1", "v1", "m2", "v2", "e", "known"), ONE_D)
def test_one_dimension_both_orders(m1, v1, m2, v2, e, known):
    gap, back = gap_of([m1 - m2], [[v1]], [[v2]]), one_d(m2, v2, m1, v1, e)
    assert float(one_d(m1, v1, m2, v2, e)) == pytest.approx(known, abs=1e-12)
    both = gap_delta(gap, F(str(e)))
    assert max(known, float(back)) - 1e-12 <= both <= max(known, float(back)) + 1e-11
    if v1 != v2:
        for found, true in ((order_delta(gap, F(str(e))), one_d(m1, v1, m2, v2, e)),
                            (order_delta(gap.reversed, F(str(e))), back)):  # fmt: skip
            assert true <= mp.mpf(found) <= true * (1 + mp.mpf(10) ** -11)
    fast = fast_normal_delta(np.array([m1]), np.array([[v1]]), np.array([m2]), np.array([[v2]]), e)
    assert fast == pytest.approx(both, rel=1e-8)


def test_random_one_dimensional_laws_are_above_the_40_digit_value_and_tight():
    rng = np.random.default_rng(5)
    for _ in range(25):
        m, v1, v2 = (round(float(x), 3) for x in (rng.normal() * 2, rng.uniform(0.2, 3), rng.uniform(0.2, 3)))
        e = round(float(rng.exponential(1.5)), 2)
        if v1 == v2:
            continue
        true, found = one_d(m, v1, 0, v2, e), order_delta(gap_of([m], [[v1]], [[v2]]), F(str(e)))
        assert true <= mp.mpf(found)
        assert found <= float(true) * (1 + 1e-9) or true < mp.mpf(10) ** -60
        assert not true <= mp.mpf(found) * (1 - mp.mpf(10) ** -8) or true < mp.mpf(10) ** -60


@pytest.mark.parametrize(("e", "forward", "backward"), TWO_D)
def test_two_dimensions_both_orders(e, forward, backward):
    pair, gap = pair_of(MEAN[0], COV[0], MEAN[1], COV[1]), gap_of([1, -0.5], *COV)
    assert order_delta(gap, F(str(e))) == pytest.approx(forward, abs=2e-10)
    assert order_delta(gap.reversed, F(str(e))) == pytest.approx(backward, abs=2e-10)
    found = prove_normal_delta(pair, zeros(2), F(str(e)))
    assert found == pytest.approx(backward, abs=2e-10)
    assert found > forward + 1e-3, "one order only would claim too little"
    assert fast_normal_delta(
        *(np.array(x, dtype=float) for x in (MEAN[0], COV[0], MEAN[1], COV[1])), e
    ) == pytest.approx(found, rel=1e-9)
    assert found <= renyi_delta(gap.reversed, F(str(e))) < 4 * found


def test_ten_dimensions_with_repeated_eigenvalues():
    """A = (1 + t) I + noise of rank one against I: nine equal eigenvalues; compared with the two-block integral."""
    n = 10
    a = [[(1.5 if i == j else 0) + 0.1 for j in range(n)] for i in range(n)]
    b = [[float(i == j) for j in range(n)] for i in range(n)]
    d = [0.2] + [0.0] * (n - 1)
    low, high = one_order_mc(np.random.default_rng(0), np.array(d), np.array(a), np.array(b), 0.5)
    found = order_delta(gap_of(d, a, b), F(1, 2))
    assert low <= found <= high
    assert fast_normal_delta(np.array(d), np.array(a), np.zeros(n), np.array(b), 0.5) == pytest.approx(
        gap_delta(gap_of(d, a, b), F(1, 2)), rel=1e-8
    )


def test_coordinates_that_do_not_differ_change_nothing():
    """diag(2, 3), diag(1, 3) with no shift in the second coordinate is the one-dimensional pair."""
    alone = order_delta(gap_of([-1], [[2]], [[1]]), F(1))
    assert order_delta(gap_of([-1, 0], [[2, 0], [0, 3]], [[1, 0], [0, 3]]), F(1)) == pytest.approx(alone, rel=1e-12)
    level = order_delta(gap_of([-1, 1], [[2, 0], [0, 3]], [[1, 0], [0, 3]]), F(1))
    assert level > 1.05 * alone  # a shift at eigenvalue 1 does count
    low, high = one_order_mc(np.random.default_rng(2), np.array([-1.0, 1]), np.diag([2.0, 3]), np.diag([1.0, 3]), 1.0)
    assert low <= level <= high


def test_singular_covariances():
    flat = [[1, 0], [0, 0]]
    assert prove_normal_delta(pair_of([1, 1], flat, [0, 0], flat), zeros(2), F(1)) == 1.0
    d = np.array([1.0, 1.0])
    pinv_alone = math.sqrt(d @ np.linalg.pinv(np.array(flat, dtype=float)) @ d)
    assert gaussian_delta(1, pinv_alone) < 0.2, "the wrong version passes a pair that is told apart with certainty"
    inside = prove_normal_delta(pair_of([1, 0], flat, [0, 0], flat), zeros(2), F(1))
    assert inside == pytest.approx(gaussian_delta(1, 1), rel=1e-12)
    assert prove_normal_delta(pair_of([0, 0], flat, [0, 0], [[1, 0], [0, 1]]), zeros(2), F(1)) == 1.0
    assert prove_normal_delta(pair_of([0, 0], flat, [0, 0], [[0, 0], [0, 1]]), zeros(2), F(1)) == 1.0
    tilted, wide = [[1, 2], [2, 4]], [[2, 4], [4, 8]]
    same = prove_normal_delta(pair_of([-1, -2], wide, [0, 0], tilted), zeros(2), F(1))
    assert same == pytest.approx(gap_delta(gap_of([-1], [[2]], [[1]]), F(1)), rel=1e-12)
    assert prove_normal_delta(pair_of([-1, -2.000001], wide, [0, 0], tilted), zeros(2), F(1)) == 1.0
    repaired = prove_normal_delta(pair_of([1, 1], flat, [0, 0], flat), noise([[0, 0], [0, 1]]), F(1))
    assert repaired == pytest.approx(gaussian_delta(1, math.sqrt(2)), rel=1e-12)
    for pair in (([1, 1], flat, [0, 0], flat), ([0, 0], flat, [0, 0], [[1, 0], [0, 1]])):
        assert fast_normal_delta(*(np.array(x, dtype=float) for x in pair), 1.0) == 1.0
    assert prove_normal_delta(pair_of([1, 1], zeros(2), [1, 1], zeros(2)), zeros(2), F(1)) == 0.0
    assert prove_normal_delta(pair_of([1, 1], zeros(2), [1, 0], zeros(2)), zeros(2), F(1)) == 1.0


def test_noise_is_counted_and_less_of_it_shows():
    pair = pair_of(MEAN[0], COV[0], MEAN[1], COV[1])
    full = prove_normal_delta(pair, noise([[4, 1], [1, 3]]), F(1, 2))
    assert (
        full
        < prove_normal_delta(pair, noise([[3.8, 0.95], [0.95, 2.85]]), F(1, 2))
        < prove_normal_delta(pair, zeros(2), F(1, 2))
    )


def test_the_averaged_covariance_claims_too_little():
    """A small copy of the Adult setting: noise along the shift only, calibrated as if the covariances were equal."""
    p, q = [[18.7, 0.5], [0.5, 14]], [[17.6, 0.4], [0.4, 14.9]]
    average = [[18.15, 0.45], [0.45, 14.45]]
    shift, epsilon, delta = [3, 1], F(1, 5), 1e-3
    m = gaussian_mu(epsilon, delta)
    v = np.array(shift, dtype=float)
    s = 1 / m**2 - 1 / float(v @ np.linalg.solve(np.array(average), v))
    size = F(s * (1 + 1e-9)).limit_denominator(10**9)
    extra = tuple(tuple(size * x * y for x in shift) for y in shift)
    shared = prove_normal_delta(pair_of(shift, average, [0, 0], average), extra, epsilon)
    true = prove_normal_delta(pair_of(shift, p, [0, 0], q), extra, epsilon)
    assert shared <= delta * (1 + 1e-6)
    assert true > 1.2 * delta
    low, _ = one_order_mc(
        np.random.default_rng(1), -v, np.array(q) + s * np.outer(v, v), np.array(p) + s * np.outer(v, v), 0.2, 1_000_000
    )
    high, _ = one_order_mc(
        np.random.default_rng(1), v, np.array(p) + s * np.outer(v, v), np.array(q) + s * np.outer(v, v), 0.2, 1_000_000
    )
    assert max(low, high) > delta, "an independent estimate refutes the shared-covariance claim too"


def test_divergences_match_the_closed_form_and_quadrature():
    pair = pair_of(MEAN[0], COV[0], MEAN[1], COV[1])
    gap = gap_of([1, -0.5], *COV)
    a, b, d = np.array(COV[0]), np.array(COV[1]), np.array([1, -0.5])
    x = np.linspace(-25, 25, 1001)
    z = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)

    def log_density(z, v):
        return (
            -0.5 * np.einsum("xyi,ij,xyj->xy", z, np.linalg.inv(v), z)
            - math.log(2 * math.pi)
            - 0.5 * np.log(np.linalg.det(v))
        )

    alpha = 1.5
    total = np.exp(alpha * log_density(z - d, a) + (1 - alpha) * log_density(z, b)).sum() * 0.05**2
    found = gap_divergence(gap, F(3, 2))
    assert found == pytest.approx(math.log(total) / (alpha - 1), rel=1e-6)
    assert normal_divergence(pair, zeros(2), 1.5) == max(found, gap_divergence(gap.reversed, F(3, 2)))
    assert normal_divergence(pair, zeros(2), 50) == math.inf  # 50 V_q - 49 V_p is not positive definite
    assert normal_divergence(pair_of([0, 1], COV[0], [0, 1], COV[0]), zeros(2), 7) == 0.0


def test_a_bounded_ratio_costs_nothing_beyond_its_bound():
    """N(0, I) against N(0, 4 I): L <= ln 4 in this order, so delta is 0 from there on; the other order has no bound."""
    gap = gap_of([0, 0], [[1, 0], [0, 1]], [[4, 0], [0, 4]])
    assert order_delta(gap, F(14, 10)) == 0.0 < order_delta(gap, F(138, 100)) < 1e-4
    assert order_delta(gap.reversed, F(14, 10)) > 0.05
    # in this order P(|z| < r) - e^e Q(|z| < r), with r^2 (1 - 1/4) / 2 = ln 4 - e
    r2 = 2 * (math.log(4) - 1) / 0.75
    closed = (1 - math.exp(-r2 / 2)) - math.e * (1 - math.exp(-r2 / 8))
    assert order_delta(gap, F(1)) == pytest.approx(closed, rel=1e-11)


def test_wrong_input_is_refused():
    pair = pair_of(MEAN[0], COV[0], MEAN[1], COV[1])
    with pytest.raises(BadNoise):
        prove_normal_delta(pair, zeros(3), F(1))
    with pytest.raises(BadNoise):
        prove_normal_delta(pair, noise([[-1, 0], [0, 1]]), F(1))
    with pytest.raises(BadNoise):
        prove_normal_delta(pair, noise([[1, 0.5], [0, 1]]), F(1))
    with pytest.raises(BadLaw):
        prove_normal_delta(NormalPair(pair.p, MultivariateNormal([0, 0, 0], np.eye(3)), "sizes"), zeros(2), F(1))
    with pytest.raises(BadBudget):
        prove_normal_delta(pair, zeros(2), F(-1))


@search("delta of normal vectors against a million draws", quick=2)
def test_random_search_for_a_false_claim(rng):
    n = int(rng.integers(2, 7))
    x, y = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    size = 10 ** rng.uniform(-2, 0)
    a = np.round(x @ x.T + 0.3 * np.eye(n), 8)
    b = np.round(a + size * y @ y.T, 8)
    d, e = np.round(rng.normal(size=n) * rng.choice([0, 0.3, 1]), 5), float(np.round(rng.exponential(0.7), 3))
    gap = gap_of(d, a, b)
    for one, left, right, sign in ((gap, a, b, 1), (gap.reversed, b, a, -1)):
        low, high = one_order_mc(rng, sign * d, left, right, e, 1_000_000, chance=1e-10)
        found = order_delta(one, F(str(e)))
        assert low <= found <= high
        assert found < 0.02 or not low <= 0.9 * found <= high  # a tenth less is told from the truth
    assert fast_normal_delta(d, a, np.zeros(n), b, e) == pytest.approx(gap_delta(gap, F(str(e))), rel=1e-8, abs=1e-90)


def test_phi_at_half_the_shift_is_the_delta_at_zero():
    eye = [[1, 0], [0, 1]]
    found = prove_normal_delta(pair_of([3, 4], eye, [0, 0], eye), zeros(2), F(0))
    assert found == pytest.approx(2 * ndtr(2.5) - 1, rel=1e-13)
