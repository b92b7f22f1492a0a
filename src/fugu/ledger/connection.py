"""One connection to the file for each process, shared by its threads."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from fugu.ledger import store

_INHERITED: list[sqlite3.Connection] = []
"""Connections that came through a fork: kept and never used, for SQLite must not close them in the child."""


class Connected:
    """Opens the file when it is needed; a lock lets one thread at a time use the connection."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path, self._timeout = path, timeout
        self._lock, self._pid = threading.RLock(), 0
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._set_aside()
            if self._db is not None:
                self._db.close()
            self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def _read(self, what: Callable[..., Any], *args: Any) -> Any:
        with self._lock, store.named_errors(self.path):
            db = self._open()
            with store.reading(db):
                return what(db, *args)

    def _open(self) -> sqlite3.Connection:
        """The connection of this process."""
        self._set_aside()
        if self._db is None:
            self._db, self._pid = store.connect(self.path, self._timeout), os.getpid()
        return self._db

    def _set_aside(self) -> None:
        if self._db is not None and self._pid != os.getpid():
            _INHERITED.append(self._db)
            self._db = None
