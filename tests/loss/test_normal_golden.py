"""Losses of normal beliefs against the reference numbers of the theory (kantorovich-gaussian.md 1, 2, 4 and 5)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu.errors import BadBudget, BadNoise, NotProvable, UnknownName
from fugu.laws.normal import Normal, NormalMixture
from fugu.loss.densities import normal_hockey_stick, parts
from fugu.loss.search.couplings import coupled_scale, repaired, tau, theorem1_scale
from fugu.loss.smooth import hockey_stick, one_order, pure_epsilon
from fugu_papers.ding_exact import cdf, density, least_continuous, log_density, sf

# means and stds, epsilon, delta, Theorem 1, two-sided, eq (35), exact
TABLE = [
    (0, 1, 1, 1, 1, 1e-5, 1.00000000, 1.00000000, 0.99999000, 0.9992499364),
    (0, 1, 1, 2, 1, 0.01, 3.57582930, 3.32663201, 2.50557998, 1.6309348849),
    (0, 1, 1, 2, 1, 1e-5, 5.41717341, 5.26489496, 4.55005825, 1.8215720568),
    (0, 1, 0, 2, 0.5, 0.01, 5.15165861, 5.15165861, 3.37909665, 1.5456595806),
    (0, 1, 5, 1.2, 1, 0.01, 5.51516586, 5.46526957, 5.06418557, 4.8971420709),
    (0, 1, 5, 1.2, 1, 1e-6, 5.97832770, 5.95068486, 5.73474632, 5.0435922655),
    (10, 3, 12, 4, 0.5, 0.1, 7.28970725, 6.56310386, 3.81253161, 1.8063040055),
    (0, 5, 1, 5.1, 0.1, 1e-3, 13.29052673, 13.09023231, 10.85482389, 9.8524251824),
    (0, 0.1, 0, 1, 1, 1e-3, 2.96147406, 2.96147406, 2.34298805, 0.6896069679),
    (0, 1, 3, 10, 2, 0.05, 10.31983793, 9.28852600, 7.14079428, 4.1199899793),
    (100, 15, 110, 12, 1, 0.3, 13.10930017, 11.57320154, 7.29077372, 0.0),
    (0, 1, 0.05, 1.02, 1, 1e-5, 0.13834347, 0.13529782, 0.11968588, 0.0),
]
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
STICK = [
    (0, 1, 1, 1, 0.5, 0.23842170813487656),
    (0, 1, 0, 2, 0.5, 0.06493318986332153),
    (0, 2, 0, 1, 0.5, 0.2496890647883897),
    (0, 1, 1, 2, 1, 0.0),
    (1, 2, 0, 1, 1, 0.27161311617534245),
    (0, 5, 0.3, 5.1, 0.1, 0.0),
    (0.3, 5.1, 0, 5, 0.1, 0.005225008121272898),
    (0, 1, 3, 1.0001, 1, 0.7875637076246749),
    (3, 1.0001, 0, 1, 1, 0.7875771756438231),
    (0, 1, 0, 1.1, 0, 0.0460896644494071),
    (0, 3, 10, 1, 2, 0.9836957550844327),
    (0, 1.2, 0, 1, 3, 4.19566034077742e-05),
]
THETA = [
    (0, 1, 1, 1, 1, 1e-05, 3.5941080109939776),
    (0, 1, 1, 2, 1, 0.01, 3.107687040974497),
    (0, 1, 1, 2, 1, 1e-05, 6.645528017435026),
    (0, 1, 0, 2, 0.5, 0.01, 2.8899347519025014),
    (0, 1, 5, 1.2, 1, 0.01, 9.406771234572489),
    (10, 3, 12, 4, 0.5, 0.1, 2.4441878146787985),
    (0, 5, 1, 5.1, 0.1, 0.001, 17.536181938224487),
    (0, 0.1, 0, 1, 1, 0.001, 1.8658529519196918),
    (0, 1, 3, 10, 2, 0.05, 8.141514920175723),
    (0, 0, 1, 0, 1, 1e-05, 3.7306316348160635),
]
# delta, tau by the quantile, tau by eq (23)
TAU = [
    (1e-6, 4.8916384757, 4.8991151444),
    (1e-3, 3.2905267315, 3.3119279697),
    (0.01, 2.5758293035, 2.6146671087),
    (0.1, 1.6448536270, 1.7439328614),
    (0.3, 1.0364333895, 1.2371993986),
    (0.5, 0.6744897502, 0.9836786476),
    (0.9, 0.1256613469, 0.6958906536),
]


@pytest.mark.parametrize("row", TABLE)
def test_the_table_of_scales(row):
    m, s, n, t, eps, delta, *want, exact = row
    p, q = Normal(m, s), Normal(n, t)
    got = [theorem1_scale(p, q, eps, delta, form) for form in ("quantile", "two-sided", "average")]
    assert got == pytest.approx(want, abs=1e-8)
    assert got[0] >= got[1] * (1 - 1e-9) >= got[2] * (1 - 2e-9)
    found = least_continuous(p, q, "laplace", eps, delta)
    assert found == pytest.approx(exact, rel=2e-10)
    assert hockey_stick(p, q, "laplace", found, eps) <= delta + 2e-12
    if exact:
        assert hockey_stick(p, q, "laplace", 0.98 * found, eps) > delta


@pytest.mark.parametrize("row", PURE)
def test_pure_scales_are_finite(row):
    m, s, n, t, eps, b = row
    assert pure_epsilon(Normal(m, s), Normal(n, t), b) == pytest.approx(eps, rel=1e-9)
    assert least_continuous(Normal(m, s), Normal(n, t), "laplace", eps, 0) == pytest.approx(b, rel=1e-9)
    assert pure_epsilon(Normal(m, s), Normal(n, t), 0.98 * b) > eps * 1.01


@pytest.mark.parametrize("row", STICK)
def test_two_normals_in_closed_form_and_by_cells(row):
    m, s, n, t, eps, want = row
    assert 0 <= normal_hockey_stick((m - n) / t, s / t, eps) - want + 1e-16 < 2e-14
    split = NormalMixture([1, 1], [m, m], [s, Fraction(s) + Fraction(1, 10**18)])  # two components: goes by cells
    found = one_order(parts(split), parts(Normal(n, t)), "gaussian", 0, eps)
    assert want - 1e-15 <= found <= want + 1e-11


@pytest.mark.parametrize("row", THETA)
def test_normal_noise_scales(row):
    m, s, n, t, eps, delta, want = row
    assert least_continuous(Normal(m, s), Normal(n, t), "gaussian", eps, delta) == pytest.approx(want, rel=1e-10)


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


@pytest.mark.parametrize(("delta", "quantile", "lambert"), TAU)
def test_tau(delta, quantile, lambert):
    assert tau(delta) == pytest.approx(quantile, abs=1e-9)
    assert tau(delta, "lambert") == pytest.approx(lambert, abs=1e-9)


def test_theorem_1_at_its_edges():
    p = Normal(0, 1)
    assert theorem1_scale(p, Normal(2, 1), 0.5, 0) == pytest.approx(4)
    assert theorem1_scale(p, Normal(2, 1), 0.5, 0.1, "average") == pytest.approx(2 / (0.5 - math.log(0.9)))
    assert theorem1_scale(p, Normal(2, 2), 0.5, 0) == math.inf
    assert theorem1_scale(p, p, 0, 0) == 0
    with pytest.raises(UnknownName):
        theorem1_scale(p, p, 1, 0, "paper")


# The published rule for mixtures (Theorem 2 and Corollary 2 of the Gaussian paper) claims that b suffices. It does not.
# weights, means and stds of p, of q, its scale at epsilon 1, its claimed delta, true delta, true epsilon
COUNTEREXAMPLES = [
    ([0.99, 0.01], [0, 0], [1, 1], [0, 100], [1, 1], 1.0, 0.0, 0.01, 95.394829814),
    ([0.74, 0.26], [0, 0], [0.1, 0.1], [0, 100], [0.1, 0.1], 26.0, 0.0, 0.1551780411804, 2.558102403751),
    ([0.74, 0.26], [0, 0], [1, 1], [0, 100], [1, 2], 26.5095906360, 0.05, 0.1510377313, 2.4905600997),
    ([0.5, 0.5], [0, 0], [1, 1], [0, 10], [1, 1], 5.0, 0.0, 0.10517364, 1.43378083),
]


@pytest.mark.parametrize("row", COUNTEREXAMPLES)
def test_the_published_mixture_rule_is_violated(row):
    w, m, s, n, t, b, claimed, delta, eps = row
    average = sum(
        a * (abs(x - y) + abs(u - v) * (tau(claimed) if u != v else 0))
        for a, x, u, y, v in zip(w, m, s, n, t, strict=True)
    )
    assert average == pytest.approx(b, rel=1e-9)  # this is the scale that the rule prints
    p, q = NormalMixture(w, m, s), NormalMixture(w, n, t)
    assert hockey_stick(p, q, "laplace", b, 1) == pytest.approx(delta, abs=1e-8)
    assert delta > claimed
    assert pure_epsilon(p, q, b) == pytest.approx(eps, rel=1e-8)
    assert coupled_scale(p, q, 1, claimed).scale >= least_continuous(p, q, "laplace", 1, claimed) * (1 - 1e-9) > b


@pytest.mark.parametrize(("row", "b"), [(0, 19.40881549), (3, 6.71194939)])
def test_the_exact_pure_scale_of_the_counterexamples(row, b):
    w, m, s, n, t, *_ = COUNTEREXAMPLES[row]
    assert least_continuous(NormalMixture(w, m, s), NormalMixture(w, n, t), "laplace", 1, 0) == pytest.approx(
        b, rel=1e-8
    )


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
