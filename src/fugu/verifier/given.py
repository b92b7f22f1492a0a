"""Laws that somebody believes instead, as a certified mechanism sees them: moved, rounded, as a release does."""

from __future__ import annotations

from fugu.documents.bins import through_bins
from fugu.documents.certificate import Certificate
from fugu.documents.pushed import pushed
from fugu.errors import BadNoise
from fugu.laws.items import Shape, shapes
from fugu.laws.pair import PairsLike, as_pairs


def laws_given(scenario_or_pairs: PairsLike, certificate: Certificate) -> tuple[Shape, ...]:
    """The laws given, pushed through what a release does to a value: into its bin if there are bins, to the nearest
    supported one, onto the lattice. BadNoise if they do not fit."""
    given = shapes(as_pairs(scenario_or_pairs))
    if given[0].dimension != certificate.dimension:
        raise BadNoise("they are laws of values of another dimension")
    if {item.shape for item in given} - _SHAPES[certificate.runs]:
        raise BadNoise("they are laws of another kind than its own")
    if certificate.runs == "vector" and {item.shape for item in given} != {item.shape for item in certificate.laws}:
        raise BadNoise("they are laws of another kind than its own")
    return pushed(through_bins(given, certificate), certificate)


_SHAPES = {
    "additive": {"line", "smooth", "sets"},
    "analysis": {"line", "smooth"},
    "vector": {"space", "cells"},
    "correlated": {"normal"},
    "channel": {"line", "sets"},
}
