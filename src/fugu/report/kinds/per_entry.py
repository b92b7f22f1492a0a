"""Mechanisms that are private for each entry, whatever is believed."""

from __future__ import annotations

from collections.abc import Iterable

from fugu.documents.per_entry import PerEntryCertificate
from fugu.drawing.html import Html
from fugu.drawing.text import clean, delta, epsilon, factor, number
from fugu.guarantee.encoding import budget_from
from fugu.numbers.exact import read_number
from fugu.report.facts import odds_of
from fugu.report.kinds.promise import Promise, told
from fugu.report.kinds.query_noise import noise_of
from fugu.report.kinds.registry import Said, page_of

_WEAKER = (
    "Entries of real people depend on each other. If they do, an answer says more about one entry than this limit, "
    "because it also speaks through the others: what the promise is then worth is worked out from a stated belief, and "
    "is not on this page."
)


def _divergences(certificate: PerEntryCertificate) -> tuple[str, ...]:
    """What a Rényi guarantee says itself, before it is read as odds."""
    if not certificate.guarantee.renyi:
        return ()
    stated = f"The guarantee itself is {certificate.guarantee}: divergences"
    return (f"{clean(stated, 300)} between two such outputs. The odds above follow from it.",)


def _under(certificate: PerEntryCertificate) -> str:
    """What it is worth where entries depend on each other, if the certificate says."""
    belief = certificate.body.get("belief")
    if belief is None:
        return _WEAKER
    worth, width = budget_from(dict(belief["worth"])), float(read_number(belief["width"]))
    return (
        "Entries that depend on each other say more. If they are jointly normal with the covariance in the "
        f"certificate, two values of an entry that are at most {number(width, 'up', 6)} apart are told apart by at "
        f"most {clean(worth, 80)}, whatever is known of the others."
    )


@page_of("per-entry")
def of_entries(certificate: PerEntryCertificate, said: Said) -> Iterable[Html | None]:
    """The promise is for one replaced entry, all others fixed; whose word it is stands beside it."""
    guarantee = odds_of(certificate.guarantee)
    most, slip = float(guarantee.epsilon), float(guarantee.delta)
    query, word = clean(said.query_name or certificate["query"], 120), clean(certificate["claimed by"], 80)
    noise, cards = noise_of(certificate.claims)
    own = "worked out by fugu from the query" if certificate["claimed by"] == "fugu" else f"the word of {word}"
    besides = f", apart from a remainder {delta(slip)}" if slip else ""
    means = (
        "Two data sets that differ in one entry give every answer with probabilities that differ by at most a factor "
        f"of {factor(most)}{besides}, whatever the entries are."
    )
    return told(
        Promise(
            certificate,
            said.title,
            f"“{query}” is published with randomness. To somebody who knows all other entries, what is published can "
            f"change the odds between two values of one entry by at most a factor of {factor(most)} ({epsilon(most)})"
            f"{besides}. That is {own}.",
            guarantee,
            "one entry, all others being known",
            (means, *_divergences(certificate), _under(certificate)),
            cards,
            noise,
            (("Query", query),),
            (
                ("Unit of privacy", clean(certificate["neighbours"], 120)),
                ("Whose word it is", f"{own[0].upper()}{own[1:]}"),
            ),
            ("every release costs its ε again: several are added up",),
            "The certificate holds the query and what is claimed of it.",
        )
    )
