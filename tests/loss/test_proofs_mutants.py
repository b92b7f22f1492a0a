"""Proved losses: at or above 50 digits, the same for every block size, infinite where a value is impossible."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import oracle
from fugu import Discrete, Laplace, LawPair, Normal
from fugu.laws import families
from fugu.laws.shapes import items
from fugu.loss import atoms, prove_delta, prove_pure
from fugu.loss.door import delta_bounds, pure_bounds
from fugu.loss.rounded import Span, ball_cells
from fugu.noise import Lattice
from fugu.noise.gaussian import Gaussian
from oracle import mp


def lattice_family(*pairs):
    return families(pairs)[0].on(Lattice(Fraction(1)))


def proved(family, rate, epsilon):
    pure = [found.value for found in prove_pure(family, rate)]
    return pure + [found.value for found in prove_delta(family, rate, epsilon)]


@pytest.mark.parametrize("rate", [Fraction(1, 40), Fraction(1, 2), Fraction(5)])
def test_the_size_of_a_block_changes_nothing(rate, monkeypatch):
    rng = np.random.default_rng(1)
    points = np.unique(rng.integers(0, 60, 30))
    laws = [Discrete(points, rng.integers(1, 9, len(points))) for _ in range(3)]
    family = lattice_family(LawPair(laws[0], laws[1]), LawPair(laws[1], laws[2]))
    whole = proved(family, rate, Fraction(1, 10))
    for block in (1, 2, 7, len(points) - 1):
        monkeypatch.setattr(atoms, "_BLOCK", block)
        assert proved(family, rate, Fraction(1, 10)) == whole


def test_proved_losses_are_the_truth_from_above():
    rng = random.Random(8)
    for _ in range(60):
        x = sorted(rng.sample(range(-9, 10), 5))
        p, q = ([rng.choice([0, 1, 1]) * rng.randint(1, 50) + (k == 2) for k in range(5)] for _ in range(2))
        rate, epsilon = Fraction(rng.randint(1, 30), 10), Fraction(rng.randint(0, 20), 10)
        law = [Fraction(v) for v in x], [Fraction(w) for w in p], [Fraction(w) for w in q]
        found = proved(lattice_family(LawPair(Discrete(x, p), Discrete(x, q))), rate, epsilon)
        truths = (
            oracle.epsilon_grid(*law, 1 / rate, Fraction(1), 2),
            oracle.delta_quad(*law, 1 / rate, epsilon, Fraction(1)),
        )
        for claimed, truth in zip(found, truths, strict=True):
            assert truth - oracle.mp.mpf("1e-45") <= claimed <= truth * (1 + 1e-15) + 1e-30


def test_a_value_possible_under_one_secret_only_is_an_infinite_loss_without_noise():
    for p, q in (([1, 1, 0], [0, 1, 1]), ([1, 2, 0], [1, 1, 1]), ([1, 1, 1], [1, 2, 0])):
        family = lattice_family(LawPair(Discrete(range(3), p), Discrete(range(3), q)))
        assert prove_pure(family, None)[0].value == math.inf
        assert prove_pure(family, Fraction(1))[0].value < 1.01


def gaussian_deltas(p, q, precision, epsilon):
    """delta of both orders by summing every lattice point, at 50 digits."""
    reach, e, c = 60, mp.exp(oracle.real(epsilon)), oracle.real(precision)
    total = mp.fsum(mp.exp(-c * k * k) for k in range(-reach, reach + 1))

    def noised(law, y):
        return mp.fsum(w * mp.exp(-c * (y - x) ** 2) for x, w in law.items()) / total / sum(law.values())

    pairs = [(noised(p, y), noised(q, y)) for y in range(-reach, reach + 10)]
    return mp.fsum(max(0, a - e * b) for a, b in pairs), mp.fsum(max(0, b - e * a) for a, b in pairs)


@pytest.mark.parametrize("scale", [1, 5])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_gaussian_proofs_count_both_orders(scale, epsilon):
    p, q = {0: 9, 1: 1, 5: 1}, {0: 1, 1: 1, 5: 2}
    laws = [Discrete(list(law), list(law.values())) for law in (p, q)]
    truth = gaussian_deltas(p, q, Fraction(1, 2 * scale**2), epsilon)
    assert abs(truth[0] - truth[1]) > 1e-6 or epsilon == 0
    for pair in (LawPair(*laws), LawPair(*laws[::-1])):
        claimed = delta_bounds(lattice_family(pair), Gaussian(scale, 1), epsilon)[0].value
        assert max(truth) - oracle.mp.mpf("1e-40") <= claimed <= max(truth) * (1 + 1e-14) + 1e-30


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(2)])
def test_what_lies_beyond_a_window_is_bounded_on_both_sides(rate):
    """N(0.3, 1.2^2) on the integers, a window of three cells: masses, tails and tails tilted by e^(rate k)."""
    (pair,) = items([LawPair(Normal(0.3, 1.2), Normal(0, 1))])
    cells = ball_cells(pair.p, Lattice(Fraction(1)), Span(-1, 1), rate)

    def mass(k):
        return mp.ncdf((k + 0.5 - mp.mpf("0.3")) / mp.mpf("1.2")) - mp.ncdf((k - 0.5 - mp.mpf("0.3")) / mp.mpf("1.2"))

    assert [float(m) for m in cells.mass] == pytest.approx([float(mass(k)) for k in (-1, 0, 1)], rel=1e-14)
    for ends, beyond in ((cells.left, lambda j: -1 - j), (cells.right, lambda j: 1 + j)):
        plain = mp.fsum(mass(beyond(j)) for j in range(1, 30))
        tilted = mp.fsum(mass(beyond(j)) * mp.exp(j * oracle.real(rate)) for j in range(1, 30))
        assert float(plain) * (1 - 1e-12) <= float(ends[0]) <= float(plain) * 1.01
        assert float(tilted) * (1 - 1e-12) <= float(ends[1]) <= float(tilted) * math.exp(rate) * 1.01


def test_translates_by_part_of_a_step_are_no_translates_after_rounding():
    """0.3 and 0.6 round to 0 and 1: a full step apart, which costs the full rate and not 0.3 of it."""
    for means, least in (((0.3, 0.6), 0.499), ((0.6, 1.6), 0.5)):
        (pair,) = items([LawPair(*(Normal(mean, 0.01) for mean in means))])
        (loss,) = pure_bounds(pair.on(Lattice(Fraction(1))), Laplace(2, 1), Fraction(1, 4))
        assert least <= loss.value <= 0.5 + 1e-12 and not loss.within(Fraction(1, 4))
