"""`price`: a proved epsilon for all charges on one record together, with a proof that `check` reads.

    e^T = max { p.g / q.g : g(x) <= e^Lam(x, y) g(y) } = min over plans pi with row sums p
          of the largest sum over x of e^Lam(x, y) pi(x, y) / q(y)

where Lam is the sum of the charges. T never exceeds the sum of their per-record epsilons, never falls when a charge is
added, and rises by at most the new charge's own epsilon.

Proofs: docs/proofs/metric-charges.md#the-price.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fugu.translation.records.charges import RecordCharge, States
from fugu.translation.records.checking import check
from fugu.translation.records.distances import Distances
from fugu.translation.records.plan import lower_bound
from fugu.translation.records.pricer import Effort, Priced, Pricer
from fugu.translation.records.problem import Ints, Problem

__all__ = ["Effort", "Priced", "Pricer", "both", "check", "derivatives", "lower", "price"]


def price(states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge], *, effort: Effort = "best") -> Priced:
    """The least epsilon that can be proved for p against q, all charges together.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.
        charges: everything that was released.
        effort: "best", or "quick" for closed forms only.

    >>> from fractions import Fraction
    >>> from fugu.translation.records.charges import Line
    >>> states = {"age": np.arange(4)}
    >>> sums = [Line("age", Fraction(1, 2), 3)]
    >>> round(price(states, np.array([4, 3, 2, 1]), np.array([1, 2, 3, 4]), sums).epsilon, 9)
    0.476475614
    """
    return Pricer(states, p, q).price(charges, effort=effort)


def both(states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge]) -> tuple[Priced, Priced]:
    """`price` of p against q, and of q against p.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.
        charges: everything that was released.
    """
    return price(states, p, q, charges), price(states, q, p, charges)


def lower(states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge], g: Sequence[float]) -> float:
    """log p.g' / q.g' plus what is apart, for the largest Lipschitz g' below g: no price is less, but for rounding.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.
        charges: everything that was released.
        g: a positive number for every merged state, in the order of `Problem`.
    """
    problem = Problem.of(states, p, q, charges)
    h = Distances(problem).closure(np.log(np.asarray(g, dtype=np.float64)))
    return lower_bound(problem, h) + float(problem.apart)


def derivatives(priced: Priced) -> tuple[float, ...]:
    """How fast the price grows with each charge: with the rate of a `Line`, the epsilon of `Cells` and `Apart`.

    Parameters:
        priced: what `price` returned; in the order of its charges.
    """
    return priced.slopes
