"""`fugu release --publish`: a column of a private table, row by row, with its certificate and its page."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fugu.checking import checked
from fugu.cli.after import After
from fugu.cli.calibrating import scenario_of
from fugu.cli.channels import Wanted
from fugu.cli.charging import Account, closes, say_closing
from fugu.cli.checking import books
from fugu.cli.console import print_json, progress, say, warn, warn_of_formulas
from fugu.cli.describing import describe, figures, judged
from fugu.cli.dry_run import UNNAMED, DryRun, required
from fugu.cli.paging import Pages
from fugu.cli.receipts import drawn_once
from fugu.data import Schema, Table
from fugu.data.private import Private
from fugu.data.weak import cut_cells
from fugu.errors import BadTable
from fugu.guarantee import Guarantee
from fugu.mechanism.analysis import Analysis
from fugu.mechanism.mechanism import Mechanism
from fugu.progress import stage
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.column import open_column, release_private
from fugu.scenario import Scenario
from fugu.utility.plausible import implausible_column
from fugu.utility.rows import RowsFor
from fugu.visible import several


@dataclass(frozen=True)
class ColumnAsked:
    """What the release of a column is told on the command line."""

    table: str | None
    publish: str
    protect: str
    budget: Guarantee
    reference: str | None
    pairs: str
    bins: str | None
    missing: str
    unit: str | None
    prior: str
    components: int | None
    level: dict[str, Any]
    """Confidence and shift."""
    schema: Schema | None
    allow_no_noise: bool
    public_reference: bool
    wanted: Wanted
    after: After
    rows: int | None = None

    @cached_property
    def known(self) -> Table | None:
        """The reference as it stands, read once; None where the table is its own."""
        return None if self.reference is None else (self.schema or Schema({})).open(self.reference)

    def scenario(self) -> Scenario:
        """What is believed: of the reference, or of the table itself, which then counts as public."""
        return scenario_of(
            required(self.table) if self.known is None else self.known,
            self.publish, self.protect, self.pairs, self.bins, self.missing, self.unit,
            prior=self.prior, components=self.components, public_prior=self.reference is None, schema=self.schema,
            **self.level,
        )  # fmt: skip


def _weak(asked: ColumnAsked, scenario: Scenario) -> tuple[str, ...]:
    """What is to be said of the reference: few rows for a secret, bounds that cut off much of it."""
    if asked.known is None or scenario.schema is None:
        return ()
    return (*scenario.report.few, *cut_cells(asked.known, scenario.schema, {asked.publish: None}))


def publish_column(
    asked: ColumnAsked, account: Account | None, files: Files, data: str, dry_run: bool, as_json: bool,
    pages: Pages,
) -> None:  # fmt: skip
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged.

    A dry run, and the page to sign, end before the table is opened."""
    with progress("fitting beliefs"):
        scenario = asked.scenario()
        stage("the least noise")
        mechanism = asked.after.applied(asked.wanted.made(scenario, asked.budget))
        if isinstance(mechanism, Analysis):
            mechanism.release([])  # refused, and says why
        rows = RowsFor(asked.rows, scenario.report.rows or 0, own=asked.reference is None)
        dry = DryRun.of(rows, (asked.publish, asked.unit))
        going = Outgoing(
            certificates={"": mechanism.certificate},
            table=asked.table or UNNAMED,
            data=data,
            rows=rows.number,
            basis=dry.basis,
            recipe=None if scenario.recipe is None else {"what": "column", **scenario.recipe},
            words=f"Publish column {asked.publish!r}, row by row.",
            skipped=tuple(secret for secret, _ in scenario.report.skipped),
            beliefs=Beliefs.fitted_on(asked.reference, asked.public_reference),
        )
        stage("the page to sign")
        weak = _weak(asked, scenario)
        kept = pages.before(going, as_json, remarks=weak)
        usable = judged(mechanism, scenario, rows.number) if dry_run else None
    summary = {**figures(mechanism, rows.number, usable), "report": asdict(scenario.report), "dry_run": dry_run,
               "closes": closes(account, dry_run)}  # fmt: skip
    say_closing(account, dry_run, as_json)
    size = rows.number
    if dry_run:
        summary |= dry.to_json()
    else:
        table = required(asked.table)
        private = _opened(mechanism, table, asked.allow_no_noise)
        if (size := len(private)) == 0:
            raise BadTable(f"{Path(table).name!r} has no rows, so there is nothing to release")
        rows.require(size)
        summary |= figures(mechanism, size)
        seen = pages.eyes.look(lambda: checked(private, asked.known, asked.unit, **books(account)))
        going = replace(going, rows=size, basis="", check=seen)
        with progress(f"drawing {several(size, 'value')}"):
            drawn = release_private(mechanism, private, allow_no_noise=asked.allow_no_noise)  # shown to nobody yet
            columns = {asked.publish: drawn.values}
            stage("writing the published file")
            if account is None:
                draft = drafted(files.published, columns)
            else:
                draft = drawn_once(account, mechanism, private, drawn, asked.publish, files.published)
            going = going if account is None else replace(going, ledger=account.entry())
            remarks = (*weak, *implausible_column(mechanism.certificate, draft.cells()))
            publish(files, going, draft, columns, kept.after(files, account, remarks))
        warn_of_formulas(files.published, columns)
        summary |= {"files": files.to_json(), "implausible": list(remarks[len(weak) :])}
        summary["ledger"] = None if account is None else account.told()
    if as_json:
        print_json({**summary, "warnings": [*summary["warnings"], *weak]})
        return
    describe(mechanism, asked.publish, size, usable)
    warn(weak if dry_run else remarks)
    if dry_run:
        dry.say()
    else:
        say(f"wrote {', '.join(map(str, files.all()))}")


def _opened(mechanism: Mechanism, table: str, allow_no_noise: bool) -> Private:
    """The column of the private table; what is refused whatever it holds is refused before it is opened."""
    if not allow_no_noise:
        mechanism.require_noise()
    with progress("opening the private table"):
        return open_column(mechanism, table)
