"""[C] Influence curves, and the budgets that are read from them."""

from __future__ import annotations

import math

import numpy as np

from fugu.laws import Discrete, LawPair
from fugu.loss import epsilon
from fugu.noise import Laplace
from fugu.priors import MarkovChain
from fugu.translation import dp_budget
from fugu.translation.influence import influence
from fugu_papers.errata.finding import Finding, at_most, equal
from fugu_papers.errata.registry import refutes


@refutes("C-algorithms-1-2")
def algorithms_1_and_2() -> Finding:
    chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000)
    valid = [(1 - a) / b for b, a in influence(chain).points if a < 1]
    what = "the largest budget for each entry that the curve proves"
    return Finding(
        "a binary chain of 1,000 entries, epsilon 1",
        at_most(what, max(valid), min(valid)),
        at_most(what, max(valid), dp_budget(chain, 1)),
    )


@refutes("C-algorithms-1-2-empty")
def algorithms_without_points() -> Finding:
    chain = MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=10)
    curve = [(b, a) for b, a in influence(chain).points if b <= 2]
    all_move = LawPair(Discrete([0]), Discrete([chain.length]))

    def loss(start: float) -> float:
        """Of the sum of ten bits that may all change, with the noise for the budget that is returned."""
        budget = min([start, *((1 - a) / b for b, a in curve if a < 1)])
        return epsilon(Laplace(1 / budget), all_move)

    what = "the loss with the noise for the budget that is returned"
    return Finding(
        "a sticky binary chain of 10 entries whose curve is known for b <= 2 and is above epsilon = 1 there",
        at_most(what, loss(math.inf), 1),
        at_most(what, loss(1 / chain.length), 1),
    )


def closed_form(p: float, q: float, b: int, absolute: bool = False) -> float:
    """Theorem 8 as printed: in the main text, or with the absolute values of the appendix.

    >>> round(closed_form(0.2, 0.3, 1), 8)
    -2.50552594
    """
    mass, decay = (1 - q if q > p else 1 - p) / (2 - p - q), p + q - 1
    ways = [decay**d for d in ((b + 1) // 2, (b + 2) // 2)]
    logs = [math.log((mass + way * (1 - mass)) / (mass - way * mass)) for way in ways]
    return sum(map(abs, logs)) if absolute else sum(logs)


@refutes("C-theorem-8")
def theorem_8() -> Finding:
    p, q = 0.2, 0.3
    step = np.array([[p, 1 - p], [1 - q, q]])
    start = np.array([1 - q, 1 - p]) / (2 - p - q)
    back = (start[:, None] * step).T / start[:, None]  # P(x_{t-1} | x_t)
    each = [math.log(max(law[0, x] / law[1, x] for x in (0, 1))) for law in (step, back)]
    other = [math.log(max(law[1, x] / law[0, x] for x in (0, 1))) for law in (step, back)]
    truth = max(sum(each), sum(other))  # both neighbours, independent given the entry; either order
    what = "the influence at b = 1"
    return Finding(
        "P(0|0) = 0.2, P(1|1) = 0.3: both neighbours of an entry in the middle",
        at_most(what, truth, closed_form(p, q, 1)),
        at_most(what, truth, closed_form(p, q, 1, absolute=True)),
    )


@refutes("C-theorem-8-tight")
def theorem_8_tight() -> Finding:
    p, q, length, b = 0.9, 0.95, 7, 4
    best = influence(MarkovChain([[p, 1 - p], [1 - q, q]], length))(b)
    what = "the least influence at b = 4"
    return Finding(
        "P(0|0) = 0.9, P(1|1) = 0.95, seven entries",
        equal(what, best, closed_form(p, q, b)),
        at_most(what, best, closed_form(p, q, b)),
    )
