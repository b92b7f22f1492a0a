"""The exact scale on a million atoms, against sorting them: the search, the whole calibration, its proof."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from fugu.calibration.exact import least

import fugu
from benchmarks.inputs import pair, rounded, shuffled
from benchmarks.measure import Row, Size, metered, race

_ATOMS = 10**6
_LIMIT = 60.0
_BUDGETS = (fugu.Pure(0.1), fugu.Pure(1))
_SEARCH = sys.modules["fugu.calibration.exact"]
_PROVING = sys.modules["fugu.calibration.prove"]


def search(size: Size) -> Iterator[Row]:
    """`least` on the lattice family, and how many losses it evaluates."""
    given = pair(size.of(_ATOMS), "lattice")
    loose = shuffled(given.p.values)
    for budget in _BUDGETS:
        family = rounded(given, budget)
        with metered(_SEARCH, "pure_loss") as losses:
            least(family, budget, lattice=True)
        took = race(
            min(3, size.laps),
            sort=lambda: np.sort(loose),
            search=lambda family=family, budget=budget: least(family, budget, lattice=True),
        )
        yield Row("calibration", f"search, {budget}", took["search"] / took["sort"], "x sort", _LIMIT)
        yield Row("calibration", f"losses evaluated, {budget}", losses.calls, "calls")


def whole(size: Size) -> Iterator[Row]:
    """`fugu.calibrate` with method "exact", the ball proof apart."""
    budget = _BUDGETS[0]
    for kind in ("lattice", "real"):
        given = pair(size.of(_ATOMS), kind)
        loose = shuffled(given.p.values)
        sort = race(size.laps, sort=lambda loose=loose: np.sort(loose))["sort"]
        with metered(_PROVING, "prove") as proof:
            took = race(1, whole=lambda given=given: fugu.calibrate(given, budget, method="exact"))["whole"]
        rest = (took - proof.seconds) / sort
        yield Row("calibration", f"calibrate without its proof, {kind} atoms", rest, "x sort", _LIMIT)
        yield Row("calibration", f"proof in balls, {kind} atoms", proof.seconds / sort, "x sort")
        yield Row("calibration", f"share of the proof, {kind} atoms", 100 * proof.seconds / took, "%")
