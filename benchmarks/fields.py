"""Gaussian fields: one translation of a rho for each entry, in inverses in doubles; growth with the entries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race

_ENTRIES = (12, 24, 48)
_LIMITS = {12: 3000.0, 24: 6000.0, 48: 40000.0}
_REPEAT = 200


def translations(size: Size) -> Iterator[Row]:
    """AR(1) fields of growing length, each read and translated once, against one inverse of its covariance."""
    for full in _ENTRIES:
        entries = max(6, size.of(full))
        matrix = np.array([[0.5 ** abs(i - j) for j in range(entries)] for i in range(entries)])

        def inverse(matrix: np.ndarray = matrix) -> None:
            for _ in range(_REPEAT):
                np.linalg.inv(matrix)

        def translated(entries: int = entries) -> None:
            fugu.translate(fugu.GaussianField.ar1(entries, 0.5, width=0.2), fugu.ZCDP(0.01))

        took = race(2, inverse=inverse, translated=translated)
        case = f"AR(1), {entries} entries"
        yield Row("fields", case, took["translated"] / took["inverse"] * _REPEAT, "inverses", _LIMITS[full])
