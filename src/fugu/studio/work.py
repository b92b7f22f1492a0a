"""What runs beside the web process: `python -m fugu.studio.work KIND` answers lines of JSON.

| kind | does | opens |
|---|---|---|
| desk | draws screens, reads forms | the reference, the plan, the ledger, what was published |
| help | measures what would help | the reference |
| look | counts how the private table is read, for its owner | the private table, the reference, the ledger |
| release | charges, draws once, writes | the private table, the reference, the ledger |
| check | checks files that were handed in, within limits | these files alone |

Nothing is written to the terminal, and what a library says of a cell in an error that is not its own is not said."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

Json = dict[str, Any]
DOES = {
    "desk": "fugu.studio.desk:asked", "help": "fugu.studio.levers:helped", "look": "fugu.studio.work:looked",
    "release": "fugu.studio.work:released", "check": "fugu.studio.officer:checked",
}  # fmt: skip
SECONDS, MEMORY, WRITTEN = 20, 2**30, 2**25
"""What a check of files from outside may take: of the processor, of memory beside what the libraries take, of a file
that it writes."""
_OFTEN = 0.1


def main(kind: str) -> None:
    """Answer until nobody asks."""
    out = os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    module, name = DOES[kind].split(":")
    function = getattr(import_module(module), name)
    if kind == "check":
        limit()
    for line in sys.stdin.buffer:
        with suppress(BrokenPipeError):
            tell(out, {"answer": answered(function, json.loads(line), out)})


def limit() -> None:
    """Give this process so much time and memory, and no files larger than what may be handed in."""
    with suppress(ImportError):
        import resource

        import fugu.auditing.examine
        import fugu.report.dossier  # noqa: F401

        taken = 0
        if sys.platform == "linux":
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = {resource.RLIMIT_CPU: SECONDS, resource.RLIMIT_FSIZE: WRITTEN}
        most |= {resource.RLIMIT_AS: taken + MEMORY} if taken else {}
        for what, size in most.items():
            resource.setrlimit(what, (size, size))


def tell(out: BinaryIO, told: Json) -> None:
    """One line."""
    out.write(json.dumps(told).encode() + b"\n")
    out.flush()


def answered(function: Callable[[Json], Json], asked: Json, out: BinaryIO) -> Json:
    """What comes out, or why nothing does; how far it is, now and then."""
    from fugu.errors import FuguError
    from fugu.progress import reporting
    from fugu.releasing.one_door import in_python
    from fugu.visible import visible

    last = [0.0]

    def heard(what: str, done: int, total: int) -> None:
        if time.monotonic() - last[0] > _OFTEN:
            last[0] = time.monotonic()
            with suppress(OSError):  # nobody listens any more, and a release comes to its end nevertheless
                tell(out, {"progress": [visible(what), done, total]})

    try:
        with reporting(heard), in_python():
            return function(asked)
    except FuguError as error:
        return {"refused": visible(str(error)), "status": 400}
    except OSError as error:
        return {"refused": f"a file could not be read or written: {error.strerror}; check the folder", "status": 400}
    except MemoryError:
        return {"refused": "this needs more memory than it is given", "status": 400}
    except Exception as error:  # its text may be of a cell
        return {"refused": f"this failed ({type(error).__name__}); please report it", "status": 500}


def looked(asked: Json) -> Json:
    """How the private table is read, for its owner's eyes: counts, and what is likely behind them, never a cell."""
    from fugu.checking.check import HEAD, OUTSIDE, OWNER, check

    seen = check(asked["table"], asked["reference"], unit=asked["unit"], ledger=asked["ledger"])
    rows = [row for row in seen.rows if row.column in set(asked["columns"])]
    named = [
        f"{row.column}: {said.partition(':')[0]}" for row in rows for said in dict.fromkeys((*row.alarms, *row.causes))
    ]
    return {
        "rows": seen.records, "head": list(HEAD), "outside": OUTSIDE, "marking": OWNER,
        "cells": [line for line in seen.cells() if line[0] in {row.column for row in rows}],
        "causes": [*seen.absent, *named, *(each.words for each in seen.overlaps)],
    }  # fmt: skip


def released(asked: Json) -> Json:
    """Release what the plan says, once: charged, drawn, written. The same plan again gives the same files."""
    from fugu.releasing.one_door import release

    went = release(asked["plan"], asked["table"], asked["out"], asked["ledger"], data=asked["data"])
    return {"files": went.files.to_json(), "repeated": went.repeated, "notes": list(went.notes)}


def main_of(page: str) -> str:
    """What stands on a page, without its head, below the heading of a screen: the page is the house's own, and escaped
    where it was made."""
    inside = page.partition("<main>")[2].rpartition("</main>")[0]
    return re.sub(r"(</?h)([123])\b", lambda found: f"{found[1]}{int(found[2]) + 1}", inside)


if __name__ == "__main__":
    main(sys.argv[1])
