"""[P] Definitions and lemmas: points in place of sets, one direction twice, infima that are void."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.auditing.theorems import theorem_a3, theorem_a4
from fugu.laws import Discrete, LawPair
from fugu.loss import delta, epsilon
from fugu.loss.shifts import shift_renyi
from fugu.noise import Gaussian, Laplace
from fugu.transport.coupling import on_line
from fugu.transport.matching import unmatched
from fugu_papers.errata.finding import Finding, at_least, at_most, below
from fugu_papers.errata.registry import refutes


@refutes("P-definition-2.1")
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


@refutes("P-theorem-A.3")
def theorem_a_3() -> Finding:
    there = math.log(1 / 0.999)  # D_inf(theta, theta'); back it is infinite
    truth = epsilon(Laplace(0), LawPair(Discrete([0, 1], [1, 999]), Discrete([1])))
    what = "epsilon of publishing the value"
    return Finding(
        'theta says "B" for both secrets, theta\' allows "A" with probability 0.001 under one of them',
        at_most(what, truth, 0 + 2 * there),
        at_most(what, truth, theorem_a3(0, math.inf, there).epsilon),
    )


@refutes("P-theorem-A.4")
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


@refutes("P-lemma-B.1")
def lemma_b_1() -> Finding:
    halves, whole = 2 * shift_renyi(Laplace(1), 0.5, 2), shift_renyi(Laplace(1), 1, 2)
    what = "2 h(1/2)"
    return Finding("Laplace noise of scale 1, order 2", at_least(what, halves, whole), at_most(what, halves, whole))


@refutes("P-definition-4.1")
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


@refutes("P-lemma-4.1")
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


@refutes("P-lemma-C.1")
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
