"""Raw values and the query of a certificate: which bins they go through before anything else."""

from __future__ import annotations

from fugu.documents.certificate import Certificate
from fugu.errors import NotProvable
from fugu.scenario.query import Query

ONE_RECORD = "one record"
"""The unit of sums and tables over records (`fugu.answer`)."""


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
