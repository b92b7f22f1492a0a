"""The pure loss over sets of laws at one scale, against the plain loss of two laws on as many values."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.measure import Row, Size, race
from fugu import Ball, Band, Box, Discrete, LawPair
from fugu.laws.family import SetFamily
from fugu.laws.sets import LawSet
from fugu.laws.shapes import shapes
from fugu.loss.search.laplace import pure_loss
from fugu.loss.search.sets import sets_pure_loss as robust_loss
from fugu.loss.sets_extremes import DecayKernel
from fugu.noise.lattice import Lattice

_VALUES = (10**3, 10**4, 10**5)
_LIMIT = 10.0


def sets(size: Size) -> Iterator[Row]:
    """Boxes, balls and bands around two empirical laws; windows, which no scale changes, are found before."""
    for n in map(size.of, _VALUES):
        values, rng = np.arange(float(n)), np.random.default_rng(0)
        counts = [rng.multinomial(10 * n, rng.dirichlet(np.full(n, 5.0))) for _ in range(2)]
        laws = [Discrete(values, row) for row in counts]
        plain, scale = shapes([LawPair(*laws)])[0].on(Lattice(Fraction(1))), n / 20
        around = {
            "box": [_box(law) for law in laws],
            "ball": [Ball(law, 0.05) for law in laws],
            "band": [_band(law) for law in laws],
        }
        for kind, pair in around.items():
            family, kernel = _family(*pair), DecayKernel.laplace(scale)
            robust_loss(family, kernel)
            took = race(
                size.laps,
                plain=lambda plain=plain, scale=scale: pure_loss(plain, scale),
                robust=lambda family=family, kernel=kernel: robust_loss(family, kernel),
            )
            yield Row("sets", f"{kind}, {n:,} values", took["robust"] / took["plain"], "x plain", _LIMIT)


def _family(one: LawSet, other: LawSet) -> SetFamily:
    (found,) = shapes([LawPair(one, other)])
    assert isinstance(found, SetFamily)
    return found.on(Lattice(Fraction(1)))


def _box(law: Discrete) -> Box:
    wide = 3 * np.sqrt(law.weights / (10 * len(law.values))) + 3 / (10 * len(law.values))
    return Box(law.values, np.maximum(law.weights - wide, 0), np.minimum(law.weights + wide, 1))


def _band(law: Discrete) -> Band:
    sums, wide = np.cumsum(law.weights), 1.4 / np.sqrt(10 * len(law.values))
    low, high = np.clip(sums - wide, 0, 1), np.clip(sums + wide, 0, 1)
    low[-1] = high[-1] = 1
    return Band(law.values, low, high)
