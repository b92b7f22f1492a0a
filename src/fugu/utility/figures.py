"""The figures of one published number: a column row by row, and what statistics of n of its rows are worth; a number
that is published once, a statistic of many records or a coordinate of a vector."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

from fugu.question import RECORDS
from fugu.utility.joint import Estimate, PublishedJoint, histogram, quantile
from fugu.visible import Json

ROW_BY_ROW, AVERAGES, NOISE, EXACT, UNKNOWN = "row by row", "averages", "mostly noise", "exact", "not known"
USABLE, ROUGHLY = "usable", "rough figure"
"""Of a number that is published once, what row by row and averages are of a column."""
GRADES = (EXACT, ROW_BY_ROW, USABLE, AVERAGES, ROUGHLY, NOISE, UNKNOWN)
"""From the best to the worst; what is not known counts as the worst."""
_WORDS = {USABLE: "usable", ROUGHLY: "usable as a rough figure", NOISE: "mostly noise"}
COLUMN, STATISTIC = "column", "statistic"
"""Kinds that somebody asks for by name: levers are for the one, published numbers for the other."""
CLOSE = 0.9
"""Row by row: the correlation of a value and what is published of it is at least this (noise below 0.48 spreads)."""
TENTH = 0.1
"""Averages: so much of the spread may a mean of published rows be off."""
GOOD, ROUGH = 0.05, 0.25
"""A statistic whose 95 % interval reaches so far, as a share of its value, is usable, or usable as a rough figure."""
CHANCE = 1.959963984540054
"""95 % of a normal law lie within so many standard deviations."""
Lines = tuple[tuple[str, str], ...]


@final
@dataclass(frozen=True)
class Figures:
    """The figures of one published number, or of one column, of some `kind`.

    `numbers`: by name, each an attribute too; `grade`: one of `GRADES`, by the rule of the kind; `verdict`: the grade
    in a sentence, with the numbers behind it; `lines`: every figure as a label and a text; `size`: by what the worse of
    two is known, the larger."""

    kind: str
    numbers: Mapping[str, Any]
    grade: str
    verdict: str
    lines: Lines
    size: float

    def __getattr__(self, name: str) -> Any:
        numbers = vars(self).get("numbers", {})
        if name not in numbers:
            raise AttributeError(f"the figures of a {vars(self).get('kind')} have no {name!r}")
        return numbers[name]

    def to_json(self) -> Json:
        """Plain data."""
        told = asdict(self)
        return {"kind": self.kind, **told["numbers"], "grade": self.grade, "verdict": self.verdict}


def column(
    name: str, rows: int, spread: float, low: float, high: float, noise: float, error: float, half: float, bias: float,
    correlation: float, order: float, mean: float, needed: int | None, guess: float, estimates: tuple[Estimate, ...],
) -> Figures:  # fmt: skip
    """A column that is published row by row.

    `spread`, `low`, `high`: the standard deviation and the ends of the values; `noise`: the root mean square error of a
    row, `error` its mean size, `half`: 95 % of rows are off by at most this; `bias`: the mean error. `correlation`: of
    a value and what is published of it; `order`: the chance that two rows with different values keep their order, a tie
    counted half. `mean`: how far the mean of `rows` published rows lies from that of the same exact rows (root mean
    square). `needed`: how many rows bring the mean within a tenth of the spread; None if no number does. `guess`: how
    far the median of the beliefs, said whatever the row holds, lies from a row on average. `estimates`: quantiles and
    the histogram.

    The rule, in order: no error is exact; correlation of at least 0.9, row by row; noise of at most one spread and a
    mean of the rows at hand within a tenth of the spread, averages; else mostly noise."""
    numbers = dict(locals())
    grade = AVERAGES if noise <= spread and needed is not None and needed <= rows else NOISE
    if noise == 0:
        grade = EXACT
    elif correlation >= CLOSE and noise <= spread:
        grade = ROW_BY_ROW
    size = f"noise of {short(noise)} ({short(error)} on average)"
    worse = ", more than a guess that ignores the row" if error > guess else ""
    beside = f"{size} beside the column's own spread of {short(spread)}{worse}"
    if grade == EXACT:
        verdict = "exact: nothing is changed"
    elif grade == ROW_BY_ROW:
        verdict = f"usable row by row: {beside}, correlation {correlation:.2f}"
    elif needed is None:
        verdict = f"mostly noise: {beside}, and averages stay off by {short(abs(bias))}"
    elif grade == AVERAGES:
        verdict = f"usable for averages over about {needed:,} rows, not row by row: {beside}"
    elif needed <= rows:
        verdict = f"mostly noise: {beside}; only averages over about {needed:,} rows come within a tenth of it"
    else:
        verdict = (
            f"mostly noise: {beside}; even the mean of all {rows:,} rows is off by {short(mean)}, and about "
            f"{needed:,} rows would bring it within a tenth of the spread"
        )
    ends = "anywhere" if math.isinf(low) else f"from {short(low)} to {short(high)}"
    off = f", bias {short(bias)}" if abs(bias) > 1e-9 * noise else ""
    kept = f"two rows keep their order with probability {order:.3f} (0.5 is chance)"
    lines = [
        ("values", f"{ends}, spread (standard deviation) {short(spread)}"),
        ("noise", f"standard error {short(noise)}, average {short(error)}, 95 % within ±{short(half)}{off}"),
        ("without any data", f"always saying the middle value is off by {short(guess)} on average"),
        ("kept row by row", f"correlation {correlation:.3f}; {kept}"),
        (f"mean of {rows:,} rows", f"off by {short(mean)} from that of the exact rows"),
    ]
    for each in estimates[:-1]:
        text = f"off by {short(each.published)}; of exact rows by {short(each.exact)}"
        lines.append((f"{each.what} of {rows:,} rows", text))
    lines += [(each.what, f"{percent(each.published)} of rows in a wrong cell; of exact rows {percent(each.exact)}")
              for each in estimates[-1:]]  # fmt: skip
    return Figures(COLUMN, numbers, grade, verdict, tuple(lines), noise)


def of_joint(joint: PublishedJoint, rows: int, half: float, name: str = "") -> Figures:
    """The figures of a column, read off a joint law; `half` as the mechanism states it."""
    value, published = joint.value, joint.published
    spread = math.sqrt(value.variance)
    scatter = max(joint.squared - joint.bias**2, 0.0)
    ends = (-math.inf, math.inf) if joint.endless else value.ends
    ranks = tuple(quantile(level, rows, value, published) for level in (0.25, 0.5, 0.9))
    return column(
        name, rows, spread, *ends, math.sqrt(joint.squared), joint.absolute, half, joint.bias,
        joint.correlation, joint.order, math.sqrt(joint.bias**2 + scatter / rows),
        rows_for(scatter, joint.bias, TENTH * spread),
        float(value.shares @ abs(value.points - value.quantile(0.5))), (*ranks, histogram(rows, value, published)),
    )  # fmt: skip


def categories(name: str, rows: int, kept: float, commonest: float, histogram: Estimate) -> Figures:
    """A column of categories without an order. `kept`: the chance that a row goes out as it is; `commonest`: the share
    of the commonest category, which guessing reaches without any data; `histogram`: as of a `column`.

    The rule: row by row if 90 % of rows are kept; mostly noise if no more are than guessing reaches; else averages."""
    numbers = dict(locals())
    same, guess = f"{percent(kept)} of rows are as they were", percent(commonest)
    grade, verdict = NOISE, f"mostly noise: {same}, and always saying the commonest category is right for {guess}"
    if kept >= 1 - 1e-12:
        grade, verdict = EXACT, "exact: nothing is changed"
    elif kept >= CLOSE:
        grade, verdict = ROW_BY_ROW, f"usable row by row: {same}"
    elif kept > commonest:
        grade, verdict = AVERAGES, f"usable for shares of categories, not row by row: {same}"
    wrong, exact = percent(histogram.published), percent(histogram.exact)
    lines = (
        ("kept row by row", f"{percent(kept)} of rows go out as they are; the commonest category alone is {guess}"),
        (f"histogram of {rows:,} rows", f"{wrong} of {rows:,} rows in a wrong cell; of exact rows {exact}"),
    )
    return Figures("categories", numbers, grade, verdict, lines, 1 - kept)


def rows_for(scatter: float, bias: float, within: float) -> int | None:
    """The least n with bias^2 + scatter / n <= within^2; None if there is none.

    >>> rows_for(4.0, 0.0, 1.0), rows_for(4.0, 1.0, 1.0)
    (4, None)
    """
    room = within**2 - bias**2
    if scatter == 0 and room >= 0:
        return 1
    return None if room <= 0 else max(1, math.ceil(scatter / room * (1 - 1e-12)))


def short(x: float) -> str:
    """A number in three digits that count; what is below 1e-12 is 0."""
    if abs(x) < 1e-12:
        return "0"
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e15 else f"{x:.3g}"


def percent(x: float) -> str:
    """A share."""
    return f"{100 * x:.3g} %"


def statistic(
    name: str, query: str, rows: int, half: float, error: float, value: float | None, chance: float | None,
    ordinary: float | None, of: str = RECORDS, counts: tuple[int, float, float] | None = None,
) -> Figures:  # fmt: skip
    """A count, sum or mean of a group of `rows` records, or of whatever else it is `of`.

    `half`: 95 % of errors are within ±half, in the unit of what is published; `error`: the mean size. `value`: what the
    beliefs (after a release: the published number) say of it; `relative`: half / |value|. `chance`: how far 95 % of
    groups of that size lie from the believed value by chance alone; `ordinary`: the half width that differential
    privacy at the same epsilon would need, without beliefs. None where it is not known. `counts`: of entries in cells,
    which `half` holds all together and of which `value` is an even share: how many the beliefs allow, the largest that
    they expect, and the spread.

    The rule, in order: no error is exact; within 5 % of the value, or within what chance moves a group of that size,
    usable; within 25 %, rough; else mostly noise."""
    relative = None if not value else half / abs(value)
    numbers = {"name": name, "query": query, "rows": rows, "half": half, "error": error, "value": value,
               "chance": chance, "ordinary": ordinary, **dict(zip(_CELLS, counts or (), strict=False)),
               "relative": relative}  # fmt: skip
    grade = NOISE if relative is None else _graded(relative)
    if error == 0:
        grade = EXACT
    elif chance is not None and half <= chance:
        grade = USABLE
    elif value is None:
        grade = UNKNOWN
    part, by_chance = "", ""
    if relative is not None:  # in per cent; more than twice the whole, as how many times it
        part = f"{percent(relative)} of" if relative <= 2 else f"{float(f'{relative:.2g}'):,.12g} times"
    if chance is not None:
        by_chance = f"; chance alone moves a group of {rows:,} by ±{short(chance)}"
    within = f"±{short(half)}" + (f", {part} the value" if part else "")
    if half == 0:  # a share of the value would say nothing, least of all where the value is near 0
        within = "nothing is added in 95 % of all draws or more"
    verdict = f"{_WORDS.get(grade, grade)}: {within}{by_chance}"
    if grade in (EXACT, UNKNOWN):
        unknown = f"not known: {within}, and the beliefs do not say how large the number is"
        verdict = "exact: nothing is added" if grade == EXACT else unknown
    around = ("" if value is None else f" around {short(value)}") + (f" ({part} it)" if part else "")
    lines = [("95 % interval", f"±{short(half)}{around}, average error {short(error)}")]
    if chance is not None:
        lines.append(("chance alone", f"moves it by ±{short(chance)} in a group of {rows:,} {of}"))
    if ordinary is not None and half > 0:
        more = f", {short(ordinary / half)} times as much" if ordinary / half > 1.005 else ", no more"
        lines.append(("ordinary differential privacy", f"would need ±{short(ordinary)}{more}"))
    if counts is not None:
        text = f"{counts[0]} of them are expected, at most {short(counts[1])} each, spread {short(counts[2])}"
        lines.append(("the counts themselves", text))
    return Figures(STATISTIC, numbers, grade, verdict, tuple(lines), half)


_CELLS = ("cells", "largest", "spread")


def _graded(relative: float) -> str:
    """By the share of the value that is missed."""
    return USABLE if relative <= GOOD else ROUGHLY if relative <= ROUGH else NOISE


def ranking(name: str, loss: float, total: float, first: float) -> Figures:
    """The most frequent states in their order. `loss`: what the states that are named lack, on average, of the counts
    of the true ones, summed over ranks; `total`: the sum of the true counts, as the beliefs expect it; `first`: how
    often the first is named first. Usable where 5 % of the counts are missed at most, rough up to 25 %."""
    numbers = dict(locals())
    relative = loss / total if total > 0 else math.inf
    missed = f"the states named miss {percent(relative)} of the counts of the true ones on average"
    ahead = f"the most frequent one comes first in {percent(first)} of all draws"
    verdict = f"{_WORDS[_graded(relative)]}: {missed}, and {ahead}"
    told = {**numbers, "relative": relative}
    return Figures("ranking", told, _graded(relative), verdict, ((name, verdict),), loss)


def coordinate(name: str, spread: float, noise: float, half: float) -> Figures:
    """One number of a vector, which is published once: graded as a column is, without averages. `spread`: its standard
    deviation under the beliefs; `noise`: that of the noise; `half`: 95 % of errors are within ±half. `correlation`:
    corr(X, X + N) of independent noise, 1 / sqrt(1 + (noise / spread)^2)."""
    numbers = dict(locals())
    correlation = 0.0 if spread == 0 else 1 / math.hypot(1.0, noise / spread)
    grade = USABLE if correlation >= CLOSE else ROUGHLY if noise <= spread else NOISE
    beside = f"an error of {short(noise)} beside a spread of {short(spread)} under the beliefs"
    text = f"spread {short(spread)}, noise {short(noise)}, 95 % within ±{short(half)}, correlation {correlation:.3f}"
    lines, told = ((f"number {name}" if name.isdigit() else name, text),), {**numbers, "correlation": correlation}
    if noise == 0:
        return Figures("coordinate", told, EXACT, "exact: nothing is added", lines, noise)
    return Figures("coordinate", told, grade, f"{_WORDS[grade]}: {beside}", lines, noise)
