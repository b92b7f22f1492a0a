"""The exact scale on a million atoms: the search, the whole calibration, and its proof, against sorting the atoms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fugu
import fugu.calibration.exact as exact
import fugu.calibration.prove as proving
from benchmarks.inputs import pair, shuffled
from benchmarks.measure import Row, Size, metered, race
from fugu.calibration.problem import problem

_ATOMS = 10**6
_LIMIT = 60.0
_BUDGETS = (fugu.Pure(0.1), fugu.Pure(1))


def search(size: Size) -> Iterator[Row]:
    """`least` on the lattice family, and how many losses it evaluates."""
    given = pair(size.of(_ATOMS), "lattice")
    loose = shuffled(given.p.values)
    for budget in _BUDGETS:
        (family,) = problem((given,), budget).families
        _ = family.weights, family.different
        with metered(exact, "pure_loss") as losses:
            exact.least(family, budget, lattice=True)
        took = race(
            min(3, size.laps),
            sort=lambda: np.sort(loose),
            search=lambda family=family, budget=budget: exact.least(family, budget, lattice=True),
        )
        yield Row("calibration", f"search, {budget}", took["search"] / took["sort"], "x sort", _LIMIT)
        yield Row("calibration", f"losses evaluated, {budget}", losses.calls, "calls")


def whole(size: Size) -> Iterator[Row]:
    """`fugu.calibrate` with method "exact", the ball proof apart."""
    for kind in ("lattice", "real"):
        given = pair(size.of(_ATOMS), kind)
        loose = shuffled(given.p.values)
        budget = _BUDGETS[0]
        with metered(proving, "prove_pure") as proof:
            took = race(
                1,
                sort=lambda loose=loose: [np.sort(loose) for _ in range(size.laps)],
                whole=lambda given=given, budget=budget: fugu.calibrate(given, budget, method="exact"),
            )
        sort = took["sort"] / size.laps
        rest = (took["whole"] - proof.seconds) / sort
        yield Row("calibration", f"calibrate without its proof, {kind} atoms", rest, "x sort", _LIMIT)
        yield Row("calibration", f"proof in balls, {kind} atoms", proof.seconds / sort, "x sort")
        yield Row("calibration", f"share of the proof, {kind} atoms", 100 * proof.seconds / took["whole"], "%")
