"""The exact pure epsilon of vectors on 10,000 vertices, against one dense evaluation of both densities there."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import fugu
from benchmarks.measure import Row, Size, race
from fugu.laws.family import Family
from fugu.laws.shapes import families
from fugu.loss.search.shapes import fast_vector_pure
from fugu.loss.vectors import prove_vector_pure
from fugu.noise.lattice import Lattice

_SIDE = 100
_ATOMS = 2_000
_SCALE = 20


def vectors(size: Size) -> Iterator[Row]:
    """The passes along the axes in doubles and in balls, and `fugu.epsilon` end to end, in units of the dense sum."""
    side = round(_SIDE * size.of(100) ** 0.5 / 10)
    pair, family = _laws(side, size.of(_ATOMS))
    axis = np.arange(side, dtype=np.float64)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    noise = fugu.Laplace(_SCALE, Fraction(1))
    took = race(
        min(size.laps, 3),
        dense=lambda: _dense(family, grid),
        fast=lambda: fast_vector_pure(family, float(_SCALE)),
        proof=lambda: prove_vector_pure(family, noise.rate),
        whole=lambda: fugu.epsilon(noise, pair),
    )
    case = f"{side * side:,} vertices, {len(family.points):,} atoms"
    yield Row("vectors", f"fast_vector_pure: {case}", took["fast"] / took["dense"], "x dense", 0.1)
    yield Row("vectors", f"prove_vector_pure: {case}", took["proof"] / took["dense"], "x dense")
    yield Row("vectors", f"fugu.epsilon: {case}", took["whole"] / took["dense"], "x dense")


def _laws(side: int, atoms: int) -> tuple[fugu.LawPair, Family]:
    """Two laws with random atoms on a square, all of whose coordinates occur."""
    rng = np.random.default_rng(7)
    ends = np.stack([np.arange(side), np.arange(side)], axis=1)
    points = [np.concatenate([ends, rng.integers(0, side, (atoms // 2, 2))]) for _ in range(2)]
    p, q = (fugu.Discrete(rows, rng.integers(1, 100, len(rows))) for rows in points)
    pair = fugu.LawPair(p, q)
    return pair, families((pair,))[0].on(Lattice(Fraction(1)))


def _dense(family: Family, grid: NDArray[np.float64]) -> float:
    """Both densities at every vertex, by the definition: a matrix of all distances, one product with the masses."""
    apart = np.zeros((len(grid), len(family.points)))
    for column in range(grid.shape[1]):
        apart += np.abs(grid[:, column, None] - family.points[None, :, column])
    logs = np.log(np.exp(-apart / _SCALE) @ family.weights.T)
    return float(np.max(np.abs(logs[:, 0] - logs[:, 1])))
