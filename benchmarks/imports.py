"""How long `import fugu` takes, and what is heavy in it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.measure import Row, Size

_LIMIT = 0.4
_HEAVY = 0.01
"""Seconds from which a package is listed."""
_USED = "import fugu; fugu.calibrate, fugu.epsilon, fugu.Discrete, fugu.Scenario"


def imports(size: Size) -> Iterator[Row]:
    """Seconds beyond an empty interpreter: the bare import, and with the names most scripts use."""
    empty, bare, used = (_seconds(code, size) for code in ("pass", "import fugu", _USED))
    yield Row("import", "import fugu", bare - empty, "s", _LIMIT)
    yield Row("import", "import fugu, beside the interpreter's own start", bare / empty, "x python")
    yield Row("import", "and calibrate, epsilon, Discrete, Scenario", used - empty, "s", _LIMIT)
    for name, seconds in _heavy(_USED):
        yield Row("import", f"of that: {name}", seconds, "s")


def _seconds(code: str, size: Size) -> float:
    """The best of ten fresh interpreters, by the clock."""
    best = float("inf")
    for _ in range(3 if size.quick else 10):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        best = min(best, time.perf_counter() - start)
    return best


def _heavy(code: str) -> list[tuple[str, float]]:
    """Packages by the time their own modules take; importtime itself slows them, so this is a guide."""
    command = [sys.executable, "-X", "importtime", "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    spent: dict[str, float] = {}
    for line in done.stderr.splitlines():
        own, _, module = (part.strip() for part in line.removeprefix("import time:").split("|"))
        if own.isdigit():
            package = module.split(".")[0]
            spent[package] = spent.get(package, 0.0) + int(own) / 1e6
    return sorted(((p, s) for p, s in spent.items() if s >= _HEAVY), key=lambda entry: -entry[1])
