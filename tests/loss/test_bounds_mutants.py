"""Every pair and family counts wherever it stands; no positive delta is called zero, however small."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

import oracle
from fugu import Discrete, Laplace, LawPair, Shifted, delta, epsilon
from fugu.laws import families
from fugu.loss import prove_delta, prove_pure
from fugu.loss.search import laplace
from fugu.noise import Lattice
from hunting import search
from oracle import mp

X = [0, 1, 2, 5]
LAWS = [Discrete(X, w) for w in ([4, 3, 2, 1], [1, 2, 3, 4], [1, 6, 2, 1])]
MINUTE = [Discrete(X, [*w, 10**400]) for w in ([4, 3, 2], [1, 2, 3], [10**30, 6, 2])]


@pytest.mark.parametrize("laws", [LAWS, MINUTE], ids=["plain", "minute"])
@pytest.mark.parametrize("scale", [0, 1.5])
def test_the_worst_pair_counts_wherever_it_stands(laws, scale):
    pairs = [LawPair(a, b) for a, b in itertools.combinations(laws, 2)]
    noise, rate = Laplace(scale, grid=1), 1 / Fraction(scale) if scale else None

    def losses(chosen):
        family = families(chosen)[0].on(Lattice(Fraction(1)))
        return [
            epsilon(noise, chosen),
            delta(noise, chosen, 0.1),
            max(found.value for found in prove_pure(family, rate)),
            max(found.value for found in prove_delta(family, rate, Fraction(1, 10))),
        ]

    worst = [max(column) for column in zip(*(losses([pair]) for pair in pairs), strict=True)]
    for order in itertools.permutations(pairs):
        assert losses(list(order)) == pytest.approx(worst, rel=1e-12, abs=1e-14)


def test_every_family_counts():
    pair, noise = LawPair(Discrete([0, 1, 2], [1, 2, 3]), Discrete([0, 1, 2], [3, 2, 1])), Laplace(4.0)
    for shift in (0.01, 1.0, 20.0):
        alone = [epsilon(noise, Shifted(shift)), epsilon(noise, pair)]
        assert epsilon(noise, [Shifted(shift), pair]) == max(alone)
        deltas = [delta(noise, Shifted(shift), 0.01), delta(noise, pair, 0.01)]
        assert delta(noise, [Shifted(shift), pair], 0.01) == max(deltas)


def below(x):
    """The largest double below a 50-digit number."""
    nearest = float(x)
    while mp.mpf(nearest) >= x:
        nearest = float(mp.mpf(nearest) * (1 - mp.mpf(2) ** -53))
    return nearest


@pytest.mark.parametrize("grid", [None, Fraction(1)], ids=["continuous", "lattice"])
def test_just_below_the_tight_epsilon_delta_is_not_zero(grid):
    """Here the sums meet e^epsilon times each other up to rounding, and the true delta is some 1e-17."""
    rng = random.Random(5)
    for _ in range(40):
        x = sorted(rng.sample(range(20), 4))
        p, q = ([rng.randint(1, 50) for _ in x] for _ in range(2))
        scale = Fraction(rng.randint(1, 40), 10)
        law = [Fraction(v) for v in x], [Fraction(w) for w in p], [Fraction(w) for w in q]
        level = below(oracle.epsilon_grid(*law, scale, grid, 2))
        truth = oracle.delta_quad(*law, scale, Fraction(level), grid)
        claimed = delta(Laplace(scale, grid=grid), LawPair(Discrete(x, p), Discrete(x, q)), Fraction(level))
        assert 0 < truth < 1e-12
        assert truth <= claimed < 1e-11


@pytest.mark.parametrize("grid", [None, 1], ids=["continuous", "lattice"])
def test_a_mass_below_the_doubles_in_a_far_place_has_a_delta(grid):
    far = LawPair(Discrete([0, 10**6], [10**400, 1]), Discrete([0]))  # 1e-400 where the other has e^-1000000
    assert 0 < delta(Laplace(1, grid=grid), far, 1) < 1e-11


def test_without_noise_delta_is_at_or_above_fifty_digits():
    rng, above = random.Random(6), 0
    for _ in range(100):
        n = rng.randint(2, 30)
        p, q = ([rng.randint(1, 1000) for _ in range(n)] for _ in range(2))
        level = Fraction(rng.randint(0, 300), 1000)
        law = [Fraction(k) for k in range(n)], [Fraction(w) for w in p], [Fraction(w) for w in q]
        truth = oracle.delta_quad(*law, Fraction(0), level)
        claimed = delta(Laplace(0), LawPair(Discrete(range(n), p), Discrete(range(n), q)), level)
        assert truth <= claimed <= truth + 1e-14
        above += claimed - truth > 1e-16
    assert above > 50  # it is not by luck


@search("the pure loss of all pairs at once, from the definition", quick=20)
def test_the_pure_loss_of_all_pairs_at_once_is_the_largest_of_each_alone(rng):
    points, count = np.unique(rng.integers(-30, 30, rng.integers(2, 9))).astype(float), int(rng.integers(2, 7))
    weights = rng.integers(0, 5, (count, len(points))) + np.eye(count, len(points), dtype=int)
    weights[:, 0] += weights.sum(axis=1) == 0
    laws = [Discrete(points, row) for row in weights]
    pairs = [LawPair(p, q, f"{i}") for i, (p, q) in enumerate(itertools.combinations(laws, 2))]
    scale = float(rng.uniform(0.5, 20))
    decay = np.exp(-np.abs(points[:, None] - points) / scale)
    sums = [row / row.sum() @ decay for row in weights]
    each = [float(np.abs(np.log(a / b)).max()) for a, b in itertools.combinations(sums, 2)]
    kept = laplace._AT_ONCE
    try:
        for together in (1, 3 * len(points), 2**20):
            laplace._AT_ONCE = together
            found = [laplace.pure_loss(item, scale) for item in families(pairs)]
            assert max(loss.value for loss in found) == pytest.approx(max(each), rel=1e-9, abs=1e-9)
            assert max(loss.value for loss in found) >= max(each) * (1 - 1e-14)
    finally:
        laplace._AT_ONCE = kept
    rises = [item.different for item in families(pairs)]
    same = {int(label) for item in rises for _, label in item} ^ set(range(len(pairs)))
    assert all(max(np.abs(sums[i] - sums[j])) < 1e-12 for k, (i, j) in
               enumerate(itertools.combinations(range(count), 2)) if k in same)  # fmt: skip
