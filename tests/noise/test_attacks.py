"""Attacks on released values: each finds nothing in lattice releases, and succeeds on a stated naive release.

| attack                                           | naive release                        | measured there |
|--------------------------------------------------|--------------------------------------|----------------|
| holes: outputs the other input cannot give       | x + rng.laplace(scale)               | 77 to 81 %     |
| precision: a last bit the other input cannot set | x + rng.laplace(scale)               | 27 %           |
| bit patterns seen from one input only            | x + grid * k in floats, k exact      | 39 to 56 %     |

The first is Mironov (2012), the second Haney et al. (2022).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from fugu.noise.bits import RngBits
from fugu.noise.laplace import LatticeLaplaceSampler
from fugu.noise.lattice import Lattice

N = 200_000
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
GRIDS = [Fraction(1, 10), Fraction(1, 16), Fraction(1, 3), Fraction(7)]


def released(lattice: Lattice, x: float, rate: Fraction, n: int = N, seed: int = 1) -> Floats:
    """What fugu releases: the lattice point of the input moved by an exact integer, then one rounding."""
    noise = LatticeLaplaceSampler(rate).draw(n, RngBits(np.random.default_rng(seed)))
    return lattice.value(lattice.index(np.array([x])) + noise)


def naive(x: float, scale: float, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).laplace(x, scale, N)


def float_added(x: float, grid: float, rate: Fraction, n: int = N, seed: int = 1) -> Floats:
    """Exact lattice noise, spoilt by adding it in floats."""
    noise = LatticeLaplaceSampler(rate).draw(n, RngBits(np.random.default_rng(seed)))
    return np.asarray(x + grid * noise, dtype=np.float64)


def numpy_can_give(y: Floats, x: float, scale: float) -> Flags:
    """Whether some 53-bit uniform makes numpy's Laplace sampler return y from x: invert, try neighbours."""
    noise = (y - x) / scale
    rare = np.rint(np.exp(-np.abs(noise)) * 2.0**52)
    guess = np.where(noise < 0, rare, 2.0**53 - rare)
    found = np.zeros(y.shape, dtype=np.bool_)
    for step in range(-2, 3):
        u = (guess + step) * 2.0**-53
        with np.errstate(all="ignore"):
            found |= y == np.where(u >= 0.5, x - scale * np.log(2.0 - u - u), x + scale * np.log(u + u))
    return found


def lattice_can_give(y: Floats, x: float, lattice: Lattice) -> Flags:
    """Whether some integer k moves x to exactly the bits of y: all are tried, as each may occur."""
    reach = int(np.max(np.abs(lattice.index(y - x)))) + 1
    outputs = lattice.value(lattice.index(np.array([x])) + np.arange(-reach, reach + 1))
    return np.isin(y.view(np.uint64), outputs.view(np.uint64))


def floats_can_give(y: Floats, x: float, grid: float) -> Flags:
    return np.asarray(x + grid * np.rint((y - x) / grid) == y)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_holes_give_nothing_on_a_lattice(grid: Fraction) -> None:
    lattice = Lattice(grid)
    a, b = (float(v) for v in lattice.value(np.array([3, 10])))
    for rate in (Fraction(1, 16), Fraction(1, 10**4), Fraction(3)):
        for x, other in ((a, b), (b, a)):
            y = released(lattice, x, rate)
            assert lattice_can_give(y, x, lattice).all()
            assert int(np.sum(~lattice_can_give(y, other, lattice))) == 0


@pytest.mark.parametrize(("a", "b", "scale"), [(0.0, 1.0, 1.0), (1.0, 0.0, 10.0), (3.0, 7.0, 16.0)])
def test_holes_betray_the_input_of_a_float_sampler(a: float, b: float, scale: float) -> None:
    y = naive(a, scale)
    own, other = numpy_can_give(y, a, scale), numpy_can_give(y, b, scale)
    assert own.mean() > 0.98  # the attack knows the sampler, up to the last digit of its logarithm
    assert 0.7 < (own & ~other).mean() < 0.9


def test_holes_betray_the_input_of_exact_noise_added_in_floats() -> None:
    y = float_added(0.3, 0.1, Fraction(1, 16))
    assert floats_can_give(y, 0.3, 0.1).all()
    assert np.mean(~floats_can_give(y, 0.2, 0.1)) > 0.3
    assert np.mean(~floats_can_give(y, 0.7, 0.1)) > 0.5


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_outputs_of_two_inputs_are_the_same_floats(grid: Fraction) -> None:
    lattice = Lattice(grid)
    k = np.arange(-5000, 5000)
    from_a = set(lattice.value(3 + k).tolist())
    from_b = set(lattice.value(4 + k).tolist())
    assert len(from_a) == k.size
    assert len(from_a ^ from_b) == 2  # the two ends of the range
    if grid.denominator > 1 and math.log2(grid.denominator) % 1:
        g = float(grid)
        assert len(set((3 * g + g * k).tolist()) ^ set((4 * g + g * k).tolist())) > 1000


def one_sided(train_a: Floats, train_b: Floats, y: Floats, seen: int = 50) -> Flags:
    """A classifier on 64-bit patterns: those seen often from a and never from b."""
    pattern, count = np.unique(train_a.view(np.uint64), return_counts=True)
    only_a = np.setdiff1d(pattern[count >= seen], train_b.view(np.uint64))
    return np.isin(y.view(np.uint64), only_a)


def test_no_bit_pattern_comes_from_one_input_only() -> None:
    rate = Fraction(1, 16)
    tenths = Lattice(Fraction(1, 10))
    a, b, y = (released(tenths, x, rate, seed=seed) for x, seed in ((0.3, 1), (0.2, 2), (0.3, 3)))
    assert int(np.sum(one_sided(a, b, y))) == 0
    a, b, y = (float_added(x, 0.1, rate, seed=seed) for x, seed in ((0.3, 1), (0.2, 2), (0.3, 3)))
    assert np.mean(one_sided(a, b, y)) > 0.3


@pytest.mark.parametrize("grid", [Fraction(1, 10), Fraction(1, 16)], ids=str)
def test_the_last_bits_tell_no_more_than_the_law_does(grid: Fraction) -> None:
    """From 1 every float sum is a multiple of 2^-53, from 0 it need not be; on a lattice both look alike."""

    def fine(y: Floats) -> float:
        return float(np.mean(np.mod(y * 2.0**53, 1.0) != 0))

    assert fine(naive(0.0, 1.0)) > 0.15
    assert fine(naive(1.0, 1.0)) == 0.0
    lattice, rate = Lattice(grid), Fraction(1, 1000)
    a, b = released(lattice, 0.0, rate, seed=5), released(lattice, 1.0, rate, seed=6)
    distance = 1 - math.exp(-float(rate / grid) / 2)  # total variation between the two laws, at most
    assert abs(fine(a) - fine(b)) < distance + 6 * math.sqrt(0.5 / N)
