"""The memory of a calibration, in arrays of n doubles; each case in a process of its own."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from benchmarks.measure import Row, Size

_ATOMS = 10**6
_LIMIT = 12.0
_CLEAR = Path("/proc/self/clear_refs")


def peaks(size: Size) -> Iterator[Row]:
    """What `least` and `fugu.calibrate` allocate beyond the laws they are given."""
    n = size.of(_ATOMS)
    for kind, stage, how in product(("lattice", "real"), ("search", "calibrate"), ("resident", "traced")):
        used = _child(stage, kind, n, how)
        yield Row("memory", f"{stage}, {kind} atoms, {how} peak", used, "x n doubles", _LIMIT)


def _child(stage: str, kind: str, n: int, how: str) -> float:
    """The increase of the peak in a fresh process, in units of 8 n bytes."""
    command = [sys.executable, "-m", "benchmarks.memory", stage, kind, str(n), how]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout))


def _measure(stage: str, kind: str, n: int, how: str) -> float:
    import fugu
    from benchmarks.inputs import pair, rounded
    from fugu.calibration.lattice import least

    budget = fugu.Pure(0.1)
    fugu.calibrate(pair(50, kind), budget, method="exact")  # imports and tables, before the count begins
    given = pair(n, kind)
    if how == "traced":
        tracemalloc.start()
    before = resident(reset=True)
    if stage == "search":
        least(rounded(given, budget), budget.asks(), fugu.Laplace)
    else:
        fugu.calibrate(given, budget, method="exact")
    used = tracemalloc.get_traced_memory()[1] if how == "traced" else resident() - before
    return used / (8 * n)


def resident(reset: bool = False) -> int:
    """The highest resident set so far, in bytes.

    Linux: VmHWM, which can be reset to leave out what building the laws took; ru_maxrss would not do, as it
    survives exec and so starts from the size of the parent. Elsewhere: ru_maxrss, a lower bound on the increase."""
    if not _CLEAR.exists():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak
    if reset:
        gc.collect()
        _CLEAR.write_text("5", encoding="ascii")  # proc(5): the peak restarts from the present
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])))
