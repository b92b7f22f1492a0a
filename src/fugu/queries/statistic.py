"""`StatisticQuestion`: what is asked of a table, such as "mean(chol) by ward", and how that is written."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from fugu.data.secrets import column_and_value, kind_and_inside
from fugu.errors import UsageError
from fugu.numbers.exact import read_number
from fugu.queries.kinds import KINDS, OUTSIDE, StatisticKind
from fugu.visible import several

TOTALS = ("count", "sum", "mean", "histogram", "crosstab")
"""What the law of a total is worked out for; a session answers the others too."""
_LOOKS = "a query looks like mean(chol), count(smoker=yes) or crosstab(ward, sex)"
_MEDIAN = "median"
GRAMMAR = 2
"""The version of the grammar of lists of questions: in 2 a "by" at the end of a list is for all of it; in 1, that of
fugu 0.3, for its last question alone. What says no version has 1."""
_BY = re.compile(r"(?P<what>.*[^\s])\s+by\s+(?P<by>.+)", re.IGNORECASE | re.DOTALL)
_QUESTIONS = (
    "a question looks like count, mean(chol), proportion(smoker=yes), quantile(age, 0.9) or top(ward, 3) by site"
)


@dataclass(frozen=True)
class StatisticQuestion:
    """What is asked of a table: a kind, its columns, a value or a number, and the public column that makes the groups.

    `kind`: "count", "proportion", "sum", "mean", "variance", "histogram", "crosstab", "quantile" or "top"; a median is
    the quantile at 1/2. `equals`: the value that a counted column must have. `at`: which quantile, or how many of the
    top. `by`: the column whose groups are answered one by one.

    >>> StatisticQuestion.parse("quantile(age, 0.9) by ward")
    StatisticQuestion(kind='quantile', columns=('age',), equals=None, at=Fraction(9, 10), by='ward')
    >>> str(StatisticQuestion.parse("median( age )")), str(StatisticQuestion.parse("count by ward"))
    ('quantile(age, 1/2)', 'count by ward')
    """

    kind: str
    columns: tuple[str, ...] = ()
    equals: str | None = None
    at: Fraction | None = None
    by: str | None = None

    @staticmethod
    def parse(text: str) -> StatisticQuestion:
        """Read kind(column), count(column=value), quantile(column, q) or top(column, k), with or without " by column".

        `text`: the question; "count" alone asks for the number of rows, which is public."""
        what, by = what_and_by(text)
        if what.strip().lower() in ("count", "count()"):
            return StatisticQuestion("count", by=by)
        asked = [name for name in KINDS if name != OUTSIDE]
        kind, inside = kind_and_inside(what, [*asked, _MEDIAN], "question", _QUESTIONS)
        known = KINDS[kind if kind != _MEDIAN else "quantile"]
        if not known.columns:
            if (found := column_and_value(inside)) is None:
                raise UsageError(f"a {kind} needs a condition, such as {kind}(smoker=yes)")
            return StatisticQuestion(kind, found[:1], found[1], by=by)
        parts = tuple(part.strip() for part in inside.split(",") if part.strip())
        numbered = bool(known.number) and kind != _MEDIAN
        if len(parts) != known.columns + numbered:
            wanted = f"a column and {known.number}" if numbered else several(known.columns, "column")
            raise UsageError(f"{kind} takes {wanted}, got {len(parts)}")
        if kind == _MEDIAN:
            return StatisticQuestion(known.name, parts, at=Fraction(1, 2), by=by)
        at = _number(known, parts[-1]) if numbered else None
        return StatisticQuestion(kind, parts[: known.columns], at=at, by=by)

    @property
    def sized(self) -> bool:
        """Whether it asks for numbers of rows, which are public."""
        return not self.columns

    @staticmethod
    def of_total(text: str) -> StatisticQuestion:
        """Read a question of which the law of its total is worked out: one of `TOTALS`, without groups."""
        kind, inside = kind_and_inside(text, TOTALS, "query", _LOOKS)
        if kind == "count" and column_and_value(inside) is None:
            raise UsageError("a count needs a condition, such as count(smoker=yes); the number of rows is public")
        return StatisticQuestion.parse(text)

    @property
    def facts(self) -> StatisticKind:
        """The facts of its kind."""
        return KINDS[self.kind]

    def __str__(self) -> str:
        if self.equals is not None:
            inside = f"{self.columns[0]}={self.equals}"
        else:
            inside = ", ".join((*self.columns, *(() if self.at is None else (str(self.at),))))
        told = self.kind if self.sized else f"{self.kind}({inside})"
        return told if self.by is None else f"{told} by {self.by}"


def what_and_by(text: object) -> tuple[str, str | None]:
    """The question and the column after the last " by " that stands outside the brackets.

    >>> what_and_by("mean(chol) by ward"), what_and_by("count(x=a by b)")
    (('mean(chol)', 'ward'), ('count(x=a by b)', None))
    """
    if not isinstance(text, str):
        raise UsageError(f"{_QUESTIONS}, got {text!r}")
    found = _BY.fullmatch(text.strip())
    if found is None or ")" in found["by"] or not (found["what"].endswith(")") or found["what"].lower() == "count"):
        return text, None
    return found["what"], found["by"].strip()


def _number(kind: StatisticKind, text: str) -> Fraction:
    """The quantile or the number of top cells that a question names."""
    with suppress(UsageError):
        if kind.allows(number := read_number(text)):
            return number
    raise UsageError(f"{kind.name} takes a column and {kind.number}, got {text!r}")
