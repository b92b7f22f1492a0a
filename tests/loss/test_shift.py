"""`shift_renyi`: the reference values, the sup over the ball by random points, and every false formula found."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import fugu
from fugu.errors import BadBudget, BadNoise, NotProvable, UsageError
from fugu.loss.cost import ball_log_cost, log_concave
from fugu.loss.shifts import shift_renyi
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from loss.test_cost import lattice_sum


def laplace(a, u):
    """h_a(u) of the Laplace law of scale 1, from the definition: three pieces of exponentials."""
    a, u = mpf(a), mpf(u)
    return mp.log(a / (2 * a - 1) * mp.exp((a - 1) * u) + (a - 1) / (2 * a - 1) * mp.exp(-a * u)) / (a - 1)


def cauchy(a, k, u):
    """The divergence of the Cauchy law of scale 1 by quadrature of the definition."""
    a, k, u = mpf(a), mpf(k), mpf(u)
    nu = k * (a - 1) / 2
    beta = mp.gamma(k / 2) / mp.sqrt(mp.pi) / mp.gamma((k - 1) / 2)
    f = lambda t: mp.cos(t) ** (k - 2) * (1 + u * mp.sin(2 * t) + u * u * mp.cos(t) ** 2) ** nu  # noqa: E731
    return mp.log(beta * mp.quad(f, mp.linspace(-mp.pi / 2, mp.pi / 2, 9))) / (a - 1)


@pytest.mark.parametrize(
    ("a", "z", "rho", "value"),
    [
        (2, 1, 1, 0.61912362999859),
        (1.5, 1, 2, 0.15597787848574),
        (10, 0.3, 0.1, 2.9286829015364),
        (64, 5, 1, 4.989122158681),
        (1.0001, 1, 1, 0.3679123098615636),
        (3, 0, 1, 0),
    ],
)
def test_laplace_reference_values(a, z, rho, value):
    found = shift_renyi(Laplace(rho), z, a)
    assert found == pytest.approx(value, rel=1e-13)
    with mp.workdps(40):
        true = laplace(mpf(str(a)), mpf(str(z)) / mpf(str(rho)))
        assert true <= mpf(found) <= true * (1 + mpf(2) ** -51)


@pytest.mark.parametrize(
    ("a", "z", "s", "value"), [(2, 1, 1, 1), (1.5, 1, 2, 0.1875), (10, 0.3, 0.1, 45), (64, 5, 1, 800)]
)
def test_gaussian_reference_values_are_exact(a, z, s, value):
    assert shift_renyi(Gaussian(s), z, a) == value
    for d in (2, 5):
        assert shift_renyi(Gaussian(s), z, a, d) == shift_renyi(Gaussian(s), z, a, d, norm=1) == value


@pytest.mark.parametrize(
    ("a", "d", "rho", "z", "value"),
    [(2, 4, 1, 1, 0.801215584694), (5, 3, 0.7, 2, 4.507876808445), (1.5, 10, 1, 6, 13.369391394100)],
)
def test_laplace_on_the_l2_ball_is_an_equal_split(a, d, rho, z, value):
    found = shift_renyi(Laplace(rho), z, a, d, norm=2)
    assert found == pytest.approx(value, abs=6e-13)
    vertex = shift_renyi(Laplace(rho), z, a, d)
    assert vertex == shift_renyi(Laplace(rho), z, a)
    assert vertex < found, "the vertex is not the worst shift of the l2 ball"


CAUCHY = [
    (2, 2, 1, 1, 0.405465108108164),
    (2, 2, 2, 3, 0.75377180237638),
    (3, 2, 1.5, 1, 0.277155367852865),
    (2.5, 2, 1, 2, 1.20676376554998),
    (1.25, 2, 1, 4, 1.83610309157327),
    (2, 4, 1, 1, 1.28785428830664),
    (3, 3, 2, 5, 2.72620851233277),
    (1.5, 6, 1, 0.5, 0.622846965763885),
    (8, 2, 1, 0.01, 0.000199927545508365),
    (2, 2, 1, 3, 1.7047480922384253),
    (2, 4, 1, 3, 4.243123698247448),
]


@pytest.mark.parametrize(("a", "k", "s", "z", "value"), CAUCHY)
def test_cauchy_reference_values(a, k, s, z, value):
    found = shift_renyi(GeneralizedCauchy(s, k), z, a)
    assert found == pytest.approx(value, rel=1e-13)
    points = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([z]))
    assert value * (1 - 1e-13) <= fugu.renyi(GeneralizedCauchy(s, k), points, a) <= value * (1 + 1e-10) + 1e-12
    with mp.workdps(25):
        true = cauchy(a, k, mpf(str(z)) / mpf(str(s)))
        assert true * (1 - mpf(10) ** -15) <= found <= true * (1 + mpf(10) ** -14)
    assert shift_renyi(GeneralizedCauchy(s * 1.02, k), z, a) < value


@pytest.mark.parametrize(("k", "z", "value"), [(2, 1, 0.9624236501), (2, 3, 2.3895264346), (4, 1, 1.9248473002)])
def test_cauchy_pure_values(k, z, value):
    noise = GeneralizedCauchy(1, k)
    assert shift_renyi(noise, z, math.inf) == pytest.approx(value, abs=6e-11)
    x = np.linspace(-20, 20, 400_001)
    ratio = k / 2 * np.max(np.log1p((x + z) ** 2) - np.log1p(x**2))
    assert value * (1 - 1e-6) < ratio <= shift_renyi(noise, z, math.inf)
    for norm in (1, 2):
        several = shift_renyi(noise, z, math.inf, 5, norm)
        share = z / 5 if norm == 1 else z / math.sqrt(5)
        assert several == pytest.approx(5 * k * math.asinh(share / 2), rel=1e-14)
        assert several > shift_renyi(noise, z, math.inf), "a vertex is not the worst shift"


def test_small_tails_are_refused_in_several_dimensions():
    """The Legendre bound is false for k < 2 (`test_cost`), and an equal split for k < sqrt 5 - 1."""
    with pytest.raises(NotProvable, match="below 2"):
        shift_renyi(GeneralizedCauchy(1, 1.5), 1, 2, 2)
    assert shift_renyi(GeneralizedCauchy(1, 1.5), 1, 2) > 0
    k, a = Fraction(11, 10), 1 + Fraction(4, 11) * 10  # nu = 2
    noise, z = GeneralizedCauchy(1, k), Fraction(1, 2)
    split = 2 * ball_log_cost(noise, a, z)  # the shift (1/2, 1/2)
    vertex = ball_log_cost(noise, a, Fraction(707106, 10**6))  # a shift shorter than sqrt(1/2)
    assert vertex > split, "the equal split is not the worst"


@pytest.mark.parametrize("k", [2, 3, 3.5, 4, 7.3])
@pytest.mark.parametrize("a", [1.7, 2, 4])
def test_cauchy_bounds_hold_at_random_points_of_the_ball(k, a):
    """1.7 and most others have fractional nu: the order is raised, so the bound is above, and no more than that."""
    noise, rng = GeneralizedCauchy(1, k), np.random.default_rng(5)
    for d, z in ((2, 0.4), (3, 2.0)):
        bound = shift_renyi(noise, z, a, d)
        points = np.abs(rng.normal(size=(12, d)))
        points *= z / np.linalg.norm(points, axis=1, keepdims=True)
        points = np.vstack([points, np.full(d, z / math.sqrt(d)), np.eye(d)[0] * z])
        true = max(sum(float(ball_log_cost(noise, a, Fraction(x)).mid()) for x in p) / (a - 1) for p in points.tolist())
        assert true <= bound * (1 + 1e-12)
        whole = (Fraction(str(k)) * (Fraction(str(a)) - 1) / 2).denominator == 1
        assert bound <= true * ((1 + 1e-9) if whole else 1.6)


def test_uncertified_concavity_falls_back_to_proved_bounds():
    noise = GeneralizedCauchy(1, 3)
    assert not log_concave(Fraction(3), 99)
    exactly, loosely = shift_renyi(noise, 1, 43, 2), shift_renyi(noise, 1, 67, 2)  # nu = 63, 99
    assert exactly < loosely <= shift_renyi(noise, 1, math.inf, 2)
    assert shift_renyi(noise, Fraction(1, 1000), 67, 2) < 0.001  # not the constant of the Legendre bound


@pytest.mark.parametrize("k", [3, 2])
def test_extreme_orders_and_distances_of_cauchy_noise(k):
    noise = GeneralizedCauchy(1, k)
    pure = shift_renyi(noise, 3, math.inf)
    assert pure * 0.999 < shift_renyi(noise, 3, 10**6 + 0.3) <= pure
    assert shift_renyi(noise, 1e40, 1.77) <= shift_renyi(noise, 1e40, math.inf) < math.inf
    small = shift_renyi(noise, 1e-30, 1.77)
    assert 0 < small < 1e-58


@settings(max_examples=40)
@given(a=st.floats(1.01, 50), z=st.floats(0.01, 20), d=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_laplace_bounds_hold_at_random_points_of_both_balls(a, z, d, seed):
    rng = np.random.default_rng(seed)
    x = np.abs(rng.normal(size=d)) ** rng.choice([0.3, 1, 4])
    with mp.workdps(30):
        for norm in (1, 2):
            on = [mpf(float(v)) for v in x]
            length = sum(on) if norm == 1 else mp.sqrt(sum(v * v for v in on))
            true = sum(laplace(a, v / length * mpf(z)) for v in on)
            assert true <= mpf(shift_renyi(Laplace(1), z, a, d, norm)) * (1 + mpf(10) ** -13)


@pytest.mark.parametrize(
    "noise", [Laplace(1.5, grid=1), Laplace(0.3, grid=1), Gaussian(0.4, grid=1), Gaussian(1, grid=1)]
)
@pytest.mark.parametrize("a", [1.3, 2, 3.5])
def test_lattice_noise_is_the_sum_of_its_definition(noise, a):
    with mp.workdps(50):
        last = 0.0
        for k in (1, 2, 5):
            true = lattice_sum(noise, a, k) / (mpf(str(a)) - 1)
            found = shift_renyi(noise, k, a)
            assert true * (1 - mpf(10) ** -30) <= mpf(found) <= true * (1 + mpf(10) ** -15)
            assert found > last  # further is worse, so the end of the ball is worst
            last = found


def test_lattice_laplace_leaks_more_than_continuous():
    assert shift_renyi(Laplace(0.5, grid=1), 1, 2) > shift_renyi(Laplace(0.5), 1, 2) * 1.03


def test_lattice_gaussian_leaks_at_most_the_continuous_bound():
    fractional, whole = shift_renyi(Gaussian(0.4, grid=1), 1, 1.5), shift_renyi(Gaussian(0.4, grid=1), 2, 1.5)
    assert fractional < shift_renyi(Gaussian(0.4), 1, 1.5) * 0.95 and whole == shift_renyi(Gaussian(0.4), 2, 1.5)


def test_lattice_noise_in_several_dimensions():
    noise, gauss = Laplace(1.5, grid=1), Gaussian(0.7, grid=1)
    one = [0.0] + [shift_renyi(noise, k, 3) for k in range(1, 9)]
    assert shift_renyi(noise, 6, 3, 3) == one[6]
    assert max(one[i] + one[j] + one[6 - i - j] for i in range(7) for j in range(7 - i)) == one[6]
    root = Fraction(34641016151377546, 10**16)  # just above sqrt 12
    bound = shift_renyi(noise, root, 3, 3, norm=2)
    points = [(i, j, k) for i in range(4) for j in range(4) for k in range(4) if i * i + j * j + k * k <= 12]
    true = max(sum(one[x] for x in p) for p in points)
    assert true * (1 - 1e-14) <= bound <= true * (1 + 1e-9) and true == pytest.approx(3 * one[2])
    exact = [0.0] + [shift_renyi(gauss, k, 1.5) for k in range(1, 5)]
    assert max(sum(exact[x] for x in p) for p in points) <= shift_renyi(gauss, root, 1.5, 3)


def test_infinite_order():
    assert shift_renyi(Laplace(2), 3, math.inf) == 1.5 == shift_renyi(Laplace(2, grid=1), 3, math.inf, 4)
    assert shift_renyi(Laplace(2), 3, math.inf, 4, norm=2) == pytest.approx(3, rel=1e-15)
    assert shift_renyi(Gaussian(2), 3, math.inf) == math.inf and shift_renyi(Gaussian(2), 0, math.inf) == 0
    for noise in (Laplace(2), GeneralizedCauchy(1, 4)):
        assert shift_renyi(noise, 3, 1000) < shift_renyi(noise, 3, math.inf) * 1.0000001


@pytest.mark.parametrize("noise", [Laplace(1), Gaussian(1), GeneralizedCauchy(1, 3), Laplace(1, grid=1)])
def test_nothing_and_everything(noise):
    assert shift_renyi(noise, 0, 2) == 0 and shift_renyi(noise, math.inf, 2) == math.inf
    none = type(noise)(0)
    assert shift_renyi(none, 0, 2) == 0 and shift_renyi(none, 1, 2) == math.inf
    values = [shift_renyi(noise, 2, a) for a in (1.1, 1.5, 2, 3, 10)]
    assert values == sorted(values)


def test_extreme_sizes_stay_above():
    assert shift_renyi(Laplace(1e-300), 1e300, 2) == math.inf
    assert shift_renyi(Laplace(1), 1e300, 2) >= 1e300
    assert 0 < shift_renyi(Laplace(1), 1e-100, 2) < 1.1e-200
    assert shift_renyi(Laplace(Fraction(1, 10**9), grid=1), 3, 2.5) == pytest.approx(3e9, rel=1e-15)


@pytest.mark.parametrize("alpha", [1, 0.5, 0, -2, math.nan, "2", None, True])
def test_an_order_is_above_one(alpha):
    with pytest.raises(BadBudget, match="alpha"):
        shift_renyi(Laplace(1), 1, alpha)


def test_bad_questions():
    for distance in (-1, math.nan, "1", None, True):
        with pytest.raises(UsageError, match="distance"):
            shift_renyi(Laplace(1), distance, 2)
    for dimension in (0, -1, 1.5, True, "2"):
        with pytest.raises(UsageError, match="dimension"):
            shift_renyi(Laplace(1), 1, 2, dimension)
    for norm in (3, math.inf, 1.5, "l2"):
        with pytest.raises(UsageError, match="norm"):
            shift_renyi(Laplace(1), 1, 2, 2, norm)
    with pytest.raises(BadNoise, match="no divergence"):
        shift_renyi("laplace", 1, 2)
    with pytest.raises(NotProvable, match="l1 ball"):
        shift_renyi(GeneralizedCauchy(1), 1, 2, 2, norm=1)
    assert shift_renyi(GeneralizedCauchy(1), 1, 2, 1, norm=1) == shift_renyi(GeneralizedCauchy(1), 1, 2)
    for noise in (Laplace(1, grid=1), Gaussian(1, grid=1)):
        with pytest.raises(BadNoise, match="whole number of steps"):
            shift_renyi(noise, 1.5, 2)
    with pytest.raises(BadNoise, match="whole number of steps"):
        shift_renyi(Laplace(1, grid=1), 1.5, 2, 3)
    assert shift_renyi(Laplace(1, grid=Fraction(1, 10)), 0.3, 2) > 0  # 0.3 is three tenths
