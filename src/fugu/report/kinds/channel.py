"""Channels: values are exchanged, and nothing is added to them."""

from __future__ import annotations

from collections.abc import Iterable

from fugu.documents.certificate import Certificate
from fugu.documents.disclosure import IN_THE_BOX, holds_private_numbers
from fugu.documents.weakness import warnings_of
from fugu.drawing import text
from fugu.drawing.html import Html, tag
from fugu.report.kinds.promise import Promise, footer, limits, meaning, signature
from fugu.report.kinds.registry import Said, page_of
from fugu.report.sections.exchange import exchange
from fugu.report.sections.header import card
from fugu.report.sections.sureness import sureness
from fugu.report.sections.usable import shown
from fugu.report.shell import listed, note
from fugu.report.views import parts
from fugu.utility.usable import Usable


@page_of("channel")
def of_channel(certificate: Certificate, said: Said) -> Iterable[Html | None]:
    """The promise, what becomes of each value, and what it rests on; of a coin between two channels, both."""
    running = [part.certificate for part in parts(certificate)]
    promise = Promise(
        certificate,
        said.title,
        "",
        certificate.budget,
        text.quoted(said.secret_name or _protected(certificate)),
        ("For every pair of secrets and every value that is published, the odds change by no more than this.",),
        (),
        (),
        (),
        (
            ("Unit of privacy", certificate.body["unit"]),
            ("Method and proof", f"{certificate.method}: {certificate.theorem}"),
            ("Worst pair", certificate.worst_pair or "(without a name)"),
        ),
        certificate.assumptions,
        "The certificate holds the laws, the channel, the promise, and the dual numbers that bound all other channels.",
        said.rows,
    )
    told: list[Html | None] = [exchange(each, n) for n, each in enumerate(running)]
    told += [sureness(certificate), shown(Usable.of(certificate, said.rows))]
    last = (limits(promise), signature(promise), footer(promise))
    return [_header(certificate, running, said), meaning(promise), *told, *last]


def _header(certificate: Certificate, running: list[Certificate], said: Said) -> Html:
    """Title, the promise in a sentence, warnings, numbers."""
    query = text.quoted(said.query_name or str((certificate.body.get("query") or {}).get("publish", "the value")))
    epsilon, delta = float(certificate.budget.epsilon), float(certificate.budget.delta)
    slip = f", with a remainder {text.delta(delta)}" if delta else ""
    lead = (
        f"{query} is published through a channel. What is published can change the odds between two protected answers "
        f"by at most a factor of {text.factor(epsilon)} ({text.epsilon(epsilon)}){slip}, for the beliefs stated."
    )
    boxes = []
    if holds_private_numbers(certificate.assumptions):
        boxes.append(note("loud", "This page holds exact counts of the private table", tag("p", IN_THE_BOX)))
    if warnings := warnings_of(certificate, said.rows):
        boxes.append(note("loud", "Warning", listed(list(warnings))))
    first = running[0]
    cards = [
        card(f"× {text.factor(epsilon)}", f"most that the odds can change, {text.epsilon(epsilon)}{slip}"),
        card(text.percent(first.errors.unchanged), "of the values go out as they are"),
        card(text.number(first.optimum.value, "up"), f"expected {first.optimum.loss} loss, at most"),
    ]
    title = tag("h1", text.clean(said.title, 200))
    short = tag("p", f"In short: {certificate.promises}.")
    return tag("header", title, tag("p", lead, class_="lead"), short, boxes, tag("ul", cards, class_="cards"))


def _protected(certificate: Certificate) -> str:
    recipe = certificate.body.get("recipe")
    protect = recipe.get("protect") if isinstance(recipe, dict) else None
    return protect if isinstance(protect, str) else "the secret"
