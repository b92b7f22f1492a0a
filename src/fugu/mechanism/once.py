"""`Once`: the one release of a mechanism, whatever the number of threads, copies and processes."""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn, Self

from fugu.errors import AlreadyReleased, UsageError

_forks = 0
"""How many forks lie between this process and the one that fugu was first imported in."""


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def process() -> tuple[int, int]:
    """What tells this process from those it was forked from and those that fork from it.

    Numbers of processes are used again, so forks are counted; and not every program that forks says so, so the number
    is looked at too."""
    return os.getpid(), _forks


class Once:
    """A token that can be taken once, in the process that made it: a fork would otherwise give every child one.

    In a child it is spent, also if the parent never uses its own. A copy shares the token."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._born = process()

    def take(self) -> None:
        """Take it, or raise `AlreadyReleased`."""
        if self._born != process():  # before the lock, which a thread of the parent may hold for ever
            raise AlreadyReleased(
                "this mechanism was made before a fork, and only the process that made it may release: each process "
                "would draw anew. Release before the fork, or make the mechanism in the one process that releases"
            )
        with self._lock:
            if self._taken:
                raise AlreadyReleased(
                    "this mechanism has released once, and its guarantee is for one release: two releases that leak "
                    "nothing alone can reveal everything together. Calibrate for both values at once, or use other data"
                )
            self._taken = True

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "a mechanism releases once, so it cannot be stored or sent to another process; save its certificate, and "
            "release in the process that made it"
        )
