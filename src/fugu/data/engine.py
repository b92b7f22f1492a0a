"""The embedded engine (duckdb), and where it puts what does not fit into memory: a private folder that does not stay.

Left to itself it spills private rows into `./.tmp`, readable by everybody, and leaves them there when it is killed."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from fugu.errors import BadTable, UsageError

_PREFIX = "fugu-spill-"
_own: tuple[int, int, Path] | None = None
"""Process, open descriptor (which holds the lock) and folder."""


def connect() -> Any:
    """A connection in memory that loads no extension and spills into this process's own folder only."""
    import duckdb

    safe = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    made = duckdb.connect(config={**safe, "temp_directory": str(spill_folder() / "spill")})
    made.execute("SET enable_progress_bar = false")  # it would be drawn on stdout, into the JSON of a command
    return made


def refused(error: Exception, otherwise: str) -> BadTable:
    """What an error of the engine means to a reader: too little room if it says so, else `otherwise`.

    Its own message is not passed on, because it may quote a cell."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return BadTable(
            "there is not enough memory, or room in the folder for temporary files, to read the table; free some, name "
            "a larger folder in TMPDIR, or give a table with fewer rows or columns"
        )
    if isinstance(error, duckdb.IOException) and "No space left" in str(error):
        return BadTable("no space is left in the folder for temporary files; name a larger one in TMPDIR")
    return BadTable(otherwise)


def spill_folder() -> Path:
    """This process's folder for temporary files: 0700, under a random name, removed when the process ends.

    A process that is killed leaves its folder; the next one that needs a folder removes it. The folder itself is
    locked while its process lives, which no reuse of process numbers can fake; a fork gets a folder of its own."""
    global _own
    if _own is not None and _own[0] == os.getpid() and _own[2].is_dir():
        return _own[2]
    _sweep(Path(tempfile.gettempdir()))
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))  # 0700
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(
                f"no folder for temporary files can be made ({error.strerror}); name one in TMPDIR"
            ) from None
        with suppress(OSError):  # where folders cannot be locked, nobody sweeps them either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():  # not swept before it was locked
            break
        os.close(lock)
    _own = os.getpid(), lock, folder
    atexit.register(_remove, os.getpid(), folder)
    return folder


def _remove(process: int, folder: Path) -> None:
    if os.getpid() == process:  # not in a fork
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what dead processes left: folders of this user, of our name and mode, that nobody holds."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                known = os.fstat(held)
                if known.st_uid == os.getuid() and stat.S_IMODE(known.st_mode) == 0o700:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its process lives
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)
