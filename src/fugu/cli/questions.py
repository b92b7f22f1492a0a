"""Several questions on one line, as `--query "count, mean(age), mean(chol) by ward"` has them, with their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fugu.cli import options
from fugu.errors import UnknownName, UsageError
from fugu.numbers.exact import Real
from fugu.queries.statistic import Question

Asked = dict[str, object]
"""One question for `Session.ask_all`: "query", and "bounds", "step" or "bins" where it takes them."""
_NUMBERS, _TABLES = ("sum", "mean", "variance", "quantile"), ("histogram", "crosstab", "top")
ALL = ""
"""Under this name stands what is said of every column."""


def split(text: str) -> list[str]:
    """The questions of a list: cut at commas outside of brackets.

    >>> split("count, crosstab(ward, sex), mean(chol) by ward")
    ['count', 'crosstab(ward, sex)', 'mean(chol) by ward']
    """
    found, depth, begin = [], 0, 0
    for k, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if mark == "," and depth <= 0:
            found.append(text[begin:k])
            begin = k + 1
    found = [part.strip() for part in (*found, text[begin:])]
    if not all(found):
        raise UsageError("--query has an empty question between two commas, or at an end")
    return found


def questions_of(
    query: str, by: str | None, bounds: str | None = None, step: str | None = None, bins: str | None = None
) -> list[Asked]:
    """The questions that the options describe; `by`, if given, goes to those that name no groups of their own.

    `bounds`: "0,400" for all, or "age:0:110,chol:100:400"; `step`: "5", or "age:5,chol:10"; `bins`: edges "0,50,100",
    or "age:0:50:100". A column that no question looks at is refused."""
    parsed = [_grouped(Question.parse(text), by) for text in split(query)]
    columns = tuple(dict.fromkeys(column for asked in parsed for column in asked.columns))
    ranges = {name: _pair(found) for name, found in _by_column("--bounds", bounds, columns).items()}
    steps = {name: _one(found) for name, found in _by_column("--step", step, columns).items()}
    edges = {name: [float(x) for x in found] for name, found in _by_column("--bins", bins, columns).items()}
    return [_told(asked, ranges, steps, edges) for asked in parsed]


def weights_of(text: str | None, questions: Sequence[Asked]) -> list[Real] | str | None:
    """The `--weights` of the questions that cost something: one positive number each, "error", or None for equal ones.

    Numbers of rows are public and cost nothing: they take no weight."""
    if text is None or text.strip().lower() == "error":
        return None if text is None else "error"
    found = [options.positive("--weights", part) for part in text.split(",")]
    costing = [str(asked["query"]) for asked in questions if Question.parse(str(asked["query"])).columns]
    if len(found) != len(costing):
        listed = ", ".join(costing)
        raise UsageError(
            f"--weights has {len(found)} numbers for {len(costing)} questions that cost something ({listed}); give one "
            'for each, or "error" for the least total relative error'
        )
    return found


def _grouped(asked: Question, by: str | None) -> Question:
    if by is None or asked.by is not None:
        return asked
    return Question(asked.kind, asked.columns, asked.equals, asked.at, by)


def _by_column(name: str, text: str | None, columns: tuple[str, ...]) -> dict[str, list[Real]]:
    """{column: numbers} of "age:0:110,chol:100:400"; of bare numbers, {"": numbers}."""
    if text is None:
        return {}
    if ":" not in text:
        return {ALL: [options.number(name, part) for part in text.split(",")]}
    found: dict[str, list[Real]] = {}
    for part in text.split(","):
        column, *numbers = (piece.strip() for piece in part.split(":"))
        if column not in columns:
            raise UnknownName(f"column of {name}", column, columns)
        found[column] = [options.number(name, piece) for piece in numbers]
    return found


def _pair(numbers: list[Real]) -> tuple[Real, Real]:
    if len(numbers) != 2:
        raise UsageError("--bounds are two numbers, such as --bounds 0,400, or for each column age:0:110,chol:100:400")
    return numbers[0], numbers[1]


def _one(numbers: list[Real]) -> Real:
    if len(numbers) != 1:
        raise UsageError("--step is one number, such as --step 5, or one for each column: age:5,chol:10")
    return numbers[0]


def _told(
    asked: Question,
    ranges: Mapping[str, tuple[Real, Real]],
    steps: Mapping[str, Real],
    edges: Mapping[str, list[float]],
) -> Asked:
    found: Asked = {"query": str(asked)}
    first = asked.columns[0] if asked.columns else ALL
    if asked.kind in _NUMBERS:
        for name, given in (("bounds", ranges), ("step", steps)):
            if (value := given.get(first, given.get(ALL))) is not None:
                found[name] = value
    elif asked.kind in _TABLES and len(asked.columns) == 1:
        if (cuts := edges.get(first, edges.get(ALL))) is not None:
            found["bins"] = cuts
    elif asked.kind in _TABLES and (own := {name: edges[name] for name in asked.columns if name in edges}):
        found["bins"] = own
    return found
