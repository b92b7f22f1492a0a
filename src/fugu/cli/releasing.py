"""`fugu release`: publish a column, a statistic, or a statistic of sequences, with its certificate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import fugu
from fugu.cli import options
from fugu.cli.answering import bounds_of, release_query
from fugu.cli.calibrating import describe, figures, scenario_of
from fugu.cli.charging import account_of, charged, check_ledger
from fugu.cli.console import out, print_json, progress
from fugu.data import Table, read_table, write_csv
from fugu.errors import BadTable, UsageError
from fugu.mechanism.analysis import Analysis
from fugu.publish import release_column


def release(
    table: options.TablePath,
    epsilon: options.Epsilon,
    output: Annotated[str, typer.Option("--output", "-o", help="Where the published column goes (OUT.csv).")],
    protect: options.ProtectIfAny = None,
    publish: Annotated[str | None, typer.Option(help="The column to publish, row by row.")] = None,
    query: Annotated[str | None, typer.Option(help='Or a statistic: "mean(chol)", "count(smoker=yes)".')] = None,
    by: Annotated[
        str | None, typer.Option(help="With --query: the public column that groups the rows; sequences: the user.")
    ] = None,
    bounds: Annotated[str | None, typer.Option(help='With --query: values are clipped to these, "0,400".')] = None,
    step: Annotated[str | None, typer.Option(help="With --query: values are rounded to this step.")] = None,
    delta: options.Delta = "0",
    alpha: options.Alpha = None,
    reference: Annotated[str | None, typer.Option(help="The table that beliefs are fitted on.")] = None,
    public_prior: Annotated[
        bool, typer.Option("--public-prior", help="Fit beliefs on TABLE itself and count them as public.")
    ] = False,
    pairs: options.Pairs = "all",
    bins: options.Bins = None,
    missing: options.Missing = "error",
    unit: options.Unit = None,
    prior: options.Prior = "empirical",
    noise: options.NoiseName = "best",
    method: options.MethodName = "best",
    grid: options.Grid = "auto",
    allow_no_noise: Annotated[
        bool, typer.Option("--allow-no-noise", help="Publish exact values if the beliefs alone suffice.")
    ] = False,
    order: options.OrderIfAny = None,
    state: options.StateIfAny = None,
    smoothing: options.Smoothing = 0.0,
    start: options.Start = "fitted",
    length: Annotated[int | None, typer.Option(help="Sequences: the length of the prior, if longer.")] = None,
    other: Annotated[str | None, typer.Option(help="Sequences: the state that unknown states count as.")] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger that is charged; columns and sequences.")] = None,
    request: Annotated[str | None, typer.Option(help="The name of this request in the ledger.")] = None,
    total: Annotated[
        str | None, typer.Option("--budget", help="Epsilon of all requests; --epsilon if left out.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="The name of the data in the ledger; the file's if left out.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Calibrate and prove, but release and write nothing.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish a column or a statistic of TABLE, or of its sequences: OUT.csv, its certificate, a page for a column."""
    files = _targets(output, table, reference, ledger)
    if (reference is None) == (not public_prior):
        raise UsageError(
            "beliefs must come from somewhere: give --reference REF (a table that is not the one released), or "
            "--public-prior to fit them on TABLE itself and count them as public; one of the two"
        )
    check_ledger(ledger, request, total, data)
    data = Path(table).name if data is None else data
    whole = None if total is None else options.positive("--budget", total)
    if state is not None or order is not None:
        _refuse(
            "not for sequences",
            publish=publish, protect=protect, delta=delta, alpha=alpha, step=step, pairs=pairs, bins=bins,
            missing=missing, unit=unit, prior=prior, noise=noise, method=method, grid=grid,
            allow_no_noise=allow_no_noise,
        )  # fmt: skip
        if state is None or order is None or by is None or query is None:
            raise UsageError("sequences need all of --query QUERY, --by USER, --order TIME and --state STATE")
        from fugu.cli.sequences import Asked, release_sequences

        asked = Asked(
            table, query, by, order, state, options.number("epsilon", epsilon), reference, smoothing, length, other,
            bounds_of(bounds), ledger, request, whole, data, start,
        )  # fmt: skip
        release_sequences(asked, files["column"], dry_run, as_json)
        return
    _refuse("for sequences only (--order and --state)", smoothing=smoothing, length=length, other=other, start=start)
    if protect is None:
        raise UsageError("say what is secret: --protect COLUMN; or give --order and --state for sequences")
    budget = options.budget(epsilon, delta, alpha)
    if (publish is None) == (query is None):
        raise UsageError("say what to publish: --publish COLUMN, or --query 'mean(COLUMN)'; one of the two")
    if query is not None:
        if isinstance(budget, fugu.Renyi):
            raise UsageError("--query takes epsilon and delta; --alpha is for --publish")
        _refuse(
            "for columns only, not with --query",
            pairs=pairs, missing=missing, prior=prior, noise=noise, method=method, grid=grid, dry_run=dry_run,
            ledger=ledger, request=request,
        )  # fmt: skip
        release_query(
            table,
            query,
            protect,
            budget,
            reference,
            files["column"],
            by,
            bounds,
            step,
            bins,
            unit,
            allow_no_noise,
            as_json,
        )
        return
    assert publish is not None
    _refuse("for --query only", by=by, bounds=bounds, step=step)
    with progress():
        scenario = scenario_of(
            reference or table, publish, protect, pairs, bins, missing, unit, prior=prior, public_prior=public_prior
        )
        mechanism = fugu.calibrate(scenario, budget, noise=noise, method=method, grid=grid)
        if isinstance(mechanism, Analysis):
            mechanism.release([])  # refused, and says why
        private, column = _private(table, publish)
        page = None if dry_run else _page(mechanism, publish, protect)
    summary = {**figures(mechanism), "report": asdict(scenario.report), "dry_run": dry_run}
    if not dry_run:
        account = account_of(ledger, request, options.budget(epsilon if total is None else total, delta, alpha), data)
        drawn = release_column(mechanism, private, allow_no_noise=allow_no_noise)
        released = charged(account, mechanism, column, drawn)
        mechanism.certificate.save(files["certificate"])
        _write(files["page"], page or "")
        write_csv(files["column"], {publish: released.values})  # last: no value is written without what covers it
        summary["files"] = {name: str(path) for name, path in files.items()}
        summary |= {"ledger": {"request": account.request, "data": account.data}} if account else {}
    if as_json:
        print_json(summary)
        return
    describe(mechanism, publish)
    written = ", ".join(str(f) for f in files.values())
    out.print("dry run: nothing was released or written" if dry_run else f"wrote {written}", markup=False)


_DEFAULTS: dict[str, object] = {
    "pairs": "all",
    "missing": "error",
    "prior": "empirical",
    "noise": "best",
    "method": "best",
    "grid": "auto",
    "delta": "0",
    "smoothing": 0.0,
    "start": "fitted",
    "allow_no_noise": False,
    "dry_run": False,
}


def _refuse(why: str, **given: object) -> None:
    """Options that a route does not know are refused, never ignored."""
    changed = [f"--{name.replace('_', '-')}" for name, value in given.items() if value != _DEFAULTS.get(name)]
    if changed:
        raise UsageError(f"{', '.join(changed)}: {why}; leave it out")


def _targets(output: str, *read: str | None) -> dict[str, Path]:
    """The three files of a release; the folder must exist, and no table or ledger is ever overwritten."""
    column = Path(output)
    if column.suffix != ".csv":
        raise UsageError(f"the column is written as CSV; give a name that ends in .csv, not {output!r}")
    files = {
        "column": column,
        "certificate": column.with_suffix(".certificate.json"),
        "page": column.with_suffix(".report.html"),
    }
    for file in files.values():
        options.target(str(file), *read)
    return files


def _private(path: str, publish: str) -> tuple[Table, Any]:
    """The table and its column; what is wrong with them is found before anything is spent."""
    table = read_table(path)
    column = table.column(publish)
    if len(table) == 0:
        raise BadTable(f"{Path(path).name!r} has no rows, so there is nothing to release")
    return table, column


def _page(mechanism: fugu.Mechanism, publish: str, protect: str) -> str:
    from fugu.report import page

    return page(mechanism, query_name=publish, secret_name=protect)


def _write(path: Path, text: str) -> None:
    from fugu.report import write

    write(path, text)
