"""Which published answers of a session lie far from what its reference makes plausible; all of it is public."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from fugu.data.weak import cut_cells, few_rows
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real
from fugu.queries.features import Coded, Placed
from fugu.queries.noised import LAPLACE, Noised
from fugu.queries.session_certificate import noised_in
from fugu.queries.statistic import Question
from fugu.queries.table_belief import TableBelief
from fugu.session.answers import SessionAnswer
from fugu.session.session import Session
from fugu.telling.usefulness import rows_in, unit_of
from fugu.utility.plausible import CHANCE, Counted, Expected, Plausible

_KINDS: Final = ("count", "proportion", "sum", "mean", "histogram", "crosstab")
_MOST: Final = 200
"""Numbers of one answer that are looked at."""


def implausible(session: Session, answers: Sequence[SessionAnswer]) -> tuple[str, ...]:
    """One sentence for each published number that lies far outside: a function of it, its noise and the reference."""
    certificate, belief = session.certificate, session._belief
    known = {asked.query: asked for asked in noised_in(certificate)}
    said = []
    for answer in answers:
        asked = known.get(str(answer.question))
        if asked is None or asked.law != LAPLACE or asked.kind not in _KINDS:
            continue
        for cell in answer.cells[:_MOST]:
            name = ", ".join(filter(None, (asked.query, cell.group, cell.cell)))
            expected = _expected(belief, asked, rows_in(certificate, asked.by, cell.group), cell.group, cell.cell)
            said.append(None if expected is None else expected.said(name, cell.value))
    return tuple(sentence for sentence in said if sentence is not None)


def weak_reference(session: Session, questions: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """What is to be said of the reference before anything is asked: few rows for a secret, bounds that cut much of it.

    `questions`: as `Session.ask_all` takes them, each a dict."""
    belief = session._belief
    bounds: dict[str, tuple[Real, Real] | None] = {}
    for asked in questions:
        for name in Question.parse(str(asked["query"])).columns:
            bounds[name] = cast("tuple[Real, Real] | None", asked.get("bounds"))
    few = few_rows({secret: int(mask.sum()) for secret, mask in belief.masks.items()})
    return (*few, *cut_cells(session._facts.reference, belief.reading, bounds))


def _expected(belief: TableBelief, asked: Noised, rows: int, group: str, cell: str) -> Plausible | None:
    """What the reference says of a number; None where no row of it is in the group, or lacks the column."""
    first, here = asked.features[0], _rows(belief, asked.by, group)
    if here is None or group not in asked.rates or any(name not in belief.table.columns for name in first.columns):
        return None
    codes = first.of(belief.reading, belief.table).astype(np.float64)
    parts = [codes[mask & here] for mask in belief.masks.values() if (mask & here).any()]
    if not parts:
        return None
    unit, reference = unit_of(asked, rows), sum(map(len, parts))
    noise = Laplace(1 / asked.rates[group][0], grid=1).quantile
    if isinstance(first, Placed) and cell not in first.labels:
        return None
    if isinstance(first, Placed) or asked.kind in ("count", "proportion"):
        wanted = first.labels.index(cell) if isinstance(first, Placed) else 1
        laws = [(float((part == wanted).sum()), float(len(part))) for part in parts]
        return Counted.of(laws, rows, unit, noise)
    means, spread = [float(part.mean()) for part in parts], max(float(part.std()) for part in parts)
    low = float(first.coding.low) * (1 if asked.kind == "mean" else rows) if isinstance(first, Coded) else 0.0
    ends = (low + rows * unit * min(means), low + rows * unit * max(means))
    reach = noise(1 - CHANCE / 2) * unit
    return Expected(*ends, spread, rows * unit, rows, reference, reach) if math.isfinite(spread) else None


def _rows(belief: TableBelief, by: str | None, group: str) -> NDArray[np.bool_] | None:
    """The rows of the reference in a group; all without groups, None where it does not have the column."""
    if by is None:
        return np.ones(len(belief.table), dtype=bool)
    known = belief.groups.of(by).known
    return None if known is None else np.asarray(known == group, dtype=bool)
