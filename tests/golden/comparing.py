"""Compare two records field by field; what differs must be explained, and every explanation must be needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

RELATIVE = 1e-12
ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One field of one case that is not what it was."""

    case: str
    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
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
    """Numbers up to a relative 1e-12; everything else, and whole numbers, exactly.

    >>> same(1.0, 1.0 + 1e-13), same(1.0, 1.0 + 1e-11), same("1.0", "1.0000000000000002"), same(1, True)
    (True, False, False, False)
    """
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if (isinstance(before, float) and isinstance(after, int | float)) or (
        isinstance(after, float) and isinstance(before, int)
    ):
        return math.isclose(before, after, rel_tol=RELATIVE, abs_tol=0.0)
    return type(before) is type(after) and before == after


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
