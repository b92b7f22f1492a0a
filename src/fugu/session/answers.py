"""The questions of a session as methods, one for each kind, all of which go through `ask`; lists of questions, and the
names of requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from fugu.documents.document import canonical_json
from fugu.errors import BadBudget, UsageError
from fugu.numbers.exact import Real, as_fraction, number, read_number
from fugu.queries.answer import SessionAnswer
from fugu.queries.kinds import Bins, Options
from fugu.queries.statistic import QuestionPlan, StatisticQuestion

Bounds = tuple[Real, Real]


class Kinds:
    """One method for each kind of question."""

    ask: Callable[..., SessionAnswer]

    def count(
        self, epsilon: Real | None = None, *, by: str | None = None, allow_no_noise: bool = False, **equals: object
    ) -> SessionAnswer:
        """How many rows have column=value; without one the number of rows, which is public.

        `epsilon`, `allow_no_noise`: as in `ask`. `by`: a public column. `equals`: one column and the value that is
        counted."""
        asked = _condition("count", equals, by) if equals else StatisticQuestion("count", by=by)
        return self.ask(asked, epsilon, allow_no_noise=allow_no_noise)

    def proportion(
        self, epsilon: Real | None = None, *, by: str | None = None, allow_no_noise: bool = False, **equals: object
    ) -> SessionAnswer:
        """The share of rows with column=value. `epsilon`, `by`, `allow_no_noise`, `equals`: as in `count`."""
        return self.ask(_condition("proportion", equals, by), epsilon, allow_no_noise=allow_no_noise)

    def sum(
        self, column: str, epsilon: Real | None = None, *, by: str | None = None, bounds: Bounds | None = None,
        step: Real | None = None, allow_no_noise: bool = False,
    ) -> SessionAnswer:  # fmt: skip
        """The sum of `column`. `epsilon`, `bounds`, `step`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        asked = StatisticQuestion("sum", (column,), by=by)
        return self.ask(asked, epsilon, bounds=bounds, step=step, allow_no_noise=allow_no_noise)

    def mean(
        self, column: str, epsilon: Real | None = None, *, by: str | None = None, bounds: Bounds | None = None,
        step: Real | None = None, allow_no_noise: bool = False,
    ) -> SessionAnswer:  # fmt: skip
        """The mean of `column`. `epsilon`, `bounds`, `step`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        asked = StatisticQuestion("mean", (column,), by=by)
        return self.ask(asked, epsilon, bounds=bounds, step=step, allow_no_noise=allow_no_noise)

    def variance(
        self, column: str, epsilon: Real | None = None, *, by: str | None = None, bounds: Bounds | None = None,
        step: Real | None = None, allow_no_noise: bool = False,
    ) -> SessionAnswer:  # fmt: skip
        """The variance of `column`; the rest as in `mean`.

        `epsilon`, `bounds`, `step`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        asked = StatisticQuestion("variance", (column,), by=by)
        return self.ask(asked, epsilon, bounds=bounds, step=step, allow_no_noise=allow_no_noise)

    def histogram(
        self, column: str, epsilon: Real | None = None, *, by: str | None = None, bins: Bins | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:  # fmt: skip
        """How many rows fall into each cell of `column`.

        `epsilon`, `bins`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        asked = StatisticQuestion("histogram", (column,), by=by)
        return self.ask(asked, epsilon, bins=bins, allow_no_noise=allow_no_noise)

    def crosstab(
        self, column: str, other: str, epsilon: Real | None = None, *, by: str | None = None, bins: Bins | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:  # fmt: skip
        """How many rows fall into each pair of cells of `column` and `other`; the rest as in `histogram`.

        `epsilon`, `allow_no_noise`: as in `ask`. `by`: a public column. `bins`: {column: edges} for columns of
        numbers."""
        asked = StatisticQuestion("crosstab", (column, other), by=by)
        return self.ask(asked, epsilon, bins=bins, allow_no_noise=allow_no_noise)

    def quantile(
        self, column: str, q: Real, epsilon: Real | None = None, *, by: str | None = None, bounds: Bounds | None = None,
        step: Real | None = None, grid: Sequence[float] | None = None,
    ) -> SessionAnswer:  # fmt: skip
        """The `q`-quantile of `column`, among the values of a public grid.

        `epsilon`: as in `ask`. `by`: a public column. `bounds`, `step`: the grid from low to high in steps; or `grid`:
        its values."""
        at = as_fraction(q) if not isinstance(q, str) else read_number(q)
        if not 0 < at < 1:
            raise UsageError(f"q must be strictly between 0 and 1, got {q!r}")
        asked = StatisticQuestion("quantile", (column,), at=at, by=by)
        return self.ask(asked, epsilon, bounds=bounds, step=step, grid=grid)

    def median(
        self, column: str, epsilon: Real | None = None, *, by: str | None = None, bounds: Bounds | None = None,
        step: Real | None = None, grid: Sequence[float] | None = None,
    ) -> SessionAnswer:  # fmt: skip
        """The median of `column`. `epsilon`, `by`, `bounds`, `step`, `grid`: as in `quantile`."""
        return self.quantile(column, as_fraction(0.5), epsilon, by=by, bounds=bounds, step=step, grid=grid)

    def top(
        self, column: str, k: int, epsilon: Real | None = None, *, by: str | None = None, bins: Bins | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:  # fmt: skip
        """The `k` most frequent values of `column`, most frequent first.

        `epsilon`, `bins`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        asked = StatisticQuestion.parse(f"top({column}, {k})" + ("" if by is None else f" by {by}"))
        return self.ask(asked, epsilon, bins=bins, allow_no_noise=allow_no_noise)


def _condition(kind: str, equals: Mapping[str, object], by: str | None) -> StatisticQuestion:
    if len(equals) != 1:
        raise UsageError(f"{kind} takes one column=value, got {len(equals)}; ask for several one by one, or a crosstab")
    ((column, value),) = equals.items()
    return StatisticQuestion(kind, (column,), str(value), by=by)


_OPTIONS = {"query", "bounds", "step", "bins", "grid"}


def request_of(what: str, plans: Sequence[QuestionPlan], epsilon: Fraction | None, more: object = None) -> str:
    """One name for one question with its options: asked again, it is the same request."""
    told = [[str(p.question), [f.to_json() for f in p.features], p.law, [str(s) for s in p.shares]] for p in plans]
    text = canonical_json([what, told, None if epsilon is None else str(epsilon), more])
    return f"{what} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def allowance(epsilon: Real | None) -> Fraction | None:
    """How far a question may raise what is spent; None for what is usual."""
    if epsilon is None:
        return None
    if (allowed := number(epsilon, "epsilon")) <= 0:
        raise BadBudget("a question costs something, so its epsilon is a number above 0")
    return allowed


def items_of(questions: object) -> list[tuple[StatisticQuestion, Options]]:
    """The questions of a list; a text alone is a list of one."""
    listed = [questions] if isinstance(questions, str | StatisticQuestion) else questions
    if not isinstance(listed, Sequence) or not listed:
        raise UsageError("questions is a list of at least one question")
    return [item_of(item) for item in listed]


def item_of(item: object) -> tuple[StatisticQuestion, Options]:
    """A question of a list: its text, or a dict with "query" and options."""
    if isinstance(item, str | StatisticQuestion):
        return item if isinstance(item, StatisticQuestion) else StatisticQuestion.parse(item), Options()
    if not isinstance(item, Mapping) or "query" not in item or not set(item) <= _OPTIONS:
        raise UsageError(f"a question of a list is a text, or a dict with query and {', '.join(sorted(_OPTIONS))}")
    options = {name: value for name, value in item.items() if name != "query"}
    return StatisticQuestion.parse(item["query"]), Options(**options)
