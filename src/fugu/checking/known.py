"""Which data sets of a ledger hold the same people, or the same rows: for the owner, and without charging anything."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from fugu.checking.overlap import Overlap
from fugu.data.field import is_gone
from fugu.data.frame import Table
from fugu.data.schema import ABSENT
from fugu.errors import UsageError
from fugu.ledger.fingerprint import Keyed, fingerprints, keyed_marks
from fugu.ledger.keys import key_of
from fugu.ledger.people import beyond_chance, within
from fugu.ledger.sets import stored
from fugu.ledger.state import Registered
from fugu.ledger.store import File, View


def in_ledger(
    table: Table, ledger: str | os.PathLike[str], unit: str | None, data: str | None = None
) -> list[Overlap | None]:
    """Of every data set that the ledger would take for one of the same people: how many of them are in both.

    By the column that names the person, where the ledger knows who is in the data set; else by its rows. `data`: the
    name of the table itself in the ledger, which may be new yet."""
    path = Path(ledger)
    if not path.is_file():
        if data is not None:
            return []
        raise UsageError(f"no ledger {path.name!r}; check the path")
    named = () if unit is None or unit not in table.columns else table.raw(unit).to_list()
    marks = fingerprints(table, [cell for cell in named if not is_gone(cell, frozenset(ABSENT))] or None)

    def look(view: View) -> list[Overlap | None]:
        own = keyed_marks(marks, key_of(view, path))
        others = {name: known for name, known in view.state.sets.items() if name != data}
        return [_shared(view, own, name, known, len(table)) for name, known in others.items()]

    return File(path, 30.0).read(look)


def _shared(view: View, own: Keyed, name: str, known: Registered, rows: int) -> Overlap | None:
    """What of the table is in one data set; None if nothing is, or no more than by chance."""
    other = f"data set {name!r} of the ledger"
    if own.people is not None and known.people:
        inside = np.any([within(own.people, stored(view, held)) for held in known.people], axis=0)
        shared = int(np.count_nonzero(inside))
        return Overlap(other, "people", shared, len(own.people), None, True) if shared else None
    if (bits := own.rows) is not None:
        for held in known.rows:
            if beyond_chance(bits, theirs := stored(view, held)):
                return Overlap(other, "rows", int(within(bits, theirs).sum()), rows, None, True)
    same = bool(own.marks.keys() & set(known.marks))
    return Overlap(other, "rows", rows, rows, None, True) if same else None
