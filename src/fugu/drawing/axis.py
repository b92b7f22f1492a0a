"""`Axis`: where a value stands between two ends, and which round values get a mark, on straight and log scales.

No font is known when a page is made, so widths of texts are those of a wide one (DejaVu Sans)."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fugu.errors import UsageError
from fugu.numbers.text import number

SIZE = 13.0
"""The size of letters in figures, in the units of the drawing; the style sheet says the same."""
_CLASSES = {
    0.33: " .,:;'|!ijlI·",
    0.42: '()[]{}frt-/\\"“”‘’⁻⁰¹²³⁴⁵⁶⁷⁸⁹\xa0',
    0.84: "%ABCDEGHKNOQRUVXY&+<>=~×÷±−→←↑↓★…",
    1.0: "mwMW@#—",
}
_WIDTHS = {letter: width for width, letters in _CLASSES.items() for letter in letters}
_BOLD = 1.12
Tick = tuple[float, str]
_STEPS = (1, 2, 5)
_GAP = 10.0
"""Blank space between two labels of an axis, in the units of the drawing."""


def width_of(text: str, size: float = SIZE, bold: bool = False) -> float:
    """About the width of a line of text, from above for usual fonts.

    >>> width_of("10⁻⁹") < width_of("0.000000001")
    True
    """
    wide = 0.0
    for letter in text:
        if letter not in _WIDTHS:
            broad = unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0xFFFF
            _WIDTHS[letter] = 0.0 if unicodedata.combining(letter) else 1.05 if broad else 0.66
        wide += _WIDTHS[letter]
    return wide * size * (_BOLD if bold else 1.0)


def wrapped(text: str, room: float, size: float = SIZE, bold: bool = False) -> tuple[str, ...]:
    """The text on lines no wider than `room`; a word that is wider than a line is broken.

    >>> wrapped("how far the beliefs may be off", 120)
    ('how far the', 'beliefs may be', 'off')
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width_of(f"{lines[-1]} {word}", size, bold) <= room:
            lines[-1] += f" {word}"
            continue
        lines.append("")
        for letter in word:
            if lines[-1] and width_of(lines[-1] + letter, size, bold) > room:
                lines.append("")
            lines[-1] += letter
    return tuple(lines)


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`. `marks`, if given, are its ticks. `named` ones are all shown, beside each other,
    upright, or in the title, where they stand too near for either."""

    title: str
    low: float
    high: float
    log: bool = False
    marks: tuple[Tick, ...] = ()
    named: bool = False

    def at(self, x: float) -> float:
        """0 at the low end and 1 at the high one; what is beyond an end stands at it."""
        low, high = self.low, self.high
        if self.log:
            low, high, x = math.log(low), math.log(high), math.log(max(x, self.low))
        # halves, because the width of the widest axis is above the largest double
        share = (x / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
        return min(max(share, 0.0), 1.0)

    def between(self, ends: tuple[float, float] | None) -> Axis:
        """The same axis with other ends, where they are given; what is beyond stands at them."""
        if ends is None:
            return self
        low, high = map(float, ends)
        if not (math.isfinite(low) and math.isfinite(high) and low < high) or (self.log and low <= 0):
            above = ", above 0 on a logarithmic axis" if self.log else ""
            raise UsageError(
                f"the ends of an axis are two finite numbers, the lower first{above}; got {low:g}, {high:g}"
            )
        marks = tuple((x, label) for x, label in self.marks if low <= x <= high)
        return replace(self, low=low, high=high, marks=marks, named=self.named and bool(marks))

    def across(self, room: float) -> tuple[tuple[Tick, ...], bool]:
        """The ticks of a horizontal axis so long that their labels keep apart; True if they must be written upright."""

        def fits(ticks: Sequence[Tick]) -> bool:
            places = [(room * self.at(x), width_of(label)) for x, label in ticks]
            pairs = pairwise(places)
            return all(right - left >= (a + b) / 2 + _GAP for (left, a), (right, b) in pairs)

        if self.named and not self._crowded(room):
            return self.marks, not fits(self.marks)
        return replace(self, marks=() if self.named else self.marks)._ticks(fits, max(2, int(room // 55))), False

    def titled(self, room: float) -> str:
        """The title of a horizontal axis so long, with the names that found no place at it."""
        if not self.named or not self._crowded(room):
            return self.title
        return f"{self.title} ({'; '.join(f'{x:g}: {label}' for x, label in self.marks)})"

    def _crowded(self, room: float) -> bool:
        """Whether marks are nearer to each other than lines of text."""
        return any(room * (self.at(b) - self.at(a)) < 1.4 * SIZE for (a, _), (b, _) in pairwise(self.marks))

    def upward(self, room: float) -> tuple[Tick, ...]:
        """The ticks of an upright axis so long that their labels keep apart."""

        def fits(ticks: Sequence[Tick]) -> bool:
            places = [room * self.at(x) for x, _ in ticks]
            return all(b - a >= 1.5 * SIZE for a, b in pairwise(places))

        return self._ticks(fits, max(2, int(room // 38)))

    def _ticks(self, fits: Callable[[Sequence[Tick]], bool], most: int) -> tuple[Tick, ...]:
        if self.marks:
            every = range(1, len(self.marks) + 1)
            return next(kept for n in every if fits(kept := self.marks[::n]))
        counts, of = (*range(most, 0, -1), *range(most + 1, 3 * most)), log_ticks if self.log else straight_ticks
        alone: tuple[Tick, ...] = ()  # one alone is no scale
        for n in counts:
            ticks = of(self.low, self.high, n)
            if len(ticks) <= n + 1 and fits(ticks):
                if len(ticks) > 1:
                    return ticks
                alone = alone or ticks
        return alone


def straight_ticks(low: float, high: float, most: int) -> tuple[Tick, ...]:
    """Multiples of 1, 2 or 5 times a power of ten between two ends, at most about `most`.

    >>> [label for _, label in straight_ticks(0, 1, 4)], [label for _, label in straight_ticks(-1500, 1500, 3)]
    (['0', '0.5', '1.0'], ['−1,000', '0', '1,000'])
    """
    least = high / most - low / most
    if not least > 0 or math.isinf(least):
        return ((low, _label(low, 0.0)),)
    power = math.floor(math.log10(least))
    step = next((m * 10.0**power for m in (*_STEPS, 10) if m * 10.0**power >= least * (1 - 1e-9)), least)
    if step <= 0 or step < 1e-12 * max(abs(low), abs(high)):
        return ((low, _label(low, 0.0)),)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple((k * step, _label(k * step, step)) for k in range(first, last + 1))


def log_ticks(low: float, high: float, most: int) -> tuple[Tick, ...]:
    """Powers of ten between two ends, with 2 and 5 times them where there are few; at most about `most`.

    >>> [label for _, label in log_ticks(1e-9, 1e-3, 3)], [label for _, label in log_ticks(3, 30, 5)]
    (['10⁻⁹', '10⁻⁶', '0.001'], ['5', '10', '20'])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for leading in (_STEPS, (1,)):
        ticks = [m * 10.0**k for k in range(first, last + 1) for m in leading]
        inside = [x for x in ticks if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)]
        if len(inside) <= most:
            return tuple((x, number(x)) for x in inside)
    every = -(-len(inside) // most)
    every = next(n for n in (1, 2, 3, 5, 10, 20, 50, 100, every) if n >= every)
    return tuple((x, number(x)) for x in inside if round(math.log10(x)) % every == 0)


def _label(x: float, step: float) -> str:
    """As many decimals as the step has."""
    if x == 0:
        return "0"
    if step >= 1e-5 and abs(x) < 1e9:
        text = f"{x:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
    else:
        digits = 3 if not step else min(12, max(1, 1 + round(math.log10(abs(x) / step))))
        text = number(x, digits=digits)
    return text.replace("-", "−")


def padded(low: float, high: float, share: float = 0.04) -> tuple[float, float]:
    """The ends moved a little outward; a single point gets room around it."""
    if low == high:
        half = abs(low) / 2 or 0.5
        return low - half, high + half
    more = share * (high - low) if math.isfinite(high - low) else 0.0
    return low - more, high + more
