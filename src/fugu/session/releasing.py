"""From a charged question to its answer: the one place where numbers of the private table meet noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from fugu.data.private import Private
from fugu.errors import RequestReused, UsageError
from fugu.guarantee import Pure
from fugu.guarantee.numbers import plain
from fugu.guarantee.promises import PUBLIC, called_exact
from fugu.queries.asking import Plan
from fugu.queries.cell import Cell
from fugu.queries.drawing import cells_of, draw
from fugu.queries.noised import EXACT, Noised
from fugu.queries.statistic import Question
from fugu.queries.table_belief import TableBelief
from fugu.session.answers import SessionAnswer
from fugu.session.books import Books, charge_for
from fugu.session.noise import room_for
from fugu.telling.usefulness import RANKS, usable_of_question

Drawn = dict[str, list[int]]
_TURNS = 4
_LEAST_RATE = Fraction(1, 2**50)


def released(
    books: Books,
    private: Private,
    request: str,
    plans: Sequence[Plan],
    noise: Callable[[], list[Noised]],
    public: Sequence[str] = (),
) -> list[SessionAnswer]:
    """Find the request, or find its noise and charge it; then draw, once, and show what was drawn.

    `public`: columns that become public with it, besides those that it is asked by."""
    for turn in range(_TURNS):
        stored, before = books.find(request), books.spent()
        found = noise() if stored is None else stored
        _require_drawable(found)
        try:
            drawn = books.spend(request, charge_for(found, public), lambda: _drawn(books.belief, private, found))  # noqa: B023
            break
        except RequestReused:  # somebody else asked the same between the look and the charge
            if turn + 1 == _TURNS:
                raise
    after = books.spent()
    cost = Fraction(0) if stored is not None else max(after - before, Fraction(0))
    most = sum((q.most for q in found), Fraction(0))
    return [
        _shown(books, private, plan, asked, values, cost * asked.most / most)
        for plan, asked, values in zip(plans, found, drawn, strict=True)
    ]


def _require_drawable(questions: Sequence[Noised]) -> None:
    """Refuse, before anything is charged, noise that is wider than can be drawn."""
    for asked in questions:
        if any(rate < _LEAST_RATE for rates in asked.rates.values() for rate in rates):
            raise UsageError(f"the noise of {asked.query} would be wider than can be drawn; give it a larger share")


def sizes(books: Books, private: Private, asked: Question) -> SessionAnswer:
    """Numbers of rows, which are public. Who asks for groups declares them known: earlier answers are priced anew for
    those who know them, and that is entered in the books, at an epsilon of 0."""
    before = books.spent()
    if asked.by is not None:
        found = books.belief.groups.of(asked.by).sizes
        room_for(books, [asked.by])
        books.spend(f"sizes by {asked.by}", charge_for([], [asked.by]), lambda: 0)
    else:
        found = {"": len(private)}
    cells = tuple(Cell(group, "", float(n), float(n), float(n), 0.0) for group, n in found.items())
    after = books.spent()
    cost = Pure(plain(max(after - before, Fraction(0))))
    return SessionAnswer(asked, cells, cost, Fraction(0), *_both(books), 0.0, f"{PUBLIC}; numbers of rows cost nothing")


def _both(books: Books) -> tuple[Pure, Pure, Pure, Pure]:
    """Spent and left under the beliefs, what all answers promise against anybody, and the cap."""
    return *books.amounts(), Pure(plain(books.worth().any_belief)), Pure(plain(books.cap))


def _drawn(belief: TableBelief, private: Private, questions: Sequence[Noised]) -> list[Drawn]:
    """What is drawn for questions that are charged, group by group."""
    found = []
    for asked in questions:
        grouping = None if asked.by is None else belief.groups.of(asked.by)
        names: tuple[str, ...] = ("",) if grouping is None else grouping.names
        rows = np.zeros(len(private), dtype=np.int64) if grouping is None else grouping.rows
        assert rows is not None  # the books of an open table
        found.append(dict(zip(names, draw(asked, belief.reading, private.table, rows, names), strict=True)))
    return found


def _shown(books: Books, private: Private, plan: Plan, asked: Noised, drawn: Drawn, cost: Fraction) -> SessionAnswer:
    belief = books.belief
    rows: Mapping[str, int] = {"": len(private)} if asked.by is None else belief.groups.of(asked.by).sizes
    lacking = [f.columns[0] for f in asked.features if not set(f.columns) <= set(belief.table.columns)]
    notes = [RANKS] if asked.kind == "quantile" else []
    notes += [f"the reference lacks column {lacking[0]!r}: its epsilon is charged in full"] if lacking else []
    notes += [called_exact(asked.exact)] if asked.exact > EXACT else []
    cells = cells_of(asked, drawn, rows)
    return SessionAnswer(
        plan.question,
        cells,
        Pure(plain(cost)),
        asked.most,
        *_both(books),
        asked.exact,
        "; ".join(notes),
        usable_of_question(asked, rows, belief.pricing(() if asked.by is None else (asked.by,)).laws),
    )
