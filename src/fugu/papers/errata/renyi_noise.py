"""[P] What a noise costs: terms of Theorem 4.3, a sign, the rate of the Cauchy law, secrets of probability zero."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from fugu.laws import Discrete, LawPair
from fugu.loss import delta, epsilon, renyi
from fugu.loss.shifts.shift import shift_renyi
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu.papers.errata.finding import Finding, at_most
from fugu.papers.errata.registry import erratum

_PAIR = LawPair(Discrete([0]), Discrete([1]))


@erratum(
    "P-theorem-4.3",
    where="Theorem 4.3",
    verdict="not the best; its pure part a slip",
    printed="Noise for all but delta of the mass gives (R_alpha + log 1/(1-delta), delta)-Pufferfish privacy.",
    corrected="R_inf in place of R_alpha; and both logarithms can go.",
    section="p-theorem-43-terms-that-can-go-and-one-that-must-not-stay",
)
def theorem_4_3() -> Finding:
    asked, order = 0.01, 1.001
    printed = shift_renyi(Gaussian(1), 1, order) + math.log(1 / (1 - asked))
    right = shift_renyi(Laplace(1), 1, math.inf)
    return Finding(
        "the values 0 and 1, delta 0.01; Gaussian noise of deviation 1 has an infinite R_inf, Laplace noise has 1",
        at_most("delta at R_1.001 + log 1/(1-delta), Gaussian noise,", delta(Gaussian(1), _PAIR, printed), asked),
        at_most("delta at R_inf, Laplace noise,", delta(Laplace(1), _PAIR, right), asked),
    )


@erratum(
    "P-theorem-4.5",
    where="Theorem 4.5",
    verdict="a sign; q = 1 is best",
    printed="The cost of moving X to Y is the divergence of the noise from the noise shifted by X - Y.",
    corrected="The shift is Y - X; for symmetric noise nothing changes.",
    section="p-theorem-45-a-sign-and-q",
)
def theorem_4_5() -> Finding:
    from scipy.integrate import quad

    def skewed(x: float) -> float:
        return 0.8 * math.exp(-x if x > 0 else 4 * x)  # scale 1 to the right, 1/4 to the left

    def divergence(here: float, there: float) -> float:
        """D_2 of here + noise from there + noise."""
        ends = sorted((here, there))
        pieces = [(-30, ends[0]), (ends[0], ends[1]), (ends[1], 60)]
        return math.log(sum(quad(lambda y: skewed(y - here) ** 2 / skewed(y - there), *piece)[0] for piece in pieces))

    x, y, what = 0, 1, "D_2 of the two outputs"
    return Finding(
        "X = 0, Y = 1, exponential noise of scale 1 to the right and 1/4 to the left",
        at_most(what, divergence(x, y), divergence(0, x - y)),
        at_most(what, divergence(x, y), divergence(0, y - x)),
    )


@erratum(
    "P-lemma-D.1",
    where="Lemma D.1",
    verdict="unsound: a rate, not a scale",
    printed="A shift by z of Cauchy noise with rate lambda costs a Legendre function at 1 + z^2 / lambda^2.",
    corrected="The argument is 1 + (lambda z)^2 / 2.",
    section="p-lemma-d1-the-rate-of-the-cauchy-law",
)
def lemma_d_1() -> Finding:
    rate, z = 3, 1
    truth, what = renyi(GeneralizedCauchy(Fraction(1, rate)), _PAIR, 2), "D_2"
    return Finding(
        "order 2, k = 2, rate 3, a shift by 1: the Legendre function is the identity",
        at_most(what, truth, math.log(1 + z**2 / rate**2)),
        at_most(what, truth, math.log(1 + (rate * z) ** 2 / 2)),
    )


@erratum(
    "P-corollary-4.1",
    where="Corollary 4.1",
    verdict="unsound: d, not d squared",
    printed="For Cauchy noise in d dimensions the argument is 1 + (Delta / (d lambda))^2.",
    corrected="It is 1 + Delta^2 / (2 d scale^2), for tails of at least 2.",
    section="p-corollary-41-d-not-d-squared",
)
def corollary_4_1() -> Finding:
    d, distance = 3, 2
    each = LawPair(Discrete([0]), Discrete([distance / math.sqrt(d)]))
    truth, what = d * renyi(GeneralizedCauchy(1), each, 2), "D_2"
    return Finding(
        "order 2, d = 3, scale 1, a distance of 2, moved equally in each coordinate",
        at_most(what, truth, d * math.log(1 + (distance / d) ** 2)),
        at_most(what, truth, d * math.log(1 + distance**2 / (2 * d))),
    )


@erratum(
    "P-proposition-C.3",
    where="Proposition C.3",
    verdict="its converse is empty",
    printed="Distribution privacy is Pufferfish privacy for one prior that is spread over all laws.",
    corrected="Over a continuum every secret has probability zero: one adversary for each pair of laws is needed.",
    section="p-proposition-c3-secrets-of-probability-zero",
)
def proposition_c_3() -> Finding:
    laws = {0: Discrete([0]), 1: Discrete([1])}  # two of the laws "the value is x", x from 0 to 1

    def pufferfish(mass: Mapping[int, float]) -> float:
        """Epsilon of publishing the value, over pairs of secrets that have a positive probability."""
        pairs = [LawPair(laws[x], laws[y]) for x in laws for y in laws if x != y and mass[x] > 0 and mass[y] > 0]
        return max((epsilon(Laplace(0), pair) for pair in pairs), default=0.0)

    truth, what = epsilon(Laplace(0), LawPair(laws[0], laws[1])), "epsilon of publishing the value, for two laws,"
    return Finding(
        "the value is the law's own name, x between 0 and 1, and x is uniform: every single x has probability 0",
        at_most(what, truth, pufferfish({x: min(x, 1) - max(x, 0) for x in laws})),
        at_most(what, truth, pufferfish({x: 1 / len(laws) for x in laws})),
    )
