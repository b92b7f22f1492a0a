"""`Session`: many questions about one private table under one budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn, Self, final

from fugu.checking import Check, checked
from fugu.data import Schema
from fugu.data.frame import FrameKind, TableLike
from fugu.data.private import Private
from fugu.data.secrets import ProtectLike
from fugu.errors import AlreadyReleased, BadBudget, ColumnNotFound, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import UNCHARGED
from fugu.ledger.accountant import Terms
from fugu.ledger.charge import stated_others
from fugu.ledger.keys import LedgerLike, ledger_for
from fugu.ledger.registration import Opening, known_cap
from fugu.mechanism.per_entry import PerEntryDP
from fugu.mechanism.release import PerEntryRelease, process
from fugu.numbers.exact import Real
from fugu.progress import in_sight
from fugu.queries.answer import SessionAnswer
from fugu.queries.groups import ExpectedGroups, require_column
from fugu.queries.kinds import Bins, Options
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.statistic import NoisedQuestion, QuestionPlan, StatisticQuestion, plan_of, question_told
from fugu.session.allocation import allotted, least_noise, read_weights
from fugu.session.books import (
    FOLD,
    LedgerBooks,
    Opened,
    SessionBooks,
    allowance,
    cap_of,
    charge_for,
    items_of,
    open_session,
    public_facts,
    require_pure,
)
from fugu.session.checks import usable_of_records
from fugu.session.release import (
    Kinds,
    Rehearsal,
    certificate_of,
    outside,
    rehearsed,
    released,
    request_of,
    sizes,
)
from fugu.shown import Shown
from fugu.utility.usable import Usable
from fugu.visible import Json, brief


@final
class Session(Kinds, Shown):
    """Ask a private table many questions, one by one, without files (`fugu.release` asks all at once and writes them).

    Each is priced together with all before it, before anything is drawn.

    The secret is an attribute of one record. Adversaries believe that the record's columns follow the law of the
    `reference` given its secret, and given its public groups; they may know all other records. Records are independent.
    All answers together promise `spent()`, which is at most `budget`, whatever was asked after which answer. Against
    anybody, with any other belief about independent records, they promise `anybody()`, which is at most `cap`: the sum
    of the questions' own epsilons, ordinary differential privacy for each record.

    Parameters:

    - `table`: the private table: a path, a dict of columns, or a frame. It is opened by the first question that is
      answered, and by nothing before. `reference`: a public one, never the same.
    - `protect`: what is secret about each record, as in `Scenario.from_table`.
    - `budget`: `Pure`, for everything that this session will ever answer; in a ledger that trainings share, `Approx`.
    - `cap`: the epsilon against anybody, for everything that it will ever answer: a number above 0, five times the
      budget unless given. A cap below the budget is what binds first. A question takes as large a part of it, at most,
      as its epsilon is of the budget.
    - `schema`: how records are read, completed by the reference; it also declares columns that the reference lacks.
    - `unit`: the column that names the person; it must not repeat. A ledger then knows who is in the table, as digests
      under its key: whoever is in several tables has one budget for all of them.
    - `public`: columns that everybody knows of each record, such as its ward. A column that a question is asked `by` is
      public too, from then on; said here, every question is priced for those who know it from the beginning.
    - `rows`: the public number of rows of the table, for rehearsals, which do not open it; None takes the reference's.
      A table that has another number is refused, before anything is charged.
    - `ledger`: the file that keeps the books across sessions and processes. None is the user's own where the table is a
      file, as on the command line (`FUGU_LEDGER`, else the platform's data folder), and none otherwise; False is none.
      Without one the books are kept in memory, which the first answer says. `data`: the name of the table in the
      ledger, in the user's own that of the file unless given. `other_people`: names of data sets in it whose people
      are others than those of this table, whatever their ids or rows say: your word, which the ledger records and
      documents print.

    Raises `BadBudget`, `BadTable`, `UsageError`; the first question also what is wrong with the table (`BadTable`,
    `PriorNotPublic`, `RepeatedUnit`) and with the ledger (`DataKnown`), in this order, before anything is charged.

    A session belongs to the process that opened it: it cannot be stored or sent elsewhere, and a fork cannot use it.

    >>> last_year = {"ill": ["y", "n"] * 100, "age": [60, 40, 50, 45] * 50, "ward": ["a", "b", "b", "a"] * 50}
    >>> today = {"ill": ["n", "y"] * 40, "age": [50, 45] * 40, "ward": ["a"] * 80}
    >>> session = Session(today, last_year, "ill", Pure(1))
    >>> session.ask("count").value
    80.0
    >>> asked = session.mean("age", bounds=(0, 100), epsilon=0.5)
    >>> asked.cells[0].low <= asked.value <= asked.cells[0].high, float(session.spent().epsilon) <= 0.5
    (True, True)
    >>> session.cap, float(session.anybody().epsilon) <= 2.5
    (Pure(epsilon=5), True)
    """

    def __init__(
        self,
        table: TableLike,
        reference: TableLike,
        protect: ProtectLike,
        budget: Pure | Approx,
        *,
        cap: Real | None = None,
        schema: Schema | None = None,
        unit: str | None = None,
        public: Sequence[str] = (),
        rows: int | None = None,
        ledger: LedgerLike = None,
        data: str | None = None,
        other_people: Sequence[str] = (),
    ) -> None:
        others = stated_others(other_people)
        place, name = ledger_for(table, ledger, data) or (None, "data")
        allowed, most = require_pure(budget, place is not None), cap_of(cap)
        if isinstance(public, str):
            raise UsageError("public is a list of columns")
        self._belief, self._rows = public_facts(reference, protect, schema, unit, rows)
        self._table, self._public, self._seen, self._ledger, self._data = table, tuple(public), None, place, name
        known = most
        if known is None and place is not None:
            known = known_cap(Opening(place, name, Terms(allowed, self._belief, None)))
        books = self._belief, Pure(allowed.epsilon), FOLD * exact(allowed.epsilon) if known is None else known
        self._books = SessionBooks(*books)
        if place is not None:
            named = {"path": place, "data": name, "allowed": allowed, "asked": most, "others": others}
            self._books = LedgerBooks(*books, **named)  # type: ignore[arg-type]
        self._lock, self._born = threading.RLock(), process()
        self._said = False
        self._certified: tuple[object, RecordsCertificate] | None = None
        for column in public:
            require_column(public=column)
            self._public_groups(StatisticQuestion("count", by=column))

    _seen: Opened | None

    @property
    def budget(self) -> Pure:
        """The most that all answers together may promise away."""
        return self._books.budget

    @property
    def cap(self) -> Pure:
        """The most that all answers together may promise away against anybody."""
        return Pure(plain(self._books.cap))

    def anybody(self) -> Pure:
        """What all answers so far promise together against anybody: the sum of their own epsilons."""
        self._here()
        with self._lock:
            return Pure(plain(self._books.worth().any_belief))

    def spent(self) -> Pure:
        """What all answers so far promise together, proved."""
        self._here()
        with self._lock:
            return self._books.amounts()[0]

    def remaining(self) -> Pure:
        """The budget minus what is spent; less where people are in another table, of whose budget less is left."""
        self._here()
        with self._lock:
            return self._books.amounts()[1]

    def ask(
        self,
        question: str | StatisticQuestion,
        epsilon: Real | None = None,
        *,
        bounds: tuple[Real, Real] | None = None,
        step: Real | None = None,
        bins: Bins | None = None,
        grid: Sequence[float] | None = None,
        allow_no_noise: bool = False,
    ) -> SessionAnswer:
        """Answer one question, with the least noise that keeps what is spent within `epsilon` of what it was.

        - `question`: such as "mean(chol) by ward"; kinds are count, proportion, sum, mean, variance, histogram,
          crosstab, quantile, median and top.
        - `epsilon`: how far the question may raise `spent()`; None is a tenth of the budget, or what is left of it. It
          may raise `anybody()` by the same part of the cap.
        - `bounds`, `step`: the range of a number and the step it is rounded to; None is the reference's range, rounded
          outward to the step, which the answer's `note` says. `bins`: edges of a histogram of numbers, likewise.
          `grid`: the values that a quantile may have.
        - `allow_no_noise`: True for the least noise even if it is 0 with probability above one half; the answer is then
          called exact. Otherwise noise is at least such that this probability is one half.

        The same question with the same options gets the same answer again, for nothing. Raises `BudgetExceeded`."""
        asked = question if isinstance(question, StatisticQuestion) else StatisticQuestion.parse(question)
        with in_sight("the least noise"), self._lock:
            self._here()
            if asked.sized:
                self._public_groups(asked)
                self._open([asked])
                return self._like(sizes(self._books, asked))
            plan = self._plan(asked, Options(bounds, step, bins, grid))
            told = allowance(epsilon)
            private = self._open([asked])
            request = request_of("ask", [plan], told, "no noise" if allow_no_noise else None)
            noise = lambda: least_noise(self._books, plan, told, allow_no_noise)  # noqa: E731
            return self._like(released(self._books, private, request, [plan], noise)[0])

    def ask_all(
        self,
        questions: str | Sequence[str | Mapping[str, object]],
        epsilon: Real | None = None,
        weights: Sequence[Real] | str | None = None,
        *,
        allow_no_noise: bool = False,
    ) -> list[SessionAnswer]:
        """Answer several questions together: all of them are charged at once, and none of them if they do not fit.

        - `questions`: each a text, or a dict with "query" and the options of `ask`; a text alone is
          a line of them, as `--query` takes it.
        - `epsilon`: how far all of them together may raise `spent()`; None is what is left of the budget, and of the
          cap.
        - `weights`: how much each error counts, one positive number w each: the least sum of w^2 / (own epsilon) under
          budget and cap is looked for. Where all cost alike, own epsilons are in proportion to the weights. None for
          equal ones; "error" for the least sum of relative errors, estimated on the reference.
        - `allow_no_noise`: as in `ask`."""
        with in_sight("the least noise"), self._lock:
            self._here()
            plans, public, request, noise = self._together(questions, epsilon, weights, allow_no_noise)
            asked = [one for one, _ in items_of(questions)]
            private = self._open(asked)
            find = partial(noise, self._books)
            each = iter(released(self._books, private, request, plans, find, public) if plans else ())
            told = (sizes(self._books, one) if one.sized else next(each) for one in asked)
            return [self._like(answer) for answer in told]

    def _like(self, answer: SessionAnswer) -> SessionAnswer:
        """The answer, which knows of what kind the table was; the first one says so where no ledger is charged."""
        said, self._said = self._said, True
        notes = [answer.note, *([] if said or self._ledger is not None else [UNCHARGED])]
        return replace(answer, came=FrameKind.of(self._table), note="; ".join(filter(None, notes)))

    def spend(self, mechanism: PerEntryDP, columns: Sequence[str], *, request: str | None = None) -> PerEntryRelease:
        """Run a mechanism from outside that is private for each record on columns of the table, and charge it.

        - `mechanism`: a `PerEntryDP` with a pure epsilon; it gets the column as it was read (an array), or a dict of
          arrays for several. Private means: for the replacement of one record, on the full product domain.
        - `columns`: those that it gets; it must look at nothing else of the table.
        - `request`: a name for it, under which the same release is read back; None is a new release every time."""
        with self._lock:
            self._here()
            if not isinstance(mechanism, PerEntryDP):
                raise UsageError(f"a session runs a fugu.PerEntryDP, got {type(mechanism).__name__}")
            if not mechanism.guarantee.pure:
                raise BadBudget(
                    "a session takes mechanisms with a pure epsilon; one with a delta needs a ledger of its own"
                )
            if isinstance(columns, str) or not columns:
                raise UsageError("columns is a list of the columns that the mechanism gets, at least one")
            private = self._open([])
            return outside(self._books, private, mechanism, columns, request)

    @property
    def certificate(self) -> RecordsCertificate:
        """What all answers so far promise together, with the proof, sealed; `fugu.verify` checks it.

        Raises `UsageError` before the first answer: the table is not open, and nothing is to be said of it."""
        with self._lock:
            self._here()
            if not self._books.opened and not self._books.charges():
                raise UsageError("nothing was answered yet, so nothing is certified; rehearse shows what would be")
            self._open([])  # answered before, in another process: what is said of it is public already
            now = self._books.charges(), self._books.cap
            if self._certified is None or self._certified[0] != now:
                self._certified = now, certificate_of(self._books)
            return self._certified[1]

    @property
    def usable(self) -> Usable:
        """How usable the answers so far are, beside what the reference says of them: see `fugu.usable`."""
        return self.usable_of(None)

    def usable_of(self, rehearsed: Rehearsal | None) -> Usable:
        """The same of the answers to what was rehearsed alone; None is all of them."""
        told = () if rehearsed is None else (rehearsed.questions,)
        return usable_of_records(self.certificate, self._belief.pricing(()).laws, *told)

    def rehearse(
        self,
        questions: str | Sequence[str | Mapping[str, object]],
        epsilon: Real | None = None,
        weights: Sequence[Real] | str | None = None,
        *,
        allow_no_noise: bool = False,
    ) -> Rehearsal:
        """What `ask_all` would do with these arguments: its noise and its proof. Nothing is charged or drawn, and no
        private row is read: it is for the declared `rows` and the groups of the reference, which `basis` says. Columns
        that earlier answers were asked by are public, and their groups are those that were answered.

        `questions`, `epsilon`, `weights`, `allow_no_noise`: as in `ask_all`."""
        with in_sight("the least noise"), self._lock:
            self._here()
            plans, public, request, noise = self._together(questions, epsilon, weights, allow_no_noise)
            looked = self._looked()
            return rehearsed(looked, self._rows, request if plans else None, partial(noise, looked), public)

    def answered(
        self,
        questions: str | Sequence[str | Mapping[str, object]],
        epsilon: Real | None = None,
        weights: Sequence[Real] | str | None = None,
        *,
        allow_no_noise: bool = False,
    ) -> bool:
        """Whether `ask_all` with these arguments was charged before, so that it would be read back for nothing.

        `questions`, `epsilon`, `weights`, `allow_no_noise`: as in `ask_all`."""
        with self._lock:
            self._here()
            plans, _, request, _ = self._together(questions, epsilon, weights, allow_no_noise)
            return bool(plans) and self._books.find(request) is not None

    def check(self) -> Check:
        """How the private table was read, and what of it is in the reference: for its owner's eyes, not to publish.

        Nothing is charged. Whoever changes the questions because of it steps outside the promise."""
        with self._lock:
            self._here()
            seen = self._look()
            named = {"ledger": self._ledger, "data": self._data, "known_by": seen.marks}
            return checked(seen.private, self._belief.groups.reference, self._belief.unit, **named)  # type: ignore[arg-type]

    def _together(
        self,
        questions: str | Sequence[str | Mapping[str, object]],
        epsilon: Real | None,
        weights: Sequence[Real] | str | None,
        allow_no_noise: bool,
    ) -> tuple[list[QuestionPlan], list[str], str, Callable[[SessionBooks], list[NoisedQuestion]]]:
        """The plans of those questions that cost something, the columns whose sizes are asked for and which are thereby
        public for all of them, the name of the request, and what finds its noise, in which books."""
        items = items_of(questions)
        for asked, _ in items:
            self._public_groups(asked)
        plans = [self._plan(asked, options) for asked, options in items if not asked.sized]
        public = sorted({asked.by for asked, _ in items if asked.sized and asked.by is not None})
        told = allowance(epsilon)
        read_weights(weights, len(plans))
        shown = weights if weights is None or isinstance(weights, str) else [str(w) for w in weights]
        request = request_of("ask all", plans, told, [shown, public, *(["no noise"] if allow_no_noise else [])])
        noise = lambda books: allotted(books, plans, told, weights, public, allow_no_noise)  # noqa: E731
        return plans, public, request, noise

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "a session holds a private table and its books, so it cannot be stored or sent to another process; open "
            "one there on the same ledger"
        )

    def to_json(self) -> Json:
        """Amounts in epsilon, and the questions that were answered; nothing is read for it but the books."""
        amounts = {"budget": self.budget, "cap": self.cap, "spent": self.spent(), "anybody": self.anybody()}
        asked = self.certificate.questions if self._books.opened else ()
        return {
            **{name: float(amount.epsilon) for name, amount in amounts.items()},
            "remaining": float(self.remaining().epsilon), "data": None if self._ledger is None else self._data,
            "questions": [question_told(question) for question in asked],
        }  # fmt: skip

    def __repr__(self) -> str:
        books = "no ledger" if self._ledger is None else f"charged as {brief(self._data)}"
        table = "table not opened" if self._seen is None else f"{len(self._seen.private)} rows"
        return f"Session({table}, {self.budget!r}, cap {float(self._books.cap):g}, {books})"

    def _here(self) -> None:
        """Refuse to work in a fork: each process would draw anew."""
        if self._born != process():
            raise AlreadyReleased(
                "this session was opened before a fork, and only the process that opened it may ask: each process "
                "would draw anew. Open a session in the process that asks, on a ledger that they share"
            )

    def _look(self) -> Opened:
        """The table, for what is about to be answered, or for its owner's eyes; read once."""
        if self._seen is None:
            self._seen = open_session(self._belief, self._rows, self._table)
        return self._seen

    def _open(self, questions: Sequence[StatisticQuestion]) -> Private:
        """The table, for questions that are about to be answered, and its books; what is wrong with the table is said
        before the ledger is asked, and both before anything is charged."""
        private, belief = (seen := self._look()).private, seen.belief
        for question in questions:
            for name in question.columns:
                if name not in private.columns:
                    raise ColumnNotFound(name, private.columns)
        for name in (*self._public, *(q.by for q in questions if q.by is not None)):
            belief.groups.of(name)
        if not self._books.opened:
            kept = self._books.open(seen)
            for name in self._public:  # declared public: booked when the table is opened
                sizes(kept, StatisticQuestion("count", by=name))
            self._books = kept
        return private

    def _looked(self) -> SessionBooks:
        """The books as a rehearsal sees them; what was declared public counts as booked before any answer."""
        self._books.require_terms()
        declared = () if self._books.opened else (charge_for([], [name]) for name in self._public)
        books, groups = self._books.beside(*declared), self._belief.groups
        assert isinstance(groups, ExpectedGroups)  # those of the reference
        seen = groups.after(books.charges(), None if self._seen is None else self._seen.belief.groups)
        return replace(books, belief=self._belief.with_groups(seen))

    def _public_groups(self, question: StatisticQuestion) -> None:
        """Refuse to ask about the column that names the person, or by it: its cells are people, not values; and by one
        that tells the secret."""
        unit = self._belief.unit
        if unit is not None and unit in (*question.columns, question.by):
            raise UsageError(f"column {unit!r} names the person; nothing is asked about it, or by it")
        if question.by is not None:
            self._belief.groups.of(question.by)

    def _plan(self, question: StatisticQuestion, options: Options) -> QuestionPlan:
        """How the question will be answered, from public facts."""
        found = plan_of(question, self._belief.reading, self._belief.table, options)
        if StatisticQuestion.parse(str(question)) != question:
            raise UsageError(
                "a column or value of the question cannot be written down: no commas or line breaks in them"
            )
        self._public_groups(question)
        return found
