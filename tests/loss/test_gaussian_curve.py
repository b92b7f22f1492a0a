"""The curve of a shifted normal law: published vectors, 60-digit values, rounding to the safe side, wrong versions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath.ctx_mp import MPContext

from fugu.errors import BadBudget
from fugu.loss.search.normal import fast_gaussian_delta, fast_gaussian_log_delta, fast_gaussian_mu
from fugu.loss.shifts import gaussian_delta, gaussian_mu
from fugu.numbers.exact import as_fraction
from fugu_papers.normal_curve import gaussian_epsilon

mp = MPContext()
mp.dps = 60

MU = [
    (0.1, 1e-5, 0.0325207840562037), (0.5, 1e-6, 0.124106149030528), (1, 1e-3, 0.388401248306584),
    (1, 1e-5, 0.268051123211294), (2, 1e-3, 0.691927002141748), (5, 1e-3, 1.449606614236476),
    (10, 1e-3, 2.462692923338488), (10, 1e-10, 1.464034598034828),
]  # fmt: skip


def exact(x):
    f = x if isinstance(x, Fraction) else as_fraction(x)
    return mp.mpf(f.numerator) / f.denominator


def curve(e, m):
    """The definition at 60 digits; cancellation costs at most some twenty of them here."""
    e, m = exact(e), exact(m)
    return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(("e", "d", "m"), MU)
def test_mu_matches_the_vectors_and_the_next_numbers_fail(e, d, m):
    found = gaussian_mu(e, d)
    assert found == pytest.approx(m, rel=2e-14)
    assert curve(e, Fraction(found)) <= exact(d) and curve(e, found) <= exact(d)
    above = found * (1 + 1e-15)
    assert curve(e, Fraction(above)) > exact(d)


@pytest.mark.parametrize(
    ("e", "d"), [(1e-8, 1e-9), (1e-8, 1e-100), (0, 0.1), (300, 1e-300), (2000, 1e-20), (1e-3, 0.999), (0.3, 1e-300)]
)
def test_mu_is_on_the_safe_side_at_the_edges(e, d):
    found = gaussian_mu(e, d)
    with mp.workdps(400):
        assert curve(e, Fraction(found)) <= exact(d) < curve(e, Fraction(found * (1 + 1e-14)))


def test_a_slack_of_1e_12_on_the_plain_float_root_is_not_enough():
    """Wrong version: the root of the plain formula in doubles, lowered by 1e-12, does not have this delta."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    e, d = 1e-8, 1e-100

    def plain(m):
        first = log_ndtr(m / 2 - e / m)
        return first + math.log(max(-math.expm1(min(0.0, e + log_ndtr(-m / 2 - e / m) - first)), 1e-300)) - math.log(d)

    wrong = brentq(plain, 1e-10, 1e-9, xtol=1e-30) * (1 - 1e-12)
    with mp.workdps(200):
        off = [float(curve(e, Fraction(m)) / exact(d) - 1) for m in (wrong, gaussian_mu(e, d))]
    assert abs(off[0]) > 1e-7 and -1e-10 < off[1] <= 0


@pytest.mark.parametrize(("m", "e"), [(0.1, 0.197533973240), (0.5, 1.352276244803), (1, 3.138670548583)])
def test_epsilon_matches_the_vectors_and_is_the_least(m, e):
    found = gaussian_epsilon(1e-3, m)
    assert found == pytest.approx(e, abs=2e-12)
    assert curve(min(Fraction(found), as_fraction(found)), m) <= exact(1e-3) < curve(Fraction(found * (1 - 1e-14)), m)


def test_epsilon_at_the_edges():
    assert gaussian_epsilon(0.5, 0.1) == 0 and gaussian_epsilon(1e-3, 0) == 0
    assert gaussian_epsilon(0, 1) == math.inf and gaussian_mu(1, 0) == 0 and gaussian_mu(1, 1) == math.inf
    assert gaussian_delta(3, math.inf) == 1 and gaussian_delta(math.inf, 3) == 0


def test_delta_is_above_the_truth_by_a_unit_and_the_fast_one_near_it():
    rng = np.random.default_rng(3)
    e, m = 10 ** rng.uniform(-8, 3.5, 300), 10 ** rng.uniform(-6, 1.7, 300)
    logs, seen = fast_gaussian_log_delta(e, m), 0
    for k in range(300):
        with mp.workdps(120):
            true = curve(Fraction(e[k]), Fraction(m[k]))
            if true < mp.mpf(10) ** -300:
                continue
            seen += 1
            assert abs(mp.mpf(float(logs[k])) - mp.log(true)) < 2e-12
            found = gaussian_delta(Fraction(e[k]), Fraction(m[k]))
            assert true <= mp.mpf(found) <= true * (1 + mp.mpf(10) ** -15)
            assert not true <= mp.mpf(found) * (1 - mp.mpf(10) ** -14)
    assert seen > 100


def test_fast_mu_inverts_the_fast_curve():
    e, d = np.meshgrid([1e-6, 0.1, 1.0, 10.0, 500.0], [1e-300, 1e-12, 1e-3, 0.5])
    assert np.allclose(fast_gaussian_delta(e, fast_gaussian_mu(e, d)) / d, 1, atol=1e-10)


@pytest.mark.parametrize("bad", [-1.0, math.nan, "1", True])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(BadBudget):
        gaussian_delta(1, bad)
    with pytest.raises(BadBudget):
        gaussian_mu(bad, 0.1)
    with pytest.raises(BadBudget):
        gaussian_epsilon(bad, 1)
    with pytest.raises(BadBudget):
        gaussian_mu(1, 1.5)
