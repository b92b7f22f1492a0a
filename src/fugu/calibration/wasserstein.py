"""`wasserstein`: the largest distance any mass must move, over epsilon."""

from __future__ import annotations

from fugu.calibration.l1 import UNBOUNDED, l1_distance, over
from fugu.calibration.method import Budget, Proposal, method
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.numbers.exact import float_up
from fugu.transport.wasserstein import w_inf_index


@method("wasserstein", "Song, Wang, Chaudhuri 2017, Theorem 3.2; equals the Kantorovich W1 mechanism in one dimension")
def wasserstein(item: Item, budget: Budget) -> Proposal:
    """scale = max over pairs of W_inf / epsilon: couple the laws within W_inf, then shift by at most W_inf.

    In one dimension the monotone plan is optimal for W_1 and for W_inf alike, so the Kantorovich mechanism, which takes
    the largest distance on the support of a W_1-optimal plan, is the same number."""
    if isinstance(item, Analytic):
        return _translates(item, budget)
    family = item
    farthest = max(
        (w_inf_index(family.points, family.laws[i], family.laws[j]) for (i, j), _ in family.different), default=0
    )
    worst = farthest > 0 and farthest == l1_distance(family)
    note = "worst case: equal to l1, the beliefs do not help this method" if worst else ""
    return Proposal(over(farthest, budget), note)


def _translates(pair: Analytic, budget: Budget) -> Proposal:
    """W_inf of two normal laws is the distance of their means if their spreads agree, else infinite."""
    p, q = pair.p, pair.q
    if len(p.stds) != 1 or len(q.stds) != 1 or p.exact_stds != q.exact_stds or pair.lattice is None:
        return UNBOUNDED
    distance = abs(p.exact_means[0] - q.exact_means[0]) / pair.lattice.grid
    return Proposal(over(float_up(distance) + 1, budget), "one lattice step is added for rounding")
