"""What a schema makes of cells that cannot be used, in sentences: public, since they say nothing of any cell."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fugu.data.categories import Categories
from fugu.data.cells import number_text
from fugu.data.field import Field
from fugu.data.moments import days_text
from fugu.data.schema import Schema
from fugu.data.secrets import REFUSE
from fugu.visible import Json

OF_NUMBERS = ("sum", "mean", "variance", "quantile")
"""Statistics that add up or order numbers; the others count cells."""


def rule_of(name: str, known: Field, counted: bool = True) -> str | None:
    """What a missing or unreadable cell of a column counts as; None for a column that is declared public.

    `counted`: whether to say also what it is where cells are counted: a median is for sums, and no category.

    >>> rule_of("chol", Field("number", missing=240.0))
    "a missing or unreadable cell of 'chol' counts as 240, as the schema says"
    >>> rule_of("chol", Field("number", typical=240.0), counted=False)
    "a missing or unreadable cell of 'chol' counts as 240, the reference's median"
    >>> rule_of("ward", Field("category", ("a", "b"), missing="a"))
    "a missing cell of 'ward' counts as 'a', as the schema says; one of no known category counts as '(other)'"
    """
    if known.public:
        return None
    instead = f"{_said(known, known.replacement)}, {_source(known)}"
    none = ", and in counts as none of the named values" if counted and known.missing is None else ""
    if known.numeric:
        drops = "; a number beyond the bounds counts as missing" if known.drops_outside and known.bounds else ""
        return f"a missing or unreadable cell of {name!r} counts as {instead}{none}{drops}"
    if known.values is None:
        return f"a missing cell of {name!r} counts as {_said(known, known.replacement)}"
    beyond = "the nearest number's, and text as " if known.nearest else ""
    other = f"one of no known category counts as {beyond}{_said(known, known.elsewhere)}"
    return f"a missing cell of {name!r} counts as {instead}{none if known.ordered else ''}; {other}"


def column_rule(query: Json, known: Field) -> str:
    """What a cell of a column counts as that is published row by row: as `Query.of_private` reads it.

    `query`: the query in JSON types.

    >>> asked = {"publish": "chol", "categories": None, "missing": "drop"}
    >>> column_rule(asked, Field("number"))
    "a cell of 'chol' that is missing or unreadable is left out with its row, and which rows these are is public"
    """
    name, categories, missing = query["publish"], query["categories"], query["missing"]
    what = f"a cell of {name!r} that is missing or unreadable"
    if missing == "drop":
        return f"{what} is left out with its row, and which rows these are is public"
    if categories is None:
        given = f"{what} counts as {missing}, as was asked"
        return given if missing != REFUSE else rule_of(name, known, counted=False) or ""
    usual = int(query.get("typical") or 0)

    def category(text: str) -> str:
        place = Categories(categories).place(text)
        return repr(categories[place if place >= 0 else usual])

    gone = category(str(known.replacement)) if missing == REFUSE else repr(missing)
    return (
        f"a missing cell of {name!r} counts as {gone}; one of no known category counts as {category(known.elsewhere)}"
    )


def rules(
    schema: Schema, columns: Iterable[str] | None = None, counted: Collection[str] | None = None
) -> tuple[str, ...]:
    """The rules of these columns of a schema (all by default), one sentence each; `counted`: those of which cells are
    counted, not added up (all by default)."""
    wanted = schema.fields if columns is None else [name for name in columns if name in schema.fields]
    said = (rule_of(name, schema.fields[name], counted is None or name in counted) for name in wanted)
    return tuple(sentence for sentence in said if sentence is not None)


def _said(known: Field, rule: float | str) -> str:
    if isinstance(rule, str):
        return repr(rule)
    return number_text(rule) if known.origin is None else days_text(known.origin, rule)


def _source(known: Field) -> str:
    if known.missing is not None:
        return "as the schema says"
    if known.typical is not None:
        return "the reference's median"
    return "the category for all others" if known.unordered else "the middle of its domain"
