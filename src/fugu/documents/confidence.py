"""Certificates with confidence: what it means in words, and that their sets of laws are those that the counts give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.data.field import TRUTH
from fugu.data.moments import middles
from fugu.data.schema import Schema
from fugu.documents.reading import reading
from fugu.documents.sentences import CONFIDENT
from fugu.errors import CertificateError
from fugu.laws.family import SetFamily
from fugu.laws.sets import Band, Box, Intersection
from fugu.laws.sets.confidence import Sampled
from fugu.laws.sets.law_set import LawSet
from fugu.numbers.exact import as_fraction, read_number
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

_EVENT = (
    "over the draw of the reference, before it was seen, the promise holds for the true laws with at least this "
    "probability. It is one event, common to all rows and all releases that rest on this reference; it is spent once "
    "and is not a delta"
)
_ROWS = (
    "reference rows are independent draws given their secret, one row each, from the population of the protected rows, "
    "and independent of the protected rows"
)


def counts_of(body: Json) -> Sampled:
    """The counts that a certificate states."""
    return Sampled.from_json(body["confidence"])


def meaning(sampled: Sampled) -> tuple[str, ...]:
    """What must be true, and what is then true: docs/proofs/confidence.md#1-what-confidence-means has the theorem.

    If the reference is independent of the protected row and its secret, and the sets cover with probability at least
    1 - alpha, then P(A | s) <= e^epsilon P(A | t) + delta + alpha for every event A on (reference, output)."""
    shares = "independent rows" if sampled.disjoint else "a union bound, since rows may hold several secrets"
    declared = f"declared before the counts were looked at: {sampled.declared}; the error is shared among"
    said = [
        f"{CONFIDENT}{float(sampled.confidence) * 100:.10g} %: {_EVENT}",
        f"{declared} {len(sampled.counts)} secrets by {shares}",
        _ROWS,
    ]
    if sampled.shift:
        far = f"{float(sampled.shift):g}"
        said.append(f"the protected rows are within total variation {far} of the population of the reference")
    return tuple(said)


def _check_told(certificate: Certificate) -> None:
    """CertificateError unless words, recipe, reading and counts speak of one confidence, on the same declared values.

    Else somebody could state 95 % in words and prove the promise for sets that no counts stand behind."""
    if "confidence" not in certificate.body:
        raise CertificateError("the certificate speaks of a confidence, and holds no counts that it rests on")
    with reading():
        sampled = counts_of(certificate.body)
        recipe = certificate.body["recipe"]  # None where secrets were told by a function, which JSON cannot say
        same = {"confidence": str(sampled.confidence), "shift": str(sampled.shift), "public_prior": False}
        stated = same if recipe is None else recipe
        level, shift = read_number(stated["confidence"]), read_number(stated["shift"])
        domain = _domain(certificate)
    if (level, shift) != (sampled.confidence, sampled.shift) or stated["public_prior"] is not False:
        raise CertificateError("the recipe of the certificate asks for another confidence than its counts are used at")
    said = [line for line in certificate.assumptions if line.startswith(CONFIDENT)]
    if len(said) != 1 or not set(meaning(sampled)) <= set(certificate.assumptions):
        raise CertificateError("the assumptions do not say what the confidence of the certificate means")
    if not np.array_equal(domain, np.array(sampled.values)):
        raise CertificateError("records are not read as the values that the certificate says were declared")


def _domain(certificate: Certificate) -> NDArray[np.float64]:
    """Every value that the stated query and schema can publish."""
    query = certificate.body["query"]
    if query["edges"] is not None:
        return middles(tuple(float(edge) for edge in query["edges"]))
    if query["categories"] is not None:
        return np.arange(float(len(query["categories"])))
    field = Schema.from_json(certificate.body["reading"]).fields[query["publish"]]
    if field.ordered and field.values == TRUTH:
        return np.array([0.0, 1.0])
    if field.bounds is None or field.step is None:
        raise CertificateError("the certificate states a confidence, and its schema declares no values")
    low, high = (as_fraction(x) for x in field.bounds)
    return np.array([float(low + k * field.step) for k in range(int((high - low) / field.step) + 1)])


def check_sampled(certificate: Certificate) -> None:
    """CertificateError unless every set of the laws holds one that the stated counts give at the stated confidence.

    A set that is larger than it need be costs noise and no promise; one that is smaller promises too much. So does a
    confidence in words that the counts are not used at, or that speaks of other values than records are read as."""
    _check_told(certificate)
    sampled = counts_of(certificate.body)
    families = certificate.laws
    if len(families) != 1 or not isinstance(family := families[0], SetFamily):
        raise CertificateError("the certificate states a confidence, and its beliefs are not sets of laws")
    values, lattice = np.array(sampled.values), certificate.lattice
    if lattice is None and (certificate.support is None or not np.array_equal(certificate.support, values)):
        raise CertificateError("the certificate publishes other values than it says were declared")
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
