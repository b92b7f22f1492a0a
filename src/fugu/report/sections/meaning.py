"""What the promise means: the odds before and after, as a sentence and as a table."""

from __future__ import annotations

from fugu.drawing import text
from fugu.drawing.html import Html, joined, tag
from fugu.report import words
from fugu.report.facts import beliefs
from fugu.report.sections.story import Story
from fugu.report.shell import section


def meaning(story: Story) -> Html:
    """The limit on the odds, what a remainder is, and a table by prior belief."""
    f, first = story.f, story.pairs[0].view
    said = [words.odds(f), words.divergence(f), words.remainder(f) if f.delta else "", words.stronger(f)]
    a, b = text.clean(first.first, 40), text.clean(first.second, 40)
    caption = (
        f"An observer takes “{a}” and “{b}” to be the only possible answers about {text.quoted(f.secret)}. "
        f"How likely is “{a}” to them?"
    )
    leak = f.leak if f.delta else None
    return section("meaning", "What this means", [tag("p", x) for x in said if x], odds_table(caption, f.epsilon, leak))


def odds_table(caption: str, epsilon: float, leak: float | None = None) -> Html:
    """Beliefs before and after by Bayes' rule, e^-epsilon to e^epsilon times the odds.

    `caption`: whose belief in what. `leak`: the most that a single value can do, where a remainder delta allows more
    than epsilon; None where nothing can."""
    rows = []
    worst = beliefs(leak) if leak is not None else beliefs(epsilon)
    for belief, extreme in zip(beliefs(epsilon), worst, strict=True):
        cells = [tag("td", text.percent(belief.low, "down"), data_name="after it, at least"),
                 tag("td", text.percent(belief.high, "up"), data_name="at most"),
                 tag("td", _range(belief.prior, belief.low, belief.high), class_="range")]  # fmt: skip
        if leak is not None:
            most = f"{text.percent(extreme.low, 'down')} to {text.percent(extreme.high, 'up')}"
            cells.append(tag("td", most, data_name="worst single value", class_="whole"))
        name = tag("th", text.percent(belief.prior), scope="row", data_name="before the release")
        rows.append(joined(tag("tbody", tag("tr", name, cells)), "\n"))
    scale = tag("th", tag("span", "0 % to 100 %", aria_hidden="true"), scope="col", class_="range")
    names = [tag("th", name, scope="col") for name in ("before the release", "after it, at least", "after it, at most")]
    columns = tag("tr", names, scale, tag("th", "worst single value", scope="col") if leak is not None else None)
    look = "stack" if leak is not None else None
    body = tag("table", tag("caption", caption), tag("thead", columns), "\n", rows, class_=look)
    factor = text.factor(epsilon)
    kept = (
        " in a release that keeps the limit. The last column is what the single most telling value can do, however rare"
        if leak is not None
        else ""
    )
    under = (
        "By Bayes’ rule: the odds (probability divided by one minus it) are multiplied by a factor between "
        f"{text.least(epsilon)} and {factor}{kept}."
    )
    mark = tag("span", " The upright mark is the belief before, the bar where it can be after.", class_="range-note")
    return joined("\n", body, tag("p", tag("small", under, mark)))


def _range(prior: float, low: float, high: float) -> Html:
    wide = max(100 * (high - low), 0.6)
    return tag(
        "svg",
        tag("line", class_="rule", x1=0, x2=100, y1=6, y2=6),
        tag("rect", class_="after", x=100 * low, y=2.5, width=wide, height=7),
        tag("line", class_="before", x1=100 * prior, x2=100 * prior, y1=0, y2=12),
        viewBox="0 0 100 12", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip
