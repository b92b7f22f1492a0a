"""The hash chain: every event holds the hash of the one before it, so no event can be changed, moved or dropped unseen.

hash = SHA-256 of [seq, at, kind, body, previous], the very text that stands in the file. The last hash is the head. A
head that was exported and is no longer in the chain shows that the file was rolled back or rewritten."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

START = "0" * 64


@dataclass(frozen=True)
class Event:
    """One line of the log, and where it begins; `attached` is where something lies whose SHA-256 is in the body: (first
    byte, length)."""

    seq: int
    at: str
    kind: str
    body: dict[str, Any]
    hash: str
    previous: str
    place: int = 0
    attached: tuple[int, int] | None = None


def sha256(text: str) -> str:
    """SHA-256 of a text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def stated(seq: int, at: str, kind: str, body: str, previous: str) -> str:
    """The text that is hashed."""
    return json.dumps([seq, at, kind, body, previous], ensure_ascii=True, separators=(",", ":"))


def written(body: dict[str, Any]) -> str:
    """A body as text: equal bodies have equal texts."""
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def now() -> str:
    """The time of an event."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def parsed(text: bytes, stated: str) -> Event | None:
    """The event that a text states, if it has this hash; else None."""
    if hashlib.sha256(text).hexdigest() != stated:
        return None
    try:
        seq, at, kind, body, previous = json.loads(text)
        content = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return None
    if type(seq) is not int or not isinstance(content, dict):
        return None
    return Event(seq, str(at), str(kind), content, stated, str(previous))


def proof_of(body: dict[str, Any]) -> str | None:
    """The SHA-256 of what is attached to an event: the value of a settled request, the key of a new file."""
    found = body.get("sha256", body.get("key"))
    return found if isinstance(found, str) else None
