"""MQMApprox: the Markov quilts of a chain with leakages in closed form, from the spectral gap (Song et al. 2017).

Proofs: docs/proofs/quilts.md#chains and docs/proofs/quilts.md#the-spectral-gap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, arb_mat

from fugu.errors import UnknownName, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import Real
from fugu.priors.chain import MarkovChain
from fugu.priors.joint import Quilts, assemble
from fugu.priors.transitions import UNIT, stationary_law
from fugu.translation.influence import QuiltNoise, quilt_noise

_BITS = 512
_SQUARINGS = 16
_REACH = 256


class ApproxQuilts:
    """The quilts of `mqm_exact` with leakages from the second eigenvalue of P P*, one number for all pairs.

    |P^d(x, y) / pi(y) - 1| <= D_d = r^d / pi_min, r^2 = second largest eigenvalue of P P* counted with multiplicity. If
    D_a, D_b < 1, the leakage is at most log((1 + D_b)/(1 - D_b)) + f log((1 + D_a)/(1 - D_a)), f = 1 for a stationary
    start and 2 for any other. `rate="gap"` uses e^(-(1 - r^2) d / 2) >= r^d, as the literature does.
    """

    def __init__(self, chain: MarkovChain, rate: str = "root", start: str = "chain", reach: int = _REACH) -> None:
        if rate not in ("root", "gap"):
            raise UnknownName("rate", rate, ("root", "gap"))
        if start not in ("chain", "any"):
            raise UnknownName("start", start, ("chain", "any"))
        if not chain.homogeneous:
            raise UsageError("the spectral gap is that of one transition matrix; use mqm_exact for steps that differ")
        self.chain = chain
        self.nodes = tuple(range(1, chain.length + 1))
        factor = 1 if chain.stationary and start == "chain" else 2
        self.square, self.least = second_eigenvalue(chain.transition(1))
        sides = [_side(self.square, self.least, d, rate) for d in range(1, min(reach, chain.length - 1) + 1)]
        self._right = np.array(sides)[:, None, None]
        self._left = np.array([math.nextafter(factor * s, math.inf) for s in sides])[:, None, None]

    def quilts(self, node: int) -> Quilts:
        """All quilts of X_t."""
        left, right = self._left[: node - 1], self._right[: self.chain.length - node]
        return assemble(self.chain.length, node, left, right, np.zeros((1, 1)))


def mqm_approx(chain: MarkovChain, epsilon: Real, rate: str = "root", start: str = "chain") -> QuiltNoise:
    """MQMApprox: the same with leakages from the spectral gap; never less noise than needed, often more than MQMExact.

    >>> round(mqm_approx(MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=60), 0.5).sigma, 6)
    23.867531
    """
    return quilt_noise(ApproxQuilts(chain, rate, start), epsilon)


def second_eigenvalue(transition: Any) -> tuple[float, float]:
    """The second largest eigenvalue of P P* (with multiplicity) from above, the least stationary mass from below.

    With A = D^1/2 P D^-1/2, D = diag(pi): P P* is similar to A A'; removing the top pair, B = A - sqrt(pi) sqrt(pi)',
    leaves the second singular value as |B|. And |B|^2 <= trace((B B')^m)^(1/m) for every m: 16 squarings in balls lose
    a factor k^(1/65536). An eigenvalue 1 that occurs twice stays 1: no gap, no claim. Entries of P
    known within 10u move pi by at most 20 k u, hence A >= 0, of norm 1, and its singular values by (20 k + 10) u.

    >>> round(second_eigenvalue(np.array([[0, 1, 0], [0, 0, 1], [0.5, 0, 0.5]]))[0], 4)  # {1, 1, 1/4}: no gap
    1.0
    """
    law, error = stationary_law(transition)
    size = len(law)
    if np.any(law == 0):
        return 1.0, 0.0
    with balls.precision(_BITS):
        rows = [[arb(float(x)) for x in row] for row in transition]
        rows = [[x / sum(row, arb(0)) for x in row] for row in rows]
        system = arb_mat([[rows[j][i] - int(i == j) if i else arb(1) for j in range(size)] for i in range(size)])
        solved = system.solve(arb_mat([[int(i == 0)] for i in range(size)]))
        root = [solved[i, 0].sqrt() for i in range(size)]
        left = arb_mat([[root[i] * rows[i][j] / root[j] - root[i] * root[j] for j in range(size)] for i in range(size)])
        power = left * left.transpose()
        for _ in range(_SQUARINGS):
            power = power * power
        trace = sum((power[i, i] for i in range(size)), arb(0)).abs_upper()
        norm = trace.root(2 ** (_SQUARINGS + 1)) if trace > 0 else arb(0)
        square = balls.upper((norm + arb((24 * size + 32) * UNIT)) ** 2)
    return square if math.isfinite(square) else 1.0, float(law.min()) * (1 - 2 * error - 4 * UNIT)


def _side(square: float, least: float, distance: int, rate: str) -> float:
    """log((1 + D) / (1 - D)) from above, inf unless D < 1: both distances must pass on their own."""
    if square >= 1 or least <= 0:
        return math.inf
    with balls.precision(_BITS):
        half = arb(distance) / 2
        decay = arb(square) ** half if rate == "root" else ((arb(square) - 1) * half).exp()
        d = decay / arb(least)
        return balls.upper(((1 + d) / (1 - d)).log()) if d < 1 else math.inf
