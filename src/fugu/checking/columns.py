"""How the cells of one column were read, and whether they are in another unit than the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import Categories, meant, number_of, text_of
from fugu.data.column import Column, Raw
from fugu.data.field import Field, is_gone
from fugu.data.private import (
    DECIMAL_COMMA,
    ENCODING,
    SPELLING,
    Cause,
    causes,
    comma,
    other_dates,
    respelt,
    spellings,
    undecoded,
)
from fugu.data.schema import Schema
from fugu.data.secrets import rule_of
from fugu.visible import Json, several

Floats = NDArray[np.float64]
_SAMPLE: Final = 2_000
"""So many values of a column show its law."""
_SHOWN: Final = 3
"""So many causes, and cells for each, are shown."""
_SOME, _FEW = 0.05, 0.02
"""A share of missing or moved cells, of unreadable or unknown ones, so much above the reference's is said aloud."""
_SIGMAS: Final = 4.0
_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0)
"""Numbers that stand for missing ones where they lie outside of all others."""


@final
@dataclass(frozen=True)
class Tally:
    """What became of the cells of a column.

    `missing`: empty, or a word that the schema declares. `unreadable`: something else than a number (or a date).
    `moved`: numbers beyond the bounds. `unknown`: none of the declared categories. `puzzling`: the texts of the
    unreadable and the unknown ones with their counts; `values`: some numbers as they stand."""

    cells: int
    missing: int = 0
    unreadable: int = 0
    moved: int = 0
    unknown: int = 0
    puzzling: tuple[tuple[str, int], ...] = ()
    values: Floats | None = None
    once: int = 0
    """Categories that occur once: as many more cells would be of categories that did not occur (Good, Turing 1953)."""

    def share(self, name: str) -> float:
        """The share of cells that are `name`."""
        return float(getattr(self, name)) / max(self.cells, 1)


@final
@dataclass(frozen=True)
class ColumnCheck:
    """How one column was read. `read` + `missing` + `unreadable` + `unknown` = `cells`; `moved` are among those read.

    `rule`: what a missing or unreadable cell counts as. `causes`: what is likely behind it, with what to do. `alarms`:
    what is far from the reference, in sentences; empty where the column is as it should be."""

    column: str
    cells: int
    read: int
    missing: int
    unreadable: int
    moved: int
    unknown: int
    rule: str
    causes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Plain data."""
        return {**asdict(self), "causes": list(self.causes), "alarms": list(self.alarms)}


def tally(known: Field, raw: Raw, read_as: Callable[[], Column], schema: Schema) -> Tally:
    """What became of the cells `raw` that were read as a column; only cells that are missing or at a bound are looked
    at again, each different one once."""
    if raw.array is not None and known.numeric and not known.dated:
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = raw.array.astype(np.float64)
            empty = np.asarray(raw.masked) | np.isnan(numbers)
            low, high = known.bounds or (-math.inf, math.inf)
            moved = int(np.count_nonzero(((numbers < low) | (numbers > high)) & ~empty))
        return Tally(len(numbers), int(empty.sum()), moved=moved, values=_some(numbers[~empty]))
    if raw.array is not None and raw.array.dtype.kind in "iu" and known.public:
        return Tally(len(raw.array), int(np.asarray(raw.masked).sum()))
    cells, codes = raw.factors()
    if not len(codes):
        return Tally(0)
    counts, absent = np.bincount(codes, minlength=len(cells)), frozenset(schema.absent)
    gone = [k for k, (cell, n) in enumerate(zip(cells, counts.tolist(), strict=True)) if n and is_gone(cell, absent)]

    def number(cell: object) -> float:
        return known.day(cell) if known.dated else meant(cell, schema.decimal)

    def rows(some: list[int]) -> int:
        return int(sum(counts[some])) if some else 0

    if known.numeric:
        column, first = read_as(), np.zeros(len(cells), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        nothing, read = column.missing[first] & (counts > 0), column.values[first]
        low, high = known.bounds or (-math.inf, math.inf)
        outside = sorted({*np.flatnonzero(nothing).tolist()} - {*gone})
        dropped = [k for k in outside if known.drops_outside and not math.isnan(number(cells[k]))]
        odd = sorted(set(outside) - set(dropped), key=lambda k: -counts[k])
        ends = np.flatnonzero((read <= low) | (read >= high)).tolist() if known.bounds else []
        beyond = [k for k in ends if not nothing[k] and not low <= number(cells[k]) <= high]
        some = column.values[~column.missing]
        if known.bounds is not None:  # as they stand, not as they were moved
            looked, again = np.unique(codes[:: max(len(codes) // _SAMPLE, 1)], return_inverse=True)
            some = np.array([number(cells[k]) for k in looked.tolist()], dtype=np.float64)[again]
        puzzling = tuple((text_of(cells[k]), int(counts[k])) for k in odd)
        kinds = (rows(gone), rows(odd), rows([*beyond, *dropped]))
        return Tally(len(codes), *kinds, puzzling=puzzling, values=_some(some))
    if known.public or known.values is None:
        return Tally(len(codes), rows(gone))
    places, odd = Categories(known.values, schema.decimal), []
    for k in sorted({*np.flatnonzero(counts).tolist()} - {*gone}):
        cell = cells[k]
        if places.place(text_of(cell), None if isinstance(cell, str | bytes) else number_of(cell)) < 0:
            odd.append(k)
    puzzling = tuple(sorted(((text_of(cells[k]), int(counts[k])) for k in odd), key=lambda each: -each[1]))
    once = int(np.count_nonzero(counts == 1))
    return Tally(len(codes), rows(gone), unknown=rows(odd), puzzling=puzzling, once=once)


def checked_column(name: str, schema: Schema, mine: Tally, theirs: Tally | None) -> ColumnCheck:
    """What is said of a column, beside the same column of the reference, if there is one."""
    known = schema.fields[name]
    behind = list(_causes(known, mine, theirs, schema.decimal))
    alarms = []
    for kind, words, floor in _KINDS:
        # above the reference's by more than `floor`, and than chance moves it (4 deviations)
        share, usual_share, spread = mine.share(kind), 0.0 if theirs is None else theirs.share(kind), 0.0
        if theirs is not None and theirs.cells and mine.cells:
            usual_share = max(usual_share, theirs.once / theirs.cells if kind == "unknown" else 0.0)
            pooled = (share * mine.cells + usual_share * theirs.cells) / (mine.cells + theirs.cells)
            spread = math.sqrt(pooled * (1 - pooled) * (1 / mine.cells + 1 / theirs.cells))
        if share > usual_share + max(floor, _SIGMAS * spread):
            beside = "" if theirs is None else f" ({theirs.share(kind):.1%} of the reference's)"
            alarms.append(f"{getattr(mine, kind):,} of {several(mine.cells, 'cell')}{beside} {words}")
    rule, lost = rule_of(name, known) or "", mine.missing + mine.unreadable + mine.unknown
    if alarms and 2 * lost > mine.cells:
        alarms.append(f"not useful, however little noise there is: most of it is no value of the table; {rule}")
    if (code := _code(mine, theirs)) is not None:
        said = f"missing code: {code[0]:g} stands in {code[1]:,} of the cells looked at, outside of the reference"
        behind.append(said)
        alarms.append(said)
    values, usual = mine.values, None if theirs is None else theirs.values
    if known.numeric and not known.dated and values is not None and usual is not None:
        if (unit := other_unit(values, usual)) is not None:
            said = f"other unit: its numbers are {unit}; write them in the reference's unit"
            behind.append(said)
            alarms.append(said)
        elif min(len(values), len(usual)) >= _LEAST and distance(values, usual) > FAR:
            middle = [float(np.median(each)) for each in (values, usual)]
            behind.append(f"other values: its median is {middle[0]:.4g}, the reference's {middle[1]:.4g}")
    told = (mine.cells, mine.cells - mine.missing - mine.unreadable - mine.unknown)
    return ColumnCheck(
        name, *told, mine.missing, mine.unreadable, mine.moved, mine.unknown, rule, tuple(behind), tuple(alarms),
    )  # fmt: skip


_KINDS = (
    ("missing", "are missing", _SOME),
    ("unreadable", "could not be read", _FEW),
    ("moved", "are beyond the bounds, and were moved to them", _SOME),
    ("unknown", "are none of the known categories", _FEW),
)


def _some(numbers: Floats) -> Floats:
    """At most _SAMPLE of the finite ones."""
    finite = numbers[np.isfinite(numbers)]
    return finite[:: max(len(finite) // _SAMPLE, 1)]


_ONE_SCHEMA = "one schema reads both tables: write this one with points, as the reference is, or both with commas"


def _causes(known: Field, mine: Tally, theirs: Tally | None, decimal: str) -> Iterable[str]:
    """The likely causes, in words, with some of the cells: for the owner's eyes."""
    usual = None if theirs is None or decimal != "." else theirs.values
    points = usual is not None and bool(np.any(usual != np.floor(usual)))  # a comma that is declared loses these
    numbers = [x for x in known.categories.numbers if not math.isnan(x)]
    if known.numeric or 2 * len(numbers) > len(known.values or ()):
        for cause in causes(mine.puzzling, decimal)[:_SHOWN]:
            some = [text for text, _ in mine.puzzling[:50]
                    if any(c.name == cause.name for c in causes([(text, 1)], decimal))]  # fmt: skip
            such = f" such as {', '.join(map(repr, some[:_SHOWN]))}" if some else ""
            advice = _ONE_SCHEMA if points and cause.name == DECIMAL_COMMA else cause.advice
            yield f"{cause.name}: {cause.cells:,} cells{such}; {advice}"
        return
    if (mark := comma(known.values or (), decimal)) is not None:
        yield f"{mark.name}: it is read as categories, which are the reference's; {mark.advice}"
        return
    if (dates := other_dates(mine.puzzling, known.values or ())) is not None:
        yield f"{dates.name}: {dates.cells:,} cells; {dates.advice}"
        return
    spelt, letters = spellings(known.values or ()), {}
    for text, count in mine.puzzling:
        if (meant_by := respelt(text, spelt)) is not None:
            letters[text] = (meant_by, count)
    if letters:
        cause = Cause.of(SPELLING, sum(count for _, count in letters.values()))
        shown = ", ".join(f"{text!r} for {value!r}" for text, (value, _) in list(letters.items())[:_SHOWN])
        yield f"{cause.name}: {cause.cells:,} cells, {shown}; {cause.advice}"
    strange = [(text, count) for text, count in mine.puzzling if text not in letters]
    if broken := sum(count for text, count in strange if undecoded(text)):
        yield f"{ENCODING}: {broken:,} cells; {Cause.of(ENCODING, broken).advice}"
    if rest := [text for text, _ in strange if not undecoded(text)]:
        more = f" and {len(rest) - _SHOWN:,} more" if len(rest) > _SHOWN else ""
        yield f"unknown categories: {', '.join(map(repr, rest[:_SHOWN]))}{more}"


def _code(mine: Tally, theirs: Tally | None) -> tuple[float, int] | None:
    """A number that stands for missing ones: one of the usual ones, often, and outside of what the reference has."""
    if mine.values is None or theirs is None or theirs.values is None or not len(theirs.values):
        return None
    low, high = float(theirs.values.min()), float(theirs.values.max())
    for code in _CODES:
        often = int(np.count_nonzero(mine.values == code))
        if not low <= code <= high and often > max(_FEW * len(mine.values), 2):
            return code, often
    return None


FAR, NEAR = 0.5, 0.2
"""Kolmogorov's distance: so far are two laws that do not belong together, so near those that do, up to chance."""
_CHANCE: Final = 1.63
"""Kolmogorov's distance of n draws is below 1.63 / sqrt(n) with probability .99."""
_LEAST: Final = 10
"""Fewer values say nothing of a law."""
_CLOSE: Final = 0.06
"""How far the factor between two medians may be from that of two units, for one to be named after the other."""
_FACTORS: Final = {
    "1000 (g and kg, or thousands)": 1000.0,
    "365.25 (days and years)": 365.25,
    "100 (cm and m, cents, or per cent)": 100.0,
    "88.5 (mg/dl and mmol/l of triglycerides; mg/dl and \u00b5mol/l of creatinine)": 88.5,
    "60 (minutes and hours, or seconds)": 60.0,
    "38.67 (mg/dl and mmol/l of cholesterol)": 38.67,
    "18.02 (mg/dl and mmol/l of glucose)": 18.02,
    "17.1 (mg/dl and \u00b5mol/l of bilirubin)": 17.1,
    "12 (months and years)": 12.0,
    "10 (mm and cm)": 10.0,
    "7 (days and weeks)": 7.0,
    "3.28 (feet and metres)": 3.2808,
    "2.54 (cm and inches)": 2.54,
    "2.2 (pounds and kg)": 2.2046,
    "1.61 (km and miles; mmol/l and g/dl of haemoglobin)": 1.6093,
}


def other_unit(values: Floats, known: Floats) -> str | None:
    """In words, by which factor the values differ from the known ones; None where their laws are near, or no factor
    brings them near. `values`, `known`: finite numbers.

    >>> body = np.arange(50.0, 110.0)
    >>> other_unit(body * 2.2046, body)
    'about 2.205 times the reference: 2.2 (pounds and kg)'
    >>> other_unit(body[::2], body) is None
    True
    """
    if min(len(values), len(known)) < _LEAST or distance(values, known) < FAR:
        return None
    allowed = NEAR + _CHANCE * math.sqrt(1 / len(values) + 1 / len(known))
    factor = _middle(values) / (_middle(known) or math.nan)
    tried = {
        "degrees Fahrenheit, where the reference has Celsius": distance((values - 32) / 1.8, known),
        "degrees Celsius, where the reference has Fahrenheit": distance(values * 1.8 + 32, known),
    }
    if math.isfinite(factor) and factor > 0 and not 2 / 3 < factor < 3 / 2:
        wide = max(factor, 1 / factor)  # in words, with two units that it is between
        units = min(_FACTORS, key=lambda words: abs(math.log(wide / _FACTORS[words])))
        close = abs(math.log(wide / _FACTORS[units])) < _CLOSE
        times = f"about {factor:.4g} times" if factor > 1 else f"about 1/{1 / factor:.4g} of"
        tried |= {f"{times} the reference" + (f": {units}" if close else ""): distance(values / factor, known)}
    best = min(tried, key=lambda words: tried[words])
    return best if tried[best] < allowed else None


def distance(one: Floats, other: Floats) -> float:
    """Kolmogorov's distance of two samples: the largest difference of their distribution functions."""
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(x), points, side="right") / len(x) for x in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _middle(values: Floats) -> float:
    """The median; of the numbers that are not 0 where more than half are."""
    middle = float(np.median(values))
    rest = values[values != 0]
    return middle if middle or not len(rest) else float(np.median(rest))
