"""Certificates that embed laws and a noise: one number, vectors, normal vectors, and analyses that are never drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from fugu.data.schema import Schema
from fugu.documents.assumed import on_their_word
from fugu.documents.certificate import Certificate
from fugu.documents.confidence import check_sampled, speaks_of_confidence
from fugu.documents.plain_json import proving, reading
from fugu.documents.remap import Remap
from fugu.documents.swap import proof_of
from fugu.errors import BadNoise, CertificateError
from fugu.laws.pair import PairsLike
from fugu.numbers.exact import read_number
from fugu.verifier.given import laws_given
from fugu.verifier.kinds.registry import Kind, kind, parsed, said
from fugu.verifier.verdict import Checked, NotChecked, Outcome, Proved, checked

REMAP, FIGURES = "remap", "what is stated as proved is not below what is proved now"


@final
@kind("additive")
@kind("vector")
@kind("correlated")
@kind("analysis")
class LawBased(Kind):
    """Prove the noise on the laws, compare with the budget: noise on one number or on each row of a column, on vectors,
    on normal laws of vectors in the Gaussian model, and noise that is never drawn, in real arithmetic."""

    document = Certificate

    def prove(self, certificate: Certificate, laws: PairsLike | None) -> Proved:
        """On the certificate's own laws, or on those given, pushed through the certificate's rounding first."""
        try:
            with proving():
                known = certificate.laws if laws is None else laws_given(laws, certificate)
                proof = proof_of(certificate, known, own=laws is None)
        except BadNoise as error:
            return Proved.nothing(f"these laws do not fit the certificate's lattice: {error}")
        words = "the proved loss is within the budget" if proof.holds else "the proved loss is above the budget"
        outcome: Outcome = "holds" if proof.holds else "fails"
        return Proved(proof.epsilon, proof.delta, proof.worst_pair, outcome, f"{words} {certificate.budget!r}")

    def check(self, certificate: Certificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:
        """What `Certificate.parse` has run, then what was not looked at before: the reading and the stated figures."""
        yield from parsed(certificate)
        yield checked("reading", "records are read by a schema that can be read back", lambda: is_schema(certificate))
        if speaks_of_confidence(certificate):
            given = "the sets of laws are those that the counts give at the confidence stated, or hold them"
            yield checked("confidence", given, lambda: check_sampled(certificate))
        if REMAP in certificate.body:
            least = "outputs go where the stated loss is least for the stated weight, by a table of outputs alone"
            yield checked(REMAP, least, lambda: is_least(certificate))
        yield from ((name, "not checked", why) for name, why in on_their_word(certificate))
        yield checked("stated figures", FIGURES, lambda: not_below(certificate, proved, other_laws))
        yield from said(certificate, proved, other_laws)


def is_least(certificate: Certificate) -> None:
    """CertificateError if outputs are not moved where the stated loss is least."""
    found = Remap.in_certificate(certificate)
    assert found is not None
    found.check()


def is_schema(certificate: Certificate) -> None:
    """CertificateError if the reading is not a schema; there is none where laws were given directly."""
    if (stated := certificate.body.get("reading")) is None:
        raise NotChecked("no schema is stated: the laws were given directly, or the statistics worked out before")
    with reading():
        Schema.from_json(stated)


def not_below(certificate: Certificate, proved: Proved, other_laws: bool) -> None:
    """CertificateError if a stated figure is smaller than what is proved now: a loss that nobody has proved."""
    if other_laws:
        raise NotChecked("the figures are about the certificate's own laws, and others were given")
    for name, now in (("epsilon", proved.epsilon), ("delta", proved.delta)):
        with reading():
            stated = read_number(certificate.body["proved"][name])
        if now == float("inf") or stated < read_number(now):
            raise CertificateError(f"the certificate states {name} {float(stated):.10g}, and proved is {now:.10g}")
