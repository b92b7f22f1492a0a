"""Laws that somebody believes instead, as a certified mechanism sees them: moved, rounded, as a release does."""

from __future__ import annotations

from fugu.auditing.raw import through_bins
from fugu.errors import BadNoise
from fugu.laws.items import Item, items
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.vectors import VectorFamily, vector_families
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.pushed import pushed, pushed_vectors


def laws_given(scenario_or_pairs: PairsLike, certificate: Certificate) -> tuple[Item, ...]:
    """The laws given, pushed through what a release does to a value: into its bin if there are bins, to the nearest
    supported one, onto the lattice."""
    return pushed(through_bins(items(as_pairs(scenario_or_pairs)), certificate), certificate)


def vectors_given(scenario_or_pairs: PairsLike, certificate: Certificate) -> tuple[VectorFamily, ...]:
    """The laws given, each vector moved to the nearest supported one and rounded, as a release does."""
    given = vector_families(as_pairs(scenario_or_pairs))
    if any(family.dimension != certificate.body["dimension"] for family in given):
        raise BadNoise("they are laws of vectors of another dimension")
    return pushed_vectors(given, certificate)
