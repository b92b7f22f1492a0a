"""The pure loss over sets of laws: exact, since at each output numerator and denominator are chosen independently.

sup over p, q and outputs y of ln(P(y) / Q(y)) = max over y of ln(N(y) / D(y)), y over EVERY declared value: for fixed
laws the ratio of Laplace noise is largest at a point of their support, which is some declared value, seen or not; and
suprema commute."""

from __future__ import annotations

import math

from flint import arb

from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import PairLoss
from fugu.loss.sets.extremes import PRECISION
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.reach import at_points
from fugu.numbers import balls
from fugu.progress import report


def prove_pure(family: SetFamily, kernel: Kernel) -> list[PairLoss]:
    """For each pair an epsilon with N_i <= e^epsilon D_j and N_j <= e^epsilon D_i at every declared value."""
    used = sorted({k for pair in family.pairs for k in pair})
    known = {}
    for done, k in enumerate(used):
        known[k] = at_points(family)[k].proved(kernel)
        report("proving epsilon", done + 1, len(used))
    with balls.precision(PRECISION):
        return [
            PairLoss(label, max(_largest(known[i][0], known[j][1]), _largest(known[j][0], known[i][1])), (i, j))
            for (i, j), label in family.different
        ]


def _largest(most: list[arb], least: list[arb]) -> float:
    """ln of the largest ratio, rounded up: one number is raised wherever N <= m D is not certain."""
    m = arb(1)
    for n, d in zip(most, least, strict=True):
        if not n <= m * d:
            if not d > 0:
                if n == 0:
                    continue
                return math.inf
            ratio = (n.upper() / d.lower()).upper()
            m = ratio if not ratio <= m else m
    return balls.upper(m.log())
