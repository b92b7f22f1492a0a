"""The figures of a number that is published once: a statistic of many records, or a coordinate of a vector."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

from fugu.utility.figures import CLOSE, EXACT, NOISE, ROUGHLY, UNKNOWN, USABLE, Lines, percent, short
from fugu.visible import Json

GOOD, ROUGH = 0.05, 0.25
"""A statistic whose 95 % interval reaches so far, as a share of its value, is usable, or usable as a rough figure."""
CHANCE = 1.959963984540054
"""95 % of a normal law lie within so many standard deviations."""


def _part(relative: float) -> str:
    """A share in per cent; more than twice the whole, as how many times it.

    >>> _part(0.25), _part(16.4)
    ('25 % of', '16 times')
    """
    return f"{percent(relative)} of" if relative <= 2 else f"{float(f'{relative:.2g}'):,.12g} times"


@dataclass(frozen=True)
class Statistic:
    """A count, sum or mean of a group of `rows` records.

    `half`: 95 % of errors are within ±half, in the unit of what is published; `error`: the mean size. `value`: what the
    beliefs (after a release: the published number) say of it; `relative`: half / |value|. `chance`: how far 95 % of
    groups of that size lie from the believed value by chance alone; `ordinary`: the half width that differential
    privacy at the same epsilon would need, without beliefs. None where it is not known."""

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
        """The grade in a sentence."""
        within = f"±{short(self.half)}" + ("" if self.relative is None else f", {_part(self.relative)} the value")
        if self.half == 0:  # a share of the value would say nothing, least of all where the value is near 0
            within = "nothing is added in 95 % of all draws or more"
        group = f"; chance alone moves a group of {self.rows:,} by "
        by_chance = "" if self.chance is None else f"{group}±{short(self.chance)}"
        return {
            EXACT: "exact: nothing is added",
            USABLE: f"usable: {within}{by_chance}",
            ROUGHLY: f"usable as a rough figure: {within}{by_chance}",
            NOISE: f"mostly noise: {within}{by_chance}",
            UNKNOWN: f"not known: {within}, and the beliefs do not say how large the number is",
        }[self.grade]

    def lines(self) -> Lines:
        """Every figure as a label and a text."""
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

    def to_json(self) -> Json:
        """Plain data."""
        return {
            "kind": "statistic", **asdict(self), "relative": self.relative, "grade": self.grade, "verdict": self.verdict
        }  # fmt: skip


@dataclass(frozen=True)
class OfEntries(Statistic):
    """A count, sum or mean of so many entries of sequences; `chance` is under the chain that is believed."""

    of: ClassVar[str] = "entries"


@dataclass(frozen=True)
class Table(OfEntries):
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
class Ranking:
    """The most frequent states in their order. `loss`: what the states that are named lack, on average, of the counts
    of the true ones, summed over ranks; `total`: the sum of the true counts, as the beliefs expect it; `first`: how
    often the first is named first."""

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
        """The grade in a sentence."""
        missed = f"the states named miss {percent(self.relative)} of the counts of the true ones on average"
        word = {USABLE: "usable", ROUGHLY: "usable as a rough figure", NOISE: "mostly noise"}[self.grade]
        return f"{word}: {missed}, and the most frequent one comes first in {percent(self.first)} of all draws"

    def lines(self) -> Lines:
        """The verdict is all there is."""
        return ((self.name, self.verdict),)

    def to_json(self) -> Json:
        """Plain data."""
        told = {"relative": self.relative, "grade": self.grade, "verdict": self.verdict}
        return {"kind": "ranking", **asdict(self), **told}


@dataclass(frozen=True)
class Coordinate:
    """One number of a vector. `spread`: its standard deviation under the beliefs; `noise`: that of the noise; `half`:
    95 % of errors are within ±half."""

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
        """The grade in a sentence."""
        beside = f"an error of {short(self.noise)} beside a spread of {short(self.spread)} under the beliefs"
        return {
            EXACT: "exact: nothing is added",
            USABLE: f"usable: {beside}",
            ROUGHLY: f"usable as a rough figure: {beside}",
            NOISE: f"mostly noise: {beside}",
        }[self.grade]

    def lines(self) -> Lines:
        """Every figure as a label and a text."""
        text = f"spread {short(self.spread)}, noise {short(self.noise)}, 95 % within ±{short(self.half)}, correlation "
        return ((f"number {self.name}" if self.name.isdigit() else self.name, f"{text}{self.correlation:.3f}"),)

    def to_json(self) -> Json:
        """Plain data."""
        told = {"correlation": self.correlation, "grade": self.grade, "verdict": self.verdict}
        return {"kind": "coordinate", **asdict(self), **told}
