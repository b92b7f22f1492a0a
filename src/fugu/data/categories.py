"""`Categories`: declared categories, and the one way in which texts are compared with them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import TRUTHS, meant, number_of

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@final
class Categories:
    """Declared categories, and the place of any text among them: the one comparison of categories there is.

    A text is a category if it is its name to the letter; else if it spells the same number ("1" and "1.0"), truth
    value ("true", "True") or time (a day is its midnight). If two categories are the same number, only the letters
    of numbers count, and a cell that is a number, whatever its column is, has the letters of its one form: which
    dtype an engine gives a column may depend on one cell of it. Where there are no categories but True and False,
    these are the numbers 1 and 0: one missing cell makes an engine turn them into those.

    >>> Categories(["1.0", "V27.0", "True"]).places(["1", "V27", "true"]).tolist()
    [0, -1, 2]
    >>> Categories(["250.0", "250.00"]).places(["250.00", "250"]).tolist()
    [1, -1]
    """

    def __init__(self, values: Sequence[str], decimal: str = ".") -> None:
        self.values, self.decimal = tuple(values), decimal
        self._place = {value: i for i, value in enumerate(self.values)}
        reading = meant if set(self.values) <= {"False", "True"} else number_of
        spelt = [(reading(value, decimal), reading(value)) for value in self.values]
        numbers = self.numbers = tuple(plain if math.isnan(own) else own for own, plain in spelt)
        """What the categories are as numbers, in the file's notation or with a point; NaN for those that are none."""
        known = [x for x in numbers if not math.isnan(x)]
        self.twins = len(set(known)) < len(known)
        """Whether two categories are the same number, so that only their letters tell them apart."""
        self._numbers = {} if self.twins else {x: i for i, x in enumerate(numbers) if not math.isnan(x)}
        times = [_time_text(value) for value in self.values]
        self._times = {text: i for i, text in enumerate(times) if text is not None and times.count(text) == 1}

    def place(self, text: str, number: float | None = None) -> int:
        """The place of one text, -1 if it is none of the categories; `number` is given if the cell was one."""
        found = self._place.get(text, -1)
        if found < 0 and (word := text.lower()) in TRUTHS:
            found = max(self._place.get(word.capitalize(), -1), self._place.get(word, -1))
        if found < 0 and self._numbers:
            found = self._numbers.get(meant(text, self.decimal) if number is None else number, -1)
        if found < 0 and self._times:
            found = self._times.get(_time_text(text) or "", -1)
        return found

    def places(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """The place of each text, -1 where it is none."""
        return np.array([self.place(text) for text in texts], dtype=np.int64)


def _time_text(text: str) -> str | None:
    """A time in one form, a day for midnight; None if the text begins with no day.

    >>> _time_text("2020-01-01T00:00:00.000"), _time_text("2020-01-01 03:00"), _time_text("V27")
    ('2020-01-01', '2020-01-01 03:00:00', None)
    """
    if _DAY.match(text) is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None:
        return None
    whole = found.isoformat(" ")
    return whole.removesuffix(" 00:00:00") if found.tzinfo is None else whole
