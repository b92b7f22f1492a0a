"""Two sequences of Lipschitz maps, and mixtures of them, on dense grids: the bounds are never below the truth."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from iteration_oracle import (
    Line,
    attaining,
    laplace_cost,
    least,
    least_with_restart,
    linear_leak,
    lipschitz_map,
    near_map,
    normal_delta,
    worst_delta,
    worst_renyi,
)

import fugu
from fugu.iterate import shift_bound
from fugu.training.allocation import covered
from hunting import search

ALPHAS, EPSILONS = (1.2, 2, 5), (0.0, 0.3, 1.0, 2.5)
EXACT = 1 - 1e-9


# ---- linear maps: exact ---------------------------------------------------------------------------------------------


def linear_case(rng):
    """stated / truth for the linear maps that leak the whole optimum; both are exact rationals until the last line."""
    size = int(rng.integers(1, 9))
    s = rng.exponential(size=size) * (rng.random(size) < 0.8)
    noise = np.exp(rng.normal(size=size) * rng.choice([0.0, 1.0]))
    c = rng.choice([np.ones(size), rng.random(size), np.full(size, rng.random())])
    truth = linear_leak(s, noise, attaining(least(s, noise, c)[1]))
    alpha = float(rng.choice([1.01, 2, 30]))
    stated = shift_bound(s, noise, alpha, c).epsilon
    assert Fraction(stated) >= truth * Fraction(alpha) / 2
    return float(Fraction(stated) / (truth * Fraction(alpha) / 2)) if truth else 1.0


@search("shift bound: linear maps", quick=60)
def test_linear_maps_leak_exactly_what_is_stated_long(rng):
    assert linear_case(rng) < 1 + 1e-9


def test_quadratic_losses_of_one_curvature():
    """W_t = c W_{t-1} + s_t + N_t with one c: normal, and reached when the levels are those of the last block."""
    for c in (1.0, 0.9, 0.5):
        shifts = [2.0, 0, 0, 0, 0]
        truth = float(linear_leak(shifts, [1] * 5, [Fraction(c)] * 5))
        assert truth * EXACT <= shift_bound(shifts, 1, 2, c).epsilon <= truth * (1 + 1e-9)
        assert shift_bound(shifts[::-1], 1, 2, c).epsilon >= 4 > 2 * truth  # the wrong version: any order of the steps


# ---- maps on the line, projected, with Gaussian or Laplace noise ----------------------------------------------------


def grid_case(rng, laplace, points):
    """truth / stated at the worst order; random maps phi_t, phi'_t at most s_t apart, projection before the map."""
    size, reach = int(rng.integers(1, 7)), float(rng.uniform(1, 3))
    scale = float(rng.uniform(0.4, 1.2))
    c = rng.choice([np.ones(size), rng.random(size), np.full(size, 0.7)])
    s = rng.uniform(0, 1, size) * (rng.random(size) < 0.8)
    if rng.random() < 0.5:
        s = np.sort(s)[:: rng.choice([-1, 1])].copy()
    interval = None if rng.random() < 0.4 else tuple(np.sort(rng.uniform(-reach, reach, 2)))
    maps = [lipschitz_map(rng, x, reach) for x in c]
    others = [near_map(rng, phi, x, shift, reach) for phi, x, shift in zip(maps, c, s, strict=True)]
    every = np.concatenate([phi(np.linspace(-reach, reach, 50)) for phi in (*maps, *others)])
    tail = (18 if laplace else 10) * scale
    line = Line(
        every.min() - tail, every.max() + tail, points, interval=interval, **{"laplace" if laplace else "sd": scale}
    )
    logs = [line.logs(line.run(0.0, each)) for each in (maps, others)]
    diameter = interval[1] - interval[0] if interval else None
    noise = fugu.Laplace(scale) if laplace else scale
    ratio = 0.0
    for alpha in ALPHAS:
        truth = worst_renyi(*logs, line.step, alpha)
        stated = shift_bound(s, noise, alpha, c, diameter=diameter).epsilon
        assert truth <= stated * (1 + 2e-3) + 2e-5
        ratio = max(ratio, truth / stated if stated > 1e-4 else 0.0)
    if not laplace:
        mu = math.sqrt(shift_bound(s, noise, 2, c, diameter=diameter).epsilon)
        for epsilon in EPSILONS:
            assert worst_delta(*logs, line.step, epsilon) <= normal_delta(epsilon, mu) * (1 + 2e-3) + 2e-5
    return ratio


@pytest.mark.parametrize("laplace", [False, True])
def test_maps_on_the_line(laplace):
    ratios = [grid_case(np.random.default_rng([5, k, laplace]), laplace, 450) for k in (1, 4, 7, 10, 12, 13)]
    assert max(ratios) > 0.9


@search("shift bound: maps on the line", quick=1)
def test_maps_on_the_line_long(rng):
    grid_case(rng, bool(rng.random() < 0.3), 1200)


def test_one_laplace_step_is_exact():
    for z, b, alpha in itertools.product((0.01, 1.0, 7.0), (0.5, 3.0), (1.0001, 2, 20)):
        exact = float(laplace_cost(z, b, alpha))
        assert (
            exact * EXACT
            <= shift_bound([z], fugu.Laplace(b), alpha).epsilon
            <= exact * (1 + 1e-9) + 4e-15 / (alpha - 1)
        )
        flat = shift_bound([z], fugu.Laplace(b), alpha, dimension=4).epsilon
        assert flat >= 4 * float(laplace_cost(z / 2, b, alpha)) * EXACT > exact  # the wrong version: one coordinate


# ---- the diameter ---------------------------------------------------------------------------------------------------


def test_the_restart_is_the_least_over_all_starts_and_keeps_the_factor():
    rng, loose = np.random.default_rng(9), 0
    for _ in range(30):
        size, diameter = int(rng.integers(1, 9)), float(np.exp(rng.normal()))
        s, c = rng.exponential(size=size), rng.random(size)
        exact = least_with_restart(s, [1] * size, c, diameter)
        stated = Fraction(shift_bound(s, 1, 2, c, diameter=diameter).epsilon)
        assert exact <= stated <= exact * (1 + Fraction(1, 10**9))
        whole = [covered(s[k:] + diameter * (np.arange(size - k) == 0), 1, c[k:]) for k in range(1, size)]
        loose += min([covered(s, 1, c), *whole]) > 1.01 * float(exact)  # the wrong version: the diameter without c
    assert loose > 10


def test_long_runs_in_a_domain():
    """s = 1, sigma = 1, alpha = 2, diameter 3: 12 for every T, as many as the steps without a domain."""
    for steps in (20, 100, 1000):
        assert shift_bound(np.ones(steps), 1, 2, diameter=3).epsilon == pytest.approx(12, rel=1e-9)
        assert shift_bound(np.ones(steps), 1, 2).epsilon == pytest.approx(steps, rel=1e-9)
    shifts, c = np.linspace(0.2, 1, 400), 0.999
    every = min(float(least_tail(shifts, c, k, 4.0)) for k in range(1, 400, 7))
    assert shift_bound(shifts, 1, 2, c, diameter=4).epsilon <= every * (1 + 1e-3)


def least_tail(shifts, c, start, diameter):
    tail = shifts[start:].copy()
    tail[0] += c * diameter
    return covered(tail, 1.0, c)


def test_a_restart_without_the_diameter_is_no_bound():
    """K = [-2, 2], ten equal steps to the right or to the left, then still ones: the last step alone says 0."""
    line = Line(-12, 12, 900, sd=1.0, interval=(-2.0, 2.0))
    still = [lambda w: w] * 2
    logs = [line.logs(line.run(0.0, [lambda w, x=x: w + x] * 10 + still)) for x in (-1.0, 1.0)]
    truth = worst_renyi(*logs, line.step, 2)
    assert truth > 1
    assert truth <= shift_bound([2.0] * 10 + [0, 0], 1, 2, diameter=4).epsilon


# ---- any coupling of the data ---------------------------------------------------------------------------------------


def coupled_case(rng, points=500):
    """Any coupling bounds the leak, with log E exp, for maps that are not linear; here the independent coupling."""
    size, sd = int(rng.integers(1, 4)), float(rng.uniform(0.5, 1.2))
    maps = [[lipschitz_map(rng, 1.0, 2.0, 4)] for _ in range(size)]
    shifts = rng.uniform(0.1, 1.5, size)
    for row, shift in zip(maps, shifts, strict=True):
        row.append(near_map(rng, row[0], 1.0, shift, 2.0))
    paths = np.array(list(itertools.product((0, 1), repeat=size)))
    p, q = rng.dirichlet(np.full(len(paths), 0.5), 2)
    every = np.concatenate([phi(np.linspace(-2, 2, 50)) for row in maps for phi in row])
    line = Line(every.min() - 9 * sd, every.max() + 9 * sd, points, sd=sd)
    logs = [line.logs(line.mixture(0.0, paths, law, lambda t, x: maps[t][x])) for law in (p, q)]
    squares = np.array([[covered(shifts * (x != y), sd) for y in paths] for x in paths])
    truth = worst_renyi(*logs, line.step, 2)
    bound = math.log(float(p @ np.exp(squares) @ q))
    deltas = np.array([[normal_delta(0.5, math.sqrt(x)) for x in row] for row in squares])
    assert truth <= bound * (1 + 2e-3) + 2e-5
    assert worst_delta(*logs, line.step, 0.5) <= float(p @ deltas @ q) * (1 + 2e-3) + 2e-5


def test_any_coupling_with_log_mean_exp():
    for k in range(6):
        coupled_case(np.random.default_rng([41, k]))
