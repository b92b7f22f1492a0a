"""The questions of a session as methods, one for each kind; all of them go through `ask`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from fugu.errors import UsageError
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.asking import Bins
from fugu.queries.statistic import Question
from fugu.session.answers import SessionAnswer

Bounds = tuple[Real, Real]


class Kinds(ABC):
    """One method for each kind of question."""

    @abstractmethod
    def ask(
        self,
        question: str | Question,
        epsilon: Real | None = None,
        *,
        bounds: Bounds | None = None,
        step: Real | None = None,
        bins: Bins | None = None,
        grid: Sequence[float] | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """Answer one question."""

    def count(
        self, epsilon: Real | None = None, *, by: str | None = None, allow_no_noise: bool = False, **equals: object
    ) -> SessionAnswer:
        """How many rows have column=value; without one the number of rows, which is public.

        `epsilon`, `allow_no_noise`: as in `ask`. `by`: a public column. `equals`: one column and the value that is
        counted."""
        if not equals:
            return self.ask(Question("count", by=by), epsilon, allow_no_noise=allow_no_noise)
        return self.ask(_condition("count", equals, by), epsilon, allow_no_noise=allow_no_noise)

    def proportion(
        self, epsilon: Real | None = None, *, by: str | None = None, allow_no_noise: bool = False, **equals: object
    ) -> SessionAnswer:
        """The share of rows with column=value. `epsilon`, `by`, `allow_no_noise`, `equals`: as in `count`."""
        return self.ask(_condition("proportion", equals, by), epsilon, allow_no_noise=allow_no_noise)

    def sum(
        self,
        column: str,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bounds: Bounds | None = None,
        step: Real | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """The sum of `column`. `epsilon`, `bounds`, `step`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        return self.ask(
            Question("sum", (column,), by=by), epsilon, bounds=bounds, step=step, allow_no_noise=allow_no_noise
        )

    def mean(
        self,
        column: str,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bounds: Bounds | None = None,
        step: Real | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """The mean of `column`. `epsilon`, `bounds`, `step`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        return self.ask(
            Question("mean", (column,), by=by), epsilon, bounds=bounds, step=step, allow_no_noise=allow_no_noise
        )

    def variance(
        self,
        column: str,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bounds: Bounds | None = None,
        step: Real | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """The variance of `column`; the rest as in `mean`.

        `epsilon`, `bounds`, `step`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        return self.ask(
            Question("variance", (column,), by=by), epsilon, bounds=bounds, step=step, allow_no_noise=allow_no_noise
        )

    def histogram(
        self,
        column: str,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bins: Bins | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """How many rows fall into each cell of `column`.

        `epsilon`, `bins`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        return self.ask(Question("histogram", (column,), by=by), epsilon, bins=bins, allow_no_noise=allow_no_noise)

    def crosstab(
        self,
        column: str,
        other: str,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bins: Bins | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """How many rows fall into each pair of cells of `column` and `other`; the rest as in `histogram`.

        `epsilon`, `allow_no_noise`: as in `ask`. `by`: a public column. `bins`: {column: edges} for columns of
        numbers."""
        return self.ask(Question("crosstab", (column, other), by=by), epsilon, bins=bins, allow_no_noise=allow_no_noise)

    def quantile(
        self,
        column: str,
        q: Real,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bounds: Bounds | None = None,
        step: Real | None = None,
        grid: Sequence[float] | None = None,
    ) -> SessionAnswer:
        """The `q`-quantile of `column`, among the values of a public grid.

        `epsilon`: as in `ask`. `by`: a public column. `bounds`, `step`: the grid from low to high in steps; or `grid`:
        its values."""
        at = as_fraction(q) if not isinstance(q, str) else read_number(q)
        if not 0 < at < 1:
            raise UsageError(f"q must be strictly between 0 and 1, got {q!r}")
        return self.ask(Question("quantile", (column,), at=at, by=by), epsilon, bounds=bounds, step=step, grid=grid)

    def median(
        self,
        column: str,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bounds: Bounds | None = None,
        step: Real | None = None,
        grid: Sequence[float] | None = None,
    ) -> SessionAnswer:
        """The median of `column`. `epsilon`, `by`, `bounds`, `step`, `grid`: as in `quantile`."""
        return self.quantile(column, as_fraction(0.5), epsilon, by=by, bounds=bounds, step=step, grid=grid)

    def top(
        self,
        column: str,
        k: int,
        epsilon: Real | None = None,
        *,
        by: str | None = None,
        bins: Bins | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """The `k` most frequent values of `column`, most frequent first.

        `epsilon`, `bins`, `allow_no_noise`: as in `ask`; `by`: a public column."""
        return self.ask(
            Question.parse(f"top({column}, {k})" + ("" if by is None else f" by {by}")),
            epsilon,
            bins=bins,
            allow_no_noise=allow_no_noise,
        )


def _condition(kind: str, equals: Mapping[str, object], by: str | None) -> Question:
    if len(equals) != 1:
        raise UsageError(f"{kind} takes one column=value, got {len(equals)}; ask for several one by one, or a crosstab")
    ((column, value),) = equals.items()
    return Question(kind, (column,), str(value), by=by)
