"""The two figures of each pair of secrets, and the list of pairs to choose from: buttons and style, no script."""

from __future__ import annotations

from collections.abc import Callable

from fugu.drawing import text
from fugu.drawing.charts import figure
from fugu.drawing.html import Html, joined, tag
from fugu.report import captions
from fugu.report.figures import laws_figure, ratio_figure
from fugu.report.sections.story import Pair, Story
from fugu.report.shell import section


def laws(story: Story) -> Html | None:
    """What values look like under each answer, before and after noise; nothing where laws only bound a move."""
    if not story.pictured:
        return None

    def drawn(pair: Pair, n: int) -> Html:
        chart = laws_figure(pair.view, pair.laws, story.f, story.categories, f"laws-{n}")
        return figure(chart, captions.laws_caption(pair.view, pair.laws, pair.right))

    return section("laws-title", "What the values look like, secret by secret", _choice(story), _views(story, drawn))


def ratio(story: Story) -> Html | None:
    """How strongly each value speaks for one answer against the other."""
    if not story.pictured:
        return None

    def drawn(pair: Pair, n: int) -> Html:
        chart = ratio_figure(pair.view, pair.ratio, story.f, story.categories, f"ratio-{n}")
        return figure(chart, captions.ratio_caption(pair.view, pair.ratio, story.f))

    return section("ratio-title", "How much a single value gives away", _views(story, drawn))


def _views(story: Story, drawn: Callable[[Pair, int], Html]) -> Html:
    """Every pair; of several, the chosen one shows."""
    if len(story.pairs) == 1:
        return drawn(story.pairs[0], 0)
    return joined([
        tag("div", tag("h3", "Pair: ", _label(pair)), drawn(pair, n), class_=f"view view-{n}")
        for n, pair in enumerate(story.pairs)
    ])  # fmt: skip


def _choice(story: Story) -> Html | None:
    """One button per pair."""
    f, pairs = story.f, story.pairs
    if len(pairs) == 1:
        return None
    buttons = []
    for n, pair in enumerate(pairs):
        worst = " (needs the most noise)" if n == 0 and f.dimension == 1 else ""
        button = tag("input", type="radio", name="pair", id=f"pair-{n}", checked=n == 0)
        buttons.append(tag("label", button, " ", _label(pair), worst, for_=f"pair-{n}"))
    some = f.pairs > len(pairs) and not f.mixed and f.dimension == 1
    rest = tag("p", tag("small", f"The {len(pairs)} pairs that lose most, of {f.pairs:,}.")) if some else None
    printed = f"On paper is the pair that was chosen on the screen; the page holds {len(pairs)}."
    paper = tag("p", tag("small", printed), class_="paper")
    return joined(tag("fieldset", tag("legend", "Show the pair"), buttons), rest, paper)


def _label(pair: Pair) -> str:
    return text.clean(pair.view.label, 80)
