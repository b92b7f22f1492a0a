"""Noise for translates and normal vectors: scales, directions, baselines, expected errors; every printed rule that is
unsound is here with its counterexample."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import linprog, minimize
from scipy.special import ellipe, ndtr

from fugu.calibration.covariance import (
    anisotropic_laplace,
    directional,
    directional_uncertainty,
    eigenvector,
    expected_value_gaussian,
    gaussian_length,
    group,
    isotropic_length,
    laplace_length,
    record_group,
    records_moved,
)
from fugu.calibration.covariance.directions import harmonic, programme
from fugu.errors import UnknownName, UsageError
from fugu_papers.chen_rules import bounded, expected_value_laplace, several_directions, spherical_length

ADULT = [[0.72566, 0.19677, -3.46022, -2.34048, 0.63185]]
RANGES = ([73, 15, 1, 1, 98], [True, True, False, False, True])
MU = 0.388401248306584  # mu(1, 1e-3)


def least_error(A, shares):
    """A lower bound on sum b_j^2 for constraints sum_j a_kj / b_j <= 1: (sum_j (A' shares)_j^(2/3))^3, by duality.

    The mean of the constraints with weights `shares` (summing to 1) is one constraint, with the closed form of
    `anisotropic_laplace`."""
    return float((np.cbrt(shares @ A) ** 2).sum() ** 3)


def gdelta(e, m):
    return ndtr(m / 2 - e / m) - math.exp(e) * ndtr(-m / 2 - e / m)


def classical(delta):
    return math.sqrt(2 * math.log(1.25 / delta))


def laplace_level(d, b):
    """sum |d_j| / b_j in exact arithmetic; a coordinate without noise must not move."""
    assert all(x == 0 for x, y in zip(d, b, strict=True) if y == 0)
    return sum(abs(Fraction(float(x))) / Fraction(float(y)) for x, y in zip(d, b, strict=True) if y)


# --- expected values -------------------------------------------------------------------------------------------------


def test_expected_value_scales_are_exactly_enough_and_no_more():
    rng = np.random.default_rng(1)
    for _ in range(50):
        D, e = rng.normal(size=(6, 5)), float(np.exp(rng.normal()))
        b = expected_value_laplace(D, e)
        worst = max(laplace_level(d, [b] * 5) for d in D)
        assert worst <= Fraction(e) and worst > Fraction(0.999 * e)
        sigma = Fraction(expected_value_gaussian(D, e))
        worst = max(sum(Fraction(float(x)) ** 2 for x in d) for d in D)
        assert worst <= (sigma * Fraction(e)) ** 2 < worst * Fraction(1.001)
    assert expected_value_gaussian([[0, 0]], 1) == 0 == expected_value_laplace([[0, 0]], 1)


@pytest.mark.parametrize(
    ("e", "delta", "true"), [(10, 1e-3, 0.00336194007547), (10, 1e-2, 0.0406), (10, 1e-4, 2.74e-4)]
)
def test_the_classical_constant_is_not_private_at_large_epsilon(e, delta, true):
    m = e / classical(delta)  # |d| / sigma for the printed sigma
    assert gdelta(e, m) == pytest.approx(true, rel=2e-3) and gdelta(e, m) > delta


def test_the_classical_constant_fails_from_7_463_on_and_the_exact_distance_never():
    assert gdelta(7.4634, 7.4634 / classical(1e-3)) < 1e-3 < gdelta(7.4636, 7.4636 / classical(1e-3))
    d = np.array([[3.0, 4.0]])
    assert gdelta(1, 5 / expected_value_gaussian(d, MU)) == pytest.approx(1e-3, rel=1e-9)


# --- different scales for different coordinates ----------------------------------------------------------------------


def test_one_difference_has_a_closed_form_and_beats_equal_scales():
    b = anisotropic_laplace(ADULT, 1)
    assert math.sqrt(2 * (b @ b)) == pytest.approx(20.4358, abs=1e-4)
    assert expected_value_laplace(ADULT, 1) * math.sqrt(10) == pytest.approx(23.2585, abs=1e-4)
    d = np.abs(ADULT[0])
    assert b == pytest.approx(d ** (1 / 3) * (d ** (2 / 3)).sum(), rel=1e-12)
    assert anisotropic_laplace([[1, 0, 2]], 1)[1] == 0
    assert not anisotropic_laplace([[0, 0]], 1).any()


def test_several_differences_are_optimal_and_hold_exactly():
    rng = np.random.default_rng(2)
    for _ in range(40):
        k, d = int(rng.integers(2, 12)), int(rng.integers(1, 6))
        D = rng.normal(size=(k, d)) * np.exp(1.5 * rng.normal(size=(k, d)))
        D[rng.random((k, d)) < 0.2] = 0
        e = float(np.exp(rng.normal()))
        b = anisotropic_laplace(D, e)
        worst = max(laplace_level(row, b) for row in D)
        assert worst <= Fraction(e)
        assert max(laplace_level(row, 0.99 * b) for row in D) > Fraction(e)
        assert b @ b <= d * expected_value_laplace(D, e) ** 2 * (1 + 1e-8)
        A = np.abs(D)[:, b > 0] / e
        A = A[A.any(axis=1)]
        closing = least_error(A, programme(A)[1])  # no scales at all have less error than this
        assert closing * (1 - 1e-9) <= b @ b <= closing * (1 + 1e-7)
        shares = rng.dirichlet(np.ones(k))
        assert least_error(np.abs(D) / e, shares) <= b @ b * (1 + 1e-9)


def test_the_dual_closes_on_the_primal():
    D = np.array([[1.0, 2.0, 0.5], [2.0, 0.3, 1.0], [0.2, 0.2, 2.5]])
    b = anisotropic_laplace(D, 1)
    done = minimize(
        lambda x: -least_error(D, np.exp(x) / np.exp(x).sum()), np.zeros(3), method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000},
    )  # fmt: skip
    assert -done.fun == pytest.approx(b @ b, rel=1e-8)


# --- one direction, several directions -------------------------------------------------------------------------------


def test_one_direction_takes_parallel_differences_only_and_says_by_how_much_others_miss():
    v, sigma = directional([[1, 2], [-3, -6]], t=0.5)
    assert abs(v @ [1, 2]) == pytest.approx(math.sqrt(5)) and sigma == pytest.approx(3 * math.sqrt(5) / 0.5)
    assert sigma >= 3 * math.sqrt(5) / 0.5 * (1 - 1e-15)
    assert directional([[0, 0]], t=1)[1] == 0
    with pytest.raises(UsageError, match="beside it by 1e-06"):
        directional([[0, 0], [1, 1e-6]], epsilon=1, direction=[1, 0])
    with pytest.raises(UsageError, match="parallel"):
        directional([[1, 0], [1, 1e-9]], t=1)
    with pytest.raises(UsageError, match="one of t"):
        directional([[1, 0]])
    with pytest.raises(UsageError, match="one of t"):
        directional([[1, 0]], t=1, epsilon=1)
    with pytest.raises(UsageError, match="not all zero"):
        directional([[1, 0]], t=1, direction=[0, 0])


def laplace_hockey(b, scale, e):
    """HS_e for independent Laplace noise on two coordinates and a shift b, by the midpoint rule on a fine grid."""
    h = 0.02 * scale
    x = (np.arange(-800, 800) + 0.5) * h
    p, q = (np.exp(-np.abs(x[:, None] - b / 2 * s) / scale) for s in (np.array([1, 1]), np.array([-1, -1])))
    joint = [np.multiply.outer(side[:, 0], side[:, 1]) / (2 * scale) ** 2 for side in (p, q)]
    return float(np.maximum(joint[0] - math.exp(e) * joint[1], 0).sum() * h * h)


def test_the_printed_scale_for_several_directions_has_the_level_root_two_epsilon():
    e, b = 1.0, np.array([1.0, 1.0]) / math.sqrt(2)
    printed = 1 / e  # Delta_E2 / e
    assert laplace_level(b, [printed] * 2) == pytest.approx(math.sqrt(2) * e)
    assert laplace_hockey(b, printed, e) == pytest.approx(0.1029, abs=1e-4)
    ours = several_directions([b, [0.1, 0.2]], "laplace", epsilon=e, basis=np.eye(2))
    assert laplace_level(b, [ours.scale] * 2) <= Fraction(e)
    assert laplace_hockey(b, ours.scale, e) < 1e-12
    assert ours.error == pytest.approx(4 * ours.scale**2)


def test_spherical_noise_has_the_pure_level_and_less_error():
    rng = np.random.default_rng(3)
    D, e = rng.normal(size=(5, 3)), 0.7
    ball = several_directions(D, "spherical", epsilon=e)
    cube = several_directions(D, "laplace", epsilon=e)
    normal = several_directions(D, "gaussian", t=e)
    reach = np.sqrt((D * D).sum(axis=1)).max()
    assert ball.scale == pytest.approx(reach / e) and normal.scale == pytest.approx(reach / e)
    assert ball.error == pytest.approx(12 * ball.scale**2) and normal.error == pytest.approx(3 * normal.scale**2)
    z = 5 * rng.normal(size=(2000, 3))
    level = max(np.abs(np.linalg.norm(z - d, axis=1) - np.linalg.norm(z, axis=1)).max() / ball.scale for d in D)
    assert 0.9 * e < level <= e
    radius = mp.quad(lambda r: r**4 * mp.exp(-r), [0, mp.inf]) / mp.quad(lambda r: r**2 * mp.exp(-r), [0, mp.inf])
    assert radius == pytest.approx(12)  # E |z|^2 in three dimensions, scale 1
    assert cube.error > 0


def test_the_span_is_found_and_differences_outside_a_given_basis_are_refused():
    D = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.5], [3.0, 6.0, 9.5]])
    found = several_directions(D, "gaussian", t=1)
    assert found.basis.shape == (3, 2)
    assert found.basis @ (found.basis.T @ D.T) == pytest.approx(D.T, abs=1e-12)
    with pytest.raises(UsageError, match="in the span"):
        several_directions(D, "gaussian", t=1, basis=np.eye(3)[:, :2])
    with pytest.raises(UsageError, match="orthonormal"):
        several_directions(D, "gaussian", t=1, basis=[[1, 0], [1, 1], [0, 1]])
    with pytest.raises(UsageError, match="take epsilon"):
        several_directions(D, "laplace", t=1)
    with pytest.raises(UnknownName):
        several_directions(D, "cauchy", epsilon=1)
    line = several_directions([[3.0, 4.0]], "laplace", epsilon=1)
    assert line.basis.shape == (2, 1) and line.scale == pytest.approx(5)


# --- the spread of the laws ------------------------------------------------------------------------------------------


def test_directions_that_are_not_eigenvectors_hide_nothing():
    sigma = np.array([[10.0, 10.0], [10.0, 10.0]]) + 1e-9 * np.eye(2)
    d = math.sqrt(10) * MU * np.array([1, -1]) / math.sqrt(2)
    printed = np.maximum((d @ d) / MU**2 - np.diag(sigma), 0)  # with v = e_1, e_2
    assert printed.max() < 1e-8
    assert math.sqrt(d @ np.linalg.solve(sigma, d)) == pytest.approx(3.9e4, rel=0.01)
    with pytest.raises(UsageError, match="not common eigenvectors"):
        eigenvector([d], sigma, MU, np.eye(2))
    S = eigenvector([d], sigma, MU)
    assert d @ np.linalg.solve(sigma + S, d) <= MU**2
    assert d @ np.linalg.solve(sigma + 0.98 * S, d) > MU**2


def test_common_eigenvectors_of_different_covariances_are_taken_and_others_refused():
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    C = np.stack([(Q * rng.uniform(0.5, 3, 3)) @ Q.T for _ in range(3)])
    C = (C + np.swapaxes(C, 1, 2)) / 2
    D = rng.normal(size=(3, 3))
    S = eigenvector(D, C, 0.5)
    assert all(d @ np.linalg.solve(c + S, d) <= 0.25 for d, c in zip(D, C, strict=True))
    C[1, 0, 1] += 1e-6
    C[1, 1, 0] += 1e-6
    with pytest.raises(UsageError, match="not common eigenvectors"):
        eigenvector(D, C, 0.5)


def test_one_direction_with_spread_agrees_with_the_determinant_of_the_paper():
    rng = np.random.default_rng(5)
    for _ in range(30):
        R = rng.normal(size=(2, 3, 3))
        C = R @ np.swapaxes(R, 1, 2)
        C = (C + np.swapaxes(C, 1, 2)) / 2
        d = rng.normal(size=3)
        D, t = np.stack([d, -2 * d]), float(np.exp(rng.normal() - 1))
        v, s = directional_uncertainty(D, C, t)
        if s == 0:
            assert all(x @ np.linalg.solve(c, x) <= t * t for x, c in zip(D, C, strict=True))
            continue
        S = s * np.outer(v, v)
        worst = max(x @ np.linalg.solve(c + S, x) for x, c in zip(D, C, strict=True))
        assert worst == pytest.approx(t * t, rel=1e-9)
        assert max(x @ np.linalg.solve(c + 0.98 * S, x) for x, c in zip(D, C, strict=True)) > t * t
        for x, c in zip(D, C, strict=True):  # det(C + r v v') = det C (1 + r v'C^-1 v)
            one = directional_uncertainty([x], c, t)[1]
            ratio = np.linalg.det(c + one * np.outer(v, v)) / np.linalg.det(c)
            assert ratio == pytest.approx(1 + one * (v @ np.linalg.solve(c, v)), rel=1e-8)


def test_a_direction_outside_the_range_of_the_covariance_counts_no_spread():
    assert directional_uncertainty([[1, 1]], [[1, 0], [0, 0]], 0.5)[1] == pytest.approx(2 / 0.25)
    assert directional_uncertainty([[1, 0]], [[1, 0], [0, 0]], 0.5)[1] == pytest.approx(4 - 1)
    assert harmonic(np.array([[1.0, 0.0], [0.0, 1e-30]]), np.array([0.6, 0.8])) == 0  # cannot be told from singular
    assert harmonic(np.diag([2.0, 4.0]), np.array([1.0, 0.0])) == pytest.approx(2)


# --- baselines -------------------------------------------------------------------------------------------------------


def test_the_sensitivities_of_the_census_query():
    ranges, means = RANGES
    one, everyone, ten = (
        record_group(ranges, 1, 100, means),
        group(ranges, 100, means),
        record_group(ranges, 10, 100, means),
    )
    assert one.l1 == pytest.approx(3.86) and one.l2 == pytest.approx(1.8750466661, abs=1e-10)
    assert everyone.l1 == pytest.approx(386) and everyone.l2 == pytest.approx(187.504667, abs=1e-6)
    assert ten.l1 == pytest.approx(38.6) and records_moved(100, [(0.45, 0.55), (0.5, 0.52)]) == 10
    assert one.l1 >= 3.86 and Fraction(one.l2) ** 2 >= Fraction("0.73") ** 2 + Fraction("0.15") ** 2 + 2 + (
        Fraction("0.98") ** 2
    )
    assert record_group([1, 2], 1).l1 == pytest.approx(3)
    for bad in ({"k": 101, "size": 100}, {"k": -1}, {"k": 1, "means": [True] * 5}, {"k": 1, "size": 9, "means": [1]}):
        with pytest.raises(UsageError):
            record_group(ranges, **bad)


def test_records_moved_is_not_enough_when_the_counts_are_random():
    """The level at plus infinity of Laplace noise of scale 1 is the log of the ratio of E e^X: binomial counts."""
    assert records_moved(50, [(0.02, 0.04)]) == 1
    level = 50 * math.log((1 + 0.04 * (math.e - 1)) / (1 + 0.02 * (math.e - 1)))
    assert level == pytest.approx(1.634, abs=1e-3) and level > 1


def mass_within(x, p, y, q, w):
    """The most mass that a coupling moves by at most w in l1, by a linear programme."""
    near = np.abs(x[:, None] - y[None]).sum(axis=2) <= w
    n, m = near.shape
    A = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    return -linprog(-near.ravel().astype(float), A_ub=A, b_ub=np.concatenate([p, q]), bounds=(0, None)).fun


def test_bounded_laws_are_close_with_one_delta_and_not_half_of_it():
    rng = np.random.default_rng(6)
    for _ in range(20):
        delta = float(rng.uniform(0.05, 0.4))
        laws = [(rng.normal(size=(7, 2)) + 3 * i, rng.dirichlet(np.ones(7))) for i in range(2)]
        centres = [p @ x for x, p in laws]
        radii = []
        for (x, p), c in zip(laws, centres, strict=True):
            far = np.abs(x - c).sum(axis=1)
            order = np.argsort(far)
            radii.append(float(far[order][np.searchsorted(np.cumsum(p[order]), 1 - delta)]))
        w = bounded(centres, radii, [(0, 1)])
        assert mass_within(*laws[0], *laws[1], w) >= 1 - delta - 1e-9
    # the bound is attained, so nothing below it would do
    x, y = np.array([[0.0], [-90.0]]), np.array([[7.0], [99.0]])
    p = np.array([0.9, 0.1])
    w = bounded([[1.0], [4.0]], [1.0, 3.0], [(0, 1)])
    assert w == pytest.approx(7) and mass_within(x, p, y, p, w) == pytest.approx(0.9)
    assert mass_within(x, p, y, p, 0.98 * w) < 0.1
    assert bounded([[0, 0], [3, 4]], [0, 0], [(0, 1)], 2) == pytest.approx(5)
    with pytest.raises(UsageError, match="radii"):
        bounded([[0.0]], [1.0, 2.0], [])
    with pytest.raises(UsageError, match="radius_norm"):
        bounded([[0.0]], [1.0], [], 3)


# --- expected errors -------------------------------------------------------------------------------------------------


def test_expected_lengths_of_gaussian_noise():
    assert isotropic_length(1, 5) == pytest.approx(2.127692162, abs=1e-9)
    for d in (1, 2, 5, 40):
        assert gaussian_length(4 * np.eye(d)) == pytest.approx(2 * isotropic_length(1, d), rel=1e-13)
    for a, b in ((1.0, 0.01), (3.0, 2.0), (1.0, 1e-8)):  # E |(a z, b z')| is an elliptic integral
        assert gaussian_length(np.diag([a * a, b * b])) == pytest.approx(
            math.sqrt(2 / math.pi) * a * ellipe(1 - (b / a) ** 2), rel=1e-12
        )
    v = np.array([0.6, 0.8])
    assert gaussian_length(9 * np.outer(v, v)) == pytest.approx(3 * math.sqrt(2 / math.pi), rel=1e-8)
    assert gaussian_length(np.zeros((2, 2))) == 0
    with pytest.raises(UsageError, match="semidefinite"):
        gaussian_length(np.diag([1.0, -1.0]))


def test_expected_lengths_of_laplace_noise():
    assert laplace_length([2.5]) == pytest.approx(2.5, rel=1e-12)
    assert laplace_length([1.0, 0.0]) == pytest.approx(1, rel=1e-12) and laplace_length([0.0]) == 0
    # the norm in polar form: |(x, y)| over both exponentials, once r is integrated out: 2 int (c + s)^-3 over a quarter
    a, b = 1.0, 0.4
    polar = mp.quad(lambda u: 2 / (a * b) / (mp.cos(u) / a + mp.sin(u) / b) ** 3, [0, mp.pi / 2])
    assert laplace_length([a, b]) == pytest.approx(float(polar), rel=1e-12)
    plane = dblquad(lambda y, x: math.hypot(x, y) * math.exp(-x - y), 0, 60, 0, 60, epsabs=1e-9)[0]
    assert laplace_length([1, 1]) == pytest.approx(plane, rel=1e-6)
    five = laplace_length(np.ones(5))
    assert five == pytest.approx(2.8633, abs=1e-3)  # a simulated value, 2.8633(3)
    drawn = np.linalg.norm(np.random.default_rng(7).laplace(size=(400_000, 5)), axis=1)
    assert abs(drawn.mean() - five) < 4 * drawn.std() / math.sqrt(400_000) < 0.01
    assert spherical_length(1, 2.0) == 2.0 and spherical_length(3, 0.5) == 1.5
    with pytest.raises(UsageError, match="scales"):
        laplace_length([-1.0])


def test_the_published_table_of_errors():
    """Population values of the census query: isotropic and one-direction noise at epsilon 1, delta 1e-3."""
    c = classical(1e-3)
    assert expected_value_laplace(ADULT, 1) * laplace_length(np.ones(5)) == pytest.approx(21.06, abs=0.01)
    assert isotropic_length(expected_value_gaussian(ADULT, 1 / c), 5) == pytest.approx(34.48, abs=0.01)
    assert isotropic_length(expected_value_gaussian(ADULT, MU), 5) == pytest.approx(23.5, abs=0.05)
    ranges, means = RANGES
    assert isotropic_length(group(ranges, 100, means).l2 * c, 5) == pytest.approx(1507, abs=1)
    assert isotropic_length(record_group(ranges, 1, 100, means).l2 * c, 5) == pytest.approx(15.066, abs=1e-3)
    assert record_group(ranges, 1, 100, means).l1 * laplace_length(np.ones(5)) == pytest.approx(11.052, abs=5e-3)
