"""The figures of what a certificate publishes, from its laws and its noise alone; old certificates too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.documents.sentences import TOTALS
from fugu.documents.units import published_unit
from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.laws.mean import mean_law
from fugu.laws.multinormal import NormalPair
from fugu.laws.set_family import SetFamily
from fugu.mechanism.additive import rounding_error
from fugu.noise.directed import DirectedLaplace
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import read_number, read_whole
from fugu.utility.believed import MEAN, believed, translates
from fugu.utility.figures import Column, Names
from fugu.utility.joint import Moved
from fugu.utility.numbers import CHANCE, Coordinate, Ranking, Statistic

Figures = Column | Names | Statistic | Coordinate | Ranking
USUAL_ROWS = 1000
"""Rows that averages are stated for where no number is known."""
LEVEL = 0.95
_MOST = 8
"""Coordinates of a vector that are listed."""


@dataclass(frozen=True)
class Read:
    """The figures of one certificate, and what they were worked out on."""

    figures: tuple[Figures, ...]
    basis: str


def read(certificate: Certificate, rows: int | None = None) -> Read:
    """What a certificate says of its own utility; `NotProvable` with the reason where it does not say.

    `rows`: how many rows are published; None takes those of the reference, else a thousand. Of a mixture, the half with
    the larger error counts."""
    if certificate.parts:
        halves = [read(part, rows) for part in certificate.parts]
        worst = max(halves, key=lambda half: _size(half.figures[0]))
        return Read(worst.figures, f"{worst.basis}, for the half of the mixture with more noise")
    if certificate.kind == "analysis":
        raise NotProvable("the noise is for analysis only: nothing is published with it")
    if certificate.runs in ("vector", "correlated"):
        return Read(_coordinates(certificate), MEAN)
    if isinstance(certificate.body.get("statistic"), dict):
        return Read((_statistic(certificate),), MEAN)
    found = believed(certificate)
    count = rows or found.rows or USUAL_ROWS
    name = str((certificate.body.get("query") or {}).get("publish", ""))
    if certificate.runs == "channel" and certificate.channel.names is not None:
        assert isinstance(found.joint, Moved)
        return Read((Names.of(found.joint, count, name),), found.basis)
    return Read((Column.of(found.joint, count, half_of(certificate), name),), found.basis)


def half_of(certificate: Certificate) -> float:
    """95 % of the errors of one number are within ±half, rounding included: as `Mechanism.interval` says."""
    if certificate.runs == "channel":
        return certificate.errors.quantile(LEVEL)
    remap = Remap.in_certificate(certificate)
    drawn = certificate.number_noise if remap is None else remap
    return drawn.quantile(LEVEL) + rounding_error(certificate.lattice, certificate.support)


def _statistic(certificate: Certificate) -> Statistic:
    stated = certificate.body["statistic"]
    if stated.get("rows") is None:
        raise NotProvable("the certificate, of an earlier version, does not say how many records its group has")
    noise, rows = certificate.number_noise, read_whole(stated["rows"])
    unit = float(published_unit(certificate))
    half, error = noise.quantile(LEVEL) * unit, noise.expected_error() * unit
    value, chance = _believed_value(certificate, rows)
    most = 2 if "cells" in stated else stated.get("steps")
    epsilon = float(certificate.budget.epsilon)
    ordinary = None
    if most is not None and 0 < epsilon < math.inf:
        ordinary = Laplace(read_whole(most) / epsilon, grid=1).quantile(LEVEL) * unit
    return Statistic(
        str(stated.get("group", "")), str(stated.get("query", "")), rows, half, error, value, chance, ordinary
    )


def _believed_value(certificate: Certificate, rows: int) -> tuple[float | None, float | None]:
    """What the beliefs say of the statistic, and how far chance alone moves it; of counts in cells, an even share.

    Laws are of one record's code, or of the total of all codes: the certificate's assumptions say which."""
    stated, unit = certificate.body["statistic"], float(published_unit(certificate))
    if "cells" in stated:
        return rows / max(len(stated["cells"]), 1), None
    items = [i for i in certificate.items if isinstance(i, Family | SetFamily) and not translates(i)]
    if not items or len(items) < len(certificate.items):
        return None, None
    points, mean = mean_law(items)
    shares = np.array([part / sum(mean) for part in mean])
    centre = float(shares @ points)
    variance = float(shares @ (points - centre) ** 2)
    whole = any(a.startswith("beliefs: ") and TOTALS in a for a in certificate.assumptions)
    total, scatter = (centre, variance) if whole else (rows * centre, rows * variance)
    low = float(read_number(stated["low"])) * (1 if stated.get("averaged") else rows)
    return low + total * unit, CHANCE * math.sqrt(scatter) * unit


def _coordinates(certificate: Certificate) -> tuple[Coordinate, ...]:
    """The spread of each number of a vector beside its noise; the first eight."""
    names = [str(x) for x in (certificate.body.get("property") or {}).get("statistics", ())]
    d = certificate.dimension
    names = names if len(names) == d else [str(j + 1) for j in range(d)]
    spreads = _spreads(certificate.laws, d, float(certificate.lattice.grid) if certificate.lattice else 1.0)
    drawn = certificate.drawn
    if isinstance(drawn, DirectedLaplace):
        each = list(zip(map(math.sqrt, drawn.variances()), drawn.halves(LEVEL), strict=True))
    elif certificate.runs == "vector":
        noise = certificate.noise
        each = [(math.sqrt(noise.expected_error("squared")), noise.quantile(LEVEL))] * d
    else:
        covariance = certificate.correlated.covariance()
        deviations = [math.sqrt(float(covariance[j][j])) for j in range(d)]
        each = [(s, CHANCE * s + float(certificate.correlated.grid)) for s in deviations]
    return tuple(
        Coordinate(name, spread, *found) for name, spread, found in list(zip(names, spreads, each, strict=True))[:_MOST]
    )


def _spreads(laws: Sequence[object], d: int, step: float) -> list[float]:
    """The standard deviation of each coordinate under the average of the laws."""
    means, squares = np.zeros(d), np.zeros(d)
    count = 0
    for item in laws:
        if isinstance(item, NormalPair):
            for law in (item.p, item.q):
                mean = np.array([float(x) for x in law.mean])
                means, squares = means + mean, squares + np.array([float(law.cov[j][j]) for j in range(d)]) + mean**2
                count += 1
        elif isinstance(item, Family) and not item.translates:
            points = item.points * step
            for weights in item.weights:
                means, squares, count = means + weights @ points, squares + weights @ points**2, count + 1
    if count == 0:
        raise NotProvable("the beliefs say how far a value may move, and not how values vary")
    return [math.sqrt(max(q / count - (m / count) ** 2, 0.0)) for m, q in zip(means, squares, strict=True)]


def _size(figures: Figures) -> float:
    if isinstance(figures, Names):
        return 1 - figures.kept
    if isinstance(figures, Ranking):
        return figures.loss
    return figures.half if isinstance(figures, Statistic) else figures.noise
