"""Langevin dynamics: the corrected rate, and what refutes the printed one."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from fugu import Laplace, Pure, Renyi, Scenario, Shifted, calibrate, epsilon, verify
from fugu.errors import UsageError


def shift_of(scenario):
    (pair,) = scenario.law_pairs()
    return pair.q.exact[0] - pair.p.exact[0]


def test_reference_numbers():
    total, stacked = (shift_of(Scenario.langevin(1, (0.5, 1, 2), 2, norm=norm)) for norm in ("sum", "stacked"))
    assert float(total) == pytest.approx(2.219490768241, rel=1e-9)
    assert float(stacked) == pytest.approx(1.444341183096, rel=1e-9)
    printed = 2 * sum(math.exp(-2 * t) for t in (0.5, 1, 2))
    assert printed == pytest.approx(1.043060726594, rel=1e-12) and printed < stacked


@pytest.mark.parametrize("rate", [-2, 0, 0.3, 7, 300])
@pytest.mark.parametrize("norm", ["sum", "stacked"])
def test_the_bound_is_never_below_the_formula_and_hardly_above(rate, norm):
    times, width, slope = (0.1, 0.7, 2), 3, 0.4
    power = 1 if norm == "sum" else 2
    with mpmath.workdps(50):
        rates = [mpmath.e ** (-power * mpmath.mpf(str(rate)) * mpmath.mpf(str(t))) for t in times]
        exact = mpmath.mpf("1.2") * mpmath.fsum(rates) ** (mpmath.mpf(1) / power)
        found = shift_of(Scenario.langevin(rate, times, width, slope, norm))
        ratio = mpmath.mpf(found.numerator) / found.denominator / exact
        assert 1 <= ratio <= 1 + mpmath.mpf(10) ** -8


def test_an_ornstein_uhlenbeck_process_refutes_the_printed_rate():
    """V = x^2 / 2: the laws at time 1 are N(e^-1 a, .), exactly e^-1 |a - b| apart."""
    scenario = Scenario.langevin(1, [1], 1)
    apart, printed = math.exp(-1), math.exp(-2)
    assert apart == pytest.approx(0.36787944, abs=1e-8) and printed == pytest.approx(0.13533528, abs=1e-8)
    truth = Shifted(0.36787944)
    assert epsilon(Laplace(printed), truth) > 2.7, "noise for the printed distance leaks e times too much"
    assert epsilon(Laplace(0.98 * apart), truth) > 1
    assert epsilon(Laplace(calibrate(scenario, Pure(1)).noise.scale), truth) <= 1


def test_l1_distances_do_not_shrink_at_that_rate():
    """V = x'Ax/2 with eigenvalue 1 along (cos pi/8, sin pi/8) and 1000 across: |e^-A e1|_1 > e^-1."""
    along = np.array([math.cos(math.pi / 8), math.sin(math.pi / 8)])
    across = np.array([-along[1], along[0]])
    flow = math.exp(-1) * np.outer(along, along) + math.exp(-1000) * np.outer(across, across)
    moved = flow @ np.array([1.0, 0.0])
    assert np.abs(moved).sum() == pytest.approx(0.44406977, abs=1e-8)
    assert np.linalg.norm(moved) <= math.exp(-1) < np.abs(moved).sum()


def test_two_paths_with_the_same_noise_stay_within_the_bound_where_the_potential_is_not_convex():
    """V = x^4 / 4 - x^2 / 2, so C = -1; small steps of Euler's scheme, the sum and the stacked norm."""
    rng = np.random.default_rng(2)
    step, times = 1e-3, (0.5, 1.0)
    x, y = np.full(200, -0.05), np.full(200, 0.05)
    gaps = {}
    for k in range(1, 1001):
        kick = math.sqrt(2 * step) * rng.standard_normal(200)
        x, y = x - step * (x**3 - x) + kick, y - step * (y**3 - y) + kick
        gaps[k] = np.abs(x - y)
    seen = np.array([gaps[round(t / step)] for t in times])
    assert seen.sum(axis=0).max() <= shift_of(Scenario.langevin(-1, times, Fraction(1, 10)))
    stacked = shift_of(Scenario.langevin(-1, times, Fraction(1, 10), norm="stacked"))
    assert np.sqrt((seen**2).sum(axis=0)).max() <= stacked
    assert seen[0].max() > 0.1 * math.exp(-0.5), "a rate of +1 would be refuted"


@pytest.mark.parametrize("budget", [Pure(0.5), Renyi(alpha=3, epsilon=0.5)])
def test_it_calibrates(budget):
    scenario = Scenario.langevin(1, [0.5, 1, 2], 2)
    mechanism = calibrate(scenario, budget)
    assert verify(mechanism, scenario).holds
    assert any("Hess V >= 1" in text for text in mechanism.certificate.assumptions)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1, [], 1), "times"),
        ((1, [-1], 1), "times"),
        ((1, [1, 1.0], 1), "times"),
        ((float("inf"), [1], 1), "strong_convexity"),
        ((1e9, [1], 1), "rescale"),
        ((1, [1], -1), "diameter"),
        ((1, [1], 1, -2), "lipschitz"),
        ((1, [1], 1, 1, "l1"), "norm"),
    ],
)
def test_wrong_use_is_refused(arguments, said):
    with pytest.raises(UsageError, match=said):
        Scenario.langevin(*arguments)
