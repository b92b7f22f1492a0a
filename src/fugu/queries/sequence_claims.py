"""The query that a certificate names, made again from what the certificate says of it.

Only queries whose sensitivity fugu works out itself can be; a function or a utility of the user's own cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fugu.documents.document import canonical_json
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.plain_json import reading
from fugu.documents.verdict import NotChecked
from fugu.errors import CertificateError
from fugu.guarantee import ZCDP, Approx
from fugu.numbers.exact import read_number, read_whole
from fugu.queries.sequence_counts import Count, Histogram, Mean, RandomisedResponse, Sum, Transitions
from fugu.queries.sequence_data import Numbers, States
from fugu.queries.sequence_lattice import LatticeMechanism, check_belief
from fugu.queries.sequence_query import SequenceQuery, Several
from fugu.queries.sequences import ArgMax, TopK

Claims = Mapping[str, Any]
_BY_USER = "sensitivity stated by"


def is_users_own(claims: Claims) -> bool:
    """Whether the sensitivity is the word of the user: a function or utility that no document holds."""
    return _BY_USER in claims


def query_from(claims: Claims) -> SequenceQuery:
    """The query of these claims; CertificateError if fugu has none of this name."""
    if "parts" in claims:
        return _several(claims)
    for pattern, make in _QUERIES:
        if found := re.fullmatch(pattern, str(claims["query"]), re.DOTALL):
            return make(claims, found)
    raise CertificateError("the certificate names a query of sequences that this version of fugu does not know")


def claims_of(query: SequenceQuery) -> dict[str, Any]:
    """What a certificate says of a query, whatever its epsilon."""
    return query.claims()


def _several(claims: Claims) -> Several:
    """Questions that share an epsilon; one that is itself several is refused, so this ends."""
    if any("parts" in part for part in claims["parts"]):
        raise CertificateError("a question of several is itself several, which no version of fugu writes")
    parts = [query_from(part) for part in claims["parts"]]
    return Several(tuple(parts), tuple(read_number(part["share"]) for part in claims["parts"]))


def check_guarantee(claims: Claims, query: SequenceQuery) -> None:
    """CertificateError unless the guarantee is what the noise that is named keeps, and is worth what is stated under
    the belief beside it; without a word about noise, a pure epsilon."""
    if "lattice" in claims:
        check_belief(claims, _lattice_guarantee(claims, query))
    elif claims["delta"] != "0" or "guarantee" in claims or "belief" in claims:
        raise CertificateError("this query of sequences has a pure epsilon, and something else is stated")


def _lattice_guarantee(claims: Claims, query: SequenceQuery) -> Approx | ZCDP:
    """What is claimed for each entry; CertificateError unless the noise, made again from its rho, is as stated and
    keeps it."""
    found = PerEntryCertificate(dict(claims)).guarantee
    if not isinstance(found, Approx | ZCDP):
        raise CertificateError("Gaussian noise has no pure epsilon for each entry, and one is stated")
    own = LatticeMechanism(query, read_number(claims["lattice"]["rho"]), found).certificate.claims
    if any(canonical_json(claims.get(name)) != canonical_json(part) for name, part in own.items() if name != "kind"):
        raise CertificateError("the noise is not that of its own figures")
    return found


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


def _states(claims: Claims) -> States:
    return States(claims["entries"]["states"], claims["entries"]["undeclared entries count as"])


def _numbers(claims: Claims) -> Numbers:
    low, high = map(read_number, claims["entries"]["clipped to"])
    return Numbers(low, high, read_number(claims["entries"]["missing entries count as"]))


def _count(claims: Claims, found: re.Match[str]) -> Count:
    domain = _states(claims)
    return Count(domain.names[domain.code(found["state"])], domain)


def _transitions(claims: Claims, _: re.Match[str]) -> Transitions:
    longest = claims.get("longest sequence")
    return Transitions(_states(claims), None if longest is None else read_whole(longest))


_QUERIES: tuple[tuple[str, Callable[[Claims, re.Match[str]], SequenceQuery]], ...] = (
    (r"count\((?P<state>.*)\)", _count),
    ("histogram", lambda claims, _: Histogram(_states(claims))),
    ("transitions", _transitions),
    ("sum", lambda claims, _: Sum(_numbers(claims), read_number(claims["rounded to multiples of"]))),
    ("mean", lambda claims, _: Mean(_numbers(claims), read_number(claims["rounded to multiples of"]))),
    (r"top (?P<k>[0-9]{1,9})", lambda claims, found: TopK(int(found["k"]), _states(claims), claims["method"])),
    ("arg max", lambda claims, _: ArgMax(_states(claims), claims["method"])),
    ("randomised response", lambda claims, _: RandomisedResponse(_states(claims))),
)
