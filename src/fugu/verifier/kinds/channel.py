"""Channels of least loss: the guarantee as of every certificate with laws, and how far from the optimum they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from fugu.documents.certificate import Certificate
from fugu.documents.optimum_checks import check_limits, check_lower, check_names, check_value
from fugu.laws.pair import PairsLike
from fugu.verifier.kinds.laws import REMAP, LawBased
from fugu.verifier.kinds.registry import Kind, kind
from fugu.verifier.verdict import Checked, Proved, checked

_LAWS = LawBased()
_DISTANCE = "distance from the optimum"


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
        if certificate.optimum.lower is None:
            yield _DISTANCE, "not checked", "no bound on other channels is stated, nor how near the optimum this one is"
        else:
            says = "no channel with these outputs has less than the stated bound, worked out from the dual numbers"
            yield checked(_DISTANCE, says, lambda: check_lower(certificate))
