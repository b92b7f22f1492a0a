"""`Gaussian`: moments, tails and quantiles against 50 digits, its exact precision, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from fugu.errors import BadNoise, UnknownName
from fugu.noise import Gaussian, Laplace
from fugu.noise.bits import RngBits
from fugu.noise.gaussian import LatticeGaussianSampler
from fugu.numbers.exact import as_fraction

DIGITS = 50


class Exact:
    """The lattice law with 50 digits, summed term by term from the far end."""

    def __init__(self, noise: Gaussian) -> None:
        rho = noise.precision
        self.grid = noise.grid
        reach = math.isqrt(math.ceil(750 / rho)) + 3
        with mp.workdps(DIGITS):
            r = mpf(rho.numerator) / rho.denominator
            self.mass = [mp.exp(-r * k * k) for k in range(reach)]
            self.theta = 2 * mp.fsum(self.mass) - 1
            total, self.above = mpf(0), [mpf(0)] * reach
            for k in range(reach - 1, -1, -1):
                total += self.mass[k]
                self.above[k] = total

    def moment(self, power: int) -> float:
        with mp.workdps(DIGITS):
            g = mpf(self.grid.numerator) / self.grid.denominator
            return float(2 * g**power * mp.fsum(k**power * m for k, m in enumerate(self.mass)) / self.theta)

    def beyond(self, steps: int) -> mpf:
        """P(|K| > steps)."""
        with mp.workdps(DIGITS):
            return 2 * self.above[steps + 1] / self.theta

    def quantile(self, level: float) -> Fraction:
        with mp.workdps(DIGITS):
            allowed = 1 - mpf(repr(level))
            return next(k for k in range(len(self.mass) - 1) if self.beyond(k) <= allowed) * self.grid


NOISES = [
    Gaussian(0.05, grid=1),
    Gaussian(0.3, grid=1),
    Gaussian(1.0, grid=1),
    Gaussian(0.7, grid=Fraction(1, 10)),
    Gaussian(3.99, grid=1),
    Gaussian(4.01, grid=1),
    Gaussian(16, grid=Fraction(1, 3)),
    Gaussian(999.0, grid=1),
    Gaussian(Fraction(1001, 1000), grid=Fraction(1, 1000)),
]


exactly = cache(Exact)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_lattice_moments_are_those_of_fifty_digits(noise: Gaussian) -> None:
    exact = exactly(noise)
    assert noise.expected_error() == pytest.approx(exact.moment(1), rel=4e-15, abs=0)
    assert noise.expected_error("squared") == pytest.approx(exact.moment(2), rel=1e-13, abs=0)
    if noise.scale < 3 * noise.grid:  # a wrong version: the moments of the continuous law
        assert noise.expected_error() != pytest.approx(Gaussian(noise.scale).expected_error(), rel=1e-3)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_tails_and_quantiles_are_those_of_fifty_digits(noise: Gaussian) -> None:
    exact = exactly(noise)
    width = float(noise.scale / float(noise.grid))
    for steps in {0, 1, *(math.ceil(z * width) for z in (0.1, 0.5, 1, 2, 4, 8, 20, 30))}:
        truth = exact.beyond(steps)
        if truth > 1e-300:
            for error in (float(steps * noise.grid), (steps + 0.5) * float(noise.grid)):
                assert noise.tail(error) == pytest.approx(float(truth), rel=1e-12, abs=0)
            if steps:
                assert noise.tail((steps - 0.5) * float(noise.grid)) > float(truth)
    for level in (0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - 1e-15):
        assert noise.quantile(level) == float(exact.quantile(level))


@settings(max_examples=20, deadline=None, database=None)
@given(
    scale=st.floats(0.05, 30.0),
    grid=st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(5)]),
    level=st.floats(0.0, 0.9999),
)
def test_a_quantile_is_the_least_multiple_of_the_grid_that_holds_the_level(
    scale: float, grid: Fraction, level: float
) -> None:
    noise = Gaussian(scale, grid)
    h = noise.quantile(level)
    steps = round(Fraction(h) / grid)
    assert h == float(steps * grid)
    exact = Exact(noise)
    miss = 1 - as_fraction(level)
    with mp.workdps(DIGITS):
        allowed = mpf(miss.numerator) / miss.denominator
        assert exact.beyond(steps) <= allowed
        assert steps == 0 or exact.beyond(steps - 1) > allowed * (1 - mpf(10) ** -11)


def euler_maclaurin(width: int, start: int) -> mpf:
    """sum over k >= start of exp(-k^2 / (2 width^2)), with six corrections at the end point."""

    def f(x: mpf) -> mpf:
        return mp.exp(-(x**2) / (2 * mpf(width) ** 2))

    tail = mp.sqrt(mp.pi / 2) * width * mp.erfc(start / (mp.sqrt(2) * width))
    ends = mp.taylor(f, start, 11, chop=False)
    return tail + ends[0] / 2 - sum(mp.bernoulli(n) / n * ends[n - 1] for n in range(2, 13, 2))


@pytest.mark.parametrize("width", [10**4, 10**8])
def test_wide_lattices_agree_with_euler_and_maclaurin(width: int) -> None:
    noise = Gaussian(width, grid=1)
    with mp.workdps(DIGITS):
        theta = 2 * euler_maclaurin(width, 0) - 1
        for z in (0, 1, 2, 5, 10, 30):
            truth = 2 * euler_maclaurin(width, z * width + 1) / theta
            assert noise.tail(z * width) == pytest.approx(float(truth), rel=1e-12, abs=0)
        absolute = 2 * (mpf(width) ** 2 - mpf(1) / 12 - 1 / (240 * mpf(width) ** 2)) / theta
        assert noise.expected_error() == pytest.approx(float(absolute), rel=1e-14, abs=0)
        for level in (0.5, 0.95, 0.999):
            steps, allowed = int(noise.quantile(level)), 1 - mpf(repr(level))
            assert 2 * euler_maclaurin(width, steps + 1) / theta <= allowed < 2 * euler_maclaurin(width, steps) / theta
    assert noise.expected_error("squared") == width**2


def test_the_continuous_law() -> None:
    noise = Gaussian(2.5)
    with mp.workdps(DIGITS):
        assert noise.expected_error() == pytest.approx(float(mpf("2.5") * mp.sqrt(2 / mp.pi)), rel=1e-15, abs=0)
        assert noise.expected_error("squared") == 6.25
        for error in (0.0, 1.0, 2.5, 10.0, 60.0):
            assert noise.tail(error) == pytest.approx(
                float(mp.erfc(error / (mpf("2.5") * mp.sqrt(2)))), rel=1e-13, abs=0
            )
        for level in (0.1, 0.5, 0.95, 0.999999):
            exact = mpf("2.5") * mp.sqrt(2) * mp.erfinv(mpf(repr(level)))
            assert exact <= noise.quantile(level) <= exact * (1 + mpf(10) ** -11)
    assert noise.quantile(0) == 0


def test_the_precision_is_exact_and_the_sampler_has_the_stated_moments() -> None:
    assert Gaussian(0.1, grid=0.1).precision == Fraction(1, 2)
    assert Gaussian(Fraction(2, 3), grid="1/3").precision == Fraction(1, 8)
    assert Gaussian(1.0, grid=1).precision != Laplace(1.0, grid=1).rate
    for noise in (Gaussian(0.8, grid=1), Gaussian(0.8, grid=Fraction(1, 1000))):
        draws = LatticeGaussianSampler(noise.precision).draw(10**6, RngBits(np.random.default_rng(1)))
        errors = np.abs(draws) * float(noise.grid)
        for sample, objective in ((errors, "absolute"), (errors**2, "squared")):
            sigma = float(sample.std()) / 1000
            assert abs(float(sample.mean()) - noise.expected_error(objective)) < 5 * sigma
            assert abs(float(sample.mean()) - 1.03 * noise.expected_error(objective)) > 5 * sigma
        for error in (0.5, 1.0, 2.0):
            p = noise.tail(error)
            assert abs(float(np.mean(errors > error + 1e-9)) - p) < 5 * math.sqrt(p / 10**6)


def total_variation(scale: float) -> float:
    """Between (0, 5, 7) and (6, -1, 1), each with weights (10, 1, 1) / 12, after lattice noise of that scale."""
    k = np.arange(-40, 41)
    noise = np.exp(-(k**2) / (2 * scale**2))
    gap = np.zeros(9)
    gap[[1, 6, 8]] += np.array([10, 1, 1]) / 12
    gap[[7, 0, 2]] -= np.array([10, 1, 1]) / 12
    return float(np.abs(np.convolve(gap, noise / noise.sum())).sum() / 2)


def test_more_lattice_noise_can_leak_more() -> None:
    """Why a larger scale is proved on its own, as the docstring states."""
    assert total_variation(0.5) == pytest.approx(0.7013, abs=5e-5)
    assert total_variation(0.55) == pytest.approx(0.7097, abs=5e-5)
    assert total_variation(2.0) < total_variation(0.5)


def test_scale_zero_is_no_noise() -> None:
    for noise in (Gaussian(0), Gaussian(0.0, grid=1)):
        assert noise.expected_error() == noise.expected_error("squared") == 0
        assert noise.tail(0.0) == noise.quantile(0.99) == 0
        with pytest.raises(BadNoise):
            _ = noise.precision
    with pytest.raises(BadNoise):
        _ = Gaussian(1.0).precision


def test_extreme_scales_stay_positive_and_finite() -> None:
    for scale in (5e-324, 1e-200, 1e-3):
        noise = Gaussian(scale, grid=1)
        assert 0 < noise.expected_error() < 1e-300
        assert 0 < noise.expected_error("squared") < 1e-300
        assert noise.tail(0.0) < 1e-300
        assert noise.quantile(0.999) == 0
    for grid in (Fraction(1, 10**400), Fraction(1, 10**20)):  # finer than doubles can see
        fine = Gaussian(1.0, grid)
        assert fine.expected_error() == Gaussian(1.0).expected_error()
        assert fine.tail(1.5) == Gaussian(1.0).tail(1.5)
        assert fine.quantile(0.95) == pytest.approx(1.959963984540054, rel=1e-10)
    assert Gaussian(1.0, grid=1).tail(1e308) == Gaussian(1.0, Fraction(1, 10**9)).tail(1e308) == 0
    assert Gaussian(1.0, grid=1).tail(math.inf) == Gaussian(1.0).tail(math.inf) == 0


@pytest.mark.parametrize("scale", [-1, -0.5, math.nan, math.inf, "1", None, True, 1j])
def test_scales_outside_the_domain_are_refused(scale: float) -> None:
    with pytest.raises(BadNoise):
        Gaussian(scale)


@pytest.mark.parametrize("grid", [0, -1, math.nan, math.inf, "x", "1/0"])
def test_grids_outside_the_domain_are_refused(grid: Fraction) -> None:
    with pytest.raises(BadNoise):
        Gaussian(1.0, grid)


@pytest.mark.parametrize("noise", [Gaussian(1.0), Gaussian(1.0, grid=1)], ids=str)
def test_questions_outside_the_domain_are_refused(noise: Gaussian) -> None:
    with pytest.raises(UnknownName, match="absolute"):
        noise.expected_error("absolut")
    for level in (-0.1, 1.0, 1.5, math.nan):
        with pytest.raises(BadNoise):
            noise.quantile(level)
    for error in (-0.1, math.nan, -math.inf):
        with pytest.raises(BadNoise):
            noise.tail(error)
