"""What no paper says, but is easily assumed."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.iterate import joint_bound, shift_bound
from fugu.laws import Discrete, LawPair
from fugu.loss import delta, epsilon, renyi
from fugu.noise import Gaussian, Laplace
from fugu.transport.coupling import monotone, on_line
from fugu.transport.matching import unmatched
from fugu_papers.errata.finding import Finding, at_least, at_most, equal
from fugu_papers.errata.registry import refutes


@refutes("trap-stationary-start")
def stationary_start() -> Finding:
    from fugu.priors import MarkovChain
    from fugu.translation import dp_budget

    illness = [[0.97, 0.03, 0.0], [0.0, 0.98, 0.02], [0.0, 0.0, 1.0]]
    truth = dp_budget(MarkovChain(illness, length=100, initial=[1, 0, 0]), 1)
    what = "the budget for each entry of a patient who is alive at the first visit, epsilon 1,"
    return Finding(
        "alive, ill, dead, 100 visits; stationary, everybody is dead, and each entry could spend everything",
        at_least(what, truth, 1),
        at_least(what, truth, 1 / 100),
    )


@refutes("trap-spectral-gap")
def spectral_gap() -> Finding:
    import numpy as np

    from fugu_papers.mqm_approx import second_eigenvalue

    step = np.array([[0, 1, 0], [0, 0, 1], [0.5, 0, 0.5]])
    start = np.linalg.matrix_power(step, 200)[0]
    back = (start[:, None] * step).T / start[:, None]
    values = np.sort(np.linalg.eigvals(step @ back).real)
    what = "the second eigenvalue of P P*"
    return Finding(
        "three states, irreducible and aperiodic, and yet 1 is an eigenvalue of P P* twice",
        at_most(what, float(values[-2]), float(max(v for v in values if v < 1 - 1e-6))),
        at_most(what, float(values[-2]), second_eigenvalue(step)[0]),
    )


@refutes("trap-monotone-coupling")
def monotone_coupling() -> Finding:
    line = on_line(Discrete(range(10)), Discrete(range(1, 11)), norm=1)
    plan = monotone(line.points, line.p, line.q)
    moved = sum((Fraction(1, 10) for d in plan.distances if d > 0), Fraction(0))  # ten atoms of 1/10 each
    truth, what = unmatched(line.points, line.p, line.q, 0), "the least mass without a partner within 0"
    return Finding("0 .. 9 against 1 .. 10, both uniform", equal(what, truth, moved), at_most(what, truth, moved))


@refutes("trap-swapped-records")
def swapped_records() -> Finding:
    def binomial(n: int, p: Fraction) -> Discrete:
        return Discrete(range(n + 1), [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])

    random = LawPair(binomial(50, Fraction(1, 50)), binomial(50, Fraction(1, 25)))
    fixed = LawPair(Discrete([1]), Discrete([2]))
    return Finding(
        "50 records, 1 or 2 with the property, exactly or on average; Laplace noise of scale 1",
        at_most("epsilon with random counts", epsilon(Laplace(1), random), 1),
        at_most("epsilon with fixed counts", epsilon(Laplace(1), fixed), 1),
    )


@refutes("trap-common-variable")
def common_variable() -> Finding:
    given = {secret: [(b, secret * b) for b in (-1, 1)] for secret in (1, -1)}
    gaps = [abs(a - b) for t in (0, 1) for a, b in zip(*(sorted(u[t] for u in given[s]) for s in (1, -1)), strict=True)]
    same, opposite = (Discrete([sum(u) for u in given[secret]]) for secret in (1, -1))
    truth = renyi(Gaussian(math.sqrt(2)), LawPair(same, opposite), 2)
    what = "D_2 after two steps, noise 1 in each,"
    return Finding(
        "U = (B, B) or (B, -B) for a fair sign B: no record moves by itself",
        at_most(what, truth, shift_bound([max(gaps)] * 2, 1, 2).epsilon),
        at_most(what, truth, joint_bound(Discrete(given[1]), Discrete(given[-1]), 1, 2).epsilon),
    )


@refutes("trap-mean-of-losses")
def mean_of_losses() -> Finding:
    far, near = (shift_bound(s, 1, 2).epsilon for s in ([2, 1, 1, 1], [2, 0, 0, 0]))
    truth = renyi(Gaussian(2), LawPair(Discrete([4, 1]), Discrete([-1])), 2)
    what = "D_2 after four steps, noise 1 in each,"
    return Finding(
        "a fair coin says whether all of four records are 1 or only the first; else only the first is -1",
        at_most(what, truth, (far + near) / 2),
        at_most(what, truth, math.log((math.exp(far) + math.exp(near)) / 2)),
    )


@refutes("trap-continuous-delta")
def continuous_delta() -> Finding:
    x = [0, 1, 2, 5, 9]
    pair = LawPair(Discrete(x, [0.3, 0.25, 0.2, 0.15, 0.1]), Discrete(x, [0.2, 0.2, 0.25, 0.2, 0.15]))
    continuous, lattice = delta(Laplace(0.25), pair, 0.2), delta(Laplace(0.25, grid=1), pair, 0.2)
    return Finding(
        "five values, scale 1/4, epsilon 0.2, noise drawn on the whole numbers",
        at_most("delta of the lattice noise", lattice, continuous),
        at_most("delta of the continuous noise", continuous, lattice),
    )
