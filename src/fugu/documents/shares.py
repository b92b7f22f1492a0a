"""Certificates about a property of the whole: the shares they name are those of their laws, and none is left out."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fugu.errors import CertificateError
from fugu.laws.family import Family
from fugu.laws.multinormal import ClassMoments, MultivariateNormal, mixed_law
from fugu.numbers.exact import read_number, read_whole

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

Stated = dict[str, Any]
_NOT_COVERED = "shares as far apart as the certificate says are not covered by what it proves"


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
        if labels != [label for pair in certificate.laws for label in pair.labels]:
            raise CertificateError("the shares that the certificate names are not those of its laws")
        if stated["every"]:
            _check_every(certificate, stated)
    elif all(isinstance(law, Family) for law in certificate.laws):
        _check_moves(certificate, stated)


def _check_moves(certificate: Certificate, stated: Stated) -> None:
    """Where no law of the statistics is believed, values move by what the swapped records can: each of n records moves
    a statistic by at most an n-th of the range that all of them leave it."""
    n, lattice = read_whole(stated["size"]), certificate.lattice
    cells = {share["name"]: read_whole(share["from"]) for share in stated["shares"]}
    swapped = max((abs(cells[a] - cells[b]) for a, b in stated["pairs"]), default=0)
    if stated["every"]:
        swapped = max(swapped, math.floor(n * read_number(stated["tolerance"])))
    for family in certificate.laws:
        assert isinstance(family, Family)
        steps = [abs(int(x)) for x in (family.points[-1] - family.points[0]).reshape(-1)]
        for moved, ends in zip(steps, stated["limits"], strict=True):
            wide = None if ends is None or lattice is None else read_number(ends[1]) - read_number(ends[0])
            if wide is not None and lattice is not None and moved * lattice.grid < swapped * wide / n:
                raise CertificateError(_NOT_COVERED)
    if "swap" in certificate.body and read_whole(certificate.body["swap"]["records"]) < swapped:
        raise CertificateError(_NOT_COVERED)


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
        ClassMoments(
            tuple(map(read_number, found["mean"])), tuple(tuple(map(read_number, row)) for row in found["cov"])
        )
        for found in stated["records"]
    )
    for law in (one, other):
        MultivariateNormal(law.mean, law.cov)  # a mean and a covariance, or an error
    made = {
        name: MultivariateNormal(*mixed_law(one, other, Fraction(g), Fraction(n - h), g, n - g))
        for name, (g, h) in cells.items()
    }
    pairs: Any = zip(stated["pairs"], certificate.laws, strict=True)
    return all(pair.p == made[a] and pair.q == made[b] for (a, b), pair in pairs)
