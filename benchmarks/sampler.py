"""Exact lattice Laplace draws: how many a second, beside numpy's inexact ones and OpenDP's exact ones."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.measure import Row, Side, Size, race
from fugu.noise.laplace import LatticeLaplaceSampler

_DRAWS = 10**6
_SCALES = (Fraction(1, 2), Fraction(16), Fraction(64), Fraction(10**4), Fraction(10**9))
_PER_SECOND = 10.0
_TIMES_OPENDP = 50.0
_FEW = 20_000


def draws(size: Size) -> Iterator[Row]:
    """Millions of draws a CPU second from the operating system's bits, and the ratios to the others."""
    n = size.of(_DRAWS)
    rng = np.random.default_rng(1)
    for scale in _SCALES:
        sampler = LatticeLaplaceSampler(1 / scale)
        sampler.draw(1000)  # builds the tables
        sides: dict[str, Side] = {
            "ours": lambda sampler=sampler: sampler.draw(n),  # type: ignore[misc]
            "numpy": lambda scale=scale: rng.laplace(0, float(scale), n),  # type: ignore[misc]
        }
        other = _opendp(float(scale))
        if other is not None:
            sides["opendp"] = other
        took = race(size.laps, **sides)
        case = f"scale / grid {float(scale):g}"
        yield Row("sampler", case, n / took["ours"] / 1e6, "1e6 draws / s", _PER_SECOND, at_least=True)
        yield Row("sampler", f"{case}, time beside numpy laplace", took["ours"] / took["numpy"], "x numpy")
        if other is not None:
            ratio = (took["opendp"] / _FEW) / (took["ours"] / n)
            beside = f"{case}, speed beside OpenDP"
            yield Row("sampler", beside, ratio, "x OpenDP", _TIMES_OPENDP, at_least=True)


def _opendp(scale: float) -> Side | None:
    """OpenDP's exact integer Laplace on a vector, if it is installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space: Any = (dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int))
    measure = dp.m.make_laplace(*space, scale=scale)
    zeros = [0] * _FEW
    return lambda: measure(zeros)
