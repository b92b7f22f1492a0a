"""What a certificate of sequences says: its query made again, its words and parts, its answer as columns.

Only queries whose sensitivity fugu works out itself can be; a function or a utility of the user's own cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fugu.data.layout import MODELLED, PLAIN, SAID, Layout
from fugu.documents import reading as of
from fugu.documents.document import NotChecked, canonical_json
from fugu.documents.per_entry import CLAIMS, PerEntryCertificate
from fugu.documents.reading import reading
from fugu.documents.sentences import PRIVATE_NUMBERS
from fugu.errors import CertificateError
from fugu.guarantee import ZCDP, Approx
from fugu.numbers.exact import read_number, read_whole
from fugu.priors.interval_chain import RESTS
from fugu.queries.sequence_counts import Count, Histogram, Mean, RandomisedResponse, Sum, Transitions
from fugu.queries.sequence_data import Numbers, States
from fugu.queries.sequence_lattice import LatticeMechanism, check_belief
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_query import SequenceAnswer, SequenceQuery, Several
from fugu.queries.sequences import ArgMax, TopK
from fugu.translation.translate import FULL_DOMAIN, INDEPENDENT_BLOCKS

Claims = Mapping[str, Any]
_BY_USER = "sensitivity stated by"


def is_users_own(claims: Claims) -> bool:
    """Whether the sensitivity is the word of the user: a function or utility that no document holds."""
    return _BY_USER in claims


def query_from(claims: Claims) -> SequenceQuery:
    """The query of these claims; CertificateError if fugu has none of this name."""
    if "parts" in claims:
        if any("parts" in part for part in claims["parts"]):
            raise CertificateError("a question of several is itself several, which no version of fugu writes")
        parts = [query_from(part) for part in claims["parts"]]
        return Several(tuple(parts), tuple(read_number(part["share"]) for part in claims["parts"]))
    for pattern, make in _QUERIES:
        if found := re.fullmatch(pattern, str(claims["query"]), re.DOTALL):
            return make(claims, found)
    raise CertificateError("the certificate names a query of sequences that this version of fugu does not know")


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
        own = (query := query_from(claims)).claims()
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


# What a certificate of sequences says in words, and which parts it has: each once (`documents.fields`).


REFERENCE = "the reference"
_GAPS = {
    SAID: "The users, the numbers of their entries and the order of these are public; gaps in time are not modelled.",
    MODELLED: "The users and the times of their entries are public; entries that are missing on the grid of times are "
    "entries of the chain that are not published: steps across them are powers of its step.",
}
_LENGTH = "The length of the prior is that of the longest sequence, if not stated: lengths are public."
_ALONE = ("This is the only release.", "All releases of these users together are in one ledger.")
_TABLE = of.each(of.each(of.figure))
_LIMITS = of.parts({"lower": of.either(_TABLE, of.each(of.figure)), "upper": of.either(_TABLE, of.each(of.figure))})
_COUNTED = of.parts(
    {
        "confidence": of.exact,
        "means": of.text,
        "intervals": of.whole,
        "kind": of.text,
        "first entries": of.maybe(of.each(of.whole)),
    },
    {"transitions": of.each(of.each(of.whole))},
)
CHAIN = of.parts(
    {
        "class": of.text,
        "initial": of.either(of.text, of.each(of.figure), _LIMITS),
        "states": of.each(of.either(of.text, of.figure)),
        "length": of.whole,
        "forbidden transitions": of.whole,
        "smoothing": of.figure,
        "fitted on": of.text,
        "digest": of.maybe(of.text),
    },
    {"transition": _TABLE, "limits": _LIMITS, "steps": of.each(of.each(of.whole)), "confidence": _COUNTED},
)
"""A belief about sequences, and where it comes from."""
_PUFFERFISH = of.parts(
    {"secrets": of.text, "skipped": of.TEXTS, "asked": of.either(of.exact, of.GUARANTEE)},
    {"epsilon": of.exact, "proved": of.GUARANTEE},
)
SEQUENCE = of.listed(
    {**of.SEALED, **CLAIMS},
    proof={"reading": of.SCHEMA, "prior": CHAIN},
    derived={"pufferfish": _PUFFERFISH, "assumptions": of.TEXTS},
    publisher={"odd entries": of.text, "ledger": of.maybe(of.named(of.text))},
    inside={
        "pufferfish": {"asked": of.PROOF},
        "prior": {"smoothing": of.PUBLISHER, "fitted on": of.PUBLISHER, "digest": of.PUBLISHER},
    },
)


def needed_assumptions(
    prior: Mapping[str, Any], ledger: bool, layout: Layout = PLAIN
) -> tuple[Sequence[str], Sequence[str]]:
    """What must be said of a prior: before what the chain says of its own start, and after it."""
    private = (PRIVATE_NUMBERS,) if prior["fitted on"] != REFERENCE else ()
    behind = (FULL_DOMAIN, _GAPS[layout.gaps], _LENGTH, *layout.sentences(), _ALONE[ledger], *private)
    if not {"limits", "confidence"}.isdisjoint(prior):
        source = f"found on {prior['fitted on']}" if "confidence" in prior else "declared"
        follows = f"Every user follows a chain between the limits stated, {source}; the guarantee is for all of them."
        told = prior.get("confidence")
        return (
            INDEPENDENT_BLOCKS,
            follows,
            *(() if told is None else (line_of(told["means"]), line_of(RESTS))),
        ), behind
    added = f"smoothed by {prior['smoothing']:g} for each transition" if prior["smoothing"] else "not smoothed"
    fitted = f"fitted on {prior['fitted on']}, {added}"
    follows = f"Every user follows the chain stated, {fitted}; the guarantee is for this prior."
    return (INDEPENDENT_BLOCKS, follows), behind


def starting(chain: Chain | None) -> list[str]:
    """What a chain says of its own start; nothing of one that is not in the document."""
    return [] if chain is None else [line_of(line) for line in chain.assumptions if "first entry" in line]


def line_of(words: str) -> str:
    return words[0].upper() + words[1:] + "."


# The answer to a question about sequences as the columns that are published.


TOGETHER = ("query", "rank", "state", "to", "value", "low", "high")
"""The columns of several questions in one file; what an answer has not is blank."""


def sequence_columns(answer: SequenceAnswer, query: str) -> dict[str, list[Any]]:
    """The answer as columns: labels, values, and where the exact answer lies with 95 %.

    Parameters:

    - `answer`: what was released.
    - `query`: the question in words, which labels a single number."""
    if "parts" in answer.certificate.body:
        # One row for each number or rank of each question
        found: dict[str, list[Any]] = {name: [] for name in TOGETHER}
        for part, claims in zip(answer.parts, answer.certificate["parts"], strict=True):
            columns = _alone(part, claims["query"])
            if "from" in columns:
                columns["state"] = columns.pop("from")
            rows = max(map(len, columns.values()))
            columns["query"] = [claims["query"]] * rows
            for name in TOGETHER:
                found[name] += columns.get(name, [None] * rows)
        return {name: cells for name, cells in found.items() if any(cell is not None for cell in cells)}
    return _alone(answer, query)


def _alone(answer: SequenceAnswer, query: str) -> dict[str, list[Any]]:
    if answer.interval is None:
        chosen = list(answer.value) if isinstance(answer.value, tuple) else [answer.value]
        return {"rank": list(range(1, len(chosen) + 1)), "state": chosen}
    values = np.asarray(answer.value).ravel().tolist()
    ends = {"low": [v + answer.interval[0] for v in values], "high": [v + answer.interval[1] for v in values]}
    if answer.labels is None:
        return {"query": [query], "value": values, **ends}
    if isinstance(answer.labels[0], tuple):
        start, stop = (list(side) for side in zip(*answer.labels, strict=True))
        return {"from": start, "to": stop, "value": values, **ends}
    return {"state": list(answer.labels), "value": values, **ends}
