"""The noise of questions in words: of each query of sequences, made again out of its certificate, and of records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import singledispatch
from typing import Any

from fugu.documents.records import RecordsCertificate
from fugu.documents.verdict import NotChecked
from fugu.errors import CertificateError
from fugu.guarantee.composition import PUBLIC
from fugu.numbers.exact import read_number
from fugu.numbers.text import clean, number, percent
from fugu.numbers.text import epsilon as epsilon_of
from fugu.queries.drawing import half_width
from fugu.queries.record_words import question_told
from fugu.queries.sequence_claims import query_from, same_query
from fugu.queries.sequence_counts import Mean, RandomisedResponse
from fugu.queries.sequence_query import SequenceQuery, Several
from fugu.queries.sequences import ArgMax, TopK
from fugu.queries.session_certificate import FLIP, LAPLACE, NoisedQuestion, noised_in
from fugu.visible import several

Cards = tuple[tuple[str, str], ...]
_MOST = 60
"""Questions that are listed."""


def noise_of(claims: Mapping[str, Any]) -> tuple[tuple[str, ...], Cards]:
    """Sentences about the noise, and numbers that sum them up; where the document does not describe it, says so."""
    try:
        same_query(claims)
    except (NotChecked, CertificateError) as why:
        return (f"The document does not describe the noise: {clean(why, 300)}.",), ()
    query = query_from(claims)
    if "lattice" in claims:
        return _lattice(query, claims["lattice"]), ()
    epsilon = read_number(claims["epsilon"])
    if isinstance(query, Several):
        return (describe(query, epsilon)[0],), ()
    moved = (
        "Replacing one entry by any other value moves what is asked by at most "
        f"{number(float(query.sensitivity), 'up', 6)} in total; the noise is drawn for that, at "
        f"{epsilon_of(float(epsilon))} for each entry."
    )
    said, cards = describe(query, epsilon)
    return (said, moved), cards


@singledispatch
def describe(query: SequenceQuery, epsilon: Fraction) -> tuple[str, Cards]:
    """One sentence about the noise of a query, and numbers: of counts and sums, Laplace noise of scale S / epsilon.

    On steps of width g its mean size is g / sinh(g epsilon / S), which is at most S / epsilon."""
    return _laplace(query, epsilon, "every published number")


@describe.register
def _(query: Mean, epsilon: Fraction) -> tuple[str, Cards]:
    said, _ = _laplace(query, epsilon, "the sum")
    return f"{said} The mean is that sum divided by the number of entries, which is public.", ()


@describe.register
def _(query: RandomisedResponse, epsilon: Fraction) -> tuple[str, Cards]:
    kept = float(query.law(epsilon)[0])
    said = f"Every entry is published by itself: as it is with probability {percent(kept)}, else as another state."
    return said, ((percent(kept), "of the published entries are expected to be as they are"),)


@describe.register
def _(query: Several, epsilon: Fraction) -> tuple[str, Cards]:
    said = [
        f"“{clean(part.name, 80)}” ({percent(float(share))} of it): {describe(part, epsilon * share)[0]}"
        for part, share in zip(query.parts, query.shares, strict=True)
    ]
    return f"{several(len(said), 'question')} share the ε for each entry. " + " ".join(said), ()


def _lattice(query: SequenceQuery, noise: Mapping[str, Any]) -> tuple[str, ...]:
    """Lattice Gaussian noise, question by question."""
    parts = query.parts if isinstance(query, Several) else (query,)
    said = [
        f"“{clean(part.name, 80)}”: Gaussian noise, a bell around zero, with a standard deviation of "
        f"{number(math.sqrt(float(read_number(variance))), 'up', 6)} steps; one replaced entry moves what it is added "
        f"to by at most {number(math.sqrt(square), 'up', 6)} steps in length."
        for part, variance, square in zip(parts, noise["variance"], noise["squared distance"], strict=True)
    ]
    rho = number(float(read_number(noise["rho"])), "up", 6)
    return " ".join(said), f"Together that is {rho}-zCDP for each entry."


def _ranked(query: SequenceQuery, epsilon: Fraction) -> tuple[str, Cards]:
    del query, epsilon
    return "Counts are ranked with randomness, and only the names that come first are published, not the counts.", ()


describe.register(TopK, _ranked)
describe.register(ArgMax, _ranked)


def _laplace(query: SequenceQuery, epsilon: Fraction, what: str) -> tuple[str, Cards]:
    scale = query.sensitivity / epsilon
    size = number(float(scale), "up")
    said = (
        f"Laplace noise, a sharp peak at zero, with a scale of {size} is added to {what}: on average it is moved by at "
        f"most {size}, rounding apart."
    )
    return said, ((size, f"scale of the noise on {what}"),)


def questions_of(certificate: RecordsCertificate) -> dict[str, Any]:
    """A line for each question: its noise, how far answers are off, its epsilon alone; how many were `asked`; and the
    exact numbers that go out beside the answers, since whoever asked has declared them known."""
    asked = noised_in(certificate)
    columns = sorted({by for kind in certificate.types for by in kind.groups})
    groups = f" and of its groups by {', '.join(clean(name, 80) for name in columns)}" if columns else ""
    return {
        "questions": [_row(each) for each in asked[:_MOST]],
        "asked": len(asked),
        "public_numbers": f"the number of records of the table{groups}; {PUBLIC}",
    }


def _row(asked: NoisedQuestion) -> list[str]:
    said = question_told(asked)
    groups = f", {said['groups']:,} groups" if asked.by is not None else ""
    return [clean(asked.query, 120), f"{said['words']}{groups}", _within(asked), number(float(asked.most), "up", 4)]


def _within(asked: NoisedQuestion) -> str:
    """Half the width of the interval, in the units of the sum or count; of the noisiest group."""
    if asked.law == LAPLACE:
        half = max(half_width(rates[0]) for rates in asked.rates.values())
        step = float(getattr(getattr(asked.features[0], "coding", None), "step", 1))
        unit = " in the sum" if asked.kind in ("mean", "variance") else " records" if step == 1 else ""
        return f"± {number(half * step, 'up')}{unit}"
    return "some ranks off; no interval of values follows" if asked.law == FLIP else "-"
