"""The printed theorem on iterations is false for dependent data; fugu's bounds cover every counterexample.

Truths are exact mixtures of normal laws on a fine grid. Each case asserts that the printed rule lies below the truth
and fugu's bound does not. (Pierquin et al. 2024, Lemma 5.1, Theorem 5.2, Section 6.4, Propositions 6.4 and F.2;
docs/errata/pierquin.md.) The same cases as rows of `fugu reproduce`: papers/tests/test_pierquin_iterations.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from iteration_oracle import mixture_delta, normal_mixtures, renyi_of
from scipy.stats import norm

import fugu
from fugu.errors import NotProvable, UsageError
from fugu.iterate import AR1, Groups, NoisySGD, WorstCase, from_marginals, joint_bound, joint_delta, shift_bound

SAME, OPPOSITE = fugu.Discrete([[-1, -1], [1, 1]]), fugu.Discrete([[-1, 1], [1, -1]])


def truth(p, q, sd, alpha=2):
    """D_alpha of {mean: weight} against {mean: weight}, both plus N(0, sd^2), in this order."""
    logs, step = normal_mixtures([(list(law), list(law.values())) for law in (p, q)], sd, reach=40, points=40)
    return renyi_of(*logs, step, alpha)


def times(eta):
    return lambda x, y: eta * np.abs(x - y)


def test_lemma_5_1_two_equal_steps_end_two_apart():
    """W = W' = B, X = B, X' = -B: each X has the same law, and psi(W, X) = W + X is 2B or 0."""
    assert fugu.wasserstein(fugu.Discrete([-1, 1]), fugu.Discrete([1, -1])) == 0  # s of the lemma
    assert fugu.wasserstein(fugu.Discrete([-2, 2]), fugu.Discrete([0])) == 2  # not at most z + s for z < 2


@pytest.mark.parametrize(("eta", "known"), [(1, 1.3250027), (2, 7.3068529), (4, 31.3068528)])
def test_theorem_5_2_says_nothing_leaks_and_much_does(eta, known):
    """(B, B) against (B, -B). With both in one variable U that all records equal, nothing changes: no licence."""
    p, q = {-2 * eta: 1, 2 * eta: 1}, {0: 1}
    real = truth(p, q, math.sqrt(2))
    assert math.isclose(real, known, abs_tol=5e-8)
    best = joint_bound(SAME, OPPOSITE, 1, 2, shift=times(eta)).epsilon
    assert shift_bound([0, 0], 1, 2).epsilon == 0 < real <= best == pytest.approx(2 * eta**2, rel=1e-9)
    for t in range(2):  # a rule from single records: the laws are the same, so it says 0
        one, other = (fugu.Discrete(law.values[:, t]) for law in (SAME, OPPOSITE))
        assert one == other and joint_bound(one, other, 1, 2, shift=times(eta)).epsilon == 0
    for epsilon in (0.1, 1, 3):
        leak = mixture_delta([(list(p), [1, 1]), (list(q), [1])], math.sqrt(2), epsilon)
        assert 0 < leak <= joint_delta(SAME, OPPOSITE, 1, epsilon, shift=times(eta))
    with pytest.raises(NotProvable, match=r"1\.325"):
        from_marginals([0, 0])


@pytest.mark.parametrize(("eta", "printed", "known"), [(2, 16, 19.947039), (4, 64, 83.947039), (6, 144, 190.6137056)])
def test_section_6_4_understates_a_linear_loss(eta, printed, known):
    """f(w, x) = -w x, X = (B, B S, S) with the secret S = +-1 last; L = C = sigma = 1, alpha = 2."""
    p, q = {3 * eta: 1, -eta: 1}, {-eta: 1}
    real = truth(p, q, math.sqrt(3))
    assert math.isclose(real, known, rel_tol=1e-8)
    assert math.isclose(shift_bound([0, 0, 2 * eta], 1, 2).epsilon, printed) and printed < 0.9 * real
    assert NoisySGD(3, eta, 1, 1 / eta, noise=1).renyi(2).epsilon == pytest.approx(printed, rel=1e-9)
    laws = [fugu.Discrete([[b, b * s, s] for b in (-1, 1)]) for s in (1, -1)]
    assert real <= joint_bound(*laws, 1, 2, shift=times(eta)).epsilon
    for prior in (WorstCase(), Groups([0, 0, 0])):
        sgd = NoisySGD(3, eta, 1, 1e-9, noise=1, records=3, prior=prior)
        assert real <= sgd.renyi(2).epsilon
        assert sgd.delta_at(1) >= mixture_delta([(list(p), [1, 1]), (list(q), [1])], math.sqrt(3), 1)


@pytest.mark.parametrize(("m", "flat", "known"), [(5, 0.36364, 6.3036), (20, 0.09756, 16.0187), (50, 0.0396, 35.5923)])
def test_many_pairs_with_the_secret_first_or_last(m, flat, known):
    """(B_j, B_j S) for j = 1..m and S: the marginal rule sees S alone, and F.2 shares it among all steps."""
    steps = 2 * m + 1
    real = truth({2 * (2 * k - m) + 1: math.comb(m, k) for k in range(m + 1)}, {-1: 1}, math.sqrt(steps))
    assert math.isclose(real, known, abs_tol=6e-5)
    assert math.isclose(shift_bound([2, *[0] * (2 * m)], 1, 2).epsilon, flat, abs_tol=6e-6)  # first, F.2
    assert math.isclose(shift_bound([*[0] * (2 * m), 2], 1, 2).epsilon, 4)  # last, 6.4
    assert max(flat, 4) < real
    for shifts in ([2, *[0, 2] * m], [*[0, 2] * m, 2]):  # S, and every B_j S with it: one coupling
        assert real <= shift_bound(shifts, 1, 2).epsilon
    assert real <= NoisySGD(steps, 1, 1, 1e-9, noise=1, prior=WorstCase()).renyi(2).epsilon


def test_one_shared_bit():
    """S, then ten copies of B and ten of B S: F.2 says 0.190, Section 6.4 says 4, the truth is 21.66."""
    real = truth({21: 1, -19: 1}, {-1: 1}, math.sqrt(21))
    flat = shift_bound([2, *[0] * 20], 1, 2).epsilon
    assert math.isclose(real, 21.66, abs_tol=5e-3) and math.isclose(flat, 4 / 21) and 0.19 < flat < 4 < real
    best = shift_bound([2, *[0] * 10, *[2] * 10], 1, 2).epsilon
    laws = [fugu.Discrete([[s, *[b] * 10, *[b * s] * 10] for b in (-1, 1)]) for s in (1, -1)]
    assert real <= joint_bound(*laws, 1, 2).epsilon <= best * (1 + 1e-9)


def test_noise_after_the_projection_leaves_the_domain():
    """K = [-1, 1], f(w, x) = x H(w), H = 0 on K and Huber outside, eta beta = 1.9: on K nothing ever moves, but with
    the noise after the projection the iterate leaves K and the secret shows. Projected first, nothing shows."""
    grid, points = np.linspace(-8, 8, 3_201), np.linspace(-8, 8, 321)
    slope, inside = np.sign(grid) * np.clip(np.abs(grid) - 1, 0, 1), np.clip(grid, -1, 1)
    mass = norm.pdf(grid) * (grid[1] - grid[0])  # W_1 = N(0, 1)

    def divergences(*steps):
        p, q = (norm.pdf(points[:, None] - step) @ mass for step in steps)
        return [float(np.log(np.sum(a * a / b) * 0.05)) for a, b in ((p, q), (q, p))]

    printed = divergences(inside, np.clip(grid - 1.9 * slope, -1, 1))
    assert np.allclose(printed, [0.0085783, 0.0073703], atol=5e-7)
    at = np.interp(inside, grid, slope)  # projected first: the gradient is taken inside K, where it is 0
    assert max(np.abs(divergences(inside, inside - 1.9 * at))) < 1e-9
    assert shift_bound([0, 1.9 * np.max(np.abs(at))], 1, 2, diameter=2).epsilon == 0 < max(printed)
    everywhere = np.max(np.abs(np.clip(grid - 1.9 * slope, -1, 1) - inside))  # the printed order: over all of R
    assert max(printed) <= shift_bound([0, everywhere], 1, 2).epsilon


def test_equal_shares_need_shifts_that_do_not_increase():
    """psi(w, x) = x: only the last step counts, and its noise alone hides it."""
    flat, real = 3 * 2 / 2 * (4 / 3) ** 2, truth({0: 1}, {4: 1}, 1)
    assert math.isclose(flat, 16 / 3) and math.isclose(real, 16)
    assert flat < real <= shift_bound([0, 0, 4], 1, 2).epsilon
    assert real <= shift_bound([0, 0, 4], 1, 2, [0, 0, 0]).epsilon < real * (1 + 1e-9)


def test_the_mean_of_the_losses_is_no_bound():
    """Given S = 1, a fair coin says whether all of four records are 1, or only the first; given S = -1, only the first
    is -1. The rest are 0."""
    far, near = (shift_bound(s, 1, 2).epsilon for s in ([2, 1, 1, 1], [2, 0, 0, 0]))
    real = max(truth({4: 1, 1: 1}, {-1: 1}, 2), truth({-1: 1}, {4: 1, 1: 1}, 2))
    plain, sound = (far + near) / 2, math.log((math.exp(far) + math.exp(near)) / 2)
    assert np.allclose([far, near], [6.25, 1])
    assert plain < 0.75 * real < real <= sound
    laws = fugu.Discrete([[1, 1, 1, 1], [1, 0, 0, 0]]), fugu.Discrete([[-1, 0, 0, 0]])
    assert real <= joint_bound(*laws, 1, 2).epsilon <= sound * (1 + 1e-9)


def test_lemma_f_1_with_its_square():
    """2 alpha L^2 / (sigma^2 (T - i + 1)) for noise of deviation eta sigma (Feldman et al.); the printed middle line
    lacks a square."""
    eta, steps = 0.25, 10
    for i, known in ((1, 0.4), (10, 4.0)):
        shifts = np.zeros(steps)
        shifts[i - 1] = 2 * eta  # sup |psi(w, a) - psi(w, b)|
        assert math.isclose(shift_bound(shifts, eta, 2).epsilon, known, rel_tol=1e-12)
        left = steps - i + 1
        assert not math.isclose(left * 2 * (2 * eta) / (2 * eta**2 * left**2), known, rel_tol=1e-3)
    for smoothness in (1, 2 / eta):  # the worst record counts
        assert math.isclose(NoisySGD(steps, eta, 1, smoothness, noise=eta).renyi(2).epsilon, 4, rel_tol=1e-12)


def test_a_learning_rate_above_two_over_smoothness_is_refused():
    """Lemma F.1 asks for eta > 2 / beta; there the step moves iterates apart and later noise hides nothing."""
    eta, beta, steps = 3.0, 1.0, 6
    gap = 2 * abs(1 - eta * beta) ** (steps - 1)  # f = (w - x)^2 / 2: the first record's shift, doubled again and again
    variance = sum((1 - eta * beta) ** (2 * k) for k in range(steps))
    assert 2 * gap**2 / (2 * variance) > shift_bound([2, *[0] * (steps - 1)], 1, 2).epsilon
    with pytest.raises(UsageError, match="at most 2 / smoothness"):
        NoisySGD(steps, eta, 1, beta, noise=1)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_a_normal_prior_is_covered_by_its_one_joint_shift(rho):
    """Linear loss, AR(1) data: W_T is normal under both secrets and its exact distance is known (Proposition 6.4)."""
    steps = 8
    covariance = np.array([[rho ** abs(i - j) for i in range(steps)] for j in range(steps)])
    bound = NoisySGD(steps, 1, 1, 1e-9, noise=1, prior=AR1(rho, 1), sensitivity=1).renyi(2).epsilon
    flat = 0.0
    for i in range(steps):
        gap = covariance[:, i].sum()
        spread = (covariance - np.outer(covariance[:, i], covariance[:, i])).sum() + steps
        assert 2 * gap**2 / (2 * spread) <= bound
        flat = max(flat, shift_bound(covariance[:, i], 1, 2).epsilon)
    assert flat <= bound * (1 + 1e-9) and bound <= 1.5 * flat
