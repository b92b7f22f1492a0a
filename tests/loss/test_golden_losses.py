"""Losses against the reference numbers of the theory (kantorovich-gaussian.md 7 and 8, distribution.md 2.4)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import Discrete, Laplace, LawPair, Shifted, delta, epsilon
from fugu.errors import BadNoise
from fugu.laws import families
from fugu.loss import prove_delta, prove_pure
from fugu.noise import Lattice

X = [0, 1, 2, 5, 9]
PAIR = LawPair(Discrete(X, [0.3, 0.25, 0.2, 0.15, 0.1]), Discrete(X, [0.2, 0.2, 0.25, 0.2, 0.15]))
# scale, epsilon, delta continuous (worse order), delta on the lattice (worse order), all at epsilon .2
ROWS = [
    (0, 0.40546510810816416, 0.061438896735932, 0.061438896735932),
    (0.25, 0.4054650893520588, 0.05783260872711105, 0.05942279989788318),
    (0.5, 0.4054087906836701, 0.047680566737071786, 0.04805597567024759),
    (1.0, 0.40162114557788864, 0.03773165818620902, 0.0379744486109426),
    (2.0, 0.3499451773306059, 0.021764800498041345, 0.02179306251200127),
    (5.0, 0.16858813476354273, 0.0, 0.0),
]
FIG1 = LawPair(Discrete([1, 2, 100], [6, 2, 2]), Discrete([1, 2, 3, 100], [4, 3, 2, 1]))


@pytest.mark.parametrize(("scale", "eps", "continuous", "lattice"), ROWS)
def test_fast_losses_are_the_reference_numbers_from_above(scale, eps, continuous, lattice):
    assert 0 <= epsilon(Laplace(scale), PAIR) - eps + 1e-15 < 1e-12
    assert epsilon(Laplace(scale, grid=1), PAIR) == epsilon(Laplace(scale), PAIR)
    assert 0 <= delta(Laplace(scale), PAIR, 0.2) - continuous + 1e-16 < 1e-12
    assert 0 <= delta(Laplace(scale, grid=1), PAIR, 0.2) - lattice + 1e-16 < 1e-12


@pytest.mark.parametrize(("scale", "eps", "_continuous", "lattice"), ROWS)
def test_proved_losses_are_the_reference_numbers_from_above(scale, eps, _continuous, lattice):
    family = families([PAIR])[0].on(Lattice(Fraction(1)))
    rate = 1 / Fraction(scale) if scale else None
    assert prove_pure(family, rate)[0].value == pytest.approx(eps, abs=1e-15)
    assert prove_delta(family, rate, Fraction(1, 5))[0].value == pytest.approx(lattice, abs=1e-15)


def test_the_continuous_delta_understates_what_the_lattice_sampler_leaks():
    """The wrong version this guards against: certifying lattice noise with the continuous formula."""
    assert delta(Laplace(1.0, grid=1), PAIR, 0.2) > delta(Laplace(1.0), PAIR, 0.2) + 2e-4


def test_figure_1_of_the_distribution_paper():
    assert epsilon(Laplace(97), FIG1) == pytest.approx(0.13577106120195, abs=1e-12)
    assert delta(Laplace(2), FIG1, 0.5) == pytest.approx(0.035127872925974, abs=1e-12)
    assert epsilon(Laplace(0.86824395779771), FIG1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("eps", "scale"), [(0.2, 11.728278857996), (1, 2.503720708094), (5, 0.563992028727)])
def test_the_binomial_count_query(eps, scale):
    """P = Bin(45,.15)*Bin(55,.38), Q = Bin(55,.15)*Bin(45,.38) (distribution.md 2.4)."""

    def binomial(n, p):
        return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])

    p = np.convolve(binomial(45, 0.15), binomial(55, 0.38))
    q = np.convolve(binomial(55, 0.15), binomial(45, 0.38))
    pair = LawPair(Discrete(range(101), p / p.sum()), Discrete(range(101), q / q.sum()))
    assert epsilon(Laplace(scale), pair) == pytest.approx(eps, abs=1e-9)
    assert epsilon(Laplace(scale * 0.97), pair) > eps + 1e-3


def test_point_masses_are_the_plain_laplace_mechanism():
    pair = LawPair(Discrete([2]), Discrete([5]))
    assert epsilon(Laplace(2.0), pair) == pytest.approx(1.5, abs=1e-13)
    assert delta(Laplace(2.0), pair, 1.0) == pytest.approx(1 - math.exp((1.0 - 1.5) / 2), abs=1e-12)
    assert epsilon(Laplace(2.0), Shifted(3)) == epsilon(Laplace(2.0), pair)


def test_decimals_are_subtracted_as_decimals():
    pair = LawPair(Discrete([1000000.1]), Discrete([1000000.2]))
    assert epsilon(Laplace(1.0), pair) == pytest.approx(0.1, abs=1e-13)  # the doubles differ by 0.0999999999767


@pytest.mark.parametrize(("scale", "expected"), [(1e299, 10.0), (1.0, 1e300), (1e-300, math.inf)])
def test_atoms_1e300_apart(scale, expected):
    assert epsilon(Laplace(scale), LawPair(Discrete([0]), Discrete([1e300]))) == pytest.approx(expected, rel=1e-12)


def test_disjoint_supports_are_infinite_without_noise_and_finite_with():
    pair = LawPair(Discrete([0, 2]), Discrete([1, 3]))
    assert epsilon(Laplace(0), pair) == math.inf
    assert delta(Laplace(0), pair, 5) == 1
    assert epsilon(Laplace(10), pair) <= 0.1 + 1e-12


def test_a_mass_of_1e_300_matters():
    pair = LawPair(Discrete([0, 1], [1.0, 1e-300]), Discrete([0, 1], [1.0, 2e-300]))
    assert epsilon(Laplace(0), pair) == pytest.approx(math.log(2), abs=1e-11)
    assert epsilon(Laplace(1e-3), pair) == pytest.approx(math.log(2), abs=1e-11)  # the neighbour is e^-1000 away
    far = LawPair(Discrete([0, 1], [1.0, 1e-300]), Discrete([0, 1], [1.0, 0.0]))
    truth = 1000 + math.log(1e-300)  # ln S_i(1)/S_j(1) = ln(1 + 1e-300 e^1000)
    assert epsilon(Laplace(1e-3), far) == pytest.approx(truth, rel=1e-9)


def test_equal_laws_lose_nothing():
    law = Discrete([0, 1, 5], [1, 2, 3])
    same = LawPair(law, Discrete([0, 1, 5], [0.5 / 3, 1 / 3, 0.5]))
    assert epsilon(Laplace(0), LawPair(law, Discrete([0, 1, 5], [2, 4, 6]))) == 0
    assert delta(Laplace(1, grid=1), LawPair(law, law), 0) == 0
    assert epsilon(Laplace(0), same) < 1e-12  # nearly equal is not equal, and stays above the truth


def test_off_the_lattice_is_refused_not_guessed():
    with pytest.raises(BadNoise, match="off the lattice"):
        epsilon(Laplace(1, grid=1), LawPair(Discrete([0]), Discrete([0.5])))
    with pytest.raises(BadNoise, match="off the lattice"):
        delta(Laplace(1, grid=Fraction(1, 3)), LawPair(Discrete([0]), Discrete([0.5])), 1)
    with pytest.raises(BadNoise, match="off the lattice"):
        epsilon(Laplace(1, grid=1), LawPair(Discrete([[0, 0]]), Discrete([[0.5, 1]])))


def test_both_orders_and_all_pairs_count():
    a, b = Discrete([0, 1], [99, 1]), Discrete([0, 1], [50, 50])
    worst = math.log(50)  # only in the order (b, a)
    assert epsilon(Laplace(0), LawPair(a, b)) == pytest.approx(worst)
    assert epsilon(Laplace(0), LawPair(b, a)) == pytest.approx(worst)
    assert epsilon(Laplace(0), [LawPair(a, a), LawPair(b, b), LawPair(a, b)]) == pytest.approx(worst)
