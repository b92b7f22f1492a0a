"""`relaxed` and `relaxed-paper`: average over the transport plan instead of taking its largest distance."""

from __future__ import annotations

import math
from collections.abc import Callable

from fugu.calibration.method import Budget, Proposal, method
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.numbers.exact import Real
from fugu.transport.coupling import Coupling, monotone
from fugu.transport.relaxed import paper_scale, relaxed_scale


@method(
    "relaxed",
    "the four-form rule: Yang, Ding et al. (noise reduction), conditions (11) and (12), sharpened by Jensen",
    laws="atoms",
)
def relaxed(item: Item, budget: Budget) -> Proposal:
    """scale = max(min(col+, row-), min(row+, col-)) on the monotone plan, max over pairs (theory, section 6)."""
    return Proposal(_widest(item, budget, relaxed_scale))


@method(
    "relaxed-paper",
    "Yang, Ding et al. (noise reduction), condition (11) alone, which protects both orders (Jensen)",
    laws="atoms",
)
def relaxed_paper(item: Item, budget: Budget) -> Proposal:
    """scale = col+ alone, for comparison. The printed Algorithm 1 loses its bracket and is not offered."""
    return Proposal(_widest(item, budget, paper_scale))


def _widest(item: Item, budget: Budget, rule: Callable[[Coupling, Real], float]) -> float:
    if isinstance(item, Analytic):
        return math.inf
    family = item
    plans = (monotone(family.points, family.laws[i], family.laws[j]) for (i, j), _ in family.different)
    return max((rule(plan, budget.epsilon) for plan in plans), default=0.0)
