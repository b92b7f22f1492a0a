"""The processes that do the work, and how they are spoken to: a line of JSON there, lines of JSON back. Each can be
stopped at any moment; what a release has charged by then, the next one finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, final

Json = dict[str, Any]
Heard = Callable[[str, int, int], None]
STOPPED = "This was stopped."
_LONG = "This took longer than {:.0f} seconds, so it was stopped. Ask for less, or use the command line."


@final
class Child:
    """A process that answers one request after the other; it is started when it is first asked, and again after it was
    stopped. `kind`: which of the functions of `work` it has, which says what it may open."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._process: subprocess.Popen[bytes] | None = None
        self._room: tempfile.TemporaryDirectory[str] | None = None
        self._turn = threading.Lock()

    def start(self) -> subprocess.Popen[bytes]:
        """The process, which begins to import what it needs."""
        if self._process is None:
            if self.kind == "check":  # whose files go with it, however it ends
                self._room = tempfile.TemporaryDirectory(prefix="fugu-studio-")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "fugu.studio.work", self.kind],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=None if self._room is None else {**os.environ, "TMPDIR": self._room.name},
                start_new_session=True,  # Ctrl-C is for the studio: a release that has begun comes to its end
            )  # fmt: skip
        return self._process

    def ask(self, asked: Json, seconds: float, heard: Heard | None = None) -> Json:
        """What is answered, or {"refused": why}; `heard` is told how far it is."""
        with self._turn:
            process = self.start()
            assert process.stdin is not None
            assert process.stdout is not None
            late = threading.Timer(seconds, process.kill)
            late.daemon = True
            late.start()
            try:
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
                for line in process.stdout:
                    told: Json = json.loads(line)
                    if "answer" in told:
                        return dict(told["answer"])
                    if heard is not None:
                        heard(*told["progress"])
            except (OSError, ValueError):
                pass  # it has ended, in the middle of a line perhaps
            finally:
                over = late.finished.is_set()
                late.cancel()
            self._end()
            return {"refused": _LONG.format(seconds) if over else STOPPED}

    def stop(self) -> None:
        """End the process, whatever it does; who waits for an answer is told."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process when it has nothing to do."""
        with self._turn:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError):  # what was not taken by a process that is gone
                process.communicate()
        if self._room is not None:
            self._room.cleanup()


@final
@dataclass(eq=False)
class Job:
    """Work in a process of its own, which a page waits for: `what` it is, how far it has come, and what came out."""

    what: str
    kind: str
    asked: Json
    seconds: float
    done: Callable[[Json], None] = field(repr=False)
    """Told what came out, once."""
    stage: str = "beginning"
    part: tuple[int, int] = (0, 0)
    answer: Json | None = None

    def __post_init__(self) -> None:
        self.child = Child(self.kind)
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether nothing has come out yet."""
        return self.answer is None

    def stop(self) -> None:
        """End it."""
        self.child.stop()

    def _run(self) -> None:
        answer = self.child.ask(self.asked, self.seconds, self._heard)
        self.child.close()
        self.done(answer)
        self.answer = answer

    def _heard(self, what: str, done: int, total: int) -> None:
        self.stage, self.part = what, (done, total)
