"""`closeness`: the largest distance all but a share delta of the mass must move."""

from __future__ import annotations

from fractions import Fraction

from fugu.calibration.methods.wasserstein import reach, vectors_within, within
from fugu.calibration.registry import EVERY, RELEASED, Proposal, method
from fugu.guarantee.asks import Divergences, Ratio
from fugu.laws.family import Family
from fugu.loss.search.ranges import over
from fugu.noise.kind import Kind
from fugu.transport.closeness import closeness_index

_VECTORS = "Chen and Ohrimenko 2023, Theorem 4.2, with an exact flow"


@method(
    "closeness",
    "Chen and Ohrimenko 2023, Theorem 4.2, with the exact greedy matching",
    place=30,
    shapes=("line",),
    beaten_by="exact",
)
def ratio(item: Family, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = W / epsilon for the least W such that every pair is (W, delta)-close; delta 0 is the wasserstein
    method."""
    note = "" if ask.delta else "delta is 0: the same as wasserstein"
    return Proposal(over(_distance(item, ask.delta), ask.epsilon), note)


@method(
    "closeness",
    "Pierquin et al. 2024, Theorem 4.3, both laws conditioned: no log 1/(1 - delta) terms (docs/proofs/renyi.md)",
    place=30,
    shapes=("line",),
    finite=True,
    noises=EVERY,
    delta=True,
)
def divergences(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, z) <= epsilon, for the least z that couples all but delta of every pair."""
    note = "" if ask.delta else "delta is 0: the same as wasserstein"
    return Proposal(within(_distance(item, ask.delta), ask, kind), note)


@method("closeness", _VECTORS, place=30, shapes=("space",), delta=True)
def vectors(item: Family, ask: Ratio, kind: Kind) -> Proposal:
    """W / epsilon in the l1 norm."""
    return Proposal(over(reach(item, kind.norm, ask.delta), ask.epsilon))


@method("closeness", _VECTORS, place=30, shapes=("space",), finite=True, noises=RELEASED, delta=True)
def vectors_divergences(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """R_alpha(noise, z) <= epsilon in the noise's own norm."""
    return Proposal(vectors_within(item, ask, kind, ask.delta))


def _distance(family: Family, delta: Fraction) -> float:
    each = (closeness_index(family.points, family.laws[i], family.laws[j], delta) for (i, j), _ in family.different)
    return max(each, default=0)
