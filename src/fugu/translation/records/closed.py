"""Prices in closed form, in doubles: what they are about, and how they grow with each charge.

`checking` proves them; here they are compared with each other and with plans.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fugu.translation.records.charges import Cells, Line
from fugu.translation.records.distances import Floats
from fugu.translation.records.problem import Problem
from fugu.visible import Json


@dataclass(frozen=True, eq=False)
class Bound:
    """A price without what is apart: about `value`; `slopes` is its derivative in one unit of each charge.

    `exact` says that no proof gives less."""

    value: float
    proof: Json
    slopes: Floats
    exact: bool = False


def closed_forms(problem: Problem) -> list[Bound]:
    """Every closed form that applies."""
    found = [_sum(problem), threshold(problem)]
    rising = monotone(problem)
    return found if rising is None else [*found, rising]


def _sum(problem: Problem) -> Bound:
    most = np.array([c.most if isinstance(c, Line) else 1 for c in problem.charges], dtype=np.float64)
    return Bound(float(problem.own - problem.apart), {"how": "sum"}, most)


def threshold(problem: Problem) -> Bound:
    """All charges as one that any change costs: the best of the sets {p > c q}.

    It is the price itself for equal laws, and for one charge of cells, which tells all states apart.
    """
    p, q = problem.p / problem.p.sum(), problem.q / problem.q.sum()
    total, spans = float(problem.widest), np.array(problem.spans, dtype=np.float64)
    with np.errstate(divide="ignore"):
        order = np.argsort(-(p / q), kind="stable")
    above, below = np.cumsum(p[order]), np.cumsum(q[order])
    log_a = math.log(math.expm1(total)) if 0 < total < 700 else total
    with np.errstate(divide="ignore"):
        values = np.logaddexp(0, log_a + np.log(above)) - np.logaddexp(0, log_a + np.log(below))
    best = int(values.argmax())
    grows = _share(above[best], total) - _share(below[best], total)
    alone = len(problem.charges) == 1 and isinstance(problem.charges[0], Cells)
    value = max(0.0, float(values[best])) if total > 0 and not problem.equal else 0.0
    slopes = spans * (grows if value > 0 else 0.0)
    return Bound(value, {"how": "threshold"}, slopes, exact=alone or problem.equal or problem.size == 1)


def _share(mass: float, total: float) -> float:
    """a m / (1 + (a - 1) m) for a = e^total: the derivative of log (1 + (a - 1) m) in the total."""
    return mass / (mass + (1 - min(mass, 1.0)) * math.exp(-total))


def monotone(problem: Problem) -> Bound | None:
    """One line along which p/q rises, or falls: log E_p e^(rf) / E_q e^(rf)."""
    if len(problem.charges) != 1 or not isinstance(problem.charges[0], Line):
        return None
    direction = problem.direction
    if direction is None:
        return None
    sign = -1.0 if direction < 0 else 1.0
    values = sign * problem.codes[0].astype(np.float64)
    grown = np.exp(problem.units[0] * (values - values.max()))
    p, q = problem.p / problem.p.sum() * grown, problem.q / problem.q.sum() * grown
    value = math.log(p.sum()) - math.log(q.sum()) if q.sum() > 0 and p.sum() > 0 else math.inf
    slope = float(p @ values / p.sum() - q @ values / q.sum()) if math.isfinite(value) else 0.0
    return Bound(value, {"how": "monotone"}, np.array([slope]), exact=math.isfinite(value))
