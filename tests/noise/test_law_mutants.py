"""The rate of the noise is an exact quotient, and a coin follows its probability to the last of 192 bits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fugu import Laplace
from fugu.noise.bits import TapeBits, bernoulli


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
