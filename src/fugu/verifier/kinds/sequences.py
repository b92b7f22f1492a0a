"""Releases of sequences: the query is made again, and its epsilon translated again under the chain in the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

from fugu.data.schema import Schema
from fugu.documents.document import canonical_json
from fugu.documents.plain_json import reading
from fugu.errors import CertificateError
from fugu.guarantee.numbers import exact
from fugu.laws.pair import PairsLike
from fugu.numbers.exact import read_number
from fugu.queries.sequence_certificate import (
    OWN_TABLE,
    REFERENCE,
    SECRETS,
    SequenceCertificate,
    needed_assumptions,
    numbers_of,
    starting,
)
from fugu.queries.sequence_prior import Chain, chain_json
from fugu.queries.sequence_promise import keeps, worth
from fugu.verifier.kinds.per_entry import same_query
from fugu.verifier.kinds.registry import Kind, kind, no_laws, own_words, sealed
from fugu.verifier.verdict import Checked, NotChecked, Proved, checked

_LONGEST, _MOST_WORK = 20_000, 3e7
"""Chains of more steps, or more states squared times steps, would take minutes to translate."""
_ROUNDING = 1e-12
"""Version 0.1 wrote the law of a start through its logarithm: the figure it stated is for a law this near."""


@final
@kind("sequence")
class Sequences(Kind):
    """A statistic of sequences with a guarantee for each entry's state under a Markov chain."""

    document = SequenceCertificate

    def prove(self, certificate: SequenceCertificate, laws: PairsLike | None) -> Proved:
        """The translation of the epsilon for each entry under the chain as written."""
        no_laws(laws, "sequences; their prior is in it")
        try:
            with reading():
                same_query(certificate.claims)
                found = worth(chain_of(certificate), certificate.entry, certificate.budget)
        except NotChecked as why:
            return Proved.nothing(str(why), "not checked", SECRETS)
        except CertificateError as error:
            return Proved.nothing(str(error), worst_pair=SECRETS)
        if certificate.overstates(found):
            return Proved.nothing("it states more than is proved, at one order or more", worst_pair=SECRETS)
        holds = keeps(found, certificate.budget)
        where = "within" if holds else "above"
        reason = f"the translated epsilon is {where} the {float(certificate.asked):.10g} that was asked for"
        epsilon, delta = (float(x) for x in numbers_of(found, certificate.budget))
        return Proved(epsilon, delta, SECRETS, "holds" if holds else "fails", reason)

    def check(self, certificate: SequenceCertificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:  # noqa: ARG002
        """Query, reading, prior, secrets, assumptions and figures, each against what the parameters say."""
        yield from _sealed(certificate)
        yield checked("query", "the query named has the sensitivity stated", lambda: same_query(certificate.claims))
        yield checked("reading", "entries are read by a schema that can be read back", lambda: _schema(certificate))
        yield checked("prior", "the words about the chain are those of its numbers", lambda: _prior(certificate))
        yield checked("secrets", "every secret is protected or named as skipped", lambda: _secrets(certificate))
        yield checked("assumptions", "nothing that the proof rests on is left out", lambda: _assumptions(certificate))
        says = "what is stated as proved is not below what is proved now"
        yield checked("stated figures", says, lambda: _figures(certificate, proved))
        yield from own_words(certificate)


def chain_of(certificate: SequenceCertificate) -> Chain:
    """The chain in the document, if it is there and not beyond what is worked through here."""
    stated = certificate["prior"]
    if "confidence" in stated and stated["fitted on"] != REFERENCE:
        raise CertificateError(OWN_TABLE)
    if (chain := certificate.chain) is None:
        raise NotChecked("the transitions of a prior with so many states are not in the document")
    if chain.length > _LONGEST or chain.length * chain.size**2 > _MOST_WORK:
        raise NotChecked("so long a chain takes minutes to translate; give it to fugu.translate in Python")
    return chain


def _sealed(certificate: SequenceCertificate) -> list[Checked]:
    if certificate.is_sealed:
        return sealed(certificate)
    unsealed = "version 0.1 wrote sequences without a digest: edits of words show nowhere"
    return [("digest", "not checked", unsealed), ("kind and schema", "holds", "sequence, as version 0.1 wrote it")]


def _schema(certificate: SequenceCertificate) -> None:
    with reading():
        schema = Schema.from_json(certificate["reading"])
        schema.sequence.require(certificate["prior"]["states"])
        if "publisher" in certificate.body and schema.to_json() != certificate["reading"]:
            raise CertificateError("the part 'reading' of the certificate is not a schema that fugu writes")


def _prior(certificate: SequenceCertificate) -> None:
    """CertificateError unless the chain writes itself as the document does, up to the digits of its laws."""
    stated = certificate["prior"]
    with reading():
        own = chain_json(chain_of(certificate))
        _same_words(certificate, stated, own)


def _same_words(certificate: SequenceCertificate, stated: dict[str, Any], own: dict[str, Any]) -> None:
    if more := sorted(set(stated) - set(own) - {"smoothing", "fitted on", "digest"}):
        raise CertificateError(f"the prior of the certificate has a part {more[0][:40]!r} that no chain has")
    for name in ("class", "states", "length", "forbidden transitions"):
        if canonical_json(stated.get(name)) != canonical_json(own[name]):
            raise CertificateError(f"the part {name!r} of the prior is not what its transitions say")
    if certificate["entries"].get("states", own["states"]) != own["states"]:
        raise CertificateError("the states of the query are not those of the prior")


def _secrets(certificate: SequenceCertificate) -> None:
    stated = certificate["pufferfish"]
    with reading():
        if stated["secrets"] != SECRETS or stated["skipped"] != list(chain_of(certificate).skipped):
            raise CertificateError("the certificate does not name the secrets that its prior gives no mass to")


def _assumptions(certificate: SequenceCertificate) -> None:
    said = certificate["assumptions"]
    with reading():
        layout = Schema.from_json(certificate["reading"]).sequence
        ahead, behind = needed_assumptions(certificate["prior"], certificate.body.get("ledger") is not None, layout)
        begins = (
            starting(certificate.chain) if "publisher" in certificate.body else ()
        )  # before 0.4 it could be left out
        if not {*ahead, *begins, *behind} <= set(said):
            raise CertificateError("the certificate leaves out assumptions that its proof needs")


def _figures(certificate: SequenceCertificate, proved: Proved) -> None:
    if proved.budget == "not checked":
        raise NotChecked(proved.reason)
    stated = certificate.stated
    if proved.epsilon == float("inf"):
        raise CertificateError("nothing is proved, and an epsilon is stated")
    if exact(proved.delta) > exact(certificate.proved.delta):
        raise CertificateError("it states a smaller delta than is proved")
    if exact(proved.epsilon) > stated:
        if not certificate.is_sealed and exact(proved.epsilon) <= stated * (1 + read_number(_ROUNDING)):
            raise NotChecked("version 0.1 stated it for a start that differs from the one written in the last digit")
        raise CertificateError(f"it states epsilon {float(stated):.16g}, and proved is {proved.epsilon:.16g}")
