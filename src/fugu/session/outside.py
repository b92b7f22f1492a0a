"""Mechanisms from outside that are private for each record, charged to a session with the columns they read."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fugu.data.private import Private
from fugu.errors import BadBudget, ColumnNotFound, UsageError
from fugu.guarantee.numbers import exact
from fugu.mechanism.entry_release import PerEntryRelease
from fugu.mechanism.per_entry import PerEntryDP
from fugu.queries.features import Feature, Whole, whole
from fugu.queries.noised import OUTSIDE, Noised
from fugu.queries.table_belief import TableBelief
from fugu.session.books import Books, charge_for

_FAILED = "failed"


def outside(
    books: Books, private: Private, mechanism: PerEntryDP, columns: Sequence[str], request: str | None
) -> PerEntryRelease:
    """Charge the mechanism for the columns, then run it on them as they were read."""
    names = tuple(dict.fromkeys(columns))
    for name in names:
        if name not in private.table.columns:
            raise ColumnNotFound(name, private.table.columns)
    noised = question(books.belief, mechanism, names)
    data = {name: whole(private.schema, private.table, name) for name in names}

    def produce() -> PerEntryRelease | dict[str, str]:
        try:
            return mechanism.release(data[names[0]] if len(names) == 1 else data, charged=True)
        except UsageError as failure:  # that it failed is an answer too: run again, it would be a second one
            return {_FAILED: str(failure)}

    found = books.spend(request or uuid.uuid4().hex, charge_for([noised]), produce)
    if isinstance(found, dict):
        raise UsageError(found[_FAILED])
    return found


def check_outside(mechanism: PerEntryDP, columns: Sequence[str]) -> None:
    """Refuse what no session runs, before the table is opened."""
    if not isinstance(mechanism, PerEntryDP):
        raise UsageError(f"a session runs a fugu.PerEntryDP, got {type(mechanism).__name__}")
    if not mechanism.guarantee.pure:
        raise BadBudget("a session takes mechanisms with a pure epsilon; one with a delta needs a ledger of its own")
    if isinstance(columns, str) or not columns:
        raise UsageError("columns is a list of the columns that the mechanism gets, at least one")


def question(belief: TableBelief, mechanism: PerEntryDP, columns: tuple[str, ...]) -> Noised:
    """The mechanism as a question: its epsilon where the columns differ."""
    features: list[Feature] = []
    for name in columns:
        known = whole(belief.reading, belief.table, name) if name in belief.table.columns else np.zeros(1)
        features.append(Whole(name, len(np.unique(known))))
    rates: dict[str, tuple[Fraction, ...]] = {"": (exact(mechanism.guarantee.epsilon),)}
    return Noised(f"outside: {mechanism.name}", OUTSIDE, None, tuple(features), OUTSIDE, rates)
