"""Gaussian fields: what is stated is never below the truth, from the definition.

Sums of all entries with Gaussian noise have closed forms where nothing is clipped; clipped ones, with rounding as fugu
rounds, are summed on grids. Wrong versions that must be caught: b rho in place of b^2 rho, a variance in place of a
precision in kappa, a width that is not squared, a delta of what is seen that is left out.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from field_oracle import (
    clipped,
    divergence,
    draw_field,
    gaussian_steps,
    hockey,
    laplace_steps,
    linear,
    needed_range,
    outputs,
)

import fugu
from fugu import ZCDP, Approx, GaussianField, RenyiCurve
from fugu.translation.translate import least_epsilon
from hunting import search

TOLERANCE = 1 + 1e-9


def linear_case(rng):
    """A field with a width, the rho of the sum with Gaussian noise, and the truth; None where it would be too large.

    The bounds clip nothing but values of probability 1e-18, which change a divergence of up to 20 by nothing. Larger
    ones rest on such values: clipped they are smaller than the closed form says."""
    size = int(rng.integers(2, 7))
    cov = draw_field(rng, size)
    largest = max(math.sqrt(float(row[i])) for i, row in enumerate(cov))
    width = largest * 10.0 ** rng.uniform(-0.5, 3.5)
    far = needed_range(cov, width)
    least = max(linear(cov, 0.0, i, width) for i in range(size))
    sigma = width * 10.0 ** rng.uniform(-1 if least > 20 else -4, 1.5)
    truth = max(linear(cov, sigma, i, width) for i in range(size))
    if truth > 20:
        return None
    return GaussianField(cov, width=width), far**2 / (2 * sigma**2), truth


@search("sums about a Gaussian field, in closed form", quick=150)
def test_the_sum_with_gaussian_noise_never_says_more_than_stated(rng):
    if (case := linear_case(rng)) is None:
        return 0
    field, rho, truth = case
    stated = fugu.translate(field, ZCDP(rho)).rho
    assert truth <= stated * TOLERANCE
    assert rho <= stated <= field.size**2 * rho * TOLERANCE
    return 1


def wrong(field, rho, version):
    """max over entries of min over all L of a wrong formula."""
    cov, size, w = field.covariance, field.size, field.width
    worst = 0.0
    for i in range(size):
        found = []
        for near in range(1, size + 1):
            kappa, seen = field.best(i, near)
            if version == "variance":
                left = 1 / (kappa + 1 / cov[i][i])
                kappa = cov[i][i] - left
            group = near if version == "b rho" else near**2
            far = w if version == "width" else w**2
            found.append(group * rho + float(far * kappa) / 2)
            assert len(seen) == size - near
        worst = max(worst, min(found))
    return worst


@pytest.mark.parametrize("version", ["b rho", "variance", "width"])
def test_a_wrong_version_is_below_the_truth(version):
    """Two entries or three, nearly equal or hardly correlated, whose secrets are far apart in standard deviations."""
    r, size, width, sigma = {
        "b rho": (Fraction(999, 1000), 3, 1000, 1000.0),
        "variance": (Fraction(999, 1000), 2, Fraction(1, 10), 0.05),
        "width": (Fraction(1, 5), 2, 1000, 190.0),
    }[version]
    unit = {"b rho": 1, "variance": Fraction(1, 10**8), "width": 25}[version]
    cov = [[unit * (1 if i == j else r) for j in range(size)] for i in range(size)]
    field = GaussianField(cov, width=width)
    rho = needed_range(cov, float(width)) ** 2 / (2 * sigma**2)
    truth = linear(cov, sigma, 0, float(width))
    assert truth < 20 and wrong(field, rho, version) < truth * (1 - 1e-6)
    assert truth <= fugu.translate(field, ZCDP(rho)).rho * TOLERANCE


def test_equal_entries_reach_the_group():
    """x_1 = ... = x_n: the sum says n^2 times what one entry does, which is what is stated."""
    field = GaussianField([[1] * 4] * 4, width=2)
    assert fugu.translate(field, ZCDP(0.5)).rho == 8
    assert linear(field.covariance, 2.0, 0, 2.0) == pytest.approx(16 * 2**2 / (2 * 2.0**2))


def clipped_case(rng, size):
    """A small field, bounds that clip much or little, two values of an entry."""
    cov = draw_field(rng, size)
    sds = [math.sqrt(float(row[i])) for i, row in enumerate(cov)]
    half = max(sds) * 10.0 ** rng.uniform(-0.5 if size == 2 else -0.3, 0.5)
    i = int(rng.integers(size))
    width = sds[i] * 10.0 ** rng.uniform(-0.7, 0.9)
    middle = rng.normal() * sds[i]
    return cov, i, middle - width / 2, middle + width / 2, width, (-half, half)


@search("clipped sums about a Gaussian field, by quadrature", each=[2, 3], quick=20)
def test_a_clipped_sum_never_says_more_than_stated(size, rng):
    cov, i, u, v, width, bounds = clipped_case(rng, size)
    sigma = (bounds[1] - bounds[0]) * 10.0 ** rng.uniform(-0.7, 0.7)
    p, q = outputs(cov, i, u, v, bounds, gaussian_steps(sigma), points=301 if size == 2 else 91)
    field = GaussianField(cov, width=width * (1 + 1e-12))
    rho = (bounds[1] - bounds[0]) ** 2 / (2 * sigma**2)
    stated = fugu.translate(field, ZCDP(rho))
    curve = fugu.translate(field, RenyiCurve({a: rho * a for a in (1.5, 3, 6, 12)}))
    for alpha in (1.5, 3, 6):
        truth = divergence(p, q, alpha)
        assert truth <= stated(alpha) * (1 + 1e-6) + 1e-9
        assert truth <= curve(alpha) * (1 + 1e-6) + 1e-9
    epsilon = float(rng.choice([0.1, 1.0, 3.0]))
    assert hockey(p, q, epsilon) <= stated.delta_at(epsilon) * (1 + 1e-6) + 1e-12
    return 1


@search("clipped sums with Laplace noise about a Gaussian field", quick=30)
def test_a_pure_epsilon_is_worth_no_more_than_stated_at_a_delta(rng):
    cov, i, u, v, width, bounds = clipped_case(rng, 2)
    epsilon, delta = float(rng.choice([0.02, 0.1, 0.5, 1])), float(rng.choice([1e-8, 1e-4, 0.05]))
    p, q = outputs(cov, i, u, v, bounds, laplace_steps((bounds[1] - bounds[0]) / epsilon), points=301)
    field = GaussianField(cov, width=width * (1 + 1e-12))
    stated = fugu.translate(field, Approx(epsilon, 0), delta=delta)
    assert stated.delta == delta and epsilon <= stated.epsilon <= 2 * epsilon * TOLERANCE
    assert hockey(p, q, float(stated.epsilon)) <= delta * (1 + 1e-6) + 1e-12
    more = fugu.translate(field, Approx(epsilon, delta / 100), delta=delta)
    assert more.epsilon >= stated.epsilon


def test_the_delta_of_what_is_seen_cannot_be_left_out():
    """Wrong version: (epsilon, 0) for b = 1, as if the other entry said nothing: the clipped sum exceeds it."""
    cov, bounds = [[1, 0.99], [0.99, 1]], (-2.0, 2.0)
    p, q = outputs(cov, 0, -1.5, 1.5, bounds, laplace_steps(4.0), points=801)
    assert hockey(p, q, 1.0) > 0.05
    stated = fugu.translate(GaussianField(cov, width=3), Approx(1, 0), delta=1e-3)
    assert hockey(p, q, float(stated.epsilon)) <= 1e-3 and stated.epsilon <= 2


def test_the_grid_knows_the_law_it_sums():
    """The mean of a sum that is hardly clipped, given an entry, is the regression line."""
    cov = [[1, 0.5], [0.5, 2]]
    total, mass = clipped(cov, 1, 0.8, (-9.0, 9.0), 401)
    assert total @ mass == pytest.approx(0.8 * (1 + 0.25), abs=1e-6)


@pytest.mark.parametrize(
    ("m", "delta"), [(1e-3, Fraction(1, 10**9)), (0.3, Fraction(1, 10**6)), (20.0, Fraction(1, 3))]
)
def test_the_epsilon_of_two_normal_laws(m, delta):
    from scipy.stats import norm

    a = least_epsilon(m, delta)

    def true(e):
        return norm.cdf(m / 2 - e / m) - math.exp(e) * norm.cdf(-m / 2 - e / m) if e < 600 else 0.0

    assert true(a) <= float(delta) * (1 + 1e-6) and (a == 0 or true(a * (1 - 1e-6)) >= float(delta) * (1 - 1e-4))


def test_a_budget_is_the_inverse_of_the_translation():
    rng = np.random.default_rng(0)
    for size in (2, 4):
        field = GaussianField(draw_field(rng, size), width=float(10.0 ** rng.uniform(-2, 0)))
        assert fugu.translate(field, ZCDP(0)).rho == 0
        for budget in (ZCDP(0.5), RenyiCurve({2: 0.3, 16: 4}), fugu.Renyi(4, 0.7), Approx(1, 1e-5)):
            own = fugu.dp_budget(field, budget)
            assert own.rho > 0 and fugu.translate(field, own) <= budget
            assert not fugu.translate(field, ZCDP(float(own.rho) * (1 + 1e-4))) <= budget
