"""What `protect` may be and which rows hold which secret; what a schema makes of other cells, in public sentences."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import Categories, number_text
from fugu.data.conditions import AnyOf, Mask, Test, called, known_column, read_test, spelt
from fugu.data.field import Field
from fugu.data.frame import Table, require_decoded
from fugu.data.moments import days_text
from fugu.data.schema import Schema
from fugu.errors import BadTable, MissingValues, TooManySecrets, UnknownName, UsageError
from fugu.numbers.exact import Real
from fugu.visible import Json, several

REFUSE = "error"
"""What `missing` says by default: missing cells of the reference are an error."""
MAX_SECRETS = 1000
Layers = tuple[NDArray[np.int64], ...]
Condition = Mapping[str, Test] | Callable[[Any], object]
ProtectLike = str | Sequence[str] | Mapping[str, Mapping[str, object] | Callable[[Mapping[str, NDArray[Any]]], object]]
"""A column, a comparison ("age<65", "born<1960-01-01", "sex=Male"), cut points ("age:18,65"); several columns; or
{secret: condition}, a condition being {column: value or (low, high)}, or a function of the columns that says where the
secret holds."""


@final
@dataclass(frozen=True, eq=False)
class Secrets:
    """Secrets found in a table. A layer gives each row the number of a secret that holds in it, or -1.

    Secrets that overlap lie in different layers, so any number of disjoint ones cost one array."""

    labels: tuple[str, ...]
    layers: Layers
    missing: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]

    def masks(self) -> dict[str, Mask]:
        """The rows in which each secret holds."""
        numbered = enumerate(self.labels)
        return {label: np.any([layer == i for layer in self.layers], axis=0) for i, label in numbered}

    def covered(self) -> NDArray[np.int64]:
        """How many secrets hold in each row."""
        return np.asarray(np.sum([layer >= 0 for layer in self.layers], axis=0, dtype=np.int64))


@final
@dataclass(frozen=True, eq=False)
class Protect:
    """A specification that was read: the categories of `columns`, or `conditions` by name of the secret."""

    text: str
    columns: tuple[str, ...] | None
    """The columns it looks at; None if a function of the whole table decides."""
    conditions: Mapping[str, Condition] | None = None
    json: object = None
    """The specification in JSON types; None if a function is part of it."""
    value: str | None = None
    """The one value that "sex=Male" names: a table without it knows nothing of the secret."""

    def find(self, table: Table, missing: object = "error") -> Secrets:
        """The secrets of a table; where a column is missing no secret of it holds, or the table is refused."""
        seen = dict.fromkeys(self.columns or ())
        if self.conditions is None:
            labels, layers = _categories(table, self.columns or ())
        else:
            labels = tuple(self.conditions)
            if len(labels) > MAX_SECRETS:
                raise too_many(len(labels), self.text)
            if self.value is not None and self.columns is not None:  # a misspelt value would be nobody's secret
                column = table.exact(self.columns[0])
                if not AnyOf((self.value,)).mask(column).any():
                    known = [] if column.numeric else column.codes()[1].tolist()
                    raise UnknownName(f"row of the reference whose {column.name!r} is", self.value, known)
            held: list[NDArray[np.int64]] = []
            for number, condition in enumerate(self.conditions.values()):
                mask = _holds(table, condition, seen)
                free = next((layer for layer in held if not np.any(layer[mask] >= 0)), None)
                if free is None:
                    held.append(free := np.full(len(mask), -1, dtype=np.int64))
                free[mask] = number
            layers = tuple(held)
        counts = tuple((column.name, column.rows(column.missing)) for column in map(table.exact, seen))
        gone = [(name, count) for name, count in counts if count]
        if gone and missing == REFUSE:
            found = ", ".join(f"{count} in column {name!r}" for name, count in gone)
            raise MissingValues(
                f"values that decide the secret are missing: {found}; fill them in (perhaps with a category of "
                "their own), or leave those rows out: of the reference, or for a column with missing='drop'"
            )
        return Secrets(labels, layers, counts, tuple(seen))


def read_protect(protect: object, available: tuple[str, ...]) -> Protect:
    """Read a column, a list of them, a dict of conditions, or texts as on the command line: "age<65", "age:18,65",
    "sex=Male", "born<1960-01-01", "visit:2020-01-01,2021-01-01".

    >>> list(read_protect("age:18,65", ("age",)).conditions)
    ['age < 18', '18 <= age < 65', 'age >= 65']
    """
    if isinstance(protect, Mapping):
        return _read_conditions(protect, available)
    if not isinstance(protect, str):
        if not isinstance(protect, list | tuple) or not protect:
            kind = type(protect).__name__
            raise UsageError(f"protect must be a column, a list of columns or a dict of conditions, got {kind}")
        names = tuple(dict.fromkeys(known_column(name, available) for name in protect))
        return Protect(", ".join(names), names, json=list(names))
    if protect in available:
        return Protect(protect, (protect,), json=protect)
    if protect.lstrip().startswith("{"):
        try:  # conditions written as JSON, as recipes and scenario files have them: an object, as it begins like one
            stated = json.loads(protect)
        except (ValueError, RecursionError):
            raise UsageError(
                'protect begins like JSON but is not JSON; write {"secret": {"column": "value"}, ...}'
            ) from None
        return _read_conditions(stated, available)
    if (found := spelt(protect, available)) is not None:
        column, tests, value = found
        return Protect(protect, (column,), {name: {column: test} for name, test in tests.items()}, protect, value)
    names = tuple(dict.fromkeys(known_column(name.strip(), available) for name in protect.split(",")))
    return Protect(", ".join(names), names, json=list(names))


def _read_conditions(protect: Mapping[Any, Any], available: tuple[str, ...]) -> Protect:
    if not protect:
        raise UsageError("protect is an empty dict; give each secret a condition")
    conditions: dict[str, Condition] = {}
    for secret, condition in protect.items():
        if not callable(condition) and not (isinstance(condition, Mapping) and condition):
            raise UsageError(f"secret {str(secret)!r} needs a condition: a dict of columns, or a function")
        if callable(condition):
            conditions[str(secret)] = condition
        else:
            conditions[str(secret)] = {known_column(c, available): read_test(c, t) for c, t in condition.items()}
    if len(conditions) < len(protect):
        raise UsageError("two secrets have the same name once written as text; rename one")
    tests = {secret: c for secret, c in conditions.items() if isinstance(c, Mapping)}
    if len(tests) < len(conditions):
        return Protect("the conditions given", None, conditions)
    columns = tuple(dict.fromkeys(name for test in tests.values() for name in test))
    json = {secret: {name: t.to_json() for name, t in test.items()} for secret, test in tests.items()}
    sayable = all(said is not None for test in json.values() for said in test.values())
    return Protect(", ".join(columns), columns, conditions, json if sayable else None)


class _View(Mapping[str, NDArray[Any]]):
    """The columns of a table for a user's function; remembers which were looked at."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.seen: dict[str, None] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        self.seen[name] = None
        return self.table.column(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.table.columns)

    def __len__(self) -> int:
        return len(self.table.columns)


def _holds(table: Table, condition: Condition, seen: dict[str, None]) -> Mask:
    """Where a condition holds; the columns a function looks at are added to `seen`."""
    if isinstance(condition, Mapping):
        return np.asarray(np.all([test.mask(table.exact(name)) for name, test in condition.items()], axis=0))
    view = _View(table)
    holds = called(condition, view, len(table))
    seen |= view.seen
    for name in view.seen:
        holds = holds & ~table.exact(name).missing
    return holds


def _categories(table: Table, columns: tuple[str, ...]) -> tuple[tuple[str, ...], Layers]:
    """One secret for each combination of categories that occurs, in the order of the categories."""
    total = np.zeros(len(table), dtype=np.int64)
    parts: list[tuple[str, ...]] = [()]
    for name in columns:
        codes, distinct = table.exact(name).codes()
        require_decoded(name, distinct.tolist(), "secrets")
        joint = np.where((total < 0) | (codes < 0), -1, total * len(distinct) + codes)
        keys, places = np.unique(joint, return_inverse=True)
        some = keys >= 0
        if int(some.sum()) > MAX_SECRETS:
            raise too_many(int(some.sum()), ", ".join(columns))
        size = len(distinct)
        # 2 and 2.0 are the same category, whatever the engine made of the column
        names = [str(int(v)) if isinstance(v, float) and v == math.floor(v) else str(v) for v in distinct]
        parts = [(*parts[k // size], names[k % size]) for k in keys[some].tolist()]
        total = places - int(len(keys) - some.sum())
    if len(columns) == 1:
        return tuple(label for (label,) in parts), (total,)
    labels = tuple(", ".join(f"{n}={v}" for n, v in zip(columns, part, strict=True)) for part in parts)
    if len(set(labels)) < len(labels):
        raise BadTable("two combinations of categories look alike when written out; rename those with commas")
    return labels, (total,)


def too_many(count: int, where: str) -> TooManySecrets:
    """The refusal of more secrets than can be paired."""
    return TooManySecrets(
        f"{where} gives {count} secrets, and at most {MAX_SECRETS} can be paired; group them with ranges "
        "(protect='age:18,40,65') or a dict of conditions, and list the pairs that matter"
    )


# What a schema makes of cells that cannot be used, in sentences: public, since they say nothing of any cell.

OF_NUMBERS = ("sum", "mean", "variance", "quantile")
"""Statistics that add up or order numbers; the others count cells."""


def rule_of(name: str, known: Field, counted: bool = True) -> str | None:
    """What a missing or unreadable cell of a column counts as; None for a column that is declared public.

    `counted`: whether to say also what it is where cells are counted: a median is for sums, and no category.

    >>> rule_of("chol", Field("number", missing=240.0))
    "a missing or unreadable cell of 'chol' counts as 240, as the schema says"
    >>> rule_of("chol", Field("number", typical=240.0), counted=False)
    "a missing or unreadable cell of 'chol' counts as 240, the reference's median"
    >>> rule_of("chol", Field("number"), counted=False)  # and not the middle of bounds that it does not have
    "a missing or unreadable cell of 'chol' counts as 0, for neither the schema nor the reference has a number that is \
typical of it"
    >>> rule_of("ward", Field("category", ("a", "b"), missing="a"))
    "a missing cell of 'ward' counts as 'a', as the schema says; one of no known category counts as '(other)'"
    """
    if known.public:
        return None
    source = "as the schema says" if known.missing is not None else "the reference's median"
    if known.missing is None and known.typical is None:
        source = "the category for all others" if known.unordered else "the middle of its domain"
        if known.numeric and known.bounds is None:
            source = "for neither the schema nor the reference has a number that is typical of it"
    instead = f"{_said(known, known.replacement)}, {source}"
    none = "; where a named value is counted it is not one" if counted and known.missing is None else ""
    if known.numeric:
        drops = "; a number beyond the bounds counts as missing" if known.drops_outside and known.bounds else ""
        return f"a missing or unreadable cell of {name!r} counts as {instead}{none}{drops}"
    if known.values is None:
        return f"a missing cell of {name!r} counts as {_said(known, known.replacement)}"
    beyond = "the nearest number's, and text as " if known.nearest else ""
    other = f"one of no known category counts as {beyond}{_said(known, known.elsewhere)}"
    return f"a missing cell of {name!r} counts as {instead}{none if known.ordered else ''}; {other}"


def column_rule(query: Json, known: Field) -> str:
    """What a cell of a column counts as that is published row by row: as `ColumnQuery.of_private` reads it.

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


# What a reference is too small for, or cut too much by: sentences about public data, which cost nothing.

FEW: Final = 30
"""Rows of the reference for a secret below which its law is hardly known: with 30 the distribution function is off by
up to 0.25 with probability .95 (Dvoretzky, Kiefer, Wolfowitz 1956; Massart 1990), and with 4 by up to 0.68."""
_NAMED: Final = 5
CUT: Final = 0.05
"""A share of the reference's cells beyond the bounds above which bounds change what is asked."""


def few_rows(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Of secrets with their numbers of rows in the reference: those of which it knows too little, in one sentence.

    >>> few_rows({"ill": 4, "well": 400})
    ("the reference has 4 rows for 'ill': beliefs from fewer than 30 are hardly better than a guess; take a larger \
reference, or say how sure it is (confidence)",)
    """
    few = [f"{several(rows, 'row')} for {secret!r}" for secret, rows in counts.items() if 0 < rows < FEW]
    more = [] if len(few) <= _NAMED else [f"and as few for {len(few) - _NAMED:,} more"]
    said = (
        f"the reference has {', '.join([*few[:_NAMED], *more])}: beliefs from fewer than {FEW} are hardly better than "
        "a guess; take a larger reference, or say how sure it is (confidence)"
    )
    return (said,) if few else ()


def cut_cells(reference: Table, schema: Schema, bounds: Mapping[str, tuple[Real, Real] | None]) -> tuple[str, ...]:
    """Of columns with the bounds that are asked for (None: those of the schema): which cut off much of the reference.

    `reference`: as it stands; `schema`: how it is read."""
    said = []
    for name, asked in bounds.items():
        known = schema.fields.get(name)
        if known is None or not known.numeric or name not in reference.columns:
            continue
        ends = [pair for pair in (known.bounds, asked) if pair is not None]
        free = replace(known, bounds=None, step=known.step if known.dated else None, outside=None)
        column = free.read(name, reference.raw(name), schema.decimal, schema.absent)
        numbers = column.floats()[~column.missing]
        if not ends or not len(numbers):
            continue
        low, high = max(float(a) for a, _ in ends), min(float(b) for _, b in ends)
        share = float(np.mean((numbers < low) | (numbers > high)))
        if share > CUT:
            said.append(
                f"the bounds of {name!r} cut off {share:.1%} of the reference's cells, which then count as the bound; "
                "widen them if that is not what is asked"
            )
    return tuple(said)


# How a statistic is written, wherever one is asked for: a kind and what its brackets hold, "count(sex=Female)".

_FORM = re.compile(r"\s*(?P<kind>[A-Za-z_]+\d*)\s*\((?P<inside>.*)\)\s*")


_MEANT: Mapping[str, Collection[str]] = {
    "mean": ("avg", "average"),
    "sum": ("total",),
    "proportion": ("share", "percent", "percentage", "fraction", "rate", "ratio"),
    "variance": ("var", "std", "stdev", "sd", "deviation"),
    "quantile": ("percentile", "quartile", "decile", "min", "max", "p"),
    "histogram": ("hist", "freq", "frequency", "frequencies", "distribution"),
    "crosstab": ("corr", "correlation", "cross", "pivot"),
    "top": ("top", "mode", "most"),
}
"""Each kind of question, and what else people call it."""
_LIKE: Mapping[str, str] = {
    "mean": "mean(age)", "sum": "sum(age)", "proportion": "proportion(ward=north)", "quantile": "quantile(age, 0.9)",
    "variance": "variance(age), whose square root is the deviation", "histogram": "histogram(ward)",
    "crosstab": "crosstab(ward, ill)", "top": "top(ward, 3)",
}  # fmt: skip


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
        word = kind.rstrip("0123456789")
        if meant := next((name for name, words in _MEANT.items() if name in known and word in words), ""):
            raise UsageError(f"no {what} {kind!r}; ask {_LIKE[meant]}")
        raise UnknownName(what, kind, known)
    return kind, form["inside"].strip()


def column_and_value(text: str) -> tuple[str, str] | None:
    """The two sides of the first "=": "income=>50K" is column income, value >50K; None where one is empty.

    >>> column_and_value("income=>50K"), column_and_value("income")
    (('income', '>50K'), None)
    """
    column, equals, value = (part.strip() for part in text.partition("="))
    return (column, value) if column and equals and value else None
