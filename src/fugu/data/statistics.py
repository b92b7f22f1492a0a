"""How a statistic is written, wherever one is asked for: a kind and what its brackets hold, "count(sex=Female)"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fugu.errors import UnknownName, UsageError

_FORM = re.compile(r"\s*(?P<kind>[A-Za-z_]+)\s*\((?P<inside>.*)\)\s*")


def kind_and_inside(text: object, kinds: Iterable[str], what: str, looks: str) -> tuple[str, str]:
    """The kind, one of `kinds`, and what stands in the brackets; `what` it is and how it `looks` go into the refusal.

    >>> kind_and_inside(" Mean( age )", ("mean", "sum"), "statistic", "a statistic looks like mean(age)")
    ('mean', 'age')
    """
    form = _FORM.fullmatch(text) if isinstance(text, str) else None
    if form is None:
        raise UsageError(f"{looks}, got {text!r}")
    kind = form["kind"].lower()
    if kind not in (known := tuple(kinds)):
        raise UnknownName(what, kind, known)
    return kind, form["inside"].strip()


def column_and_value(text: str) -> tuple[str, str] | None:
    """The two sides of the first "=": "income=>50K" is column income, value >50K; None where one is empty.

    >>> column_and_value("income=>50K"), column_and_value("income")
    (('income', '>50K'), None)
    """
    column, equals, value = (part.strip() for part in text.partition("="))
    return (column, value) if column and equals and value else None
