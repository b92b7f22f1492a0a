"""Checkpoints: events that hold all that the events before them add up to, so that nobody has to read those again.

    body      {"state": [length, SHA-256], "table": [count, root], "tables": [[place, count, root], ...], "merged": m,
               "sha256": SHA-256 of all that is attached}
    attached  the state as JSON, and a table of the requests since the checkpoint before (`index`)

It is an event of the chain like any other: whoever edits it, or what is attached, breaks its hash or a digest in it,
and the next look refuses. Whoever has read all events since the one before (a process that was open, or a full check)
works the same checkpoint out again and compares: one that does not follow from the events is refused, too. What is
attached and read by nobody else is checked by `verify`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from fugu.errors import LedgerBroken
from fugu.ledger.chain import Event
from fugu.ledger.index import Read, Table, entry_of, key_of, merged
from fugu.ledger.state import State

KIND = "checkpoint"
EVERY = 512
"""A checkpoint is due after so many events, or after so many bytes of them; and not before they outweigh its state."""
MOST = 1 << 22


def due(events: int, size: int, weight: int) -> bool:
    """Whether a checkpoint is due: so many events and bytes were read behind the last, whose state takes `weight`."""
    return (events >= EVERY or size >= MOST) and size >= weight


def made(
    state: State, since: int, tables: Sequence[Table], read: Read, known: dict[str, bytes]
) -> tuple[dict[str, Any], bytes]:
    """Body and attachment of the checkpoint of a state; `since`: where the one before stands."""
    own = _entries(state, since)
    number = merged((table.count for table in tables), len(own))
    text = json.dumps(state.to_json(), ensure_ascii=True, separators=(",", ":")).encode()
    content, count, root = _table(own, tables[len(tables) - number :], read, known)
    attached = text + content
    body = {
        "state": [len(text), hashlib.sha256(text).hexdigest()],
        "table": [count, root],
        "tables": [table.to_json() for table in tables[: len(tables) - number]],
        "merged": number,
        "sha256": hashlib.sha256(attached).hexdigest(),
    }
    return body, attached


def taken(event: Event, read: Read) -> tuple[State, tuple[Table, ...]]:
    """What a checkpoint says: the state, and where its tables lie."""
    try:
        assert event.attached is not None
        (length, digest), (count, root) = event.body["state"], event.body["table"]
        text = read(event.attached[0], int(length))
        if hashlib.sha256(text).hexdigest() != digest:
            raise ValueError(digest)
        own = Table(event.attached[0] + int(length), int(count), str(root))
        earlier = (Table(int(p), int(n), str(r)) for p, n, r in event.body["tables"])
        return State.from_json(json.loads(text)), (*earlier, own)
    except (AssertionError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise LedgerBroken(
            f"the checkpoint at event {event.seq} is not the one that was written: the ledger was edited or damaged"
        ) from error


def compare(
    event: Event, state: State, since: int, tables: Sequence[Table], read: Read, known: dict[str, bytes]
) -> tuple[Table, ...]:
    """The tables after a checkpoint that was reached by its events; `LedgerBroken` if it does not follow from them."""
    stated, after = taken(event, read)
    number = event.body.get("merged")
    if isinstance(number, int) and 0 <= number <= len(tables):
        earlier = len(tables) - number
        _, count, root = _table(_entries(state, since), tables[earlier:], read, known)
        same = (count, root) == (after[-1].count, after[-1].root) and after[:-1] == tuple(tables[:earlier])
        if same and stated.to_json() == state.to_json():
            return after
    raise LedgerBroken(f"the checkpoint at event {event.seq} does not follow from the events before it")


def _entries(state: State, since: int) -> dict[bytes, bytes]:
    """The entries of the requests that changed behind a place."""
    changed = (
        (key_of(*name), asked.entered, asked.ended)
        for name, asked in state.asked.items()
        if max(asked.entered[0], 0 if asked.ended is None else asked.ended[0]) > since
    )
    return {key: entry_of(key, entered, ended) for key, entered, ended in changed}


def _table(
    own: dict[bytes, bytes], earlier: Sequence[Table], read: Read, known: dict[str, bytes]
) -> tuple[bytes, int, str]:
    """The bytes, count and root of a table of these entries and those of earlier tables; the newest holds."""
    entries: dict[bytes, bytes] = {}
    for table in earlier:
        entries |= table.entries(read, known)
    entries |= own
    content, root = Table.made(entries)
    return content, len(entries), root
