"""A question of the law route, proved for an open table: everything of `fugu.answer` but the draw."""

from __future__ import annotations

from fugu.queries.statistics_release import Believed, open_query


def prepare(table, query, protect, budget, reference, **more):
    """The mechanisms and the exact numbers of every group."""
    return open_query(Believed.of(reference, query, protect, **more), table, budget)[0]
