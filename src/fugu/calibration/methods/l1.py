"""`l1`: the largest distance between any value under one secret and any value under the other, over epsilon."""

from __future__ import annotations

from fugu.calibration.registry import UNBOUNDED, Proposal, method
from fugu.guarantee.asks import Ratio
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.search.ranges import l1_distance, over
from fugu.noise.kind import Kind


@method(
    "l1",
    "l1 (group) sensitivity: Dwork, McSherry, Nissim, Smith 2006, Proposition 1",
    place=10,
    beaten_by="exact",
)
def l1(item: Item, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = max |x - x'| / epsilon over x possible under one secret and x' under the other; blind to
    probabilities."""
    return Proposal(over(l1_distance(item), ask.epsilon)) if isinstance(item, Family) else UNBOUNDED
