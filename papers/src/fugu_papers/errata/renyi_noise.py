"""[P] What a noise costs: terms of Theorem 4.3, a sign, the rate of the Cauchy law, secrets of probability zero."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from fugu.laws import Discrete, LawPair
from fugu.loss import delta, epsilon, renyi
from fugu.loss.shifts import shift_renyi
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu_papers.errata.finding import Finding, at_most
from fugu_papers.errata.registry import refutes

_PAIR = LawPair(Discrete([0]), Discrete([1]))


@refutes("P-theorem-4.3")
def theorem_4_3() -> Finding:
    asked, order = 0.01, 1.001
    printed = shift_renyi(Gaussian(1), 1, order) + math.log(1 / (1 - asked))
    right = shift_renyi(Laplace(1), 1, math.inf)
    return Finding(
        "the values 0 and 1, delta 0.01; Gaussian noise of deviation 1 has an infinite R_inf, Laplace noise has 1",
        at_most("delta at R_1.001 + log 1/(1-delta), Gaussian noise,", delta(Gaussian(1), _PAIR, printed), asked),
        at_most("delta at R_inf, Laplace noise,", delta(Laplace(1), _PAIR, right), asked),
    )


@refutes("P-theorem-4.5")
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


@refutes("P-lemma-D.1")
def lemma_d_1() -> Finding:
    rate, z = 3, 1
    truth, what = renyi(GeneralizedCauchy(Fraction(1, rate)), _PAIR, 2), "D_2"
    return Finding(
        "order 2, k = 2, rate 3, a shift by 1: the Legendre function is the identity",
        at_most(what, truth, math.log(1 + z**2 / rate**2)),
        at_most(what, truth, math.log(1 + (rate * z) ** 2 / 2)),
    )


@refutes("P-corollary-4.1")
def corollary_4_1() -> Finding:
    d, distance = 3, 2
    each = LawPair(Discrete([0]), Discrete([distance / math.sqrt(d)]))
    truth, what = d * renyi(GeneralizedCauchy(1), each, 2), "D_2"
    return Finding(
        "order 2, d = 3, scale 1, a distance of 2, moved equally in each coordinate",
        at_most(what, truth, d * math.log(1 + (distance / d) ** 2)),
        at_most(what, truth, d * math.log(1 + distance**2 / (2 * d))),
    )


@refutes("P-proposition-C.3")
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
