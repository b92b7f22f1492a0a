"""The head of the page: what was published, under which promise, with which noise; what must not be overlooked."""

from __future__ import annotations

from fugu.documents.disclosure import IN_THE_BOX, holds_private_numbers
from fugu.documents.weakness import warnings_of
from fugu.drawing import text
from fugu.drawing.html import Html, joined, tag
from fugu.report import words
from fugu.report.facts import Facts
from fugu.report.sections.story import Story
from fugu.report.shell import listed, note


def header(story: Story) -> Html:
    """Title, the promise in a sentence, warnings, three numbers, and the noise in words."""
    f = story.f
    inside = [
        tag("h1", text.clean(story.title, 200)),
        tag("p", words.headline(f), class_="lead"),
        tag("p", f"In short: {story.certificate.promises}."),
        _boxes(story),
        tag("ul", _cards(f), class_="cards"),
        tag("p", words.accuracy(f), words.coin(f), words.after(f)),
    ]
    if beside := words.beside(f):
        kept = f.empirical is not None and f.empirical.holds
        inside.append(
            note("aside", f"Beside the promise{'' if kept else ': it is for the fitted curves only'}", beside)
        )
    return joined(tag("header", *inside), "\n")


def _boxes(story: Story) -> Html:
    """What must be read first."""
    f, boxes = story.f, []
    if not f.released:
        boxes.append(note("loud", "Analysis only: nothing was released, and nothing can be", words.ANALYSIS))
    if holds_private_numbers(story.certificate.assumptions):
        boxes.append(note("loud", "This page holds exact counts of the private table", tag("p", IN_THE_BOX)))
    if f.silent:
        always = f.silent == 1
        title = (
            "No noise: exact values are published" if always else "Sometimes no noise: exact values may be published"
        )
        boxes.append(note("loud", title, words.silence(f)))
    if warnings := warnings_of(story.certificate, story.rows):
        boxes.append(note("loud", "Warning", listed(list(warnings))))
    return joined(boxes)


def _cards(f: Facts) -> list[Html]:
    """The numbers that sum it up."""
    slip = f", with a remainder {text.delta(f.delta)}" if f.delta else ""
    of = text.quoted(f.query)
    cards = [card(f"× {text.factor(f.epsilon)}", f"most that the odds can change, {text.epsilon(f.epsilon)}{slip}")]
    if f.silent == 1:
        return [*cards, card("no noise", f"each published value of {of} is the exact one")]
    total = f", summed over {f.dimension:,} coordinates" if f.dimension > 1 else ""
    every = ", in all coordinates at once" if f.dimension > 1 else ""
    return [
        *cards,
        card(text.number(f.error), f"average error that noise makes{total}, in the units of {of}"),
        card(
            f"± {text.number(f.half, 'up')}",
            f"holds at least {text.percent(0.95)} of the errors that noise makes{every}",
        ),
    ]


def card(big: str, small: str) -> Html:
    """A number with what it is."""
    return tag("li", tag("b", big), tag("span", small))
