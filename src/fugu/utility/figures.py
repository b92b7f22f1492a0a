"""The figures of one published number: a column row by row, and what statistics of n of its rows are worth; a number
that is published once, a statistic of many records or a coordinate of a vector."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar

from fugu.utility.joint import Estimate, PublishedJoint, histogram, quantile
from fugu.visible import Json

ROW_BY_ROW, AVERAGES, NOISE, EXACT, UNKNOWN = "row by row", "averages", "mostly noise", "exact", "not known"
USABLE, ROUGHLY = "usable", "rough figure"
"""Of a number that is published once, what row by row and averages are of a column."""
GRADES = (EXACT, ROW_BY_ROW, USABLE, AVERAGES, ROUGHLY, NOISE, UNKNOWN)
"""From the best to the worst; what is not known counts as the worst."""
_WORDS = {USABLE: "usable", ROUGHLY: "usable as a rough figure", NOISE: "mostly noise"}
CLOSE = 0.9
"""Row by row: the correlation of a value and what is published of it is at least this (noise below 0.48 spreads)."""
TENTH = 0.1
"""Averages: so much of the spread may a mean of published rows be off."""
GOOD, ROUGH = 0.05, 0.25
"""A statistic whose 95 % interval reaches so far, as a share of its value, is usable, or usable as a rough figure."""
CHANCE = 1.959963984540054
"""95 % of a normal law lie within so many standard deviations."""
Lines = tuple[tuple[str, str], ...]


class Figures(ABC):
    """The figures of one published number, or of one column."""

    name: str
    kind: ClassVar[str]
    told: ClassVar[tuple[str, ...]] = ()
    """What `to_json` says beside the fields."""
    size: ClassVar[str] = "noise"
    """By what the worse of two is known: the larger."""

    @property
    @abstractmethod
    def grade(self) -> str:
        """One of `GRADES`, by a rule."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The grade in a sentence, with the numbers behind it."""

    @abstractmethod
    def lines(self) -> Lines:
        """Every figure as a label and a text."""

    def to_json(self) -> Json:
        """Plain data."""
        told = {name: getattr(self, name) for name in (*self.told, "grade", "verdict")}
        return {"kind": self.kind, **asdict(self), **told}  # type: ignore[call-overload]


@dataclass(frozen=True)
class PublishedRows(Figures):
    """A column that is published row by row.

    `spread`, `low`, `high`: the standard deviation and the ends of the values; `noise`: the root mean square error of a
    row, `error` its mean size, `half`: 95 % of rows are off by at most this; `bias`: the mean error. `correlation`: of
    a value and what is published of it; `order`: the chance that two rows with different values keep their order, a tie
    counted half. `mean`: how far the mean of `rows` published rows lies from that of the same exact rows (root mean
    square). `needed`: how many rows bring the mean within a tenth of the spread; None if no number does. `guess`: how
    far the median of the beliefs, said whatever the row holds, lies from a row on average. `estimates`: quantiles and
    the histogram."""

    kind: ClassVar[str] = "column"
    name: str
    rows: int
    spread: float
    low: float
    high: float
    noise: float
    error: float
    half: float
    bias: float
    correlation: float
    order: float
    mean: float
    needed: int | None
    guess: float
    estimates: tuple[Estimate, ...]

    @staticmethod
    def of(joint: PublishedJoint, rows: int, half: float, name: str = "") -> PublishedRows:
        """Read off a joint law; `half` as the mechanism states it."""
        value, published = joint.value, joint.published
        spread = math.sqrt(value.variance)
        scatter = max(joint.squared - joint.bias**2, 0.0)
        levels = (0.25, 0.5, 0.9)
        ends = (-math.inf, math.inf) if joint.endless else value.ends
        found = tuple(quantile(level, rows, value, published) for level in levels)
        return PublishedRows(
            name, rows, spread, *ends, math.sqrt(joint.squared), joint.absolute, half, joint.bias,
            joint.correlation, joint.order, math.sqrt(joint.bias**2 + scatter / rows),
            rows_for(scatter, joint.bias, TENTH * spread),
            float(value.shares @ abs(value.points - value.quantile(0.5))), (*found, histogram(rows, value, published)),
        )  # fmt: skip

    @property
    def grade(self) -> str:
        """The rule, in order: no error is exact; correlation of at least 0.9, row by row; noise of at most one spread
        and a mean of the rows at hand within a tenth of the spread, averages; else mostly noise."""
        if self.noise == 0:
            return EXACT
        if self.correlation >= CLOSE and self.noise <= self.spread:
            return ROW_BY_ROW
        reachable = self.needed is not None and self.needed <= self.rows
        return AVERAGES if self.noise <= self.spread and reachable else NOISE

    @property
    def verdict(self) -> str:
        size = f"noise of {short(self.noise)} ({short(self.error)} on average)"
        worse = ", more than a guess that ignores the row" if self.error > self.guess else ""
        beside = f"{size} beside the column's own spread of {short(self.spread)}{worse}"
        if self.grade == EXACT:
            return "exact: nothing is changed"
        if self.grade == ROW_BY_ROW:
            return f"usable row by row: {beside}, correlation {self.correlation:.2f}"
        if self.grade == AVERAGES:
            return f"usable for averages over about {self.needed:,} rows, not row by row: {beside}"
        if self.needed is None:
            return f"mostly noise: {beside}, and averages stay off by {short(abs(self.bias))}"
        if self.needed <= self.rows:
            return f"mostly noise: {beside}; only averages over about {self.needed:,} rows come within a tenth of it"
        return (
            f"mostly noise: {beside}; even the mean of all {self.rows:,} rows is off by {short(self.mean)}, "
            f"and about {self.needed:,} rows would bring it within a tenth of the spread"
        )

    def lines(self) -> Lines:
        ends = "anywhere" if math.isinf(self.low) else f"from {short(self.low)} to {short(self.high)}"
        bias = f", bias {short(self.bias)}" if abs(self.bias) > 1e-9 * self.noise else ""
        size = f"standard error {short(self.noise)}, average {short(self.error)}, 95 % within ±{short(self.half)}{bias}"
        order = f"two rows keep their order with probability {self.order:.3f} (0.5 is chance)"
        listed = [
            ("values", f"{ends}, spread (standard deviation) {short(self.spread)}"),
            ("noise", size),
            ("without any data", f"always saying the middle value is off by {short(self.guess)} on average"),
            ("kept row by row", f"correlation {self.correlation:.3f}; {order}"),
            (f"mean of {self.rows:,} rows", f"off by {short(self.mean)} from that of the exact rows"),
        ]
        for each in self.estimates[:-1]:
            text = f"off by {short(each.published)}; of exact rows by {short(each.exact)}"
            listed.append((f"{each.what} of {self.rows:,} rows", text))
        cells = self.estimates[-1]
        wrong = f"{percent(cells.published)} of rows in a wrong cell; of exact rows {percent(cells.exact)}"
        return (*listed, (cells.what, wrong))


@dataclass(frozen=True)
class Names(Figures):
    """A column of categories without an order. `kept`: the chance that a row goes out as it is; `commonest`: the share
    of the commonest category, which guessing reaches without any data; `histogram`: as of `PublishedRows`."""

    kind: ClassVar[str] = "categories"
    name: str
    rows: int
    kept: float
    commonest: float
    histogram: Estimate

    @staticmethod
    def of(joint: PublishedJoint, rows: int, name: str = "") -> Names:
        """Read off a table of chances."""
        cells = histogram(rows, joint.value, joint.published)
        return Names(name, rows, joint.unchanged, float(joint.value.shares.max()), cells)

    @property
    def noise(self) -> float:
        """The chance that a row does not."""
        return 1 - self.kept

    @property
    def grade(self) -> str:
        """Row by row if 90 % of rows are kept; mostly noise if no more are than guessing reaches; else averages."""
        if self.kept >= 1 - 1e-12:
            return EXACT
        if self.kept >= CLOSE:
            return ROW_BY_ROW
        return AVERAGES if self.kept > self.commonest else NOISE

    @property
    def verdict(self) -> str:
        kept, guess = f"{percent(self.kept)} of rows are as they were", percent(self.commonest)
        return {
            EXACT: "exact: nothing is changed",
            ROW_BY_ROW: f"usable row by row: {kept}",
            AVERAGES: f"usable for shares of categories, not row by row: {kept}",
            NOISE: f"mostly noise: {kept}, and always saying the commonest category is right for {guess}",
        }[self.grade]

    def lines(self) -> Lines:
        cells = self.histogram
        wrong = (
            f"{percent(cells.published)} of {self.rows:,} rows in a wrong cell; of exact rows {percent(cells.exact)}"
        )
        guess = f"the commonest category alone is {percent(self.commonest)}"
        kept = f"{percent(self.kept)} of rows go out as they are; {guess}"
        return (("kept row by row", kept), (f"histogram of {self.rows:,} rows", wrong))


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


def _part(relative: float) -> str:
    """A share in per cent; more than twice the whole, as how many times it.

    >>> _part(0.25), _part(16.4)
    ('25 % of', '16 times')
    """
    return f"{percent(relative)} of" if relative <= 2 else f"{float(f'{relative:.2g}'):,.12g} times"


@dataclass(frozen=True)
class PublishedStatistic(Figures):
    """A count, sum or mean of a group of `rows` records.

    `half`: 95 % of errors are within ±half, in the unit of what is published; `error`: the mean size. `value`: what the
    beliefs (after a release: the published number) say of it; `relative`: half / |value|. `chance`: how far 95 % of
    groups of that size lie from the believed value by chance alone; `ordinary`: the half width that differential
    privacy at the same epsilon would need, without beliefs. None where it is not known."""

    kind: ClassVar[str] = "statistic"
    told: ClassVar[tuple[str, ...]] = ("relative",)
    size: ClassVar[str] = "half"
    name: str
    query: str
    rows: int
    half: float
    error: float
    value: float | None
    chance: float | None
    ordinary: float | None
    of: ClassVar[str] = "records"
    """What a group consists of."""

    @property
    def relative(self) -> float | None:
        """half / |value|."""
        return None if not self.value else self.half / abs(self.value)

    @property
    def grade(self) -> str:
        """The rule, in order: no error is exact; within 5 % of the value, or within what chance moves a group of that
        size, usable; within 25 %, rough; else mostly noise."""
        relative = self.relative
        if self.error == 0:
            return EXACT
        if self.chance is not None and self.half <= self.chance:
            return USABLE
        if relative is None:
            return UNKNOWN if self.value is None else NOISE
        return USABLE if relative <= GOOD else ROUGHLY if relative <= ROUGH else NOISE

    @property
    def verdict(self) -> str:
        within = f"±{short(self.half)}" + ("" if self.relative is None else f", {_part(self.relative)} the value")
        if self.half == 0:  # a share of the value would say nothing, least of all where the value is near 0
            within = "nothing is added in 95 % of all draws or more"
        group = f"; chance alone moves a group of {self.rows:,} by "
        by_chance = "" if self.chance is None else f"{group}±{short(self.chance)}"
        if self.grade == EXACT:
            return "exact: nothing is added"
        if self.grade == UNKNOWN:
            return f"not known: {within}, and the beliefs do not say how large the number is"
        return f"{_WORDS[self.grade]}: {within}{by_chance}"

    def lines(self) -> Lines:
        value = "" if self.value is None else f" around {short(self.value)}"
        relative = "" if self.relative is None else f" ({_part(self.relative)} it)"
        listed = [("95 % interval", f"±{short(self.half)}{value}{relative}, average error {short(self.error)}")]
        if self.chance is not None:
            listed.append(("chance alone", f"moves it by ±{short(self.chance)} in a group of {self.rows:,} {self.of}"))
        if self.ordinary is not None and self.half > 0:
            times = self.ordinary / self.half
            more = f", {short(times)} times as much" if times > 1.005 else ", no more"
            listed.append(("ordinary differential privacy", f"would need ±{short(self.ordinary)}{more}"))
        return tuple(listed)


@dataclass(frozen=True)
class OfEntries(PublishedStatistic):
    """A count, sum or mean of so many entries of sequences; `chance` is under the chain that is believed."""

    of: ClassVar[str] = "entries"


@dataclass(frozen=True)
class PublishedCells(OfEntries):
    """Counts of entries in cells, which `half` holds all together. `value`: an even share of the `cells` that the
    beliefs allow; `largest`, `spread`: of the counts that they expect."""

    cells: int = 1
    largest: float = 0.0
    spread: float = 0.0

    def lines(self) -> Lines:
        """With the counts themselves."""
        text = f"{self.cells} of them are expected, at most {short(self.largest)} each, spread {short(self.spread)}"
        return (*super().lines(), ("the counts themselves", text))


@dataclass(frozen=True)
class Ranking(Figures):
    """The most frequent states in their order. `loss`: what the states that are named lack, on average, of the counts
    of the true ones, summed over ranks; `total`: the sum of the true counts, as the beliefs expect it; `first`: how
    often the first is named first."""

    kind: ClassVar[str] = "ranking"
    told: ClassVar[tuple[str, ...]] = ("relative",)
    size: ClassVar[str] = "loss"
    name: str
    loss: float
    total: float
    first: float

    @property
    def relative(self) -> float:
        """loss / total."""
        return self.loss / self.total if self.total > 0 else math.inf

    @property
    def grade(self) -> str:
        """Usable where 5 % of the counts are missed at most, rough up to 25 %, else mostly noise."""
        return USABLE if self.relative <= GOOD else ROUGHLY if self.relative <= ROUGH else NOISE

    @property
    def verdict(self) -> str:
        missed = f"the states named miss {percent(self.relative)} of the counts of the true ones on average"
        first = f"the most frequent one comes first in {percent(self.first)} of all draws"
        return f"{_WORDS[self.grade]}: {missed}, and {first}"

    def lines(self) -> Lines:
        """The verdict is all there is."""
        return ((self.name, self.verdict),)


@dataclass(frozen=True)
class PublishedCoordinate(Figures):
    """One number of a vector. `spread`: its standard deviation under the beliefs; `noise`: that of the noise; `half`:
    95 % of errors are within ±half."""

    kind: ClassVar[str] = "coordinate"
    told: ClassVar[tuple[str, ...]] = ("correlation",)
    name: str
    spread: float
    noise: float
    half: float

    @property
    def correlation(self) -> float:
        """corr(X, X + N) of independent noise: 1 / sqrt(1 + (noise / spread)^2)."""
        return 0.0 if self.spread == 0 else 1 / math.hypot(1.0, self.noise / self.spread)

    @property
    def grade(self) -> str:
        """As of a column, without averages: a vector is published once."""
        if self.noise == 0:
            return EXACT
        return USABLE if self.correlation >= CLOSE else ROUGHLY if self.noise <= self.spread else NOISE

    @property
    def verdict(self) -> str:
        beside = f"an error of {short(self.noise)} beside a spread of {short(self.spread)} under the beliefs"
        return "exact: nothing is added" if self.grade == EXACT else f"{_WORDS[self.grade]}: {beside}"

    def lines(self) -> Lines:
        text = f"spread {short(self.spread)}, noise {short(self.noise)}, 95 % within ±{short(self.half)}, correlation "
        return ((f"number {self.name}" if self.name.isdigit() else self.name, f"{text}{self.correlation:.3f}"),)
