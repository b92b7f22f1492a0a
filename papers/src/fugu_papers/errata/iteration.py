"""[P] Iterations: the data remembers what the noise of a step should hide."""

from __future__ import annotations

import math

from fugu.iterate import NoisySGD, WorstCase, joint_bound, shift_bound
from fugu.laws import Discrete, LawPair
from fugu.loss import renyi
from fugu.noise import Gaussian
from fugu.transport.wasserstein import wasserstein
from fugu_papers.errata.finding import Finding, at_most
from fugu_papers.errata.registry import refutes


@refutes("P-lemma-5.1")
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


@refutes("P-theorem-5.2")
def theorem_5_2() -> Finding:
    truth = renyi(Gaussian(math.sqrt(2)), LawPair(Discrete([-2, 2]), Discrete([0])), 2)
    same, opposite = Discrete([[-1, -1], [1, 1]]), Discrete([[-1, 1], [1, -1]])
    what = "D_2 after two steps, noise 1 in each,"
    return Finding(
        "a fair sign B; (B, B) given one secret, (B, -B) given the other: each X_t has the same law under both",
        at_most(what, truth, shift_bound([0, 0], 1, 2).epsilon),
        at_most(what, truth, joint_bound(same, opposite, noise=1, alpha=2).epsilon),
    )


@refutes("P-section-6.4-bound")
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


@refutes("P-section-6.4-projection")
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


@refutes("P-proposition-F.2")
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


@refutes("P-lemma-F.1")
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
