"""What a ledger recognises a frame of Spark by: digests of its cells, worked out where its rows are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np

from fugu.data.frame import Table
from fugu.data.private import Private
from fugu.data.spark import SparkColumns, asked, settled
from fugu.ledger.fingerprint import Gathered, Marks, cells, earlier_marks, fingerprints
from fugu.ledger.gathering import People, text_bits
from fugu.queries.groups import PersonNames
from fugu.scenario.query import persons_in

_BLOCK = 2**16
"""Names that are turned into digests at a time."""


@final
@dataclass(frozen=True, repr=False)
class CellBits:
    """What an executor runs where a ledger is to know the table again: each cell as the 64 bits that stand for it."""

    names: tuple[str, ...]
    texts: frozenset[int]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The columns b0, b1, ... of whole numbers."""
        import pyarrow as pa

        for batch in batches:
            table = settled(pa.Table.from_batches([batch]), self.texts)
            raw = Table({f"b{k}": column for k, column in enumerate(table.columns)})
            found = [pa.array(cells(raw.raw(name)).view(np.int64)) for name in raw.columns]
            yield pa.RecordBatch.from_arrays(found, names=list(raw.columns))


def gathered(frame: Any) -> Gathered:
    """What a ledger recognises a frame by: the same as of the same rows in a file. The digests of its cells come here,
    eight bytes each, and no cell does."""
    source = SparkColumns(frame)
    keyed, found = source.keyed(source.names), Gathered()
    run = CellBits(source.names, keyed.texts)
    kinds = ", ".join(f"b{k} long" for k in range(len(source.names)))
    table = asked(lambda: keyed.frame.mapInArrow(run.__call__, kinds).toArrow())
    found.add_bits(
        {name: table.column(k).to_numpy().view(np.uint64) for k, name in enumerate(source.names)},
    )
    return found


def people_there(source: SparkColumns, names: PersonNames) -> People:
    """Who is in a frame, each once; names come a partition after the other, whenever they are asked for."""
    people = People(lambda: source.each(names.unit, names))
    named = iter(people)
    while block := list(islice(named, _BLOCK)):
        people.bits.add(text_bits(block))
    return people


def opened_marks(private: Private, unit: str | None) -> Marks:
    """The marks of an open table, wherever it is, in which nobody comes twice; `unit`: the column of the person."""
    source = private.whole.source
    if private.apart is None or not isinstance(source, SparkColumns):
        apart = unit is not None and unit not in private.columns
        who = private.persons or persons_in(private.whole, private.schema, unit, apart)
        return fingerprints(private.whole, None if who is None else People.of(who))
    people = None if unit is None else people_there(source, PersonNames(unit, private.schema))
    return gathered(source.frame).marks(people, lambda: earlier_marks(private.whole.cells()))
