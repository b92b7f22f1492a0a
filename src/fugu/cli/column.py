"""`fugu release --publish`: a column of a private table, row by row, with its certificate and its page."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from fugu.cli import options
from fugu.cli.charging import closes, drawn_once
from fugu.cli.console import print_json, progress, warn
from fugu.cli.dispatch import Dispatch, DryRun
from fugu.cli.mechanisms import describe, figures, judged, made, scenario_of
from fugu.data.private import Private
from fugu.data.secrets import cut_cells
from fugu.errors import BadTable
from fugu.mechanism.mechanism import Mechanism
from fugu.progress import stage
from fugu.publication.files import drafted
from fugu.queries.answer import open_column, release_private
from fugu.scenario import Scenario
from fugu.utility.plausible import implausible_column
from fugu.utility.usable import RowsFor
from fugu.visible import several


def release_column(dispatch: Dispatch) -> None:
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged.

    A dry run, and the page to sign, end before the table is opened."""
    question, account, dry_run = dispatch.question, dispatch.account, dispatch.dry_run
    _, publish = question.secret, question.published
    own = question.reference is None
    with progress("fitting beliefs"):
        known = dispatch.known
        scenario = scenario_of(question, dispatch.table if known is None else known, own=own)
        stage("the least noise")
        mechanism = made(question, scenario, options.budget(question.epsilon, question.delta, question.alpha))
        if not mechanism.noise.released:
            mechanism.release([])  # refused, and says why
        rows = RowsFor(question.rows, scenario.report.rows or 0, own=own)
        dry = DryRun.of(rows, (publish, question.unit))
        going = dispatch.outgoing(
            {"": mechanism.certificate},
            rows.number,
            None if scenario.recipe is None else {"what": "column", **scenario.recipe},
            basis=dry.basis,
            words=f"Publish column {publish!r}, row by row.",
            skipped=tuple(secret for secret, _ in scenario.report.skipped),
        )
        stage("the page to sign")
        weak = _weak(dispatch, scenario, publish)
        kept = dispatch.pages.before(going, dispatch.as_json, remarks=weak)
        usable = judged(mechanism, scenario, rows.number) if dry_run else None
    summary = {**figures(mechanism, rows.number, usable), "report": asdict(scenario.report), "dry_run": dry_run,
               "closes": closes(account, dry_run)}  # fmt: skip
    dispatch.say_closing()
    size, remarks = rows.number, weak
    if dry_run:
        summary |= dry.to_json()
    else:
        private = _opened(mechanism, dispatch.table, question.allow_no_noise)
        if (size := len(private)) == 0:
            raise BadTable(f"{Path(dispatch.table).name!r} has no rows, so there is nothing to release")
        rows.require(size)
        summary |= figures(mechanism, size)
        going = replace(going, rows=size, basis="", check=dispatch.look(private, question.unit))
        with progress(f"drawing {several(size, 'value')}"):
            drawn = release_private(mechanism, private, allow_no_noise=question.allow_no_noise)  # shown to nobody yet
            columns = {publish: drawn.values}
            stage("writing the published file")
            if account is None:
                draft = drafted(dispatch.files.published, columns)
            else:
                draft = drawn_once(account, mechanism, private, drawn, publish, dispatch.files.published)
            remarks = (*weak, *implausible_column(mechanism.certificate, draft.cells()))
            written = dispatch.publish(going, columns, kept, remarks, draft)
        summary |= {"files": written["files"], "implausible": list(remarks[len(weak) :]), **written}
    if dispatch.as_json:
        print_json({**summary, "warnings": [*summary["warnings"], *weak]})
        return
    describe(mechanism, publish, size, usable)
    warn(remarks)
    if dry_run:
        dry.say()
    else:
        dispatch.say_written()


def _weak(dispatch: Dispatch, scenario: Scenario, publish: str) -> tuple[str, ...]:
    """What is to be said of the reference: few rows for a secret, bounds that cut off much of it."""
    if dispatch.known is None or scenario.schema is None:
        return ()
    return (*scenario.report.few, *cut_cells(dispatch.known, scenario.schema, {publish: None}))


def _opened(mechanism: Mechanism, table: str, allow_no_noise: bool) -> Private:
    """The column of the private table; what is refused whatever it holds is refused before it is opened."""
    if not allow_no_noise:
        mechanism.require_noise()
    with progress("opening the private table"):
        return open_column(mechanism, table)
