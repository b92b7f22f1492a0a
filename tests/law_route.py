"""A question of the law route, proved for an open table: everything of `fugu.answer` but the draw."""

from __future__ import annotations

from types import SimpleNamespace

from fugu.queries.answer import draw
from fugu.queries.law_price import LawPrice


def prepare(table, query, protect, budget, reference, **more):
    """The mechanisms and the exact numbers of every group."""
    return LawPrice.of(reference, query, protect, budget, **more).open(table)


def numbers_of(prepared):
    """The exact numbers of every group: what the one place where rows meet noise hands to the noise."""
    bare = SimpleNamespace(
        features=prepared.features, facts=prepared.facts, blurred=lambda numbers, _names, _source: numbers.astype(float)
    )
    groups = prepared.grouping
    exact = draw(bare, prepared.price.reading, prepared.private.table, groups.rows, groups.names)
    return dict(zip(groups.names, exact, strict=True))
