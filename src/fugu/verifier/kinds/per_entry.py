"""Claims of privacy per entry: what fugu claims of its own queries is worked out again, the word of others is not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, final

from fugu.documents.document import canonical_json
from fugu.documents.per_entry import NEIGHBOURS, PerEntryCertificate
from fugu.documents.plain_json import reading
from fugu.errors import CertificateError
from fugu.laws.pair import PairsLike
from fugu.queries.sequence_claims import check_guarantee, claims_of, is_users_own, query_from, stated_words
from fugu.verifier.kinds.registry import Kind, kind, no_laws, own_words, sealed
from fugu.verifier.verdict import Checked, NotChecked, Proved, checked


@final
@kind("per-entry")
class PerEntry(Kind):
    """A mechanism that is private for each entry, whatever the prior."""

    document = PerEntryCertificate

    def prove(self, certificate: PerEntryCertificate, laws: PairsLike | None) -> Proved:
        """The epsilon of a query whose sensitivity fugu works out; nothing where somebody's word is all there is."""
        no_laws(laws, "a mechanism that is private for each entry")
        try:
            same_query(certificate.claims)
        except NotChecked as why:
            return Proved.nothing(str(why), "not checked", NEIGHBOURS)
        except CertificateError as error:
            return Proved.nothing(str(error), worst_pair=NEIGHBOURS)
        found = certificate.guarantee
        reason = f"noise for the sensitivity {certificate['sensitivity']} of {certificate['query']}"
        epsilon = math.inf if found.renyi else float(found.epsilon)  # a divergence is no epsilon: the words say it
        return Proved(epsilon, float(found.delta), NEIGHBOURS, "holds", reason + stated_words(certificate.claims))

    def check(self, certificate: PerEntryCertificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:  # noqa: ARG002
        """The query, made again from its name."""
        yield from sealed(certificate)
        yield checked("query", "the query named has the sensitivity stated", lambda: same_query(certificate.claims))
        yield from own_words(certificate)


def same_query(claims: Mapping[str, Any]) -> None:
    """CertificateError unless the query that the claims name says of itself what they say.

    fugu's own queries are drawn for the sensitivity they state; of anything else the document holds no proof."""
    if claims["claimed by"] != "fugu" or is_users_own(claims):
        who = claims["claimed by"] if claims["claimed by"] != "fugu" else "the user, who states the sensitivity"
        raise NotChecked(f"privacy per entry is the word of {str(who)[:80]}; nothing in the document proves it")
    with reading():
        own = claims_of(query := query_from(claims))
        if any(canonical_json(claims.get(name)) != canonical_json(part) for name, part in own.items()):
            raise CertificateError("the query that the certificate names has another sensitivity or domain")
        check_guarantee(claims, query)
