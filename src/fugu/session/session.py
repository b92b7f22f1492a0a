"""`Session`: many questions about one private table under one budget."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, Self, final

from fugu.data import Schema
from fugu.data.kinds import Kind
from fugu.data.secrets import ProtectLike
from fugu.data.sources import TableLike
from fugu.documents.records import RecordsCertificate
from fugu.errors import AlreadyReleased, ColumnNotFound, UsageError
from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact, plain
from fugu.mechanism.entry_release import PerEntryRelease
from fugu.mechanism.once import process
from fugu.mechanism.per_entry import PerEntryDP
from fugu.numbers.exact import Real, number
from fugu.queries.asking import Bins, Options, Plan, plan_of
from fugu.queries.noised import Noised
from fugu.queries.session_certificate import certificate_of
from fugu.queries.session_state import SessionState
from fugu.queries.statistic import Question
from fugu.session.allocation import allotted
from fugu.session.answers import SessionAnswer
from fugu.session.books import Books, InMemory, OnDisk
from fugu.session.kinds import Kinds
from fugu.session.noise import least_noise
from fugu.session.opening import open_table, require_pure
from fugu.session.outside import outside
from fugu.session.rehearsal import Rehearsal, rehearsed
from fugu.session.releasing import amounts, released, sizes
from fugu.session.requests import item_of, request_of
from fugu.session.state import state_of
from fugu.telling.usefulness import usable_of_records
from fugu.utility.usable import Usable


@final
class Session(Kinds):
    """Ask a private table many questions; each is priced together with all before it, before anything is drawn.

    The secret is an attribute of one record. Adversaries believe that the record's columns follow the law of the
    `reference` given its secret, and given its public groups; they may know all other records. Records are independent.
    All answers together promise `spent()`, which is at most `budget`, whatever was asked after which answer. Against
    any other belief with independent records they promise the sum of the questions' own epsilons.

    Parameters:

    - `table`: the private table: a path, a dict of columns, or a frame; `reference`: a public one, never the same.
    - `protect`: what is secret about each record, as in `Scenario.from_table`.
    - `budget`: `Pure`, for everything that this session will ever answer.
    - `schema`: how records are read, completed by the reference; it also declares columns that the reference lacks.
    - `unit`: the column that names the person; it must not repeat.
    - `public`: columns that everybody knows of each record, such as its ward. A column that a question is asked `by` is
      public too, from then on; said here, every question is priced for those who know it from the beginning.
    - `ledger`: the file that keeps the books across sessions and processes; None keeps them in memory. `data`: the name
      of the table in the ledger.

    Raises `BadBudget`, `BadTable`, `UsageError`, `PriorNotPublic`, `RepeatedUnit`; with a ledger also `DataKnown`.

    A session belongs to the process that opened it: it cannot be stored or sent elsewhere, and a fork cannot use it.

    >>> last_year = {"ill": ["y", "n"] * 100, "age": [60, 40, 50, 45] * 50, "ward": ["a", "b", "b", "a"] * 50}
    >>> today = {"ill": ["n", "y"] * 40, "age": [50, 45] * 40, "ward": ["a"] * 80}
    >>> session = Session(today, last_year, "ill", Pure(1))
    >>> session.ask("count").value
    80.0
    >>> asked = session.mean("age", bounds=(0, 100), epsilon=0.5)
    >>> asked.cells[0].low <= asked.value <= asked.cells[0].high, float(session.spent().epsilon) <= 0.5
    (True, True)
    """

    def __init__(
        self,
        table: TableLike,
        reference: TableLike,
        protect: ProtectLike,
        budget: Pure,
        *,
        schema: Schema | None = None,
        unit: str | None = None,
        public: Sequence[str] = (),
        ledger: str | os.PathLike[str] | None = None,
        data: str | None = None,
    ) -> None:
        allowed = require_pure(budget)
        if data is not None and ledger is None:
            raise UsageError("data is the name of the table in a ledger; give ledger=FILE too")
        opened = open_table(table, reference, protect, schema, unit)
        self._private, self._belief, self._came = opened.private, opened.belief, Kind.of(table)
        self._books: Books = (
            InMemory(opened.belief, allowed)
            if ledger is None
            else OnDisk.open(ledger, allowed, data or "data", opened.belief, opened.private)
        )
        self._lock, self._born = threading.RLock(), process()
        if isinstance(public, str):
            raise UsageError("public is a list of columns")
        for name in public:
            known = Question("count", by=name)
            self._not_the_person(known)
            sizes(self._books, self._private, known)

    @property
    def budget(self) -> Pure:
        """The most that all answers together may promise away."""
        return self._books.budget

    def spent(self) -> Pure:
        """What all answers so far promise together, proved."""
        self._here()
        with self._lock:
            return Pure(plain(self._books.spent()))

    def remaining(self) -> Pure:
        """The budget minus what is spent."""
        return amounts(exact(self.spent().epsilon), self.budget)[1]

    def ask(
        self,
        question: str | Question,
        epsilon: Real | None = None,
        *,
        bounds: tuple[Real, Real] | None = None,
        step: Real | None = None,
        bins: Bins | None = None,
        grid: Sequence[float] | None = None,
    ) -> SessionAnswer:
        """Answer one question, with the least noise that keeps what is spent within `epsilon` of what it was.

        - `question`: such as "mean(chol) by ward"; kinds are count, proportion, sum, mean, variance, histogram,
          crosstab, quantile, median and top.
        - `epsilon`: how far the question may raise `spent()`; None is a tenth of the budget, or what is left of it.
        - `bounds`, `step`: the range of a number and the step it is rounded to. `bins`: edges of a histogram of
          numbers. `grid`: the values that a quantile may have.

        The same question with the same options gets the same answer again, for nothing. Raises `BudgetExceeded`."""
        asked = question if isinstance(question, Question) else Question.parse(question)
        with self._lock:
            self._here()
            if asked.sized:
                self._not_the_person(asked)
                return self._like(sizes(self._books, self._private, asked))
            plan = self._plan(asked, Options(bounds, step, bins, grid))
            told = None if epsilon is None else number(epsilon, "epsilon")
            request = request_of("ask", [plan], told)
            noise = lambda: least_noise(self._books, plan, told)  # noqa: E731
            return self._like(released(self._books, self._private, request, [plan], noise)[0])

    def ask_all(
        self,
        questions: Sequence[str | Mapping[str, object]],
        epsilon: Real | None = None,
        weights: Sequence[Real] | str | None = None,
    ) -> list[SessionAnswer]:
        """Answer several questions together: all of them are charged at once, and none of them if they do not fit.

        - `questions`: each a text, or a dict with "query" and the options of `ask`.
        - `epsilon`: how far all of them together may raise `spent()`; None is what is left of the budget.
        - `weights`: one positive number each, the shares of their own epsilons; None for equal ones; "error" for the
          least sum of relative errors, estimated on the reference."""
        with self._lock:
            self._here()
            plans, public, request, noise = self._together(questions, epsilon, weights)
            each = iter(released(self._books, self._private, request, plans, noise, public) if plans else ())
            asked = [item_of(item)[0] for item in questions]
            told = (sizes(self._books, self._private, one) if one.sized else next(each) for one in asked)
            return [self._like(answer) for answer in told]

    def _like(self, answer: SessionAnswer) -> SessionAnswer:
        """The answer, which knows of what kind the table was."""
        return replace(answer, came=self._came)

    def spend(self, mechanism: PerEntryDP, columns: Sequence[str], *, request: str | None = None) -> PerEntryRelease:
        """Run a mechanism from outside that is private for each record on columns of the table, and charge it.

        - `mechanism`: a `PerEntryDP` with a pure epsilon; it gets the column as it was read (an array), or a dict of
          arrays for several. Private means: for the replacement of one record, on the full product domain.
        - `columns`: those that it gets; it must look at nothing else of the table.
        - `request`: a name for it, under which the same release is read back; None is a new release every time."""
        with self._lock:
            self._here()
            return outside(self._books, self._private, mechanism, columns, request)

    @property
    def state(self) -> SessionState:
        """Everything public about the session now: what it was asked, what it believes, and the proofs."""
        with self._lock:
            self._here()
            return state_of(self._books, len(self._private))

    @property
    def certificate(self) -> RecordsCertificate:
        """What all answers so far promise together, with the proof, sealed; `fugu.verify` checks it."""
        return certificate_of(self.state)

    @property
    def usable(self) -> Usable:
        """How usable the answers so far are, beside what the reference says of them: see `fugu.usable`."""
        return usable_of_records(self.certificate)

    def rehearse(
        self,
        questions: Sequence[str | Mapping[str, object]],
        epsilon: Real | None = None,
        weights: Sequence[Real] | str | None = None,
    ) -> Rehearsal:
        """What `ask_all` would do with these arguments: its noise and its proof. Nothing is charged or drawn.

        `questions`, `epsilon`, `weights`: as in `ask_all`."""
        with self._lock:
            self._here()
            plans, public, request, noise = self._together(questions, epsilon, weights)
            return rehearsed(self._books, len(self._private), request if plans else None, noise, public)

    def _together(
        self,
        questions: Sequence[str | Mapping[str, object]],
        epsilon: Real | None,
        weights: Sequence[Real] | str | None,
    ) -> tuple[list[Plan], list[str], str, Callable[[], list[Noised]]]:
        """The plans of those questions that cost something, the columns whose sizes are asked for and which are thereby
        public for all of them, the name of the request, and what finds its noise."""
        if isinstance(questions, str) or not questions:
            raise UsageError("questions is a list of at least one question")
        items = [item_of(item) for item in questions]
        for asked, _ in items:
            self._not_the_person(asked)
        plans = [self._plan(asked, options) for asked, options in items if not asked.sized]
        public = sorted({asked.by for asked, _ in items if asked.sized and asked.by is not None})
        told = None if epsilon is None else number(epsilon, "epsilon")
        shown = weights if weights is None or isinstance(weights, str) else [str(w) for w in weights]
        request = request_of("ask all", plans, told, [shown, public])
        return plans, public, request, lambda: allotted(self._books, plans, told, weights, public)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "a session holds a private table and its books, so it cannot be stored or sent to another process; open "
            "one there on the same ledger"
        )

    def __repr__(self) -> str:
        return f"Session({len(self._private)} rows, {self.budget!r})"

    def _here(self) -> None:
        """Refuse to work in a fork: each process would draw anew."""
        if self._born != process():
            raise AlreadyReleased(
                "this session was opened before a fork, and only the process that opened it may ask: each process "
                "would draw anew. Open a session in the process that asks, on a ledger that they share"
            )

    def _not_the_person(self, question: Question) -> None:
        """Refuse to ask about the column that names the person, or by it: its cells are people, not values."""
        unit = self._belief.unit
        if unit is not None and unit in (*question.columns, question.by):
            raise UsageError(f"column {unit!r} names the person; nothing is asked about it, or by it")

    def _plan(self, question: Question, options: Options) -> Plan:
        """How the question will be answered; refused for columns that the table does not have, which is public."""
        found = plan_of(question, self._belief.reading, self._belief.table, options)
        if Question.parse(str(question)) != question:
            raise UsageError(
                "a column or value of the question cannot be written down: no commas or line breaks in them"
            )
        self._not_the_person(question)
        for name in question.columns:
            if name not in self._private.table.columns:
                raise ColumnNotFound(name, self._private.table.columns)
        if question.by is not None:
            self._belief.groups.of(question.by)
        return found
