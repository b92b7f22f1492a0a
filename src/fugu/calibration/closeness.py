"""`closeness`: the largest distance all but a share delta of the mass must move, over epsilon."""

from __future__ import annotations

from fugu.calibration.l1 import UNBOUNDED, over
from fugu.calibration.method import Budget, Proposal, method
from fugu.guarantee import Approx
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.numbers.exact import as_fraction
from fugu.transport.closeness import closeness_index


@method("closeness", "Chen and Ohrimenko 2023, Theorem 4.2, with the exact greedy matching", laws="atoms")
def closeness(item: Item, budget: Budget) -> Proposal:
    """scale = W / epsilon for the least W such that every pair is (W, delta)-close; delta 0 is the wasserstein
    method."""
    if isinstance(item, Analytic):
        return UNBOUNDED
    family = item
    delta = as_fraction(budget.delta) if isinstance(budget, Approx) else as_fraction(0)
    farthest = max(
        (closeness_index(family.points, family.laws[i], family.laws[j], delta) for (i, j), _ in family.different),
        default=0,
    )
    note = "" if delta else "delta is 0: the same as wasserstein"
    return Proposal(over(farthest, budget), note)
