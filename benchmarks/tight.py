"""The tight epsilon and delta of Laplace noise on a million atoms, against sorting the atoms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

import fugu
from benchmarks.inputs import GAP, pair, prepared, shuffled
from benchmarks.measure import Row, Size, race
from fugu.loss.fast import delta_loss, pure_loss

_ATOMS = 10**6
_LIMIT = 4.0
_SCALES = {"scale 1e6 gaps": 1e6, "scale 10 gaps": 10.0, "scale 0.1 gap": 0.1, "scale 0.001 gap": 0.001}


def epsilon(size: Size) -> Iterator[Row]:
    """`pure_loss` on a prepared family and `fugu.epsilon` end to end, in units of np.sort of the same atoms."""
    n = size.of(_ATOMS)
    for kind, disjoint in product(("lattice", "real"), (False, True)):
        given = pair(n, kind, disjoint)
        family, gap = prepared(given)
        loose = shuffled(family.points.astype(np.float64))
        for label, gaps in _SCALES.items():
            noise, steps = fugu.Laplace(gaps * GAP), gaps * gap
            took = race(
                size.laps,
                sort=lambda loose=loose: np.sort(loose),
                loss=lambda family=family, steps=steps: pure_loss(family, steps),
                whole=lambda noise=noise, given=given: fugu.epsilon(noise, given),
            )
            case = f"{kind}, {'disjoint' if disjoint else 'common'} supports, {label}"
            yield Row("epsilon", f"pure_loss: {case}", took["loss"] / took["sort"], "x sort", _LIMIT)
            yield Row("epsilon", f"fugu.epsilon: {case}", took["whole"] / took["sort"], "x sort", _LIMIT)


def delta(size: Size) -> Iterator[Row]:
    """`delta_loss` of continuous and of lattice noise at half the pure epsilon, where it is not zero."""
    n = size.of(_ATOMS)
    for disjoint in (False, True):
        given = pair(n, "lattice", disjoint)
        family, gap = prepared(given)
        loose = shuffled(family.points.astype(np.float64))
        half = pure_loss(family, 10 * gap).value / 2
        for lattice in (False, True):
            noise = fugu.Laplace(10 * GAP, fugu.exact.as_fraction(0.1) if lattice else None)
            took = race(
                size.laps,
                sort=lambda loose=loose: np.sort(loose),
                loss=lambda family=family, lattice=lattice, gap=gap, half=half: delta_loss(family, 10 * gap, half,
                1.0 if lattice else None),
                whole=lambda noise=noise, given=given, half=half: fugu.delta(noise, given, half),
            )
            kind = f"{'lattice' if lattice else 'continuous'} noise, {'disjoint' if disjoint else 'common'} supports"
            yield Row("delta", f"delta_loss: {kind}", took["loss"] / took["sort"], "x sort")
            yield Row("delta", f"fugu.delta: {kind}", took["whole"] / took["sort"], "x sort")
