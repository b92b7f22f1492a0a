"""`Promise`: what the pages of documents without laws are told, and their sections, in order.

Such a document has no laws to draw. Its page has the promise in words, the odds, the noise, what it rests on, and how
to check it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fugu.documents.disclosure import holds_private_numbers
from fugu.documents.promising import Promising
from fugu.drawing import text
from fugu.drawing.html import Html, Inside, joined, tag
from fugu.guarantee import Guarantee
from fugu.guarantee.weakness import weaknesses
from fugu.report.sections.header import card
from fugu.report.sections.limits import checking, foot, not_promised, rests_on
from fugu.report.sections.meaning import odds_table
from fugu.report.sections.own_words import assumed, own_parts
from fugu.report.sections.signature import to_sign
from fugu.report.shell import defined, listed, note, section

_PRIVATE = (
    "The belief behind this release was fitted on the private table itself and declared public. The certificate holds "
    "exact numbers of that table without any noise; this page prints none of them. Publish the certificate only if "
    "those numbers are public already."
)


@dataclass(frozen=True)
class Promise:
    """A document in words. `guarantee` is what is promised; `about` names one protected thing, as in "an entry"."""

    document: Promising
    title: str
    lead: str
    guarantee: Guarantee
    about: str
    means: tuple[str, ...]
    cards: tuple[tuple[str, str], ...]
    noise: tuple[str, ...]
    details: tuple[tuple[str, Inside], ...]
    """What else was said of the mechanism: terms and what they are."""
    rests: tuple[tuple[str, Inside], ...]
    """Unit, prior, proof: terms of the last section."""
    assumptions: tuple[str, ...]
    holds: str
    """What the document holds that a verifier needs."""
    rows: int | None = None


def header(promise: Promise) -> Html:
    """Title, the promise in a sentence, warnings, numbers."""
    epsilon, delta = float(promise.guarantee.epsilon), float(promise.guarantee.delta)
    slip = f", with a remainder {text.delta(delta)}" if delta else ""
    first = card(f"× {text.factor(epsilon)}", f"most that the odds can change, {text.epsilon(epsilon)}{slip}")
    boxes = []
    if holds_private_numbers(promise.assumptions):
        boxes.append(note("loud", "The certificate holds exact numbers of the private table", _PRIVATE))
    if said := (*promise.document.exact_values, *weaknesses(promise.guarantee, promise.rows)):
        boxes.append(note("loud", "Warning", listed(list(said))))
    cards = tag("ul", first, [card(*both) for both in promise.cards], class_="cards")
    short = tag("p", f"In short: {promise.document.promises}.")
    title, lead = tag("h1", text.clean(promise.title, 200)), tag("p", promise.lead, class_="lead")
    return tag("header", title, lead, short, boxes, cards)


def meaning(promise: Promise) -> Html:
    """The limit on the odds in words and as a table."""
    caption = f"How likely is one of two possible answers about {promise.about} to an observer?"
    delta = float(promise.guarantee.delta)
    table = odds_table(caption, float(promise.guarantee.epsilon), math.inf if delta else None)
    slip = (
        "The release is like one that keeps this limit except with a probability of at most "
        f"{text.delta(delta)}, when anything may be revealed."
        if delta
        else ""
    )
    return section("meaning", "What this means", [tag("p", said) for said in (*promise.means, slip) if said], table)


def noise(promise: Promise) -> Html:
    """How answers were made uncertain."""
    return section("noise-title", "The noise", [tag("p", said) for said in promise.noise], defined(*promise.details))


def limits(promise: Promise) -> Html:
    """What it rests on, what is not promised, how to check it."""
    digest = promise.document.body.get("digest")
    return rests_on(
        *promise.rests,
        ("Assumptions", assumed(promise.assumptions, promise.document.own_lines()) if promise.assumptions else None),
        ("The publisher's own words", own_parts(promise.document)),
        ("Not promised", not_promised(promise.document.kind == "records")),
        ("Re-check it yourself", checking(promise.holds)),
        ("Digest of the certificate (SHA-256)", tag("code", str(digest)) if digest else None),
    )


def signature(promise: Promise) -> Html:
    """The lines to sign on."""
    del promise
    return to_sign()


def footer(promise: Promise) -> Html:
    """Where the page comes from."""
    return foot(str(promise.document.body.get("fugu", "")), "The private table was not looked at to make it")


SECTIONS: tuple[Callable[[Promise], Html], ...] = (header, meaning, noise, limits, signature, footer)


def told(promise: Promise) -> Iterable[Html]:
    """The parts of the page."""
    return [joined("\n", section_of(promise)) for section_of in SECTIONS]
