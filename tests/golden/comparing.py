"""Compare two records field by field; what differs must be explained, and every explanation must be needed."""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

RELATIVE = 1e-12
ABSENT = "(absent)"
_DIGITS = re.compile(r"(?<![\w.])(?:\d{15,19}/\d{15,19}|(?=[\d.]{17})\d{1,16}\.\d{3,24}(?:e[+-]\d{1,3})?)(?![\w.])")
"""Numbers in a text that have all digits of a double, as decimals or as fractions of two powers."""
MASK, MASKED_LINES = "▒", "▒▒"
"""What may differ by chance: a word, or any number of lines."""


@dataclass(frozen=True)
class Difference:
    """One field of one case that is not what it was."""

    case: str
    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
        if "\n" in str(self.before) and "\n" in str(self.after):
            return f"{self.case}\n    {self.field}\n" + _line_by_line(self.before, self.after)
        return f"{self.case}\n    {self.field}\n    before: {self.before}\n    after:  {self.after}"


@dataclass(frozen=True)
class Change:
    """A difference that is meant: patterns (as of shell file names) of cases, fields and new values, and the reason."""

    cases: str
    fields: str
    reason: str
    after: str = "*"
    within: float | None = None
    """If given, both values are numbers and differ by at most this much, relatively."""

    def names(self, case: str) -> bool:
        """Whether this case may differ."""
        return fnmatchcase(case, self.cases)

    def explains(self, difference: Difference) -> bool:
        """Whether this is the difference that is meant."""
        where = self.names(difference.case) and fnmatchcase(difference.field, self.fields)
        return where and fnmatchcase(str(difference.after), self.after) and self._near(difference)

    def _near(self, difference: Difference) -> bool:
        if self.within is None:
            return True
        before, after = _number(difference.before), _number(difference.after)
        return before is not None and after is not None and math.isclose(before, after, rel_tol=self.within)


def _number(value: Any) -> float | None:
    """A number, or a text that is one.

    >>> _number("3000000001/1000000000"), _number(2), _number("inf")
    (3.000000001, 2.0, None)
    """
    try:
        return float(Fraction(str(value)))
    except (ValueError, ZeroDivisionError):
        return None


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Every leaf by its path, such as "certificate.proved.epsilon"; an empty list or dict is a leaf.

    >>> leaves({"a": {"b": 1}, "c": [2, []]})
    {'a.b': 1, 'c.0': 2, 'c.1': []}
    """
    if isinstance(value, Mapping) and value:
        items: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list) and value:
        items = enumerate(value)
    else:
        return {path or "answer": value}
    found: dict[str, Any] = {}
    for key, item in items:
        found |= leaves(item, f"{path}.{key}" if path else str(key))
    return found


def same(before: Any, after: Any) -> bool:
    """Numbers up to a relative 1e-12, also in texts where they have all digits of a double, whose last ones differ from
    one processor to another; everything else, and whole numbers, exactly.

    >>> same(1.0, 1.0 + 1e-13), same(1.0, 1.0 + 1e-11), same("1.0", "1.0000000000000002"), same(1, True)
    (True, False, False, False)
    >>> same("Pure(epsilon=0.7823165472430614)", "Pure(epsilon=0.7823165472430611)"), same("0.78231654", "0.78231655")
    (True, False)
    >>> same("7046481021299249/9007199254740992", "3523240510649623/4503599627370496"), same("1/3", "2/6")
    (True, False)
    """
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after or before == MASK
    if isinstance(before, str) and MASK in before:
        if before == MASK or not isinstance(after, str):
            return before == MASK
        texts = (before, after), (_rounded(before), _rounded(after))
        return any(re.fullmatch(_pattern(one), f"\n{two}") is not None for one, two in texts)
    if (isinstance(before, float) and isinstance(after, int | float)) or (
        isinstance(after, float) and isinstance(before, int)
    ):
        return math.isclose(before, after, rel_tol=RELATIVE, abs_tol=0.0)
    if isinstance(before, str) and isinstance(after, str) and before != after:
        return _DIGITS.sub("", before) == _DIGITS.sub("", after) and all(
            math.isclose(Fraction(one), Fraction(two), rel_tol=RELATIVE)
            for one, two in zip(_DIGITS.findall(before), _DIGITS.findall(after), strict=True)
        )
    return type(before) is type(after) and before == after


def _rounded(text: str) -> str:
    return _DIGITS.sub(lambda found: f"{float(Fraction(found[0])):.11g}", text)


def masked(values: Sequence[Any]) -> Any:
    """One answer for several that chance alone tells apart: what they share, and a mask where they differ.

    >>> masked([{"a": "noise 3.1 in x", "b": 2, "c": "x"}, {"a": "noise 2.5 in x", "b": 3, "c": "x"}])
    {'a': 'noise ▒ in x', 'b': '▒', 'c': 'x'}
    >>> same(masked(["a\\n1\\nb 1", "a\\nb 2"]), "a\\n1\\n2\\nb 7"), same(masked(["a 1", "a 2"]), "b 1")
    (True, False)
    """
    first = values[0]
    if all(same(first, value) and same(value, first) for value in values[1:]):
        return first
    if all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        return {key: masked([value[key] for value in values]) for key in first}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [masked(items) for items in zip(*values, strict=True)]
    if all(isinstance(value, str) and ("\n" in value or " " in value) for value in values):
        return functools.reduce(_masked_text, values)
    return MASK


def _masked_text(first: str, second: str) -> str:
    one, two, lines = first.split("\n"), second.split("\n"), []
    for how, a, b, c, d in difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if how != "equal" and b - a != d - c:
            lines.append(MASKED_LINES)
        elif how == "equal":
            lines += one[a:b]
        else:
            lines += map(_masked_line, one[a:b], two[c:d])
    return "\n".join(lines)


def _masked_line(first: str, second: str) -> str:
    one, two = first.split(" "), second.split(" ")
    if len(one) != len(two) or MASKED_LINES in (first, second):
        return MASKED_LINES
    return " ".join(a if a == b else MASK for a, b in zip(one, two, strict=True))


def _pattern(text: str) -> str:
    lines = [
        r"(?:\n.*)*" if line == MASKED_LINES else r"\n" + re.escape(line).replace(MASK, r"\S+")
        for line in text.split("\n")
    ]
    return "".join(lines)


def _line_by_line(before: str, after: str) -> str:
    """What differs between two screens, without the lines that a mask covers."""
    known = before.split("\n")
    new = [next((line for line in known if same(line, text)), text) for text in after.split("\n")]
    shown = list(difflib.unified_diff(known, new, "before", "after", lineterm="", n=0))
    return "\n".join(f"    {line}" for line in shown[2:])


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Every field of every case that differs; a case on one side only differs as a whole."""
    found = []
    for case in dict.fromkeys((*before, *after)):
        if case not in before or case not in after:
            told = ("(no such case)", "(a new case)") if case not in before else ("(a case)", "(gone)")
            found.append(Difference(case, "case", *told))
            continue
        old, new = leaves(before[case]), leaves(after[case])
        for field in dict.fromkeys((*old, *new)):
            one, two = old.get(field, ABSENT), new.get(field, ABSENT)
            if not same(one, two):
                found.append(Difference(case, field, one, two))
    return found


def unexplained(found: Iterable[Difference], expected: Iterable[Change]) -> list[Difference]:
    """The differences that no listed change explains."""
    listed = list(expected)
    return [difference for difference in found if not any(change.explains(difference) for change in listed)]


def needless(found: Iterable[Difference], expected: Iterable[Change], left_out: Iterable[str] = ()) -> list[Change]:
    """The listed changes that explain nothing; one that names a case that was left out is given the benefit."""
    known, skipped = list(found), list(left_out)
    return [
        change for change in expected if not any(map(change.explains, known)) and not any(map(change.names, skipped))
    ]
