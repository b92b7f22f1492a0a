"""What every kind of page says, word for word: `pages.txt` has the lines of each page that no page before it has.

After a change on purpose: `python tests/report/test_pages_as_text.py` writes the file anew; read the difference."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from page_samples import SAMPLES

RECORD = Path(__file__).with_name("pages.txt")
BLOCKS = (
    r"</?(?:p|h\d|tr|t[dh]|li|ul|d[ltd]|table|header|footer|section|div|figcaption|label|caption|legend|br)\b[^>]*>"
)


def text_of(page: str) -> list[str]:
    """The lines of a page outside its figures; what differs from run to run as `#`."""
    body = re.sub(r"<head>.*?</head>|<svg.*?</svg>", "", page, flags=re.S)
    lines = (" ".join(unescape(re.sub("<[^>]+>", "", line)).split()) for line in re.split(BLOCKS, body))
    stamps = r"\b[0-9a-f]{16,64}\b|\b\d{4}-\d\d-\d\d\b|\d\d:\d\d UTC|fugu \d[\w.]*"
    return [re.sub(stamps, "#", line) for line in lines if line]


def said() -> str:
    """Every page, without lines that a page before it has."""
    known: set[str] = set()
    parts = []
    for name, make in SAMPLES.items():
        lines = text_of(make())
        parts.append("\n".join([f"## {name}, {len(lines)} lines", *(line for line in lines if line not in known)]))
        known |= set(lines)
    return "\n\n".join(parts) + "\n"


def test_pages_say_what_they_said():
    """A number in the last digit may differ from machine to machine; words may not."""
    assert _words(said()) == _words(RECORD.read_text(encoding="utf-8"))


def _words(text: str) -> list[str]:
    return re.sub(r"\d[\d,.]*(?:\s×\s10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?|10⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", "0", text).splitlines()


def test_a_lost_word_or_line_is_seen():
    text = RECORD.read_text(encoding="utf-8")
    assert _words(text.replace(" at most ", " ", 1)) != _words(text)
    assert _words(text.replace("\nNot promised\n", "\n", 1)) != _words(text)


if __name__ == "__main__":
    RECORD.write_text(said(), encoding="utf-8")
