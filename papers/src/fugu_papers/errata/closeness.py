"""[D] Closeness, discretising, what the secret is, and a constant that is for small epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws import Discrete, LawPair
from fugu.loss import epsilon
from fugu.loss.shifts import gaussian_delta, gaussian_mu
from fugu.noise import Laplace
from fugu.transport.coupling import on_line
from fugu.transport.matching import unmatched
from fugu.transport.wasserstein import wasserstein
from fugu_papers.errata.finding import Finding, at_least, at_most, equal
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
