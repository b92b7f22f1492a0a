"""The memory of a calibration, in arrays of n doubles; each case in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator

from benchmarks.measure import Row, Size

_ATOMS = 10**6
_LIMIT = 12.0
_PROVED = 10**5
"""With tracemalloc on, the proof is several times slower; its own memory is bounded by a block, whatever n."""
_STAGES = ("search", "calibrate")


def peaks(size: Size) -> Iterator[Row]:
    """What `least` and `fugu.calibrate` allocate beyond the laws they are given."""
    for kind in ("lattice", "real"):
        for stage in _STAGES:
            n = size.of(_ATOMS)
            rss = _child(stage, kind, n, "rss")
            yield Row("memory", f"{stage}, {kind} atoms, resident set", rss, "x n doubles", _LIMIT)
            traced = _child(stage, kind, n, "traced")
            yield Row("memory", f"{stage}, {kind} atoms, tracemalloc", traced, "x n doubles", _LIMIT)


def _child(stage: str, kind: str, n: int, how: str) -> float:
    """The increase of the peak in a fresh process, in units of 8 n bytes."""
    command = [sys.executable, "-m", "benchmarks.memory", stage, kind, str(n), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def _measure(stage: str, kind: str, n: int, how: str) -> float:
    import fugu
    from benchmarks.inputs import pair
    from fugu.calibration.exact import least
    from fugu.calibration.problem import problem

    budget = fugu.Pure(0.1)
    fugu.calibrate(pair(50, kind), budget, method="exact")  # imports and tables, before the count begins
    given = pair(n, kind)
    if how == "traced":
        tracemalloc.start()
    before = _peak_rss()
    if stage == "search":
        (family,) = problem((given,), budget).families
        least(family, budget, lattice=True)
    else:
        fugu.calibrate(given, budget, method="exact")
    used = tracemalloc.get_traced_memory()[1] if how == "traced" else _peak_rss() - before
    return used / (8 * n)


def _peak_rss() -> int:
    """The highest resident set so far, in bytes (Linux counts kilobytes, macOS bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])))
