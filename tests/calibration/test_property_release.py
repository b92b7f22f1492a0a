"""Correlated noise on normal vectors: what is released, and what is refused with which reason."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from property_oracle import (
    PAPER,
    divergence,
    exact_covariance,
    normal,
    shift,
)
from scipy import stats

import fugu
from fugu import Approx, LawPair, Pure, Renyi, RenyiCurve
from fugu.errors import (
    BadBudget,
    BadLaw,
    BadNoise,
    FuguError,
    NotProvable,
    UnknownName,
    UsageError,
)
from fugu.laws.multinormal import MultivariateNormal


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_drawn_has_the_covariance_that_is_stated(exact):
    mechanism, rng = fugu.calibrate(shift((10, -10)), Approx(1, 1e-3), declared_exact=exact), np.random.default_rng(1)
    x = rng.uniform(-50, 50, size=(40_000, 2))
    found = mechanism.simulate(x, rng).values - x
    S = np.array(mechanism.noise.covariance(), dtype=float)
    assert np.abs(found.T @ found / len(found) - S).max() < 0.05 * S.max()


def test_released_normal_vectors_are_normal_with_both_covariances():
    """End to end: draws of each law, released, whitened by V + S; by V alone they would be far too wide."""
    rng = np.random.default_rng(3)
    for exact in (False, True):
        mechanism = fugu.calibrate(shift((10, -10)), Approx(1, 1e-3), declared_exact=exact)
        V = np.array(PAPER, dtype=float)
        F = rng.multivariate_normal([10, -10], V, size=40_000)
        out = mechanism.simulate(F, rng).values - [10, -10]
        for cov, fits in ((V + np.array(mechanism.noise.covariance(), dtype=float), True), (V, False)):
            square = (np.linalg.solve(np.linalg.cholesky(cov), out.T) ** 2).sum(axis=0)
            assert (stats.kstest(square, stats.chi2(2).cdf).pvalue > 1e-6) == fits


def test_compare_lists_every_method_with_its_reason():
    table = {row.method: row for row in fugu.compare(shift((10, -10)), Approx(1, 1e-3)).rows}
    assert table["optimal"].proven and table["expected-value"].proven
    assert table["optimal"].expected_squared < table["expected-value"].expected_squared
    assert not table["directional"].proven and "decoded completely" in table["directional"].why
    assert not table["group"].proven and "from_property" in table["group"].why


def test_an_interval_of_noise_along_one_coarse_column_covers_at_every_level():
    """Z on steps of 100 with a width of 2.85 steps: tails of the normal law alone are too short by a step."""
    from dataclasses import replace

    from fugu.noise.lattice import Lattice
    from fugu.noise.matrix import CorrelatedGaussian

    mechanism = fugu.calibrate(shift((10, -10)), Approx(1, 1e-3), declared_exact=True)
    coarse = CorrelatedGaussian(0, ((100, 1),), (2.85,), Fraction(1))
    mechanism = replace(mechanism, noise=coarse, lattice=Lattice(Fraction(1)))
    k = np.arange(-80, 81)
    mass = np.exp(-(k**2) / (2 * 2.85**2))
    mass /= mass.sum()
    for level in 1 - 10.0 ** -np.arange(0.2, 12, 0.05):
        half = mechanism.interval(level)[1] - 0.5
        assert mass[np.abs(k) * 100 > half].sum() <= 1 - level
    without = [
        half for half in (4.9 * 285 + 1,) if mass[np.abs(k) * 100 > half].sum() > 2 * math.erfc(4.9 / 2**0.5) / 2
    ]
    assert without  # the same without the steps of the column fails already for one coordinate


def test_laws_that_are_none_are_refused():
    for mean, cov in (
        ([0, 0], [[1, 0.5], [0.4, 1]]),
        ([0, 0], [[1, 2], [2, 1]]),
        ([0, 0], [[1, 0, 0], [0, 1, 0]]),
        ([0, 0, 0], [[1, 0], [0, 1]]),
        ([0, math.nan], [[1, 0], [0, 1]]),
        ([0, 0], [[math.inf, 0], [0, 1]]),
        ([0], [[1]]),
    ):
        with pytest.raises(BadLaw):
            MultivariateNormal(mean, cov)
    one = normal([0, 0], PAPER)
    with pytest.raises(FuguError):
        fugu.calibrate(LawPair(one, fugu.Discrete([[0, 0], [1, 1]], [1, 1])), Approx(1, 1e-3))
    with pytest.raises(FuguError):
        fugu.calibrate(LawPair(fugu.Discrete([[0, 0], [1, 1]], [1, 1]), one), Approx(1, 1e-3))
    with pytest.raises(FuguError):
        fugu.calibrate([shift((1, 1)), LawPair(fugu.Discrete([0, 1], [1, 1]), fugu.Discrete([0, 1], [1, 2]))],
                       Approx(1, 1e-3))  # fmt: skip
    with pytest.raises(FuguError):
        fugu.calibrate(LawPair(one, normal([0, 0, 0], np.eye(3))), Approx(1, 1e-3))
    with pytest.raises(UsageError, match="one dimension"):
        fugu.calibrate([shift((1, 1)), shift((1, 1, 1), np.eye(3))], Approx(1, 1e-3))


@pytest.mark.parametrize(
    ("wishes", "error"),
    [
        ({"floor": -1}, UsageError),
        ({"floor": math.nan}, UsageError),
        ({"floor": math.inf}, UsageError),
        ({"weight": [1, 2, 3]}, UsageError),
        ({"weight": [[1, 2]]}, UsageError),
        ({"weight": np.eye(3), "method": "optimal"}, FuguError),
        ({"weight": [[1, 0], [0, -1]], "method": "optimal"}, FuguError),
        ({"method": "exact"}, NotProvable),
        ({"method": "nonsense"}, UnknownName),
        ({"noise": "laplace"}, NotProvable),
        ({"noise": "nonsense"}, UnknownName),
        ({"objective": "cubic"}, UnknownName),
        ({"grid": 0}, BadNoise),
        ({"grid": -1}, BadNoise),
        ({"grid": "x"}, BadNoise),
        ({"grid": 100}, NotProvable),
        ({"grid": 2}, NotProvable),
    ],
    ids=str,
)
def test_wishes_that_cannot_be_met_are_refused(wishes, error):
    with pytest.raises(error):
        fugu.calibrate(shift((10, -10)), Approx(1, 1e-3), **wishes)


def test_budgets_that_cannot_be_met_are_refused():
    pair = shift((10, -10))
    for budget in (Pure(1), Approx(1, 0)):
        with pytest.raises(NotProvable, match="no pure guarantee"):
            fugu.calibrate(pair, budget)
    for made in (lambda: Approx(-1, 0.1), lambda: Approx(1, 2), lambda: Renyi(1, 1), lambda: Approx(math.inf, 0.1)):
        with pytest.raises(BadBudget):
            fugu.calibrate(pair, made())
    total = fugu.calibrate(pair, Approx(0, 0.1))  # epsilon 0 asks for a small total variation, and gets it
    assert fugu.verify(total).holds and not fugu.verify(total, shift((11, -11))).holds
    with pytest.raises(NotProvable):
        fugu.calibrate(pair, RenyiCurve({2: 1, math.inf: 5}))
    with pytest.raises(UsageError, match="MultivariateNormal"):
        fugu.calibrate(
            LawPair(fugu.Discrete([0, 1], [1, 1]), fugu.Discrete([0, 1], [1, 2])), Pure(1), declared_exact=True
        )
    with pytest.raises(FuguError):
        fugu.calibrate(pair, "1")


@pytest.mark.parametrize("exact", [False, True])
def test_a_law_that_does_not_vary_in_some_direction_is_refused_with_the_reason(exact):
    flat = shift((1, 1), [[1, 1], [1, 1]])
    with pytest.raises(NotProvable, match="does not vary at all in some direction"):
        fugu.calibrate(flat, Approx(1, 1e-3), declared_exact=exact)


def test_the_grid_must_be_fine_enough_for_both_laws_of_a_pair():
    wide, thin = normal([5, 5], [[9, 0], [0, 9]]), normal([0, 0], [[7, 0], [0, 7]])
    wishes = {"grid": 1, "method": "expected-value"}
    assert fugu.calibrate(LawPair(wide, normal([0, 0], [[8, 0], [0, 8]])), Approx(1, 1e-2), **wishes).noise.grid == 1
    for pair in (LawPair(wide, thin), LawPair(thin, wide)):
        with pytest.raises(NotProvable, match="varies too little"):
            fugu.calibrate(pair, Approx(1, 1e-2), **wishes)


def test_what_could_not_be_released_is_not_certified():
    far = LawPair(normal([10**15, 0], PAPER), normal([10**15 + 64, 0], PAPER))
    for pair, budget, wishes in (
        (far, Approx(1, 1e-3), {}),
        (far, Approx(1, 1e-3), {"declared_exact": True}),
        (shift((10, 1)), Renyi(2, 1e-30), {}),
        (shift((10, 1)), Approx(1, 1e-3), {"grid": 1e-30}),
    ):
        with pytest.raises(NotProvable, match="nothing could be released"):
            fugu.calibrate(pair, budget, **wishes)
    large = LawPair(normal([10**9, 0], PAPER), normal([10**9 + 64, 0], PAPER))
    assert abs(fugu.calibrate(large, Approx(1, 1e-3)).release([1e9, 0.0]).value[0] - 1e9) < 1e4


def test_equal_laws_and_curves_of_several_orders():
    same = LawPair(normal([1, 2], PAPER), normal([1, 2], PAPER))
    with pytest.raises(NotProvable, match="if the laws were exact"):
        fugu.calibrate(same, Approx(1, 1e-3))
    for wishes in ({"declared_exact": True}, {"floor": 1}):
        assert fugu.verify(fugu.calibrate(same, Approx(1, 1e-3), **wishes), same).holds
    pair = shift((10, -10))
    curve = fugu.calibrate(pair, RenyiCurve({2: 0.5, 8: 1}))
    extra = exact_covariance(curve)
    assert fugu.verify(curve, pair).holds
    assert divergence(pair, extra, 2) <= 0.5 and divergence(pair, extra, 8) <= 1
    assert max(divergence(pair, extra, 2) / 0.5, divergence(pair, extra, 8)) > 0.97
