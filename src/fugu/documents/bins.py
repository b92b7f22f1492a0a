"""Laws of raw values, pushed through the bins of a certificate's query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fugu.data.bins import middles
from fugu.documents.certificate import Certificate
from fugu.documents.plain_json import reading
from fugu.errors import BadNoise, CertificateError
from fugu.laws.family import Family
from fugu.laws.items import Shape
from fugu.laws.set_family import SetFamily


def edges_of(certificate: Certificate) -> tuple[float, ...] | None:
    """The edges of the bins that the query puts numbers into, in order; None if it has none."""
    with reading():
        stated = (certificate.body.get("query") or {}).get("edges")
        edges = None if stated is None else tuple(float(edge) for edge in stated)
    if edges is not None and (len(edges) < 2 or not all(a < b for a, b in pairwise(edges))):
        raise CertificateError("the edges of the bins in the certificate are not in order")
    return edges


def through_bins(items: Sequence[Shape], certificate: Certificate) -> Sequence[Shape]:
    """Laws with atoms, each atom moved to the middle of its bin, as the query does; middles stay where they are.

    So laws of raw values and laws of published ones give the same. Laws without atoms are of the published value."""
    edges = edges_of(certificate)
    if edges is None:
        return items
    if any(item.translates for item in items):
        raise BadNoise("it puts every value into a bin, and these laws say nothing of where the value is")
    places, inner = middles(edges), np.array(edges[1:-1])
    return [
        pushed(item, places[np.searchsorted(inner, item.points, "right")])
        if isinstance(item, Family | SetFamily)
        else item
        for item in items
    ]


def pushed(family: Family | SetFamily, to: NDArray[np.float64]) -> Family | SetFamily:
    """The laws with each atom moved to another value; masses that meet are added exactly."""
    if isinstance(family, SetFamily):
        return family.moved(to)
    points, where = np.unique(to, return_inverse=True)
    return replace(family, points=points, laws=tuple(law.scatter(where, len(points)) for law in family.laws))
