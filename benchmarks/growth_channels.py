"""How the time to find a channel grows with its points; writes docs/channel-growth.svg and docs/channel-growth.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.channel_inputs import local, shifted
from benchmarks.measure import Row, Size, race
from benchmarks.svg import Series, chart
from fugu.channels.find import find
from fugu.channels.problem import ChannelProblem

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_FAMILIES: dict[str, tuple[str, tuple[int, ...], Callable[[int], ChannelProblem]]] = {
    "laws far apart": ("one pair, every point tells", (125, 250, 500, 1000, 2000), lambda n: shifted(n, 2, 3)),
    "few telling points": ("one pair, 1 of 5 points tells", (500, 1000, 2000, 4000, 8000), local),
    "three secrets": ("all pairs", (60, 125, 250, 500), lambda n: shifted(n, 3)),
    "five secrets": ("all pairs", (60, 125, 250, 500), lambda n: shifted(n, 5)),
}


def channels(size: Size) -> Iterator[Row]:
    """Each family at several sizes, in units of sorting a million doubles; a quick run writes no file."""
    random = np.random.default_rng(1).random(10**6)
    found: dict[str, dict[int, float]] = {name: {} for name in _FAMILIES}
    for name, (_, sizes, made) in _FAMILIES.items():
        for n in sizes[: 2 if size.quick else None]:
            problem = made(n)
            took = race(1, sort=lambda: np.sort(random), find=lambda problem=problem: find(problem))
            found[name][n] = took["find"] / took["sort"]
            yield Row("channel growth", f"{name}, {n:,} points", found[name][n], "x sort of 1e6")
    if not size.quick:
        (_DOCS / "channel-growth.svg").write_text(_picture(found), encoding="utf-8")
        (_DOCS / "channel-growth.md").write_text(_page(found), encoding="utf-8")


def _picture(found: dict[str, dict[int, float]]) -> str:
    lines = [Series(name, _FAMILIES[name][0], tuple(sorted(times.items()))) for name, times in found.items()]
    return chart(
        "How the time to find a channel grows with its points",
        "CPU time of one run; 1 is np.sort of a million doubles",
        "points that the laws can take",
        lines,
    )


def _page(found: dict[str, dict[int, float]]) -> str:
    rows = [f"| {name} | {n:,} | {x:.3g} |" for name, times in found.items() for n, x in sorted(times.items())]
    head = ["| problem | points | x sort of 1e6 |", "|---|---:|---:|"]
    return "\n".join([_ABOVE, *head, *rows, _BELOW])


_ABOVE = """# How the time to find a channel grows

![Time against the number of points, both on logarithmic axes](channel-growth.svg)

Point laws, absolute error, epsilon .5. CPU times of one run each, divided by the time `numpy.sort` takes for a million
random doubles in the same run.
"""
_BELOW = """
Every answer is within 1e-9 of the optimum, relatively, by its own prices; `python -m benchmarks channels` shows how
close. `python -m benchmarks channel-growth` measures this again and writes this page and its picture.
"""
