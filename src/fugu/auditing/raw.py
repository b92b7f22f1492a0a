"""Raw values and the query of a certificate: which bins they go through, and laws of them pushed through these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, NotProvable
from fugu.laws.family import Family
from fugu.laws.items import Shape
from fugu.mechanism.certificate import Certificate
from fugu.scenario.bins import middles
from fugu.scenario.query import Query

ONE_RECORD = "one record"
"""The unit of sums and tables over records (`fugu.queries.answer`)."""


def raw_edges(certificate: Certificate) -> tuple[float, ...] | None:
    """The edges of the query's bins, None where raw numbers go out; refuses where raw values have no distance."""
    if certificate.body.get("unit") == ONE_RECORD:
        raise NotProvable(
            "this certificate is about a sum over records, in steps of its rounding; how far one record's raw value "
            "may move is not what its laws speak of. kind='renyi' needs no distance of values"
        )
    stated = certificate.body.get("query")
    if stated is None:
        return None
    query = Query.from_json(stated)
    if query.categories is not None:
        raise NotProvable(
            f"{query.publish!r} is an ordering of categories, and between categories there is no distance; state the "
            "other beliefs themselves (guarantee_against), or use kind='renyi'"
        )
    return query.edges


def through_bins(items: Sequence[Shape], certificate: Certificate) -> Sequence[Shape]:
    """Laws with atoms, each atom moved to the middle of its bin, as the query does; middles stay where they are.

    So laws of raw values and laws of published ones give the same. Laws without atoms are of the published value."""
    stated = certificate.body.get("query")
    edges = None if stated is None else Query.from_json(stated).edges
    if edges is None:
        return items
    if any(item.translates for item in items):
        raise BadNoise("it puts every value into a bin, and these laws say nothing of where the value is")
    places, inner = middles(edges), np.array(edges[1:-1])
    return [
        pushed(item, places[np.searchsorted(inner, item.points, "right")]) if isinstance(item, Family) else item
        for item in items
    ]


def pushed(family: Family, to: NDArray[np.float64]) -> Family:
    """The laws with each atom moved to another value; masses that meet are added exactly."""
    points, where = np.unique(to, return_inverse=True)
    return replace(family, points=points, laws=tuple(law.scatter(where, len(points)) for law in family.laws))
