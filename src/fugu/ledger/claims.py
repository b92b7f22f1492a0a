"""One live caller per request: others with the same id wait, and then read the stored value.

On Linux a byte far behind the end of the ledger is locked, at a place that the id decides; the system drops the lock
when its holder dies, so a crashed request can be taken up at once. (Two ids at one place only wait for each other.)
Where there are no such locks, two callers may both evaluate; one value is stored and both return it, the other is
thrown away unseen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from fugu.errors import LedgerBusy
from fugu.ledger.chain import sha256
from fugu.ledger.locks import Held, holding

_FROM = 1 << 61
Result = TypeVar("Result")


def claimed(path: Path, name: str, timeout: float, work: Callable[[], Result]) -> Result:
    """Hold the request while `work` runs, or raise `LedgerBusy` after the timeout."""

    def alone(held: Held) -> Result:
        place = _FROM + int(sha256(name)[:14], 16)
        with suppress(OSError):  # read-only: nothing can be charged, and what is stored can be read by all
            held.open(path, write=True)
        if held.opened and not held.take(place, timeout):
            raise LedgerBusy("another caller is evaluating this request; wait, and repeat with the same id")
        return work()

    return work() if sys.platform != "linux" else holding(alone)
