"""`SessionAnswer`: the released numbers of one question of a session, what they cost, and what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from fugu.data.kinds import Column, Kind, KindName
from fugu.data.sources import FrameLike
from fugu.drawing.figure import Figure
from fugu.drawing.plots import intervals
from fugu.drawing.sheet import Sheet
from fugu.drawing.shown import Shown
from fugu.errors import UsageError
from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact, plain
from fugu.guarantee.promises import UNCHARGED, both, called_exact
from fugu.queries.answered import columns_of
from fugu.queries.cell import Cell
from fugu.queries.noised import EXACT
from fugu.queries.statistic import Question
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

    question: Question
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
    came: Kind = field(default=Kind(), compare=False)

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

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, Column]:
        """The numbers as a frame, one row each: group and cell where there are any, value, low and high.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the kind of the table that
        was asked, or, if that was a file, the first of pandas, polars and pyarrow that is installed."""
        found: FrameLike | dict[str, Column] = self.came.frame(columns_of(self.cells), kind)
        return found

    def plot(self) -> Figure:
        """Every released number in the interval that holds the exact one with 95 %: a figure for notebooks.

        A number without an interval (a quantile) is drawn alone. Raises `UsageError` where no number was released."""
        known = [cell for cell in self.cells if math.isfinite(cell.value)]
        named = [", ".join(filter(None, (cell.group, cell.cell))) or str(self.question) for cell in known]
        ends = [(c.value, c.value) if math.isnan(c.low) else (c.low, c.high) for c in known]
        title = f"{self.question}: published values, each with an interval for the exact one"
        return intervals(title, str(self.question), named, [cell.value for cell in known], ends)

    def _sheet(self) -> Sheet:
        columns = columns_of(self.cells)
        left = plain(max(exact(self.cap.epsilon) - exact(self.anybody.epsilon), Fraction(0)))
        facts = [("asked", str(self.question)), ("cost", both(self.cost, self.own)),
                 ("spent in all", both(self.spent, self.anybody)), ("left", both(self.remaining, left))]  # fmt: skip
        notes = ["low and high: the exact number lies between them with 95 %", *filter(None, [self.note])]
        facts += [("verdict", self.usable.verdict)] if self.usable.figures else []
        said = (called_exact(self.exact),) if self.exact > EXACT else ()
        return Sheet("Answer", facts, tuple(columns), list(zip(*columns.values(), strict=True)), notes, said)

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
