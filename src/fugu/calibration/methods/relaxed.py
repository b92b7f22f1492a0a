"""`relaxed` and `relaxed-paper`: average over the transport plan instead of taking its largest distance."""

from __future__ import annotations

from collections.abc import Callable

from fugu.calibration.registry import Proposal, method
from fugu.guarantee.asks import Ratio
from fugu.laws.family import Family
from fugu.noise.kind import Kind
from fugu.numbers.exact import Real
from fugu.transport.coupling import Coupling, monotone
from fugu.transport.relaxed import form_scale, paper_scale, relaxed_scale


@method(
    "relaxed-paper",
    "Yang, Ding et al. (noise reduction), condition (11) alone, which protects both orders (Jensen)",
    place=40,
    shapes=("line",),
    beaten_by="exact",
)
def relaxed_paper(item: Family, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = col+ alone, for comparison, of the order of each pair that needs more: which secret a file names first
    changes nothing. The printed Algorithm 1 loses its bracket and is not offered."""
    return Proposal(_widest(item, ask, _either_order))


@method(
    "relaxed",
    "the four-form rule: Yang, Ding et al. (noise reduction), conditions (11) and (12), sharpened by Jensen",
    place=50,
    shapes=("line",),
    beaten_by="exact",
)
def relaxed(item: Family, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = max(min(col+, row-), min(row+, col-)) on the monotone plan, max over pairs."""
    return Proposal(_widest(item, ask, relaxed_scale))


def _either_order(plan: Coupling, epsilon: Real) -> float:
    """Condition (11) with the columns of the plan in both roles: rows are the columns of the exchanged pair."""
    return max(paper_scale(plan, epsilon), form_scale(plan, epsilon, "row+"))


def _widest(family: Family, ask: Ratio, rule: Callable[[Coupling, Real], float]) -> float:
    plans = (monotone(family.points, family.laws[i], family.laws[j]) for (i, j), _ in family.different)
    return max((rule(plan, ask.epsilon) for plan in plans), default=0.0)
