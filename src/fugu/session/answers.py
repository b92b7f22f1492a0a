"""`SessionAnswer`: the released numbers of one question of a session, what they cost, and what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from fugu.errors import UsageError
from fugu.guarantee import Pure
from fugu.queries.cell import Cell
from fugu.queries.statistic import Question
from fugu.visible import Json, brief


@final
@dataclass(frozen=True, repr=False)
class SessionAnswer:
    """All released numbers of one question.

    `question`: what was asked. `cells`: one `Cell` per number, with its 95 % interval from `low` to `high`; these are
    NaN for quantiles, whose error is one of ranks, and for the top cell, whose count is not released. `cost`: how much
    the question has raised what the session has spent. `own`: its own epsilon for each record, the largest of all
    groups: what it costs against any belief with independent records. `spent`, `remaining`: of the session, after it.
    `note`: what else is to be said."""

    question: Question
    cells: tuple[Cell, ...]
    cost: Pure
    own: Fraction
    spent: Pure
    remaining: Pure
    note: str = ""

    @property
    def value(self) -> float:
        """The one number of the answer; `UsageError` if there are several."""
        if len(self.cells) != 1:
            raise UsageError(f"the answer has {len(self.cells)} numbers; look at its cells")
        return self.cells[0].value

    def to_json(self) -> Json:
        """The answer in JSON types; what is not known is null."""
        told = [
            {"group": c.group, "cell": c.cell, **{k: _known(getattr(c, k)) for k in ("value", "low", "high", "scale")}}
            for c in self.cells
        ]
        amounts = {name: float(getattr(self, name).epsilon) for name in ("cost", "spent", "remaining")}
        return {"query": str(self.question), "cells": told, **amounts, "own": float(self.own), "note": self.note}

    def __repr__(self) -> str:
        cost = f"{float(self.cost.epsilon):.4g}"
        return f"SessionAnswer({brief(str(self.question))}, {len(self.cells)} numbers, cost {cost})"


def _known(x: float) -> float | None:
    return None if math.isnan(x) else x
