"""The page of `fugu compare --figure`: every method at the budget asked for, and what other budgets would cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fugu.calibration.comparison import Comparison
from fugu.drawing.charts import Axis, Chart, Level, Line, Mark, Panel, Points, figure
from fugu.drawing.html import Html, joined, tag
from fugu.drawing.text import clean, epsilon, number, power_of_ten, quoted
from fugu.drawing.text import delta as delta_of
from fugu.guarantee import Guarantee
from fugu.laws import Discrete
from fugu.laws.pair import PairsLike
from fugu.report import words
from fugu.report.methods import compared
from fugu.report.sections.choice import methods_bars, methods_table
from fugu.report.sections.header import card
from fugu.report.sections.usable import shown
from fugu.report.shell import listed, note, section, whole_page
from fugu.report.trade import DELTAS, Way, deltas, epsilons, errors, noise_by_people

SUM_DELTA = 1e-6
_BEST = "least noise"
_STEEP, _LOOKS = 20.0, 7
_PURE = DELTAS[0] / 10
"""Where a delta of 0 is drawn on a log axis."""


def trade_page(
    pairs: PairsLike,
    comparison: Comparison,
    publish: str,
    protect: str,
    laws: Mapping[str, Discrete] | None = None,
    warnings: Sequence[str] = (),
) -> str:
    """A self-contained page that helps to choose a method and a budget.

    Parameters:

    - `pairs`: the scenario or pairs of laws; `comparison`: what `fugu.compare` found for them.
    - `publish`, `protect`: what is published and what is hidden, in words.
    - `laws`: the law of one person under each secret, for the curve over the number of people; None leaves it out.
    - `warnings`: what must be said aloud of the budget.

    Returns the text of the page. Every error on it is of noise that is proved to meet the budget it stands at."""
    title = f"How much noise it takes to publish “{clean(publish, 60)}” and hide “{clean(protect, 60)}”"
    lines, budget = compared(comparison), comparison.budget
    ways = [(r.method, r.noise) for r in comparison.rows if r.proven and r.released]
    parts = [_header(title, comparison, publish, warnings)]
    table = methods_table(lines, compared=True, slips=budget.delta > 0, mark=_BEST)
    bars = methods_bars(lines, publish, _BEST)
    parts.append(section("methods-title", "Every method at this budget", tag("p", words.choosing(lines)), table, bars))
    parts.append(shown(comparison.usable))
    if ways and budget.epsilon > 0:
        parts.append(_by_epsilon(pairs, budget, ways, publish))
    if ways and not budget.renyi:
        parts.append(_by_delta(pairs, budget, ways, publish))
        if laws:
            parts.append(_by_people(dict(laws), budget, publish))
    parts.append(tag("footer", "Nothing was released to make this page, and no private table was read: it shows the "
                     "stated beliefs. It loads nothing from the network."))  # fmt: skip
    return whole_page(title, *parts)


def _header(title: str, comparison: Comparison, publish: str, warnings: Sequence[str]) -> Html:
    """What is asked for, and the least noise found."""
    budget = comparison.budget
    best = next((line for line in compared(comparison) if line.used), None)
    told = words.asked(budget)
    if best is None:
        lead = f"Asked for: {told}. No method is proved to meet it; the reasons are below."
        return tag("header", tag("h1", title), tag("p", lead, class_="lead"))
    error = best.error or 0.0
    lead = (
        f"Asked for: {told}. No noise is needed: the beliefs alone suffice."
        if error == 0
        else f"Asked for: {told}. The least noise that is proved to suffice moves a value by {number(error, digits=4)} "
        f"on average, in the units of {quoted(publish)}."
    )
    loud = note("loud", "Warning", listed(list(warnings))) if warnings else None
    finite = [r.expected_absolute for r in comparison.rows if r.proven and 0 < r.expected_absolute < math.inf]
    cards = [card(number(error, digits=4), f"average error of the method “{best.method}” with {best.noise} noise")]
    if finite and error > 0:
        cards.append(card(f"{number(max(finite) / error)} ×", "as much noise is needed by the crudest method"))
    return tag("header", tag("h1", title), tag("p", lead, class_="lead"), loud, tag("ul", cards, class_="cards"))


def _by_epsilon(pairs: PairsLike, budget: Guarantee, ways: Sequence[Way], publish: str) -> Html:
    listed_ = epsilons(budget)
    found = errors(pairs, listed_, ways, "noise against epsilon")
    xs = tuple(x for x, _ in listed_)
    marks = tuple((x, number(x)) for x in xs)
    what = "ε" if not budget.renyi else "Rényi divergence allowed"
    axis = Axis(f"{what} (a looser promise is to the right)", xs[0], xs[-1], log=True, marks=marks)
    chart = _curves("epsilon", f"Average error against {what}", xs, found, axis, float(budget.epsilon), publish)
    said = (
        "What a tighter or looser promise costs: average error of each method at a quarter, half, twice and four times "
        f"the {what} asked for, which the dotted line marks. Lower is better. {_GROUPED}"
    )
    return section("epsilon-title", "If more or less is promised", figure(chart, said))


def _by_delta(pairs: PairsLike, budget: Guarantee, ways: Sequence[Way], publish: str) -> Html:
    listed_ = deltas(budget)
    found = errors(pairs, listed_, ways, "noise against delta")
    xs = tuple(max(d, _PURE) for d, _ in listed_)
    powers = range(round(math.log10(DELTAS[0])), 0)
    marks = ((_PURE, "0"), *((10.0**k, power_of_ten(k)) for k in powers))
    axis = Axis("δ (10⁻⁶ is 1 in a million; leftmost: no remainder)", _PURE, max(xs), log=True, marks=marks)
    at = max(float(budget.delta), _PURE)
    chart = _curves("delta", "Average error against δ", xs, found, axis, at, publish)
    said = (
        f"What a remainder δ would save: average error of each method at {epsilon(float(budget.epsilon))}. δ is "
        "the probability that anything may be revealed; it should be far below 1 divided by the number of people. The "
        f"dotted line marks the δ asked for. {_GROUPED}"
    )
    return section("delta-title", "If a remainder is allowed", figure(chart, said))


_GROUPED = "Methods with the same error share a line; a line ends where its method proves nothing."


def _curves(name: str, title: str, xs: tuple[float, ...], found: Mapping[Way, tuple[float, ...]], axis: Axis,
            present: float, publish: str) -> Chart:  # fmt: skip
    """One line per method, those with the same errors together; the least error at the present budget has a star."""
    groups: dict[tuple[str, ...], list[Way]] = {}
    for way, row in found.items():
        groups.setdefault(tuple(f"{e:.6g}" for e in row), []).append(way)
    positive = [e for row in found.values() for e in row if e > 0]
    steep = bool(positive) and max(positive) > _STEEP * min(positive)
    floor, top = min(positive) / 2 if steep else 0.0, max(positive, default=1.0)
    several = len({noise for _, noise in found}) > 1
    marks: list[Mark] = [Level(present, "mark", "asked for", upright=True)]
    for place, group in enumerate(groups.values()):
        row = found[group[-1]]
        told = tuple(f"average error {number(e)}" if not math.isnan(e) else "" for e in row)
        ys = tuple(max(e, floor) for e in row)
        marks.append(Line(xs, ys, f"m{place % _LOOKS}", _named(group, several), dots=True, told=told))
    here = [row[k] for k, x in enumerate(xs) if math.isclose(x, present) for row in found.values() if row[k] == row[k]]
    if here:
        told = (f"least average error {number(min(here))}",)
        marks.append(Points((present,), (max(min(here), floor),), "ink", "star", "present choice", 5.0, told))
    unit = f"average error, in units of {clean(publish, 40)}"
    zero = "; the lower edge is 0" if steep and any(e == 0 for row in found.values() for e in row) else ""
    upward = Axis(f"{unit} (log scale{zero})" if steep else unit, floor, top * (1.5 if steep else 1.06), steep)
    about = "The lower a line, the less noise its method needs."
    return Chart(name, title, about, (Panel(tuple(marks), axis, upward, 320.0),))


def _named(group: Sequence[Way], several: bool) -> str:
    noises: dict[str, list[str]] = {}
    for method, noise in group:
        noises.setdefault(noise, []).append(method)
    return "; ".join(", ".join(ms) + (f" ({noise})" if several else "") for noise, ms in noises.items())


def _by_people(laws: dict[str, Discrete], budget: Guarantee, publish: str) -> Html:
    delta = float(budget.delta) or SUM_DELTA
    found = noise_by_people(laws, float(budget.epsilon), delta)
    xs, ys = tuple(float(n) for n, _ in found), tuple(e for _, e in found)
    title = "If a total of many people is published instead"
    if len(found) < 2:
        return section("people-title", title, tag("p", "No noise could be proved for totals of several people."))
    told = tuple(f"{n} people: average error {number(e)}" for n, e in found)
    axis = Axis("number of people in the total", xs[0], xs[-1], log=True, marks=tuple((x, f"{x:,.0f}") for x in xs))
    upward = Axis(f"average error of the total, in units of {clean(publish, 40)}", 0.0, 1.06 * (max(ys) or 1.0))
    line = Line(xs, ys, "a", dots=True, told=told)
    chart = Chart("people", "Average error of a total against the number of people", "; ".join(told),
                  (Panel((line,), axis, upward, 260.0),))  # fmt: skip
    none = next((f" From {n:,} people on, no noise is needed." for n, e in found if e == 0), "")
    said = (
        f"Average error of the total over so many people, with Laplace noise at {epsilon(float(budget.epsilon))} "
        f"and {delta_of(delta)}: one person’s secret among others who are independent and follow all laws together."
        f"{none} The average of the people has this error divided by their number."
    )
    return joined(section("people-title", title, figure(chart, said)))
