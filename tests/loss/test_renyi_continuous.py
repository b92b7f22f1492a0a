"""`fugu.renyi` for continuous noise on laws with atoms: golden numbers, closed forms, integrals in 40 digits."""

from __future__ import annotations

import math
import random
from fractions import Fraction as F

import mpmath as mp
import numpy as np
import pytest

import fugu
from fugu.errors import BadBudget, BadNoise
from fugu.loss.continuous_divergence import rule

A = fugu.Discrete([0, 1, 4], [2, 1, 1])
B = fugu.Discrete([0, 2, 3], [1, 2, 1])


@pytest.mark.parametrize("alpha", [1.0001, 1.01, 1.5, 2, 5, 20, 100])
def test_shifts_have_their_closed_forms(alpha):
    for z, s in ((1, 1.0), (3, 0.5), (0.1, 2.0)):
        both = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([z]))
        u = z / s
        with mp.workdps(40):
            a, w = mp.mpf(str(alpha)), mp.mpf(str(z)) / mp.mpf(str(s))
            lap = float(mp.log((a * mp.exp((a - 1) * w) + (a - 1) * mp.exp(-a * w)) / (2 * a - 1)) / (a - 1))
        gauss = alpha * u * u / 2
        for found, truth in (
            (fugu.renyi(fugu.Laplace(s), both, alpha), lap),
            (fugu.renyi(fugu.Gaussian(s), both, alpha), gauss),
        ):
            assert truth * (1 - 1e-14) <= found <= truth * (1 + 1e-11) + 1e-13 / (alpha - 1)


def shape(noise):
    if isinstance(noise, fugu.Laplace):
        return lambda z: mp.exp(-abs(z)) / 2, 60
    if isinstance(noise, fugu.Gaussian):
        return mp.npdf, 20
    k = mp.mpf(noise.tail)
    beta = mp.gamma(k / 2) / (mp.sqrt(mp.pi) * mp.gamma((k - 1) / 2))
    return lambda z: beta * (1 + z * z) ** (-k / 2), None


def integral(p, q, noise, alpha):
    zeta, reach = shape(noise)
    s = mp.mpf(str(noise.scale))
    values = sorted({x for x, _ in p} | {x for x, _ in q})
    far = reach + alpha * (values[-1] - values[0]) / float(s) if reach and isinstance(noise, fugu.Gaussian) else reach
    inner = [mp.mpf(x) / s for x in values]
    if far is None:
        cuts = [-mp.inf, inner[0] - 50, inner[0] - 5, *inner, inner[-1] + 5, inner[-1] + 50, mp.inf]
    else:
        cuts = [*mp.linspace(inner[0] - far, inner[0], 25), *inner[1:-1], *mp.linspace(inner[-1], inner[-1] + far, 25)]
    a = mp.mpf(str(alpha))
    both = []
    for u, v in ((p, q), (q, p)):

        def f(y, u=u, v=v):
            m, n = (mp.fsum(w * zeta(y - x / s) for x, w in law) for law in (u, v))
            return m**a * n ** (1 - a)

        both.append(mp.log(mp.quad(f, cuts, method="gauss-legendre")) / (a - 1))
    return max(both)


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2, 5, 20])
@pytest.mark.parametrize("make", [fugu.Laplace, fugu.Gaussian, fugu.GeneralizedCauchy])
def test_against_integrals(make, alpha):
    rng = random.Random(f"{make.__name__} {alpha}")
    laws = []
    for _ in range(2):
        values = sorted(rng.sample(range(7), rng.randint(2, 3)))
        counts = [rng.randint(1, 9) for _ in values]
        laws.append((values, counts))
    noise = make(rng.choice([1, 2]))
    exact = [[(x, mp.mpf(c) / sum(counts)) for x, c in zip(values, counts, strict=True)] for values, counts in laws]
    with mp.workdps(18):
        truth = float(integral(*exact, noise, alpha))
    found = fugu.renyi(noise, fugu.LawPair(*(fugu.Discrete(*law) for law in laws)), alpha)
    assert truth * (1 - 1e-10) <= found <= truth * (1 + 1e-9)
    assert not truth <= found * 0.999


def test_degenerate_cases():
    both = fugu.LawPair(A, B)
    for noise in (fugu.Laplace(1), fugu.Gaussian(1), fugu.GeneralizedCauchy(1)):
        assert fugu.renyi(noise, fugu.LawPair(A, A), 2) == 0
    assert fugu.renyi(fugu.Laplace(0), both, 2) == math.inf == fugu.renyi(fugu.GeneralizedCauchy(0), both, 2)
    assert fugu.renyi(fugu.Laplace(2), both, math.inf) == fugu.epsilon(fugu.Laplace(2), both)
    assert fugu.renyi(fugu.Laplace(2), both, 1000) <= fugu.epsilon(fugu.Laplace(2), both)
    for alpha in (1, 0.5, 0, -2, math.nan, True, "2", None):
        with pytest.raises(BadBudget):
            fugu.renyi(fugu.Laplace(1), both, alpha)
    with pytest.raises(BadNoise):
        fugu.renyi("laplace", both, 2)


def test_tiny_masses_and_long_gaps():
    tiny = F(1, 10**300)
    both = fugu.LawPair(fugu.Discrete([0, 3], [1 - tiny, tiny]), fugu.Discrete([0, 3], [tiny, 1 - tiny]))
    assert fugu.renyi(fugu.Gaussian(2), both, 2) == pytest.approx(2.25, rel=1e-9)
    assert fugu.renyi(fugu.Laplace(1), both, 2) == pytest.approx(
        fugu.renyi(fugu.Laplace(1), fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([3])), 2), rel=1e-9
    )
    far = fugu.LawPair(fugu.Discrete([0, 10**7], [1, 3]), fugu.Discrete([0, 10**7], [1, 2]))
    silent = fugu.renyi(fugu.Laplace(0), far, 2)
    assert fugu.renyi(fugu.Laplace(1), far, 2) == pytest.approx(silent, rel=2e-6)  # positions of 1e7 scales cost digits


@pytest.mark.parametrize("x", [1, 2, 3])
def test_zeros_of_the_numerator_bound_the_strip(x):
    """P = two atoms, Q = one: P has zeros at height pi / 2x, branch points for a fractional alpha. A strip chosen from
    Q alone (a single atom has no span) takes steps that are too long."""
    with mp.workdps(25):
        a = mp.mpf("1.5")

        def f(y):
            return ((mp.npdf(y + x) + mp.npdf(y - x)) / 2) ** a * mp.npdf(y) ** (1 - a)

        truth = float(mp.log(mp.quad(f, mp.linspace(-24, 24, 49), method="gauss-legendre")) / (a - 1))
    found = fugu.renyi(fugu.Gaussian(1), fugu.LawPair(fugu.Discrete([-x, x]), fugu.Discrete([0])), 1.5)
    assert truth * (1 - 1e-13) <= found <= truth * (1 + 1e-11)


def test_speed_of_two_laws_of_a_thousand_atoms():
    import time

    rng = np.random.default_rng(2)
    x = np.arange(1000) / 10
    both = fugu.LawPair(fugu.Discrete(x, rng.integers(1, 99, 1000)), fugu.Discrete(x, rng.integers(1, 99, 1000)))
    y = np.linspace(-10, 110, 10_000)
    start = time.perf_counter()
    for law in (both.p, both.q):
        np.exp(-0.5 * (y[:, None] - law.values[None, :]) ** 2) @ law.weights
    once = time.perf_counter() - start
    start = time.perf_counter()
    fugu.renyi(fugu.Gaussian(2), both, 2)
    assert time.perf_counter() - start < 200 * once


def test_nodes_integrate_polynomials():
    x, w = rule()
    assert all(abs(float(w @ x**k) - (0 if k % 2 else 2 / (k + 1))) < 1e-14 for k in range(32))


@pytest.mark.parametrize("alpha", [1.0001, 1.001, 1.000001, 1.0007])
@pytest.mark.parametrize("z", [30, 100, 300])
def test_close_to_order_1_the_order_itself_is_not_rounded(alpha, z):
    """float(alpha) - 1 is below alpha - 1 by up to 2^-53: a share of it that grows as alpha falls to 1."""
    exact = F(str(alpha))
    both = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([z]))
    found = F(fugu.renyi(fugu.Gaussian(1), both, alpha))
    truth = exact * z * z / 2
    assert truth <= found <= truth * (1 + F(1, 10**9))
    rounded = truth * (F(alpha - 1) / (exact - 1))
    assert rounded < truth  # what the rounded order would give at best, before the slack for rounding
    with mp.workdps(40):
        a = mp.mpf(str(alpha))
        lap = mp.log((a * mp.exp((a - 1) * z) + (a - 1) * mp.exp(-a * z)) / (2 * a - 1)) / (a - 1)
        assert lap <= fugu.renyi(fugu.Laplace(1), both, alpha) <= lap * (1 + mp.mpf(10) ** -8)
