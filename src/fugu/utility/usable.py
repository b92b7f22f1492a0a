"""`Usable`: whether what is published can be used, in figures and in words, and for how many rows. The figures of one
published number: a column row by row, and what statistics of n of its rows are worth; a number that is published once,
a statistic of many records or a coordinate of a vector."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, final

from fugu.errors import BadTable, UsageError
from fugu.lazily import Imported
from fugu.numbers.checks import is_count
from fugu.question import RECORDS
from fugu.shown import Shown
from fugu.utility.joint import Estimate
from fugu.visible import Json, finite, several

if TYPE_CHECKING:
    from fugu.utility import reading

ROW_BY_ROW, AVERAGES, NOISE, EXACT, UNKNOWN = "row by row", "averages", "mostly noise", "exact", "not known"
USABLE, ROUGHLY = "usable", "rough figure"
"""Of a number that is published once, what row by row and averages are of a column."""
GRADES = (EXACT, ROW_BY_ROW, USABLE, AVERAGES, ROUGHLY, NOISE, UNKNOWN)
"""From the best to the worst; what is not known counts as the worst."""
_WORDS = {USABLE: "usable", ROUGHLY: "usable as a rough figure", NOISE: "mostly noise"}
COLUMN, STATISTIC, COORDINATE = "column", "statistic", "coordinate"
"""Kinds that somebody asks for by name: levers are for the first, published numbers for the second, pictures for
all."""
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

    @property
    def missed(self) -> float:
        """How bad it is within its grade, larger is worse: the share that the grade is decided by. Of a number that is
        published once, of its value or its range (or of what chance alone moves it by, where that makes it usable);
        of others noise beside the spread, or rows that are changed."""
        numbers, grade = self.numbers, self.grade
        if grade == EXACT:
            return 0.0
        if "relative" in numbers:
            relative, chance = numbers["relative"], numbers.get("chance")
            missed = math.inf if relative is None else relative
            by_chance = chance is not None and grade == USABLE and missed > GOOD
            return (self.size + abs(numbers.get("moved", 0.0))) / chance if by_chance else missed / GOOD
        spread = numbers.get("spread", 1.0)
        return self.size / spread if spread > 0 else math.inf

    def to_json(self) -> Json:
        """Plain data."""
        told = asdict(self)
        return {"kind": self.kind, **told["numbers"], "grade": self.grade, "verdict": self.verdict}


def below_one(x: float, digits: int) -> str:
    """A correlation or a chance in so many places, or in as many as tell it from 1.

    >>> below_one(0.951, 2), below_one(0.9979, 2), below_one(0.99996, 3), below_one(1.0, 2)
    ('0.95', '0.998', '0.99996', '1.00')
    """
    while x < 1 - 1e-9 and float(f"{x:.{digits}f}") == 1:  # nearer to 1 is what rounding of doubles leaves
        digits += 1
    return f"{x:.{digits}f}"


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
        verdict = f"usable row by row: {beside}, correlation {below_one(correlation, 2)}"
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
    kept = f"two rows keep their order with probability {below_one(order, 3)} (0.5 is chance)"
    lines = [
        ("values", f"{ends}, spread (standard deviation) {short(spread)}"),
        ("noise", f"standard error {short(noise)}, average {short(error)}, 95 % within ±{short(half)}{off}"),
        ("without any data", f"always saying the middle value is off by {short(guess)} on average"),
        ("row by row", f"correlation {below_one(correlation, 3)}; {kept}"),
        (f"mean of {rows:,} rows", f"off by {short(mean)} from that of the exact rows"),
    ]
    for each in estimates[:-1]:
        text = f"off by {short(each.published)}, where exact rows are off by {short(each.exact)}"
        lines.append((f"{each.what} of {rows:,} rows", text))
    for each in estimates[-1:]:
        text = f"{percent(each.published)} of rows in a wrong cell, where exact rows have {percent(each.exact)}"
        lines.append((each.what, text))
    return Figures(COLUMN, numbers, grade, verdict, tuple(lines), noise)


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
        ("row by row", f"{percent(kept)} of rows go out as they are; the commonest category alone is {guess}"),
        (f"histogram of {rows:,} rows", f"{wrong} of {rows:,} rows in a wrong cell, where exact rows have {exact}"),
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
    return None if room <= 0 or math.isinf(scatter) else max(1, math.ceil(scatter / room * (1 - 1e-12)))


def short(x: float) -> str:
    """A number in three digits that count; what is below 1e-12 is 0."""
    if abs(x) < 1e-12:
        return "0"
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e15 else f"{x:.3g}"


def percent(x: float) -> str:
    """A share."""
    return f"{100 * x:.3g} %"


def statistic(
    name: str, query: str, rows: int, half: float, error: float | None, value: float | None, chance: float | None,
    ordinary: float | None, of: str = RECORDS, counts: tuple[int, float, float] | None = None,
    moved: float = 0.0,
) -> Figures:  # fmt: skip
    """A count, sum or mean of a group of `rows` records, or of whatever else it is `of`.

    `half`: 95 % of errors are within ±half, in the unit of what is published; `error`: the mean size, None for a
    choice. `value`: what the beliefs (after a release: the published number) say of it; `relative`: half / |value|.
    `chance`: how far 95 % of groups of that size lie from the believed value by chance alone; `ordinary`: the half
    width that differential privacy at the same epsilon would need, without beliefs. None where it is not known.
    `moved`: by how much rounding and clipping moves it beside the noise, as measured on the reference. `counts`: of
    entries in cells, which `half` holds all together and of which `value` is an even share: how many the
    beliefs allow, the largest that they expect, and the spread.

    The rule, in order: no error is exact; within 5 % of the value, or within what chance moves a group of that size,
    usable; within 25 %, rough; else mostly noise."""
    reach = half + abs(moved)
    relative = None if not value else reach / abs(value)
    numbers = {"name": name, "query": query, "rows": rows, "half": half, "error": error, "value": value,
               "chance": chance, "ordinary": ordinary, **dict(zip(_CELLS, counts or (), strict=False)),
               "relative": relative, **({"moved": moved} if moved else {})}  # fmt: skip
    grade = NOISE if relative is None else _graded(relative)
    if error == 0:
        grade = EXACT
    elif chance is not None and reach <= chance:
        grade = USABLE
    elif value is None:
        grade = UNKNOWN
    part, by_chance = "", ""
    if relative is not None:  # in per cent; more than twice the whole, as how many times it
        part = f"{percent(relative)} of" if relative <= 2 else f"{float(f'{relative:.2g}'):,.12g} times"
    if chance is not None:
        by_chance = f"; chance alone moves a group of {rows:,} by ±{short(chance)}"
    within = f"±{short(reach)}" + (f", {part} the value" if part else "")
    if moved:
        by_chance = f", of which ±{short(abs(moved))} is rounding, as on the reference{by_chance}"
    if reach == 0:  # a share of the value would say nothing, least of all where the value is near 0
        within = "nothing is added in 95 % of all draws or more"
    verdict = f"{_WORDS.get(grade, grade)}: {within}{by_chance}"
    if grade in (EXACT, UNKNOWN):
        unknown = f"not known: {within}, and the beliefs do not say how large the number is"
        verdict = "exact: nothing is added" if grade == EXACT else unknown
    around = ("" if value is None else f" around {short(value)}") + (f" ({part} it)" if part else "")
    mean = "" if error is None else f", average error {short(error)}"
    lines = [("95 % interval", f"±{short(half)}{around}{mean}")]
    if chance is not None:
        lines.append(("chance alone", f"moves it by ±{short(chance)} in a group of {rows:,} {of}"))
    if ordinary is not None and half > 0:
        more = f", {short(ordinary / half)} times as much" if ordinary / half > 1.005 else ", no more"
        lines.append(("ordinary differential privacy", f"would need ±{short(ordinary)}{more}"))
    if moved:
        lines.append(("rounding and clipping", f"moves it by {short(moved)} on the reference, beside the noise"))
    if counts is not None:
        text = f"{several(counts[0], 'count')}, expected to be at most {short(counts[1])}, spread {short(counts[2])}"
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
        return Figures(COORDINATE, told, EXACT, "exact: nothing is added", lines, noise)
    return Figures(COORDINATE, told, grade, f"{_WORDS[grade]}: {beside}", lines, noise)


def in_range(name: str, low: float, high: float, half: float) -> Figures:
    """One number of which only the ends are known, `low` to `high`: 95 % of errors are within ±half. Graded as a
    statistic is, by the share of the range that is missed: a value of which nothing is known lies anywhere in it."""
    numbers = dict(locals())
    relative = half / (high - low) if high > low else math.inf
    grade = EXACT if half == 0 else _graded(relative)
    text = f"±{short(half)}, {percent(relative)} of its range from {short(low)} to {short(high)}"
    verdict = "exact: nothing is added" if half == 0 else f"{_WORDS[grade]}: {text}"
    return Figures("range", {**numbers, "relative": relative}, grade, verdict, ((name, text),), half)


OWN_TABLE = (
    "left out, since the beliefs were fitted on the private table itself: these figures would be exact numbers of it; "
    "beliefs from a reference avoid this"
)
_FEW, _SHOWN = 3, 40
"""So many groups are shown with all their figures; so many of more, with a line each."""
HELPS = 0.98
"""A lever that leaves more than this share of the error does not help."""


@final
@dataclass(frozen=True)
class Lever:
    """Something that could be asked otherwise, with its measured effect.

    `what`: in words; `option`: how the command line says it; `error`: the expected absolute error of a row then, what
    the change itself costs (such as coarser bins) included; `times`: how many times smaller it is than now; `price`:
    what it gives away, in words."""

    what: str
    option: str
    error: float
    times: float
    price: str = ""

    @property
    def told(self) -> str:
        """One sentence."""
        option = f" ({self.option})" if self.option else ""
        price = f"; {self.price}" if self.price else ""
        if self.error == 0:
            return f"{self.what}{option}: no error at all{price}"
        return f"{self.what}{option}: average error {short(self.error)}, {short(self.times)} times less{price}"


@final
@dataclass(frozen=True, repr=False)
class Usable(Shown):
    """How usable a release is: worked out on the reference or on the beliefs, never on the private table.

    `figures`: one entry for a column, one for each group of a statistic, one for each number of a vector; empty where
    nothing is known, and then `why` says why. `basis`: what they were worked out on. `levers`: what would help, the
    most effective first, each measured; `untried`: what was not tried, and why. `ordinary`: how many times the average
    error ordinary differential privacy has at the same epsilon, None where that is not known. Prints as a block."""

    figures: tuple[Figures, ...]
    basis: str
    levers: tuple[Lever, ...] = ()
    untried: tuple[str, ...] = ()
    ordinary: float | None = None
    why: str = ""

    if TYPE_CHECKING:
        of = staticmethod(reading.usable_of)
    else:
        of = Imported("fugu.utility.reading:usable_of")

    @property
    def worst(self) -> Figures | None:
        """The figures that the verdict is about: of the worst grade those that miss most."""
        return max(self.figures, key=lambda each: (GRADES.index(each.grade), each.missed), default=None)

    @property
    def grade(self) -> str:
        """One of `fugu.utility.usable.GRADES`, from "exact" to "mostly noise" and "not known"."""
        return UNKNOWN if self.worst is None else self.worst.grade

    @property
    def grades(self) -> tuple[tuple[str, int], ...]:
        """Every grade that a figure has, from the best to the worst, and how many have it."""
        counts = Counter(each.grade for each in self.figures) or Counter([UNKNOWN])
        return tuple((grade, counts[grade]) for grade in GRADES if counts[grade])

    @property
    def verdict(self) -> str:
        """One sentence; of several groups or numbers, about the worst."""
        if self.worst is None:
            return f"not known: {self.why}"
        if len(self.figures) == 1:
            return self.worst.verdict
        named, whole = self.worst.name or "all", len(self.figures)
        if len(self.grades) == 1:
            return f"{self.worst.verdict}; the worst of {whole:,} is {named}"
        words = {each.grade: each.verdict.partition(": ")[0] for each in self.figures}
        each = [f"{words[grade]} for {count:,}" for grade, count in self.grades]
        why = self.worst.verdict.partition(": ")[2]
        return f"{each[0]} of {whole:,}, {', '.join(each[1:])}: {why}; the worst is {named}"

    def with_levers(self, levers: tuple[Lever, ...], untried: tuple[str, ...]) -> Usable:
        """The same with what would help, the most effective first; what does not help is left out."""
        best = sorted((x for x in levers if x.times * HELPS >= 1), key=lambda x: -x.times)
        return replace(self, levers=tuple(best), untried=untried)

    def lines(self) -> Lines:
        """The verdict, every figure of a few groups or numbers as a label and a text, of many one line each, and what
        would help."""
        listed, named = [("verdict", self.verdict)], len(self.figures) > 1
        if len(self.figures) <= _FEW:
            listed += [
                (f"{each.name}: {label}" if named and each.name and each.name != label else label, text)
                for each in self.figures
                for label, text in each.lines
            ]
        else:
            listed += [(each.name or "all", each.verdict) for each in self.figures[:_SHOWN]]
            listed += [("", f"and {rest} more")] if (rest := len(self.figures) - _SHOWN) > 0 else []
        if self.ordinary is not None:
            times = "the same" if short(self.ordinary) == "1" else f"{short(self.ordinary)} times the"
            text = f"would have {times} average error, and use no beliefs"
            listed.append(("ordinary differential privacy", text))
        listed += [("would help" if k == 0 else "", lever.told) for k, lever in enumerate(self.levers)]
        if self.untried:
            listed.append(("not tried", "; ".join(self.untried)))
        return tuple(listed)

    def to_json(self) -> Json:
        """Plain data; infinite numbers as null."""
        told: Json = finite({
            "verdict": self.verdict,
            "grade": self.grade,
            "basis": self.basis,
            "figures": [each.to_json() for each in self.figures],
            "ordinary_times": self.ordinary,
            "levers": [{"what": x.what, "option": x.option, "error": x.error, "times": x.times, "price": x.price}
                       for x in self.levers],
            "untried": list(self.untried),
        })  # fmt: skip
        return told

    def __repr__(self) -> str:
        return f"Usable({self.grade!r}, {several(len(self.figures), 'figure')}, {several(len(self.levers), 'lever')})"

    def __str__(self) -> str:
        head = f"how usable it is, on {self.basis}" if self.basis else "how usable it is"
        width = max((len(label) for label, _ in self.lines()), default=0)
        return "\n".join([head, *(f"  {label:<{width}}  {text}" for label, text in self.lines())])


GROUPS = "groups and their sizes are the reference's, scaled to that: estimates"


@final
@dataclass(frozen=True)
class RowsFor:
    """For how many rows a rehearsal is. `declared`: the public number of rows of the private table, None if it was not
    said; `reference`: the reference's, which then stands in for it, and is said to. `own`: the table is its own
    reference and counts as public.

    >>> print(RowsFor(None, 303))
    for 303 rows, the reference's; where the table has another number, declare it as rows
    >>> RowsFor(1000, 303).number, str(RowsFor(1000, 303))
    (1000, 'for 1,000 rows, as declared')
    """

    declared: int | None
    reference: int
    own: bool = False

    def __post_init__(self) -> None:
        if self.declared is not None and not is_count(self.declared):
            raise UsageError(f"rows is the public number of rows of the private table, got {self.declared!r}")

    @property
    def number(self) -> int:
        """The number that counts."""
        return self.reference if self.declared is None else self.declared

    def require(self, rows: int) -> None:
        """Refuse an opened table that has another number of rows than declared; both numbers are public."""
        if self.declared not in (None, rows):
            raise BadTable(
                f"the table has {rows} rows, and {self.declared} were declared (rows=...); the number of rows is "
                "public, and what was worked out before is for exactly that many"
            )

    def __str__(self) -> str:
        if self.own:
            return f"for {self.reference:,} rows, those of the table, which counts as public"
        if self.declared is None:
            return f"for {self.number:,} rows, the reference's; where the table has another number, declare it as rows"
        return f"for {self.number:,} rows, as declared"
