"""Rényi divergences of two laws with 1,000 atoms, in units of one evaluation of both noised densities by numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import fugu
from benchmarks.inputs import GAP, pair
from benchmarks.measure import Row, Size, race
from fugu.laws import LawPair

_ATOMS, _POINTS = 1_000, 10_000
_LIMIT = 200.0
_LAPS = 3
_ALPHA = 2
_SCALE = 10 * GAP
_GRID = Fraction(1, 10)
_UNIT = "x both densities"
_KERNELS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "laplace": lambda u: np.exp(-np.abs(u)) / 2,
    "gaussian": lambda u: np.exp(-u * u / 2) / np.sqrt(2 * np.pi),
    "cauchy": lambda u: 1 / (np.pi * (1 + u * u)),
}


def divergence(size: Size) -> Iterator[Row]:
    """`fugu.renyi` of order 2: continuous noise by quadrature with a proved error, lattice noise in balls."""
    given = pair(size.of(_ATOMS), "lattice")
    noises = {
        "laplace": (fugu.Laplace(_SCALE), fugu.Laplace(_SCALE, _GRID)),
        "gaussian": (fugu.Gaussian(_SCALE), fugu.Gaussian(_SCALE, _GRID)),
        "cauchy": (fugu.GeneralizedCauchy(_SCALE),),
    }
    for name, kinds in noises.items():
        for noise, where in zip(kinds, ("continuous", "lattice"), strict=False):
            took = race(
                _LAPS,
                densities=lambda name=name: _densities(given, name, size),
                tight=lambda noise=noise: fugu.renyi(noise, given, _ALPHA),
            )
            yield Row("renyi", f"fugu.renyi: {name} noise, {where}", took["tight"] / took["densities"], _UNIT, _LIMIT)


def calibration(size: Size) -> Iterator[Row]:
    """`fugu.calibrate` for Renyi(2, 0.5): every method, the search and the proof; laws on two supports that need it."""
    given = pair(size.of(_ATOMS), "lattice", disjoint=True)
    for name in ("laplace", "gaussian"):
        took = race(
            _LAPS,
            densities=lambda name=name: _densities(given, name, size),
            whole=lambda name=name: fugu.calibrate(given, fugu.Renyi(_ALPHA, 0.5), noise=name),
        )
        yield Row("renyi", f"calibrate Renyi(2, 0.5): {name} noise", took["whole"] / took["densities"], _UNIT)


def _densities(given: LawPair, name: str, size: Size) -> list[NDArray[np.float64]]:
    """Both noised densities on points that span the atoms, term by term."""
    points = np.linspace(-_SCALE, GAP * size.of(_ATOMS) + _SCALE, size.of(_POINTS))
    laws = [law for law in (given.p, given.q) if isinstance(law, fugu.Discrete)]
    return [_KERNELS[name]((points[:, None] - law.values) / _SCALE) @ law.weights / _SCALE for law in laws]
