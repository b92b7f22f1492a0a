"""Channels of least loss: the guarantee as of every certificate with laws, and how far from the optimum they are."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import final

from fugu.channels.bounds import lower, value
from fugu.channels.repair import holds
from fugu.documents.certificate import Certificate
from fugu.documents.optimum import problem_of
from fugu.documents.plain_json import proving, reading
from fugu.errors import CertificateError
from fugu.laws.pair import PairsLike
from fugu.verifier.kinds.laws import REMAP, LawBased
from fugu.verifier.kinds.registry import Kind, kind
from fugu.verifier.verdict import Checked, NotChecked, Proved, checked

_LAWS = LawBased()


@final
@kind("channel")
class Channels(Kind):
    """Prove the integer channel on the laws; then its loss, the limits it states, and the bound on all other ones."""

    document = Certificate

    def prove(self, certificate: Certificate, laws: PairsLike | None) -> Proved:
        """In integers, through the one door, on the certificate's own laws or on those given."""
        return _LAWS.prove(certificate, laws)

    def check(self, certificate: Certificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:
        """What every certificate with laws is asked, then what this one says of the optimum."""
        yield from (line for line in _LAWS.check(certificate, proved, other_laws) if line[0] != REMAP)
        if certificate.channel.names is not None or (certificate.body.get("query") or {}).get("nominal"):
            yield checked("names", "outputs are called what the query calls them", lambda: check_names(certificate))
        if certificate.optimum.cap is not None or certificate.optimum.monotone:
            yield checked("cap and order", "the channel keeps both as stated", lambda: check_limits(certificate))
        says = "the stated loss is not below that of the channel, worked out from its whole numbers"
        yield checked("expected loss", says, lambda: check_value(certificate))
        says = "no channel with these outputs has less than the stated bound, worked out from the dual numbers"
        yield checked("distance from the optimum", says, lambda: check_lower(certificate))


def check_value(certificate: Certificate) -> None:
    """CertificateError if the channel loses more than it says."""
    stated = certificate.optimum.value
    with reading(), proving():
        found = value(problem_of(certificate), certificate.channel.rows)
    if Fraction(stated) < found:
        raise CertificateError(f"the channel's expected loss is {float(found):.10g}, and {stated:.10g} is stated")


def check_limits(certificate: Certificate) -> None:
    """CertificateError unless K(y|x) <= e^cap K(y|x') and the rows rise, where that is stated."""
    with reading(), proving():
        kept = holds(problem_of(certificate), certificate.channel.rows)
    if not kept:
        raise CertificateError("the channel does not keep the cap, or the order, that the certificate states")


def check_lower(certificate: Certificate) -> None:
    """CertificateError if the dual numbers do not prove the stated bound."""
    least, prices = certificate.optimum.lower, certificate.optimum.prices
    if least is None:
        raise NotChecked("no bound on other channels is stated; nothing is said of how near the optimum this one is")
    if prices is None:
        raise CertificateError("a bound on other channels is stated without the dual numbers that would prove it")
    with reading(), proving():
        found = lower(problem_of(certificate), prices)
    if found < Fraction(least):
        raise CertificateError(f"the dual numbers prove a bound of {float(found):.10g}, and {least:.10g} is stated")


def check_names(certificate: Certificate) -> None:
    """CertificateError if a category would go out under the name of another."""
    channel, query = certificate.channel, certificate.body.get("query") or {}
    known = {float(k): name for k, name in enumerate(query["categories"] if query.get("nominal") else ())}
    if channel.names is None or [known.get(y) for y in channel.outputs] != list(channel.names):
        raise CertificateError("the channel's outputs are not called what the query calls these categories")
