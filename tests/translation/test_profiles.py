"""Profiles under chains: never below a linear program over all events, nor below real Gaussian releases."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from lp_oracle import chain_joint, given
from profile_oracle import attack_delta, attack_renyi, best_delta, least_epsilon, most_delta

import fugu
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.kinds import Approx, Pure
from fugu.guarantee.lines import Lines, of_approx, of_curve, of_zcdp
from fugu.priors.chain import ChainSet
from fugu.priors.joint import JointTable
from fugu.translation.beyond_pure import by_windows, chain_divergence, lifted, translate_zcdp, zcdp_cost
from fugu.translation.hockey import Corners, levels
from fugu.translation.profiles import ChainProfile, epsilon_at, lesser
from fugu.translation.pure import pure_bound
from fugu_papers.gaussian_entries import (
    gaussian_lines,
    largest_epsilon,
    least_sigma,
    of_gaussian,
    profile_budget,
    translate_gaussian,
    translate_gaussian_curve,
)
from hunting import search

STICKY = [[0.6, 0.4], [0.2, 0.8]]
SLACK = 1e-6
"""What the solver's tolerances may add to a delta."""


def drawn(rng, most=6):
    """A random chain, its steps alike or not, with zeros, and its joint law."""
    k = int(rng.integers(2, 4))
    length = int(rng.integers(2, most + 1 if k == 2 else min(most, 4) + 1))
    kernels = []
    for _ in range(1 if rng.random() < 0.6 else length - 1):
        kernel = rng.dirichlet(np.full(k, rng.choice([0.2, 1, 3])), k)
        if rng.random() < 0.4:
            kernel = 0.6 * np.eye(k) + 0.4 * kernel
        if rng.random() < 0.3:
            kernel = np.where(rng.random((k, k)) < 0.3, 0, kernel)
            kernel[np.arange(k), rng.integers(k, size=k)] += 0.2
        kernels.append(kernel / kernel.sum(axis=1, keepdims=True))
    start = rng.dirichlet(np.full(k, rng.choice([0.2, 1, 3])))
    chain = fugu.MarkovChain(kernels[0] if len(kernels) == 1 else kernels, length, start)
    free = fugu.MarkovChain(kernels[0] if len(kernels) == 1 else kernels, length, "any")
    steps = kernels * (length - 1) if len(kernels) == 1 else kernels
    return chain, free, chain_joint(steps, np.asarray(chain.marginal(1)))


def pair_of(rng, joint):
    """A random node and two of its values, or None."""
    node = int(rng.integers(joint.ndim))
    mass = joint.sum(axis=tuple(t for t in range(joint.ndim) if t != node))
    live = np.flatnonzero(mass > 0)
    return None if live.size < 2 else (node, *map(int, rng.choice(live, 2, replace=False)))


def guarantees(rng):
    eps, delta = float(rng.choice([0.05, 0.2, 0.5, 1, 2])), float(rng.choice([0.001, 0.01, 0.05]))
    more = [(eps * float(rng.choice([0, 0.4, 0.7])), delta + float(rng.choice([0.02, 0.1])))]
    return [(eps, delta)] + (more if rng.random() < 0.5 else [])


@search("profiles of chains against all events", quick=12)
def test_no_event_exceeds_the_delta_at_the_epsilon_stated(rng):
    """Any start as well; several (eps, delta) at once; every delta from 1.2 to 20 times that of an entry."""
    chain, free, joint = drawn(rng)
    known = guarantees(rng)
    entry, cases = of_approx(*(Approx(*g) for g in known)), 0
    for factor in (1.2, 2, 6, 20):
        delta = min(0.9, known[0][1] * factor)
        stated = epsilon_at(free if rng.random() < 0.3 else chain, entry, Fraction(delta))
        pair = pair_of(rng, joint)
        if pair is not None and math.isfinite(stated):
            cases += 1
            found = most_delta(joint, known, *pair, stated)
            assert found <= delta + SLACK, (known, delta, stated, found)
    return cases


@search("lifted pure translations against all events", quick=12)
def test_no_event_exceeds_what_the_pure_translation_says(rng):
    """Chains and whole joint tables: the prior does not matter, its pure translation does."""
    chain, _, joint = drawn(rng, 5)
    eps, delta = guarantees(rng)[0]
    prior = chain if rng.random() < 0.5 or joint.size > 32 else JointTable(joint / joint.sum())
    stated = lifted(pure_bound(prior), Approx(eps, delta), joint.ndim, Fraction(9, 10))
    pair = pair_of(rng, joint)
    if pair is None or stated is None:
        return 0
    found = most_delta(joint, [(eps, delta)], *pair, float(stated.epsilon))
    assert found <= float(stated.delta) + SLACK, (eps, delta, stated, found)
    return 1


def scores(joint, node, x, y):
    """Cell by cell the values that x makes more likely: the sum that tells most, and its windows."""
    laws = []
    for t in range(joint.ndim):
        rest = tuple(s for s in range(joint.ndim) if s != t)
        one, two = (given(joint, node, v).sum(axis=rest) for v in (x, y))
        laws.append((one > two).astype(float))
    return [[w if abs(t - node) < far else 0 * w for t, w in enumerate(laws)] for far in range(1, joint.ndim + 1)]


@search("Gaussian releases under chains", quick=4)
def test_no_gaussian_release_exceeds_its_profile(rng):
    """Noisy weighted sums, exactly: their delta, and their divergence, which zCDP alone bounds as well."""
    chain, _, joint = drawn(rng)
    pair = pair_of(rng, joint)
    if pair is None:
        return 0
    mu, delta = float(rng.choice([0.1, 0.3, 1])), float(rng.choice([1e-5, 1e-3, 0.02]))
    alpha, rho = Fraction(int(rng.choice([2, 6]))), Fraction(mu) ** 2 / 2
    stated = translate_gaussian(chain, mu, delta)
    curve = translate_zcdp(chain, rho, [alpha])(alpha)
    tails = [(a, chain_divergence(chain, float(a), zcdp_cost(rho, a))) for a in (2 * alpha, 4 * alpha)]
    gauss = lesser(chain, of_gaussian(mu), [alpha], {}, dict(tails)).get(alpha, math.inf)
    for weights in scores(joint, *pair):
        assert attack_delta(joint, *pair, weights, 1 / mu, stated) <= delta * (1 + 1e-6) + 1e-10
        found = attack_renyi(joint, *pair, weights, 1 / mu, float(alpha))
        assert found <= min(curve, gauss) * (1 + 1e-6) + 1e-9, (found, curve, gauss)
    return joint.ndim


def test_it_is_close_to_the_linear_program_and_far_below_windows():
    """Two values, five entries: within 2 % of what some event reaches; windows are twice as far."""
    chain = fugu.MarkovChain(STICKY, 5)
    joint = chain_joint([np.array(STICKY)] * 4, np.asarray(chain.marginal(1)))
    stated = float(fugu.translate(chain, Approx(0.3, 0.001), delta=0.01).epsilon)
    least = least_epsilon(joint, [(0.3, 0.001)], 0.01, stated, 8)
    assert best_delta(joint, [(0.3, 0.001)], stated) <= 0.01 + SLACK
    assert least <= stated <= 1.02 * least
    assert float(by_windows(chain, Approx(0.3, 0.001), 0.01).epsilon) > 2 * stated


def test_gaussian_noise_on_a_sum_is_nearly_attained():
    """T = 6, sigma 5, order 2: .18298 is true for a plain sum, .195 stated for Gaussian noise, windows .599."""
    chain, rho = fugu.MarkovChain(STICKY, 6), Fraction(1, 50)
    tails = [(Fraction(a), chain_divergence(chain, a, zcdp_cost(rho, Fraction(a)))) for a in (4, 8)]
    stated = lesser(chain, of_gaussian(0.2), [2], {}, dict(tails))[2]
    assert 0.182984 <= stated <= 0.2
    assert 0.182984 <= translate_zcdp(chain, rho, [2])(2) <= 0.3
    both = ChainSet([chain, fugu.MarkovChain([[0.5, 0.5], [0.5, 0.5]], 6)])
    assert 0.182984 <= translate_gaussian_curve(both, 0.2, [2])(2) <= 0.2
    with pytest.raises(UsageError, match="mu must be"):
        translate_gaussian_curve(chain, math.inf, [2])


# --- wrong versions -------------------------------------------------------------------------------------------------


def test_a_composition_that_does_not_multiply_delta_is_false():
    """(1, .05) for two cells is (2, .05 (1 + e)), and some event of an (eps, delta) mechanism reaches more than .1."""
    joint = chain_joint([np.eye(2)], [0.5, 0.5])
    entry = of_approx(Approx(1, 0.05))
    assert best_delta(joint, [(1, 0.05)], 2.0) > 0.1 + 1e-3  # what b1 + b2 would say
    assert best_delta(joint, [(1, 0.05)], 2.0) <= entry.power(2).delta_at(2.0) + SLACK


def test_a_kernel_without_its_negative_part_is_false():
    """gamma = 1 and E = TV alone say p.g <= q.g + TV delta: as if epsilon did not grow, only delta. Some event does."""
    chain = fugu.MarkovChain(STICKY, 2)
    joint = chain_joint([np.array(STICKY)], np.asarray(chain.marginal(1)))
    wrong = 0.01 + math.exp(0.3) * 0.4 * 0.01
    found = most_delta(joint, [(0.3, 0.01)], 0, 0, 1, 0.3)
    assert found > 1.5 * wrong
    entry = of_approx(Approx(0.3, 0.01))
    assert found <= ChainProfile(chain).worst(entry, lambda lines: lines.delta_at(Fraction(3, 10))) + SLACK


def test_the_reversal_of_the_stationary_chain_is_no_backward_kernel():
    """P = [[.9, .1], [.99, .01]] started at (.25, .75): rows of the real backward kernels differ by .537, not .09."""
    kernel, start = [[0.9, 0.1], [0.99, 0.01]], [0.25, 0.75]
    chain = fugu.MarkovChain(kernel, 4, start)
    joint = chain_joint([np.array(kernel)] * 3, start)
    known, delta = [(0.5, 0.001)], 0.005
    stated = epsilon_at(chain, of_approx(Approx(0.5, 0.001)), Fraction(delta))
    wrong = epsilon_at(fugu.MarkovChain(kernel, 4), of_approx(Approx(0.5, 0.001)), Fraction(delta))
    least = least_epsilon(joint, known, delta, stated)
    assert wrong < least <= stated


# --- parts ----------------------------------------------------------------------------------------------------------


def hockey(p, q, gamma):
    return float(np.maximum(p - gamma * q, 0).sum())


@search("corners of kernels", quick=60)
def test_corners_bound_every_hockey_stick(rng):
    k = int(rng.integers(2, 7))
    kernel = np.where(rng.random((k, k)) < 0.2, 0, rng.dirichlet(np.full(k, 0.5), k)) + 0.1 * np.eye(k)
    kernel /= kernel.sum(axis=1, keepdims=True)
    x, y = (z.ravel() for z in np.meshgrid(range(k), range(k)))
    corners = Corners.rows(kernel, kernel > 0, 1e-14, (x[x != y], y[x != y]))
    gammas = np.exp(rng.normal(0, 1, 20))
    for gamma, stick in zip(gammas, corners.sticks(gammas), strict=True):
        worst = max(hockey(kernel[i], kernel[j], gamma) for i in range(k) for j in range(k) if i != j)
        assert worst - 1e-15 <= stick <= worst + 1e-11
    p, q = rng.dirichlet(np.full(k, 0.5), 2)
    ratio = np.log(p) - np.log(q)
    far = Corners.apart(float(ratio.max() - ratio.min()))
    assert all(hockey(p, q, g) <= e for g, e in zip(gammas, far.sticks(gammas), strict=True))


def test_the_sticks_of_any_start_are_attained():
    """(sqrt r - sqrt gamma)^2 / (r - 1), r = e^D; tanh(D / 4) at gamma = 1."""
    gammas = np.array([1.0, 1.3, 2.0])
    found = Corners.apart(1.0).sticks(gammas)
    assert found[0] == pytest.approx(math.tanh(0.25), rel=2e-3) and found[0] >= math.tanh(0.25)
    for gamma, stick in zip(gammas, found, strict=True):
        r = math.e
        m = math.sqrt(gamma / r)  # p / q takes the values m and r m
        weight = (1 - m) / (r * m - m)
        p, q = np.array([weight * r * m, (1 - weight) * m]), np.array([weight, 1 - weight])
        assert hockey(p, q, gamma) == pytest.approx((math.sqrt(r) - math.sqrt(gamma)) ** 2 / (r - 1), rel=1e-9)
        assert hockey(p, q, gamma) <= stick <= hockey(p, q, gamma) * 1.003 + 1e-4


@search("events through kernels", quick=60)
def test_no_event_passes_a_kernel_with_more(rng):
    """Extreme g of two values psi(t) and t: p.g is at most what `through` says of q.g, and the best is attained."""
    k = int(rng.integers(2, 6))
    p, q = rng.dirichlet(np.full(k, 0.7), 2)
    entry = of_approx(Approx(float(rng.uniform(0.05, 2)), float(rng.choice([0, 1e-6, 0.01]))), Approx(0, 0.3))
    kernel = np.stack([p, q])
    passed = Corners.rows(np.vstack([kernel, np.zeros((k - 2, k))]), np.vstack([kernel, np.zeros((k - 2, k))]) > 0,
                          0.0, (np.array([0]), np.array([1]))).through(entry.one)  # fmt: skip
    best = math.inf
    for t in np.concatenate([rng.random(20), 10.0 ** rng.uniform(-9, 0, 20)]):
        psi = min(1.0, float((entry.one.a * t + entry.one.b).min()))
        for size in range(1, k):
            chosen = np.argsort(-p / q)[:size]
            g = np.full(k, t)
            g[chosen] = psi
            bound = float((passed.a * (q @ g) + passed.b).min())
            assert p @ g <= bound * (1 + 1e-12)
            best = min(best, bound / (p @ g))
    assert best < 1.2


def test_lines_compose_round_up_and_settle():
    one = Lines.of([2.0], [0.01]).compose(Lines.of([3.0], [0.001]))
    assert Fraction(float(one.a[0])) >= 6 and Fraction(float(one.b[0])) >= 2 * Fraction(0.001) + Fraction(0.01)
    assert Lines.same().epsilon_at(Fraction(1, 10**9)) == 0
    assert of_approx(Approx(1, 0.1)).one.epsilon_at(Fraction(1, 100)) == math.inf
    for mu in (0.1, 0.5, 2):
        for epsilon in (0.1, 1, 3):
            true = true_delta(mu, epsilon)
            assert (
                true * (1 - 1e-9) - 1e-16
                <= gaussian_lines(mu).delta_at(epsilon)
                <= true * (1.1 if true > 1e-15 else 1.5) + 1e-30
            )
        two, exact = of_gaussian(mu).one.compose(of_gaussian(mu).one), gaussian_lines(2 * mu)
        assert two.epsilon_at(Fraction(1, 10**6)) == pytest.approx(exact.epsilon_at(Fraction(1, 10**6)), rel=0.01)
    side = ChainProfile(fugu.MarkovChain(STICKY, 500)).later
    found = levels(side, of_approx(Approx(0.3, 1e-6)), 499)
    assert found.settled and len(found.psi) < 60
    assert all(p.below(found.psi[-1]) or p.delta_at(0.5) <= found.psi[-1].delta_at(0.5) for p in found.psi)


def true_delta(mu, epsilon):
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    one, two = (math.erfc(-z / math.sqrt(2)) / 2 for z in (mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu))
    return one - math.exp(epsilon) * two


def test_several_entries_cost_what_groups_do():
    """Three cells move a Gaussian mean by 3 mu: neither its own lines nor those of zCDP may say less."""
    for entry in (of_gaussian(0.5), of_zcdp(Fraction(1, 8))):
        for epsilon in (0, 0.5, 2, 4):
            assert entry.power(3).delta_at(epsilon) >= true_delta(1.5, epsilon) * (1 - 1e-9)
    assert of_gaussian(0.5).power(3).delta_at(2) <= true_delta(1.5, 2) * 1.02


def test_two_equal_cells_reach_what_is_lifted():
    """Two bits that are always equal: (eps, d) is worth (2 eps, d (1 + e^eps)), and lifting says just that."""
    joint = chain_joint([np.eye(2)], [0.5, 0.5])
    prior = JointTable(joint)
    stated = lifted(pure_bound(prior), Approx(1, 0.01), 2, Fraction(9, 10))
    assert float(stated.epsilon) == pytest.approx(2) and float(stated.delta) == pytest.approx(0.01 * (1 + math.e))
    assert best_delta(joint, [(1, 0.01)], 2.0) == pytest.approx(0.01 * (1 + math.e), abs=SLACK)


def test_a_divergence_says_how_likely_an_event_may_be():
    """D_2 <= .02 both ways: no binary pair of probabilities with that divergence lies above the lines."""
    one = of_curve(fugu.RenyiCurve({2: 0.02, 8: 0.1})).one
    for t in (1e-6, 0.01, 0.3, 0.9):
        for p in np.linspace(t, 1, 2000)[:-1]:
            allowed = all(
                math.log(x**a * y ** (1 - a) + (1 - x) ** a * (1 - y) ** (1 - a)) / (a - 1) <= e
                for a, e in ((2, 0.02), (8, 0.1))
                for x, y in ((p, t), (t, p))
            )
            assert not allowed or p <= float((one.a * t + one.b).min()) * (1 + 1e-9)
    assert of_zcdp(Fraction(1, 8)).one.delta_at(0.0) <= 0.25  # Pinsker: sqrt(rho / 2)


# --- use ------------------------------------------------------------------------------------------------------------


def test_budgets_are_met_as_returned_and_sets_take_the_worst():
    chain, budget = fugu.MarkovChain(STICKY, 6), Approx(1, 1e-6)
    mu = profile_budget(chain, budget, kind="gaussian")
    assert translate_gaussian(chain, mu, 1e-6) <= 1 < translate_gaussian(chain, 1.01 * mu, 1e-6)
    assert least_sigma(chain, budget) >= 1 / mu
    laplace = profile_budget(chain, budget, kind="laplace")
    assert laplace >= (1 - 1e-8) * fugu.dp_budget(chain, 1)
    assert largest_epsilon(chain, 1, 1e-6, 1e-9) <= laplace * 1.001
    slow = fugu.MarkovChain([[0.7, 0.3], [0.2, 0.8]], 6)
    both = translate_gaussian(ChainSet([chain, slow]), 0.1, 1e-6)
    assert both == max(translate_gaussian(c, 0.1, 1e-6) for c in (chain, slow))
    with pytest.raises(BadBudget, match="both above 0"):
        profile_budget(chain, Approx(1, 0), kind="laplace")
    with pytest.raises(UsageError, match="kind"):
        profile_budget(chain, budget, kind="cauchy")
    with pytest.raises(UsageError, match="mu must be"):
        translate_gaussian(chain, 0, 1e-6)
    table = JointTable([[0.5, 0.1], [0.1, 0.3]])  # by its pure translation: never below noise on one cell alone
    assert gaussian_lines(0.1).epsilon_at(Fraction(1, 10**6)) < translate_gaussian(table, 0.1, 1e-6) < 1
    noise = profile_budget(table, budget, kind="gaussian")
    assert translate_gaussian(table, noise, 1e-6) <= 1 < translate_gaussian(table, 1.01 * noise, 1e-6)


def test_a_ledger_with_a_delta_spends_more_of_the_chain():
    """Five releases of (.05, 1e-9) under a chain: (.25, 5e-9) per entry, worth .6 and not 1.5."""
    chain = fugu.MarkovChain(STICKY, 200)
    spent = fugu.translate(chain, Approx(0.25, 5e-9), delta=1e-6)
    assert float(spent.epsilon) < 0.61 and float(by_windows(chain, Approx(0.25, 5e-9), 1e-6).epsilon) > 1.3
    assert fugu.translate([chain, chain], Approx(0.25, 5e-9), delta=1e-6) == spent
    assert float(spent.epsilon) <= float(fugu.translate(chain, Pure(0.25)).epsilon) * (1 + 1e-9)
    with pytest.raises(NotProvable, match="delta"):
        fugu.translate(chain, Approx(0.25, 1e-3), delta=1e-4)
