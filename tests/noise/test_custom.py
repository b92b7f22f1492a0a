"""`CustomNoise`: agrees with closed forms, never below the truth; false declarations are caught where they can be."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import acb, arb
from mpmath import mp, mpf, quad

from fugu.errors import BadNoise, NotProvable
from fugu.loss.cost import ball_log_cost
from fugu.loss.shifts import shift_renyi
from fugu.noise import CustomNoise, GeneralizedCauchy, Laplace
from fugu.numbers import balls


def laplace_density(x, analytic):
    return (-x.real_abs(analytic=analytic)).exp() / 2


def exponential(r):
    return balls.of(-r).exp()


def laplace(**changes):
    given = {"density": laplace_density, "tail": exponential, "slope": 1, "unimodal": True}
    return CustomNoise(**(given | changes))


def cauchy(**changes):
    given = {
        "density": lambda x, _: 1 / (acb.pi() * (1 + x * x)),
        "tail": lambda r: 2 / (arb.pi() * balls.of(r)),
        "slope": 1,
        "cuts": (),
        "unimodal": True,
    }
    return CustomNoise(**(given | changes))


def logistic(**changes):
    given = {
        "density": lambda x, _: 1 / (2 * (x / 2).cosh()) ** 2,
        "tail": lambda r: 2 * exponential(r),
        "slope": 1,
        "cuts": (),
        "unimodal": True,
    }
    return CustomNoise(**(given | changes))


def skewed(**changes):
    """Exponential of rate 2 to the right of 0, of rate 1/2 to the left; continuous: 0.4 e^{-2x}, 0.4 e^{x/2}."""

    def density(x, analytic):
        if x.real > 0:
            return 0.4 * (-2 * x).exp()
        if x.real < 0:
            return 0.4 * (x / 2).exp()
        if analytic:
            return acb(math.nan)
        left, right = 0.4 * (x / 2).exp(), 0.4 * (-2 * x).exp()
        return left.union(right)

    given = {"density": density, "tail": lambda r: balls.of(-r / 2).exp(), "slope": 2}
    return CustomNoise(**(given | changes))


@pytest.mark.parametrize(("z", "alpha"), [(1, 2), (0.3, 1.5), (3, 8), (0.01, 2), (5, 1.01)])
def test_laplace_and_cauchy_agree_with_their_closed_forms(z, alpha):
    for custom, known in ((laplace(), Laplace(1)), (cauchy(), GeneralizedCauchy(1))):
        found, true = shift_renyi(custom, z, alpha), shift_renyi(known, z, alpha)
        assert true * (1 - 1e-14) <= found <= true + 1e-12
        assert float(ball_log_cost(custom, alpha, z).mid()) == pytest.approx((alpha - 1) * true, abs=1e-12)


@pytest.mark.parametrize(("z", "alpha"), [(1, 2), (2.5, 3.3), (0.2, 12)])
def test_logistic_agrees_with_mpmath(z, alpha):
    with mp.workdps(30):
        p = lambda x: 1 / (2 * mp.cosh(x / 2)) ** 2  # noqa: E731
        true = mp.log(quad(lambda y: p(y) ** mpf(alpha) * p(y + z) ** (1 - mpf(alpha)), range(-80, 81, 8))) / (
            alpha - 1
        )
    found = shift_renyi(logistic(), z, alpha)
    assert float(true) * (1 - 1e-12) <= found <= float(true) + 1e-11
    assert shift_renyi(logistic(), z * 0.98, alpha) < float(true)


def test_without_a_shape_the_sup_is_within_two_percent():
    for z, alpha in ((1, 2), (4, 2), (2, 6)):
        exact = shift_renyi(Laplace(1), z, alpha)
        assert exact * (1 - 1e-12) <= shift_renyi(laplace(unimodal=False), z, alpha) <= exact * 1.02 * (1 + 1e-9)


def test_a_skewed_noise_counts_both_signs():
    """D_2 of the shift to the left and of the shift to the right differ; the bound is above both."""
    with mp.workdps(25):
        p = lambda x: mpf(2) / 5 * mp.exp(-2 * x if x > 0 else x / 2)  # noqa: E731

        def true(x):
            ends = sorted([-120, -20, 0, -x, 20, 60])
            return float(mp.log(quad(lambda y: p(y) ** 2 / p(y + x), ends)))

        left, right = true(-1.0), true(1.0)
        inner = max(true(x / 10) for x in range(-10, 11) if x)
    assert abs(left - right) > 0.01
    plain = skewed()
    for noise in (plain, skewed(density=lambda x, analytic: plain.density(-x, analytic))):
        assert max(left, right, inner) <= shift_renyi(noise, 1, 2) <= max(left, right, inner) * 1.021
    assert float(ball_log_cost(skewed(), 2, 1).mid()) == pytest.approx(max(left, right), abs=1e-9)


def test_the_pure_loss_is_the_slope():
    assert shift_renyi(laplace(), 2, math.inf) == pytest.approx(2, rel=1e-15)
    assert 1.9 < shift_renyi(laplace(), 2, 20) < 2
    with pytest.raises(NotProvable, match="cannot be integrated"):
        shift_renyi(laplace(), 2, 5000)  # the declared tail times e^(4999 * 2) asks for too wide a window


def test_a_shift_by_nothing_and_by_infinity():
    assert shift_renyi(laplace(), 0, 2) == 0
    assert shift_renyi(laplace(), math.inf, 2) == math.inf
    assert float(ball_log_cost(laplace(), 2, 0)) == 0


@pytest.mark.parametrize(
    "false",
    [
        lambda: laplace(density=lambda x, a: laplace_density(x, a) * 1.02),
        lambda: laplace(density=lambda x, a: laplace_density(x, a) * 0.98),
        lambda: laplace(tail=lambda r: exponential(2 * r)),
        lambda: laplace(tail=lambda r: exponential(r) * 0.9),
        lambda: cauchy(tail=lambda r: 0.5 / (arb.pi() * balls.of(r))),
        lambda: laplace(tail=lambda _: math.nan),
        lambda: laplace(tail=lambda _: -0.1),
    ],
)
def test_a_mass_that_does_not_fit_is_caught(false):
    with pytest.raises(BadNoise, match=r"mass|tail"):
        false()


def test_a_slope_far_too_small_is_caught():
    for noise in (laplace, cauchy, logistic):
        with pytest.raises(BadNoise, match="steeper"):
            noise(slope=0.4)
    for slope in (0, -1, math.inf, math.nan, "1"):
        with pytest.raises(BadNoise, match="slope"):
            laplace(slope=slope)


def test_a_false_shape_is_caught():
    with pytest.raises(BadNoise, match="unimodal"):
        skewed(unimodal=True)


def test_a_density_that_is_not_positive_is_caught():
    with pytest.raises((BadNoise, NotProvable)):
        CustomNoise(lambda x, _: (1 - x * x) * 0.75, tail=lambda r: 1 if r < 1 else 0, slope=5, cuts=(-1, 1))


def test_a_tail_that_never_falls_is_refused():
    with pytest.raises(NotProvable, match="slowly"):
        laplace(tail=lambda _: 1)


def test_several_dimensions_are_refused():
    with pytest.raises(NotProvable, match="one dimension"):
        shift_renyi(laplace(), 1, 2, dimension=2)


def test_a_bound_too_loose_is_refused():
    """Near 0 the loss is quadratic and the slope linear: 256 values do not settle a shift of 1e-4."""
    with pytest.raises(NotProvable, match="unimodal=True"):
        shift_renyi(skewed(), Fraction(1, 10**4), 2)
