"""`fugu release --publish`: a column of a private table, row by row, with its certificate and its page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import fugu
from fugu.cli.calibrating import describe, figures, scenario_of
from fugu.cli.charging import Account
from fugu.cli.console import print_json, progress, save_csv, say, warn_of_formulas
from fugu.cli.receipts import drawn_once
from fugu.data import Schema
from fugu.errors import BadTable
from fugu.guarantee import Guarantee
from fugu.mechanism.analysis import Analysis
from fugu.queries.column import open_column, release_private
from fugu.report import page, write
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
    noise: str
    method: str
    grid: str
    schema: Schema | None
    allow_no_noise: bool

    def scenario(self) -> Scenario:
        """What is believed: of the reference, or of the table itself, which then counts as public."""
        return scenario_of(
            self.reference or self.table, self.publish, self.protect, self.pairs, self.bins, self.missing, self.unit,
            prior=self.prior, components=self.components, public_prior=self.reference is None, schema=self.schema,
        )  # fmt: skip


def publish_column(
    asked: ColumnAsked, account: Account | None, files: dict[str, Path], dry_run: bool, as_json: bool
) -> None:
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged."""
    with progress():
        scenario = asked.scenario()
        mechanism = fugu.calibrate(
            scenario, asked.budget, noise=cast(Any, asked.noise), method=cast(Any, asked.method), grid=asked.grid
        )
        if isinstance(mechanism, Analysis):
            mechanism.release([])  # refused, and says why
        private = open_column(mechanism, asked.table)
        if len(private) == 0:
            raise BadTable(f"{Path(asked.table).name!r} has no rows, so there is nothing to release")
        shown = (
            None if dry_run else page(mechanism, query_name=asked.publish, secret_name=asked.protect, rows=len(private))
        )
    summary = {**figures(mechanism, len(private)), "report": asdict(scenario.report), "dry_run": dry_run}
    if not dry_run:
        drawn = release_private(mechanism, private, allow_no_noise=asked.allow_no_noise)  # shown to nobody yet
        target = files["column"]
        draft = None if account is None else drawn_once(account, mechanism, private, drawn, asked.publish, target)
        mechanism.certificate.save(files["certificate"])
        write(files["page"], shown or "")
        if draft is None:
            save_csv(target, {asked.publish: drawn.values})  # last: no value is written without what covers it
        else:
            draft.publish()
            warn_of_formulas(target, {asked.publish: drawn.values})
        summary["files"] = {name: str(path) for name, path in files.items()}
        summary["ledger"] = None if account is None else account.told()
    if as_json:
        print_json(summary)
        return
    describe(mechanism, asked.publish, len(private))
    written = ", ".join(str(f) for f in files.values())
    say("dry run: nothing was released or written" if dry_run else f"wrote {written}")
