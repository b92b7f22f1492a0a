"""Lattice noise against continuous noise: brute-force laws of released vectors, and what breaks where it is narrow.

At tau = 4 both agree to 1e-33, beyond doubles. The theorems hold for every tau, so most tests set tau = 1/4, where
eta is 1.5 % and a wrong constant shows."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from scipy.signal import convolve2d
from scipy.special import ndtr

from fugu.errors import NotProvable
from fugu.laws import Discrete
from fugu.loss import vectors_gaussian
from fugu.loss import vectors_gaussian as vector_gauss
from fugu.noise import Gaussian
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers import balls
from fugu.transport.coupling import Coupling
from fugu.transport.matching import in_space
from hunting import search

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
NODES, WEIGHTS = NODES / 2, WEIGHTS / 2


def shift_excess(noise: CorrelatedGaussian) -> arb:
    """kappa for lattice noise at a lattice point against a post-processing of N(0, S - tau grid^2 I)."""
    if not noise.base:
        raise NotProvable("noise along lines alone is too narrow against its grid")
    vectors_gaussian.excess(noise, [])  # refuses noise that is too narrow
    with balls.precision(vectors_gaussian._PRECISION):
        both = (
            vectors_gaussian.eta(vectors_gaussian.TAU, len(noise.columns)),
            vectors_gaussian.eta(vectors_gaussian.TAU, noise.dimension),
        )
        return sum((((1 + h) / (1 - h)).log() for h in both), arb(0)).upper()


@pytest.fixture
def narrow(monkeypatch):
    """tau = 1/4: widths of a lattice step or so count as wide, at the price of a kappa that can be seen."""
    monkeypatch.setattr(vectors_gaussian, "TAU", Fraction(1, 4))


# --- eta ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", ["0.05", "0.1", "0.25", "0.5", "1", "4"])
def test_eta_is_never_below_the_deviation_of_a_sum_from_its_integral(tau):
    with mp.workdps(60), balls.precision(256):
        t = mp.mpf(tau)
        stated = [mp.mpf(balls.upper(vectors_gaussian.eta(Fraction(tau), n))) for n in (1, 2)]
        worst = [mp.mpf(0), mp.mpf(0)]
        reach = range(-int(16 * mp.sqrt(t)) - 12, int(16 * mp.sqrt(t)) + 13)
        lines = []
        for c in (mp.mpf(0), mp.mpf("0.2"), mp.mpf("0.5")):
            line = mp.fsum(mp.exp(-((k - c) ** 2) / (2 * t)) for k in reach) / mp.sqrt(2 * mp.pi * t)
            lines.append(line)
            worst[0] = max(worst[0], abs(line - 1))
        worst[1] = max(abs(a * b - 1) for a in lines for b in lines)
        for n in (0, 1):
            assert worst[n] <= stated[n]
            if t >= 0.25:  # no coarser than it must be: half of it would be wrong
                assert worst[n] > stated[n] * 0.98


def test_eta_holds_for_correlated_sums_with_the_least_eigenvalue_and_not_with_the_trace():
    rng = np.random.default_rng(1)
    k = np.array([(i, j) for i in range(-40, 41) for j in range(-40, 41)], dtype=float)
    for _ in range(30):
        tau = rng.uniform(0.1, 0.6)
        a = rng.normal(size=2)
        T = tau * np.eye(2) + np.outer(a, a)
        x = k - rng.uniform(size=2)
        total = np.exp(-0.5 * np.einsum("ki,ij,kj->k", x, np.linalg.inv(T), x)).sum()
        found = abs(total / (2 * math.pi * math.sqrt(np.linalg.det(T))) - 1)
        assert found <= balls.upper(vectors_gaussian.eta(Fraction(tau), 2)) + 1e-12
    flat = np.array([[0.1, 0.0], [0.0, 9.9]])
    total = np.exp(-0.5 * np.einsum("ki,ij,kj->k", k, np.linalg.inv(flat), k)).sum()
    assert abs(total / (2 * math.pi * math.sqrt(np.linalg.det(flat))) - 1) > balls.upper(
        vectors_gaussian.eta(Fraction(5), 2)
    )


# --- the law of what is released --------------------------------------------------------------------------------------


def line_law(width, reach):
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-(k**2) / (2 * width**2))
    return mass / mass.sum()


def noise_law(noise, reach):
    """P(N = x) on [-reach, reach]^2, from the definition: independent discrete Gaussians, convolved."""
    law = np.zeros((2 * reach + 1, 2 * reach + 1))
    if noise.base:
        one = line_law(float(noise.base / noise.grid), reach)
        law = np.outer(one, one)
    else:
        law[reach, reach] = 1
    for r, b in zip(noise.scales, noise.columns, strict=True):
        found = np.zeros_like(law)
        for z, p in zip(range(-reach, reach + 1), line_law(float(r), reach), strict=True):
            i, j = z * b[0], z * b[1]
            if abs(i) <= 2 * reach and abs(j) <= 2 * reach:
                found += p * shifted(law, i, j)
        law = found
    return law


def shifted(law, i, j):
    out = np.zeros_like(law)
    n, m = law.shape
    out[max(i, 0) : n + min(i, 0), max(j, 0) : m + min(j, 0)] = law[
        max(-i, 0) : n + min(-i, 0), max(-j, 0) : m + min(-j, 0)
    ]
    return out


def rounded_normal(mu, V, reach):
    """P(floor(F + 1/2) = k) for F of law N(mu, V): 12 x 12 Gauss points a cell."""
    axis = (np.arange(-reach, reach + 1)[:, None] + NODES).ravel()
    x, y = np.meshgrid(axis - mu[0], axis - mu[1], indexing="ij")
    P = np.linalg.inv(V)
    density = np.exp(-0.5 * (P[0, 0] * x * x + 2 * P[0, 1] * x * y + P[1, 1] * y * y))
    density /= 2 * math.pi * math.sqrt(np.linalg.det(V))
    n = 2 * reach + 1
    return np.einsum("iajb,a,b->ij", density.reshape(n, 12, n, 12), WEIGHTS, WEIGHTS)


def worst_ratio(noise, mu, V, reach=24):
    """max |ln M / R| over all lattice points that matter to doubles; lengths in steps."""
    S = np.array([[float(x / noise.grid**2) for x in row] for row in noise.covariance()])
    M = convolve2d(rounded_normal(mu, V, reach), noise_law(noise, reach), mode="same")
    R = rounded_normal(mu, V + S, reach)
    held = R > 1e-9
    assert R[held].sum() > 1 - 1e-5 and abs(rounded_normal(mu, V, reach).sum() - 1) < 1e-8
    return float(np.abs(np.log(M[held] / R[held])).max())


def exact(V, grid=1):
    return tuple(tuple(Fraction(x) * Fraction(grid) ** 2 for x in row) for row in V)


FULL = [
    # base, columns, scales, V in steps: base^2 >= 1/2 and B'B / 2, scales^2 and V >= 1/2, each at its limit somewhere
    (Fraction(708, 1000), (), (), [[0.5, 0], [0, 0.5]]),
    (Fraction(1), ((1, -1),), (Fraction(708, 1000),), [[0.5, 0], [0, 0.5]]),
    (Fraction(1), ((1, -1), (1, 1)), (Fraction(708, 1000), Fraction(2)), [[1.0, 0.4], [0.4, 0.9]]),
    (Fraction(8, 5), ((2, 1),), (Fraction(3, 4),), [[3.0, 2.4], [2.4, 3.0]]),
]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("grid", [1, Fraction(1, 8)])
@pytest.mark.parametrize(("base", "columns", "scales", "V"), FULL)
def test_rounding_and_noise_of_full_rank_are_a_rounded_normal_law(base, columns, scales, V, grid):
    noise = CorrelatedGaussian(base * grid, columns, scales, Fraction(grid), 2)
    kappa = balls.upper(vectors_gaussian.excess(noise, [exact(V, grid)]))
    found = max(worst_ratio(noise, mu, np.array(V)) for mu in ((0.0, 0.0), (0.3, -0.45), (0.5, 0.5)))
    assert found <= kappa + 1e-7
    assert 0.01 < kappa < 0.15


@pytest.mark.usefixtures("narrow")
def test_at_the_limit_of_the_widths_kappa_is_not_idle():
    """Half of kappa would be wrong for the tightest of the cases: the columns leave holes of 4 % between them."""
    noise = CorrelatedGaussian(Fraction(1), ((1, -1), (1, 1)), (Fraction(708, 1000),) * 2, Fraction(1), 2)
    law = noise_law(noise, 20)
    k = np.arange(-20, 21)
    x, y = np.meshgrid(k, k, indexing="ij")
    S = np.linalg.inv(np.array([[float(v) for v in row] for row in noise.covariance()]))
    shape = np.exp(-0.5 * (S[0, 0] * x * x + 2 * S[0, 1] * x * y + S[1, 1] * y * y))
    held = shape > 1e-9
    ratio = law[held] / (shape / shape.sum())[held]
    kappa = balls.upper(shift_excess(noise))
    assert kappa / 12 < np.abs(np.log(ratio)).max() < kappa


ALONG = [
    (((1, -1),), (Fraction(708, 1000),), [[0.8, -0.5], [-0.5, 0.8]]),
    (((2, 1),), (Fraction(1),), [[2.4, 1.0], [1.0, 0.9]]),
    (((1, 2), (1, -1)), (Fraction(3, 4), Fraction(708, 1000)), [[1.3, 0.5], [0.5, 2.8]]),
]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("columns", "scales", "V"), ALONG)
def test_noise_along_columns_alone_is_enough_where_the_laws_cover_them(columns, scales, V):
    noise = CorrelatedGaussian(0, columns, scales, Fraction(1))
    kappa = balls.upper(vectors_gaussian.excess(noise, [exact(V)]))
    found = max(worst_ratio(noise, mu, np.array(V)) for mu in ((0.0, 0.0), (0.3, -0.45)))
    assert found <= kappa + 1e-7


def masses_on_a_line(mu, b, variance, reach):
    """P(floor(mu + b w + 1/2) = k) for w of law N(0, variance): intervals of w, exactly."""
    s = math.sqrt(variance)
    k = np.arange(-reach, reach + 1)
    ends = [np.stack([(k - 0.5 - m) / c, (k + 0.5 - m) / c]) for m, c in zip(mu, b, strict=True)]
    low = np.maximum(ends[0].min(axis=0)[:, None], ends[1].min(axis=0)[None, :])
    high = np.minimum(ends[0].max(axis=0)[:, None], ends[1].max(axis=0)[None, :])
    return np.where(high > low, ndtr(np.maximum(high, low) / s) - ndtr(low / s), 0.0)


@pytest.mark.usefixtures("narrow")
def test_a_law_on_a_line_is_covered_along_that_line_and_on_no_other():
    """V singular: V >= 2 tau B B' forces the columns into its range, and the sum over z is the same on that line."""
    b, r, spread = (2, 1), Fraction(3, 4), 0.5
    noise = CorrelatedGaussian(0, (b,), (r,), Fraction(1))
    V = exact([[spread * b[i] * b[j] for j in (0, 1)] for i in (0, 1)])
    kappa = balls.upper(vectors_gaussian.excess(noise, [V]))
    for mu in ((0.0, 0.0), (0.3, -0.45)):
        law = masses_on_a_line(mu, b, spread, 20)
        M = convolve2d(law, noise_law(noise, 20), mode="same")
        R = masses_on_a_line(mu, b, spread + float(r) ** 2, 20)
        held = R > 1e-9
        assert R[held].sum() > 1 - 1e-6 and M[R == 0].sum() < 1e-12
        assert np.abs(np.log(M[held] / R[held])).max() <= kappa + 1e-7
    with pytest.raises(NotProvable, match="varies too little"):
        vectors_gaussian.excess(CorrelatedGaussian(0, ((1, 2),), (r,), Fraction(1)), [V])


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("base", "columns", "scales"), [case[:3] for case in FULL])
def test_noise_at_a_point_is_a_post_processing_of_narrower_continuous_noise(base, columns, scales):
    noise = CorrelatedGaussian(base, columns, scales, Fraction(1), 2)
    kappa = balls.upper(shift_excess(noise))
    S = np.array([[float(x) for x in row] for row in noise.covariance()])
    reach, fine, tau = 14, 12, 0.25
    y = np.arange(-reach * fine, reach * fine + 1) / fine
    k = np.arange(-reach, reach + 1)
    pick = np.exp(-((k[:, None] - y[None, :]) ** 2) / (2 * tau))
    theta = np.exp(-((np.arange(-40, 41)[:, None] - y[None, :]) ** 2) / (2 * tau)).sum(axis=0)
    P = np.linalg.inv(S - tau * np.eye(2))
    u, v = np.meshgrid(y, y, indexing="ij")
    density = np.exp(-0.5 * (P[0, 0] * u * u + 2 * P[0, 1] * u * v + P[1, 1] * v * v))
    law = (pick / theta) @ density @ (pick / theta).T
    law /= law.sum()
    M = noise_law(noise, reach)
    held = M > 1e-9
    assert np.abs(np.log(M[held] / law[held])).max() <= kappa + 1e-6
    wide = np.exp(-0.5 * np.einsum("ij,i...,j...->...", np.linalg.inv(S), np.array([u, v]), np.array([u, v])))
    wrong = (pick / theta) @ wide @ (pick / theta).T  # the same from N(0, S) itself: tau not taken off
    assert np.abs(np.log(M[held] / (wrong / wrong.sum())[held])).max() > kappa


@search("lattice noise at the limit of its width against brute force", quick=3)
def test_random_noises_and_laws_at_the_limit_of_their_widths(rng):
    k = int(rng.integers(1, 3))
    columns = tuple(tuple(int(x) for x in rng.integers(-2, 3, size=2)) for _ in range(k))
    B = np.array(columns, dtype=float).T
    if not B.any():
        return 0
    scales = tuple(Fraction(math.sqrt(0.5 * rng.choice([1.001, 1.5]))) for _ in range(k))
    a = rng.normal(size=2) * rng.choice([0.1, 0.7])
    if rng.random() < 0.5:
        base = Fraction(math.sqrt(0.5 * max(1.0, np.linalg.eigvalsh(B.T @ B)[-1]) * 1.001))
        V = 0.5001 * np.eye(2) + np.outer(a, a)
    else:
        base, V = Fraction(0), 0.5001 * B @ B.T + np.outer(a, a) + 0.12 * np.eye(2)
    noise = CorrelatedGaussian(base, columns, scales, Fraction(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors_gaussian, "TAU", Fraction(1, 4))
        kappa = balls.upper(vectors_gaussian.excess(noise, [exact(V.tolist())]))
    assert worst_ratio(noise, rng.uniform(-0.5, 0.5, size=2), V, 34) <= kappa + 1e-7
    return 1


# --- the conditions ---------------------------------------------------------------------------------------------------

TINY = Fraction(1, 10**30)
EIGHT = exact([[8, 0], [0, 8]])


def test_widths_are_decided_exactly_at_their_limits():
    def kappa(base, columns, scales, cov=exact([[9, 0], [0, 9]]), grid=1):
        return balls.upper(vectors_gaussian.excess(CorrelatedGaussian(base, columns, scales, Fraction(grid), 2), [cov]))

    assert 0 < kappa(8, ((2, 2),), (3,)) < 1e-32
    assert 0 < kappa(8, ((2, 2), (2, -2)), (3, 3)) < 1e-32
    assert 0 < kappa(8, ((2, 2),), (3,), EIGHT) < 1e-32
    assert 0 < kappa(Fraction(8, 3), ((2, 2),), (3,), exact([[1, 0], [0, 1]]), Fraction(1, 3)) < 1e-32
    bad = "too narrow against its grid"
    for base, columns, scales in (
        (8 - TINY, ((2, 2),), (3,)),
        (8, ((2, 3),), (3,)),
        (8, ((2, 2), (2, -1)), (3, 3)),
        (Fraction(28284, 10000), (), ()),
        (8, ((2, 2),), (Fraction(28284, 10000),)),
        (8, ((2, 2),), (0,)),
        (0, ((1, 0),), (Fraction(28284, 10000),)),
        (0, ((1, 0), (0, 1)), (3, 0)),
    ):
        with pytest.raises(NotProvable, match=bad):
            kappa(base, columns, scales, exact([[900, 0], [0, 900]]))
    with pytest.raises(NotProvable, match=bad):
        kappa(8, ((2, 2),), (3,), grid=2)
    thin = ((Fraction(8), Fraction(0)), (Fraction(0), 8 - TINY))
    leaning = exact([[17, 9 + TINY], [9 + TINY, 17]])
    for cov in (thin, leaning):
        with pytest.raises(NotProvable, match="varies too little"):
            kappa(8, ((2, 2),), (3,), cov)
    assert kappa(0, ((1, 2),), (3,), exact([[8, 16], [16, 32]])) > 0
    with pytest.raises(NotProvable, match="varies too little"):
        kappa(0, ((1, 2),), (3,), exact([[8, 16 - TINY], [16 - TINY, 32]]))
    with pytest.raises(NotProvable, match=bad):
        shift_excess(CorrelatedGaussian(0, ((1, 2),), (3,), Fraction(1)))


def test_no_noise_needs_no_width_and_every_law_of_a_list_is_looked_at():
    silent = CorrelatedGaussian(0, (), (), Fraction(1), 2)
    assert vectors_gaussian.excess(silent, [exact([[0, 0], [0, 0]])]) == 0
    assert vectors_gaussian.excess(CorrelatedGaussian(0, ((1, 1),), (0,), Fraction(1)), [exact([[1, 0], [0, 1]])]) == 0
    with pytest.raises(NotProvable):
        vectors_gaussian.excess(CorrelatedGaussian(9, (), (), Fraction(1), 2), [EIGHT, exact([[8, 0], [0, 7]])])


def test_each_condition_is_needed():
    """With one width far too small each, the ratio is beyond a kappa of 1/2, where the formula would say 1e-33."""
    wide = np.array([[9.0, 0], [0, 9.0]])
    thin_base = CorrelatedGaussian(Fraction(3, 10), ((3, 3),), (1,), Fraction(1))
    thin_column = CorrelatedGaussian(3, ((9, 0),), (Fraction(3, 10),), Fraction(1))
    far_columns = CorrelatedGaussian(1, ((7, 0),), (1,), Fraction(1))
    assert worst_ratio(thin_base, (0.0, 0.0), np.diag([0.05, 0.05]) + 0.04, 30) > 0.5
    for noise in (thin_base, thin_column, far_columns):
        with pytest.raises(NotProvable):
            vectors_gaussian.excess(noise, [exact(wide)])
    assert worst_ratio(far_columns, (0.0, 0.0), np.diag([0.5, 0.5]), 40) > 0.5
    narrow_law = np.diag([0.05, 0.05])  # V alone too small: with noise this narrow the rounded value shows
    isotropic = CorrelatedGaussian(Fraction(3, 10), (), (), Fraction(1), 2)
    assert worst_ratio(isotropic, (0.4, 0.0), narrow_law, 8) > 0.5
    with pytest.raises(NotProvable):
        vectors_gaussian.excess(isotropic, [exact([[0.05, 0], [0, 0.05]])])


# --- delta of independent noise over a plan ---------------------------------------------------------------------------


def gdelta(e, m):
    return ndtr(m / 2 - e / m) - math.exp(e) * ndtr(-m / 2 - e / m)


def released(points, masses, sigma, size):
    law = np.zeros((size, size))
    k = np.arange(size)
    for (i, j), p in zip(points, masses, strict=True):
        one, two = np.exp(-((k - i) ** 2) / (2 * sigma**2)), np.exp(-((k - j) ** 2) / (2 * sigma**2))
        law += p * np.outer(one / one.sum(), two / two.sum())
    return law


def hockey(one, two, e):
    return max(np.maximum(a - math.exp(e) * b, 0).sum() for a, b in ((one, two), (two, one)))


def spaces(rng, unit):
    n, m = rng.integers(1, 5, size=2)
    x = rng.choice(49, n, replace=False)
    y = rng.choice(49, m, replace=False)
    points = [np.stack([z // 7, z % 7], axis=1) * unit for z in (x, y)]
    counts = [rng.integers(1, 9, size=k) for k in (n, m)]
    laws = [Discrete(p, c.tolist()) for p, c in zip(points, counts, strict=True)]
    return points, counts, in_space(*laws, 2)


def test_the_bound_over_a_plan_is_never_below_the_hockey_stick_in_either_order():
    rng = np.random.default_rng(3)
    closest = 9.0
    for _ in range(60):
        points, counts, space = spaces(rng, 1)
        assert space.unit is not None
        unit, sigma, e = int(space.unit), float(rng.uniform(2.9, 9)), float(rng.uniform(0, 2)) + 1e-20
        noise = Gaussian(sigma, Fraction(1))
        plan = vector_gauss.smooth_plan(space, unit, noise, Fraction(e))
        found = vector_gauss.smooth_delta(space, unit, noise, Fraction(e), plan)
        edge = 90
        laws = [released(p + edge, c / c.sum(), sigma, 2 * edge + 8) for p, c in zip(points, counts, strict=True)]
        true = hockey(*laws, e)
        assert found >= true - 1e-13
        if true > 1e-4 and sigma > 6:
            closest = min(closest, found / true)
    assert closest < 1.4


def two_points(distance):
    return in_space(Discrete([[0, 0], [1, 1]], [1, 0]), Discrete([[distance, 0], [1, 1]], [1, 0]), 2)


def test_without_tau_or_in_the_wrong_unit_the_bound_is_too_low():
    sigma, distance = 3.0, 6
    space = two_points(distance)
    unit = int(space.unit)
    noise, plan = Gaussian(sigma, Fraction(1)), Coupling(np.array([0]), np.array([0]), np.array([1]), 1)
    laws = [released([[60 + x, 60]], [1.0], sigma, 128) for x in (0, distance)]
    below = wrong_unit = 0
    for e in np.linspace(0.1, 3, 59):
        true = hockey(*laws, e)
        assert vector_gauss.smooth_delta(space, unit, noise, Fraction(e), plan) >= true
        below += gdelta(e, distance / sigma) < true - 1e-9
        if unit > 1:
            wrong_unit += vector_gauss.smooth_delta(space, 1, noise, Fraction(e), plan) < true
    assert below > 10
    assert unit > 1 and wrong_unit == 59


def test_the_unit_of_the_space_counts_in_lattice_steps():
    space = in_space(Discrete([[0, 0], [0.5, 0]], [1, 1]), Discrete([[0.5, 0.5], [0, 0]], [1, 0]), 2)
    noise = Gaussian(2, Fraction(1, 8))
    unit = int(space.unit / noise.grid)
    plan = vector_gauss.smooth_plan(space, unit, noise, Fraction(1, 2))
    found = vector_gauss.smooth_delta(space, unit, noise, Fraction(1, 2), plan)
    steps = [released(p, w, 16, 260) for p, w in (([[130, 130], [134, 130]], [0.5, 0.5]), ([[134, 134]], [1.0]))]
    mean = (gdelta(0.5, math.sqrt(32) / 16) + gdelta(0.5, 4 / 16)) / 2
    assert unit == 4 and hockey(*steps, 0.5) <= mean <= found <= mean * 1.1
    assert vector_gauss.smooth_delta(space, 1, noise, Fraction(1, 2), plan) < hockey(*steps, 0.5)


def test_mass_that_a_plan_does_not_move_counts_in_full():
    space = two_points(6)
    noise = Gaussian(30, Fraction(1))
    whole = Coupling(np.array([0]), np.array([0]), np.array([4]), 4)
    part = Coupling(np.array([0]), np.array([0]), np.array([3]), 4)
    one, two = (vector_gauss.smooth_delta(space, 6, noise, Fraction(1, 10), p) for p in (whole, part))
    assert two == pytest.approx(0.75 * one + 0.25, rel=1e-9)


def test_refusals_of_the_plan_bound():
    space = two_points(6)
    plan = Coupling(np.array([0]), np.array([0]), np.array([1]), 1)
    for sigma in (2.8, Fraction(28284, 10000)):
        with pytest.raises(NotProvable, match="too narrow"):
            vector_gauss.smooth_delta(space, 6, Gaussian(sigma, Fraction(1)), Fraction(1), plan)
    k = np.arange(-60, 61)
    there, here = (np.exp(-((k - c) ** 2) / 18) / np.exp(-(k**2) / 18).sum() for c in (0, 6))
    at_zero = vector_gauss.smooth_delta(space, 6, Gaussian(3, Fraction(1)), Fraction(0), plan)
    assert np.abs(there - here).sum() / 2 <= at_zero < 1  # epsilon 0: the total variation
