"""Noise that is 3 % too small, or a price, is seen where a release is made: exact laws and closed forms.

Draws are judged by a mean whose law is known: a false alarm has a probability below 1e-9.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import fugu
from fugu import Approx, GaussianField, Pure, Scenario, Shifted
from fugu.documents import swap as swap_document
from fugu.guarantee.lines import of_approx, of_zcdp
from fugu.noise.bits import OsBits
from fugu.priors.joint import JointTable
from fugu.translation.profiles import least_delta
from fugu_papers.gaussian_entries import translate_gaussian

N = 100_000
SURE = 6.5
"""Standard deviations: two sides of a normal tail, 8e-11."""


def normal_delta(m, epsilon):
    """The delta at epsilon of two normal laws of variance 1 that are m apart."""
    return norm.cdf(m / 2 - epsilon / m) - math.exp(epsilon) * norm.cdf(-m / 2 - epsilon / m)


# --- what a release adds ------------------------------------------------------------------------------------------


def away(found, mean, deviation):
    """How many of its deviations the mean of N numbers is away."""
    return abs(float(np.mean(found)) - mean) / (deviation / math.sqrt(len(found)))


@pytest.mark.parametrize("by", [(1, 2), (0.5, 7, 3)], ids=str)
def test_a_directed_release_adds_laplace_noise_of_the_scales_it_states(by):
    """|Z| of a lattice Laplace number has the mean 1 / sinh(1/t), and Z^2 the mean 1 / (2 sinh(1/2t)^2)."""
    made = fugu.calibrate(Shifted(by), Pure(1), method="anisotropic-laplace")
    drawn = made.release(np.zeros((N, len(by)))).values
    stated = made.certificate.body["noise"]
    for j, (column, scale) in enumerate(zip(stated["columns"], stated["scales"], strict=True)):
        unit, t = float(Fraction(stated["grid"])) * max(map(abs, column)), float(Fraction(scale))
        assert [k for k, x in enumerate(column) if x] == [j]
        z = np.abs(drawn[:, j]) / unit
        mean, square = 1 / math.sinh(1 / t), 0.5 / math.sinh(0.5 / t) ** 2
        deviation = math.sqrt(square - mean**2)
        assert away(z, mean, deviation) < SURE < away(0.97 * z, mean, deviation)


def test_a_record_swap_adds_the_noise_that_its_certificate_states(monkeypatch):
    monkeypatch.setattr(swap_document, "DRAWS", 20_000)
    table = {"x": [0, 4, 0, 0], "s": ["a", "a", "b", "b"]}
    scenario = Scenario.from_property(
        table, ["sum(x)"], "s=a", 3, values=[Fraction(1, 3), Fraction(2, 3)], tolerance=1, bounds={"x": (0, 4)}
    )
    made = fugu.calibrate(scenario, Approx(1, 0.1), method="record-swap")
    drawn = made._released(np.full(N, 5.0), False, OsBits())  # a release of one data set has one row
    sigma = float(Fraction(drawn.certificate.body["noise"]["scale"]))
    assert 0 < sigma < made.noise.scale and fugu.verify(drawn.certificate).holds
    square = ((drawn.values - 5.0) / sigma) ** 2
    assert away(square, 1.0, math.sqrt(2)) < SURE < away(0.97**2 * square, 1.0, math.sqrt(2))


# --- what a price is ----------------------------------------------------------------------------------------------


def test_no_delta_is_below_that_of_one_entry():
    """Independent entries: a chain adds nothing, and the least delta is that of one entry."""
    for delta in (1e-3, 1e-9):
        alone = fugu.MarkovChain([[0.3, 0.7], [0.3, 0.7]], 5, [0.3, 0.7])
        assert delta <= least_delta(alone, of_approx(Approx(0.3, delta))) <= delta * (1 + 1e-9)
        tied = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 5)
        assert least_delta(tied, of_approx(Approx(0.3, delta))) >= delta


@pytest.mark.parametrize("rho", [Fraction(1, 200), Fraction(1, 8)], ids=str)
def test_two_probabilities_of_a_zcdp_release_reach_its_lines(rho):
    """A coin of probability p in place of t is rho-zCDP in this direction up to the largest p with D_a <= rho a."""
    orders = 1 + np.geomspace(1e-4, 1e5, 4_000)

    def above(p, t):
        logs = np.logaddexp(
            orders * math.log(p) + (1 - orders) * math.log(t),
            orders * math.log1p(-p) + (1 - orders) * math.log1p(-t),
        )
        return float((logs / (orders - 1) / orders).max()) - float(rho)

    one = of_zcdp(rho).one
    for t in (1e-6, 1e-3, 0.05, 0.3):
        most = brentq(above, t, 1 - 1e-9, args=(t,), xtol=1e-14 * t, rtol=1e-13)
        stated = float((one.a * t + one.b).min())
        assert most * (1 - 1e-9) <= stated <= most * 1.02


def test_gaussian_noise_by_the_pure_translation_is_its_closed_form():
    """Two cells that are always equal: (e, d) is worth (2 e, d (1 + e^e)); d = delta / 20 is the best share tried."""
    mu, delta = 0.1, 1e-6
    stated = translate_gaussian(JointTable([[0.5, 0.0], [0.0, 0.5]]), mu, delta)
    own = brentq(lambda e: normal_delta(mu, e) - delta / 20, 1e-6, 5)
    assert 1 + math.exp(own) < 20  # so that the delta is met at once
    assert 2 * own * (1 - 1e-9) <= stated <= 2 * own * 1.002
    assert normal_delta(2 * mu, stated) <= delta  # the sum of both, the truth


@pytest.mark.parametrize(("r", "width", "epsilon", "delta"), [(0.5, 0.1, 1, 1e-3), (0.9, 0.03, 0.5, 1e-6)])
def test_epsilon_and_delta_under_two_normal_entries_are_their_closed_form(r, width, epsilon, delta):
    """epsilon + a, where the other entry is seen: m = width sqrt(1 / (1 - r^2) - 1) apart, delta = Delta(a; m)."""
    stated = fugu.translate(GaussianField([[1, r], [r, 1]], width=width), Approx(epsilon, 0), delta=delta)
    a = brentq(lambda a: normal_delta(width * r / math.sqrt(1 - r * r), a) - delta, 1e-9, epsilon, xtol=1e-15)
    assert a * (1 - 1e-7) <= stated.epsilon - epsilon <= a * (1 + 1e-5)
    assert stated.epsilon < 2 * epsilon
