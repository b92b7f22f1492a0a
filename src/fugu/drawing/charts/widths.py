"""How wide a text will be. No font is known when a page is made, so widths are those of a wide one (DejaVu Sans)."""

from __future__ import annotations

import unicodedata

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


def width_of(text: str, size: float = SIZE, bold: bool = False) -> float:
    """About the width of a line of text, from above for usual fonts.

    >>> width_of("10⁻⁹") < width_of("0.000000001")
    True
    """
    return sum(map(_em, text)) * size * (_BOLD if bold else 1.0)


def _em(letter: str) -> float:
    if (known := _WIDTHS.get(letter)) is not None:
        return known
    if unicodedata.combining(letter):
        return 0.0
    return 1.05 if unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0xFFFF else 0.66


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
        pieces = _broken(word, room, size, bold)
        lines += pieces
    return tuple(lines)


def _broken(word: str, room: float, size: float, bold: bool) -> list[str]:
    pieces = [""]
    for letter in word:
        if pieces[-1] and width_of(pieces[-1] + letter, size, bold) > room:
            pieces.append("")
        pieces[-1] += letter
    return pieces
