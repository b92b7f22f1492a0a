"""The two laws of the worst pair before and after noise, drawn with characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.loss.scan import decayed_sums
from fugu.mechanism import Certificate
from fugu.noise import Laplace

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 64


def laws(certificate: Certificate) -> str:
    """Four lines of bars: both laws before noise, both after; after noise they must look alike."""
    families = [f for f in certificate.families if certificate.worst_pair in f.labels]
    family = (families or list(certificate.families))[0]
    number = family.labels.index(certificate.worst_pair) if families else 0
    names = certificate.worst_pair.split(" vs ") if " vs " in certificate.worst_pair else ["first law", "second law"]
    pair = list(family.pairs[number])
    before = family.weights[pair]
    after = before
    noise = certificate.noise
    if noise.scale > 0 and isinstance(noise, Laplace):
        after = decayed_sums(family.points, before, float(1 / noise.rate)).total(before)
    width = max(len(name) for name in names)
    lines = ["before noise"]
    lines += [f"  {name:<{width}} {_bars(family.points, row)}" for name, row in zip(names, before, strict=False)]
    lines += ["after noise"]
    lines += [f"  {name:<{width}} {_bars(family.points, row)}" for name, row in zip(names, after, strict=False)]
    return "\n".join(lines) + "\n"


def _bars(points: NDArray[np.int64], heights: NDArray[np.float64]) -> str:
    """Heights summed into equal cells along the axis, each as one character."""
    span = max(1, int(points[-1] - points[0]))
    cells = min(_WIDTH, span + 1)
    place = ((points - points[0]) * (cells - 1) // span).astype(np.int64)
    summed = np.bincount(place, weights=heights, minlength=cells)
    scaled = np.ceil(summed / summed.max() * (len(_BARS) - 1)).astype(int)
    return "".join(_BARS[level] for level in scaled)
