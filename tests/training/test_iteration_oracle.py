"""The oracle of noisy iterations against other ways to the same numbers: closed forms, solvers, 40 digits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from iteration_oracle import (
    Line,
    attaining,
    batch_of,
    chain_paths,
    delta_of,
    dual_value,
    laplace_cost,
    least,
    least_laplace,
    least_with_restart,
    linear_leak,
    lipschitz_map,
    mixture_delta,
    near_map,
    normal_delta,
    normal_mixtures,
    paid,
    record_weights,
    secret_pairs,
    worst_delta,
    worst_renyi,
)
from scipy.optimize import minimize


def distances(shifts, contraction, allocation):
    z, found = 0.0, []
    for s, c, a in zip(shifts, contraction, allocation, strict=True):
        z = c * z + s - a
        found.append(z)
    return np.array(found)


def solved(cost, shifts, contraction):
    """The optimum by sequential quadratic programming."""
    rows = [
        {"type": "ineq", "fun": lambda a: distances(shifts, contraction, a)[:-1]},
        {"type": "eq", "fun": lambda a: distances(shifts, contraction, a)[-1]},
    ]
    options = {"ftol": 1e-14, "maxiter": 500}
    bounds = [(0, None)] * len(shifts)
    return minimize(cost, np.array(shifts), constraints=rows, bounds=bounds, method="SLSQP", options=options)


def test_the_exact_programme_agrees_with_a_solver_and_with_its_dual():
    rng = np.random.default_rng(1)
    for _ in range(60):
        size = int(rng.integers(2, 7))
        s, c, sd = rng.exponential(size=size), rng.random(size), np.exp(rng.normal(size=size) / 2)
        exact, levels = least(s, sd, c)
        assert dual_value(s, sd, c, levels) == exact == linear_leak(s, sd, attaining(levels))
        assert all(0 <= x <= Fraction(float(y)) for x, y in zip(attaining(levels), c, strict=True))
        found = solved(lambda a, sd=sd: float(np.sum((a / sd) ** 2)), s, c)
        if found.success:
            assert float(exact) == pytest.approx(found.fun, rel=1e-6)
        worse = [x * Fraction(9, 10) for x in levels]  # other levels prove less, and never more
        assert dual_value(s, sd, c, worse) < exact


def test_an_allocation_is_paid_only_if_it_is_enough():
    assert paid([1, 0], [1, 1], [1, 1], [0.5, 0.5]) == Fraction(1, 2)
    assert paid([1, 0], [1, 1], [1, 1], [0.5, 0.4]) is None
    assert paid([1, 0], [1, 1], [1, 1], [1.5, -0.5]) is None
    assert paid([0, 1], [1, 1], [1, 1], [1.0, 0.0]) is None  # a shift cannot be hidden before it happens


def test_laplace_programme_agrees_with_a_solver():
    rng = np.random.default_rng(2)
    for _ in range(40):
        size, alpha = int(rng.integers(2, 6)), float(rng.choice([1.1, 2, 8]))
        s, c = rng.exponential(size=size), rng.random(size)
        exact, a = least_laplace(s, 0.7, alpha, c, 2)
        z = distances(s, c, a)
        assert z.min() > -1e-12 and abs(z[-1]) < 1e-12
        found = solved(lambda a, alpha=alpha: float(laplace_cost(np.maximum(a, 0), 0.7, alpha, 2).sum()), s, c)
        assert not found.success or exact <= found.fun * (1 + 1e-9)
        assert not found.success or exact == pytest.approx(found.fun, rel=1e-5)


@pytest.mark.parametrize("alpha", [1.0001, 1.5, 3, 40])
def test_laplace_cost_at_40_digits(alpha):
    with mpmath.workdps(60):
        a = mpmath.mpf(alpha)
        for u in (1e-20, 1e-6, 1e-4, 0.01, 1.0, 30.0, 1000.0):
            terms = a * mpmath.exp((a - 1) * mpmath.mpf(u)) + (a - 1) * mpmath.exp(-a * mpmath.mpf(u))
            exact = mpmath.log(terms / (2 * a - 1)) / (a - 1)
            assert float(laplace_cost(u, 1.0, alpha)) == pytest.approx(float(exact), rel=2e-7 if u < 1e-2 else 1e-9)
    assert float(laplace_cost(1.0, 1.0, 1.0001)) == pytest.approx(0.3679123098615636, rel=1e-10)


def test_restart_by_hand():
    assert least_with_restart([1] * 20, [1] * 20, [1] * 20, 3) == 12
    assert least_with_restart([5, 1], [1, 1], [1, 0.5], 1) == Fraction(9, 4)
    assert least_with_restart([5, 1], [1, 1], [1, 1], 100) == least([5, 1], [1, 1], [1, 1])[0] == 18


def test_divergences_of_normals():
    for mu, sd in itertools.product((0.3, 1.0, 4.0), (0.5, 2.0)):
        laws = [(np.zeros(1), [1.0]), (np.array([mu * sd]), [1.0])]
        logs, step = normal_mixtures(laws, sd, reach=30)
        for alpha in (1.1, 2, 5):
            assert worst_renyi(*logs, step, alpha) == pytest.approx(alpha * mu**2 / 2, rel=1e-9)
        for epsilon in (0.0, 0.5, 2.0):
            exact = float(
                mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
            )
            assert normal_delta(epsilon, mu) == pytest.approx(exact, rel=1e-10)
            assert worst_delta(*logs, step, epsilon) == pytest.approx(exact, rel=2e-3)
            assert exact * (1 - 1e-2) <= mixture_delta(laws, sd, epsilon) <= exact + 1e-14


def test_orders_differ_and_both_are_taken():
    logs, step = normal_mixtures([([0.0], [1.0]), ([0.0, 4.0], [0.9, 0.1])], 1.0)
    one, other = delta_of(*logs, step, 1.0), delta_of(*logs[::-1], step, 1.0)
    assert worst_delta(*logs, step, 1.0) == max(one, other) > 10 * min(one, other)


def test_grids_agree_with_linear_processes():
    """Six steps of w -> c w + s + N: the grid finds the normal law's divergences; dropping a step is seen."""
    c, sd, shifts = 0.8, 0.7, [0.4, 0.0, 0.1, 0.6, 0.0, 0.2]
    line = Line(-12, 12, 900, sd=sd)
    logs = [line.logs(line.run(0.0, [lambda w, s=s, k=k: c * w + k * s for s in shifts])) for k in (0, 1)]
    exact = float(linear_leak(shifts, [sd] * 6, [Fraction(c)] * 6))
    assert worst_renyi(*logs, line.step, 2) == pytest.approx(exact, rel=1e-8)
    assert worst_delta(*logs, line.step, 0.3) == pytest.approx(normal_delta(0.3, math.sqrt(exact)), rel=1e-3)
    shorter = float(linear_leak(shifts[1:], [sd] * 5, [Fraction(c)] * 5))
    assert shorter < exact * 0.999


def test_laplace_grids_agree_with_the_closed_form():
    line = Line(-30, 30, 2000, laplace=1.0)
    logs = [line.logs(line.run(x, [lambda w: w])) for x in (0.0, 1.3)]
    for alpha in (1.2, 2, 6):
        assert worst_renyi(*logs, line.step, alpha) == pytest.approx(float(laplace_cost(1.3, 1.0, alpha)), rel=2e-3)
    assert float(line.density(0.123).sum() * line.step) == pytest.approx(1, abs=1e-12)


def test_projection_orders():
    """Projected first: a map that is still on K is still. Projected last: it is not."""
    line = Line(-9, 9, 600, sd=1.0, interval=(-1.0, 1.0))

    def bent(w):
        return np.where(np.abs(w) <= 1, w, 0.0)

    still = line.run(0.0, [lambda w: w] * 2)
    assert line.run(0.0, [lambda w: w, bent]) == pytest.approx(still)
    assert abs(line.run(0.0, [lambda w: w, bent], True) - line.run(0.0, [lambda w: w] * 2, True)).max() > 1e-3


def test_mixtures_over_paths():
    line = Line(-8, 8, 400, sd=1.0)
    maps = [lambda w: 0.5 * w, lambda w: w + 1]
    paths = np.array(list(itertools.product((0, 1), repeat=3)))
    weights = np.arange(1.0, 9.0)
    found = line.mixture(0.0, paths, weights, lambda t, x: maps[x])
    by_hand = sum(w / 36 * line.run(0.0, [maps[x] for x in path]) for path, w in zip(paths, weights, strict=True))
    assert found == pytest.approx(by_hand, rel=1e-12)


def test_random_maps_keep_their_promises():
    rng, w = np.random.default_rng(3), np.linspace(-5, 5, 4001)
    for _ in range(50):
        c, shift = float(rng.random()), float(rng.exponential())
        phi = lipschitz_map(rng, c, 2.0)
        other = near_map(rng, phi, c, shift, 2.0)
        for each in (phi, other):
            assert np.abs(np.diff(each(w))).max() <= c * (w[1] - w[0]) * (1 + 1e-6) + 1e-12
        assert np.abs(phi(w) - other(w)).max() <= shift * (1 + 1e-12)


def test_batches_and_weights():
    assert [list(batch_of(t, 5, 2)) for t in range(5)] == [[0, 1], [2, 3], [4], [0, 1], [2, 3]]
    k, variance = record_weights(4, 3, 2, [1.0] * 4, [1.0] * 4)
    assert k.tolist() == [1.0, 1.0, 1.0] and variance == 4  # two passes, each record moves 1 / m in each
    k, variance = record_weights(2, 2, 1, [1.0, 0.5], [0.5, 0.5])
    assert k.tolist() == [0.5, 0.5] and variance == 1.25


def test_chains():
    paths, p = chain_paths([[0.9, 0.1], [0.4, 0.6]], [0.8, 0.2], 3)
    assert len(paths) == 8 and p.sum() == pytest.approx(1)
    chosen = {tuple(x): y for x, y in zip(paths, p, strict=True)}
    assert chosen[0, 1, 1] == pytest.approx(0.8 * 0.1 * 0.6)
    pairs = list(secret_pairs(paths, p))
    assert len(pairs) == 3 and all(one.sum() == other.sum() == 4 for _, (one, _), (other, _) in pairs)
