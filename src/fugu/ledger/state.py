"""What the events of a ledger add up to: its data sets, its requests, and what counts against each budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fugu.errors import LedgerBroken
from fugu.ledger.chain import Event

RESERVED, SETTLED, FAILED, REFUSED = "reserved", "settled", "failed", "refused"
CHARGED = (RESERVED, SETTLED, FAILED)
"""States in which the charge counts: a failed or crashed evaluation may have shown something of the data."""
_OPEN = "open"


@dataclass(frozen=True)
class Registered:
    """A data set as it was entered. `marks`: what it is recognised by, under the key of the file. `blocks` and `early`:
    data sets of version 0.1 declared no blocks (None) and had one mark of another kind."""

    budget: str
    prior: str | None
    entries: int | None
    marks: tuple[str, ...]
    blocks: tuple[str, ...] | None
    early: bool
    believed: str | None = None
    """The prior in words; versions before 0.4 wrote none."""


@dataclass(frozen=True)
class Asked:
    """A request: where it stands, what it costs, and where its value lies."""

    state: str
    charge: str
    question: str
    planned: int
    note: str
    seq: int
    at: str
    sha256: str | None = None
    value: tuple[int, int] | None = None
    skipped: tuple[str, ...] = ()
    """Secrets of probability 0 under the prior."""
    worth: str | None = None
    """What all charges up to this one promise together, translated with the prior; None without one."""


@dataclass
class State:
    """All data sets and requests of a file."""

    sets: dict[str, Registered] = field(default_factory=dict)
    asked: dict[tuple[str, str], Asked] = field(default_factory=dict)
    sums: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """For each data set its charges: how many of each, the first one's number, whether all were planned."""
    key: tuple[int, int] | None = None
    """Where the key of the file lies."""

    def apply(self, event: Event) -> None:
        """Take one more event in; events that could not have come from fugu are an error."""
        try:
            first = event.kind == _OPEN
            if first != (event.seq == 1):
                raise KeyError(event.kind)
            _MEANT[event.kind](self, event, event.body)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LedgerBroken(f"event {event.seq} makes no sense where it stands: the ledger was edited") from error

    def _open(self, event: Event, body: dict[str, Any]) -> None:  # noqa: ARG002
        self.key = event.attached

    def _register(self, event: Event, body: dict[str, Any]) -> None:  # noqa: ARG002
        early = "marks" not in body
        marks = body["marks"] if not early else [m for m in (body["fingerprint"],) if m is not None]
        blocks = None if "blocks" not in body else tuple(body["blocks"])
        terms = (body["budget"], body["prior"], body.get("entries"))
        if body["dataset"] in self.sets:
            raise KeyError(body["dataset"])
        words = body.get("believed")
        self.sets[body["dataset"]] = Registered(
            *terms, tuple(marks), blocks, early, None if words is None else str(words)
        )

    def _identify(self, event: Event, body: dict[str, Any]) -> None:  # noqa: ARG002
        old = self.sets[body["dataset"]]
        more = body["marks"] if "marks" in body else [body["fingerprint"]]
        self.sets[body["dataset"]] = replace(old, marks=(*old.marks, *more))

    def _nothing(self, event: Event, body: dict[str, Any]) -> None:
        """Of no consequence for what was spent."""

    def _request(self, event: Event, body: dict[str, Any]) -> None:
        name = (body["dataset"], body["request"])
        before = self.asked.get(name)
        if name[0] not in self.sets:
            raise KeyError(name[0])
        if event.kind in (SETTLED, FAILED):
            if before is None or before.state not in (RESERVED, FAILED):
                raise ValueError(event.kind)
            if event.kind == SETTLED:
                self.asked[name] = replace(
                    before, state=SETTLED, note="", sha256=str(body["sha256"]), value=event.attached
                )
            else:
                self.asked[name] = replace(before, state=FAILED, note=str(body["note"]))
            return
        if before is not None and before.state != REFUSED:
            raise ValueError(event.kind)
        told = (str(body["charge"]), str(body["question"]), int(body.get("planned", 0)), str(body.get("note", "")))
        self.asked.pop(name, None)  # a refused request that is asked again goes to the end of the history
        skipped = tuple(map(str, body.get("skipped", ())))
        worth = None if body.get("worth") is None else str(body["worth"])
        self.asked[name] = Asked(event.kind, *told, event.seq, event.at, skipped=skipped, worth=worth)
        if event.kind == RESERVED:
            counted = self.sums.setdefault(name[0], {}).setdefault(told[0], [0, event.seq, 1])
            counted[0] += 1
            counted[2] = min(counted[2], told[2])


_MEANT: dict[str, Callable[[State, Event, dict[str, Any]], None]] = {
    _OPEN: State._open,
    "migrate": State._nothing,
    "register": State._register,
    "identify": State._identify,
    **dict.fromkeys((*CHARGED, REFUSED), State._request),
}
"""What each kind of event does."""
