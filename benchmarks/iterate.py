"""Training: hiding shifts in time against a running sum, the noise in the training loop, and the noise of a budget."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race
from fugu.iterate import AR1, NoisySGD, shift_bound
from fugu.training.allocation import covered
from fugu.training.losses import Logistic, Objective, train

_STEPS = 10**6
_RECORDS = 20_000
_WEIGHTS = 20
_MANY = 10**5


def allocation(size: Size) -> Iterator[Row]:
    """The least sum of squares for a million steps, shifts anywhere: one isotonic regression, and its proof."""
    shifts = np.random.default_rng(1).exponential(size=size.of(_STEPS))

    def laplace() -> object:
        return shift_bound(shifts, fugu.Laplace(1), 4, 0.9)

    took = race(
        size.laps,
        unit=lambda: np.cumsum(shifts),
        **{f"normal noise, contraction {c}": lambda c=c: covered(shifts, 1.0, c) for c in (1, 0.9, 0.999999)},
        **{"Laplace noise, contraction 0.9, order 4": laplace},
    )
    unit = took.pop("unit")
    for name, seconds in took.items():
        limit = None if name.startswith("Laplace") else 30.0 if name.endswith(" 1") else 100.0
        yield Row("iterate", f"{shifts.size:g} steps, {name}", seconds / unit, "x cumsum", limit)


def epoch(size: Size) -> Iterator[Row]:
    """One pass over the records, against the same loop without noise."""
    records = size.of(_RECORDS)
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(records, _WEIGHTS))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-12)
    targets = np.sign(rows @ rng.normal(size=_WEIGHTS))
    objective = Objective(Logistic(), 0.5, 1 / records, 10.0)
    found = objective.constants
    for batch in (records, 32, 1):
        steps = -(-records // batch)
        epochs = 20 if batch == records else 1
        planned = NoisySGD(
            steps * epochs, 1.0, found.lipschitz, found.smoothness, found.strong_convexity, 0.01,
            2 * objective.radius, records=records, batch_size=batch,
        )  # fmt: skip

        def run(noiseless: bool, planned: NoisySGD = planned) -> object:
            return train(rows, targets, objective, planned, noiseless=noiseless)

        took = race(size.laps, plain=lambda run=run: run(True), noisy=lambda run=run: run(False))
        name = "all records" if batch == records else f"{batch} records"
        case = f"{records} records, {_WEIGHTS} weights, steps of {name}"
        yield Row("iterate", case, took["noisy"] / took["plain"], "x without noise", 2.0)


def budget(size: Size) -> Iterator[Row]:
    """The noise for (2, 1e-5) if a hundred thousand records are correlated, in units of one allocation that long."""
    records = size.of(_MANY)
    shifts = np.random.default_rng(3).exponential(size=records)

    def search(batch: int, strong: float, domain: float | None) -> object:
        planned = NoisySGD(
            -(-records // batch), 1.0, 1.0, 1.0, strong, domain=domain, records=records, batch_size=batch,
            prior=AR1(0.9), sensitivity=1.0,
        )  # fmt: skip
        return planned.for_budget(fugu.Approx(2, 1e-5))

    took = race(
        2,
        unit=lambda: covered(shifts, 1.0, 0.9),
        **{
            "batches of 1000": lambda: search(1000, 0.0, None),
            "one record a step": lambda: search(1, 0.0, None),
            "one record a step, contraction 0.9, projected": lambda: search(1, 0.1, 2.0),
        },
    )
    unit = took.pop("unit")
    for name, seconds in took.items():
        yield Row("iterate", f"noise for AR1(0.9), {records:g} records, {name}", seconds / unit, "allocations")
