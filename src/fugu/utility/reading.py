"""The figures of what a certificate publishes, from its laws and its noise alone; old certificates too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fugu.documents.certificate import Certificate
from fugu.documents.parts import published_unit
from fugu.documents.sentences import TOTALS
from fugu.errors import NotProvable
from fugu.laws.components import nearest
from fugu.laws.family import Family, SetFamily
from fugu.laws.masses import Masses
from fugu.laws.multinormal import NormalPair
from fugu.laws.normal import Analytic
from fugu.laws.shapes import mean_law
from fugu.loss.channel import law_list
from fugu.noise.kind import Noise
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import rounding_error
from fugu.numbers.exact import read_number, read_whole
from fugu.utility.figures import CHANCE, Figures, categories, coordinate, of_joint, statistic
from fugu.utility.joint import Floats, PointLaw, PublishedJoint, added, added_to_normals, histogram, moved

USUAL_ROWS = 1000
"""Rows that averages are stated for where no number is known."""
LEVEL = 0.95
_MOST = 8
"""Coordinates of a vector that are listed."""
COUNTED = "the rows of the reference"
MEAN = "the mean of the stated beliefs"
UNKNOWN = "the beliefs say how far a value may move, and not how values vary: the noise stands beside nothing"
_ANALYSIS = "the noise is for analysis only: nothing is published with it"
_MOST_POINTS = 4_000_000
"""Most (value, output) cells of a table that is looked at."""


def read(certificate: Certificate, rows: int | None = None) -> tuple[tuple[Figures, ...], str]:
    """What a certificate says of its own utility, and what that was worked out on; `NotProvable` with the reason where
    it does not say.

    `rows`: how many rows are published; None takes those of the reference, else a thousand. Of a mixture, the half with
    the larger error counts."""
    if certificate.parts:
        halves = [read(part, rows) for part in certificate.parts]
        figures, basis = max(halves, key=lambda half: half[0][0].size)
        return figures, f"{basis}, for the half of the mixture with more noise"
    if certificate.kind == "analysis":
        raise NotProvable(_ANALYSIS)
    if certificate.runs in ("vector", "correlated"):
        return _coordinates(certificate), MEAN
    if isinstance(certificate.body.get("statistic"), dict):
        return (_statistic(certificate),), MEAN
    joint = believed(certificate)
    count = rows or joint.rows or USUAL_ROWS
    basis = MEAN if joint.rows is None else COUNTED
    name = str((certificate.body.get("query") or {}).get("publish", ""))
    if certificate.noise.names is not None:
        cells = histogram(count, joint.value, joint.published)
        return (categories(name, count, joint.unchanged, float(joint.value.shares.max()), cells),), basis
    if certificate.noise.tabled:
        half = certificate.errors.quantile(LEVEL)
    else:  # as `Mechanism.interval` says
        drawn = certificate.remap or certificate.noise
        half = drawn.quantile(LEVEL) + rounding_error(certificate.lattice, certificate.support)
    return (of_joint(joint, count, half, name),), basis


def _statistic(certificate: Certificate) -> Figures:
    stated = certificate.body["statistic"]
    if stated.get("rows") is None:
        raise NotProvable("the certificate, of an earlier version, does not say how many records its group has")
    noise, rows = certificate.noise, read_whole(stated["rows"])
    unit = float(published_unit(certificate))
    half, error = noise.quantile(LEVEL) * unit, noise.expected_error() * unit
    value, chance = _believed_value(certificate, rows)
    most = 2 if "cells" in stated else stated.get("steps")
    epsilon = float(certificate.budget.epsilon)
    ordinary = None
    if most is not None and 0 < epsilon < math.inf:
        ordinary = Laplace(read_whole(most) / epsilon, grid=1).quantile(LEVEL) * unit
    return statistic(
        str(stated.get("group", "")), str(stated.get("query", "")), rows, half, error, value, chance, ordinary
    )


def _believed_value(certificate: Certificate, rows: int) -> tuple[float | None, float | None]:
    """What the beliefs say of the statistic, and how far chance alone moves it; of counts in cells, an even share.

    Laws are of one record's code, or of the total of all codes: the certificate's assumptions say which."""
    stated, unit = certificate.body["statistic"], float(published_unit(certificate))
    if "cells" in stated:
        return rows / max(len(stated["cells"]), 1), None
    items = [i for i in certificate.laws if isinstance(i, Family | SetFamily) and not translates(i)]
    if not items or len(items) < len(certificate.laws):
        return None, None
    points, mean = mean_law(items)
    shares = np.array([part / sum(mean) for part in mean])
    centre = float(shares @ points)
    variance = float(shares @ (points - centre) ** 2)
    whole = any(a.startswith("beliefs: ") and TOTALS in a for a in certificate.assumptions)
    total, scatter = (centre, variance) if whole else (rows * centre, rows * variance)
    low = float(read_number(stated["low"])) * (1 if stated.get("averaged") else rows)
    return low + total * unit, CHANCE * math.sqrt(scatter) * unit


def _coordinates(certificate: Certificate) -> tuple[Figures, ...]:
    """The spread of each number of a vector beside its noise; the first eight."""
    names = [str(x) for x in (certificate.body.get("property") or {}).get("statistics", ())]
    d = certificate.dimension
    names = names if len(names) == d else [str(j + 1) for j in range(d)]
    spreads = _spreads(certificate.laws, d, float(certificate.lattice.grid) if certificate.lattice else 1.0)
    each = zip(names, spreads, certificate.noise.deviations(d), certificate.noise.each_quantile(LEVEL, d), strict=True)
    return tuple(coordinate(*found) for found in list(each)[:_MOST])


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


def believed(certificate: Certificate) -> PublishedJoint:
    """What one number of a certificate that is not a mixture is, and becomes; `NotProvable` where no law is known."""
    items, noise = certificate.laws, certificate.in_steps
    if noise.tabled:
        families = [item for item in items if isinstance(item, Family | SetFamily)]
        support = np.array(certificate.body["support"], dtype=np.float64)
        return _moved(certificate, families, support, np.array(noise.outputs, dtype=np.float64), noise.conditional)
    if any(isinstance(item, Analytic) for item in items):
        smooth = [item for item in items if isinstance(item, Analytic)]
        if len(smooth) < len(items):
            raise NotProvable(UNKNOWN)
        _require_drawn(noise)
        return added_to_normals((law for item in smooth for law in (item.p, item.q)), noise)
    families = [item for item in items if isinstance(item, Family | SetFamily) and not item.translates]
    if not families or len(families) < len(items) or all(translates(family) for family in families):
        raise NotProvable(UNKNOWN)
    points, shares, rows = _weighted(certificate, families)
    shown, lattice = _shown(certificate, points), certificate.lattice
    if (remap := certificate.remap) is not None:
        return _moved(certificate, families, shown, remap.to, remap.chances)
    if not noise.added or lattice is None:
        bare = noise.silent or noise.added
        return _moved(
            certificate, families, shown, shown,
            lambda: np.eye(len(points)) if bare else np.exp(noise.log_kernel(points, points)).T,
        )  # fmt: skip
    _require_drawn(noise)
    return replace(added(points, shares, float(lattice.grid), float(lattice.origin), noise), rows=rows)


def _moved(
    certificate: Certificate, families: list[Family | SetFamily], values: Floats, outputs: Floats,
    chances: Callable[[], Floats],
) -> PublishedJoint:  # fmt: skip
    """Through a table of chances: under the pooled counts of a reference, or the average of the laws."""
    if len(values) * len(outputs) > _MOST_POINTS:
        raise NotProvable(f"not worked out for {len(values):,} values and {len(outputs):,} outputs")
    _, shares, rows = _weighted(certificate, families)
    return replace(moved(PointLaw(values, shares), outputs, chances()), rows=rows)


def counted(certificate: Certificate) -> bool:
    """Whether the laws are the frequencies of a reference, so that their counts weigh them."""
    recipe = certificate.body.get("recipe")
    return isinstance(recipe, dict) and recipe.get("prior") == "empirical"


def _weighted(
    certificate: Certificate, families: list[Family | SetFamily]
) -> tuple[NDArray[np.int64], Floats, int | None]:
    """Points, the share of each, and how many rows they were counted on: the pooled counts of a reference, or the
    average of the laws."""
    points, mean = mean_law(families)
    laws = [law for family in families for law in law_list(family)]
    counts = [law.parts for law in laws if isinstance(law, Masses) and law.parts.dtype == np.int64]
    alike = len(families) == 1 or certificate.noise.tabled
    if counted(certificate) and alike and len(counts) == len(laws):
        sums = np.sum(np.stack(counts), axis=0)
        return points, np.asarray(sums / sums.sum()), int(sums.sum())
    total = sum(mean)
    return points, np.array([part / total for part in mean]), None


def _shown(certificate: Certificate, points: NDArray[np.int64]) -> Floats:
    """The values at these points: on the lattice, of the support, or, where nothing is rounded, numbered in it."""
    lattice, support = certificate.lattice, certificate.support if certificate.body.get("support") != [] else None
    if lattice is None:
        if support is None or len(support) != len(points):
            raise NotProvable("the certificate numbers the values, and does not say where they lie")
        return np.asarray(support, dtype=np.float64)
    shown = lattice.value(points)
    return shown if support is None or support.ndim > 1 else nearest(support, shown)


def translates(family: Family | SetFamily) -> bool:
    """One pair of two single values: what a law that moves by so much is written as in a certificate."""
    if isinstance(family, SetFamily) or len(family.pairs) > 1:
        return False
    return all(np.count_nonzero(law.parts) == 1 for law in family.laws)


def _require_drawn(noise: Noise) -> None:
    if not noise.released:
        raise NotProvable(_ANALYSIS)
