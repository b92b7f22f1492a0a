"""One live caller per request: others with the same id wait, and then read the stored value.

On Linux a byte of a side file is locked, at a place that the id decides; the system drops the lock when its holder
dies, so a crashed request can be taken up at once. (Two ids at one place only wait for each other.) Where there are no
such locks, two callers may both evaluate; one value is stored and both return it, the other is thrown away unseen."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fugu.errors import BadLedger, LedgerBusy
from fugu.ledger.chain import sha256

_LAYOUT = "hhqqi4x"


@contextmanager
def claim(path: Path, name: str, timeout: float) -> Iterator[None]:
    """Hold the request while the block runs, or raise `LedgerBusy` after the timeout."""
    if sys.platform != "linux":
        yield
        return
    import fcntl

    try:
        held = os.open(path.with_name(path.name + "-claims"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadLedger(
            f"no file can be written beside the ledger {path.name!r}; check the folder's permissions"
        ) from error
    try:
        place = int(sha256(name)[:15], 16)
        wanted = struct.pack(_LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
        end = time.monotonic() + timeout
        while not _taken(held, wanted):
            if time.monotonic() > end:
                raise LedgerBusy("another caller is evaluating this request; wait, and repeat with the same id")
            time.sleep(0.002)
        yield
    finally:
        os.close(held)


def _taken(held: int, wanted: bytes) -> bool:
    import fcntl

    try:
        fcntl.fcntl(held, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        return False
    return True
