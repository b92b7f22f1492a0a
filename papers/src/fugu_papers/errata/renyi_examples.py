"""[P] Section 6 and the running examples."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws import Discrete
from fugu.scenario.scenario import Scenario
from fugu.transport.matching import closeness
from fugu.transport.wasserstein import wasserstein
from fugu_papers.errata.finding import Finding, above, at_most, equal
from fugu_papers.errata.registry import refutes
from fugu_papers.examples import example_1, example_2


@refutes("P-proposition-6.1")
def proposition_6_1() -> Finding:
    dependence, sensitivity = 0, 1
    truth = wasserstein(Discrete([0, 1], [99, 1]), Discrete([1, 2], [1, 99]))
    what = "W_inf of X_1 + X_2 given X_1 = 0, and given X_2 = 1,"
    return Finding(
        "independent bits with P(X_1 = 1) = 0.99 and P(X_2 = 1) = 0.01",
        at_most(what, truth, 2 * dependence + sensitivity),
        at_most(what, truth, 2 * dependence + 2 * sensitivity),
    )


@refutes("P-proposition-6.2")
def proposition_6_2() -> Finding:
    variance, covariance, box = 2, -1, (0, 5)
    means = [Fraction(covariance, variance) * a for a in box]  # of the released attribute given the protected one
    lengths = [abs(a - b) for a in box for b in box]
    what = "the distance of the two conditional means"
    return Finding(
        "variance 2, covariance -1, values in [0, 5]",
        at_most(what, max(means) - min(means), max(Fraction(covariance, variance) * length for length in lengths)),
        at_most(what, max(means) - min(means), max(Fraction(abs(covariance), variance) * length for length in lengths)),
    )


@refutes("P-proposition-6.3")
def proposition_6_3() -> Finding:
    steps, t, c = 100_000, 1, 1
    ahead = 1.0
    for _ in range(steps):  # x' = -V'(x) = -x for the mean, half a step forth and half a step back
        ahead *= (1 - c * t / steps / 2) / (1 + c * t / steps / 2)
    what = "the distance of the two means at time 1"
    return Finding(
        "V = x^2 / 2, starts 0 and 1: two normal laws of the same variance",
        at_most(what, ahead, math.exp(-2 * c * t)),
        at_most(what, ahead, math.exp(-c * t)),
    )


@refutes("P-example-1")
def first_example() -> Finding:
    rho = -0.3
    squared, what = max(wasserstein(*pair, order=2) for pair in _pairs(example_1(0.5, rho))) ** 2, "W_2^2"
    return Finding(
        "two fair bits of correlation -0.3, their sum is published",
        equal(what, squared, 1 + 3 * rho),
        equal(what, squared, 1 + rho),
    )


@refutes("P-example-2")
def second_example() -> Finding:
    pairs = _pairs(example_2())
    what = "Delta for all but 0.003 of the mass"
    truth = max(closeness(p, q, 0.003) for p, q in pairs)
    return Finding(
        "two independent salaries, 1, 2 or rarely 100, their average is published",
        at_most(what, truth, 1),
        at_most(what, truth, max(wasserstein(p, q) for p, q in pairs)),
    )


def _pairs(scenario: Scenario) -> list[tuple[Discrete, Discrete]]:
    """The pairs of laws of a scenario on the line."""
    laws = [(pair.p, pair.q) for pair in scenario.law_pairs()]
    return [(p, q) for p, q in laws if isinstance(p, Discrete) and isinstance(q, Discrete)]


_PAID = [8, 0, 0, 0, 1, 2, 6, 2, 20, 12, 30, 26, 12, 17, 13, 19, 4, 1, 6, 2, 0]
_FREE = [30, 0, 0, 0, 0, 5, 9, 7, 12, 16, 26, 21, 19, 14, 14, 14, 12, 5, 6, 3, 1]
"""How many students have the grades 0 to 20, with lessons paid for and without."""


@refutes("P-table-1-student")
def table_1_student() -> Finding:
    truth = round(wasserstein(Discrete(range(21), _PAID), Discrete(range(21), _FREE), order=2), 3)
    what = "W_2, to three digits,"
    return Finding("the grades of the student data", equal(what, truth, 2.76), equal(what, truth, 2.276))


@refutes("P-table-1-heart")
def table_1_heart() -> Finding:
    # how many patients without the disease (of 164) are at most 46 and 44, and with its worst form (of 13) at most
    # 46 + 8 and 44 + 12: the difference of the shares finds no partner within the distance
    within_8 = Fraction(51, 164) - Fraction(2, 13)
    within_12 = Fraction(41, 164) - Fraction(3, 13)
    return Finding(
        "the ages of the heart data, in whole years",
        at_most("the mass without a partner within 8 years, from below,", within_8, 0),
        above("the mass without a partner within 12 years, from below,", within_12, 0),
    )
