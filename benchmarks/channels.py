"""Channels of least error for point laws, in units of sorting a million doubles, and how far the prices prove them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.channel_inputs import local, shifted
from benchmarks.measure import Row, Size, race
from fugu.channels.find import find
from fugu.channels.problem import ChannelProblem, PointLaws, RoughChannel

_UNIT = 10**6
_GAP = 1e-9
_FAR = {1000: 25.0, 2000: 100.0}
"""About one second, and four, where a million doubles are sorted in .06 s."""
_LOCAL, _LOCAL_LIMIT = 8000, 200.0
_SECRETS, _POINTS, _SECRETS_LIMIT = 5, 500, 200.0


def points(size: Size) -> Iterator[Row]:
    """One pair far apart at n = 1,000 and 2,000, 8,000 points of which few tell, and five secrets on 500 points."""
    far = {}
    for n, limit in _FAR.items():
        far[n] = took = _time(shifted(size.of(n), seed=3))
        yield Row("channels", f"laws far apart, {size.of(n):,} points", took[0], "x sort of 1e6", limit)
    yield Row("channels", "laws far apart, twice the points", far[2000][0] / far[1000][0], "x the time")
    near = _time(local(size.of(_LOCAL)))
    yield Row("channels", f"few telling points, {size.of(_LOCAL):,} points", near[0], "x sort of 1e6", _LOCAL_LIMIT)
    many = _time(shifted(size.of(_POINTS), _SECRETS))
    name = f"{_SECRETS} secrets, {size.of(_POINTS):,} points"
    yield Row("channels", name, many[0], "x sort of 1e6", _SECRETS_LIMIT)
    largest = max(gap for _, gap in (*far.values(), near, many))
    yield Row("channels", "largest distance from the optimum", largest, "relative", _GAP)


def _time(problem: ChannelProblem) -> tuple[float, float]:
    """The time, and the loss above the bound of the prices relative to the loss."""
    answers: list[RoughChannel] = []
    random = np.random.default_rng(1).random(_UNIT)
    took = race(1, sort=lambda: np.sort(random), find=lambda: answers.append(find(problem)))
    return took["find"] / took["sort"], answers[-1].gap / PointLaws.of(problem).loss(answers[-1].matrix)
