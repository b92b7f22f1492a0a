"""Tables of counts: T on a million cells beside a sort, a histogram of 10,000 cells, and 10,000 groups beside the few
different laws among them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race
from fugu.laws import CellLaw
from fugu.loss.cells import largest, worth
from fugu.queries.law_price import LawPrice

_CELLS, _MANY, _GROUPS, _LAWS = 1_000_000, 10_000, 10_000, 200


def thresholds(size: Size) -> Iterator[Row]:
    """What a per-record epsilon is worth, and its inverse, in units of `np.sort`."""
    rng = np.random.default_rng(1)
    p, q = (rng.integers(0, 1000, size.of(_CELLS)) for _ in range(2))
    ratios = p / (q + 1)
    took = race(
        min(size.laps, 3),
        sort=lambda: np.sort(ratios),
        worth=lambda: worth(p, q, Fraction(1)),
        inverse=lambda: largest(p, q, Fraction(1, 2)),
    )
    for name in ("worth", "inverse"):
        yield Row("histograms", f"{name}: {len(p):,} cells", took[name] / took["sort"], "x np.sort", 5)


def wide(size: Size) -> Iterator[Row]:
    """Calibration of one wide histogram, in seconds of this machine."""
    rng = np.random.default_rng(2)
    pair = fugu.LawPair(*(CellLaw(rng.integers(0, 1000, size.of(_MANY))) for _ in range(2)))
    took = race(1, pure=lambda: fugu.calibrate(pair, fugu.Pure(0.5)),
                delta=lambda: fugu.calibrate(pair, fugu.Approx(0.5, 1e-6), noise="laplace"))  # fmt: skip
    for name, seconds in took.items():
        yield Row("histograms", f"{name}: {pair.dimension:,} cells", seconds, "s", 30)


def groups(size: Size) -> Iterator[Row]:
    """All groups in units of as many groups as there are different laws: each law is calibrated once."""
    many, few = size.of(_GROUPS), size.of(_LAWS)
    reference, table = _tables(many, few)
    some = {name: column[: 20 * few] for name, column in table.items()}
    for query in ("histogram(v)", "sum(v)"):
        bounds = None if query.startswith("hist") else (0, 40)
        of = partial(LawPrice.of, reference, query, "s", fugu.Pure(1), by="g", bounds=bounds, step=1)
        took = race(1, few=partial(of().open, some), many=partial(of().open, table))
        case = f"{query}: {many:,} groups, {few:,} different laws"
        yield Row("histograms", case, took["many"] / took["few"], "x the laws", 3)


def _tables(many: int, few: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A reference that knows the first groups well and the others not at all, and a table with twenty rows of each."""
    rng = np.random.default_rng(3)
    known = np.repeat(np.arange(few), 200)
    secret = rng.integers(0, 2, len(known))
    value = np.minimum(rng.poisson(3 + secret + known % 7), 40)
    reference = {"g": known, "s": secret.astype(str), "v": value}
    own = np.repeat(np.arange(many), 20)
    return reference, {"g": own, "s": rng.integers(0, 2, len(own)).astype(str), "v": rng.integers(0, 12, len(own))}
