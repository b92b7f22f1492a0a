"""Timing by races: the sides take turns, each keeps its best lap, and only ratios of laps are reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

Side = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of the table: a measured value, and the limit it is read against (None: reported only)."""

    topic: str
    case: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def target(self) -> str:
        """The limit in words."""
        return "" if self.limit is None else f"{'>=' if self.at_least else '<='} {self.limit:g}"

    @property
    def verdict(self) -> str:
        """Whether the limit is met; information, not a test: machines differ."""
        if self.limit is None:
            return ""
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "met" if met else "missed"


@dataclass(frozen=True)
class Size:
    """How large and how often: the stated sizes, or a tenth of them for a quick look."""

    quick: bool = False

    def of(self, n: int) -> int:
        """The number of atoms or draws to use where the target is stated for `n`."""
        return n // 10 if self.quick else n

    @property
    def laps(self) -> int:
        """How many times each side runs."""
        return 3 if self.quick else 7


def race(laps: int, **sides: Side) -> dict[str, float]:
    """The least CPU seconds of each side; they alternate, so that a slow spell of the machine hits all.

    CPU time of this process and not the clock: what other processes do then changes little."""
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(laps):
        for name, side in sides.items():
            start = time.process_time()
            side()
            best[name] = min(best[name], time.process_time() - start)
    return best


@dataclass
class Meter:
    """Calls of a function and the CPU seconds spent inside it."""

    calls: int = 0
    seconds: float = 0.0


@contextmanager
def metered(module: Any, name: str) -> Iterator[Meter]:
    """Count and time the calls of `module.name` inside the block."""
    meter, inner = Meter(), getattr(module, name)

    def outer(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return inner(*args, **kwargs)
        finally:
            meter.calls += 1
            meter.seconds += time.process_time() - start

    with patch.object(module, name, outer):
        yield meter
