"""Proved losses: at or above 50 digits, the same for every block size, infinite where a value is impossible."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import oracle
from fugu import Discrete, LawPair
from fugu.laws import families
from fugu.loss import decay, prove_delta, prove_pure
from fugu.noise import Lattice


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
        monkeypatch.setattr(decay, "_BLOCK", block)
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
