"""[D] Approximate laws, and the tables of the experiments."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws import Discrete, LawPair, sum_of
from fugu.loss import delta
from fugu.noise import Laplace
from fugu.transport.wasserstein import wasserstein
from fugu_papers.errata.finding import Finding, at_most, equal
from fugu_papers.errata.registry import refutes


@refutes("D-theorem-5.6")
def theorem_5_6() -> Finding:
    shift = Fraction(1, 100)

    def density(t: Fraction, start: Fraction) -> int:
        return int(start <= t <= start + 1)

    eta, at = shift, shift / 2  # the mass of [0, 1/100] is the largest difference over all events: l = 0
    here, there = density(at, Fraction(0)), density(at, shift)
    return Finding(
        "a uniform law on [0, 1] against one on [0.01, 1.01]: l = 0 and eta = 0.01",
        at_most("the density at 0.005", here, there + eta),
        at_most("the mass of [0, 0.01]", shift * here, shift * there + eta),
    )


@refutes("D-theorem-5.7")
def theorem_5_7() -> Finding:
    p, q, noise = Discrete([0, 4]), Discrete([0, 2, 4], [1, 2, 1]), Discrete(range(-10, 11))
    before, after = wasserstein(p, q), wasserstein(sum_of([p, noise]), sum_of([q, noise]))
    what = "W_inf with uniform noise on -10 .. 10"
    return Finding("{0, 4} against {0, 2, 2, 4}", equal(what, after, before), at_most(what, after, before))


@refutes("D-proposition-A.7")
def proposition_a_7() -> Finding:
    c, assumed = 0.5, LawPair(Discrete([0, 1], [Fraction(9, 10), Fraction(1, 10)]), Discrete([0]))
    before = delta(Laplace(0), assumed, 0)
    rare = 0.1 * math.exp(c)
    after = delta(Laplace(0), LawPair(Discrete([0, 1], [1 - rare, rare]), Discrete([0])), 2 * c)
    what = "delta at epsilon 2c"
    return Finding(
        "an output of probability 0.1 under one law and 0 under the other; c = 1/2",
        at_most(what, after, before),
        at_most(what, after, math.exp(c) * before),
    )


@refutes("D-table-3-norm")
def table_3_norm() -> Finding:
    shift = (0.72566, 0.19677, -3.46022, -2.34048, 0.63185)
    printed, by_l1, by_l2 = 7.24, sum(map(abs, shift)), math.hypot(*shift)  # E |Laplace| = scale = length / epsilon
    return Finding(
        "the shift of the five statistics, income, 0.45 against 0.55",
        at_most("how far the printed error is from that of the l2 length, relatively,", abs(printed / by_l2 - 1), 0.07),
        at_most("how far it is from that of the l1 length", abs(printed / by_l1 - 1), 0.07),
    )


@refutes("D-table-3-group")
def table_3_group() -> Finding:
    from fugu.calibration.covariance import group, record_group

    ranges, means = [73, 15, 1, 1, 98], [True, True, False, False, True]
    changed = round(0.55 * 100) - round(0.45 * 100)
    truth, whole = record_group(ranges, changed, 100, means).l1, group(ranges, 100, means).l1
    what = "how far, in the l1 norm, the records that change can move the statistics"
    return Finding(
        "five statistics of 100 people, 45 or 55 with the property",
        equal(what, truth, whole),
        at_most(what, truth, whole),
    )


@refutes("D-table-4")
def table_4() -> Finding:
    import numpy as np
    from scipy.stats import norm

    from fugu.loss.search.normal import fast_normal_delta

    clean, d = np.diag([1.0, 0.0025]), np.array([1.2, 0.1])
    noisy = clean + 0.7**2 * np.eye(2)

    def right(trained: np.ndarray) -> float:
        """How often the best linear rule for normal laws of covariance `trained` is right about noisy outputs."""
        rule = np.linalg.solve(trained, d)
        return float(norm.cdf(rule @ d / 2 / math.sqrt(float(rule @ noisy @ rule))))

    most = (1 + fast_normal_delta(0 * d, noisy, d, noisy, 0.0)) / 2  # of any rule
    what = "the share of right guesses, trained on protected outputs,"
    return Finding(
        "two normal statistics, one precise until noise of deviation 0.7 is added",
        at_most(what, right(noisy), right(clean)),
        at_most(what, right(noisy), most),
    )
