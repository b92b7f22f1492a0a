"""Figures 5 and 6 of *Rényi Pufferfish Privacy* with the least allocation; writes docs/training.svg."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, Size
from benchmarks.svg import Series, chart
from fugu.iterate import shift_bound

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_TIMES = (1, 2, 3, 5, 9, 20, 50, 100, 200, 500, 1000)


def shifts(rho: float, steps: int) -> np.ndarray:
    """The first record moves step 1 by 1; all others have the correlation rho with it."""
    return np.r_[1.0, np.full(steps - 1, rho)]


def figure(_size: Size) -> Iterator[Row]:
    """The picture; and how much less than step by step the least allocation proves, at 1000 steps."""
    (_DOCS / "training.svg").write_text(_picture(), encoding="utf-8")
    added = float(np.square(shifts(0.1, 1000)).sum())
    gain = shift_bound([1.0, *[0.0] * 999], 1, 2).epsilon
    yield Row("training", "1000 steps, independent records: the least allocation", gain, "of adding up", 0.01)
    yield Row(
        "training", "1000 steps, correlation 0.1", shift_bound(shifts(0.1, 1000), 1, 2).epsilon / added, "the same"
    )


def _picture() -> str:
    def least(rho: float) -> tuple[tuple[float, float], ...]:
        return tuple((t, shift_bound(shifts(rho, t), 1, 2).epsilon) for t in _TIMES)

    fading = tuple((t, shift_bound(1 / np.arange(1, t + 1), 1, 2).epsilon) for t in _TIMES)
    added = tuple((t, float(np.square(shifts(0.1, t)).sum())) for t in _TIMES)
    return chart(
        "What the weights after T steps reveal about the first record",
        "Rényi divergence of order 2 (lower is better), one record a step, all constants 1, on logarithmic axes",
        "T, the number of steps",
        [
            Series("all records equal", "group privacy", least(1.0)),
            Series("correlation 0.1", "with every other record", least(0.1)),
            Series("correlation 1/t", "fading with time", fading),
            Series("independent", "differential privacy", least(0.0)),
            Series("0.1, added up", "no noise hides for others", added, dashed=True),
        ],
    )
