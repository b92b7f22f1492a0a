"""Certificates with confidence: their sets of laws are those that the counts give, or hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fugu.errors import CertificateError
from fugu.laws.set_family import SetFamily
from fugu.laws.sets import Band, Box, Intersection
from fugu.laws.sets.law_set import LawSet
from fugu.laws.sets.sampled import Sampled

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate


def check_sampled(certificate: Certificate) -> None:
    """CertificateError unless every set of the laws holds one that the stated counts give at the stated confidence.

    A set that is larger than it need be costs noise and no promise; one that is smaller promises too much."""
    sampled = Sampled.from_json(certificate.body["confidence"])
    families = certificate.laws
    if len(families) != 1 or not isinstance(family := families[0], SetFamily):
        raise CertificateError("the certificate states a confidence, and its beliefs are no sets of laws")
    values, lattice = np.array(sampled.values), certificate.lattice
    where = np.arange(len(values)) if lattice is None else lattice.index(values)
    if not np.array_equal(np.unique(where), family.points):
        raise CertificateError("the certificate's laws are not on the values that it says were declared")
    _, places = np.unique(where, return_inverse=True)
    names = _names(family, tuple(sampled.counts))
    for number, stated in enumerate(family.sets):
        if len(family.points) == len(values):
            sampled.check(names[number], stated)
        elif not _holds(stated, sampled.sets[names[number]].at(places, stated.values)):
            raise CertificateError(f"the set of {names[number]!r} is narrower than what its counts, joined, allow")


def _names(family: SetFamily, secrets: tuple[str, ...]) -> dict[int, str]:
    """The secret of every set, by the labels of the pairs."""
    found: dict[int, str] = {}
    known = {f"{a} vs {b}": (a, b) for a in secrets for b in secrets}
    for (i, j), label in zip(family.pairs, family.labels, strict=True):
        if label not in known:
            raise CertificateError(f"the pair {label!r} is of secrets that the certificate states no counts for")
        for number, secret in zip((i, j), known[label], strict=True):
            if found.setdefault(number, secret) != secret:
                raise CertificateError("one set of the certificate stands for two secrets")
    return found


def _holds(stated: LawSet, valid: LawSet) -> bool:
    """Whether every part of the stated set surely holds a part of the valid one, limit by limit."""
    parts = stated.sets if isinstance(stated, Intersection) else (stated,)
    known = valid.sets if isinstance(valid, Intersection) else (valid,)
    return all(any(_within(part, other) for other in known) for part in parts)


def _within(wide: LawSet, narrow: LawSet) -> bool:
    if type(wide) is not type(narrow):
        return False
    if isinstance(wide, Box | Band) and isinstance(narrow, Box | Band):
        return bool(np.all(wide.lower <= narrow.lower) and np.all(wide.upper >= narrow.upper))
    return wide == narrow
