"""[P] Definitions and lemmas: points in place of sets, one direction twice, infima that are void."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.auditing.theorems import theorem_a3, theorem_a4
from fugu.laws import Discrete, LawPair
from fugu.loss import delta, epsilon
from fugu.loss.shifts.shift import shift_renyi
from fugu.noise import Gaussian, Laplace
from fugu.papers.errata.finding import Finding, at_least, at_most, below
from fugu.papers.errata.registry import erratum
from fugu.transport.closeness import unmatched
from fugu.transport.coupling import on_line


@erratum(
    "P-definition-2.1",
    where="Definition 2.1",
    verdict="too weak: sets, not points",
    printed="P(M = w | s) <= e^epsilon P(M = w | t) + delta for every output w.",
    corrected="The inequality must hold for every set of outputs.",
    section="p-definition-21-points-in-place-of-sets",
)
def definition_2_1() -> Finding:
    p, q = Discrete(range(100)), Discrete(range(100, 200))
    by_points = float(max(p.weights))  # the largest P(w) - Q(w), as Q(w) = 0 where P has mass
    truth = delta(Laplace(0), LawPair(p, q), 0)
    what = "delta for sets at epsilon 0"
    return Finding(
        "two uniform laws on 100 values each, with nothing in common",
        at_most(what, truth, by_points),
        at_most(what, truth, 100 * by_points),
    )


@erratum(
    "P-theorem-A.3",
    where="Theorem A.3",
    verdict="unsound: one direction twice",
    printed="epsilon becomes epsilon + 2 Delta, Delta the maximum of D_inf(theta, theta') and D_inf(theta, theta').",
    corrected="One of the two must be D_inf(theta', theta).",
    section="p-theorem-a3-one-direction-twice",
)
def theorem_a_3() -> Finding:
    there = math.log(1 / 0.999)  # D_inf(theta, theta'); back it is infinite
    truth = epsilon(Laplace(0), LawPair(Discrete([0, 1], [1, 999]), Discrete([1])))
    what = "epsilon of publishing the value"
    return Finding(
        'theta says "B" for both secrets, theta\' allows "A" with probability 0.001 under one of them',
        at_most(what, truth, 0 + 2 * there),
        at_most(what, truth, theorem_a3(0, math.inf, there).epsilon),
    )


@erratum(
    "P-theorem-A.4",
    where="Theorem A.4",
    verdict="unsound: two infima for one belief",
    printed="The divergence to a belief and the one from a belief are each minimised over theta.",
    corrected="Both must be taken at the same theta.",
    section="p-theorem-a4-two-infima-for-one-belief",
)
def theorem_a_4() -> Finding:
    def divergence(x: float, y: float, order: float) -> float:
        """D_order of (x, 1 - x) from (y, 1 - y)."""
        return math.log(x**order * y ** (1 - order) + (1 - x) ** order * (1 - y) ** (1 - order)) / (order - 1)

    here, there = 0.01, 1e-12
    to, back = divergence(there, here, 6), divergence(there, here, 4)
    truth, what = divergence(here, there, 2), "D_2"
    return Finding(
        '"A" has probability 0.01 under theta_1 and 1e-12 under theta_2; the adversary mixes the two',
        at_most(what, truth, theorem_a4(2, 3, 3, 3, to, 0, back)),
        at_most(what, truth, theorem_a4(2, 3, 3, 3, to, 0, divergence(here, there, 4))),
    )


@erratum(
    "P-lemma-B.1",
    where="Lemma B.1",
    verdict="reversed",
    printed="2 h(z/2) >= h(z) for the divergence h of a shift.",
    corrected="h is convex with h(0) = 0, so 2 h(z/2) <= h(z).",
    section="p-lemma-b1-three-slips",
)
def lemma_b_1() -> Finding:
    halves, whole = 2 * shift_renyi(Laplace(1), 0.5, 2), shift_renyi(Laplace(1), 1, 2)
    what = "2 h(1/2)"
    return Finding("Laplace noise of scale 1, order 2", at_least(what, halves, whole), at_most(what, halves, whole))


@erratum(
    "P-definition-4.1",
    where="Definition 4.1",
    verdict="unsound for rare secrets",
    printed="D_alpha <= epsilon given events of probability at least 1 - delta.",
    corrected="The events must be that likely given the secret of their side.",
    section="p-definition-41-likely-events-but-given-what",
)
def definition_4_1() -> Finding:
    secret, part = Fraction(1, 20), Fraction(1, 10**6)
    event = 1 - secret * (1 - part)  # that part of the secret, and everything else; given it, the output is 0
    truth = delta(Laplace(0), LawPair(Discrete([0, 1], [part, 1 - part]), Discrete([0])), 0)
    what = "delta at epsilon 0"
    return Finding(
        "a secret of probability 1/20; the output is 1 if it holds, except in a millionth part of it",
        at_most(what, truth, 1 - event),
        at_most(what, truth, 1 - part),
    )


@erratum(
    "P-lemma-4.1",
    where="Lemma 4.1",
    verdict="void in the main text",
    printed="The bound contains the least D_alpha(mu', nu') over mu', nu' that are near each other.",
    corrected="mu' must be near mu, as in the appendix: the least D_alpha(mu', nu).",
    section="p-lemma-41-an-infimum-that-is-always-zero",
)
def lemma_4_1() -> Finding:
    from scipy.stats import norm

    conditioned = 2 * math.log(1 / 0.9)
    likely = 1 - norm.sf(50) / 0.9  # P(output <= 50 | E) is at least this, whatever E of probability 0.9 is
    truth = float(2 * math.log(likely) - norm.logcdf(-50))  # data processing: D_2 >= log(P(S)^2 / Q(S))
    what = "D_2, from below,"
    return Finding(
        "two values 100 apart, Gaussian noise of deviation 1, delta 0.1",
        at_most(what, truth, 0 + shift_renyi(Gaussian(1), 1, 2) + conditioned),
        at_most(what, truth, 0 + shift_renyi(Gaussian(1), 100, 2) + conditioned),
    )


@erratum(
    "P-lemma-C.1",
    where="Lemma C.1",
    verdict="false: at most delta, not below",
    printed="Two laws are (z, delta)-near if and only if some coupling X + V = Y has P(|V| > z) < delta.",
    corrected="If and only if some coupling has P(|V| > z) <= delta.",
    section="p-lemma-c1-strict-where-the-definition-is-not",
)
def lemma_c_1() -> Finding:
    z, mass = 0, Fraction(1, 10)
    line = on_line(Discrete([0]), Discrete([0, 5], [1 - mass, mass]), norm=1)
    moved = unmatched(line.points, line.p, line.q, z)  # the least P(|V| > z) over all couplings; it is attained
    what = "the least P(|V| > 0) over all couplings"
    return Finding(
        "0 against 0 or 5 with probability 1/10 for 5: (0, 1/10)-near, as 9/10 of the only coupling stays",
        below(what, moved, mass),
        at_most(what, moved, mass),
    )
