"""The optimal covariance: golden values, two independent solvers, a random search checked with 40 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr

from fugu.calibration.covariance import (
    directional_uncertainty,
    eigenvector,
    expected_value_gaussian,
    optimal_covariance,
)
from fugu.calibration.covariance.directions import distances, hides
from fugu.calibration.covariance.optimal import secular_root
from fugu.errors import UsageError
from hunting import search

MU = 0.388401248306584  # mu(1, 1e-3)
CLASSICAL = 1 / math.sqrt(2 * math.log(1.25 / 1e-3))
PAPER = ([[1, -1]], [[22, -6], [-6, 13]])


def gdelta(e, m):
    return ndtr(m / 2 - e / m) - math.exp(e) * ndtr(-m / 2 - e / m)


def exact_distances(D, C, S):
    """d'(Sigma + S)^-1 d with 40 digits; infinite unless Sigma + S is positive definite."""
    with mp.workdps(40):
        found = []
        for d, c in zip(D, C, strict=True):
            if not np.any(d):
                found.append(mp.mpf(0))
                continue
            m = mp.matrix(c.tolist()) + mp.matrix(S.tolist())
            try:
                low = mp.cholesky(m)
            except ValueError:
                found.append(mp.inf)
                continue
            y = mp.lu_solve(low, mp.matrix(list(map(float, d))))
            found.append(mp.fsum(x * x for x in y))
        return found


def least_eigenvalue(S):
    with mp.workdps(40):
        return min(mp.eigsy(mp.matrix(S.tolist()), eigvals_only=True))


def problem(rng, d=None, k=None):
    """A random problem: own or shared covariances, some nearly singular, some pairs parallel, short or repeated."""
    d, k = d or int(rng.integers(2, 6)), k or int(rng.integers(1, 9))
    D = rng.normal(size=(k, d)) * np.exp(rng.normal(size=(k, 1)))
    R = rng.normal(size=(k, d, d)) * np.exp(0.7 * rng.normal(size=(k, 1, d)))
    C = R @ np.swapaxes(R, 1, 2) / d
    kind = rng.integers(4)
    if kind == 0:
        C = np.broadcast_to(C[0], C.shape).copy()
    if kind == 1 and k > 1:
        D[1] = -0.5 * D[0]
    if kind == 2:
        C *= 10.0 ** -rng.integers(0, 8)
    C = (C + np.swapaxes(C, 1, 2)) / 2
    return D, C, float(np.exp(rng.uniform(-2, 1)))


def test_the_printed_example_for_the_classical_distance_and_for_the_exact_one():
    """Its values are compared in papers/tests/test_chen.py."""
    found = optimal_covariance(*PAPER, CLASSICAL)
    assert found.lower_bound == pytest.approx(found.value, rel=1e-12)
    u = np.linalg.eigh(found.covariance)[1][:, -1]
    assert abs(u @ [0.51072259, -0.85974557]) == pytest.approx(1, abs=1e-8)
    assert abs(u @ [math.sqrt(0.5), -math.sqrt(0.5)]) < 0.98  # not the direction of the difference
    silent = optimal_covariance(*PAPER, MU)
    assert not silent.covariance.any() and silent.value == silent.lower_bound == 0
    assert optimal_covariance(*PAPER, 0.3033).value > 0  # just below its distance noise is needed


def test_the_vector_with_trace_38():
    found = optimal_covariance([[1, 1], [1, -1], [0, 1.5]], [[4, 1], [1, 3]], 0.3)
    assert found.value == pytest.approx(38, rel=1e-8)
    assert found.covariance == pytest.approx(np.array([[16, -1], [-1, 22]]), abs=1e-3)
    assert 38 - 1e-6 < found.lower_bound <= 38 + 1e-12


def enclosing(D, C, t):
    """The least trace for two coordinates: 2 h with h >= h_k + |p - p_k|, a smallest circle around circles.

    A symmetric 2 x 2 matrix is h I plus a traceless part p = ((a - c)/2, b), and is >= 0 iff h >= |p|."""
    A = np.concatenate([np.zeros((1, 2, 2)), D[:, :, None] * D[:, None, :] / t**2 - C])
    h, p = (A[:, 0, 0] + A[:, 1, 1]) / 2, np.stack([(A[:, 0, 0] - A[:, 1, 1]) / 2, A[:, 0, 1]], axis=1)

    def height(x, y):
        return (h + np.hypot(p[:, 0] - x, p[:, 1] - y)).max()

    def golden(f, low, high):
        ratio = (math.sqrt(5) - 1) / 2
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        fa, fb = f(a), f(b)
        for _ in range(55):
            if fa < fb:
                high, b, fb = b, a, fa
                a = high - ratio * (high - low)
                fa = f(a)
            else:
                low, a, fa = a, b, fb
                b = low + ratio * (high - low)
                fb = f(b)
        return min(fa, fb)

    low, high = p.min(axis=0), p.max(axis=0)
    return 2 * golden(lambda x: golden(lambda y: height(x, y), low[1], high[1]), low[0], high[0])


def test_two_coordinates_agree_with_the_smallest_circle_around_circles():
    rng = np.random.default_rng(1)
    for _ in range(25):
        D, C, t = problem(rng, d=2)
        found, least = optimal_covariance(D, C, t), enclosing(D, C, t)
        assert found.value == pytest.approx(least, rel=1e-7, abs=1e-9)
        assert found.lower_bound <= least * (1 + 1e-8) + 1e-9


def slsqp(D, C, t, cost, start):
    """The same programme on a factor S = L L', by a general solver; `cost` is smooth in S."""
    d = D.shape[1]
    at = np.tril_indices(d)

    def noise(x):
        L = np.zeros((d, d))
        L[at] = x[: len(at[0])]
        return L @ L.T

    def room(x):
        M = C + noise(x)
        return 1 - (D * np.linalg.solve(M, D[:, :, None])[:, :, 0]).sum(axis=1) / t**2

    best = math.inf
    for s in start:
        done = minimize(
            lambda x: cost(noise(x)), s[at], method="SLSQP", constraints=[{"type": "ineq", "fun": room}],
            options={"maxiter": 500, "ftol": 1e-13},
        )  # fmt: skip
        if room(done.x).min() > -1e-9:
            best = min(best, float(done.fun))
    return best


def test_three_coordinates_agree_with_a_general_solver():
    rng = np.random.default_rng(2)
    for n in range(6):
        D, C, t = problem(rng, d=3, k=4)
        t, weight = min(t, 0.8), np.diag([1.0, 2.0, 0.5]) if n % 2 else np.eye(3)
        found = optimal_covariance(D, C, t, weight=weight)
        side = expected_value_gaussian(D, t)
        begin = [side * np.eye(3) + s * rng.normal(size=(3, 3)) for s in (0, 0.3, 0.6)]
        least = slsqp(D, C, t, lambda S, W=weight: float(np.trace(W @ S)), begin)
        assert found.value == pytest.approx(least, rel=1e-6)
        assert found.lower_bound <= least * (1 + 1e-7)


def check(D, C, t, floor=0.0):
    """All that must hold of one answer, with 40 digits."""
    found = optimal_covariance(D, C, t, floor=floor)
    S = found.covariance
    assert all(m <= mp.mpf(t) ** 2 for m in exact_distances(D, C, S))
    assert least_eigenvalue(S - floor * np.eye(len(S))) >= -1e-12 * max(1e-300, np.trace(S))
    assert found.value == np.trace(S) or found.value == pytest.approx(np.trace(S), rel=1e-14)
    assert found.value <= found.lower_bound * (1 + 1e-7) + 1e-12 * np.trace(C, axis1=1, axis2=2).max()
    if found.value > 1.1 * floor * len(S) + 1e-6 and not floor:
        assert any(m > mp.mpf(t) ** 2 for m in exact_distances(D, C, 0.95 * S))
    isotropic = len(S) * max(floor, expected_value_gaussian(D, t) ** 2)
    assert found.value <= isotropic * (1 + 1e-8)
    if np.array_equal(C, np.broadcast_to(C[0], C.shape)) and not floor:
        own = eigenvector(D, C, t)
        assert all(m <= mp.mpf(t) ** 2 for m in exact_distances(D, C, own))
        assert found.value <= np.trace(own) * (1 + 1e-8) + 1e-12
        assert np.trace(own) <= isotropic * (1 + 1e-8)
    if len(D) == 1 and not floor:
        v, s = directional_uncertainty(D, C, t)
        assert s == 0 or exact_distances(D, C, s * np.outer(v, v))[0] <= mp.mpf(t) ** 2 * (1 + mp.mpf(10) ** -13)
        assert found.value <= s * (1 + 1e-9)
    return found.value > 0


def test_fifty_random_problems_hold_with_forty_digits():
    rng = np.random.default_rng(4)
    noisy = sum(check(*problem(rng), floor=0.0 if n % 4 else 0.1) for n in range(50))
    assert noisy > 30


@search("covariances of least trace with forty digits", quick=4)
def test_random_problems_hold_with_forty_digits(rng):
    check(*problem(rng), floor=0.0 if rng.random() < 0.75 else float(np.exp(rng.normal())))


@pytest.mark.parametrize(("d", "k"), [(3, 4), (5, 8)])
def test_the_optimum_is_far_below_eigenvectors_and_those_are_below_isotropic_noise(d, k):
    rng = np.random.default_rng(6)
    D, R = rng.normal(size=(k, d)), rng.normal(size=(d, d))
    C = R @ R.T
    C = (C + C.T) / 2
    least, own = optimal_covariance(D, C, 0.5).value, np.trace(eigenvector(D, C, 0.5))
    assert least < 0.8 * own and own < d * expected_value_gaussian(D, 0.5) ** 2


def test_the_distance_is_what_the_budget_needs():
    S = optimal_covariance(*PAPER, CLASSICAL).covariance
    m = math.sqrt(exact_distances(np.array(PAPER[0], float), np.array([PAPER[1]], float), S)[0])
    assert gdelta(1, m) <= 1e-3
    exact = optimal_covariance([[3, 1]], PAPER[1], MU).covariance
    m = math.sqrt(exact_distances([[3.0, 1.0]], np.array([PAPER[1]], float), exact)[0])
    assert gdelta(1, m) == pytest.approx(1e-3, rel=1e-9)
    m = math.sqrt(exact_distances([[3.0, 1.0]], np.array([PAPER[1]], float), 0.98 * exact)[0])
    assert gdelta(1, m) > 1e-3


def test_a_singular_covariance_is_not_passed_by_its_pseudo_inverse():
    D, C = np.array([[1.0, 1.0]]), np.array([[[1.0, 0.0], [0.0, 0.0]]])
    assert (D[0] @ np.linalg.pinv(C[0]) @ D[0]) <= 1.5**2  # the wrong rule: no noise, although HS = 1
    assert not hides(D, C, np.zeros((2, 2)), 1.5)
    found = optimal_covariance(D, C, 1.5)
    assert found.value > 0.2 and exact_distances(D, C, found.covariance)[0] <= mp.mpf(1.5) ** 2
    # but where neither law varies and the means agree, nothing is needed
    assert optimal_covariance([[1, 0]], C, 1.5).value == 0
    assert optimal_covariance([[0, 0]], np.zeros((2, 2)), 1).value == 0


def test_symmetries():
    rng = np.random.default_rng(7)
    D, C, _ = problem(rng, d=4, k=5)
    value = optimal_covariance(D, C, 0.5).value
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    turned = Q @ C @ Q.T
    turned = (turned + np.swapaxes(turned, 1, 2)) / 2
    assert optimal_covariance(D @ Q.T, turned, 0.5).value == pytest.approx(value, rel=1e-8)
    assert optimal_covariance(-D, C, 0.5).value == pytest.approx(value, rel=1e-8)
    assert optimal_covariance(1e6 * D, 1e12 * C, 0.5).value == pytest.approx(1e12 * value, rel=1e-8)
    implied = (np.concatenate([D, D[:2], -0.5 * D[:1]]), np.concatenate([C, C[:2], C[:1]]))
    assert optimal_covariance(*implied, 0.5).value == pytest.approx(value, rel=1e-8)
    more = (np.concatenate([D, [[3.0, 0, 0, 1]]]), np.concatenate([C, C[:1]]))
    assert optimal_covariance(*more, 0.5).value >= value * (1 - 1e-8)
    assert optimal_covariance(D, C, 0.6).value < value


def test_one_pair_has_a_closed_form_also_with_a_weight_and_a_floor():
    rng = np.random.default_rng(8)
    for _ in range(20):
        D, C, _ = problem(rng, d=3, k=1)
        A = np.outer(D[0], D[0]) / 0.25 - C[0]
        top, u = secular_root(D[0] / 0.5, C[0])
        values, vectors = np.linalg.eigh(A)
        assert top == pytest.approx(max(values[-1], 0), rel=1e-9, abs=1e-9 * np.abs(A).max())
        if top > 1e-6:
            assert abs(u @ vectors[:, -1]) == pytest.approx(1, abs=1e-9)
        R = rng.normal(size=(3, 3))
        W = R @ R.T + 0.1 * np.eye(3)
        W = (W + W.T) / 2
        floor = 0.3
        once = optimal_covariance(D, C, 0.5, weight=W, floor=floor)
        assert np.linalg.eigvalsh(once.covariance).min() >= floor * (1 - 1e-12)
        root = np.linalg.cholesky(W)
        free = np.linalg.eigvalsh(root.T @ (A - floor * np.eye(3)) @ root)
        assert once.value == pytest.approx(floor * np.trace(W) + np.maximum(free, 0).sum(), rel=1e-8)
        plain = optimal_covariance(D, C, 0.5, floor=floor)
        assert np.trace(W @ plain.covariance) >= once.value * (1 - 1e-9)


def test_coordinates_of_very_different_sizes_and_singular_covariances():
    rng = np.random.default_rng(9)
    for n in range(24):
        d, k = int(rng.integers(2, 6)), int(rng.integers(1, 6))
        D, R = rng.normal(size=(k, d)), rng.normal(size=(k, d, 1 if n % 2 else d))
        size = np.ones(d) if n % 2 else 10.0 ** rng.uniform(-3, 3, d)
        C = R @ np.swapaxes(R, 1, 2) * size[:, None] * size[None, :]
        C, D, t = (C + np.swapaxes(C, 1, 2)) / 2, D * size, float(np.exp(rng.uniform(-2, 1)))
        floor = 0.7 if n % 3 == 0 else 0.0
        found = optimal_covariance(D, C, t, floor=floor)
        assert hides(D, C, found.covariance, t)
        assert all(m <= mp.mpf(t) ** 2 for m in exact_distances(D, C, found.covariance))
        slack = 1e-12 * np.trace(C, axis1=1, axis2=2).max()  # what doubles can verify
        assert found.value <= found.lower_bound * (1 + 1e-6) + slack


def test_the_check_is_on_the_safe_side_of_rounding():
    rng = np.random.default_rng(10)
    zero = np.zeros((4, 4))
    for n in range(60):
        D, C, _ = problem(rng, d=4, k=2)
        C *= 10.0 ** -(n % 5)
        C[:, 3] = C[:, :, 3] = 0  # one more coordinate, nearly a copy of another
        C[:, 3, :3] = C[:, :3, 3] = C[:, 0, :3]
        C[:, 3, 3] = C[:, 0, 0] * (1 + 10.0 ** -(n % 14))
        true = exact_distances(D, C, zero)
        assert all(bound >= m for bound, m in zip(distances(D, C, zero), true, strict=True))


def test_a_shorter_parallel_difference_is_left_out_only_under_the_same_covariance():
    D = np.array([[2.0, 0.0], [1.0, 0.0]])
    C = np.array([[[15.9, 0.0], [0.0, 1.0]], [[0.01, 0.0], [0.0, 1.0]]])
    assert optimal_covariance(D, C, 0.5).value == pytest.approx(3.99, rel=1e-8)
    assert optimal_covariance(D, C[0], 0.5).value == pytest.approx(0.1, rel=1e-8)


def test_what_is_refused():
    with pytest.raises(UsageError, match="positive finite"):
        optimal_covariance([[1, 0]], np.eye(2), 0.0)
    with pytest.raises(UsageError, match="shape"):
        optimal_covariance([[1, 0]], np.eye(3), 1.0)
    with pytest.raises(UsageError, match="not symmetric"):
        optimal_covariance([[1, 0]], [[1, 0.1], [0, 1]], 1.0)
    with pytest.raises(UsageError, match="finite"):
        optimal_covariance([[np.nan, 0]], np.eye(2), 1.0)
    with pytest.raises(UsageError, match="positive definite"):
        optimal_covariance([[1, 0]], np.eye(2), 0.1, weight=[1, 0])
    with pytest.raises(UsageError, match="other units"):
        optimal_covariance([[1e-200, 0]], np.eye(2), 0.1)
    with pytest.raises(UsageError, match="floor"):
        optimal_covariance([[1, 0]], np.eye(2), 0.1, floor=-1)
