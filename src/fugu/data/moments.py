"""Dates and times as exact numbers on a line: days since an origin, whole steps, and the step of a public grid; cut
points and bins of numbers."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import number_of, text_of
from fugu.data.column import Column
from fugu.errors import BadTable, UsageError
from fugu.numbers.checks import is_real
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.visible import brief

# Reading a date is a total function of one cell, as in `cells`: what is no date is missing, and nothing raises.

EPOCH = date(1970, 1, 1)
"""The day that numbers count from where no origin is declared."""
DAY = 86_400
"""Seconds."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].{1,30})?", re.ASCII)
_FIRST, _LAST = ((day - EPOCH).days * DAY for day in (date.min, date.max))


def seconds_of(cell: Any) -> int | None:
    """Whole seconds since 1970-01-01, UTC where a zone is given; None for what is no date. Never raises.

    A text is a date if it is one in ISO 8601 with dashes: "2020-01-31", "2020-01-31 08:00". Numbers are no dates.

    >>> seconds_of("1970-01-02"), seconds_of("1970-01-01T00:01:00+00:01"), seconds_of("1970"), seconds_of(20200131)
    (86400, 0, None, None)
    """
    kind, found = type(cell), None
    if issubclass(kind, str | bytes):
        text = text_of(cell)
        if _MOMENT.fullmatch(text) is not None:
            with suppress(ValueError):
                found = _of_moment(datetime.fromisoformat(text))
    elif issubclass(kind, datetime):
        with suppress(Exception):  # a zone is an object of somebody else's
            found = _of_moment(cell)
    elif issubclass(kind, date):
        found = (date.toordinal(cell) - EPOCH.toordinal()) * DAY  # that of a date, whatever a subclass makes of it
    elif issubclass(kind, np.datetime64) and not np.isnat(cell):
        year = int(cell.astype("datetime64[Y]").astype(np.int64)) + EPOCH.year
        if date.min.year <= year <= date.max.year:
            found = int(cell.astype("datetime64[s]").astype(np.int64))
        else:
            found = _FIRST if year < EPOCH.year else _LAST
    return found


def _of_moment(cell: datetime) -> int:
    days = cell.toordinal() - EPOCH.toordinal()
    away = cell.utcoffset()
    seconds = days * DAY + cell.hour * 3600 + cell.minute * 60 + cell.second
    return seconds - (0 if away is None else away.days * DAY + away.seconds)


def is_moment(text: object) -> bool:
    """Whether this is a date, or a text that spells one."""
    return seconds_of(text) is not None


def read_day(what: str, said: object) -> date:
    """A day that a user or a document declares; `what` is named if it is none."""
    found = seconds_of(said)
    if found is None or found % DAY:
        raise UsageError(f"{what} must be a day, such as 2020-01-31")
    return date.fromordinal(EPOCH.toordinal() + found // DAY)


def days_text(origin: date, days: float) -> str:
    """The day, or the moment, that is so many days after the origin.

    >>> days_text(date(2020, 1, 1), 31.0), days_text(date(2020, 1, 1), 0.5)
    ('2020-02-01', '2020-01-01T12:00:00')
    """
    return str(written(origin, Fraction(1) if days == int(days) else Fraction(1, DAY), 0.0, np.array([days]))[0])


def placed(seconds: int, origin: date, low: float, high: float | None, step: Fraction) -> float:
    """The start of the step that a moment lies in, in days since the origin: low + k step for the greatest such k.

    k is at least 0 where there are bounds, and low + k step at most `high`."""
    start = (origin - EPOCH).days * DAY + int(low) * DAY
    width = step * DAY
    place = (Fraction(min(max(seconds, _FIRST), _LAST)) - start) // width
    if high is not None:
        place = min(max(place, 0), (Fraction(high) - Fraction(low)) // step)
    return float(Fraction(low) + place * step)


def written(origin: date, step: Fraction, low: float, days: NDArray[Any]) -> NDArray[np.str_]:
    """Days since the origin as dates: each moved to the nearest low + k step, within the years 1 to 9999; NaN as "".

    A step that is not a whole number of days gives moments, to the second."""
    known = ~np.isnan(days)
    width = int(step * DAY)
    start = ((origin - EPOCH).days + int(low)) * DAY
    with np.errstate(over="ignore"):
        places = np.floor((days[known] - low) * DAY / width + 0.5)
    first, last = -((start - _FIRST) // width), (_LAST - start) // width
    bounded = np.clip(places, first, last).astype(np.int64)
    moments = (start + bounded * width).astype("datetime64[s]")
    unit: Any = "s" if width % DAY else "D"
    texts = np.full(days.shape, "", dtype="U19" if unit == "s" else "U10")
    texts[known] = np.datetime_as_string(moments, unit=unit)
    return texts


# Times as exact numbers on a line, and the step of a public grid on it.

_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_STEP = re.compile(r"(?P<number>[0-9./eE+-]+)\s*(?P<unit>s|min|h|d|w)?")
_WHOLE = re.compile(r"[+-]?\d{1,1000}", re.ASCII)
_ORIGIN = datetime(1970, 1, 1)


@final
@dataclass(frozen=True)
class TimeStep:
    """A step of time in seconds (`timed`), or of numbers.

    >>> TimeStep.read("30min"), TimeStep.read("0.5").width
    (TimeStep(width=Fraction(1800, 1), timed=True, text='30min'), Fraction(1, 2))
    """

    width: Fraction
    timed: bool
    text: str

    @staticmethod
    def read(text: object) -> TimeStep:
        """From "1h", "30min", "1d", "10s", "2w", or a number."""
        found = _STEP.fullmatch(str(text).strip())
        try:
            number = read_number(found["number"]) if found else Fraction(0)
        except (UsageError, ValueError):
            number = Fraction(0)
        if found is None or number <= 0:
            raise UsageError(
                f"--every must be a step such as 1h, 30min, 1d, 10s, 2w, or a number; not {brief(str(text), 40)}"
            )
        unit = found["unit"]
        return TimeStep(number * _SECONDS[unit] if unit else number, unit is not None, str(text).strip())

    def said(self, steps: int | Fraction) -> str:
        """So many steps, in words."""
        span = steps * self.width
        return span_words(span) if self.timed else f"{float(span):g}"


@final
@dataclass(frozen=True)
class Times:
    """The times of rows: exact numbers, seconds since 1970 where they are dates (`timed`)."""

    at: tuple[Fraction | int, ...]
    timed: bool
    zoned: bool = False

    def places(self, step: TimeStep, column: str) -> list[int]:
        """The multiple of the step that each time lies at or above."""
        self.require(step, column)
        once = {moment: math.floor(moment / step.width) for moment in set(self.at)}
        return [once[moment] for moment in self.at]

    def require(self, step: TimeStep, column: str) -> None:
        """`UsageError` where numbers meet a step of time, or times a number."""
        if self.timed != step.timed:
            holds, give = ("times", "1h") if self.timed else ("numbers", "1")
            raise UsageError(f"--every {step.text}: column {column!r} holds {holds}; give a step such as {give}")


def times_of(column: Column, decimal: str = ".") -> Times:
    """The times of a public column of texts: numbers, or ISO 8601, all with or all without a zone."""
    texts = column.values.tolist()
    numbers = {text: _number(text, decimal) for text in set(texts)}
    if all(number is not None for number in numbers.values()):
        return Times(tuple(numbers[text] or 0 for text in texts), timed=False)
    try:
        read = {text: datetime.fromisoformat(text) for text in numbers}
        zones = {moment.utcoffset() is None for moment in read.values()}
        if len(zones) > 1:
            raise ValueError
    except (ValueError, TypeError):
        raise no_time(column.name) from None
    moments = {text: _seconds(moment) for text, moment in read.items()}
    return Times(tuple(moments[text] for text in texts), True, not zones.pop() if zones else False)


def no_time(name: str) -> BadTable:
    """The refusal of a column whose texts have no order in time."""
    return BadTable(
        f"column {name!r} must hold numbers, or times in ISO 8601 such as 2024-11-05T08:30, all with or all without a "
        "time zone; other text has no order in time"
    )


def in_order(text: str, decimal: str = ".") -> tuple[bytes | None, bytes | None, bool]:
    """A time as a number and as a moment, each as bytes that are in its order, None where it is none; and whether the
    moment has a zone.

    >>> known = [in_order(text)[0] for text in ("-1e3", "-7.5", "-7", "0", "0.5", "7", "70", "1e300")]
    >>> sorted(known) == known
    True
    """
    number = _number(text, decimal)
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None if number is None else _ordered(number), None, False
    return None if number is None else _ordered(number), _ordered(_seconds(moment)), moment.utcoffset() is not None


def _ordered(number: Fraction | int) -> bytes:
    """A decimal as bytes: its sign, its power of ten, its digits; all turned round where it is negative."""
    if not number:
        return b"\x01"
    whole, tens = abs(Fraction(number)), 0
    while whole.denominator > 1:
        whole, tens = whole * 10, tens - 1
    digits = str(whole.numerator)
    key = (len(digits) + tens + 2**31).to_bytes(5, "big") + digits.rstrip("0").encode()
    return b"\x02" + key if number > 0 else b"\x00" + bytes(255 - each for each in key) + b"\xff"


def moment_of(text: str | None, step: TimeStep, decimal: str = ".") -> Fraction | int | None:
    """The time that one text spells, in the unit of the step; None if it spells none. It never raises.

    >>> hour = TimeStep.read("1h")
    >>> moment_of("1970-01-01T01:00", hour), moment_of("7", hour), moment_of(None, hour)
    (3600, None, None)
    >>> moment_of("7", TimeStep.read("1"))
    7
    """
    if text is None:
        return None
    if not step.timed:
        return _number(text, decimal)
    try:
        return _seconds(datetime.fromisoformat(text))
    except (ValueError, TypeError, OverflowError):
        return None


def span_words(seconds: Fraction | int) -> str:
    """A span of time with its two largest units.

    >>> span_words(90061), span_words(3600), span_words(Fraction(1, 2))
    ('1 d 1 h', '1 h', '0.5 s')
    """
    left, said = Fraction(seconds), []
    for name, width in (("d", 86_400), ("h", 3600), ("min", 60)):
        if left >= width:
            said.append(f"{left // width} {name}")
            left %= width
    if left or not said:
        said.append(f"{float(left):g} s")
    return " ".join(said[:2])


def _seconds(moment: datetime) -> Fraction | int:
    away = moment.utcoffset()
    since = moment.replace(tzinfo=None) - _ORIGIN - (away if away is not None else _ORIGIN - _ORIGIN)
    whole = since.days * 86_400 + since.seconds
    return whole if not since.microseconds else whole + Fraction(since.microseconds, 1_000_000)


def _number(text: str, decimal: str) -> Fraction | int | None:
    """The finite number that a text spells, whole ones exactly; None if it is none."""
    if _WHOLE.fullmatch(text):
        return int(text)
    number = number_of(text, decimal)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else as_fraction(number)


# Cut points: every number has a bin, whatever it is, and the bins have names.

_MOST = 4096


def read_cuts(said: object) -> tuple[float, ...]:
    """Cut points from a list, from "0,200,400", or from "LOW:HIGH:STEP", whose outer bins reach on for ever.

    >>> read_cuts("0,200"), read_cuts("0:800:200"), read_cuts([0.5])
    ((0.0, 200.0), (200.0, 400.0, 600.0), (0.5,))
    """
    found: list[Real]
    if isinstance(said, str):
        parts = said.split(":" if ":" in said else ",")
        if ":" in said and len(parts) != 3:
            raise UsageError(f"bins of one width are LOW:HIGH:STEP, such as 0:4000:200, not {brief(said, 40)}")
        found = [_exact(part) for part in parts]
        if ":" in said:
            low, high, step = found
            if step <= 0 or high - low < 2 * step or (high - low) % step:
                raise UsageError("--bins LOW:HIGH:STEP: HIGH must lie two or more whole steps above LOW")
            if (high - low) / step > _MOST:
                raise UsageError(f"--bins: at most {_MOST} bins are states of a chain")
            found = [low + i * step for i in range(1, int((high - low) / step))]
    elif isinstance(said, list | tuple) and all(is_real(cut) for cut in said):
        found = list(said)
    else:
        raise UsageError('bins must be cut points such as "0,200,400", or "LOW:HIGH:STEP"')
    cuts = [_double(cut) for cut in found]
    if any(not math.isfinite(cut) for cut in cuts) or any(a >= b for a, b in pairwise(cuts)):
        raise UsageError("the cut points of --bins must be finite numbers that rise")
    if len(cuts) >= _MOST:
        raise UsageError(f"--bins: at most {_MOST} bins are states of a chain")
    return tuple(cut + 0.0 for cut in cuts)


def _double(cut: Real) -> float:
    try:
        return float(cut)
    except OverflowError:
        return math.inf


def _exact(text: str) -> Fraction:
    try:
        return read_number(text.strip())
    except (UsageError, ValueError):
        raise UsageError(f"--bins: {brief(text.strip(), 40)} is not a number") from None


# Bins with short decimal edges, so that their middles are short decimals and a coarse lattice holds them.


def equal_bins(low: float, high: float, count: int) -> tuple[float, ...]:
    """Edges of `count` equal bins over [low, high]; rounding outward adds at most a fifth of a bin in all.

    >>> equal_bins(126, 564, 4)
    (126.0, 236.0, 346.0, 456.0, 566.0)
    """
    start, stop = as_fraction(low), as_fraction(high)
    span = stop - start or max(abs(start), Fraction(1))
    least = span / (10 * count * count)
    guess = len(str(least.numerator)) - len(str(least.denominator))
    unit = Fraction(10) ** (guess if Fraction(10) ** guess <= least else guess - 1)  # the greatest power up to it
    first = math.floor(start / unit) * unit
    width = math.ceil((start + span - first) / count / unit) * unit
    try:
        edges = sorted({float(first + i * width) for i in range(count + 1)})
    except OverflowError:
        raise BadTable("the published values reach too far for equal bins; give bins as edges") from None
    return tuple(edges)


def day_bins(low: float, high: float, count: int) -> tuple[float, ...]:
    """The same for days: edges of whole days, `count` bins at most, the last day inside the last.

    >>> day_bins(0, 9, 3)
    (0.0, 4.0, 8.0, 12.0)
    """
    first, days = math.floor(low), math.floor(high) + 1 - math.floor(low)
    width = -(-days // count)
    return tuple(float(first + i * width) for i in range(-(-days // width) + 1))


@lru_cache(maxsize=64)
def middles(edges: tuple[float, ...]) -> NDArray[np.float64]:
    """The middle of each bin, edges read as decimals: (0.1, 0.2) gives 0.15."""
    exact = [as_fraction(edge) for edge in edges]
    found = np.array([float((a + b) / 2) for a, b in pairwise(exact)])
    found.setflags(write=False)
    return found
