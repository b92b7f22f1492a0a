"""Losses of normal beliefs against the reference numbers of the theory (kantorovich-gaussian.md 1, 2, 4 and 5)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu.errors import BadBudget, BadNoise, NotProvable, UnknownName
from fugu.laws.normal import Normal, NormalMixture
from fugu.loss.search.couplings import coupled_scale, repaired, theorem1_scale
from fugu.loss.smooth import hockey_stick, pure_epsilon
from fugu_papers.ding_exact import cdf, density, least_continuous, log_density, sf

PURE = [
    (0, 1, 1, 2, 1, 1.8228756555322954),
    (0, 1, 0, 2, 0.5, 1.7320508075704524),
    (0, 1, 5, 1.2, 1, 5.043619468395381),
    (10, 3, 12, 4, 0.5, 5.3166247903554),
    (0, 5, 1, 5.1, 0.1, 10.481788029466296),
    (0, 0.1, 0, 1, 1, 0.7035623639735145),
    (0, 1, 3, 10, 2, 5.781152949374527),
    (100, 15, 110, 12, 1, 13.093207028119323),
    (0, 1, 0, 2, 0.1, 7.275885031716079),
    (0, 1, 0.1, 2, 0.05, 15.34139499916076),
]


@pytest.mark.parametrize("row", PURE)
def test_pure_scales_are_finite(row):
    m, s, n, t, eps, b = row
    assert pure_epsilon(Normal(m, s), Normal(n, t), b) == pytest.approx(eps, rel=1e-9)
    assert least_continuous(Normal(m, s), Normal(n, t), "laplace", eps, 0) == pytest.approx(b, rel=1e-9)
    assert pure_epsilon(Normal(m, s), Normal(n, t), 0.98 * b) > eps * 1.01


@pytest.mark.parametrize(
    ("y", "m", "s", "b", "want"),
    [
        (0.3, 0, 1, 0.7, -1.2214044403154831),
        (5, 1, 2, 0.5, -3.457226330524236),
        (-30, 0, 1, 1.0, -30.193147180559944),
        (12, 0, 3, 10.0, -4.150745936496525),
        (3, 0, 1, 0.01, -5.4181385533699356),
    ],
)
def test_noised_log_densities(y, m, s, b, want):
    assert log_density(Normal(m, s), "laplace", b, [y])[0] == pytest.approx(want, abs=4e-15)
    assert density(Normal(m, s), "laplace", b, [y])[0] == pytest.approx(math.exp(want), rel=1e-13)


@pytest.mark.parametrize(
    ("y", "m", "s", "b", "want"),
    [
        (0.3, 0, 1, 0.7, 0.590165424375959),
        (2, 1, 2, 0.5, 0.6819571923625996),
        (-3, 0, 1, 1.0, 0.040934271325051196),
        (12, 0, 3, 10.0, 0.842471371133161),
    ],
)
def test_noised_cdfs(y, m, s, b, want):
    assert cdf(Normal(m, s), "laplace", b, [y])[0] == pytest.approx(want, abs=4e-16)
    assert sf(Normal(m, s), "laplace", b, [y])[0] == pytest.approx(1 - want, abs=4e-16)
    assert sf(Normal(-m, s), "laplace", b, [-y])[0] == pytest.approx(want, abs=4e-16)


def test_noised_laws_are_laws():
    mix = NormalMixture([0.3, 0.5, 0.2], [0, 2, 5], [0, 1, 0.1])
    y = np.linspace(-40, 45, 170_001)
    for kind, scale in (("laplace", 0.5), ("gaussian", 0.5)):
        f = density(mix, kind, scale, y)
        assert np.trapezoid(f, y) == pytest.approx(1, abs=1e-6)
        assert np.max(np.abs(cdf(mix, kind, scale, y) + sf(mix, kind, scale, y) - 1)) < 1e-14
    assert cdf(mix, "gaussian", 0, [-1e-9, 0.0])[1] - cdf(mix, "gaussian", 0, [-1e-9])[0] == pytest.approx(
        0.3, abs=1e-8
    )
    assert log_density(mix, "laplace", 0, [0.0])[0] == math.inf


def test_theorem_1_at_its_edges():
    p = Normal(0, 1)
    assert theorem1_scale(p, Normal(2, 1), 0.5, 0) == pytest.approx(4)
    assert theorem1_scale(p, Normal(2, 1), 0.5, 0.1, "average") == pytest.approx(2 / (0.5 - math.log(0.9)))
    assert theorem1_scale(p, Normal(2, 2), 0.5, 0) == math.inf
    assert theorem1_scale(p, p, 0, 0) == 0
    with pytest.raises(UnknownName):
        theorem1_scale(p, p, 1, 0, "paper")


def test_row_averages_alone_would_be_unsound():
    """CE1 with the independent coupling: rows average 1, columns 100; the wrong version takes the rows only."""
    p, q = NormalMixture([0.99, 0.01], [0, 0], [1, 1]), NormalMixture([0.99, 0.01], [0, 100], [1, 1])
    assert dict(coupled_scale(p, q, 1, 0).all)["R2"] == pytest.approx(100)
    assert pure_epsilon(p, q, 1) > 95


def test_a_plan_of_doubles_is_repaired_to_an_exact_coupling():
    a, c = [Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)]
    plan = repaired(np.array([[0.15, 0.19, 0.0], [-1e-9, 0.09, 0.6]]), a, c)
    assert all(w >= 0 for w in plan.values())
    assert [sum(w for k, w in plan.items() if k[0] == m) for m in range(2)] == a
    assert [sum(w for k, w in plan.items() if k[1] == n) for n in range(3)] == c


def test_a_delta_below_rounding_is_met_purely_or_refused():
    p, q = Normal(0, 1), Normal(1, 2)
    assert least_continuous(p, q, "laplace", 1, 1e-15) == pytest.approx(PURE[0][-1], rel=1e-9)
    assert least_continuous(p, q, "laplace", 1, 1e-12) < PURE[0][-1]
    assert hockey_stick(p, q, "gaussian", least_continuous(p, q, "gaussian", 1, 1e-15), 1) <= 1e-15
    with pytest.raises(NotProvable):
        least_continuous(p, NormalMixture([1, 1], [0, 1], [1, 1]), "gaussian", 1, 1e-15)


def test_wrong_use_is_refused():
    p, q = Normal(0, 1), Normal(1, 1)
    with pytest.raises(UnknownName):
        hockey_stick(p, q, "cauchy", 1, 1)
    with pytest.raises(BadNoise):
        pure_epsilon(p, q, -1)
    with pytest.raises(BadNoise):
        pure_epsilon(p, q, math.nan)
    with pytest.raises(BadBudget):
        hockey_stick(p, q, "laplace", 1, math.inf)
    with pytest.raises(NotProvable):
        least_continuous(p, q, "gaussian", 1, 0)
