"""What a certificate with laws says in words, worked out from its parts; what it leaves to the publisher's word.

Lines that none may leave out follow from what runs: one release; no noise; normal vectors, declared exactly normal
where noise lets a direction through; exact translates where noise lies along their differences alone; real numbers that
no computer draws; draws of records inside the release; and from what is published: that rows, or records, are
independent. Every other line is the publisher's own: which beliefs these are, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fugu.data.schema import Schema
from fugu.documents import sentences as say
from fugu.documents.anybody import check_anybody
from fugu.documents.disclosure import PRIVATE_NUMBERS
from fugu.documents.meaning import meaning
from fugu.documents.swap import SWAP, WORD
from fugu.errors import CertificateError
from fugu.laws.sets.sampled import Sampled
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.directed import DirectedLaplace

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate


_OF_SHAPES = {"sets": say.SETS, "cells": say.CELLS, "space": say.COORDINATES}
_OF_THEIR_OWN = (DirectedLaplace.name, CorrelatedGaussian.name)
"""Noise that has another scale in every direction."""


def needed(certificate: Certificate) -> Iterator[str]:
    """The lines that follow from the parts of a certificate; of a mixture those of both halves."""
    if certificate.kind == "mixed":
        for half in certificate.parts:
            yield from needed(half)
        return
    if certificate.body.get("statistic") is not None:
        yield from (say.INDEPENDENT_RECORDS, say.SIZES)
    elif certificate.body.get("query") is not None:
        yield say.INDEPENDENT
    yield say.ONE_RELEASE
    noise = certificate.drawn
    if certificate.kind == "analysis":
        yield say.ANALYSIS_ONLY
    elif noise.silent:
        yield say.NO_NOISE
    if isinstance(noise, CorrelatedGaussian):
        yield say.GAUSSIAN_MODEL
        if not noise.base and not noise.silent:
            yield say.EXACTLY_NORMAL
    if isinstance(noise, DirectedLaplace) and not (noise.axes and all(sum(map(abs, b)) == 1 for b in noise.columns)):
        yield say.TRANSLATES
    if SWAP in certificate.body:
        yield say.DRAWN_INSIDE
    if (remap := certificate.body.get("remap")) is not None:
        yield say.remapped(remap["loss"], remap["weight"] != "mean")


def described(certificate: Certificate) -> Iterator[str]:
    """Further lines that follow from the parts, which versions before 0.4 could leave out."""
    if certificate.kind == "mixed":
        for half in certificate.parts:
            yield from described(half)
        return
    body, shapes = certificate.body, {item.shape for item in certificate.laws}
    if certificate.kind == "channel":
        yield say.WEIGHT[certificate.optimum.weighing]
        if "sets" not in shapes:
            yield say.FITTED
    elif body.get("statistic") is None and SWAP not in body and body["noise"]["kind"] not in _OF_THEIR_OWN:
        yield from (line for shape, line in _OF_SHAPES.items() if shape in shapes)
    if "confidence" in body:
        yield from meaning(Sampled.from_json(body["confidence"]))
    if body.get("query") is not None and body.get("statistic") is None:
        person = _person(certificate)
        yield "one row is one person" if person is None else f"unit: {person}, one row each"


def own_lines(certificate: Certificate) -> list[str]:
    """The assumptions in the publisher's own words."""
    known = {*needed(certificate), *described(certificate)}
    if unit_of(certificate) == say.ONE_VALUE:
        known |= {say.INDEPENDENT_ROWS, say.INDEPENDENT}
    return [line for line in certificate.assumptions if line not in known]


def unit_of(certificate: Certificate) -> str:
    """Whose secret is protected: a record, where a statistic of records is published; a data set, where the secret is a
    property of the whole; a row, or the person that a column of the reading names; else the one published value."""
    body = certificate.body
    if certificate.kind == "mixed":
        return unit_of(certificate.parts[0])
    if body.get("statistic") is not None:
        return say.ONE_RECORD
    if "property" in body:
        return say.ONE_DATA_SET
    if body.get("query") is None:
        return say.ONE_VALUE
    person = _person(certificate)
    return say.ONE_ROW if person is None else say.unit_of_person(person)


def _person(certificate: Certificate) -> str | None:
    """The column that names the person: that of the recipe; where the secret was told in code, the one that is read
    beside the published column."""
    recipe, query = certificate.body.get("recipe"), certificate.body.get("query")
    if recipe is not None:
        return None if recipe["unit"] is None else str(recipe["unit"])
    if query is None or certificate.body.get("reading") is None:
        return None
    beside = set(Schema.from_json(certificate.body["reading"]).fields) - {query["publish"]}
    return next(iter(beside)) if len(beside) == 1 else None


def check_assumed(certificate: Certificate) -> None:
    """CertificateError if a line is left out that the proof rests on, if the publisher's own lines are not marked, or
    if another promise is stated against anybody than holds."""
    check_anybody(certificate)
    said, own = certificate.assumptions, own_lines(certificate)
    for line in needed(certificate):
        if line not in said:
            raise CertificateError(f"the certificate leaves out what its proof rests on: {line!r}")
    marked = certificate.body.get("publisher")
    if unit_of(certificate) == say.ONE_VALUE and not {*say.ENOUGH, say.CELLS} & set(said):
        by_default = {say.EXACT_LAWS, say.BY_HAND} & set(said)
        if marked is not None or by_default or not own:
            raise CertificateError(f"the certificate leaves out what its proof rests on: {say.INDEPENDENT_ROWS!r}")
    if marked is None:
        return
    for line in described(certificate):
        if line not in said:
            raise CertificateError(f"the certificate leaves out what follows from it: {line!r}")
    if len(set(said)) < len(said):
        raise CertificateError("the certificate states an assumption twice")
    fitted = any(certificate.body.get(part) is not None for part in ("query", "statistic", SWAP))
    fitted = fitted or ("property" in certificate.body and certificate.runs == "correlated")
    if fitted and not {say.APART, PRIVATE_NUMBERS} & set(said):
        raise CertificateError("the certificate does not say whether the reference is apart from the private table")


def on_their_word(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What a certificate with laws holds no proof of, by name, and why: draws of records, and how far one record moves
    a statistic that has no ends. Where there are ends, `documents.shares` holds the shift against them."""
    if SWAP in certificate.body:
        yield "draws", WORD
    stated = certificate.body.get("property")
    if stated is None or certificate.runs == "correlated":  # laws of the statistics are in it
        return
    free = [name for name, ends in zip(stated["statistics"], stated["limits"], strict=True) if ends is None]
    if free:
        why = (
            f"how far one record moves {', '.join(free)} is the range of its column in the reference, by the "
            "publisher's word: no bounds were declared, to which records are clipped and shifts are held against"
        )
        yield "reach of a record", why
