"""A question of the law route, proved for an open table: everything of `fugu.answer` but the draw."""

from __future__ import annotations

from fugu.queries.answer import counted
from fugu.queries.law_price import LawPrice


def prepare(table, query, protect, budget, reference, **more):
    """The mechanisms and the exact numbers of every group."""
    return LawPrice.of(reference, query, protect, budget, **more).open(table)


def numbers_of(prepared):
    """The exact numbers of every group: what the one place where rows meet noise hands to the noise."""
    numbers = counted(prepared, prepared.private, prepared.grouping).astype(float)
    return dict(zip(prepared.grouping.names, numbers, strict=True))
