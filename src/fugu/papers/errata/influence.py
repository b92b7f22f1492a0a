"""[C] Influence curves, and the budgets that are read from them."""

from __future__ import annotations

import math

import numpy as np

from fugu.papers.errata.finding import Finding, at_most
from fugu.papers.errata.registry import erratum
from fugu.priors import MarkovChain
from fugu.translation import dp_budget
from fugu.translation.influence import influence


@erratum(
    "C-algorithms-1-2",
    where="Algorithms 1 and 2",
    verdict="the wrong direction; unsound if empty",
    printed="Of the budgets (epsilon - a)/b of all points of the curve the smallest is taken, starting at infinity.",
    corrected="Each is valid by itself, so the largest may be taken; start at epsilon / n.",
    section="c-algorithms-1-and-2-the-least-of-the-candidates",
)
def algorithms_1_and_2() -> Finding:
    chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000)
    valid = [(1 - a) / b for b, a in influence(chain).points if a < 1]
    what = "the largest budget for each entry that the curve proves"
    return Finding(
        "a binary chain of 1,000 entries, epsilon 1",
        at_most(what, max(valid), min(valid)),
        at_most(what, max(valid), dp_budget(chain, 1)),
    )


@erratum(
    "C-theorem-8",
    where="Theorem 8",
    verdict="main text unsound, appendix not tight",
    printed="A closed form of the influence of a binary chain, in the main text without absolute values.",
    corrected="With absolute values it is an upper bound, exact for p + q >= 1 far from the ends.",
    section="c-theorem-8-absolute-values-ends-symmetry",
)
def theorem_8() -> Finding:
    p, q = 0.2, 0.3
    step = np.array([[p, 1 - p], [1 - q, q]])
    start = np.array([1 - q, 1 - p]) / (2 - p - q)
    back = (start[:, None] * step).T / start[:, None]  # P(x_{t-1} | x_t)
    each = [math.log(max(law[0, x] / law[1, x] for x in (0, 1))) for law in (step, back)]
    other = [math.log(max(law[1, x] / law[0, x] for x in (0, 1))) for law in (step, back)]
    truth = max(sum(each), sum(other))  # both neighbours, independent given the entry; either order
    mass, decay = float(start[0]), p + q - 1  # the printed case q > p, with d_L = d_R = 1
    one = math.log((mass + decay * (1 - mass)) / (mass - decay * mass))
    what = "the influence at b = 1"
    return Finding(
        "P(0|0) = 0.2, P(1|1) = 0.3: both neighbours of an entry in the middle",
        at_most(what, truth, 2 * one),
        at_most(what, truth, 2 * abs(one)),
    )
