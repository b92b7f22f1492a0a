"""[G] Gaussian priors: an average over components protects nobody, and Monge's plan does not minimise every cost."""

from __future__ import annotations

import math

from fugu.laws import LawPair, Normal, NormalMixture
from fugu.loss import epsilon
from fugu.noise import Laplace
from fugu_papers.errata.finding import Finding, at_least, at_most
from fugu_papers.errata.registry import refutes


@refutes("G-theorem-2")
def theorem_2() -> Finding:
    here = NormalMixture([0.74, 0.26], means=[0, 0], stds=[0.1, 0.1])
    there = NormalMixture([0.74, 0.26], means=[0.01, 100], stds=[0.1, 0.1])
    scale = 0.74 * 0.01 + 0.26 * 100
    truth = epsilon(Laplace(scale), LawPair(here, there))
    what = "epsilon at the printed scale 26.0074"
    return Finding(
        "a quarter of the mass (0.26) moves by 100, the rest by 0.01",
        at_most(what, truth, 1),
        at_most(what, truth, 100 / scale),
    )


@refutes("G-after-equation-11")
def after_equation_11() -> Finding:
    pair = LawPair(Normal(0, math.sqrt(99)), Normal(1, math.sqrt(100)))
    truth = epsilon(Laplace(1), pair)
    what = "epsilon at scale 1"
    return Finding(
        "100 users, each with mean 1 and standard deviation 1",
        at_most(what, truth, 1),
        at_most(what, truth, 1 / 1 + 1**2 / (2 * 1**2)),
    )


@refutes("G-after-corollary-1")
def after_corollary_1() -> Finding:
    users = 10**6
    rest, whole = (math.sqrt(k * (k + 1) / 2) for k in (users - 1, users))  # 1 + 2 + ... + k
    what = "what the last of a million users adds to the standard deviation"
    return Finding(
        "user k has variance k, a vanishing share of all; 'vanishes' read as below a hundredth by then",
        at_most(what, whole - rest, 0.01),
        at_most(what, whole - rest, users / (2 * rest)),
    )


@refutes("G-figure-1")
def figure_1() -> Finding:
    from scipy.integrate import quad

    variance = 2 * float(quad(lambda x: x * x * math.exp(-x / 4) / 8, 0, math.inf)[0])
    what = "the variance of Laplace noise of scale 4, as a multiple of 8,"
    return Finding(
        "Laplace noise of scale 4 beside Gaussian noise of variance 8 (or of standard deviation 8)",
        at_most(what, variance / 8, 1),
        at_most(what, variance / 8, 4 * (1 + 1e-9)),
    )


@refutes("G-equation-22")
def equation_22() -> Finding:
    from scipy.special import lambertw
    from scipy.stats import norm

    delta = 0.01
    positive = math.sqrt(lambertw(2 / (math.pi * delta**2)).real)
    answer = next(tau for tau in (0.0, positive) if tau**2 >= 2 * lambertw(tau / (math.sqrt(2 * math.pi) * delta)).real)
    what, quantile = "the tau with P(|Z| > tau) = delta", float(norm.isf(delta / 2))
    return Finding("delta = 0.01", at_most(what, quantile, answer), at_most(what, quantile, positive))


@refutes("G-equation-34")
def equation_34() -> Finding:
    from scipy.integrate import quad
    from scipy.stats import norm

    std, b, asked = 0.5, 1, 1

    def cost(slope: float, keep_sign: bool) -> float:
        """The mean cost of the plan x' = slope x under N(0, 1/4), a coupling of that law with itself if |slope| = 1."""

        def at(x: float) -> float:
            excess = abs(x - slope * x) / b - asked
            return (excess if keep_sign else max(excess, 0)) ** 2 * float(norm.pdf(x, scale=std))

        return 2 * sum(float(quad(at, *ends)[0]) for ends in ((0, 0.5), (0.5, 6)))

    return Finding(
        "N(0, 1/4) against itself, b = epsilon = 1: Monge's plan is x' = x; the other plan is x' = -x",
        at_least("the cost of the plan x' = -x", cost(-1, True), cost(1, True)),
        at_least("the cost of x' = -x with the negative part cut off", cost(-1, False), cost(1, False)),
    )
