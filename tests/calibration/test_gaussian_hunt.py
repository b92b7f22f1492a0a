"""A random hunt for a normal or mixture pair whose noise breaks its budget, with an oracle from the definition.

The oracle knows nothing of the library: cell masses by error functions, plain convolution with the noise, sum of
positive parts in both orders over a wide window. It is good to about 1e-13."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from fugu import Approx, Laplace, LawPair, Normal, NormalMixture, Pure, calibrate
from hunting import search


def parts(law):
    if isinstance(law, Normal):
        return [(1.0, float(law.mean), float(law.std))]
    return [(float(w), float(m), float(s)) for w, m, s in zip(law.weights, law.means, law.stds, strict=True)]


def masses(law, grid, low, high):
    """P(round(X / grid) = k), each cell from its nearer tail."""
    edges = (np.arange(low, high + 2) - 0.5) * grid
    total = np.zeros(high - low + 1)
    for w, m, s in parts(law):
        z = (edges - m) / s
        total += w * np.where(z[1:] < 0, ndtr(z[1:]) - ndtr(z[:-1]), ndtr(-z[:-1]) - ndtr(-z[1:]))
    return total


def noised(p, q, noise):
    """Both laws after rounding and noise, on one window of lattice points."""
    grid, scale = float(noise.grid), float(noise.scale)
    low = math.floor(min(m - 9 * s for law in (p, q) for _, m, s in parts(law)) / grid)
    high = math.ceil(max(m + 9 * s for law in (p, q) for _, m, s in parts(law)) / grid)
    found = [masses(law, grid, low, high) for law in (p, q)]
    if scale == 0:
        return found
    reach = math.ceil((45 if isinstance(noise, Laplace) else 9) * scale / grid)
    k = np.arange(-reach, reach + 1) * grid
    shape = np.exp(-np.abs(k) / scale) if isinstance(noise, Laplace) else np.exp(-((k / scale) ** 2) / 2)
    return [np.convolve(f, shape / shape.sum()) for f in found]


def oracle_delta(p, q, noise, epsilon):
    f, g = noised(p, q, noise)
    e = math.exp(epsilon)
    return max(np.maximum(f - e * g, 0).sum(), np.maximum(g - e * f, 0).sum())


def check(p, q, noise, budget):
    """The assertion of the hunt: the noise meets the budget according to the oracle."""
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    assert oracle_delta(p, q, noise, epsilon) <= delta * (1 + 1e-9) + 2e-13


def random_law(rng, mixture):
    def short(x):
        return float(f"{x:.4g}")

    if not mixture:
        return Normal(short(rng.normal(0, 2)), short(math.exp(rng.normal(0, 0.7))))
    count = int(rng.integers(2, 5))
    stds = [short(math.exp(rng.normal(0, 0.6))) for _ in range(count)]
    return NormalMixture(rng.integers(1, 20, count), [short(x) for x in rng.normal(0, 4, count)], stds)


def hunt(seed, mixture):
    rng = np.random.default_rng(seed)
    p, q = random_law(rng, mixture), random_law(rng, mixture and rng.random() < 0.8)
    budget = Approx(round(float(rng.choice([0.1, 0.5, 1, 2])), 3), float(rng.choice([0.1, 0.01, 1e-3, 1e-5])))
    kind = "gaussian" if seed % 3 == 2 else "laplace"
    noise = calibrate(LawPair(p, q), budget, noise=kind).noise
    check(p, q, noise, budget)
    if noise.scale > 0:
        with pytest.raises(AssertionError):
            check(p, q, type(noise)(float(noise.scale) * 0.98, noise.grid), budget)


@search("noise for pairs of normal laws, and a scale two per cent smaller", quick=15)
def test_no_gaussian_pair_breaks_its_budget_and_a_scale_two_percent_smaller_is_caught(seed):
    hunt(seed, mixture=False)


@search("noise for pairs of normal mixtures, and a scale two per cent smaller", quick=4)
def test_no_mixture_pair_breaks_its_budget(seed):
    hunt(10_000 + seed, mixture=True)


@pytest.mark.parametrize("seed", range(10))
def test_pure_epsilon_of_gaussian_pairs_is_never_exceeded_on_the_window(seed):
    rng = np.random.default_rng(500 + seed)
    p, q = random_law(rng, False), random_law(rng, False)
    epsilon = float(rng.choice([0.3, 1, 3]))
    noise = calibrate(LawPair(p, q), Pure(epsilon)).noise
    f, g = noised(p, q, noise)
    seen = (f > 1e-8) & (g > 1e-8)  # where doubles are good to eight digits
    assert np.abs(np.log(f[seen] / g[seen])).max() <= epsilon * (1 + 1e-6)
