"""Influence curves of chains: 78 states, 1000 entries, all of them, in units of one matrix product per distance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race

_STATES = 78
_LENGTH = 1000
_FAR = 200
_LIMIT = 400.0
_REPEAT = 500


def _kernel(states: int) -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.ones(states), states)


def curves(size: Size) -> Iterator[Row]:
    """a(b) for every b up to 200, stationary and from a given start, against one product a distance."""
    far = size.of(_FAR)
    kernel = _kernel(_STATES)
    given = np.random.default_rng(2).dirichlet(np.ones(_STATES))

    def product() -> None:
        for _ in range(_REPEAT):
            kernel @ kernel

    def curve(initial: object) -> float:
        return fugu.influence(fugu.MarkovChain(kernel, _LENGTH, initial))(far)

    took = race(2, product=product, stationary=lambda: curve("stationary"), given=lambda: curve(given))
    unit = took["product"] / _REPEAT * far
    for name in ("stationary", "given"):
        case = f"{_STATES} states, length {_LENGTH}, b <= {far}, {name} start"
        yield Row("influence", case, took[name] / unit, "products a distance", _LIMIT)


def lengths(_size: Size) -> Iterator[Row]:
    """A million entries against a thousand: a stationary curve looks at distances up to b only."""
    kernel = [[0.6, 0.4], [0.2, 0.8]]

    def curve(length: int) -> float:
        return fugu.influence(fugu.MarkovChain(kernel, length))(100)

    took = race(5, short=lambda: curve(1000), long=lambda: curve(10**6))
    yield Row("influence", "2 states, b <= 100, length 1e6", took["long"] / took["short"], "x length 1000", 2.0)
