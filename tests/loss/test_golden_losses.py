"""Losses of places that doubles cannot hold: decimals, atoms 1e300 apart, what is off the lattice, translates."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from fugu import Discrete, Laplace, LawPair, Shifted, delta, epsilon
from fugu.errors import BadNoise


def test_a_translate_loses_what_two_points_do():
    assert epsilon(Laplace(2.0), Shifted(3)) == epsilon(Laplace(2.0), LawPair(Discrete([2]), Discrete([5])))


def test_decimals_are_subtracted_as_decimals():
    pair = LawPair(Discrete([1000000.1]), Discrete([1000000.2]))
    assert epsilon(Laplace(1.0), pair) == pytest.approx(0.1, abs=1e-13)  # the doubles differ by 0.0999999999767


@pytest.mark.parametrize(("scale", "expected"), [(1e299, 10.0), (1.0, 1e300), (1e-300, math.inf)])
def test_atoms_1e300_apart(scale, expected):
    assert epsilon(Laplace(scale), LawPair(Discrete([0]), Discrete([1e300]))) == pytest.approx(expected, rel=1e-12)


def test_off_the_lattice_is_refused_not_guessed():
    with pytest.raises(BadNoise, match="off the lattice"):
        epsilon(Laplace(1, grid=1), LawPair(Discrete([0]), Discrete([0.5])))
    with pytest.raises(BadNoise, match="off the lattice"):
        delta(Laplace(1, grid=Fraction(1, 3)), LawPair(Discrete([0]), Discrete([0.5])), 1)
    with pytest.raises(BadNoise, match="off the lattice"):
        epsilon(Laplace(1, grid=1), LawPair(Discrete([[0, 0]]), Discrete([[0.5, 1]])))
