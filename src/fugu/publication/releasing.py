"""`release_column`, `answer`: releases of a private table from Python, charged as the command charges them;
`ReleaseAccount`: what a release is charged to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from fugu.data import Schema, Table
from fugu.data.frame import FrameKind, TableLike
from fugu.data.private import Private, open_private
from fugu.data.secrets import ProtectLike
from fugu.documents.release import OTHER_PEOPLE, ReleaseDocument
from fugu.errors import AlreadyReleased, BudgetRefused, FuguError, NotComposable, UsageError
from fugu.files import discard
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.composition import UNCHARGED, both
from fugu.ledger import Books, Ledger, Marks, books, fingerprints
from fugu.ledger.books import standing
from fugu.ledger.charge import LAW, Charge, Chargeable, read_mechanism
from fugu.ledger.frames import opened_marks
from fugu.ledger.keys import LedgerLike, Place, ledger_for
from fugu.ledger.store import LockedView
from fugu.mechanism import Mechanism, Release
from fugu.numbers.exact import Real
from fugu.publication.drafts import Content, Draft, drafted_for, holds, kept_for
from fugu.publication.files import Files
from fugu.queries.answer import Answer
from fugu.queries.features import Placed, coarse_said
from fugu.queries.kinds import Cell
from fugu.queries.law_price import LawPrice
from fugu.queries.statistic import StatisticQuestion
from fugu.scenario.query import ColumnQuery, persons_in, require_one_row_each
from fugu.visible import Json


@dataclass(frozen=True)
class ReleaseAccount:
    """Which budget of which data a release is charged to, and under which name."""

    ledger: Place
    request: str
    budget: Guarantee
    data: str
    unit: str | None = None
    others: tuple[str, ...] = ()
    """The column that names the person; data sets of other people, by the user's word."""

    def spend(self, private: Private, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """Charge the release of this table, run `produce` after that, once, and return what is stored for the request.

        The ledger recognises the table by its rows, its columns and its people, whatever it is called."""
        return self.charge(opened_marks(private, self.unit), mechanism, produce)

    def marks(self, whole: Table, schema: Schema) -> Marks:
        """What a table of which all columns are given is recognised by."""
        return fingerprints(whole, persons_in(whole, schema, self.unit))

    def charge(self, marks: Marks, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """The same for a table that is recognised by these marks."""
        if read_mechanism(mechanism)[0].kind == LAW:
            self.require_law()
        with self.opened(marks) as ledger:
            try:
                return ledger.spend(self.request, mechanism, produce)
            except NotComposable as refusal:
                raise BudgetRefused(str(refusal)) from None

    def opened(self, marks: Marks, prior: Any = None) -> Ledger:
        """The ledger, for data that is recognised by these marks."""
        return Ledger(
            self.ledger, self.budget, data=self.data, prior=prior, fingerprint=marks, other_people=self.others
        )

    def named(self, request: str) -> ReleaseAccount:
        """The same account for another request: a session names its requests by their questions."""
        return replace(self, request=request)

    def kept_by_law(self) -> bool:
        """Whether the ledger knows this request from the law route, or has the data from that route under a budget that
        is not pure."""
        if self.budget.renyi or self.knows(self.request):
            return True
        known = None if isinstance(self.budget, Pure) else standing(self.ledger, self.data)
        return known is not None and known.by_law

    def knows(self, request: str) -> bool:
        """Whether the ledger has this request of the data."""
        return Books(self.ledger).find(LockedView.request, self.data, request) is not None

    def require_law(self) -> None:
        """Refuse a table that was asked questions charged to each record: what both promise together is not known."""
        known = standing(self.ledger, self.data)
        if known is None or known.known.prior is None:
            return
        raise BudgetRefused(
            f"{self.data!r} was asked statistics that are charged to each record, and what they promise together with "
            "a column, a model of dependent rows or a statistic on the law route is not known, so none of these can "
            "follow. Further statistics can (fugu release --query, on the records route), and models of independent "
            "rows"
        )

    def entry(self) -> Json:
        """What a release document says of the charge: the entry in the ledger, by the hash of its event."""
        kept = Books(self.ledger)
        found = kept.read(books.settled, self.data, self.request)
        assert found is not None  # a value is returned only after it is settled
        apart = kept.read(books.Standing.of, self.data).known.apart
        stated = {OTHER_PEOPLE: list(apart)} if apart else {}
        return {**self.told(), "entry": found.hash, "at": found.at, **stated}

    def all_of_it(self, believes: str) -> dict[str, str]:
        """What all requests of the data promise together, as the ledger has it, and what is left; in words."""
        found = Books(self.ledger).read(lambda view: books.accounts(view, books.history(view, self.data)))
        (own,) = (each for each in found if each.own.name == self.data)
        worth = own.worth and both(own.worth, own.anybody, believes, own.whom)
        return {name: said for name, said in (("all requests together", worth), ("left", own.rest)) if said}

    def told(self) -> dict[str, str]:
        """For certificates and summaries; the place of the ledger stays with the user."""
        return {"request": self.request, "data": self.data}


def drawn_once(
    account: ReleaseAccount, mechanism: Mechanism, marks: Marks, target: Path, rows: int, content: Callable[[], Content]
) -> Draft:
    """Charge the release and draw it into a file or a folder; for a request that was answered before, that answer.

    Of a column that went out the ledger keeps the SHA-256, the number of rows and the place, never the values. It
    stores the name and the digest of the draft when the request is settled: only what was settled is ever published.
    Whatever breaks on the way, the same request finds that very draft again, and nothing is drawn a second time."""

    named = account.ledger.absolute() if isinstance(account.ledger, Path) else account.ledger
    whose = json.dumps([str(named), account.data, account.request])

    def produce() -> dict[str, Any]:
        draft = drafted_for(whose, target, content)
        return {"file": str(target.absolute()), "draft": draft.file.name, "sha256": draft.sha256, "rows": rows}

    receipt = account.charge(marks, mechanism, produce)
    stored = Path(receipt["file"])
    for draft in kept_for(whose, target):  # of a run that was killed, where a later one went elsewhere
        if draft.name != receipt["draft"]:
            discard(draft)
    for place in (target, stored.with_name(receipt["draft"]), stored):
        if holds(place, receipt["sha256"]):
            return Draft(place, target, receipt["sha256"], kept=True)
    raise AlreadyReleased(
        f"request {account.request!r} was answered before, with a file of {receipt['rows']} rows that is no longer "
        "where it was written, or was changed. A ledger keeps the SHA-256 of a column and not its values, and nothing "
        "is drawn twice: put the file back"
    )


def released_before(files: Files, account: ReleaseAccount, request: str | None) -> bool:
    """Whether the files are a whole release that the ledger knows, of this request or, where None, of any."""
    if not all(file.exists() for file in files.all()):
        return False
    try:
        document = ReleaseDocument.load(files.certificate)
        stated = document["ledger"]
        if stated is None or stated["data"] != account.data or request not in (None, stated["request"]):
            return False
        same = holds(files.published, document.bound)
        return same and account.named(stated["request"]).entry() == dict(stated)
    except (FuguError, OSError, AssertionError, KeyError, TypeError):
        return False


@dataclass(frozen=True)
class Through:
    """The books for an estimator: its training is charged to an account, and recognised by all of the table."""

    account: ReleaseAccount
    whole: Table
    schema: Schema

    def recognise(self, data: Any) -> None:
        """What is trained on is a part of the table, which the account is opened with."""

    def spend(self, request: str, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """Under the account's own request, and not the estimator's."""
        del request
        return self.account.charge(self.account.marks(self.whole, self.schema), mechanism, produce)


def open_column(mechanism: Mechanism, table: TableLike) -> Private:
    """The private table, opened for this mechanism and checked for what is public: its columns and its unit."""
    stored, schema = mechanism.context.query, mechanism.context.schema
    if stored is None or schema is None:
        raise UsageError(
            "this mechanism was made for bare laws; apply your own query and call mechanism.release(values)"
        )
    unit = mechanism.context.person
    private = open_private(table, Schema.from_json(schema), [stored["publish"]], [] if unit is None else [unit])
    if unit is not None:
        require_one_row_each(private.table, unit)
    return private


def release_private(mechanism: Mechanism, private: Private, *, allow_no_noise: bool = False) -> Release:
    """Release the column of a table that `open_column` opened."""
    column = ColumnQuery.from_json(mechanism.context.query or {}).of_private(private)
    return mechanism.release(column, allow_no_noise=allow_no_noise, already_mapped=True)


def release_column(
    mechanism: Mechanism,
    table: TableLike,
    *,
    allow_no_noise: bool = False,
    ledger: LedgerLike = None,
    data: str | None = None,
) -> Release:
    """Release the column that a mechanism was calibrated for, once, without files (`fugu.release` writes them).

    - `mechanism`: one calibrated for a scenario from a table. `table`: the private table: a path, a dict of columns, or
      a frame. `allow_no_noise`: True to publish exact values where the beliefs alone meet the budget.
    - `ledger`: the file that is charged. None is the user's own where the table is a file, as on the command line
      (`FUGU_LEDGER`, else the platform's data folder), and none otherwise; False is none, which the release says. The
      ledger keeps the released column: the same mechanism for the same table, made again in whatever process, reads it
      back. Afterwards it refuses every other release of the table: what two of them promise together is not known.
    - `data`: the name of the table in the ledger, in the user's own that of the file unless given. Its budget is the
      one it has there, else the mechanism's.

    Returns a `Release`, whose `to_frame` gives a frame of the kind of `table`. Raises `AlreadyReleased`,
    `NoiselessRelease`, `PriorNotPublic`; `UsageError` for a mechanism that was made for bare laws; `BadTable` for a
    table without the column; `BudgetRefused`, `BudgetExceeded`, `DataKnown` from the ledger.

    Only the published column and the unit's column are looked at, and by the ledger all, to know the table again. No
    cell of the published column is refused; a unit that is missing or repeats is, since it is declared public, without
    saying where or how often."""
    if not isinstance(mechanism, Mechanism):
        raise UsageError(
            f"release_column takes a mechanism from calibrate, then the table: got {type(mechanism).__name__} first"
        )
    if not allow_no_noise:
        mechanism.require_noise()  # what is refused whatever the table holds is refused before it is opened
    books, came = ledger_for(table, ledger, data), FrameKind.of(table)
    private = open_column(mechanism, table)

    def draw() -> Release:
        return release_private(mechanism, private, allow_no_noise=allow_no_noise)

    if books is None:
        return replace(draw(), came=came, note=UNCHARGED)
    name, unit = str((mechanism.context.query or {})["publish"]), mechanism.context.person
    released: Release = _charged(books, name, mechanism, mechanism.guarantee, unit, private, draw)
    return replace(released, came=came)


def answer(
    table: TableLike,
    query: str | StatisticQuestion,
    protect: ProtectLike,
    budget: Pure | Approx,
    reference: TableLike,
    by: str | None = None,
    bounds: tuple[Real, Real] | None = None,
    step: Real | None = None,
    bins: Sequence[float] | None = None,
    allow_no_noise: bool = False,
    public_prior: bool = False,
    unit: str | None = None,
    *,
    schema: Schema | None = None,
    missing: str | float | None = None,
    ledger: LedgerLike = None,
    data: str | None = None,
) -> Answer:
    """Release one statistic, which closes the table, without files (`fugu.release` writes them).

    It is priced by the law of its total; statistics that leave the table open are those of a `Session`. Hidden is what
    `protect` says of each record, from adversaries who believe in `reference`.

    Parameters:

    - `table`: the private table: a path, a dict of columns, or a frame; `reference`: a public one of the same kind.
    - `protect`: as in `Scenario.from_table`. `query`: "mean(chol)", "sum(chol)", "count(smoker=yes)", "histogram(age)"
      or "crosstab(ward, sex)".
    - `budget`: `Pure` or `Approx`. `bins`: the edges of a histogram of numbers.
    - `by`: a public column; one answer per group of it. `unit`: a public column that names the person.
    - `bounds`, `step`: the range of a summed column and the step it is rounded to; None: the reference's range.
    - `allow_no_noise`: True to publish exact numbers where the beliefs alone hide each record's secret.
    - `public_prior`: True if the reference is the table itself and counts as public knowledge.
    - `schema`: how records are read, completed by the reference; `missing`: what a missing cell of the query's columns
      counts as.
    - `ledger`, `data`: which ledger is charged, and under which name, as in `release_column`: the user's own where the
      table is a file. The same question again is read back; any other release of the table is refused.

    Returns an `Answer`. Raises `NotProvable` where no noise is proved, `NoiselessRelease`, `PriorNotPublic`, and
    `UsageError`, `BadBudget` or `BadTable` for arguments that make no sense; `BudgetRefused` from the ledger.

    >>> clinic = {"sex": ["F", "M"] * 20, "age": [30, 50, 40, 60] * 10, "ward": ["a"] * 40}
    >>> last_year = {"sex": ["F", "M"] * 30, "age": [35, 50, 40, 60] * 15}
    >>> found = answer(clinic, "mean(age)", "sex", Pure(1), reference=last_year, by="ward", bounds=(0, 100))
    >>> [cell.group for cell in found.cells]
    ['a']
    """
    books = ledger_for(table, ledger, data)
    price = LawPrice.of(
        reference, query, protect, budget, by, bounds, step, bins, public_prior, unit, schema, missing
    )  # fmt: skip
    noised = replace(price.open(table), silent=allow_no_noise)
    sizes, feature = noised.grouping.sizes, price.feature

    def draw() -> list[list[Any]]:
        return [list(astuple(cell)) for cell in noised.release()]

    what = (str(noised.question), Charge.of_groups(budget, by, noised.certificates))
    drawn = draw() if books is None else _charged(books, *what, budget, unit, noised.opened, draw)
    cells, said = tuple(Cell(*cell) for cell in drawn), () if books is not None else (UNCHARGED,)
    if not public_prior and bins is None:  # what rounding moves beside the intervals, on the public reference
        said = (*said, *coarse_said(str(noised.question), feature, price.reading, price.known))
    axes = tuple((axis.column, axis.names) for axis in feature.axes) if isinstance(feature, Placed) else ()
    came = FrameKind.of(table)
    return Answer(
        noised.question, cells, noised.mechanisms, price.recipe(sizes), axes=axes, came=came, note="; ".join(said)
    )


def _charged(
    books: tuple[Place, str], what: str, mechanism: Chargeable, budget: Guarantee, unit: str | None, private: Private,
    draw: Callable[[], Any],
) -> Any:  # fmt: skip
    """What is drawn, and charged; or what was, for the same question. What is refused is refused before it is charged.

    The request is named by a digest of the question, which no version of fugu changes."""
    place, name = books
    request = f"{what} {read_mechanism(mechanism)[1][:16]}"
    known = standing(place, name)
    account = ReleaseAccount(place, request, budget if known is None else known.budget, name, unit)
    drawn = None if account.knows(request) else draw()
    return account.spend(private, mechanism, lambda: draw() if drawn is None else drawn)
