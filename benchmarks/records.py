"""Independent records: T of laws on a million values against sorting them, and the time to count laws of a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race
from fugu.loss.cells import largest, worth

_LIMIT = 5.0
"""Times np.sort of as many doubles."""


def thresholds(size: Size) -> Iterator[Row]:
    """T and its inverse, proved, against np.sort of the ratios; few different ratios, and all different."""
    k, rng = size.of(1_000_000), np.random.default_rng(0)
    cases = {"small counts": rng.poisson(3, (2, k)), "large counts": rng.integers(0, 10**6, (2, k))}
    for name, (p, q) in cases.items():
        ratios = rng.permutation(p / (q + 1.0))
        took = race(
            size.laps,
            sort=lambda ratios=ratios: np.sort(ratios),
            worth=lambda p=p, q=q: worth(p, q, 1.0),
            inverse=lambda p=p, q=q: largest(p, q, 0.5),
        )
        yield Row("records", f"T on {k} values, {name}", took["worth"] / took["sort"], "x np.sort", _LIMIT)
        yield Row("records", f"its inverse on {k} values, {name}", took["inverse"] / took["sort"], "x np.sort", _LIMIT)


def tables(size: Size) -> Iterator[Row]:
    """Laws counted in a table of a million rows, without groups and with a thousand."""
    n, rng = size.of(1_000_000), np.random.default_rng(1)
    table = {
        "secret": rng.integers(0, 2, n),
        "value": rng.integers(0, 100, n),
        "cell": rng.integers(0, 20, n),
        "group": rng.integers(0, n // 1000, n),
    }
    sort = race(3, sort=lambda: np.sort(table["value"] + rng.random(n)))["sort"]
    for name, by in (("no groups", None), (f"{n // 1000} groups", "group")):
        took = race(3, one=lambda by=by: fugu.Records(table, "secret", ["value", "cell"], by))["one"]
        yield Row("records", f"laws of {n} rows, two columns, {name}", took / sort, "x np.sort")
    records = fugu.Records(table, "secret", ["value", "cell"], "group")
    took = race(3, one=lambda: fugu.translate(records, 1.0))["one"]
    yield Row("records", f"one translation with {len(records.laws())} laws", took, "s")
