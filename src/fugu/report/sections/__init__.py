"""The sections of a page about a certificate with laws, in order: each is a function from a `Story` to markup.

To add one: a file with a function that returns markup, or None where it has nothing to say, and its place here."""

from collections.abc import Callable

from fugu.drawing.html import Html
from fugu.report.sections.beyond import beyond
from fugu.report.sections.choice import choice
from fugu.report.sections.coordinates import coordinates
from fugu.report.sections.header import header
from fugu.report.sections.limits import footer, limits
from fugu.report.sections.meaning import meaning
from fugu.report.sections.pairs import laws, ratio
from fugu.report.sections.signature import signature
from fugu.report.sections.story import Story as Story
from fugu.report.sections.sureness import sureness
from fugu.report.sections.usable import usable

Section = Callable[[Story], Html | None]
SECTIONS: tuple[Section, ...] = (
    header,
    meaning,
    usable,
    coordinates,
    laws,
    ratio,
    lambda story: sureness(story.certificate),
    beyond,
    choice,
    limits,
    signature,
    footer,
)
