"""From a question to its answer: a method for each kind, names of requests, rehearsals, the charge before the draw."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data.private import Private
from fugu.documents.document import canonical_json
from fugu.documents.sentences import protected
from fugu.errors import ColumnNotFound, RequestReused, UsageError
from fugu.guarantee import Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import PUBLIC, both, called_exact
from fugu.mechanism.per_entry import PerEntryDP
from fugu.mechanism.release import PerEntryRelease
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.numbers.text import SECRET
from fugu.queries.answer import SessionAnswer, answered, cells_of, counted
from fugu.queries.features import Feature, Whole, ranged, whole
from fugu.queries.groups import Grouping
from fugu.queries.kinds import OUTSIDE, QUANTILE, Bins, Cell
from fugu.queries.record_proofs import StatedLaw
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.statistic import EXACT, NoisedQuestion, QuestionPlan, StatisticQuestion
from fugu.session.allocation import room_for
from fugu.session.books import (
    SessionBooks,
    charge_for,
    require_within,
)
from fugu.session.checks import RANKS, usable_of_question, usable_of_records, with_intervals
from fugu.utility.usable import GROUPS, RowsFor, Usable
from fugu.visible import several

# From a charged question to its answer: the one place where numbers of the private table meet noise.


_TURNS = 4
_LEAST_RATE = Fraction(1, 2**50)


def released(
    books: SessionBooks,
    private: Private,
    request: str,
    plans: Sequence[QuestionPlan],
    noise: Callable[[], list[NoisedQuestion]],
    public: Sequence[str] = (),
) -> list[SessionAnswer]:
    """Find the request, or find its noise and charge it; then draw, once, and show what was drawn.

    `public`: columns that become public with it, besides those that it is asked by."""
    belief = books.belief
    for turn in range(_TURNS):
        stored, before = books.find(request), books.spent()
        found = noise() if stored is None else stored
        for asked in found:  # refused before anything is charged
            if any(rate < _LEAST_RATE for rates in asked.rates.values() for rate in rates):
                raise UsageError(f"the noise of {asked.query} would be wider than can be drawn; give it a larger share")

        groupings = [belief.groups.of(asked.by) for asked in found]
        numbers = [] if stored is not None else _counted(found, private, groupings)  # before it is charged: it may fail

        def produce() -> list[dict[str, list[int]]]:
            there = numbers or _counted(found, private, groupings)  # noqa: B023
            return [answered(q, n, g.names) for q, n, g in zip(found, there, groupings, strict=True)]  # noqa: B023

        try:
            drawn = books.spend(request, charge_for(found, public), produce)
            break
        except RequestReused:  # somebody else asked the same between the look and the charge
            if turn + 1 == _TURNS:
                raise
    after, stand = books.spent(), books.standing()
    cost = Fraction(0) if stored is not None else max(after - before, Fraction(0))
    most, answers = sum((q.most for q in found), Fraction(0)), []
    for plan, asked, values in zip(plans, found, drawn, strict=True):
        rows = belief.groups.of(asked.by).sizes
        laws = belief.pricing(() if asked.by is None else (asked.by,)).laws
        lacking = [f.columns[0] for f in asked.features if not set(f.columns) <= set(belief.table.columns)]
        notes = [*ranged(belief.reading, belief.table, asked.features)]
        notes += [f"the reference lacks column {lacking[0]!r}: its epsilon is charged in full"] if lacking else []
        notes += [called_exact(asked.exact)] if asked.exact > EXACT else []
        usable = usable_of_question(asked, rows, laws)
        own = (Pure(plain(cost * asked.most / most)), asked.most)
        cells = with_intervals(asked, cells_of(asked, values, rows), rows, laws)
        notes += [RANKS] if asked.kind == QUANTILE and not all(math.isnan(cell.low) for cell in cells) else []
        answers.append(SessionAnswer(plan.question, cells, *own, *stand, asked.exact, "; ".join(notes), usable))
    return [replace(answer, secret=_secret(books)) for answer in answers]


def _secret(books: SessionBooks) -> str:
    """What is secret, in words; a predicate in code has no name."""
    protect = books.belief.spec.json
    return SECRET if protect is None else protected({"protect": protect})


def _counted(
    questions: Sequence[NoisedQuestion], private: Private, groupings: Sequence[Grouping]
) -> list[NDArray[np.int64]]:
    """The numbers before noise of each question."""
    return [counted(asked, private, grouping) for asked, grouping in zip(questions, groupings, strict=True)]


def sizes(books: SessionBooks, asked: StatisticQuestion) -> SessionAnswer:
    """Numbers of rows, which are public. Who asks for groups declares them known: earlier answers are priced anew for
    those who know them, and that is entered in the books, at an epsilon of 0."""
    before = books.spent()
    found = books.belief.groups.of(asked.by).sizes
    if asked.by is not None:
        room_for(books, [asked.by])
        books.spend(f"sizes by {asked.by}", charge_for([], [asked.by]), lambda: 0)
    cells = tuple(Cell(group, "", float(n), float(n), float(n), 0.0) for group, n in found.items())
    after = books.spent()
    cost = Pure(plain(max(after - before, Fraction(0))))
    return SessionAnswer(
        asked, cells, cost, Fraction(0), *books.standing(), 0.0, f"{PUBLIC}; numbers of rows cost nothing",
        secret=_secret(books),
    )  # fmt: skip


# A release as it would be: its noise found and everything proved, with nothing charged, drawn or opened.


@final
@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal:
    """What several questions would be: `questions` with their noise, the `books` of the session after them, the
    `request` under which they are charged, None if nothing is, and whether it was `answered` before. No private row was
    read for it: `rows` says for how many it is."""

    questions: tuple[NoisedQuestion, ...]
    books: SessionBooks
    request: str | None
    answered: bool
    rows: RowsFor

    @cached_property
    def certificate(self) -> RecordsCertificate:
        """What the session would promise."""
        return certificate_of(self.books)

    @property
    def basis(self) -> str:
        """For how many rows it is, and where its groups come from, in words."""
        return f"{self.rows}; {GROUPS}" if any(kind.groups for kind in self.books.worth().types) else str(self.rows)

    @cached_property
    def usable(self) -> Usable:
        """How usable the answers would be, beside what the reference says of them: see `fugu.usable`."""
        return usable_of_records(self.certificate, self.books.belief.pricing(()).laws, self.questions)

    def __repr__(self) -> str:
        worth = self.books.worth()
        after = both(Pure(plain(worth.spent)), worth.any_belief)
        told = "answered before" if self.answered else "nothing charged or drawn"
        return f"Rehearsal({several(len(self.questions), 'question')}, {told}, {after} with all before)"


def rehearsed(
    books: SessionBooks,
    rows: RowsFor,
    request: str | None,
    noise: Callable[[], list[NoisedQuestion]],
    public: Sequence[str] = (),
) -> Rehearsal:
    """The session as it would be after a request; `BudgetExceeded` where the budget does not allow it.

    `rows`: for how many; `request`: its name, None if it asks for public numbers only; `noise`: what finds the noise of
    its questions; `public`: columns that become public with it."""
    stored = None if request is None else books.find(request)
    if request is None or stored is not None:
        return Rehearsal(tuple(stored or ()), books, request, stored is not None, rows)
    questions = noise()
    charge = charge_for(questions, public)
    after = books.beside(charge)
    require_within(books, exact(charge.guarantee.epsilon), after.worth())
    return Rehearsal(tuple(questions), after, request, False, rows)


def certificate_of(books: SessionBooks) -> RecordsCertificate:
    """What the session promises as its books are now, with all laws and proofs, sealed."""
    belief = books.belief
    asked = belief.read(books.charges())
    worth, questions, apart = belief.worth(asked), asked.questions, asked.apart
    pricing, types = belief.pricing(asked.by), belief.groups.types(asked.by)
    features = pricing.modelled(questions)
    known: dict[int, tuple[StatedLaw, dict[tuple[tuple[str, str], ...], None]]] = {}
    for groups, _, charges in pricing.charged(questions, types, features, apart):
        for who, law in pricing.laws_of(types, groups, charges, features) or ():
            known.setdefault(id(law), (law, {}))[1][who] = None
    return RecordsCertificate.issue(
        budget=books.budget,
        cap=books.cap if worth.any_belief <= books.cap else None,  # a ledger of before 0.4 may hold more already
        spent=plain(worth.spent), any_belief=worth.any_belief, elsewhere=apart, protect=belief.spec.json,
        secrets=tuple(belief.masks), skipped=belief.skipped, unit=belief.unit, schema=belief.reading,
        columns=belief.table.columns, types=worth.types, questions=questions,
        laws=[replace(law, known=tuple(dict(who) for who in several)) for law, several in known.values()],
        proofs=pricing.proofs(worth.jobs, {law: place for place, law in enumerate(known)}, worth.spent),
        ranged=ranged(belief.reading, belief.table, (feature for asked in questions for feature in asked.features)),
    )  # fmt: skip


# Mechanisms from outside that are private for each record, charged to a session with the columns they read.


_FAILED = "failed"


def outside(
    books: SessionBooks, private: Private, mechanism: PerEntryDP, columns: Sequence[str], request: str | None
) -> PerEntryRelease:
    """Charge the mechanism for the columns, then run it on them as they were read."""
    names = tuple(dict.fromkeys(columns))
    for name in names:
        if name not in private.columns:
            raise ColumnNotFound(name, private.columns)
    belief, features = books.belief, list[Feature]()
    for name in names:
        known = whole(belief.reading, belief.table, name) if name in belief.table.columns else np.zeros(1)
        features.append(Whole(name, len(np.unique(known))))
    rates = {"": (exact(mechanism.guarantee.epsilon),)}  # its epsilon where the columns differ
    noised = NoisedQuestion(f"outside: {mechanism.name}", OUTSIDE, None, tuple(features), OUTSIDE, rates)
    table = replace(private, columns=names).table
    data = {name: whole(private.schema, table, name) for name in names}

    def produce() -> PerEntryRelease | dict[str, str]:
        try:
            return mechanism.release(data[names[0]] if len(names) == 1 else data, charged=True)
        except UsageError as failure:  # that it failed is an answer too: run again, it would be a second one
            return {_FAILED: str(failure)}

    found = books.spend(request or uuid.uuid4().hex, charge_for([noised]), produce)
    if isinstance(found, dict):
        raise UsageError(found[_FAILED])
    return found


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


def request_of(what: str, plans: Sequence[QuestionPlan], epsilon: Fraction | None, more: object = None) -> str:
    """One name for one question with its options: asked again, it is the same request."""
    told = [[str(p.question), [f.to_json() for f in p.features], p.law, [str(s) for s in p.shares]] for p in plans]
    text = canonical_json([what, told, None if epsilon is None else str(epsilon), more])
    return f"{what} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
