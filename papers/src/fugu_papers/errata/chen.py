"""[D] Chen and Ohrimenko: closeness, directions of noise, approximations."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws import Discrete, LawPair, sum_of
from fugu.loss import delta, epsilon
from fugu.loss.shifts import gaussian_delta, gaussian_mu
from fugu.noise import Laplace
from fugu.transport.coupling import on_line
from fugu.transport.matching import unmatched
from fugu.transport.wasserstein import wasserstein
from fugu_papers.errata.finding import Finding, above, at_least, at_most, equal
from fugu_papers.errata.registry import refutes
from fugu_papers.normal_curve import classical_mu


@refutes("D-section-4.1")
def section_4_1() -> Finding:
    p, q = Discrete([0, 1]), Discrete([1, 2])
    line = on_line(p, q, norm=1)
    close = min(w for w in (3, 2) if unmatched(line.points, line.p, line.q, w) == 0)  # (2, 0)-close, and (3, 0)-close
    what = "W_inf of two laws that are (2, 0)-close"
    distance = wasserstein(p, q)
    return Finding("{0, 1} against {1, 2}", equal(what, distance, close), at_most(what, distance, close))


@refutes("D-after-theorem-4.2")
def after_theorem_4_2() -> Finding:
    here, there, half = 0.6, 1.4, 0.5
    pair = LawPair(Discrete([here]), Discrete([there]))
    rounded = wasserstein(Discrete([round(here)]), Discrete([round(there)]))
    return Finding(
        "the values 0.6 and 1.4, rounded to whole numbers the same, epsilon 1",
        at_most("epsilon with scale W of the rounded laws", epsilon(Laplace(rounded), pair), 1),
        at_most("epsilon with scale W + 1/2 + 1/2", epsilon(Laplace(rounded + 2 * half), pair), 1),
    )


@refutes("D-theorem-3.1")
def theorem_3_1() -> Finding:
    laws = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4)))
    labelled = {(value, label): laws[label][value] / 2 for value in (0, 1) for label in (0, 1)}
    unlabelled = {(value, 0): labelled[value, 0] + labelled[value, 1] for value in (0, 1)}

    def events(atoms: dict[tuple[int, int], Fraction]) -> int:
        """How many events of these atoms turn the even mixture into the first law."""
        names, found = list(atoms), 0
        for chosen in range(1, 2 ** len(names)):
            event = [name for at, name in enumerate(names) if chosen >> at & 1]
            mass = sum(atoms[name] for name in event)
            found += all(sum(atoms[n] for n in event if n[0] == v) == mass * laws[0][v] for v in (0, 1))
        return found

    return Finding(
        "an even mixture of (1/2, 1/2) and (1/4, 3/4)",
        at_least("the number of events of the data that give the first law", events(unlabelled), 1),
        at_least("the same with a label beside the data", events(labelled), 1),
    )


@refutes("D-theorem-5.2")
def theorem_5_2() -> Finding:
    asked = 0.001
    return Finding(
        "epsilon 10, as in Figures 2 and 4, and delta 0.001",
        at_most("delta of the printed noise", gaussian_delta(10, classical_mu(10, asked)), asked),
        at_most("delta of the exact noise", gaussian_delta(10, gaussian_mu(10, asked)), asked),
    )


@refutes("D-theorem-5.4")
def theorem_5_4() -> Finding:
    import numpy as np

    from fugu.loss.search.normal import fast_normal_delta

    asked, covariance, along = 0.001, np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0])

    def at(epsilon: float, distance: float) -> float:
        """Delta of two normal laws so many deviations apart, without noise."""
        d = along * distance / math.sqrt(along @ np.linalg.solve(covariance, along))
        return float(fast_normal_delta(0 * d, covariance, d, covariance, epsilon))

    return Finding(
        "the covariance ((2, 1), (1, 2)), a shift along the first axis, delta 0.001",
        at_most("delta at the printed distance for epsilon 10", at(10, classical_mu(10, asked)), asked),
        at_most("delta at the printed distance for epsilon 1", at(1, classical_mu(1, asked)), asked),
    )


@refutes("D-theorem-5.3")
def theorem_5_3() -> Finding:
    import numpy as np
    from scipy.stats import norm

    from fugu.auditing.guessers import decode

    v, count = np.array([0.169, 0.046, -0.806, -0.545, 0.147]), 50
    steps, ends = [0.01, 0.01, 1, 1, 0.01], [[17, 90], [1, 16], [0, 100], [0, 100], [1, 99]]
    evenly = np.outer(np.arange(1, count + 1), np.sqrt([2, 3, 5, 7, 11, 13])) % 1  # six sequences, none random
    people = np.rint([3858, 1008, 33, 33, 4044] + (evenly[:, :5] - 0.5) * [100, 100, 20, 20, 100]) * steps
    along = people + 42 * norm.ppf(evenly[:, 5:]) * v
    found = decode(along, v, steps, ends)
    right = float(np.mean((np.abs(found.values - people) < 1e-9).all(axis=1)))
    around = decode(along + 5 * norm.ppf(evenly[::-1, 1:]), v, steps, ends).share
    most = (math.exp(0.2) + 0.001) / (1 + math.exp(0.2))
    return Finding(
        "five statistics of 100 people and noise of deviation 42 along v; (0.2, 0.001) lets nobody tell two of them "
        "apart more often than this",
        at_most("the share of outputs that are decoded exactly", right, most),
        at_most("the same with noise in every direction", around, most),
    )


# [D] Noise along directions: norms, eigenvectors, and what is left across them.


@refutes("D-after-theorem-5.3")
def several_directions() -> Finding:
    shift = (1 / math.sqrt(2), 1 / math.sqrt(2))

    def loss(scale: float) -> float:
        return sum(epsilon(Laplace(scale), LawPair(Discrete([0]), Discrete([x]))) for x in shift)

    return Finding(
        "two directions, a shift of l2 length 1 along the diagonal, epsilon 1",
        at_most("epsilon at the printed scale", loss(math.hypot(*shift)), 1),
        at_most("epsilon at the scale of the l1 norm", loss(sum(shift)), 1),
    )


@refutes("D-theorem-5.5")
def theorem_5_5() -> Finding:
    import numpy as np

    from fugu.calibration.covariance import optimal_covariance

    t = gaussian_mu(1, 0.001)
    off = 1e-3
    wide, narrow = np.array([[math.cos(off), math.sin(off)], [-math.sin(off), math.cos(off)]])
    sigma, d = 1e7 * np.outer(wide, wide) + 0.1 * np.outer(narrow, narrow), t * math.sqrt(10) * narrow
    printed = np.diag(np.maximum(0, d @ d / t**2 - np.diag(sigma)))  # along the axes
    right = optimal_covariance([d], [sigma], t).covariance

    def apart(noise: np.ndarray) -> float:
        return math.sqrt(float(d @ np.linalg.solve(sigma + noise, d)))

    return Finding(
        "variances 1e7 and 0.1 along eigenvectors that are 0.001 off the axes, which are taken for them, (1, 0.001)",
        at_most("the distance of the two laws with the printed noise, in deviations,", apart(printed), t),
        at_most("the same with the least covariance", apart(right), t * (1 + 1e-9)),
    )


@refutes("D-algorithm-3")
def algorithm_3() -> Finding:
    import numpy as np

    t, sigma, d = gaussian_mu(1, 0.001), np.array([[22.0, -6.0], [-6.0, 13.0]]), np.array([1.0, -1.0])
    v = d / np.linalg.norm(d)
    root = float(d @ d / t**2 - 1 / (v @ np.linalg.solve(sigma, v)))
    noisy = sigma + max(0.0, root) * np.outer(v, v)
    return Finding(
        "the paper's own covariance ((22, -6), (-6, 13)), a shift of (1, -1), (1, 0.001), by the exact curve",
        above("the variance that solves the equation", root, 0),
        at_most(
            "the distance of the laws with variance 0, in deviations,", math.sqrt(d @ np.linalg.solve(noisy, d)), t
        ),
    )


@refutes("D-section-6.1")
def section_6_1() -> Finding:
    import numpy as np

    from fugu.loss.search.normal import fast_normal_delta

    here, there, far = np.diag([1.0, 1.0]), np.diag([1.0, 1.3]), np.array([1.0, 0.0])

    def delta(noise: np.ndarray) -> float:
        return float(fast_normal_delta(np.zeros(2), here + noise, far, there + noise, 0.2))

    return Finding(
        "variances 1 and 1.3 across v, noise of variance a million, epsilon 0.2",
        at_most("delta with noise along v", delta(np.diag([1e6, 0.0])), 0.001),
        at_most("delta with noise in every direction", delta(np.diag([1e6, 1e6])), 0.001),
    )


# [D] Approximate laws, and the tables of the experiments.


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
