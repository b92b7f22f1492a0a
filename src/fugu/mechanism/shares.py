"""What a mechanism about a property of the whole enforces, and what its certificate says of it.

One release is about one data set: a vector of its statistics. Those lie between ends that follow from the bounds to
which records are clipped (0 and n for a count); a vector outside is moved to the ends before noise is added, which
changes nothing for statistics that were computed as the certificate says."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, CertificateError
from fugu.laws.classes import RecordLaw, mixed_law
from fugu.laws.multinormal import MultivariateNormal
from fugu.numbers.exact import read_number, read_whole

if TYPE_CHECKING:
    from fugu.mechanism.certificate import Certificate
    from fugu.scenario.property_model import PropertyModel

Column = NDArray[np.float64]
Stated = dict[str, Any]


def shares_json(model: PropertyModel) -> Stated:
    """The property, the shares and pairs that were proved, the statistics and their ends, in JSON types."""
    found: Stated = {
        "name": model.name,
        "size": model.size,
        "tolerance": str(model.tolerance),
        "statistics": [str(s) for s in model.statistics],
        "limits": [None if ends is None else [str(x) for x in ends] for ends in model.limits],
        "shares": [
            {"name": label, "from": k, "to": k + width}
            for label, k, width in zip(model.labels, model.counts, model.proved.widths, strict=True)
        ],
        "pairs": [[model.labels[i], model.labels[j]] for i, j in model.pairs],
        "every": model.proved.every,
    }
    if model.proved.every and model.replacement and len(model.statistics) > 1:
        found["records"] = [law.to_json() for law in model.records]
    return found


def require_one(column: Column, stated: Stated | None) -> None:
    """Refuse more than one row: the guarantee is for the statistics of one data set, published once."""
    if stated is not None and len(column) > 1:
        raise BadLaw(
            f"this mechanism hides a property of one data set and publishes its statistics once, "
            f"{len(stated['statistics'])} of them; {len(column)} rows were given. Give one row"
        )


def clipped(column: Column, stated: Stated | None) -> Column:
    """Every statistic between its ends; those without ends as they are."""
    if stated is None or not any(stated["limits"]):
        return column
    low, high = (
        np.array([side * math.inf if ends is None else float(read_number(ends[place])) for ends in stated["limits"]])
        for place, side in ((0, -1), (1, 1))
    )
    return np.asarray(np.clip(column, low, high) if column.ndim > 1 else np.clip(column, low[0], high[0]))


def check_shares(certificate: Certificate) -> None:
    """The shares that a certificate names are those of its laws; where it says "every", their ranges leave none out.

    The pairs of ranges g .. h and g + K .. h + K must cover 0 .. n - K (or what lies between the stated least and
    largest number), and each law must be that of g records with the property and n - h without, its mean that of g:
    docs/proofs/correlated.md says why every two numbers at most K apart then look alike."""
    stated = certificate.body.get("property")
    if stated is None:
        return
    labels = [f"{a} vs {b}" for a, b in stated["pairs"]]
    dimension = certificate.body.get("dimension", 1)
    if not stated["limits"] or len(stated["limits"]) != dimension or len(stated["statistics"]) != dimension:
        raise CertificateError("the certificate's statistics and their ends are not of its dimension")
    for ends in stated["limits"]:
        if ends is not None and not read_number(ends[0]) <= read_number(ends[1]):
            raise CertificateError("the ends of a statistic in the certificate are not in order")
    if certificate.kind == "correlated":
        if labels != [pair.label for pair in certificate.normal_pairs]:
            raise CertificateError("the shares that the certificate names are not those of its laws")
        if stated["every"]:
            _check_every(certificate, stated)


def _check_every(certificate: Certificate, stated: Stated) -> None:
    n, near = read_whole(stated["size"]), read_number(stated["tolerance"])
    apart = math.floor(n * near)
    cells = {share["name"]: (read_whole(share["from"]), read_whole(share["to"])) for share in stated["shares"]}
    ranges = sorted((cells[a], cells[b]) for a, b in stated["pairs"])
    starts = [first for first, _ in ranges]
    whole = (
        apart >= 1
        and all(0 <= g <= h and second == (g + apart, h + apart) for (g, h), second in ranges)
        and all(after[0] == before[1] + 1 for before, after in pairwise(starts))
    )
    if "records" in stated:
        whole = whole and starts[0][0] == 0 and starts[-1][1] == n - apart and _affine(certificate, stated, cells)
    else:
        whole = whole and apart == 1 and all(g == h for g, h in starts)
    if not whole:
        raise CertificateError("the certificate says that every share is covered, and its laws leave some out")


def _affine(certificate: Certificate, stated: Stated, cells: dict[str, tuple[int, int]]) -> bool:
    """Whether each law is the one that its range and the laws of one record of each class make."""
    n = read_whole(stated["size"])
    one, other = (
        RecordLaw(tuple(map(read_number, found["mean"])), tuple(tuple(map(read_number, row)) for row in found["cov"]))
        for found in stated["records"]
    )
    for law in (one, other):
        MultivariateNormal(law.mean, law.cov)  # a mean and a covariance, or an error
    made = {
        name: MultivariateNormal(*mixed_law(one, other, Fraction(g), Fraction(n - h), g, n - g))
        for name, (g, h) in cells.items()
    }
    pairs = zip(stated["pairs"], certificate.normal_pairs, strict=True)
    return all(pair.p == made[a] and pair.q == made[b] for (a, b), pair in pairs)
