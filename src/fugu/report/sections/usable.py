"""Is it usable: the value's own spread beside the noise, what is kept, and the verdict; from the certificate alone."""

from __future__ import annotations

from collections.abc import Mapping

from fugu.documents.certificate import Certificate
from fugu.drawing.html import Html, tag
from fugu.drawing.text import clean
from fugu.report.sections.story import Story
from fugu.report.shell import row, section, table
from fugu.utility.usable import Usable

_MOST = 60
"""Groups that are shown."""


def usable(story: Story) -> Html:
    """The section of one certificate, with what would help where a comparison measured it."""
    found = Usable.of(story.certificate, story.rows)
    if story.comparison is not None and found.figures and story.comparison.usable.levers:
        found = found.with_levers(story.comparison.usable.levers, story.comparison.usable.untried)
    return shown(found)


def usable_groups(certificates: Mapping[str, Certificate], rows: int | None) -> Html:
    """The section of a whole release: every group that has a certificate with laws."""
    found = [Usable.of(each, rows if len(certificates) == 1 else None) for each in list(certificates.values())[:_MOST]]
    figures = tuple(figure for each in found for figure in each.figures)
    ordinary = found[0].ordinary if len(found) == 1 else None
    return shown(Usable(figures, found[0].basis, ordinary=ordinary, why=found[0].why))


def shown(found: Usable) -> Html:
    """The verdict as a sentence, and the figures as a table."""
    verdict = tag("p", tag("strong", f"{clean(found.verdict, 600)[:1].upper()}{clean(found.verdict, 600)[1:]}."))
    if not found.figures:
        return section("usable-title", "Is it usable", verdict)
    lines = [row(clean(label, 120), clean(text, 600)) for label, text in found.lines() if label != "verdict"]
    caption = f"Worked out on {found.basis}, never on the private table"
    under = (
        "“Usable row by row”: what is published has a correlation of at least 0.9 with the value. “Usable for "
        "averages”: the noise is no larger than the spread, and the mean of the rows comes within a tenth of it. A "
        "statistic is usable if its interval is within 5 % of it, or within what chance moves a group of that size. "
        "Else it is mostly noise."
    )
    body = table(caption, ("figure", "value"), tag("tbody", lines))
    return section("usable-title", "Is it usable", verdict, body, tag("p", tag("small", under)))
