"""Exact rates, exact coins to the last of 192 bits, and cells of a lattice with exact edges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import Laplace
from fugu.noise import Lattice
from fugu.noise.bits import bernoulli
from fugu.numbers.exact import as_fraction
from tape import TapeBits


@pytest.mark.parametrize(
    ("scale", "grid", "rate"),
    [
        (0.3, "0.1", Fraction(1, 3)),
        (Fraction(1, 3), 1, Fraction(3)),
        (7, Fraction(1, 10), Fraction(1, 70)),
        (1.574457111, 1, Fraction(10**9, 1574457111)),
    ],
)
def test_the_rate_is_grid_over_scale_exactly(scale, grid, rate):
    assert Laplace(scale, grid=grid).rate == rate


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 10), Fraction(1, 10**30), Fraction(6, 7)])
def test_a_coin_follows_its_probability_bit_by_bit(p):
    floor = int(p * 2**192)
    assert bernoulli(p, TapeBits(f"{floor - 1:0192b}")) is True
    assert bernoulli(p, TapeBits(f"{floor + 1:0192b}")) is False
    with pytest.raises(EOFError):
        bernoulli(p, TapeBits(f"{floor:0192b}"))


@pytest.mark.parametrize("origin", [Fraction(0), Fraction(1, 7)], ids=str)
@pytest.mark.parametrize("grid", [Fraction(1, 10), Fraction(1, 100), Fraction(3, 100), Fraction(7)], ids=str)
def test_a_value_on_the_edge_of_a_cell_goes_up_exactly(grid, origin):
    """(x - origin) / grid + 1/2 rounded down, x read as the decimal it is; doubles alone get some of these wrong."""
    lattice = Lattice(grid, origin)
    halves = np.array([float(Fraction(2 * k + 1, 2) * grid) for k in range(-600, 600)])
    values = np.concatenate([halves, np.nextafter(halves, np.inf), np.nextafter(halves, -np.inf)])
    exact = [math.floor((as_fraction(x) - origin) / grid + Fraction(1, 2)) for x in values.tolist()]
    assert lattice.index(values).tolist() == exact


def test_doubles_alone_misplace_some_edges():
    """What the test above is there to reject."""
    halves = np.array([(2 * k + 1) / 200 for k in range(600)])
    assert np.any(np.floor(halves * 100.0 + 0.5) != np.arange(1, 601))
