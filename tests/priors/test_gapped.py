"""Chains seen at some points of a grid: the loss of product releases under the whole chain, by sums over all paths.

A release whose probability is a product of factors between 1 and e^eps, one for each entry that is read, is eps-private
for each entry. Its loss about an entry is summed over the whole grid, missing points and all, and must not exceed what
`GapChains` says; with one step more or less across a gap, or with a pattern that covers too little, it does.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fugu
from fugu.errors import BadLaw, UsageError
from fugu.priors.chain import GapChains, MarkovChain, covering, powers_of
from hunting import search


def attacked(kernel, start, points, epsilon):
    """The largest log ratio over entries read, pairs of states and releases that favour one state at each entry."""
    size, worst = len(kernel), 0.0
    last, place = points[-1], {t: i for i, t in enumerate(points)}
    for favoured in product(range(size), repeat=len(points)):
        factors = []
        for t in range(last + 1):
            factor = np.ones(size)
            if t in place:
                factor[favoured[place[t]]] = math.exp(epsilon)
            factors.append(factor)
        ahead, behind = [np.asarray(start, dtype=float)], [np.ones(size)]
        for t in range(last):
            ahead.append((ahead[-1] * factors[t]) @ kernel)
        for t in range(last, 0, -1):
            behind.insert(0, kernel @ (factors[t] * behind[0]))
        law = np.asarray(start, dtype=float)
        for t in range(last + 1):
            if t in place:
                mean = factors[t] * behind[t] * ahead[t] / law
                worst = max(worst, math.log(mean.max() / mean.min()))
            law = law @ kernel
    return worst


def drawn(rng):
    size = 2 if rng.random() < 0.7 else 3
    kernel = rng.dirichlet(np.ones(size), size) * 0.5 + 0.5 * np.eye(size)[rng.permutation(size)]
    steps = tuple(int(m) for m in rng.integers(1, 4, rng.integers(1, 5 if size == 2 else 4)))
    return kernel / kernel.sum(axis=1, keepdims=True), rng.dirichlet(np.ones(size) * 5), steps


@search("gaps against sums over all paths", quick=60)
def test_no_product_release_loses_more_than_stated(rng):
    kernel, start, steps = drawn(rng)
    epsilon = float(rng.choice([0.1, 0.5, 1.5]))
    points = np.concatenate([[0], np.cumsum(steps)]).tolist()
    found = attacked(kernel, start, points, epsilon)
    stated = fugu.translate(GapChains(kernel, [steps], start), epsilon)
    assert found <= stated * (1 + 1e-9)
    assert stated <= fugu.translate(MarkovChain(kernel, points[-1] + 1, start), epsilon) * (1 + 1e-9)


def test_other_powers_are_caught():
    """Two states, one of them kept: one step more across a gap promises less than an attack takes."""
    kernel, start, epsilon = np.array([[0.9, 0.1], [0.1, 0.9]]), [0.5, 0.5], 0.5
    for steps in [(2,), (3, 1), (2, 2)]:
        points = np.concatenate([[0], np.cumsum(steps)]).tolist()
        found = attacked(kernel, start, points, epsilon)
        assert found <= fugu.translate(GapChains(kernel, [steps], start), epsilon)
        assert found > fugu.translate(GapChains(kernel, [[m + 1 if m > 1 else 1 for m in steps]], start), epsilon)


def test_patterns_are_covered_by_supersets_alone():
    seen = [[5, 6, 7], [0, 2], [10, 11, 12, 14], [3]]
    assert covering(seen, 2) == ((1, 1, 2),)  # {0, 1, 2} and {0, 2} lie in {0, 1, 2, 4}
    assert covering([[0, 1], [0, 2]], 2) == ((1,), (2,))
    assert covering([[0, 1], [0, 3]], 2, most=13) == ((1, 2),)  # {0, 1} and {0, 3} take 16: together in {0, 1, 3}
    assert covering([[0, 1], [0, 3]], 2, most=5) is None and covering([[4]], 2) is None
    assert covering([[0, 1], [0, 2]], 2, most=14) is None  # together they are the whole grid


@search("patterns that cover others", quick=40)
def test_a_cover_is_never_better_than_what_it_covers(rng):
    kernel, start, _ = drawn(rng)
    times = [sorted({0, *rng.integers(1, 6, 3).tolist()}) for _ in range(3)]
    epsilon, most = float(rng.choice([0.2, 1.0])), int(rng.choice([20, 60, 10_000]))
    steps = covering(times, len(kernel), most)
    longest = max(at[-1] for at in times) + 1
    cover = MarkovChain(kernel, longest, start) if steps is None else GapChains(kernel, steps, start)
    stated = fugu.translate(cover, epsilon)
    for at in times:
        assert attacked(kernel, start, at, epsilon) <= stated * (1 + 1e-9)


def test_powers_are_those_of_exact_arithmetic_and_the_same_in_every_order():
    kernel = np.array([[0.5, 0.25, 0.25], [0.125, 0.875, 0.0], [0.0, 0.5, 0.5]])
    exact = [[Fraction(x) for x in row] for row in kernel.tolist()]
    power = [[Fraction(int(i == j)) for j in range(3)] for i in range(3)]
    found = powers_of(kernel, range(1, 12))
    for m in range(1, 12):
        power = [[sum(row[k] * exact[k][j] for k in range(3)) for j in range(3)] for row in power]
        assert np.allclose(found[m], np.array(power, dtype=float), rtol=1e-14, atol=0)
        assert np.array_equal(found[m], powers_of(kernel, [m])[m])
    with pytest.raises(BadLaw, match="too small for a double"):
        powers_of(np.array([[1 - 1e-200, 1e-200, 0.0], [0.0, 1.0 - 1e-200, 1e-200], [1.0, 0.0, 0.0]]), [2])


def test_what_is_no_pattern_is_refused():
    for steps in ([], [()], [(0,)], [(1.5,)], [(-1, 2)], [(1,)] * 300):
        with pytest.raises(UsageError, match="pattern"):
            GapChains([[0.5, 0.5], [0.2, 0.8]], steps)
    stationary = GapChains([[0.5, 0.5], [0.25, 0.75]], [(2, 1)], "stationary")
    assert stationary.chains[0].marginal(1).tolist() == pytest.approx([1 / 3, 2 / 3])
