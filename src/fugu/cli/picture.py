"""The two laws of the worst pair before and after noise, drawn with characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.cli.console import escape
from fugu.mechanism import Certificate
from fugu.report.curves import distribution, groups
from fugu.report.views import View, views

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 64


def laws(certificate: Certificate) -> str:
    """Four lines of bars: both laws before noise, both after; after noise they must look alike."""
    view = views(certificate, most=1)[0]
    before, after = _heights(view)
    names = (escape(view.first), escape(view.second))
    width = max(len(name) for name in names)
    lines = ["before noise"]
    lines += [f"  {name:<{width}} {_bars(row)}" for name, row in zip(names, before, strict=True)]
    lines += ["after noise"]
    lines += [f"  {name:<{width}} {_bars(row)}" for name, row in zip(names, after, strict=True)]
    return "\n".join(lines) + "\n"


def _heights(view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities of equal cells along the axis before and after noise, one row a law."""
    points, weights = view.pair.points, view.pair.weights
    first, group = groups(*view.shown, _WIDTH)
    inside = (points >= view.shown[0]) & (points <= view.shown[1])
    place = (points[inside] - first[0]) // group
    before = np.array([np.bincount(place, weights=row[inside], minlength=len(first)) for row in weights])
    if not view.noisy:
        return before, before
    edges = np.append(first - 1, first[-1] + group - 1)
    return before, np.maximum(np.diff(distribution(view, edges), axis=1), 0.0)


def _bars(heights: NDArray[np.float64]) -> str:
    """Each height as one character."""
    scaled = np.ceil(heights / (heights.max() or 1.0) * (len(_BARS) - 1)).astype(int)
    return "".join(_BARS[level] for level in scaled)
