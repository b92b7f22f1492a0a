"""How the texts of options become arguments of the library; and several questions on one line.

In `--query "count, mean(age), mean(chol) by ward"`, ";" separates lists that stand alone. Within a list "," separates
questions, and a "by" at its end is for all of it: for every question of it that has no "by" of its own. This is version
2 of the grammar; in version 1 (fugu 0.3) there was no ";" and each "by" was for the one question before it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from fugu.data.layout import Layout
from fugu.data.schema import Schema
from fugu.errors import BadBudget, UnknownName, UsageError
from fugu.files import check_apart
from fugu.guarantee import Approx, Guarantee, Pure, Renyi
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.statistic import GRAMMAR, StatisticQuestion, cut, split
from fugu.question import Question, facts
from fugu.releasing.blocks import NOTE, Text
from fugu.scenario.scenario import PairsOfSecrets
from fugu.visible import Json, brief, several

NOISE, OPTIMAL = "noise", "optimal"


def budget(epsilon: str, delta: str = "0", alpha: str | None = None) -> Pure | Approx | Renyi:
    """The budget that the texts stand for, exactly: "0.1" is 1/10."""
    if alpha is not None:
        return Renyi(number("alpha", alpha), number("epsilon", epsilon), number("delta", delta))
    return odds(epsilon, delta)


def whole(total: str | None, slack: str | None, delta: str = "0", alpha: str | None = None) -> Guarantee | None:
    """The budget of all requests, --budget and --budget-delta; without the latter it has the delta of this release."""
    if total is None:
        if slack is not None:
            raise UsageError("--budget-delta goes with --budget, the epsilon of all requests; give both")
        return None
    epsilon = positive("--budget", total)
    if slack is not None:
        return Approx(epsilon, positive("--budget-delta", slack))
    return budget(str(epsilon), delta, alpha)


def odds(epsilon: str, delta: str = "0") -> Pure | Approx:
    """The budget without an order."""
    found = number("epsilon", epsilon)
    return Approx(found, number("delta", delta)) if delta != "0" else Pure(found)


def number(name: str, text: str) -> Real:
    """A number as it was written, exactly; inf and nan pass on so that the library can refuse them by name."""
    if text.strip().lower().lstrip("+-") in ("inf", "infinity", "nan"):
        return float(text)
    try:
        exact = read_number(text)
    except UsageError as error:
        comma = re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text)
        why = f"write the decimal point, {text.strip().replace(',', '.')}" if comma else str(error)
        raise BadBudget(f"{name} must be a number, got {brief(text, 40)}: {why}") from None
    if exact and not sys.float_info.min <= abs(exact) <= sys.float_info.max:
        raise BadBudget(f"{name} is beyond the range of double precision: {brief(text, 40)}")
    nearest = float(exact)
    return nearest if as_fraction(nearest) == exact else exact


def maybe(name: str, text: str | None) -> Real | None:
    """The number; None if it is not given."""
    return None if text is None else number(name, text)


def numbers(name: str, text: str | None) -> list[Real] | None:
    """Numbers with commas between them; None if they are not given."""
    return None if text is None else [number(name, part) for part in text.split(",")]


def confidence(text: str | None, smoothing: float = 0.0) -> Real | None:
    """A number between 0 and 1, both excluded; None if it is not given. It speaks of the true prior: one that is
    smoothed is refused beside it."""
    value = maybe("--confidence", text)
    if value is not None and not 0 < value < 1:
        raise UsageError(f"--confidence must lie between 0 and 1, both excluded, such as 0.95; got {brief(text, 40)}")
    if value is not None and smoothing:
        raise UsageError("--smoothing makes another prior, and --confidence covers the true one: give one of the two")
    return value


def positive(name: str, text: str) -> Real:
    """A finite number above 0."""
    value = number(name, text)
    if not 0 < value < math.inf:
        raise BadBudget(f"{name} must be a finite number above 0, got {text!r}")
    return value


def schema(path: str | None, no_header: bool) -> Schema | None:
    """The schema that the options declare; None leaves everything to the reference."""
    if path is None and no_header:
        raise UsageError("--no-header needs --schema FILE, whose columns name those of the file, in order")
    found = None if path is None else Schema.load(path)
    return replace(found, header=False) if found is not None and no_header else found


def layout(question: Question) -> Layout:
    """How rows become entries of sequences, as the options say."""
    stated = {name: getattr(question, name) for name, said in facts(Question).items() if said.section == "sequence"}
    del stated["chain"]
    said = {name: text for name, text in (*stated.items(), ("bins", question.bins)) if text is not None}
    return Layout(**said)


def fresh(path: str | Path, force: bool) -> Path:
    """A file that is not there yet, or may be overwritten."""
    file = Path(path)
    if not force and (file.exists() or file.is_symlink()):
        raise UsageError(f"{file.name!r} exists; choose another name, or give --force to overwrite it")
    return file


def ending(what: str, path: str, suffix: str) -> None:
    """Refuse a file whose name does not say what is written into it."""
    if Path(path).suffix != suffix:
        raise UsageError(f"{what} is written as {suffix[1:].upper()}; give a name that ends in {suffix}, not {path!r}")


def certificate(path: str, *read: str | None) -> Path:
    """The same for a certificate, which is written as JSON."""
    ending("the certificate", path, ".json")
    return check_apart(path, *read)


def check_mechanism(question: Question) -> None:
    """Refuse options for noise where a channel is asked for, and the other way round."""
    if question.mechanism not in (NOISE, OPTIMAL):
        raise UnknownName("mechanism", question.mechanism, (NOISE, OPTIMAL))
    if question.mechanism == NOISE and question.loss is not None:
        raise UsageError("--loss is for --mechanism optimal; give it too, or leave it out")
    if question.mechanism == OPTIMAL and any(map(question.given, ("noise", "method", "grid", "remap"))):
        raise UsageError("--mechanism optimal adds no noise: leave out --noise, --method, --grid and --remap")


def bins(text: str | None) -> int | list[float] | list[str] | None:
    """ "20" is a number of bins, "0,10,20" edges, "low,mid,high" an ordering."""
    if text is None:
        return None
    items = [item.strip() for item in text.split(",")]
    if len(items) == 1:
        try:
            return int(items[0])
        except ValueError:
            raise UsageError(f"bins must be a number of bins, edges or an ordering, got {text!r}") from None
    try:
        return [float(item) for item in items]
    except ValueError:
        return items


def missing(text: str) -> str | float:
    """ "error" and "drop" are policies; anything else is the value that a missing one counts as."""
    try:
        return float(text)
    except ValueError:
        return text


def pairs(text: str) -> PairsOfSecrets:
    """ "all", "adjacent", or "F:M,F:X"."""
    if ":" not in text:
        return cast(PairsOfSecrets, text)  # a scenario refuses other words
    parts = [item.strip().partition(":") for item in text.split(",")]
    if not all(colon and first.strip() and second.strip() for first, colon, second in parts):
        raise UsageError(f'pairs must be "all", "adjacent" or like "F:M,F:X", got {text!r}')
    return [(first.strip(), second.strip()) for first, _, second in parts]


def bounds(text: str | None) -> tuple[Real, Real] | None:
    """ "0,400" as two numbers."""
    if text is None:
        return None
    low, comma, high = text.partition(",")
    if not comma or ":" in text:
        raise UsageError(
            f"bounds are two numbers here, such as --bounds 0,400, got {text!r}; --route records takes a list"
        )
    return number("bounds", low), number("bounds", high)


Asked = dict[str, object]
"""One question for `Session.ask_all`: "query", and "bounds", "step" or "bins" where it takes them."""
ALL = ""
"""Under this name stands what is said of every column."""


def split_before(text: str) -> list[str] | None:
    """The questions as fugu 0.3 read them; None where that is no other reading, or none.

    >>> split_before("count, mean(chol) by ward"), split_before("count; mean(chol) by ward"), split_before("mean(chol)")
    (['count', 'mean(chol) by ward'], None, None)
    """
    if len(cut(text, ";")) > 1:
        return None
    earlier = cut(text, ",")
    return None if earlier == split(text) else earlier


def joined(questions: Iterable[object]) -> str:
    """Questions on one line, of which each stands alone.

    >>> split(joined(["count", "mean(chol) by ward"]))
    ['count', 'mean(chol) by ward']
    """
    return "; ".join(map(str, questions))


def named(query: str | None, sequences: bool) -> tuple[Json, Json]:
    """What the name of a request says of a question: its plan, and by which grammar it was read; and the same as fugu
    0.3 named it, on the routes that name a request by its text: these had no "by" in a list.

    Questions of tables are written in one way whatever their spelling; those of sequences as they were typed."""
    if query is None:
        return {}, {}
    texts, parts = split(query), cut(query, ";")
    now = joined(texts if sequences else map(StatisticQuestion.parse, texts))
    return {"what": now, "grammar": GRAMMAR}, {"what": query if len(parts) == 1 else ", ".join(parts)}


def plan_told(questions: Sequence[object], query: str) -> Iterator[Text]:
    """What will be asked, said before it is charged; and how to ask what fugu 0.3 read the line as."""
    yield Text(f"plan: {joined(questions)}", NOTE, stated=True)
    if (earlier := split_before(query)) is not None:
        yield Text(
            f'a "by" at the end of a list is for the whole list; for its last question alone write "{joined(earlier)}"',
            NOTE,
            stated=True,
        )


def questions_of(
    texts: Sequence[str], by: str | None, bounds: str | None = None, step: str | None = None, bins: str | None = None
) -> list[Asked]:
    """The questions of a plan with their options; `by`, if given, goes to those that name no groups of their own.

    `bounds`: "0,400" for all, or "age:0:110,chol:100:400"; `step`: "5", or "age:5,chol:10"; `bins`: edges "0,50,100",
    or "age:0:50:100". A column that no question looks at is refused."""
    parsed = [StatisticQuestion.parse(text) for text in texts]
    parsed = [asked if asked.by is not None else replace(asked, by=by) for asked in parsed]
    columns = tuple(dict.fromkeys(column for asked in parsed for column in asked.columns))
    two = "--bounds are two numbers, such as --bounds 0,400, or for each column age:0:110,chol:100:400"
    one = "--step is one number, such as --step 5, or one for each column: age:5,chol:10"
    ranges, steps = by_column("--bounds", bounds, columns, 2, two), by_column("--step", step, columns, 1, one)
    edges = {name: [float(x) for x in found] for name, found in by_column("--bins", bins, columns).items()}
    told = []
    for asked in parsed:
        found: Asked = {"query": str(asked)}
        first = asked.columns[0] if asked.columns else ALL
        facts = asked.facts
        if facts.numbers:
            if (ends := ranges.get(first, ranges.get(ALL))) is not None:
                found["bounds"] = tuple(ends)
            if (width := steps.get(first, steps.get(ALL))) is not None:
                found["step"] = width[0]
        elif not facts.summed and len(asked.columns) == 1:
            if (cuts := edges.get(first, edges.get(ALL))) is not None:
                found["bins"] = cuts
        elif not facts.summed and (own := {name: edges[name] for name in asked.columns if name in edges}):
            found["bins"] = own
        told.append(found)
    return told


def weights_of(text: str | None, questions: Sequence[Asked]) -> list[Real] | str | None:
    """The `--weights` of the questions that cost something: one positive number each, "error", or None for equal ones.

    Numbers of rows are public and cost nothing: they take no weight."""
    if text is None or text.strip().lower() == "error":
        return None if text is None else "error"
    found = [positive("--weights", part) for part in text.split(",")]
    costing = [str(asked["query"]) for asked in questions if StatisticQuestion.parse(str(asked["query"])).columns]
    if len(found) != len(costing):
        listed = ", ".join(costing)
        raise UsageError(
            f"--weights has {several(len(found), 'number')} for {several(len(costing), 'question')} with a cost "
            f"({listed}); give one "
            'for each, or "error" for the least total relative error'
        )
    return found


def ends_of(texts: Iterable[str], like: str) -> dict[str, tuple[Real, Real]]:
    """{column: ends} of texts such as "age:17:90,chol:100:400"; `like`: how they are typed."""
    refusal, found = f'bounds are a column and two numbers, such as --bounds "{like}"', dict[str, tuple[Real, Real]]()
    for text in texts:
        for column, ends in by_column("bounds", text, (), 2, refusal).items():
            if column in found or column == ALL:
                raise UsageError(refusal if column == ALL else f"--bounds of column {column!r} are given twice")
            found[column] = ends[0], ends[1]
    return found


def by_column(
    name: str, text: str | None, columns: tuple[str, ...], count: int = 0, refusal: str = ""
) -> dict[str, list[Real]]:
    """{column: numbers} of "age:0:110,chol:100:400"; of bare numbers, {"": numbers}. `columns`: the only ones there
    are, if any are named; `count`: how many numbers each has, which may then have a comma between them, 0 for any;
    `refusal`: what is said of other texts. A column may hold commas and colons, its numbers hold neither."""
    if text is None:
        return {}
    alone = [] if ":" in text else text.split(",")
    if alone and count and len(alone) != count:
        raise UsageError(f"{refusal}, got {brief(text, 40)}")
    found = {ALL: [number(name, part) for part in alone]} if alone else {}
    more = f"[:,][^:,]+){{{count - 1}}}" if count else ":[^:,]+)*"
    form, at = re.compile(rf"\s*(.+?)\s*:([^:,]+(?:{more})(?:,|$)", re.DOTALL), 0
    while not found.get(ALL) and at < len(text):
        part = form.match(text, at)
        if part is None:
            raise UsageError(f"{refusal or f'{name} are numbers, or a column and numbers'}, got {brief(text)}")
        column, at = part[1], part.end()
        if columns and column not in columns:
            raise UnknownName(f"column of {name}", column, columns)
        if column in found:
            raise UsageError(f"{name} of column {column!r} are given twice")
        found[column] = [number(name, piece) for piece in re.split("[:,]", part[2])]
    return found
