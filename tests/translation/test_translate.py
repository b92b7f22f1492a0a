"""`fugu.translate` and `fugu.dp_budget`: the numbers of the notes, exact oracles, and wrong versions that must fail."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from lp_oracle import best_translation, chain_joint

import fugu
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.numbers.exact import as_fraction
from fugu.priors.chain import ChainSet
from fugu.priors.coupling import DependentGroups, IndependentBlocks
from fugu.priors.joint import JointTable
from fugu.translation.beyond_pure import (
    by_windows,
    chain_divergence,
    group_cost,
    group_delta,
    translate_zcdp,
    zcdp_cost,
)
from fugu.translation.translate import FULL_DOMAIN, _largest

KERNEL = [[0.6, 0.4], [0.2, 0.8]]


@pytest.fixture(scope="module")
def chain():
    return fugu.MarkovChain(KERNEL, 1000)


def test_a_release_from_laws_plus_private_releases_costs_every_entry():
    """eps1 + b eps + a is false next to a law-based release: s xor r alone tells nothing, with r everything.

    X_1 = s, X_2 = r independent fair bits; the law-based release X_1 xor X_2 has epsilon 0, then randomised response
    on both entries. The true loss is that of X_1 given the sum: 2 eps = n eps; translate alone gives eps."""
    epsilon = 0.5
    apart = fugu.translate(fugu.MarkovChain([[0.5, 0.5], [0.5, 0.5]], 2), epsilon)
    assert apart == pytest.approx(epsilon, abs=1e-12)
    joint = np.array([[0.5, 0.0], [0.0, 0.5]])  # the two bits given that their xor is 0
    exact = best_translation(joint, epsilon)
    assert exact == pytest.approx(2 * epsilon, abs=1e-9) and apart < exact - 0.4
    assert fugu.translate(JointTable(joint), epsilon) >= exact - 1e-12


def test_per_entry_privacy_on_possible_datasets_only_is_worth_nothing():
    """Two cells always equal: no two possible datasets are neighbours; the whole domain is needed, and said."""
    assert "whole product domain" in FULL_DOMAIN
    for function in (fugu.translate, fugu.dp_budget):
        assert "whole product domain" in function.__doc__
    assert fugu.translate(fugu.MarkovChain([[1, 0], [0, 1]], 2, [0.5, 0.5]), 0.3) == pytest.approx(0.6)


def test_independent_entries_cost_nothing_more():
    assert fugu.translate(fugu.MarkovChain([[0.3, 0.7]] * 2, 50), 0.4) == pytest.approx(0.4, abs=1e-11)
    assert fugu.translate(fugu.MarkovChain(KERNEL, 30), 0) == 0
    assert fugu.translate(fugu.MarkovChain(KERNEL, 30), math.inf) == math.inf


def test_independent_users_cost_what_the_worst_one_costs(chain):
    short, other = fugu.MarkovChain(KERNEL, 3), fugu.MarkovChain([[0.9, 0.1], [0.1, 0.9]], 4)
    worst = max(fugu.translate(short, 0.2), fugu.translate(other, 0.2))
    for prior in ([short, other], {"ann": short, "bob": other}, IndependentBlocks(short, other)):
        assert fugu.translate(prior, 0.2) == worst
    assert fugu.dp_budget([short, other], 1) == min(fugu.dp_budget(short, 1), fugu.dp_budget(other, 1))
    assert fugu.translate(DependentGroups(5), 0.2) == 1.0
    assert fugu.dp_budget(DependentGroups(5), 1) == 0.2
    assert fugu.translate(ChainSet([chain, chain]), 0.2) == fugu.translate(chain, 0.2)


def test_the_budget_is_checked_exactly_and_is_largest():
    for epsilon in (0.1, 0.3, 1 / 3, 0.7, 1e-6, 12.5, 3):
        for length in (2, 3, 7):
            groups, prior = DependentGroups(length), fugu.MarkovChain(KERNEL, length)
            found = fugu.dp_budget(groups, epsilon)
            assert length * as_fraction(found) <= as_fraction(epsilon)
            assert length * found >= epsilon * (1 - 1e-12)
            found = fugu.dp_budget(prior, epsilon)
            assert Fraction(fugu.translate(prior, found)) <= as_fraction(epsilon)
            assert found >= epsilon / length * (1 - 1e-12)
            assert fugu.translate(prior, found * (1 + 1e-6)) > epsilon  # the largest, not just any


def test_one_step_down_is_not_enough_but_the_search_never_returns_a_value_above():
    """A bound with a jump: the search must end on the side that holds."""
    assert _largest(lambda x: -1.0 if x <= 0.3 else 1.0, 0.1, 1.0) <= 0.3
    assert _largest(lambda x: x * x - 0.25, 0.1, 1.0) == pytest.approx(0.5, rel=1e-12)


def test_approximate_privacy(chain):
    curve = fugu.influence(chain)
    dp = fugu.Approx(0.1, 1e-8)
    found = by_windows(chain, dp, None)
    b = min(range(1, 60), key=lambda n: n * 0.1 + curve(n))
    assert float(found.epsilon) == pytest.approx(b * 0.1 + curve(b), abs=1e-12)
    assert float(found.delta) == pytest.approx(1e-8 * math.expm1(b * 0.1) / math.expm1(0.1), rel=1e-9)
    tight = by_windows(chain, dp, 2e-8)
    assert tight.delta <= 2e-8 and tight.epsilon > found.epsilon
    profile = fugu.translate(chain, dp)
    assert profile.delta <= found.delta and profile.epsilon < 0.3 * found.epsilon
    assert fugu.translate(chain, fugu.Approx(0.1, 0)) == fugu.Approx(fugu.translate(chain, 0.1), 0)
    assert fugu.translate(chain, fugu.Pure(0.1)) == fugu.Pure(fugu.translate(chain, 0.1))
    with pytest.raises(NotProvable, match="forbidden"):
        fugu.translate(fugu.MarkovChain([[0, 1], [1, 0]], 50), dp, delta=1e-8)
    with pytest.raises(UsageError, match="Approx and compositions only"):
        fugu.translate(chain, 0.1, delta=1e-6)


def test_delta_of_a_group_rounds_up():
    with mpmath.workdps(50):
        for e, d, b in ((0.1, 1e-6, 7), (1e-9, 1e-9, 3), (2.0, 1e-12, 20)):
            exact = mpmath.mpf(d) * mpmath.expm1(b * mpmath.mpf(e)) / mpmath.expm1(mpmath.mpf(e))
            found = group_delta(Fraction(e), Fraction(d), b)
            assert exact <= mpmath.mpf(found) <= exact * (1 + mpmath.mpf(1e-14))


def sum_divergence(joint, sigma, node, order, x, y):
    """D_order between the laws of sum + N(0, sigma^2) given two values of a node: quadrature, from the definition."""
    grid = np.linspace(-12 * sigma, joint.ndim + 12 * sigma, 60001)
    sums = np.indices(joint.shape).sum(axis=0)

    def density(value):
        here, total = np.moveaxis(joint, node, 0)[value], np.moveaxis(sums, node, 0)[value]
        law = np.bincount(total.ravel(), weights=here.ravel() / here.sum(), minlength=joint.ndim + 1)
        return sum(w * np.exp(-((grid - s) ** 2) / (2 * sigma**2)) for s, w in enumerate(law)) / (
            sigma * math.sqrt(2 * math.pi)
        )

    p, q = density(x), density(y)
    values = np.exp(order * np.log(p) + (1 - order) * np.log(q))
    return math.log(float(((values[1:] + values[:-1]) / 2).sum() * (grid[1] - grid[0]))) / (order - 1)


def test_renyi_against_quadrature():
    """Gaussian noise on a sum over six entries: T = 6, (.6, .8), sigma 5, order 2: true .182984, windows .599090."""
    prior, sigma = fugu.MarkovChain(KERNEL, 6), 5.0
    joint = chain_joint([np.array(KERNEL)] * 5, prior.marginal(1))
    curve = translate_zcdp(prior, Fraction(1, 50), [1.5, 2, 8, 32])
    assert chain_divergence(prior, 2.0, zcdp_cost(Fraction(1, 50), Fraction(2))) == pytest.approx(0.599090, abs=1e-6)
    assert curve(2) < 0.29
    for order in (1.5, 2, 8, 32):
        true = max(sum_divergence(joint, sigma, n, order, x, 1 - x) for n in range(6) for x in (0, 1))
        assert curve(order) >= true
    assert sum_divergence(joint, sigma, 2, 2, 0, 1) == pytest.approx(0.182984, abs=1e-5)


def test_the_group_rule_gives_the_square_for_gaussian_noise_and_needs_larger_orders():
    rho = Fraction(1, 50)
    orders = {Fraction(n, 4): rho * Fraction(n, 4) for n in range(5, 4 * 50)}
    curve = fugu.RenyiCurve(orders)
    for b in (2, 3, 4, 8):
        found, square = group_cost(curve, Fraction(2))(b), zcdp_cost(rho, Fraction(2))(b)
        assert square * (1 - 1e-12) <= found <= square * 1.05
    single = fugu.RenyiCurve({2: 0.04})
    assert group_cost(single, Fraction(2))(1) == 0.04
    assert group_cost(single, Fraction(2))(2) == math.inf  # b^2 rho would be a guess here


def test_the_square_rule_is_false_at_a_single_order():
    """One output of probability q, r, p on datasets 11, 01 or 10, 00: D_2 <= e per entry, but far above 4 e for two."""
    e, q = 0.01, 1e-6
    r = q + math.sqrt(math.expm1(e) * q) * 0.99
    p = r + math.sqrt(math.expm1(e) * r) * 0.99

    def d2(one, two):
        return math.log(one * one / two + (1 - one) ** 2 / (1 - two))

    assert max(d2(q, r), d2(r, q), d2(r, p), d2(p, r)) <= e
    assert d2(p, q) > 4 * e * 10
    assert group_cost(fugu.RenyiCurve({2: e}), Fraction(2))(2) == math.inf
    known = fugu.RenyiCurve({2: e, math.inf: max(math.log(p / r), math.log(r / q)) + 1e-3})
    assert group_cost(known, Fraction(2))(2) >= d2(p, q)


def test_renyi_kinds():
    chain = fugu.MarkovChain(KERNEL, 40)
    curve = fugu.RenyiCurve({2: 0.02, 4: 0.04, 8: 0.08, 16: 0.16})
    found = fugu.translate(chain, curve)
    assert isinstance(found, fugu.RenyiCurve) and set(found.epsilons) <= {2, 4, 8, 16}
    assert found(2) >= 0.02
    one = fugu.translate(chain, fugu.Renyi(2, 0.02))
    assert isinstance(one, fugu.Renyi) and one.alpha == 2 and found(2) <= float(one.epsilon)
    assert fugu.translate(chain, fugu.Renyi(math.inf, 0.1)).epsilon == fugu.translate(chain, 0.1)
    both = fugu.translate(chain, fugu.RenyiCurve({2: 0.02, math.inf: 0.3}))
    assert both(math.inf) == fugu.translate(chain, 0.3)
    flat = fugu.translate(fugu.MarkovChain([[0.3, 0.7]] * 2, 6), curve)
    assert flat(4) == pytest.approx(0.04, abs=1e-10)
    with pytest.raises(NotProvable, match="orders"):
        fugu.translate(fugu.MarkovChain([[0, 1], [1, 0]], 50), fugu.Renyi(2, 0.02))
    with pytest.raises(NotProvable, match="delta"):
        fugu.translate(chain, fugu.Renyi(2, 0.02, 1e-6))
    groups = fugu.translate(DependentGroups(2), fugu.RenyiCurve({2: 0.04, 3: 0.06, 4: 0.08}))
    assert float(groups(2)) >= 4 * 0.04 * (1 - 1e-12)


def test_wrong_use_is_refused(chain):
    for bad in (-1, math.nan, True):
        with pytest.raises(UsageError):
            fugu.translate(chain, bad)
    for bad in (0, -1, math.inf, math.nan, "1"):
        with pytest.raises(BadBudget):
            fugu.dp_budget(chain, bad)
    for prior in ("chain", [], None, 3):
        with pytest.raises(UsageError):
            fugu.translate(prior, 1.0)
