"""What every release goes through: the account is charged, pages are made, the owner looks at the table, files are
written; and `fugu check`, that look by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.table import Table as Rich

import fugu
from fugu.auditing.books import extract
from fugu.checking import Check, checked
from fugu.checking.check import HEAD, OUTSIDE, OWNER
from fugu.cli import options
from fugu.cli.charging import Account, closes
from fugu.cli.console import err, escape, print_json, progress, say, warn_of_formulas
from fugu.data import Schema, Table
from fugu.data.private import Private
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError, UsageError
from fugu.publication.files import Beliefs, Draft, Files, Outgoing, drafted, preview, publish
from fugu.question import Question
from fugu.utility.usable import GROUPS, RowsFor, Usable
from fugu.visible import Json

DRAWS = 500_000
"""Draws of an attack whose result stands on a page."""
UNNAMED = "a table that is not named yet"


@dataclass(frozen=True)
class Dispatch:
    """A question on its way out.

    `account`: what is charged, None for nothing; `data`: the name of the table in ledger and certificate; `pages`: what
    is made before and after the draw."""

    question: Question
    account: Account | None
    files: Files
    data: str
    pages: Pages
    dry_run: bool
    as_json: bool

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
        """The private table; UsageError where none was given."""
        return required(self.question.table)

    @property
    def beliefs(self) -> Beliefs:
        """Where they come from."""
        return Beliefs.fitted_on(self.question.reference, self.question.public_reference)

    def outgoing(self, certificates: Mapping[str, Any], rows: int | None, recipe: Json | None, **more: Any) -> Outgoing:
        """What goes out, as far as it is known before the draw."""
        table = self.question.table or UNNAMED
        return Outgoing(
            certificates=dict(certificates), table=table, data=self.data, rows=rows, recipe=recipe,
            **{"beliefs": self.beliefs, **more},
        )  # fmt: skip

    def look(
        self, private: Private, unit: str | None = None, reference: Callable[[], Table | None] | None = None
    ) -> Json | None:
        """The owner's look at the open table, beside the reference, which may be read in another way."""
        account = self.account
        books: dict[str, Any] = {} if account is None else {"ledger": account.ledger, "data": account.data}

        def seen() -> Check:
            return checked(private, self.known if reference is None else reference(), unit, **books)

        return self.pages.look(seen)

    def say_closing(self) -> None:
        """Say on stderr, before anything is charged, that nothing else can follow; in JSON it is the part "closes"."""
        if not self.as_json:
            err.print(f"[bold yellow]note[/]: {closes(self.account, self.dry_run)}", soft_wrap=True)

    def publish(
        self, going: Outgoing, columns: Mapping[str, Any], kept: PageFacts, remarks: Sequence[str] = (),
        draft: Draft | None = None, free: bool = False,
    ) -> Json:  # fmt: skip
        """Write the files of the release; what a summary says of them. `draft`: the published file, if it is written
        already; `free`: nothing was charged, so the ledger has no entry."""
        files, account = self.files, self.account
        entry = None if account is None or free else account.entry()
        draft = drafted(files.published, columns) if draft is None else draft
        publish(files, replace(going, ledger=entry), draft, columns, kept.after(files, account, remarks))
        warn_of_formulas(files.published, columns)
        return {"dry_run": False, "files": files.to_json(), "ledger": None if account is None else account.told()}

    def say_written(self) -> None:
        """The last line on the screen."""
        say(f"wrote {', '.join(map(str, self.files.all()))}")


@dataclass(frozen=True)
class Pages:
    """What a command is told about pages.

    `report`: where the page to sign before goes, None for none; `attack`: whether the noise is attacked first;
    `check`: whether the owner is shown how the table was read when it is opened."""

    report: str | None = None
    attack: bool = False
    check: bool = True

    def before(
        self, going: Outgoing, quiet: bool = False, usable: Usable | None = None, remarks: Sequence[str] = ()
    ) -> PageFacts:
        """Attack and write the page to sign, if asked for. It is worked out in any case: what is wrong with it is then
        found before anything is drawn. Beliefs that are withheld from what is published are not shown on it either.
        `usable`: with what would help, where that was measured; `remarks`: on the reference."""
        from fugu.report import write
        from fugu.report.dossier import Dossier, dossier_page

        audit = _attacked(going) if self.attack else None
        shown = None if going.beliefs.own_table else going.certificates
        page = dossier_page(
            Dossier(preview(going), shown, released=False, audit=audit, usable=usable, remarks=tuple(remarks))
        )
        if self.report is not None:
            write(Path(self.report), page)
            if not quiet:
                say(f"wrote {self.report}")
        return PageFacts(audit, usable)

    def look(self, at: Callable[[], Check]) -> Json | None:
        """Show what is seen where stderr is a terminal; else give it back, for the private part.

        `at` works on the table that is open already, before anything is charged. Nothing that it finds, and no error
        that it makes, reaches an exit code or a file that is published: it may depend on any cell."""
        if not self.check:
            return None
        try:
            seen = at()
        except Exception as error:
            failed = f"the table could not be checked ({type(error).__name__})"
            if not err.is_terminal:
                return {"marking": f"{OWNER}. {OUTSIDE}", "failed": failed}
            err.print(f"[bold yellow]note[/]: {escape(failed)}; {escape(OWNER)}")
            return None
        if not err.is_terminal:
            return seen.to_json()
        show(seen)
        return None


@dataclass(frozen=True)
class PageFacts:
    """What the page after the release takes over from the one before."""

    audit: fugu.Audit | None = None
    usable: Usable | None = None

    def after(
        self, files: Files, account: Account | None, remarks: Sequence[str] = ()
    ) -> Callable[[ReleaseDocument], str]:
        """What makes the page of a release, with the real names of its files, the extract of the ledger, and
        `remarks` on the published numbers."""
        from fugu.report.dossier import Dossier, dossier_page

        names = {"certificate": files.certificate.name, "private": files.private.name}

        def made(document: ReleaseDocument) -> str:
            entries = None if account is None else tuple(extract(str(account.ledger), account.data))
            return dossier_page(
                Dossier.of(
                    document, names=names, entries=entries, audit=self.audit, usable=self.usable, remarks=tuple(remarks)
                )
            )

        return made


def _attacked(going: Outgoing) -> fugu.Audit:
    """What an attack on the noise reaches; CertificateError, before anything goes out, if it refutes the guarantee."""
    if len(going.certificates) != 1:
        raise UsageError("--attack is for a release with one certificate; attack groups with fugu audit after it")
    (certificate,) = going.certificates.values()
    found = fugu.audit(certificate, draws=DRAWS, through_files=0)
    if not found.clean:
        raise CertificateError(f"nothing was released: {found.verdict}")
    return found


@dataclass(frozen=True)
class DryRun:
    """For how many `rows`, which `columns` the table must have, and whether there are `groups` in it."""

    rows: RowsFor
    columns: tuple[str, ...]
    groups: bool = False
    words: str = ""
    """In place of the rows, where something else is public of the data."""

    @staticmethod
    def of(rows: RowsFor, columns: Iterable[str | None], by: str | None = None) -> DryRun:
        """`columns`: those of the question, None for one that it does not use; `by`: what groups the rows."""
        wanted = dict.fromkeys(name for name in (*columns, by) if name is not None)
        return DryRun(rows, tuple(wanted), by is not None)

    @property
    def basis(self) -> str:
        """For how many rows, and whose groups, in words."""
        if self.words:
            return self.words
        return f"{self.rows}; {GROUPS}" if self.groups and not self.rows.own else str(self.rows)

    def to_json(self) -> Json:
        """The same for --json."""
        return {
            "rows": self.rows.number, "rows_declared": self.rows.declared is not None, "basis": self.basis,
            "columns": list(self.columns), "dry_run": True,
        }  # fmt: skip

    def say(self) -> None:
        """The last lines on the screen."""
        read = "the table counts as public and was read" if self.rows.own else "no private table was read"
        say(f"dry run: nothing was released or charged, and {read}; {self.basis}")
        say(f"the table must have {', '.join(map(repr, self.columns))}")


def required(table: str | None) -> str:
    """The table of a release; UsageError where none was given."""
    if table is None:
        raise UsageError(
            "give the TABLE to release; only --dry-run, which reads public facts alone, goes without it (and not with "
            "--public-prior, which fits beliefs on TABLE)"
        )
    return table


_SHOWN = 40
"""Columns that are shown; of more, those first in which something was not read as it stands."""


def check(question: Question, ledger: str | None, as_json: bool) -> None:
    """Show how the table is read, column by column, and what of it is elsewhere too."""
    if question.reference is None and question.schema is None:
        raise UsageError("give --reference REF, --schema FILE or --scenario FILE: one of them says how TABLE is read")
    schema = options.schema(question.schema, question.no_header)
    with progress("reading"):
        seen = fugu.check(str(question.table), question.reference, schema=schema, ledger=ledger, unit=question.unit)
    if as_json:
        print_json(seen.to_json())
    else:
        show(seen)


def show(seen: Check) -> None:
    """The check on the owner's terminal: a table, what to look at, what is likely behind it."""
    rich = Rich(
        title=escape(f"How the {seen.records:,} records were read ({OWNER})"), title_justify="left", header_style="bold"
    )
    for k, name in enumerate(HEAD):
        rich.add_column(name, justify="right" if k else "left")
    lines = sorted(seen.cells(), key=lambda line: line[1] == line[2] and not line[5])
    for line in lines[:_SHOWN]:
        rich.add_row(escape(line[0]), *(f"{count:,}" for count in line[1:]))
    err.print(rich)
    if len(lines) > _SHOWN:
        err.print(f"and {len(lines) - _SHOWN} more columns; --json has all")
    for said in seen.alarms:
        err.print(f"[bold red]look at[/] {escape(said)}")
    for said in seen.causes:
        err.print(f"[bold yellow]note[/]: {escape(said)}")
    err.print(escape(OUTSIDE), style="dim")
