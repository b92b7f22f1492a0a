"""Text that others chose (names, labels, request ids, file names), fit to be shown: what cannot be seen is spelled out.

A terminal obeys control characters, and a reader is fooled by signs that turn the direction of writing around."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

Json = dict[str, Any]
"""A JSON object as `json.loads` returns it: names, and whatever JSON can hold."""
_JOINERS = "\u200c\u200d"
"""Without them words of some scripts, and some emoji, fall apart; they move nothing but their neighbours."""


def brief(thing: object, most: int = 60) -> str:
    """What an object says of itself, on one line and cut where it is long.

    >>> brief("a\\nb"), brief(list(range(100)), 20)
    ("'a\\\\nb'", '[0, 1, 2, 3, 4, 5...')
    """
    return shortened(" ".join(repr(thing).split()), most)


def shortened(text: str, most: int = 80) -> str:
    """The text, cut where it is long, and then it says so.

    >>> shortened("a long name", 8), shortened("a name", 8)
    ('a lon...', 'a name')
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def several(count: int, noun: str, more: str | None = None) -> str:
    """A number with what it counts.

    >>> several(1, "answer"), several(1200, "answer"), several(2, "query", "queries")
    ('1 answer', '1,200 answers', '2 queries')
    """
    return f"{count:,} {noun if count == 1 else more or noun + 's'}"


def visible(text: object, keep: str = "") -> str:
    """The text with control, format and line-breaking characters, and halves of surrogate pairs, as escapes.

    `keep`: characters that stay, such as the line breaks of a text that is fugu's own.

    >>> visible("a\\x1b[31m\\u202eb\\n"), visible("Zürich 😀")
    ('a\\\\x1b[31m\\\\u202eb\\\\n', 'Zürich 😀')
    """
    plain = str(text)
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(c if c in keep or not _hidden(c) else spelled(c) for c in plain)


def visible_json(text: str) -> str:
    """The text of a JSON document, of the same meaning: such characters stand in its strings only, and are escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in " \n\t" or not _hidden(c) else json.dumps(c)[1:-1] for c in text)


def visible_parts(content: Any) -> Any:
    """Plain data with every text in it made visible, names of fields included."""
    if isinstance(content, str):
        return visible(content)
    if isinstance(content, dict):
        return {visible(key): visible_parts(part) for key, part in content.items()}
    return [visible_parts(part) for part in content] if isinstance(content, list | tuple) else content


def finite(content: Any) -> Any:
    """The same plain data without numbers that JSON does not have: null in their place."""
    if isinstance(content, dict):
        return {key: finite(part) for key, part in content.items()}
    if isinstance(content, list | tuple):
        return [finite(part) for part in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def in_json(content: Any) -> Any:
    """The same in JSON types: what has a `to_json` as that, other numbers as floats, infinite ones as null."""
    return json.loads(json.dumps(finite(content), default=stated))


def stated(thing: Any) -> Any:
    """What is no plain data, for `json.dumps`."""
    told = getattr(thing, "to_json", None)
    return float(thing) if told is None else finite(told())


def columned(lines: Sequence[Sequence[object]], left: int = 1) -> list[str]:
    """A table as lines of text; all but the first `left` columns are aligned on the right.

    >>> columned([("a", "rows"), ("bc", 7)])
    ['a   rows', 'bc     7']
    """
    widths = [max(len(visible(line[k])) for line in lines) for k in range(len(lines[0]))]
    return [
        "  ".join(visible(x).rjust(w) if k >= left else visible(x).ljust(w)
                  for k, (x, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    ]  # fmt: skip


def spelled(character: str) -> str:
    """One character as Python would write it: \\\\n, \\\\x1b, \\\\u202e."""
    return character.encode("unicode_escape").decode("ascii")


@lru_cache(maxsize=4096)
def _hidden(character: str) -> bool:
    return character not in _JOINERS and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
