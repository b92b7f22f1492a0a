"""`GeneralizedCauchy`: density, moments, tails and quantiles against 40 digits, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from mpmath import mp, mpf, quad

from fugu.errors import BadNoise, UnknownName
from fugu.noise import GeneralizedCauchy, Laplace
from fugu.noise.cauchy import peak
from fugu.noise.heavy import Cauchy4


def density(noise: GeneralizedCauchy):
    """The definition, normalised by integration alone."""
    s, k = mpf(float(noise.scale)), mpf(float(noise.tail))

    def raw(x):
        return (1 + (x / s) ** 2) ** (-k / 2)

    total = 2 * quad(raw, [0, s, 10 * s, mp.inf])
    return lambda x: raw(x) / total


NOISES = [GeneralizedCauchy(2, 4), GeneralizedCauchy(0.5, 3.5), GeneralizedCauchy(1, 2), GeneralizedCauchy(3, 6.25)]


@pytest.mark.parametrize("noise", NOISES)
def test_density_and_tail_agree_with_integration(noise):
    with mp.workdps(30):
        p = density(noise)
        for x in (0.0, 0.7, 5.0):
            assert float(p(mpf(x))) == pytest.approx(noise.density(x), rel=1e-12)
            s = mpf(float(noise.scale))
            beyond = 2 * quad(p, [x, x + s, x + 10 * s, mp.inf])
            assert float(beyond) <= noise.tail_probability(x) * (1 + 1e-13)
            assert noise.tail_probability(x) == pytest.approx(float(beyond), rel=1e-10)
            wrong = GeneralizedCauchy(float(noise.scale) * 0.98, noise.tail)
            assert x == 0 or wrong.tail_probability(x) < float(beyond)


@pytest.mark.parametrize("noise", [n for n in NOISES if n.tail > 3])
def test_moments_agree_with_integration(noise):
    with mp.workdps(30):
        p, s = density(noise), mpf(float(noise.scale))
        ends = [0, s, 10 * s, 1000 * s, mp.inf]
        assert noise.expected_error() == pytest.approx(float(2 * quad(lambda x: x * p(x), ends)), rel=1e-6)
        if noise.tail >= 4:
            squared = float(2 * quad(lambda x: x * x * p(x), ends))
            assert noise.expected_error("squared") == pytest.approx(squared, rel=1e-3)


def test_moments_in_closed_form():
    assert GeneralizedCauchy(2, 4).expected_error() == pytest.approx(4 / math.pi, rel=1e-14)
    assert GeneralizedCauchy(3, 5).expected_error("squared") == 4.5


@pytest.mark.parametrize(
    ("tail", "absolute", "squared"), [(1.5, 0, 0), (2, 0, 0), (2.01, 1, 0), (3, 1, 0), (3.01, 1, 1)]
)
def test_a_moment_that_does_not_exist_is_inf(tail, absolute, squared):
    noise = GeneralizedCauchy(1, tail)
    assert math.isfinite(noise.expected_error()) == bool(absolute)
    assert math.isfinite(noise.expected_error("squared")) == bool(squared)


@pytest.mark.parametrize("noise", [*NOISES, GeneralizedCauchy(1, 1.2), GeneralizedCauchy(Fraction(1, 3), 8)])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.95, 0.999999])
def test_quantile_reaches_its_level_and_no_more(noise, level):
    h = noise.quantile(level)
    assert noise.tail_probability(h) <= (1 - level) * (1 + 1e-12) + 1e-15
    assert noise.tail_probability(h * (1 - 1e-9)) > 1 - level


def test_known_values():
    assert GeneralizedCauchy(1).quantile(0.5) == pytest.approx(1, rel=1e-12)
    assert GeneralizedCauchy(1).tail_probability(2.0) == pytest.approx(2 / math.pi * math.atan(0.5), rel=1e-15)
    assert GeneralizedCauchy(2, 4).density(0.7) == pytest.approx(0.25262564069328, rel=1e-13)
    assert float((peak(Fraction(4)) * peak(Fraction(2)) ** -1).mid()) == pytest.approx(2, rel=1e-14)  # beta pi / lambda


def test_no_noise():
    none = GeneralizedCauchy(0, 3)
    assert none.expected_error() == none.quantile(0.9) == none.tail_probability(0.1) == none.density(1) == 0
    assert none.density(0) == math.inf


@pytest.mark.parametrize("tail", [1, 0.5, -2, math.inf, math.nan, True, "2", None])
def test_a_tail_exponent_is_above_one(tail):
    with pytest.raises(BadNoise, match="> 1"):
        GeneralizedCauchy(1, tail)


@pytest.mark.parametrize("scale", [-1, math.nan, math.inf, "1", None, True])
def test_a_scale_is_checked_as_for_every_noise(scale):
    with pytest.raises(BadNoise, match="scale"):
        GeneralizedCauchy(scale)
    with pytest.raises(BadNoise, match="scale"):
        Laplace(scale)


def test_a_lattice_gives_the_noise_that_is_drawn_and_others_are_refused_with_the_way_out():
    assert GeneralizedCauchy(1, 4, grid="1/3") == Cauchy4(1, Fraction(1, 3))
    assert GeneralizedCauchy(1, 4, grid=1).released and not GeneralizedCauchy(1, 4).released
    for tail in (3, 8, 2.5):
        with pytest.raises(BadNoise, match=r"tail of 2, 4 or 6, got .*; leave out the grid"):
            GeneralizedCauchy(1, tail, grid=Fraction(1))


def test_bad_questions():
    with pytest.raises(UnknownName):
        GeneralizedCauchy(1).expected_error("cubed")
    for level in (-0.1, 1, math.nan):
        with pytest.raises(BadNoise):
            GeneralizedCauchy(1).quantile(level)
    for error in (-1.0, math.nan):
        with pytest.raises(BadNoise):
            GeneralizedCauchy(1).tail_probability(error)
