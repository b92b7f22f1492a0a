"""Dates and times as numbers: days since an origin, in whole steps, and back again.

Reading is a total function of one cell, as in `cells`: what is no date is missing, and nothing raises."""

from __future__ import annotations

import re
from datetime import date, datetime
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError

EPOCH = date(1970, 1, 1)
"""The day that numbers count from where no origin is declared."""
DAY = 86_400
"""Seconds."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].{1,30})?", re.ASCII)
_FIRST, _LAST = ((day - EPOCH).days * DAY for day in (date.min, date.max))


@singledispatch
def seconds_of(cell: object) -> int | None:  # noqa: ARG001 - whatever else it is
    """Whole seconds since 1970-01-01, UTC where a zone is given; None for what is no date. Never raises.

    A text is a date if it is one in ISO 8601 with dashes: "2020-01-31", "2020-01-31 08:00". Numbers are no dates.

    >>> seconds_of("1970-01-02"), seconds_of("1970-01-01T00:01:00+00:01"), seconds_of("1970"), seconds_of(20200131)
    (86400, 0, None, None)
    """
    return None


@seconds_of.register
def _(cell: str) -> int | None:
    text = str.strip(cell)
    if _MOMENT.fullmatch(text) is None:
        return None
    try:
        return _of_moment(datetime.fromisoformat(text))
    except ValueError:
        return None


@seconds_of.register
def _(cell: bytes) -> int | None:
    return seconds_of(cell.decode("utf-8", "replace"))


@seconds_of.register
def _(cell: date) -> int | None:
    return (date.toordinal(cell) - EPOCH.toordinal()) * DAY  # that of a date, whatever a subclass makes of it


@seconds_of.register
def _(cell: datetime) -> int | None:
    try:
        return _of_moment(cell)
    except Exception:  # a zone is an object of somebody else's
        return None


@seconds_of.register
def _(cell: np.datetime64) -> int | None:
    if np.isnat(cell):
        return None
    year = int(cell.astype("datetime64[Y]").astype(np.int64)) + EPOCH.year
    if not date.min.year <= year <= date.max.year:
        return _FIRST if year < EPOCH.year else _LAST
    return int(cell.astype("datetime64[s]").astype(np.int64))


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


def days_between(origin: date, said: object, what: str) -> float:
    """The number of days from the origin to a declared day."""
    return float((read_day(what, said) - origin).days)


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

    A step that is no whole number of days gives moments, to the second."""
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
