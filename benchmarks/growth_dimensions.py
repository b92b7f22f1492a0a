"""How the time grows with atoms in the plane, coordinates, and states; writes docs/growth.svg and docs/growth.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import fugu
from benchmarks.covariance import _child
from benchmarks.influence import _kernel
from benchmarks.measure import Row, Size, race
from benchmarks.svg import Series, chart
from benchmarks.transport import _cloud
from fugu.transport.matching import bottleneck, in_space

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_NAMES = {
    "plane": ("W_inf in the plane", "n atoms a law, counts"),
    "covariance": ("optimal covariance", "d coordinates, 10 d pairs"),
    "influence": ("influence curve", "k states, T = 1000, b <= 60"),
    "translate": ("dp_budget", "k states, T = 1000"),
}


def dimensions(size: Size) -> Iterator[Row]:
    """Each task at several sizes, in units of sorting a million doubles; a quick run writes no file."""
    random = np.random.default_rng(1).random(10**6)
    unit = race(7, sort=lambda: np.sort(random))["sort"]
    found: dict[str, dict[int, float]] = {name: {} for name in _NAMES}
    for n in (500, 1000, 2000, 5000, 10_000)[: 3 if size.quick else None]:
        space = in_space(_cloud(n, 2), _cloud(n, 3), 2)
        found["plane"][n] = _once(lambda space=space: bottleneck(space, Fraction(0))) / unit  # type: ignore[misc]
    for d in (5, 10, 20, 50)[: 2 if size.quick else None]:
        found["covariance"][d] = _child(d, 10 * d, 1)["trace"] / unit
    for k in (5, 11, 20, 40, 78)[: 2 if size.quick else None]:
        kernel = _kernel(k)
        found["influence"][k] = _once(lambda p=kernel: fugu.influence(fugu.MarkovChain(p, 1000))(60)) / unit  # type: ignore[misc]
    for k in (2, 5, 20, 78)[: 2 if size.quick else None]:
        kernel = _kernel(k)
        found["translate"][k] = _once(lambda p=kernel: fugu.dp_budget(fugu.MarkovChain(p, 1000), 1)) / unit  # type: ignore[misc]
    if not size.quick:
        (_DOCS / "growth.svg").write_text(_picture(found), encoding="utf-8")
        (_DOCS / "growth.md").write_text(_page(found), encoding="utf-8")
    for name, times in found.items():
        last = max(times)
        yield Row("dimensions", f"{_NAMES[name][0]}, size {last:,}", times[last], "x sort of 1e6")


def _once(task: Callable[[], object]) -> float:
    return float(race(1, task=task)["task"])


def _picture(found: dict[str, dict[int, float]]) -> str:
    lines = [Series(*_NAMES[name], tuple(sorted(times.items()))) for name, times in found.items()]
    return chart(
        "How the time grows with the size of the problem",
        "CPU time of one run; 1 is np.sort of a million doubles",
        "size: atoms of a law in the plane, coordinates of a vector, or states of a chain",
        lines,
    )


def _page(found: dict[str, dict[int, float]]) -> str:
    rows = [
        f"| {_NAMES[name][0]} | {_NAMES[name][1]} | {n:,} | {x:.3g} |" for name, times in found.items()
        for n, x in sorted(times.items())
    ]  # fmt: skip
    head = ["| task | size is | size | x sort of 1e6 |", "|---|---|---:|---:|"]
    return "\n".join([_ABOVE, *head, *rows, _BELOW])


_ABOVE = """# How the time grows with dimensions and states

![Time against size, both on logarithmic axes](growth.svg)

CPU times of one run each, divided by the time `numpy.sort` takes for a million random doubles in the same run.
"""
_BELOW = """
`python -m benchmarks dimensions` measures this again and writes this page and its picture.
"""
