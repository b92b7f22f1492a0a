"""`SessionAnswer` and the questions of a session as methods, one for each kind; all of them go through `ask`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from fugu.data.frame import FrameKind, FrameLike, KindName, PublishedColumn
from fugu.errors import UsageError
from fugu.guarantee import Pure
from fugu.guarantee.composition import UNCHARGED, both
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.answer import columns_of
from fugu.queries.kinds import Bins, Cell
from fugu.queries.noised_question import EXACT
from fugu.queries.statistic import StatisticQuestion
from fugu.shown import Shown
from fugu.utility.usable import Usable
from fugu.visible import Json, brief, several


@final
@dataclass(frozen=True, repr=False)
class SessionAnswer(Shown):
    """All released numbers of one question.

    `question`: what was asked. `cells`: one `Cell` per number, with its 95 % interval from `low` to `high`; these are
    NaN for quantiles, whose error is one of ranks, and for the top cell, whose count is not released. `cost`: how much
    the question has raised what the session has spent. `own`: its own epsilon for each record, the largest of all
    groups: what it costs against anybody. `spent`, `remaining`: of the session, after it. `anybody`: what all answers
    so far promise against anybody, of `cap`. `exact`: the probability that a number went out without noise; above one
    half it is called exact. `note`: what else is to be said. `usable`: figures and a verdict beside what the
    reference says, never worked out on the private table. `came`: of which kind the table was."""

    question: StatisticQuestion
    cells: tuple[Cell, ...]
    cost: Pure
    own: Fraction
    spent: Pure
    remaining: Pure
    anybody: Pure
    cap: Pure
    exact: float
    note: str = ""
    usable: Usable = field(default=Usable((), "", why="numbers of rows are public, and exact"), compare=False)
    came: FrameKind = field(default=FrameKind(), compare=False)

    @property
    def public(self) -> bool:
        """Whether its numbers are exact because whoever asked has declared them to be known: numbers of rows."""
        return self.question.sized

    @property
    def value(self) -> float:
        """The one number of the answer; `UsageError` if there are several."""
        if len(self.cells) != 1:
            raise UsageError(f"the answer has {several(len(self.cells), 'number')}; look at its cells")
        return self.cells[0].value

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, PublishedColumn]:
        """The numbers as a frame, one row each: group and cell where there are any, value, low and high.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the kind of the table that
        was asked, or, if that was a file, the first of pandas, polars and pyarrow that is installed."""
        found: FrameLike | dict[str, PublishedColumn] = self.came.frame(columns_of(self.cells), kind)
        return found

    def to_json(self) -> Json:
        """The answer in JSON types; what is not known is null."""
        told = [
            {"group": c.group, "cell": c.cell, **{k: _known(getattr(c, k)) for k in ("value", "low", "high", "scale")}}
            for c in self.cells
        ]
        amounts = {
            name: float(getattr(self, name).epsilon) for name in ("cost", "spent", "remaining", "anybody", "cap")
        }
        return {
            "query": str(self.question), "cells": told, **amounts, "own": float(self.own), "exact": self.exact,
            "public": self.public,
            "promise": both(self.cost, self.own), "note": self.note, "usable": self.usable.to_json(),
        }  # fmt: skip

    def __repr__(self) -> str:
        count, called = len(self.cells), ", public" if self.public else ", exact" if self.exact > EXACT else ""
        numbers = f"{count} number{'' if count == 1 else 's'}{called}"
        books = ", no ledger" if UNCHARGED in self.note else ""
        return f"SessionAnswer({brief(str(self.question))}, {numbers}, cost {both(self.cost, self.own)}{books})"


def _known(x: float) -> float | None:
    return None if math.isnan(x) else x


Bounds = tuple[Real, Real]


class Kinds(ABC):
    """One method for each kind of question."""

    @abstractmethod
    def ask(
        self,
        question: str | StatisticQuestion,
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
