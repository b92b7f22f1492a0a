"""Certificates with laws: one number, vectors, correlated noise, mixtures, analyses."""

from __future__ import annotations

from collections.abc import Iterable

from fugu.documents.certificate import Certificate
from fugu.drawing.html import Html
from fugu.report.kinds.channel import of_channel
from fugu.report.kinds.registry import Said, page_of
from fugu.report.sections import SECTIONS, Story


@page_of(*(kind for kind in Certificate.KINDS if kind != "channel"))
def of_laws(certificate: Certificate, said: Said) -> Iterable[Html | None]:
    """Every section, told the same story; a coin between two channels has the page of a channel."""
    if certificate.runs == "channel":
        return of_channel(certificate, said)
    story = Story(certificate, said.title, said.comparison, said.query_name, said.secret_name, said.rows)
    return [section(story) for section in SECTIONS]
