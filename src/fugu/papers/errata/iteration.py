"""[P] Iterations: the data remembers what the noise of a step should hide."""

from __future__ import annotations

import math

from fugu.iterate import NoisySGD, WorstCase, joint_bound, shift_bound
from fugu.laws import Discrete, LawPair
from fugu.loss import renyi
from fugu.noise import Gaussian
from fugu.papers.errata.finding import Finding, at_most
from fugu.papers.errata.registry import erratum
from fugu.transport.wasserstein import wasserstein


@erratum(
    "P-lemma-5.1",
    where="Lemma 5.1",
    verdict="unsound for dependent data",
    printed="If W, W' are within z of each other and X, X' within s, psi(W, X), psi(W', X') are within z + s.",
    corrected="True if one coupling of the pairs (W, X), (W', X') does both.",
    section="p-lemma-51-and-theorem-52-the-data-remembers",
)
def lemma_5_1() -> Finding:
    here, there = [(b, b) for b in (-1, 1)], [(b, -b) for b in (-1, 1)]  # (W, X) given each secret
    each = [wasserstein(Discrete([u[t] for u in here]), Discrete([u[t] for u in there])) for t in (0, 1)]
    together = max(sum(abs(a - b) for a, b in zip(u, v, strict=True)) for u, v in zip(here, there, strict=True))
    truth = wasserstein(Discrete([sum(u) for u in here]), Discrete([sum(u) for u in there]))
    what = "W_inf of psi(W, X) = W + X"
    return Finding(
        "a fair sign B; (W, X) = (B, B) given one secret, (B, -B) given the other",
        at_most(what, truth, sum(each)),
        at_most(what, truth, together),
    )


@erratum(
    "P-theorem-5.2",
    where="Theorem 5.2",
    verdict="unsound for dependent data",
    printed="It suffices to know how far the laws of each X_t are apart, one by one.",
    corrected="One coupling of the joint laws is needed.",
    section="p-lemma-51-and-theorem-52-the-data-remembers",
)
def theorem_5_2() -> Finding:
    truth = renyi(Gaussian(math.sqrt(2)), LawPair(Discrete([-2, 2]), Discrete([0])), 2)
    same, opposite = Discrete([[-1, -1], [1, 1]]), Discrete([[-1, 1], [1, -1]])
    what = "D_2 after two steps, noise 1 in each,"
    return Finding(
        "a fair sign B; (B, B) given one secret, (B, -B) given the other: each X_t has the same law under both",
        at_most(what, truth, shift_bound([0, 0], 1, 2).epsilon),
        at_most(what, truth, joint_bound(same, opposite, noise=1, alpha=2).epsilon),
    )


@erratum(
    "P-section-6.4-bound",
    where="Section 6.4, the general bound",
    verdict="unsound for dependent data",
    printed="D_alpha <= alpha eta^2 / (2 sigma^2) times the sum of min(2L, C W_inf(X_t, X'_t))^2.",
    corrected="True for one joint coupling; with nothing assumed of the data all records may move.",
    section="p-section-64-noisy-gradient-descent",
)
def gradient_descent() -> Finding:
    eta = 2
    printed = 2 * eta**2 / 2 * (0**2 + 0**2 + 2**2)
    truth = renyi(Gaussian(math.sqrt(3)), LawPair(Discrete([-eta, 3 * eta]), Discrete([-eta])), 2)
    group = NoisySGD(3, eta, lipschitz=1, smoothness=1e-9, noise=1, prior=WorstCase()).renyi(2).epsilon
    what = "D_2 after three steps"
    return Finding(
        "linear loss, X_1 = B, X_2 = B X_3, and X_3 = +-1 is the secret; eta = 2, sigma = L = C = 1",
        at_most(what, truth, printed),
        at_most(what, truth, group),
    )


@erratum(
    "P-section-6.4-projection",
    where="Section 6.4, the order of projection and noise",
    verdict="unsound: noise leaves the set",
    printed="Project, then add noise; suprema over v in K are enough.",
    corrected="The noise leaves K: project first, take the gradient there, add noise; or take suprema over all v.",
    section="p-section-64-the-projection-comes-first",
)
def projection() -> Finding:
    return Finding(
        "K = [-1, 1] and a loss that is flat on K, but not outside: the printed bound is 0",
        at_most("D_2, noise carried out of K,", flat_inside(False), 0),
        at_most("D_2, projected first,", flat_inside(True), 0),
    )


def flat_inside(first: bool) -> float:
    """D_2 of the second iterate on K = [-1, 1]: X_1 = 0, the secret is X_2, 0 or 1, and the loss is flat on K.

    `first`: projected before the gradient is taken."""
    import numpy as np
    from scipy.stats import norm

    w, y = np.linspace(-8, 8, 3201), np.linspace(-8, 8, 321)  # W_1 = noise, as X_1 = 0 and W_0 = 0
    at = np.clip(w, -1, 1) if first else w
    slope = np.sign(at) * np.clip(abs(at) - 1, 0, 1)  # 1-Lipschitz, 0 on K; eta = 1.9
    steps = [at - 1.9 * x * slope for x in (0, 1)]
    moved = steps if first else [np.clip(step, -1, 1) for step in steps]
    laws = [norm.pdf(y[:, None] - m) @ norm.pdf(w) * 0.005 for m in moved]
    return math.log(np.sum(laws[0] ** 2 / laws[1]) / np.sum(laws[0]))


@erratum(
    "P-proposition-F.2",
    where="Proposition F.2",
    verdict="unsound for dependent data",
    printed="If the distances do not increase over time, the total may be shared equally among the steps.",
    corrected="True for independent data; otherwise the distances of one joint coupling count.",
    section="p-proposition-f2-equal-shares",
)
def proposition_f_2() -> Finding:
    signs = 50
    steps, truth = 2 * signs + 1, signs_and_products(signs)
    what = "D_2 of the last iterate"
    return Finding(
        "the secret +-1 first, then 50 fair signs, each followed by its product with the secret",
        at_most(what, truth, steps * (2 / steps) ** 2),
        at_most(what, truth, shift_bound([2] + [0, 2] * signs, 1, 2).epsilon),
    )


def signs_and_products(signs: int) -> float:
    """D_2 of the last iterate: the secret +-1, and fair signs, each with its product with the secret; noise 1 each."""
    sums = Discrete(
        [2 * (2 * k - signs) + 1 for k in range(signs + 1)], [math.comb(signs, k) for k in range(signs + 1)]
    )
    return renyi(Gaussian(math.sqrt(2 * signs + 1)), LawPair(sums, Discrete([-1])), 2)


@erratum(
    "P-lemma-F.1",
    where="Lemma F.1",
    verdict="two slips: eta at most 2 / beta, and a square",
    printed="For eta > 2 / beta record i's two values are 2 alpha L^2 / (sigma^2 (T - i + 1)) apart at most.",
    corrected="For eta <= 2 / beta.",
    section="p-lemma-f1-two-slips",
)
def lemma_f_1() -> Finding:
    steps = 10
    bound = shift_bound([2] + [0] * (steps - 1), 1, 2).epsilon

    def divergence(eta: float) -> float:
        """D_2 of the last iterate for f = (w - x)^2 / 2, so beta = 1: what is left of the shift, over the variance."""
        factor = 1 - eta
        return (2 * factor ** (steps - 1)) ** 2 / sum(factor ** (2 * t) for t in range(steps))

    return Finding(
        "ten steps of gradient descent on (w - x)^2 / 2, the first record moves its step by 2",
        at_most("D_2 at eta = 3", divergence(3), bound),
        at_most("D_2 at eta = 2", divergence(2), bound),
    )
