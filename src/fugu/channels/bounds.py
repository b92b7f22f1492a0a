"""What a channel costs, exactly, and what no channel can go below: together a proved distance from the optimum.

Lower bound (weak duality): for prices alpha_cy >= 0 of the ordered pairs c = (s, t), ANY members p of the set of s and
q of the set of t, chosen for each c and y, E >= e^epsilon, and w the weight (or any mixture of members, for the worst),

    optimum >= sum_x min_y [ w_x loss(x, y) + sum_c alpha_cy (p_cy(x) - E q_cy(x)) + cap and order terms ]
               - delta sum_c max_y alpha_cy.

Proof: a channel that keeps the promises makes every price term at most 0 (at most delta), and the rows of K are free.
With delta the promise is about one pair of members for all outputs, so there p and q must not depend on y
(docs/proofs/robust-channels.md).
Only rationals decide: doubles with a proved error merely leave out the outputs that cannot be the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.channels.exact_prices import ExactPrices
from fugu.channels.exact_sets import Extremes
from fugu.channels.problem import ChannelProblem, Prices


def value(problem: ChannelProblem, rows: Sequence[Sequence[int]]) -> Fraction:
    """The expected loss of an integer channel, exactly; under the worst of the laws if the problem has no weight.

    - `problem`: its loss and weight are read as the binary numbers they are.
    - `rows`: n rows of m whole weights, all with the same sum.
    """
    scale, losses = _dyadics(problem.loss)
    total = sum(rows[0])
    sums = [sum(k * a for k, a in zip(row, loss, strict=True) if k) for row, loss in zip(rows, losses, strict=True)]
    means = [Fraction(a) / (total * scale) for a in sums]
    if problem.weight is None:
        return max(Extremes(law).top(means) for law in problem.laws)
    return sum((Fraction(w) * mean for w, mean in zip(problem.weight.tolist(), means, strict=True)), Fraction(0))


def lower(problem: ChannelProblem, prices: Prices) -> Fraction:
    """A rational that the expected loss of no channel for this problem goes below, for ANY prices.

    - `problem`: what the channel must do; for several groups of laws (adversaries) each has its own condition.
    - `prices`: the dual of a solver, read exactly, clipped to what the theorem asks for; members of sets are moved
      into their sets in exact arithmetic first.
    """
    exact = ExactPrices(problem, prices)
    near, error = exact.near()
    reach = near.min(axis=1, keepdims=True) + 2 * error.max(axis=1, keepdims=True)
    total = -exact.spent()
    for x in range(problem.n):
        total += min(exact.term(x, y) for y in np.flatnonzero(near[x] <= reach[x]).tolist())
    return max(total, Fraction(0))


def _dyadics(array: NDArray[np.float64]) -> tuple[int, list[list[int]]]:
    """Doubles as whole numbers over one power of two, exactly."""
    ratios = [[a.as_integer_ratio() for a in row] for row in array.tolist()]
    scale = max(d for row in ratios for _, d in row)
    return scale, [[a * (scale // d) for a, d in row] for row in ratios]
