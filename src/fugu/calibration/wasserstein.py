"""`wasserstein`: the largest distance any mass must move, over epsilon."""

from __future__ import annotations

from fugu.calibration.l1 import l1_distance, over
from fugu.calibration.method import Budget, Proposal, method
from fugu.laws.family import Family
from fugu.transport.wasserstein import w_inf_index


@method("wasserstein", "Song, Wang, Chaudhuri 2017, Theorem 3.2; equals the Kantorovich W1 mechanism in one dimension")
def wasserstein(family: Family, budget: Budget) -> Proposal:
    """scale = max over pairs of W_inf / epsilon: couple the laws within W_inf, then shift by at most W_inf.

    In one dimension the monotone plan is optimal for W_1 and for W_inf alike, so the Kantorovich mechanism, which takes
    the largest distance on the support of a W_1-optimal plan, is the same number."""
    farthest = max(
        (w_inf_index(family.points, family.laws[i], family.laws[j]) for (i, j), _ in family.different), default=0
    )
    worst = farthest > 0 and farthest == l1_distance(family)
    note = "worst case: equal to l1, the beliefs do not help this method" if worst else ""
    return Proposal(over(farthest, budget), note)
