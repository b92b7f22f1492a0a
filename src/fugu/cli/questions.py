"""Several questions on one line, as `--query "count, mean(age), mean(chol) by ward"` has them, with their options.

";" separates lists that stand alone. Within a list "," separates questions, and a "by" at its end is for all of it: for
every question of it that has no "by" of its own. This is version 2 of the grammar; in version 1 (fugu 0.3) there was no
";" and each "by" was for the one question before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fugu.cli import options
from fugu.cli.console import err, escape, out
from fugu.errors import UnknownName, UsageError
from fugu.numbers.exact import Real
from fugu.queries.statistic import GRAMMAR, StatisticQuestion, what_and_by
from fugu.visible import Json, several

Asked = dict[str, object]
"""One question for `Session.ask_all`: "query", and "bounds", "step" or "bins" where it takes them."""
_NUMBERS, _TABLES = ("sum", "mean", "variance", "quantile"), ("histogram", "crosstab", "top")
RECORDS: Final = "records"
LAW: Final = "law"
"""Two routes for statistics: charged to each record, which composes; or by the law of the total, once."""
ALL = ""
"""Under this name stands what is said of every column."""


def split(text: str) -> list[str]:
    """The questions of a line, each with the "by" that is meant for it.

    >>> split("count, crosstab(ward, sex), mean(chol) by ward; mean(age)")
    ['count by ward', 'crosstab(ward, sex) by ward', 'mean(chol) by ward', 'mean(age)']
    """
    questions: list[str] = []
    for part in _cut(text, ";"):
        items = _cut(part, ",")
        by = what_and_by(items[-1])[1]
        questions += [item if by is None or what_and_by(item)[1] is not None else f"{item} by {by}" for item in items]
    return questions


def split_before(text: str) -> list[str] | None:
    """The questions as fugu 0.3 read them; None where that is no other reading, or none.

    >>> split_before("count, mean(chol) by ward"), split_before("count; mean(chol) by ward"), split_before("mean(chol)")
    (['count', 'mean(chol) by ward'], None, None)
    """
    if len(_cut(text, ";")) > 1:
        return None
    earlier = _cut(text, ",")
    return None if earlier == split(text) else earlier


def joined(questions: Iterable[object]) -> str:
    """Questions on one line, of which each stands alone.

    >>> split(joined(["count", "mean(chol) by ward"]))
    ['count', 'mean(chol) by ward']
    """
    return "; ".join(map(str, questions))


def named(query: str | None, sequences: bool) -> Json:
    """What the name of a request says of a question: its plan, and by which grammar it was read.

    Questions of tables are written in one way whatever their spelling; those of sequences as they were typed."""
    if query is None:
        return {}
    texts = split(query)
    return {"what": joined(texts if sequences else map(StatisticQuestion.parse, texts)), "grammar": GRAMMAR}


def named_before(query: str | None) -> Json:
    """The same as fugu 0.3 named it, on the routes that name a request by its text: these had no "by" in a list."""
    return {} if query is None else {"what": query if len(_cut(query, ";")) == 1 else ", ".join(_cut(query, ";"))}


def show_plan(questions: Sequence[object], query: str, as_json: bool) -> None:
    """Say what will be asked, before it is charged; and, on stderr, where fugu 0.3 read the line otherwise."""
    if as_json:
        return  # it is the part "plan"
    out.print(f"plan: {escape(joined(questions))}", soft_wrap=True)
    if (earlier := split_before(query)) is not None:
        err.print(
            f'[bold yellow]note[/]: a "by" at the end of a list is for the whole list; fugu 0.3 read this as '
            f'"{escape(joined(earlier))}", which is how to ask for that',
            soft_wrap=True,
        )


def _cut(text: str, at: str) -> list[str]:
    """The parts between marks that stand outside of brackets."""
    parts, depth, begin = [], 0, 0
    for k, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if mark == at and depth <= 0:
            parts.append(text[begin:k])
            begin = k + 1
    parts = [part.strip() for part in (*parts, text[begin:])]
    if not all(parts):
        marks = "commas" if at == "," else "semicolons"
        raise UsageError(f"--query has an empty question between two {marks}, or at an end")
    return parts


def questions_of(
    texts: Sequence[str], by: str | None, bounds: str | None = None, step: str | None = None, bins: str | None = None
) -> list[Asked]:
    """The questions of a plan with their options; `by`, if given, goes to those that name no groups of their own.

    `bounds`: "0,400" for all, or "age:0:110,chol:100:400"; `step`: "5", or "age:5,chol:10"; `bins`: edges "0,50,100",
    or "age:0:50:100". A column that no question looks at is refused."""
    parsed = [_grouped(StatisticQuestion.parse(text), by) for text in texts]
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
    costing = [str(asked["query"]) for asked in questions if StatisticQuestion.parse(str(asked["query"])).columns]
    if len(found) != len(costing):
        listed = ", ".join(costing)
        raise UsageError(
            f"--weights has {several(len(found), 'number')} for {several(len(costing), 'question')} with a cost "
            f"({listed}); give one "
            'for each, or "error" for the least total relative error'
        )
    return found


def _grouped(asked: StatisticQuestion, by: str | None) -> StatisticQuestion:
    if by is None or asked.by is not None:
        return asked
    return StatisticQuestion(asked.kind, asked.columns, asked.equals, asked.at, by)


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
    asked: StatisticQuestion,
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
