"""A place for the name, the date and the signature of whoever answers for the release."""

from __future__ import annotations

from fugu.drawing.html import Html, tag
from fugu.report.sections.story import Story
from fugu.report.shell import section


def signature(story: Story) -> Html | None:
    """The lines to sign on; an analysis, which releases nothing, has none."""
    return to_sign() if story.f.released else None


def to_sign() -> Html:
    """The section itself, for any kind of certificate."""
    lines = tag("div", [tag("span", name) for name in ("name and office", "date", "signature")], class_="sign")
    said = tag("p", "Read, and answered for, by the person who lets this be published:")
    return section("sign-title", "Signature", said, lines)
