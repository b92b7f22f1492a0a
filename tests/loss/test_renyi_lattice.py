"""The Rényi divergence of lattice noise: against sums in 40 digits, in both orders, and the wrong versions rejected."""

from __future__ import annotations

import math
import random
from fractions import Fraction as F

import mpmath as mp
import numpy as np
import pytest

import fugu
from fugu.errors import BadBudget, NotProvable
from fugu.laws.pair import as_pairs
from fugu.laws.shapes import items
from fugu.loss.atoms import theta
from fugu.loss.divergence import renyi_bounds
from fugu.loss.lattice_gaussian import _by_polynomials, _direct, _horner
from fugu.loss.leakage import on_grid
from fugu.loss.rounded import Span
from fugu.loss.search.shapes import fast_renyi
from fugu.noise import Lattice
from fugu.numbers.balls import divergence

ALPHAS = [F("1.01"), F(3, 2), F(2), F(5), F(20), F(100)]
A = ([0, 1, 4], [2, 1, 1])
B = ([0, 2, 3], [1, 2, 1])


def pair(p, q):
    return fugu.LawPair(fugu.Discrete(*p), fugu.Discrete(*q))


def placed(item, grid):
    """In lattice steps: atoms must lie there, other laws are rounded."""
    return on_grid(item, grid) if item.atoms else item.on(Lattice(grid))


def proved(pairs, noise, alpha):
    found = [loss for item in items(as_pairs(pairs)) for loss in renyi_bounds(placed(item, noise.grid), noise, alpha)]
    return max(loss.value for loss in found)


def searched(pairs, noise, alpha):
    kind = "laplace" if isinstance(noise, fugu.Laplace) else "gaussian"
    steps = float(noise.scale) / float(noise.grid)
    return max(fast_renyi(placed(item, noise.grid), kind, steps, float(alpha)) for item in items(as_pairs(pairs)))


def one_order(p, q, shape, alpha, reach):
    """ln(sum P^a Q^(1-a)) / (a-1) from the definition, over all points within `reach` of 0."""
    with mp.workdps(40):
        a = mp.mpf(alpha.numerator) / alpha.denominator
        weights = [shape(mp.mpf(d)) for d in range(2 * reach + 100)]
        norm = weights[0] + 2 * mp.fsum(weights[1:])
        noised = []
        for values, counts in (p, q):
            total = mp.mpf(sum(counts))
            cells = list(zip(values, counts, strict=True))
            noised.append(
                [mp.fsum(c * weights[abs(x - v)] for v, c in cells) / total / norm for x in range(-reach, reach + 1)]
            )
        terms = [m**a * n ** (1 - a) for m, n in zip(*noised, strict=True) if m > 0]
        return float(mp.log(mp.fsum(terms)) / (a - 1))


def laplace(b):
    return lambda d: mp.exp(-d / mp.mpf(b))


def gaussian(s):
    return lambda d: mp.exp(-d * d / (2 * mp.mpf(s) ** 2))


def random_law(rng):
    values = sorted(rng.sample(range(8), rng.randint(1, 4)))
    return values, [rng.randint(1, 20) for _ in values]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_bound_is_the_sum_in_both_orders(kind, alpha):
    rng = random.Random(f"{kind} {alpha}")
    for _ in range(3):
        p, q, s = random_law(rng), random_law(rng), rng.choice([F(1), F(3, 2), F(2)])
        noise = fugu.Laplace(s, grid=1) if kind == "laplace" else fugu.Gaussian(s, grid=1)
        shape = laplace(float(s)) if kind == "laplace" else gaussian(float(s))
        reach = 250 if kind == "laplace" else math.ceil(60 + 8 * float(alpha))
        both = [one_order(*order, shape, alpha, reach) for order in ((p, q), (q, p))]
        truth, found = max(both), proved(pair(p, q), noise, alpha)
        assert truth <= found * (1 + 1e-14) + 1e-15
        assert found <= truth * (1 + 1e-11) + 1e-13
        assert searched(pair(p, q), noise, alpha) == pytest.approx(truth, rel=1e-9, abs=1e-12)
        if truth > 1e-6:
            assert not truth <= found * 0.999  # a bound lowered by a thousandth is no bound


def test_one_order_is_not_enough():
    both = [one_order(*order, laplace(1), F(2), 200) for order in ((A, B), (B, A))]
    assert both[0] < 0.9 * both[1]
    assert proved(pair(A, B), fugu.Laplace(1, grid=1), F(2)) >= both[1] * (1 - 1e-15)


def test_the_tails_count():
    """Half the divergence of these two lies outside the atoms."""
    p, q = ([0, 1], [1, 9]), ([0, 1], [9, 1])
    truth = one_order(p, q, laplace(3), F(2), 300)
    inside = one_order(p, q, laplace(3), F(2), 1)
    assert inside < truth - 0.1
    assert proved(pair(p, q), fugu.Laplace(3, grid=1), F(2)) == pytest.approx(truth, rel=1e-12)


def test_lattice_noise_has_its_own_divergence():
    """The continuous formula is below the truth on the lattice."""
    shift = pair(([0], [1]), ([1], [1]))
    continuous = math.log((2 * math.exp(1) + math.exp(-2)) / 3)
    assert proved(shift, fugu.Laplace(1, grid=1), F(2)) > continuous * 1.1
    assert fugu.renyi(fugu.Laplace(1), shift, 2) == pytest.approx(continuous, rel=1e-12)


@pytest.mark.parametrize("alpha", [F(2), F(7), F(100)])
def test_a_gaussian_shift_has_its_closed_form_exactly(alpha):
    """alpha k^2 g^2 / (2 s^2), attained for whole alpha k; below it otherwise."""
    assert proved(pair(([0], [1]), ([10], [1])), fugu.Gaussian(5, grid=1), alpha) == 2 * alpha
    assert proved(fugu.LawPair(fugu.Shifted(0), fugu.Shifted(10)), fugu.Gaussian(5, grid=1), alpha) == 2 * alpha
    assert proved(pair(([0], [1]), ([1], [1])), fugu.Gaussian(F(1, 3), grid=1), F(3, 2)) < 0.9 * 6.75


def test_degenerate_laws():
    noise, silent = fugu.Laplace(2, grid=1), fugu.Laplace(0, grid=1)
    assert proved(pair(A, A), noise, F(2)) == 0 == proved(pair(A, A), fugu.Gaussian(2, grid=1), F(2))
    assert proved(pair(A, B), silent, F(2)) == math.inf == searched(pair(A, B), silent, F(2))
    p, q = ([0, 1], [1, 3]), ([0, 1], [3, 1])
    assert proved(pair(p, q), silent, F(2)) == pytest.approx(math.log(1 / 12 + 9 / 4), rel=1e-14)
    assert proved(pair(A, B), noise, math.inf) == pytest.approx(fugu.epsilon(noise, pair(A, B)), rel=1e-12)
    assert proved(pair(A, B), noise, F(10**6)) <= fugu.epsilon(noise, pair(A, B))
    with pytest.raises(BadBudget):
        proved(pair(A, B), noise, F(1))


def test_masses_of_1e_300_are_not_lost():
    tiny = F(1, 10**300)
    p, q = fugu.Discrete([0, 3], [1 - tiny, tiny]), fugu.Discrete([0, 3], [tiny, 1 - tiny])
    both = fugu.LawPair(p, q)
    assert proved(both, fugu.Laplace(0, grid=1), F(2)) == pytest.approx(300 * math.log(10), rel=1e-12)
    assert proved(both, fugu.Gaussian(2, grid=1), F(2)) == pytest.approx(2.25, rel=1e-9)
    # at alpha 100 the peak would lie 300 steps out, where the atom of mass 1e-300 is the larger one
    assert 100 < proved(both, fugu.Gaussian(F(1, 2), grid=1), F(100)) < 1000
    assert searched(both, fugu.Gaussian(0.5, grid=1), 100) == pytest.approx(
        proved(both, fugu.Gaussian(0.5, grid=1), F(100)), rel=1e-9
    )


def test_a_long_gap_is_cut_short_and_a_hopeless_one_refused():
    far = pair(([0, 10**7], [1, 3]), ([0, 10**7], [1, 2]))
    silent = proved(far, fugu.Laplace(0, grid=1), F(2))
    assert proved(far, fugu.Laplace(50, grid=1), F(2)) == pytest.approx(silent, rel=1e-12)
    for noise in (fugu.Laplace(10**6, grid=1), fugu.Gaussian(10**6, grid=1)):
        with pytest.raises(NotProvable, match="coarser grid"):
            proved(far, noise, F(2))


def test_the_three_ways_to_convolve_agree():
    from flint import arb

    from fugu.numbers import balls

    with balls.precision(1700):
        atoms = [(x, arb(k + 1) / 10) for k, x in enumerate([0, 1, 5, 9])]
        window, c = Span(-40, 60), F(1, 8)
        for a, b, d in zip(
            _direct(atoms, window, balls.of(c)),
            _by_polynomials(atoms, window, c, 1600),
            _horner(atoms, window, balls.of(c)),
            strict=True,
        ):
            assert a.overlaps(b) and a.overlaps(d)
            assert all(x.rad() < x.mid() * arb(2) ** -100 for x in (a, b, d))
        assert theta(arb(2)).overlaps(1 + 2 * sum(((-2 * arb(k * k)).exp() for k in range(1, 30)), arb(0)))


def test_a_thousand_atoms():
    rng = np.random.default_rng(5)
    x = np.arange(1000)
    both = fugu.LawPair(fugu.Discrete(x, rng.integers(1, 99, 1000)), fugu.Discrete(x, rng.integers(1, 99, 1000)))
    for noise in (fugu.Laplace(20, grid=1), fugu.Gaussian(20, grid=1)):
        for alpha in (F(3, 2), F(20)):
            assert proved(both, noise, alpha) == pytest.approx(searched(both, noise, alpha), rel=1e-9)


def test_laws_known_up_to_an_error_are_refused():
    law = fugu.Discrete([0, 1], [1, 1])
    blurred = fugu.Discrete([0, 1], [1, 2])
    object.__setattr__(blurred, "error", 1e-9)
    with pytest.raises(NotProvable):
        fugu.renyi(fugu.Laplace(1, grid=1), fugu.LawPair(law, blurred), 2)


@pytest.mark.parametrize("total", [2, 3, 5, 7, 11, 13])
def test_the_last_bit_is_rounded_up(total):
    from flint import arb

    with mp.workdps(40):
        assert mp.mpf(divergence(arb(total), F(3))) >= mp.log(total) / 2
