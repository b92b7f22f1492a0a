"""[C] Composition: definitions on the whole product domain, orders, and what post-processing keeps."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from fugu.laws import Discrete, LawPair
from fugu.loss import epsilon
from fugu.noise import Laplace
from fugu.priors.joint import JointTable
from fugu.translation.translate import translate
from fugu_papers.collapse import box_epsilon, many_priors
from fugu_papers.compose import constraint, necessary, processed
from fugu_papers.errata.finding import Finding, above, at_most
from fugu_papers.errata.registry import refutes


@refutes("C-definitions-1-3")
def definitions_1_to_3() -> Finding:
    possible, domain = ("00", "11"), tuple(a + b for a, b in product("01", repeat=2))

    def per_entry(datasets: tuple[str, ...]) -> float:
        """The epsilon of publishing everything, over data sets that differ in one entry."""
        pairs = [(d, e) for d in datasets for e in datasets if sum(a != b for a, b in zip(d, e, strict=True)) == 1]
        return max((published(d, e) for d, e in pairs), default=0.0)

    def published(d: str, e: str) -> float:
        return epsilon(Laplace(0), LawPair(Discrete([int(d, 2)]), Discrete([int(e, 2)])))

    entries, truth, what = 2, published(*possible), "the loss of publishing everything"
    return Finding(
        "two entries that are always equal; both together cost twice the epsilon of one",
        at_most(what, truth, entries * per_entry(possible)),
        at_most(what, truth, entries * per_entry(domain)),
    )


@refutes("C-definition-7")
def definition_7() -> Finding:
    joint = [[0.5, 0], [0, 0.5]]
    stay = math.e / (1 + math.e)
    leaked = math.log(stay**2 / (1 - stay) ** 2)  # both answers say 0: X_1 = 0 against X_1 = 1
    shared = [abs(math.log(joint[0][x] / joint[1][x])) for x in (0, 1) if joint[0][x] > 0 and joint[1][x] > 0]
    what = "the loss of the two answers"
    return Finding(
        "X_2 = X_1 is a fair bit, each answered by randomised response with epsilon 1; b = 1",
        at_most(what, leaked, 1 + max(shared, default=0)),
        at_most(what, leaked, translate(JointTable(joint), 1.0)),
    )


@refutes("C-theorem-3")
def theorem_3() -> Finding:
    truth, what = many_priors(0.1, 0.2, 0.7, 0.8).leakage(1), "epsilon, by enumeration in both orders,"
    return Finding(
        "P(1a | s1) in [0.1, 0.2] and P(2a | not s1) in [0.7, 0.8]",
        at_most(what, truth, box_epsilon(0.1, 0.2, 0.7, 0.8, both=False)),
        at_most(what, truth, box_epsilon(0.1, 0.2, 0.7, 0.8)),
    )


@refutes("C-theorem-4")
def theorem_4() -> Finding:
    shown, given = [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]], [0, 0, 1]
    leaks = necessary([shown], [0, 1, 0], given).epsilon  # for any number of runs
    return Finding(
        "three data sets; the first has s1 and probability 0; the other two have the same outputs",
        at_most("what the condition asks of the impossible data set", constraint(shown, 0, given), leaks),
        at_most("what it asks of the possible one", constraint(shown, 1, given), leaks),
    )


@refutes("C-theorem-5")
def theorem_5() -> Finding:
    table = [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.3, 0.3, 0.2, 0.2]]
    mixed = [0, 0.5, 0.5]
    before, after = constraint(table, 0, mixed), -math.inf
    for cut in range(1, 15):
        for p in (Fraction(1), Fraction(3, 4)):
            merge = [[p, 1 - p] if cut >> w & 1 else [1 - p, p] for w in range(4)]
            after = max(after, constraint(processed(table, merge), 0, mixed))
    what = "the largest value of the condition after post-processing"
    return Finding(
        "three data sets, four outputs, merged into two in every way, with and without noise",
        above(what, after, before),
        at_most(what, after, before),
    )
