"""Figures 5 and 6 of Pierquin et al. 2024 through fugu: D_2 of the last iterate when later records depend ever less on
the secret first one, Cov(X_1, X_t) = rho_t, all constants 1. Printed: (sum |rho_t|)^2 / T; step by step: sum rho_t^2.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fugu.iterate import AR1, Correlated, NoisySGD, shift_bound
from fugu.priors.gaussian_field import GaussianField

TIMES = (1, 2, 5, 10, 50, 100, 1000)
CURVES = {
    "0": (lambda t: 0 * t, (1, 0.5, 0.2, 0.1, 0.02, 0.01, 0.001)),
    "0.1": (lambda t: 0.1 + 0 * t, (1, 0.605, 0.392, 0.361, 0.6962, 1.1881, 10.18081)),
    "0.2": (lambda t: 0.2 + 0 * t, (1, 0.72, 0.648, 0.784, 2.3328, 4.3264, 40.32064)),
    "0.8": (lambda t: 0.8 + 0 * t, (1, 1.62, 3.528, 6.724, 32.3208, 64.3204, 640.32004)),
    "1": (lambda t: 1.0 + 0 * t, (1, 2, 5, 10, 50, 100, 1000)),
    "1/t": (lambda t: 1 / t, (1, 1.125, 1.0427222222, 0.8578855033, 0.4048569735, 0.2690888551, 0.056032274)),
    "1/t^2": (lambda t: 1 / t**2, (1, 0.78125, 0.4284314969, 0.2401780021, 0.052821128, 0.0267317235, 0.0027025209)),
}


def correlations(curve, steps):
    found = np.asarray(CURVES[curve][0](np.arange(1.0, steps + 1)), dtype=float)
    found[0] = 1.0
    return found


def printed(rho):
    """Proposition F.2, true for correlations that do not increase."""
    return float(np.abs(rho).sum()) ** 2 / rho.size


def naive(rho):
    """Proposition 6.4."""
    return float(np.square(rho).sum())


@pytest.mark.parametrize("curve", CURVES)
def test_the_curves_are_the_least_allocation(curve):
    for steps, known in zip(TIMES, CURVES[curve][1], strict=True):
        rho = correlations(curve, steps)
        found = shift_bound(np.abs(rho), 1, 2).epsilon
        assert math.isclose(found, known, rel_tol=3e-8)
        assert found >= printed(rho) * (1 - 1e-12)  # rounded up, and here the printed curve is the least
        assert found <= min(printed(rho), naive(rho)) * (1 + 1e-9)
        if steps > 1 and curve != "1":
            assert found < naive(rho) * (1 - 1e-5)  # step by step is not what is computed


def test_the_curve_of_constant_correlation_turns():
    """Its minimum is at T = 1 / rho - 1 = 9; more steps then only bring in more records that tell of the first."""
    found = [shift_bound(correlations("0.1", steps), 1, 2).epsilon for steps in range(1, 20)]
    assert int(np.argmin(found)) == 8 and math.isclose(min(found), 0.36, rel_tol=1e-9)


@pytest.mark.parametrize("curve", ["0.1", "1/t", "1/t^2"])
def test_a_negative_correlation_counts_like_a_positive_one(curve):
    rho = correlations(curve, 10) * np.where(np.arange(10) % 2, -1, 1)
    assert math.isclose(shift_bound(np.abs(rho), 1, 2).epsilon, printed(rho), rel_tol=1e-9)
    assert printed(rho) > float(rho.sum()) ** 2 / 10 * 1.1  # what comes out if signs are kept


def test_the_bound_is_never_above_the_valid_printed_ones():
    draw = np.random.default_rng(5)
    for _ in range(300):
        rho = draw.exponential(size=draw.integers(1, 40)) ** 2
        assert shift_bound(rho, 1, 2).epsilon <= naive(rho) * (1 + 1e-9)
        falling = np.sort(rho)[::-1]
        assert shift_bound(falling, 1, 2).epsilon <= min(printed(falling), naive(falling)) * (1 + 1e-9)


def test_for_correlations_that_increase_the_printed_curve_is_not_reached():
    """The secret last: its own noise alone hides it. A linear loss that forgets leaks the whole naive sum."""
    rho = correlations("1/t", 50)[::-1]
    found = shift_bound(rho, 1, 2).epsilon
    assert math.isclose(found, naive(rho), rel_tol=1e-9) and found > 4 * printed(rho)


@pytest.mark.parametrize("curve", ["0", "1/t", "1/t^2"])
def test_the_accountant_agrees_on_the_first_record_and_covers_every_other(curve):
    """One adversary who believes in these correlations with the first record; otherwise they are independent."""
    steps = 10
    rho = correlations(curve, steps)
    covariance = np.eye(steps)
    covariance[0, 1:] = covariance[1:, 0] = rho[1:] / 2
    field = GaussianField(covariance.tolist())
    sgd = NoisySGD(steps, 1, 1, 1e-9, noise=1, prior=Correlated(field, 1), sensitivity=1)
    worst = max(shift_bound(np.abs(row), 1, 2).epsilon for row in covariance)
    assert math.isclose(sgd.renyi(2).epsilon, worst, rel_tol=1e-9)
    assert worst > shift_bound(covariance[0], 1, 2).epsilon  # the first record alone is hidden best


def test_with_geometric_correlations_more_steps_hide_the_first_record():
    found = [shift_bound(0.5 ** np.arange(steps), 1, 2).epsilon for steps in (1, 10, 100, 1000)]
    assert found == sorted(found, reverse=True) and found[-1] < 0.0041
    last = NoisySGD(1000, 1, 1, 1e-9, noise=1, prior=AR1(0.5, 1), sensitivity=1).renyi(2).epsilon
    assert last > 1 > found[-1]  # but not the last one
