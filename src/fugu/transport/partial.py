"""`partial_plan`: the cheapest way to move all but a mass delta, with exact integers."""

from __future__ import annotations

import numpy as np

from fugu.laws.masses import Masses
from fugu.numbers.exact import Real
from fugu.transport.cells import SubCoupling, compact
from fugu.transport.closeness import _delta
from fugu.transport.costs import Costs, LogCost
from fugu.transport.coupling import one_total
from fugu.transport.search import search


def partial_plan(log_cost: LogCost, p: Masses, q: Masses, delta: Real) -> SubCoupling:
    """A sub-coupling of mass at least 1 - delta, exactly, that makes its sum of mass exp(log_cost) small.

    A spare row and a spare column of mass delta take at no cost what is left behind, and their common cell is
    forbidden (Caffarelli and McCann 2010; Figalli 2010 for the problem). With c_a(x - y) = exp((a - 1) D_a) the
    divergence of the conditioned laws is at most 1 / (a - 1) log(sum c mass / kept): both E and E' have
    probability `kept` >= 1 - delta. Delta is read as the decimal it is written as.

    >>> from fractions import Fraction
    >>> p, q = Masses(np.array([3, 1]), Fraction(4)), Masses(np.array([3, 0, 1]), Fraction(4))
    >>> plan = partial_plan([[0.0, 1.0, 9.0], [1.0, 0.0, 8.0]], p, q, 0.25)
    >>> plan.rows.tolist(), plan.columns.tolist(), plan.kept
    ([0], [0], Fraction(3, 4))
    """
    spare = _delta(delta)
    a, b, total = one_total(p, q)
    rows, columns = np.flatnonzero(a != 0), np.flatnonzero(b != 0)
    whole = total * spare.denominator
    supply = [mass * spare.denominator for mass in a[rows].tolist()]
    demand = [mass * spare.denominator for mass in b[columns].tolist()]
    left = [total * spare.numerator] if spare else []
    i, j, masses = search(Costs(log_cost, rows, columns, spare=bool(spare)), supply + left, demand + left)
    real = (i < len(rows)) & (j < len(columns))
    plan = SubCoupling(rows[i[real]], columns[j[real]], compact(masses[real], whole), whole)
    scale = spare.denominator
    big = (a.astype(object) * scale, b.astype(object) * scale)
    return plan.checked(*big, whole - total * spare.numerator)
