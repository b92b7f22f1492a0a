"""From a question to its release: what is asked is checked, named in the ledger (the one that is given, else the user's
own: one request, one draw), and goes out by its route. What every release goes through: pages are made, the owner looks
at the table, files are written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import fugu
from fugu.checking import checked
from fugu.checking.check import OUTSIDE, OWNER, Check, require_public
from fugu.data import Schema, Table
from fugu.data.layout import PLAIN
from fugu.data.private import Private
from fugu.documents.document import Document
from fugu.documents.release import ReleaseDocument, is_name
from fugu.documents.sentences import ON_THE_TERMINAL
from fugu.documents.sign_off import SignOff, declared
from fugu.errors import CertificateError, FuguError, UnknownName, UsageError
from fugu.files import check_apart, check_folder, file_name, parts_of, plain_name, require_place
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import UNCHARGED
from fugu.ledger.books import standing
from fugu.ledger.keys import own_ledger, place_of
from fugu.numbers.exact import as_fraction, read_number
from fugu.progress import unhurried
from fugu.publication.column import require_form
from fugu.publication.drafts import Draft, drafted, holds, unfinished
from fugu.publication.files import Beliefs, Files, Outgoing, preview, publish
from fugu.publication.releasing import ReleaseAccount, released_before
from fugu.queries.statistic import split
from fugu.question import COLUMN, LAW, PROPERTY, RECORDS, SEQUENCES, SIGN_OFF, STATISTICS, Question
from fugu.releasing import options
from fugu.releasing.blocks import LOUD, NOTE, Block, Listener, Text, label_warnings
from fugu.releasing.complete import require_complete
from fugu.releasing.options import named
from fugu.releasing.outcome import Forecast, Publication
from fugu.releasing.scenario_file import Booking, Delivery
from fugu.utility.usable import GROUPS, RowsFor, Usable
from fugu.visible import Json

CLOSES = (
    "this closes the table: what two such releases promise together is not known, so afterwards the ledger refuses "
    "every other release of the same data, statistics included"
)
"""Said before a column, a statistic on the law route or statistics that hide a share go out."""
CLOSES_UNSEEN = (
    "this closes the table: what two such releases promise together is not known, and without a ledger nothing will "
    "refuse a second one: release nothing else of the same data, statistics included"
)
UNSEEN = (
    "the verdict is on noise alone: how many cells of the table could be read stands in {}, under "
    '"check", for its owner\'s eyes only; fugu check says it in words'
)
"""Said where nobody looked at the table, whatever was seen of it."""
_FILES = ("reference", "table", "schema")
DRAWS = 500_000
"""Draws of an attack whose result stands on a page."""
UNNAMED = "a table that is not named yet"


@dataclass(frozen=True)
class Dispatch:
    """A question on its way out.

    `account`: what is charged, None for nothing; `data`: the name of the table in ledger and certificate; `delivery`:
    what is made before and after the draw; `listener`: who is told what before that; `why`: why by the law route, where
    nobody asked for that; `frame`: the private table, where it is a Spark frame and no file; `sign_off`: who answers
    for the choices."""

    question: Question
    account: ReleaseAccount | None
    files: Files
    data: str
    delivery: Delivery
    listener: Listener
    why: str = ""
    frame: Any = None
    sign_off: SignOff | None = None
    total: Guarantee | None = None
    """The budget of all requests, where it is stated."""
    read: ReleaseAccount | None = None
    """Of a dry run, the account in a ledger that knows the table: it is read, and nothing is charged."""
    charged: dict[str, str] | None = None
    """Under which request and data it is charged, or would be; None without a ledger."""
    planned: Json = field(default_factory=dict)
    """What the release document would say, as "body", and what makes the "page" to sign."""

    @property
    def rehearses(self) -> bool:
        """Whether something is shown before the table is opened."""
        return self.delivery.dry_run or self.delivery.report is not None or self.sign_off is not None

    @cached_property
    def schema(self) -> Schema | None:
        """What the columns mean, as declared."""
        return options.schema(self.question.schema, self.question.no_header)

    @cached_property
    def known(self) -> Table | None:
        """The reference as it stands, read once; None where the table is its own, which then counts as public."""
        reference = self.question.reference
        return None if reference is None else (self.schema or Schema({})).open(reference)

    @property
    def table(self) -> str:
        """The private table: whatever is no dry run was refused without it."""
        return str(self.question.table)

    @property
    def closes(self) -> str:
        """That nothing else can follow, and who sees to it."""
        return CLOSES_UNSEEN if self.account is None and not self.delivery.dry_run else CLOSES

    def outgoing(self, certificates: Mapping[str, Any], rows: int | None, recipe: Json | None, **more: Any) -> Outgoing:
        """What goes out, as far as it is known before the draw."""
        question = self.question
        stated = Beliefs() if question.by_hand else None
        return Outgoing(
            certificates=dict(certificates), table=question.table or UNNAMED, data=self.data, rows=rows, recipe=recipe,
            beliefs=stated or Beliefs.fitted_on(question.reference, question.public_reference), sign_off=self.sign_off,
            **more,
        )  # fmt: skip

    def tell(self, blocks: Iterable[Block]) -> None:
        """Say what is good to know before anything is charged."""
        for block in blocks:
            self.listener.hear(block)

    def sign(
        self, going: Outgoing, usable: Usable | None = None, remarks: Sequence[str] = (), opened: bool = False
    ) -> fugu.Audit | None:
        """The page to sign: see `signed`. Of a table that is `opened` it is not written."""
        report = None if opened else self.delivery.report
        audit, body, page = signed(going, report, self.delivery.attack, usable, remarks)
        self.planned.update(body=body, page=page)
        if not self.delivery.dry_run:
            page()  # what is wrong with it is found before anything is drawn
        if report is not None:
            self.listener.hear(Text(f"wrote {report}", NOTE, stated=True))
        return audit

    def look(
        self, private: Private, unit: str | None = None, size: int | None = None,
        known: Callable[[], Table | None] | None = None,
    ) -> Json | None:  # fmt: skip
        """The owner's look at the open table, or at some rows of a table of this `size`, beside the reference, which
        may be read in another way."""
        account = self.account
        books: dict[str, Any] = {} if account is None else {"ledger": account.ledger, "data": account.data}
        return self.seen(lambda: checked(private, self.known if known is None else known(), unit, size=size, **books))

    def seen(self, at: Callable[[], Check]) -> Json | None:
        """What is seen of the table, which is open already: before anything is charged."""
        return None if self.delivery.no_check else seen_by(self.listener, at, self._asks_for)

    def _asks_for(self, column: str) -> bool:
        """Whether the question names a column, so that its owner wants to know how that was read."""
        said = " ".join(str(text) for name, text in vars(self.question).items() if name not in _FILES)
        return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", said) is not None

    def say_closing(self) -> None:
        """Say, before anything is charged, that nothing else can follow; in JSON it is the part "closes"."""
        self.listener.hear(Text(self.closes, NOTE, stated=True))

    def before(self, account: ReleaseAccount | None, *, named: bool = True) -> Publication | None:
        """The release of this very request, if it is there; else its files may be written: see `ready`."""
        if not ready(self.files, account, named=named):
            return None
        assert account is not None  # only what was charged is known again
        known = Publication.again(self.files, account.told())
        if self.sign_off is not None and known.document.body.get(SIGN_OFF) != declared(
            self.sign_off, known.document.body
        ):
            raise UsageError(
                "this release went out before, with another sign-off or none; what went out stays as it is"
            )
        if self.question.cap is not None and known.document.certificates is not None:
            caps = {read_number(one.body["cap"]) for one in known.certificates.values() if "cap" in one.body}
            if caps - {as_fraction(options.positive("--cap", self.question.cap))}:
                raise UsageError(
                    f"this release went out before, with a cap of {float(max(caps)):g}: what went out stays as it is, "
                    "so leave --cap out, or ask something else"
                )
        return known

    def published(
        self, going: Outgoing, columns: Mapping[str, Any], summary: Json, blocks: Iterable[Block],
        audit: fugu.Audit | None, usable: Usable | None = None, remarks: Sequence[str] = (), draft: Draft | None = None,
        free: bool = False, rows: Mapping[str, int] | None = None,
    ) -> Publication:  # fmt: skip
        """Write the files of the release: what went out. `draft`: the published file, if it is written already, and
        `rows`, how many each file of it has; `free`: nothing was charged, so the ledger has no entry."""
        files, account = self.files, self.account
        draft = drafted(files.published, columns) if draft is None else draft
        going = replace(going, ledger=None if account is None or free else account.entry())
        with unhurried():
            publish(files, going, draft, columns, page_after(files, account, audit, usable, remarks), rows)
        self.tell(label_warnings(files.published, columns))
        written = {"dry_run": False, "files": files.to_json(), "ledger": None if account is None else account.told()}
        wrote = Text(f"wrote {', '.join(map(str, files.all()))}")
        unseen = () if going.check is None else (Text(UNSEEN.format(files.private.name)),)
        return Publication({**written, **summary}, (*blocks, *unseen, wrote), files=files)


def seen_by(listener: Listener, at: Callable[[], Check], asked: Callable[[str], bool] = bool) -> Json | None:
    """Show what is seen of an open table to its owner, if one is there: of the columns that are `asked` for. Else give
    all of it back, for the private part.

    Nothing that `at` finds, and no error that it makes, reaches an exit code or a file that is published: it may depend
    on any cell."""
    try:
        seen = at()
        shown = replace(seen, rows=tuple(row for row in seen.rows if asked(row.column)) or seen.rows)
    except Exception as error:
        failed = f"the table could not be checked ({type(error).__name__})"
        return None if listener.look(failed) else {"marking": f"{OWNER}. {OUTSIDE}", "failed": failed}
    return None if listener.look(shown) else seen.to_json()


def page_after(
    files: Files, account: ReleaseAccount | None, audit: fugu.Audit | None = None, usable: Usable | None = None,
    remarks: Sequence[str] = (),
) -> Callable[[ReleaseDocument, Path], str]:  # fmt: skip
    """What makes the page of a release, with the real names of its files, the extract of the ledger, `remarks` on the
    published numbers, and what the page before it showed: the attack, how usable it is."""
    from fugu.auditing.books import extract
    from fugu.report.dossier import documents_in, dossier_page

    names = {"certificate": files.certificate.name, "private": files.private.name}

    def made(document: ReleaseDocument, file: Path) -> str:
        entries = None if account is None else tuple(extract(account.ledger, account.data))
        shown: dict[str, Any] = {"names": names, "entries": entries, "audit": audit, "usable": usable}
        return dossier_page(*documents_in(document), **shown, remarks=remarks, file=file)

    return made


def signed(
    going: Outgoing, report: str | None, attack: bool, usable: Usable | None = None, remarks: Sequence[str] = ()
) -> tuple[fugu.Audit | None, Json, Callable[[], str]]:
    """Attack and write the page to sign, if asked for; what the release document would say, and what makes the page.
    Beliefs that are withheld from what is published are not shown on it either. `usable`: with what would help, where
    that was measured; `remarks`: on the reference.

    CertificateError, before anything goes out, if the attack refutes the guarantee."""
    from fugu.report import write
    from fugu.report.dossier import page_of, release_facts

    audit = None
    if attack:
        if len(going.certificates) != 1:
            raise UsageError("--attack is for a release with one certificate; attack groups with fugu audit after it")
        (certificate,) = going.certificates.values()
        audit = fugu.audit(certificate, draws=DRAWS, through_files=0)
        if not audit.clean:
            raise CertificateError(f"nothing was released: {audit.verdict}")
    shown = None if going.beliefs.own_table else going.certificates
    body = preview(going)

    @cache
    def page() -> str:
        return page_of(release_facts(body, shown, released=False, audit=audit, usable=usable, remarks=remarks))

    if report is not None:
        write(Path(report), page())
    return audit, body, page


@dataclass(frozen=True)
class DryRun:
    """For how many `rows`, which `columns` the table must have; `basis`: for how many, and whose groups, in words."""

    rows: RowsFor
    columns: tuple[str, ...]
    basis: str

    @staticmethod
    def of(rows: RowsFor, columns: Iterable[str | None], by: str | None = None, words: str = "") -> DryRun:
        """`columns`: those of the question, None for one that it does not use; `by`: what groups the rows; `words`: in
        place of the rows, where something else is public of the data."""
        wanted = dict.fromkeys(name for name in (*columns, by) if name is not None)
        usual = str(rows) if by is None or rows.own else f"{rows}; {GROUPS}"
        return DryRun(rows, tuple(wanted), words or usual)

    def forecast(
        self, summary: Json, blocks: Iterable[Block], proofs: Mapping[str, Document], usable: Usable | None
    ) -> Forecast:
        """What would go out, with this in its JSON and in its last lines."""
        basis = {
            "rows": self.rows.number, "rows_declared": self.rows.declared is not None, "basis": self.basis,
            "columns": list(self.columns), "dry_run": True,
        }  # fmt: skip
        read = "the table counts as public and was read" if self.rows.own else "no private table was read"
        last = Text(f"dry run: nothing was released or charged, and {read}; {self.basis}")
        needed = Text(f"the table must have {', '.join(map(repr, self.columns))}")
        return Forecast({**summary, **basis}, (*blocks, last, needed), proofs, usable)


def _account(
    dry_run: bool, books: Booking, budget: Guarantee, total: Guarantee | None, data: str, *more: Any
) -> ReleaseAccount | None:
    """The account that is charged; of a dry run the one that is read, where the ledger knows the table."""
    if dry_run:
        place = own_ledger(make=False) if books.ledger is None else place_of(books.ledger)
        if books.no_ledger or standing(place, data) is None:
            return None
    return account_of(books, budget, total, data, *more)


def account_of(
    books: Booking, budget: Guarantee, total: Guarantee | None, data: str, question: dict[str, Any],
    earlier: dict[str, Any] | None = None, unit: str | None = None,
) -> ReleaseAccount | None:  # fmt: skip
    """The account of a release; None only where `--no-ledger` says so.

    Without --request the request is named by a digest of the question, so the same command is the same request. What
    fugu 0.3 charged, by a digest of the same question as it was written then, `earlier`, keeps that name: it is read
    back and not charged again. Without --budget the budget is the one the data has in the ledger, else what this
    release asks for."""
    if books.no_ledger:
        if books.ledger is not None or books.request is not None or total is not None or books.other_people:
            raise UsageError(
                "--no-ledger goes without --ledger, --request, --budget and --other-people; leave out one or the other"
            )
        return None
    place = own_ledger() if books.ledger is None else place_of(books.ledger)
    named = books.request if books.request is not None else _named(question)
    others = tuple(books.other_people or ())
    known = standing(place, data) if total is None else None
    account = ReleaseAccount(place, named, total or (budget if known is None else known.budget), data, unit, others)
    if books.request is None and earlier not in (None, question) and account.knows(before := _named(earlier)):
        return account.named(before)
    return account


def targets(what: str, output: str, suffix: str, over: bool, *read: str | None, column: bool = False) -> Files:
    """The files of a release; the folder must exist, and nothing that is read is ever overwritten. A `column` may go
    out as Parquet too, or as a folder of parts; a folder is only replaced if it is a release, as it went out."""
    require_place(output)
    parts = read[0] is not None and Path(read[0]).is_dir() and not Path(output).suffix  # a folder of a folder
    folder = column and (parts or output.endswith("/") or Path(output).is_dir())
    if column:
        require_form(output, folder)
    else:
        options.ending(what, output, suffix)
    files = Files(Path(output), over, folder)
    if not plain_name(files.published.name):
        raise UsageError(
            f"{what}: the name {files.published.name!r} has a backslash, an end of line or bytes that are not text, "
            "and it goes out with the document; choose another name"
        )
    for file in (*(() if folder else (output,)), *files.all()[1:]):
        check_apart(file, *read)
    if folder and check_folder(output, *read).is_dir() and over and any(files.published.iterdir()):
        try:
            whole = holds(files.published, ReleaseDocument.load(files.certificate).bound)
            whole = whole and {*files.published.iterdir()} == {*parts_of(files.published)}  # and nothing of others
        except (FuguError, OSError):
            whole = False
        if not whole:
            raise UsageError(
                f"the folder {files.published.name!r} holds something else than the release whose certificate lies "
                "beside it, so it is not removed: choose another name"
            )
    return files


def data_name(data: str | None, table: str) -> str:
    """The name of a data set: what is given, else the file's; it goes out with the document."""
    name = file_name(table) if data is None else data
    if not name and table:
        raise UsageError("--data is a name, and the name of a data set must not be empty")
    if table and not is_name(name):
        raise UsageError("--data is a name, never a path: it goes out with the document; leave out slashes")
    return name


def _named(question: dict[str, Any]) -> str:
    text = json.dumps(question, sort_keys=True, default=str)
    return f"{question.get('what', 'release')} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def ready(files: Files, account: ReleaseAccount | None, *, named: bool = True) -> bool:
    """Whether the files are the release of this very request, complete: it was run before, or was killed when all was
    done. If not, go on only where they may be written; before anything is charged.

    What a release left that was killed on the way is written over. `named` False: the name of the request is not known
    yet, and files of any release of the same data may stand there until it is."""
    if files.over:
        return False
    if account is not None and released_before(files, account, account.request):
        return True
    if unfinished(files.published) or (not named and account is not None and released_before(files, account, None)):
        return False
    for file in files.all():
        options.fresh(file, force=False)
    return False


def dispatched(
    question: Question, books: Booking, delivery: Delivery, listener: Listener, total: Guarantee | None = None,
    frame: Any = None, sign_off: SignOff | None = None,
) -> Forecast:  # fmt: skip
    """What becomes of a question; of a dry run, what would. What is wrong is found before anything is charged; a dry
    run ends before the table is opened. `total`: the budget of all requests; `frame`: the table, if it is no file;
    `sign_off`: who answers for the choices, if not as a file says."""
    dry_run = delivery.dry_run
    sign_off = sign_off or (None if delivery.signed_by is None else SignOff.load(delivery.signed_by))
    require_complete(question, delivery)
    _check_sources(question)
    read = (question.table or None, question.reference, books.ledger, question.schema)
    over, column = delivery.force or dry_run, question.kind == COLUMN
    files = targets("what is published", delivery.output or "release.csv", ".csv", over, *read, column=column)
    if delivery.report is not None:
        options.ending("the page", delivery.report, ".html")
        options.fresh(check_apart(delivery.report, *read, delivery.output), delivery.force)
    if question.public_prior:
        listener.hear(Text(ON_THE_TERMINAL, LOUD))
    if question.query is not None and question.missing == "drop" and not question.sequential:
        raise UsageError(
            "--missing drop is for a column that is published row by row: a statistic counts every record. Give "
            "--missing VALUE, what a missing cell counts as, or leave it out"
        )
    layout = options.layout(question) if question.sequential else PLAIN
    schema = options.schema(question.schema, question.no_header and not question.sequential)
    data = UNNAMED if question.table is None and books.data is None else data_name(books.data, question.table or "")
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    options.check_mechanism(question)
    total = total or options.whole(books.total, books.budget_delta, question.delta, question.alpha)
    if question.hide is not None and question.rows is not None:
        if question.size not in (None, question.rows):
            raise UsageError(f"--size says {question.size} records and --rows {question.rows}; give one of the two")
        question = replace(question, size=question.rows)
    public = None if schema is None else schema.to_json(), None if layout.plain else layout.to_json()
    now, before = (question.told(*public, said) for said in named(question.query, question.sequential))
    kept = _account(dry_run, books, budget, total, data, now, before, question.unit)
    account, looked = (None, kept) if dry_run else (kept, None)
    charged = None if books.no_ledger else {"request": books.request or _named(now), "data": UNNAMED}
    charged = charged if account is None else account.told()
    dispatch = Dispatch(
        question, account, files, data, delivery, listener, frame=frame, sign_off=sign_off, total=total, read=looked,
        charged=charged,
    )  # fmt: skip
    if (known := dispatch.before(account, named=question.query is None or question.sequential)) is not None:
        return known
    if account is None and not dry_run:
        listener.hear(Text(UNCHARGED, NOTE))
    if question.kind == STATISTICS and question.publish is not None:
        _ = question.published  # refused, and says why
    question.refuse()
    if account is not None and dispatch.known is not None and not question.public_reference:
        require_public(dispatch.known, account.ledger, question.sequential)
    route, why = str(question.kind), ""
    if question.kind == STATISTICS:
        _ = question.secret  # before the route is chosen
        route, why = statistic_route(question, delivery.attack, account is not None and account.kept_by_law())
        if route == RECORDS and books.request is not None:
            raise UsageError("--request: on the records route requests are named by their questions; leave it out")
        if route == LAW and question.cap is not None:
            question.refuse("cap")
    module, name = _ROUTES[route].split(":")
    going: Forecast = getattr(import_module(f"fugu.releasing.{module}"), name)(replace(dispatch, why=why))
    return replace(going, **dispatch.planned) if dry_run else going


_ROUTES = {
    COLUMN: "column_route:release_column", RECORDS: "table_routes:release_records",
    LAW: "table_routes:release_query", SEQUENCES: "sequence_route:release_sequences",
    PROPERTY: "property_route:release_hidden",
}  # fmt: skip
"""What goes out by which function, imported when it is gone."""


def _check_sources(question: Question) -> None:
    """Beliefs come from one place."""
    if question.reference is not None and question.public_prior:
        raise UsageError(
            "beliefs come from --reference REF, or with --public-prior from TABLE itself, which counts as public; "
            "leave out one of the two"
        )
    if question.public_reference and question.reference is None:
        raise UsageError("--public-reference says that the file of --reference is public; give both")


def statistic_route(question: Question, attack: bool, kept: bool) -> tuple[str, str]:
    """The route of statistics, and why it is that of the law where nobody asked for it.

    It is the one that was asked for, if it can be gone; else records where they can do what is asked. `kept`: the
    ledger has this request already, from the law route, or another budget than a pure one."""
    if question.alpha is not None:
        raise UsageError("--query takes epsilon and delta; --alpha is for --publish")
    asked, several = question.route, len(split(question.asked)) > 1 or question.weights is not None
    why = _not_records(question, attack)
    if asked not in (None, RECORDS, LAW):
        raise UnknownName("route", str(asked), (RECORDS, LAW))
    if asked is None and not several and (why is not None or kept):
        return LAW, why or "this request, or this budget, is in the ledger by the law route already"
    if asked == LAW and several:
        raise UsageError(
            "the law route answers one question and closes the table, so --weights and several questions are for "
            "the records route: leave out --route law"
        )
    if asked != LAW and why is not None:
        raise UsageError(why)
    return asked or RECORDS, ""


def _not_records(question: Question, attack: bool) -> str | None:
    """Why the records route cannot do what is asked; None if it can."""
    if read_number(question.delta) != 0:
        return (
            "--delta: the records route has a pure epsilon. With a delta, what is asked next may depend on an "
            "answer that reveals everything, and then delta does not shrink as it would for one question. Leave "
            "out --delta, or ask one question with --route law"
        )
    if question.public_prior:
        return (
            "--public-prior: the records route needs a reference that is not the table: its noise depends on the "
            "reference, and would tell rows of the table. Give --reference, or one question with --route law"
        )
    if question.missing != "error":
        return (
            "--missing: on the records route the schema says what missing cells count as (--schema); or ask one "
            "question with --route law"
        )
    if attack:
        return "--attack: there is no attack on the records route; prove it twice with fugu verify --twice"
    return None
