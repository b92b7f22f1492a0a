"""`fugu release`: publish a column, a statistic, or a statistic of sequences, with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fugu.cli import options, questions, sequence_options
from fugu.cli.after import After
from fugu.cli.answering import Asks, bounds_of, release_query
from fugu.cli.channels import Wanted
from fugu.cli.charging import account_of, data_name, say_uncharged
from fugu.cli.checking import Eyes
from fugu.cli.console import warn_of_private_counts
from fugu.cli.dry_run import UNNAMED, required
from fugu.cli.paging import Pages
from fugu.cli.property_release import Hiding, PropertyTold, release_hidden
from fugu.cli.publishing import ColumnAsked, publish_column
from fugu.cli.receipts import ready
from fugu.cli.recording import RecordsAsked, release_records
from fugu.cli.refusing import refuse
from fugu.cli.routes import RECORDS, Way
from fugu.data.layout import PLAIN, Layout
from fugu.errors import UsageError
from fugu.guarantee import Pure
from fugu.publication.files import Files


def release(
    epsilon: options.Epsilon,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Where the published file goes (OUT.csv); --dry-run goes without it."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="The private table, a CSV or Parquet file; --dry-run goes without it."),
    ] = None,
    protect: options.ProtectIfAny = None,
    publish: Annotated[str | None, typer.Option(help="The column to publish, row by row.")] = None,
    query: Annotated[
        str | None,
        typer.Option(
            help='Or statistics: "mean(chol)", "count, mean(age), histogram(ward) by sex" (all of the list by sex), '
            '"count; mean(age) by sex" (each by itself).'
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="With --query: the public column that groups the rows; sequences: the user.")
    ] = None,
    bounds: Annotated[
        str | None, typer.Option(help='With --query: values are clipped to these, "0,400" or "age:0:110,bmi:10:60".')
    ] = None,
    step: Annotated[
        str | None, typer.Option(help='With --query: values are rounded to this step, "5" or "age:5,chol:10".')
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help='With several questions: how they share epsilon, "2,1,1"; "error" for the least total error.'
        ),
    ] = None,
    route: Annotated[
        str | None,
        typer.Option(
            help='With --query: "records" (many questions, one budget; pure epsilon) or "law" (one question, and no '
            "other release of the table); records if left out, where it can be."
        ),
    ] = None,
    delta: options.Delta = "0",
    alpha: options.Alpha = None,
    reference: Annotated[str | None, typer.Option(help="The table that beliefs are fitted on.")] = None,
    public_reference: Annotated[
        bool, typer.Option("--public-reference", help="The reference is public: publish its plain SHA-256.")
    ] = False,
    public_prior: Annotated[
        bool,
        typer.Option("--public-prior", help="Fit beliefs on TABLE itself; the private part holds its exact counts."),
    ] = False,
    pairs: options.Pairs = "all",
    bins: options.Bins = None,
    missing: options.Missing = "error",
    unit: options.Unit = None,
    prior: options.Prior = "empirical",
    components: options.Components = None,
    confidence: options.Confidence = None,
    shift: options.Shift = "0",
    noise: options.NoiseName = "best",
    method: options.MethodName = "best",
    grid: options.Grid = "auto",
    remap: options.Remap = None,
    mechanism: options.MechanismName = "noise",
    loss: options.LossName = None,
    cap: options.Cap = None,
    clip: options.Clip = None,
    round_: options.Round = None,
    allow_no_noise: Annotated[
        bool,
        typer.Option("--allow-no-noise", help="Publish exact values: no noise is needed, or it is mostly 0."),
    ] = False,
    order: options.OrderIfAny = None,
    state: options.StateIfAny = None,
    smoothing: options.Smoothing = 0.0,
    start: options.Start = "fitted",
    repeats: sequence_options.Repeats = None,
    columns: sequence_options.Wide = None,
    end: sequence_options.End = None,
    every: sequence_options.Every = None,
    between: sequence_options.Between = None,
    overlaps: sequence_options.Overlaps = None,
    backwards: sequence_options.Backwards = None,
    gaps: sequence_options.Gaps = None,
    inside: sequence_options.Inside = None,
    hide: Annotated[
        str | None, typer.Option(help='Hide which share of all records has this: "smoker=yes"; with --statistics.')
    ] = None,
    statistics: Annotated[
        str | None, typer.Option(help='With --hide: what is published, "mean(chol),count(sex=F)".')
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="With --hide: the number of records, which is public; refused if TABLE differs.")
    ] = None,
    tolerance: Annotated[str, typer.Option(help="With --hide: shares that differ by at most this look alike.")] = "0.1",
    shares: Annotated[str | None, typer.Option(help='With --hide: only these shares, "0.45,0.55".')] = None,
    length: Annotated[int | None, typer.Option(help="Sequences: the length of the prior, if longer.")] = None,
    other: Annotated[str | None, typer.Option(help="Sequences: the state that unknown states count as.")] = None,
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    rows: options.Rows = None,
    ledger: options.LedgerFile = None,
    no_ledger: options.NoLedger = False,
    request: options.Request = None,
    total: options.Total = None,
    budget_delta: options.TotalDelta = None,
    other_people: options.OtherPeople = None,
    data: options.DataName = None,
    force: options.Force = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Calibrate and prove; no private table is opened, nothing released or written."),
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(help="Also write the page to sign here (HTML), from what is public before TABLE is opened."),
    ] = None,
    attack: options.Attack = False,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not check how TABLE is read, for your eyes, before it is released.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish a column or statistics of TABLE, or of its sequences: OUT.csv, its certificate and its page."""
    _check_sources(table, reference, public_prior, public_reference, dry_run)
    files = _targets(output, dry_run, force, table, reference, ledger, schema)
    if report is not None:
        options.fresh(options.target(report, table, reference, ledger, schema, output), force)
    warn_of_private_counts(public_prior)
    sequences = state is not None or order is not None or columns is not None
    if query is not None and missing == "drop" and not sequences:
        raise UsageError(
            "--missing drop is for a column that is published row by row: a statistic counts every record. Give "
            "--missing VALUE, what a missing cell counts as, or leave it out"
        )
    laid = {
        "repeats": repeats, "columns": columns, "end": end, "every": every, "between": between, "overlaps": overlaps,
        "backwards": backwards, "gaps": gaps, "inside": inside,
    }  # fmt: skip
    layout = Layout.of(**laid, bins=bins if sequences else None) if sequences else PLAIN
    reading = options.schema(schema, no_header and not sequences)
    data = UNNAMED if table is None and data is None else data_name(data, table or "")
    budget = options.budget(epsilon, delta, alpha)
    wanted, after = Wanted(noise, method, grid, remap, mechanism, loss, cap), After(clip, round_)
    whole = options.whole(total, budget_delta, delta, alpha)
    question = {
        "what": query or publish, "protect": protect, "by": by, "bounds": bounds, "step": step, "epsilon": epsilon,
        "delta": delta, "alpha": alpha, "pairs": pairs, "bins": bins, "missing": missing, "unit": unit, "prior": prior,
        "components": components, **({} if confidence is None else {"confidence": confidence, "shift": shift}),
        "noise": noise, "method": method, "grid": grid, **({} if remap is None else {"remap": remap}), **wanted.told(),
        **after.told(),
        "order": order, "state": state, "smoothing": smoothing, **({} if weights is None else {"weights": weights}),
        "start": start,
        "length": length, "other": other, "public prior": public_prior,
        "schema": None if reading is None else reading.to_json(),
        **({} if layout.plain else {"sequence": layout.to_json()}),
    }  # fmt: skip
    pages = Pages(report, attack, Eyes(not no_check))
    hiding = Hiding(hide, statistics, size, tolerance, shares).with_rows(rows)
    account = None if dry_run else account_of(
        ledger, no_ledger, request, budget, whole, data,
        question | questions.named(query, sequences) | hiding.told(),
        question | questions.named_before(query) | hiding.told(), unit, other_people,
    )  # fmt: skip
    ready(files, account, as_json, named=query is None or sequences)
    say_uncharged(account, dry_run)
    if hide is not None:
        refuse(
            "not with --hide",
            publish=publish, query=query, protect=protect, by=by, step=step, weights=weights, route=route, pairs=pairs,
            bins=bins, unit=unit, prior=prior, components=components, confidence=confidence, shift=shift, noise=noise,
            grid=grid, remap=remap, mechanism=mechanism, loss=loss, cap=cap, clip=clip, round=round_, order=order,
            state=state, smoothing=smoothing, length=length, other=other, start=start,
        )  # fmt: skip
        told = PropertyTold(
            table, hiding.required(reference), hiding, bounds, missing, method, reading, budget, public_reference,
            allow_no_noise,
        )  # fmt: skip
        release_hidden(told, account, files, data, dry_run, as_json, pages)
        return
    hiding.refuse_alone()
    if sequences:
        refuse(
            "not for sequences",
            publish=publish, protect=protect, step=step, pairs=pairs,
            missing=missing, unit=unit, prior=prior, components=components, shift=shift, grid=grid,
            remap=remap, mechanism=mechanism, loss=loss, cap=cap, clip=clip, round=round_, route=route, rows=rows,
        )  # fmt: skip
        from fugu.cli.sequences import Asked, release_sequences

        asked = Asked(
            table, *sequence_options.needed(query, by, order, state, schema, not no_header, layout),
            options.number("epsilon", epsilon), reference, smoothing, length,
            other, bounds_of(bounds), account, schema, not no_header, layout, start, data, public_reference,
            options.confidence(confidence), weights, method, noise, None if isinstance(budget, Pure) else budget,
            allow_no_noise,
        )  # fmt: skip
        release_sequences(asked, files, dry_run, as_json, pages)
        return
    refuse(
        "for sequences only (--order and --state)",
        smoothing=smoothing, length=length, other=other, start=start, **laid,
    )  # fmt: skip
    if protect is None:
        raise UsageError("say what is secret: --protect COLUMN; or give --order and --state for sequences")
    if (publish is None) == (query is None):
        raise UsageError("say what to publish: --publish COLUMN, or --query 'mean(COLUMN)'; one of the two")
    if query is not None:
        way = Way(
            route, query, alpha, delta, public_prior, weights, missing, attack,
            account is not None and account.kept_by_law(),
        )  # fmt: skip
        refuse(
            "for columns only, not with --query",
            pairs=pairs, prior=prior, components=components, confidence=confidence, shift=shift, noise=noise,
            method=method, grid=grid, remap=remap, mechanism=mechanism, loss=loss, clip=clip, round=round_,
            **({} if way.taken == RECORDS else {"cap": cap}),
        )  # fmt: skip
        if way.taken == RECORDS:
            many = RecordsAsked.of(
                table, query, by, bounds, step, bins, protect, epsilon, weights, reference, unit, reading,
                public_reference, request, cap, allow_no_noise, rows,
            )  # fmt: skip
            release_records(many, account, files, data, dry_run, as_json, pages)
            return
        statistic = Asks(
            table, query, protect, options.odds(epsilon, delta), reference, by, bounds_of(bounds), step, bins, unit,
            reading,
            None if missing == "error" else options.missing(missing), allow_no_noise, public_reference, rows,
            way.why,
        )  # fmt: skip
        release_query(statistic, account, files, data, dry_run, as_json, pages)
        return
    assert publish is not None
    refuse("for --query only", by=by, bounds=bounds, step=step, weights=weights, route=route)
    column = ColumnAsked(
        table, publish, protect, budget, reference, pairs, bins, missing, unit, prior, components,
        options.level(confidence, shift), reading, allow_no_noise, public_reference, wanted, after, rows,
    )  # fmt: skip
    publish_column(column, account, files, data, dry_run, as_json, pages)


def _check_sources(
    table: str | None, reference: str | None, public_prior: bool, public_reference: bool, dry_run: bool
) -> None:
    """Beliefs come from one place, and what is released, or fitted on TABLE, needs TABLE."""
    if (reference is None) == (not public_prior):
        raise UsageError(
            "beliefs must come from somewhere: give --reference REF (a table that is not the one released), or "
            "--public-prior to fit them on TABLE itself and count them as public; one of the two"
        )
    if public_reference and reference is None:
        raise UsageError("--public-reference says that the file of --reference is public; give both")
    if not dry_run or public_prior:
        required(table)


def _targets(output: str | None, dry_run: bool, force: bool, *read: str | None) -> Files:
    """The files of a release; the folder must exist, and no table or ledger is ever overwritten."""
    if output is None and not dry_run:
        raise UsageError(
            "say where the release goes: -o OUT.csv; only --dry-run, which writes nothing, goes without it"
        )
    output = output or "release.csv"
    if Path(output).suffix != ".csv":
        raise UsageError(f"the column is written as CSV; give a name that ends in .csv, not {output!r}")
    files = Files(Path(output), force or dry_run)
    for file in files.all():
        options.target(str(file), *read)
    return files
