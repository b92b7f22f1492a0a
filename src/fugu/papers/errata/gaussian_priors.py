"""[G] Gaussian priors: an average over components protects nobody, and Monge's plan does not minimise every cost."""

from __future__ import annotations

import math

from fugu.laws import LawPair, Normal, NormalMixture
from fugu.loss import epsilon
from fugu.noise import Laplace
from fugu.papers.errata.finding import Finding, at_least, at_most
from fugu.papers.errata.registry import erratum


@erratum(
    "G-theorem-2",
    where="Theorem 2 and Corollary 2, mixtures",
    verdict="unsound for mixtures; so is Corollary 2",
    printed="Laplace noise scaled to the mean distance of coupled components is enough.",
    corrected="The largest distance over coupled components is enough; so is the mean within each row and column.",
    section="g-theorem-2-and-corollary-2-an-average-does-not-protect",
)
def theorem_2() -> Finding:
    here = NormalMixture([0.74, 0.26], means=[0, 0], stds=[0.1, 0.1])
    there = NormalMixture([0.74, 0.26], means=[0, 100], stds=[0.1, 0.1])
    scale = 0.26 * 100
    truth = epsilon(Laplace(scale), LawPair(here, there))
    what = "epsilon at the printed scale 26"
    return Finding(
        "a quarter of the mass (0.26) moves by 100, the rest stays",
        at_most(what, truth, 1),
        at_most(what, truth, 100 / scale),
    )


@erratum(
    "G-after-equation-11",
    where="after equation (11), many users",
    verdict="false for pure epsilon",
    printed="As the number of independent users grows, scale |mu| / epsilon attains epsilon for one user's presence.",
    corrected="The loss in the tails is |mu|/b + sigma^2/(2 b^2) for every number of users; only delta vanishes.",
    section="g-after-equation-11-more-users-do-not-help",
)
def after_equation_11() -> Finding:
    pair = LawPair(Normal(0, math.sqrt(99)), Normal(1, math.sqrt(100)))
    truth = epsilon(Laplace(1), pair)
    what = "epsilon at scale 1"
    return Finding(
        "100 users, each with mean 1 and standard deviation 1",
        at_most(what, truth, 1),
        at_most(what, truth, 1 / 1 + 1**2 / (2 * 1**2)),
    )


@erratum(
    "G-after-corollary-1",
    where="after Corollary 1, the spread that one user adds",
    verdict="false: one user may dominate",
    printed="What a user adds to the standard deviation of the sum vanishes as the number of users grows.",
    corrected="It is at most the user's variance over twice the standard deviation of the others.",
    section="g-after-corollary-1-a-user-who-dominates",
)
def after_corollary_1() -> Finding:
    added = [math.sqrt(4 ** (k + 1) - 4) / math.sqrt(3) - math.sqrt(4**k - 4) / math.sqrt(3) for k in (2, 20)]
    others = math.sqrt((4**20 - 4) / 3)
    what = "what the last of 20 users adds to the standard deviation"
    return Finding(
        "user k has variance 4^k",
        at_most(what, added[1], added[0]),
        at_most(what, added[1], 4**20 / (2 * others)),
    )


@erratum(
    "G-figure-1",
    where="Figure 1, the caption",
    verdict="the two noises have different variances",
    printed="Laplace noise L(4) and Gaussian noise G(0, 8) have the same variance.",
    corrected="L(4) has variance 32. The largest log-ratio under Gaussian noise is not 0.0156 but infinite, unless the "
    "two laws are equal.",
    section="g-figure-1-which-noise-has-which-variance",
)
def figure_1() -> Finding:
    from scipy.integrate import quad

    variance = 2 * float(quad(lambda x: x * x * math.exp(-x / 4) / 8, 0, math.inf)[0])
    what = "the variance of Laplace noise of scale 4, as a multiple of 8,"
    return Finding(
        "Laplace noise of scale 4 beside Gaussian noise of variance 8 (or of standard deviation 8)",
        at_most(what, variance / 8, 1),
        at_most(what, variance / 8, 4 * (1 + 1e-9)),
    )


@erratum(
    "G-equation-22",
    where="equation (22)",
    verdict="as printed its answer is 0",
    printed="tau is the least non-negative number with tau^2 >= 2 W_0(tau / (sqrt(2 pi) delta)).",
    corrected="tau > 0 is meant, which is equation (23).",
    section="g-equation-22-the-answer-is-zero",
)
def equation_22() -> Finding:
    from scipy.special import lambertw
    from scipy.stats import norm

    delta = 0.01
    positive = math.sqrt(lambertw(2 / (math.pi * delta**2)).real)
    answer = next(tau for tau in (0.0, positive) if tau**2 >= 2 * lambertw(tau / (math.sqrt(2 * math.pi) * delta)).real)
    what, quantile = "the tau with P(|Z| > tau) = delta", float(norm.isf(delta / 2))
    return Finding("delta = 0.01", at_most(what, quantile, answer), at_most(what, quantile, positive))


@erratum(
    "G-equation-34",
    where="Appendix E, equation (34)",
    verdict="false equality; the interpretation only",
    printed="Monge's plan minimises the mean of (|x - x'| / b - epsilon)^2 over all couplings.",
    corrected="It minimises the mean of max(|x - x'| / b - epsilon, 0)^2, which is convex in x - x'.",
    section="g-equation-34-which-plan-is-cheapest",
)
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
