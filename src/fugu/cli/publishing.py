"""`fugu release --publish`: a column of a private table, row by row, with its certificate and its page."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fugu.cli.after import After
from fugu.cli.calibrating import scenario_of
from fugu.cli.channels import Wanted
from fugu.cli.charging import Account
from fugu.cli.console import print_json, progress, say, warn_of_formulas
from fugu.cli.describing import describe, figures, judged
from fugu.cli.paging import Pages
from fugu.cli.receipts import drawn_once
from fugu.data import Schema
from fugu.errors import BadTable
from fugu.guarantee import Guarantee
from fugu.mechanism.analysis import Analysis
from fugu.progress import stage
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.column import open_column, release_private
from fugu.scenario import Scenario


@dataclass(frozen=True)
class ColumnAsked:
    """What the release of a column is told on the command line."""

    table: str
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

    def scenario(self) -> Scenario:
        """What is believed: of the reference, or of the table itself, which then counts as public."""
        return scenario_of(
            self.reference or self.table, self.publish, self.protect, self.pairs, self.bins, self.missing, self.unit,
            prior=self.prior, components=self.components, public_prior=self.reference is None, schema=self.schema,
            **self.level,
        )  # fmt: skip


def publish_column(
    asked: ColumnAsked, account: Account | None, files: Files, data: str, dry_run: bool, as_json: bool,
    pages: Pages,
) -> None:  # fmt: skip
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged."""
    with progress("fitting beliefs"):
        scenario = asked.scenario()
        stage("the least noise")
        mechanism = asked.after.applied(asked.wanted.made(scenario, asked.budget))
        if isinstance(mechanism, Analysis):
            mechanism.release([])  # refused, and says why
        stage("opening the private table")
        private = open_column(mechanism, asked.table)
        if len(private) == 0:
            raise BadTable(f"{Path(asked.table).name!r} has no rows, so there is nothing to release")
        going = Outgoing(
            certificates={"": mechanism.certificate},
            table=asked.table,
            data=data,
            rows=len(private),
            recipe=None if scenario.recipe is None else {"what": "column", **scenario.recipe},
            words=f"Publish column {asked.publish!r}, row by row.",
            skipped=tuple(secret for secret, _ in scenario.report.skipped),
            beliefs=Beliefs.fitted_on(asked.reference, asked.public_reference),
        )
        stage("the page to sign")
        kept = pages.before(going, as_json)
        usable = judged(mechanism, scenario, len(private)) if dry_run else None
    summary = {**figures(mechanism, len(private), usable), "report": asdict(scenario.report), "dry_run": dry_run}
    if not dry_run:
        with progress(f"drawing {len(private):,} values"):
            drawn = release_private(mechanism, private, allow_no_noise=asked.allow_no_noise)  # shown to nobody yet
            columns = {asked.publish: drawn.values}
            stage("writing the published file")
            if account is None:
                draft = drafted(files.published, columns)
            else:
                draft = drawn_once(account, mechanism, private, drawn, asked.publish, files.published)
            going = going if account is None else replace(going, ledger=account.entry())
            publish(files, going, draft, columns, kept.after(files, account))
        warn_of_formulas(files.published, columns)
        summary["files"] = files.to_json()
        summary["ledger"] = None if account is None else account.told()
    if as_json:
        print_json(summary)
        return
    describe(mechanism, asked.publish, len(private), usable)
    written = ", ".join(map(str, files.all()))
    say("dry run: nothing was released or charged" if dry_run else f"wrote {written}")
