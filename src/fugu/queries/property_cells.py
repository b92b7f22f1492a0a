"""The published statistics of one data set, each with an interval for the exact one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from fugu.calibration.offer import Calibrated
from fugu.documents.certificate import Certificate
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.mechanism.directed import DirectedAdditive
from fugu.mechanism.record_swap import RecordSwapAdditive
from fugu.numbers.exact import read_number
from fugu.queries.cell import Cell


def coordinate_halves(mechanism: Calibrated, certificate: Certificate, level: float = 0.95) -> tuple[float, ...]:
    """For each statistic the half width of an interval that holds its error with this probability."""
    grid = float(mechanism.lattice.grid) if getattr(mechanism, "lattice", None) else 0.0  # type: ignore[union-attr]
    if isinstance(mechanism, DirectedAdditive):
        return tuple(x + grid / 2 for x in mechanism.noise.halves(level))
    if isinstance(mechanism, CorrelatedAdditive):
        noise = mechanism.noise
        z = -NormalDist().inv_cdf((1 - level) / 2) * (1 + 1e-9)
        steps = [1 if noise.base else sum(abs(c[i]) for c in noise.columns) for i in range(noise.dimension)]
        each = [math.sqrt(float(row[i])) for i, row in enumerate(noise.covariance())]
        return tuple(z * sd + (k + 0.5) * grid for sd, k in zip(each, steps, strict=True))
    if isinstance(mechanism, RecordSwapAdditive):
        half = certificate.noise.quantile(level) + grid / 2
        return (half,) * mechanism.dimension
    return (mechanism.interval(level)[1],)


def deviations_of(mechanism: Calibrated, certificate: Certificate) -> tuple[float, ...]:
    """The standard deviation of the noise on each statistic."""
    if isinstance(mechanism, DirectedAdditive):
        return tuple(math.sqrt(v) for v in mechanism.noise.variances())
    if isinstance(mechanism, CorrelatedAdditive):
        return tuple(math.sqrt(float(row[i])) for i, row in enumerate(mechanism.noise.covariance()))
    if isinstance(mechanism, RecordSwapAdditive):
        return (math.sqrt(certificate.noise.expected_error("squared")),) * mechanism.dimension
    return (math.sqrt(mechanism.expected_error("squared")),)


def cells_of(mechanism: Calibrated, certificate: Certificate, values: Sequence[float]) -> tuple[Cell, ...]:
    """The published numbers by the names of their statistics, each with its interval cut to what is possible, and the
    standard deviation of its noise."""
    stated = certificate.body["property"]
    found = []
    parts = (stated["statistics"], values, coordinate_halves(mechanism, certificate),
             deviations_of(mechanism, certificate), stated["limits"])  # fmt: skip
    for name, value, half, deviation, ends in zip(*parts, strict=True):
        low, high = (-math.inf, math.inf) if ends is None else (float(read_number(x)) for x in ends)
        near, far = (min(max(x, low), high) for x in (value - half, value + half))
        found.append(Cell("", str(name), float(value), near, far, deviation))
    return tuple(found)


def statistic_columns(cells: tuple[Cell, ...]) -> dict[str, list[str] | list[float]]:
    """Published statistics as the columns of a file."""
    named: dict[str, list[str] | list[float]] = {"statistic": [cell.cell for cell in cells]}
    return named | {name: [getattr(cell, name) for cell in cells] for name in ("value", "low", "high")}
