"""Gaussian fields: the exact Rényi influence, the numbers of the notes, and why Theorem 9 is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from fugu.errors import BadBudget, BadLaw, NotProvable, UsageError
from fugu.priors.gaussian_field import GaussianField
from fugu.translation.influence import curve, guarantee
from fugu_papers.truncated import TruncatedAR1


def test_the_centre_is_not_the_worst_entry():
    """Wrong version: looking at the centre alone (length 5, seven near entries) promises too much."""
    field = GaussianField.smooth(9, 5)
    assert field.best(3, 7)[0] > field.best(4, 7)[0]
    only_centre = 49 * 0.01 + float(field.best(4, 7)[0]) / 2
    assert field.zcdp(0.01, 1.0, nears=[7]) > only_centre
    assert GaussianField.smooth(7, 2).best(2, 5)[0] > 0


def test_the_closed_form_is_the_renyi_divergence():
    """Against the definition: means Sigma_Li / Sigma_ii u, common covariance; D = alpha m' C^-1 m / 2."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        root = rng.normal(size=(5, 5)).round(2)
        cov = root @ root.T + np.eye(5)
        cov = ((cov + cov.T) / 2).round(3)
        field, seen, u, v, alpha = GaussianField(cov), [0, 2, 4], 0.7, -0.2, 3.0
        slope = cov[seen, 1] / cov[1, 1]
        inner = cov[np.ix_(seen, seen)] - np.outer(slope, cov[1, seen])
        direct = alpha * (u - v) ** 2 * slope @ np.linalg.solve(inner, slope) / 2
        assert alpha * (u - v) ** 2 * float(field.kappa(1, seen)) / 2 == pytest.approx(direct, rel=1e-9)


def test_budget_and_guarantee_are_inverse_and_rounded_the_safe_way():
    field = GaussianField.ar1(6, 0.4)
    rho = field.rho_budget(0.5, 0.3)
    assert field.zcdp(rho, 0.3) <= 0.5 + 1e-15
    assert field.zcdp(rho * 1.02, 0.3) > 0.5
    independent = GaussianField(np.eye(4))
    assert independent.zcdp(0.25, 5) == 0.25  # nothing to learn elsewhere


def test_large_fields_use_windows_and_small_ones_all_sets():
    field = GaussianField.ar1(14, 0.5)
    assert all(len(seen) == 11 for seen in field.windows(6, 3)) and len(field.windows(6, 3)) == 3
    assert len(GaussianField.ar1(5, 0.5).windows(2, 2)) == 4
    assert field.best(6, 3)[0] == field.kappa(6, [4, 8])  # Markov: only the two ends matter
    assert field.kappa(6, [4, 8]) == 2 * (Fraction(1, 16) / (1 - Fraction(1, 16)))


def test_pure_epsilon_and_theorem_9_are_refused():
    with pytest.raises(NotProvable, match="Theorem 9"):
        GaussianField.smooth(3, 5).pure(1.0)


def test_wrong_fields_are_refused():
    with pytest.raises(BadLaw, match="positive semidefinite"):
        GaussianField([[1, 2], [2, 1]])
    with pytest.raises(BadLaw, match="variance 0"):
        GaussianField([[0, 0], [0, 1]])
    with pytest.raises(NotProvable, match="determine each other"):
        GaussianField([[1, 1], [1, 1]]).kappa(0, [1])
    assert GaussianField([[1, 1], [1, 1]]).zcdp(0.25, 1) == 1  # two copies: the group, 2^2
    with pytest.raises(UsageError, match="own entry"):
        GaussianField(np.eye(2)).kappa(0, [0])
    with pytest.raises(UsageError, match="-1 < rho < 1"):
        GaussianField.ar1(3, 1)
    for bad in (-1, math.nan):
        with pytest.raises(BadBudget):
            GaussianField(np.eye(2)).zcdp(bad, 1)


def truncated_laws(rho, box, length, t, d, points=201):
    """p(x_{t+d} = z | x_t = u) on Gauss-Legendre points with both ends added, from the joint density alone."""
    x, w = np.polynomial.legendre.leggauss(points)
    x, w = np.r_[-box, box * x, box], np.r_[0.0, box * w, 0.0]
    step = np.exp(-((x[None, :] - rho * x[:, None]) ** 2) / (2 * (1 - rho**2)))
    after = np.ones(len(x))
    for _ in range(length - t - d):
        after = step @ (w * after)
    kernel = step
    for _ in range(d - 1):
        kernel = kernel @ (w[:, None] * step)
    law = kernel * after
    return law / (law @ w)[:, None]


@pytest.mark.parametrize(("d", "expected"), [(1, 7.676139), (2, 2.945582)])
def test_truncated_ar1_has_the_numbers_of_the_notes(d, expected):
    found = TruncatedAR1(5, math.exp(-0.5), 2).leak(d)
    assert found == pytest.approx(expected, abs=1e-6)
    law = truncated_laws(math.exp(-0.5), 2.0, 5, 2, d)
    worst = max(np.log(law[u] / law[v]).max() for u in (0, 50, 150, -1) for v in range(law.shape[0]))
    assert worst == pytest.approx(found, abs=1e-9)  # attained at the corner
    assert worst > 0.98 * found  # a bound smaller by 2 % would be false


def test_truncated_leakage_by_fifty_digits():
    with mpmath.workdps(50):
        r, g = mpmath.mpf("0.5"), mpmath.mpf(2)
        c, k = r / (1 - r**2), (1 + r**2) / (2 * (1 - r**2))

        def m(u):
            return mpmath.quad(lambda x: mpmath.exp(c * u * x - k * x * x + c * x * g), [-g, 0, g])

        exact = mpmath.log(m(g) / m(-g))
        found = TruncatedAR1(9, 0.5, 2).leak(2)
        assert exact <= mpmath.mpf(found) <= exact + mpmath.mpf("1e-14")


def test_truncated_quilts_compose_and_decay():
    sequence = TruncatedAR1(30, 0.4, 1.5)
    points = dict(curve(sequence))
    assert points[1] == pytest.approx(2 * sequence.leak(1)) and points[3] < points[1] / 2 and points[30] == 0
    assert guarantee(sequence, [0.1]) < 30 * 0.1 / 2
    assert TruncatedAR1(30, -0.4, 1.5).leak(2) == sequence.leak(2)
    assert dict(curve(TruncatedAR1(4, 0, 3)))[1] < 1e-300


def test_a_strongly_correlated_wide_box_keeps_the_bound_of_the_first_step():
    sequence = TruncatedAR1(5, 0.95, 5)
    assert sequence.leak(2) <= sequence.leak(1) == pytest.approx(2 * 0.95 * 25 / (1 - 0.95**2))
    law = truncated_laws(0.95, 5.0, 5, 2, 2)
    assert np.log(law[-1, -1] / law[0, -1]) <= sequence.leak(2)


def test_wrong_truncated_sequences_are_refused():
    for arguments in ((5, 1, 2), (5, 0.5, 0), (5, 0.5, 100)):
        with pytest.raises(BadLaw, match="-1 < correlation < 1"):
            TruncatedAR1(*arguments)
    with pytest.raises(UsageError, match="length"):
        TruncatedAR1(1, 0.5, 2)
