"""Correlated lattice noise: its law against exact convolutions, its covariance in rationals, what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from fugu.errors import BadNoise, UnknownName
from fugu.noise.bits import RngBits
from fugu.noise.matrix import CorrelatedGaussian

ALPHA = 1e-6
N = 200_000
SMALL = [
    CorrelatedGaussian(1, ((1, -1),), (Fraction(3, 2),), Fraction(1)),
    CorrelatedGaussian(Fraction(1, 5), ((2, 1), (0, 1)), (1, Fraction(1, 2)), Fraction(1, 4)),
    CorrelatedGaussian(0, ((1, 2),), (2,), Fraction(1, 3)),
    CorrelatedGaussian(0.3, (), (), Fraction(1, 5), 2),
    CorrelatedGaussian(1.2, ((1, 1), (1, -1)), (0, 1), Fraction(1)),
]


def drawn(noise, rows, source):
    return noise.move(np.zeros((rows, noise.dimension), dtype=int), source)


def bits(seed=1):
    return RngBits(np.random.default_rng(seed))


def law(noise, reach=30):
    """P(N = x) on [-reach, reach]^2: sums over all z of products of discrete Gaussians, from the definition."""
    k = np.arange(-reach, reach + 1)

    def line(width):
        mass = np.where(k == 0, 1.0, 0.0) if width == 0 else np.exp(-(k**2) / (2 * width**2))
        return mass / mass.sum()

    one = line(float(noise.base) / float(noise.grid))
    whole = {(int(i), int(j)): p * q for i, p in zip(k, one, strict=True) for j, q in zip(k, one, strict=True)}
    whole = {x: p for x, p in whole.items() if p > 1e-14}
    for scale, column in zip(noise.scales, noise.columns, strict=True):
        found: dict[tuple[int, int], float] = {}
        for z, p in zip(k.tolist(), line(float(scale)), strict=True):
            if p > 1e-14:
                for (i, j), q in whole.items():
                    at = (i + z * column[0], j + z * column[1])
                    found[at] = found.get(at, 0.0) + p * q
        whole = found
    return whole


def p_value(draws, truth):
    """chi2 over the points that expect at least 20 draws, all others together."""
    points, counts = np.unique(draws, axis=0, return_counts=True)
    seen = {tuple(x): int(c) for x, c in zip(points.tolist(), counts, strict=True)}
    if not set(seen) <= {x for x, p in truth.items() if p > 1e-20}:
        return 0.0
    common = [x for x, p in truth.items() if p * len(draws) >= 20]
    expected = np.array([truth[x] * len(draws) for x in common])
    observed = np.array([seen.get(x, 0) for x in common])
    rest = max(len(draws) - expected.sum(), 1e-9)
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum()
                               + (len(draws) - observed.sum() - rest) ** 2 / rest, len(common)))  # fmt: skip


@pytest.mark.parametrize("noise", SMALL, ids=range(len(SMALL)))
def test_draws_have_exactly_the_law_of_the_sum(noise):
    draws = drawn(noise, N, bits())
    assert draws.shape == (N, 2) and draws.dtype == np.int64
    assert p_value(draws, law(noise)) > ALPHA


def test_wrong_laws_are_told_apart():
    noise = SMALL[0]
    draws = drawn(noise, N, bits(2))
    for wrong in (
        CorrelatedGaussian(1.03, noise.columns, noise.scales, Fraction(1)),
        CorrelatedGaussian(1, noise.columns, (1.54,), Fraction(1)),
        CorrelatedGaussian(1, ((1, 1),), noise.scales, Fraction(1)),
        CorrelatedGaussian(1, noise.columns, noise.scales, Fraction(20, 21)),
    ):
        assert p_value(draws, law(wrong)) < ALPHA
    assert p_value(draws[:, ::-1], law(noise)) > ALPHA  # the law is symmetric, its draws are no copies
    assert not np.array_equal(
        drawn(noise, 50, bits(3)),
        drawn(noise, 50, bits(4)),
    )
    assert np.array_equal(
        drawn(noise, 50, bits(3)),
        drawn(noise, 50, bits(3)),
    )


def test_moments_of_wide_noise_are_those_of_its_covariance():
    noise = CorrelatedGaussian(20, ((30, -17, 4), (1, 2, 40)), (12.5, 7), Fraction(1, 2))
    draws = drawn(noise, N, bits(5)) * 0.5
    S = np.array([[float(x) for x in row] for row in noise.covariance()])
    assert np.abs(draws.mean(axis=0) / np.sqrt(np.diag(S) / N)).max() < 5.5
    found = draws.T @ draws / N
    error = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / N)
    assert (np.abs(found - S) / error).max() < 5.5
    assert (np.abs(found - 0.97 * S) / error).max() > 5.5
    white = np.linalg.solve(np.linalg.cholesky(S), draws.T)
    assert stats.kstest((white**2).sum(axis=0), stats.chi2(3).cdf).pvalue > ALPHA


def test_the_covariance_is_exact():
    noise = CorrelatedGaussian(0.1, ((1, -2), (3, 0)), (Fraction(1, 3), 0.7), Fraction(1, 7))

    def entry(i, j):
        parts = Fraction(1, 9) * (1, -2)[i] * (1, -2)[j] + Fraction(49, 100) * (3, 0)[i] * (3, 0)[j]
        return (Fraction(1, 100) if i == j else 0) + parts / 49

    assert noise.covariance() == tuple(tuple(entry(i, j) for j in (0, 1)) for i in (0, 1))
    assert noise.scale == pytest.approx(math.sqrt(entry(0, 0)))
    assert noise.expected_error("squared") == pytest.approx(float(entry(0, 0) + entry(1, 1)))
    assert noise.expected_error() == pytest.approx(sum(math.sqrt(2 * entry(i, i) / math.pi) for i in (0, 1)))
    assert CorrelatedGaussian(0, (), (), 1, 3).covariance() == ((0,) * 3,) * 3
    assert not drawn(CorrelatedGaussian(0, ((5, 5),), (0,), 1), 100, bits()).any()


def test_the_lattice_varies_no_more_than_the_covariance_says():
    for noise in SMALL:
        truth = law(noise)
        for i in (0, 1):
            variance = sum(p * x[i] ** 2 for x, p in truth.items()) * float(noise.grid) ** 2
            assert variance <= float(noise.covariance()[i][i]) * (1 + 1e-12)


@pytest.mark.parametrize(
    "bad",
    [
        {"base": -1},
        {"base": math.nan},
        {"base": math.inf},
        {"base": True},
        {"base": "3"},
        {"scales": (-1,)},
        {"scales": (math.inf,)},
        {"scales": ()},
        {"scales": (1, 2)},
        {"columns": ((1, 1), (1,)), "scales": (1, 1)},
        {"columns": ((1, 0.5),)},
        {"columns": ((True, 1),)},
        {"columns": ((),)},
        {"columns": ((np.float64(1), 1),)},
        {"columns": (), "scales": ()},
        {"columns": (), "scales": (), "coordinates": -2},
        {"coordinates": 3},
        {"grid": 0},
        {"grid": -1},
        {"grid": math.nan},
    ],
    ids=str,
)
def test_what_is_no_noise_is_refused(bad):
    with pytest.raises(BadNoise):
        CorrelatedGaussian(**{"base": 1, "columns": ((1, 1),), "scales": (1,), "grid": Fraction(1), **bad})


def test_an_unknown_objective_is_named():
    with pytest.raises(UnknownName, match="cubic"):
        SMALL[0].expected_error("cubic")
