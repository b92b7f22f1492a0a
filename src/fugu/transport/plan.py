"""`optimal_plan` and what a plan costs: a coupling with exact marginals, its cost evaluated in logarithms, rounded up.

By joint convexity any coupling gives a valid bound, so a plan that is not quite optimal costs noise, never the
guarantee. The objective of a solver is never published: with atoms of mass 1e-12 and costs of e^30 it can be far
below the truth. What counts is `plan_log_cost` of a plan whose integer marginals were checked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.laws.masses import Masses
from fugu.transport.cells import SubCoupling, compact
from fugu.transport.costs import Costs, LogCost, at_cells
from fugu.transport.coupling import Coupling, one_total
from fugu.transport.search import search

_UNIT = 2.0**-53


def optimal_plan(log_cost: LogCost, p: Masses, q: Masses) -> SubCoupling:
    """A coupling of P and Q that makes E exp(log_cost(X, Y)) as small as the search can.

    log_cost: a matrix, or a function of two index arrays. To 2,000 x 2,000 atoms it is optimal up to the rounding
    of doubles; beyond, among the cells looked at. On the line `monotone` is optimal for convex costs, and fast.

    >>> from fractions import Fraction
    >>> p = Masses(np.array([1, 1]), Fraction(2))
    >>> plan = optimal_plan([[5.0, 0.0], [0.0, 5.0]], p, p)
    >>> plan.rows.tolist(), plan.columns.tolist(), plan.masses.tolist(), plan.total
    ([0, 1], [1, 0], [1, 1], 2)
    """
    a, b, total = one_total(p, q)
    rows, columns = np.flatnonzero(a != 0), np.flatnonzero(b != 0)
    i, j, masses = search(Costs(log_cost, rows, columns, spare=False), a[rows].tolist(), b[columns].tolist())
    return SubCoupling(rows[i], columns[j], compact(masses, total), total).checked(a, b, total)


def plan_log_cost(plan: SubCoupling | Coupling, log_cost: LogCost) -> float:
    """log sum masses / total exp(log_cost), rounded up by about 1e-13; the costs are taken as they are given.

    log_cost: a matrix, a function of two index arrays, or one number for each cell of the plan. Divide by the mass
    kept to condition on it: subtract log of `kept`.
    """
    if not callable(log_cost) and np.ndim(log_cost) == 1:
        logs = np.asarray(log_cost, dtype=np.float64)
        logs = at_cells(lambda rows, columns: logs, plan.rows, plan.columns)  # noqa: ARG005
    else:
        logs = at_cells(log_cost, plan.rows, plan.columns)
    return log_mean(logs, plan.masses, plan.total)


def log_mean(logs: NDArray[np.float64], masses: NDArray[Any], total: int) -> float:
    """log sum m e^l / total at or above the exact value, for integers m > 0.

    With t = l + log m and T = max t the sum is e^T sum e^(t - T). Errors of t are at most u (2 |log m| + |t|),
    those of exp(t - T) relative to it u (|t - T| + 4), of a sum by pairs 32 u of its terms below 2^32 of them;
    |t| <= |T| + |t - T|. Weighted by the terms, sum (T - t) e^(t - T) / sum e^(t - T) bounds the middle part. The
    slack is twice all that, u = 2^-53, and what underflows is added back.
    """
    if masses.dtype == object:
        weights = np.array([math.log(int(m)) for m in masses.tolist()], dtype=np.float64)
    else:
        weights = np.log(masses.astype(np.float64))
    terms = logs + weights
    top = float(terms.max())
    if math.isinf(top):
        return top
    below = np.maximum(terms - top, -800.0)  # such terms are 0 in doubles; `lost` stands for them
    with np.errstate(under="ignore"):
        parts = np.exp(below)
        mean = float(parts.sum())
        spread = float(-(parts * below).sum()) / mean
    lost = len(parts) * 1e-300
    heaviest = math.log(total)
    value = top + math.log(mean + lost) - heaviest
    size = abs(top) + 2 * spread + 4 * heaviest + math.log(mean) + abs(value) + 64
    return math.nextafter(value + 2 * _UNIT * size, math.inf)
