"""What is left of the promise if the beliefs are not quite right."""

from __future__ import annotations

from fugu.drawing.charts import figure
from fugu.drawing.html import Html
from fugu.report.nearby import nearby_caption, nearby_figure
from fugu.report.sections.story import Story
from fugu.report.shell import section


def beyond(story: Story) -> Html | None:
    """The proved loss against how far beliefs are off; nothing where no limit is known."""
    if story.losses is None:
        return None
    shown = figure(nearby_figure(story.losses, story.f), nearby_caption(story.losses, story.f))
    return section("nearby-title", "If the beliefs are not quite right", shown)
