"""`fugu compare`: every method's noise side by side, on columns, statistics and sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

import fugu
from fugu.calibration.rows import RowsNeeded, rows_needed
from fugu.cli import options, sequence_options
from fugu.cli.answering import bounds_of
from fugu.cli.calibrating import scenario_of
from fugu.cli.channels import Wanted
from fugu.cli.console import comparison_table, limit_table, out, print_json, progress, say, usable_table, warn
from fugu.cli.refusing import refuse
from fugu.cli.route_errors import compare_statistics
from fugu.cli.sequence_reading import Columns
from fugu.data.layout import Layout
from fugu.errors import UsageError
from fugu.guarantee import Approx, Guarantee, weaknesses
from fugu.guarantee.promises import REFERENCE, promise
from fugu.progress import stage
from fugu.scenario import Scenario


def compare(
    table: options.TablePath,
    epsilon: options.Epsilon,
    protect: options.ProtectIfAny = None,
    publish: Annotated[str | None, typer.Option(help="The column to publish.")] = None,
    query: Annotated[
        str | None,
        typer.Option(
            help='Or statistics, on both routes: "mean(chol)", "mean(age), histogram(ward)"; of sequences: "top3".'
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="With --query: the public column that groups the rows; sequences: the user.")
    ] = None,
    bounds: Annotated[str | None, typer.Option(help='With --query: "0,400", or "age:0:110,bmi:10:60".')] = None,
    step: Annotated[str | None, typer.Option(help='With --query: "5", or "age:5,chol:10".')] = None,
    weights: Annotated[str | None, typer.Option(help='With --query: "2,1,1", or "error".')] = None,
    delta: options.Delta = "0",
    alpha: options.Alpha = None,
    pairs: options.Pairs = "all",
    bins: options.Bins = None,
    missing: options.Missing = "error",
    unit: options.Unit = None,
    prior: options.Prior = "empirical",
    rows: options.Rows = None,
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    components: options.Components = None,
    confidence: options.Confidence = None,
    shift: options.Shift = "0",
    grid: options.Grid = "auto",
    mechanism: options.MechanismName = "noise",
    loss: options.LossName = None,
    cap: options.Cap = None,
    figure: Annotated[
        str | None, typer.Option(help="Write a page with every method, and what other budgets would cost, here (HTML).")
    ] = None,
    rows_within: Annotated[
        str | None,
        typer.Option(help="Also show how many rows bring noise with confidence this near to that without, e.g. 0.1."),
    ] = None,
    order: options.OrderIfAny = None,
    state: options.StateIfAny = None,
    repeats: sequence_options.Repeats = None,
    columns: sequence_options.Wide = None,
    end: sequence_options.End = None,
    every: sequence_options.Every = None,
    between: sequence_options.Between = None,
    overlaps: sequence_options.Overlaps = None,
    backwards: sequence_options.Backwards = None,
    gaps: sequence_options.Gaps = None,
    inside: sequence_options.Inside = None,
    smoothing: options.Smoothing = 0.0,
    start: options.Start = "fitted",
    length: Annotated[int | None, typer.Option(help="Sequences: the length of those to be released.")] = None,
    users: Annotated[
        int | None, typer.Option(help="Sequences: how many users the table to be released has; SEQ's if left out.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show every method's noise side by side. TABLE is the reference that beliefs are fitted on."""
    laid = {
        "repeats": repeats, "columns": columns, "end": end, "every": every, "between": between, "overlaps": overlaps,
        "backwards": backwards, "gaps": gaps, "inside": inside,
    }  # fmt: skip
    if state is not None or order is not None or columns is not None:
        refuse("not for sequences", protect=protect, publish=publish, pairs=pairs, prior=prior, components=components,
               shift=shift, grid=grid, mechanism=mechanism, loss=loss, cap=cap, figure=figure, unit=unit,
               rows_within=rows_within, alpha=alpha, missing=missing, step=step, rows=rows)  # fmt: skip
        if query is None:
            raise UsageError("sequences need --query QUERY, such as top3 or histogram")
        from fugu.cli.sequence_compare import Comparing, compare_sequences

        asked = Comparing(
            table, query, options.positive("epsilon", epsilon),
            Columns.of(by, order, state, schema, not no_header, Layout.of(**laid, bins=bins)),
            weights, smoothing, start, length, options.confidence(confidence), bounds_of(bounds), users,
            with_delta if isinstance(with_delta := options.odds(epsilon, delta), Approx) else None,
        )  # fmt: skip
        compare_sequences(asked, as_json)
        return
    refuse("for sequences only (--order and --state)", smoothing=smoothing, start=start, length=length, users=users,
           **laid)  # fmt: skip
    if protect is None:
        raise UsageError("say what is secret: --protect COLUMN; or give --order and --state for sequences")
    if query is not None:
        refuse("for --publish only", publish=publish, pairs=pairs, prior=prior, components=components, shift=shift,
               confidence=confidence, grid=grid, mechanism=mechanism, loss=loss, figure=figure,
               rows_within=rows_within, alpha=alpha, missing=missing, delta=delta)  # fmt: skip
        compare_statistics(
            table, query, by, bounds, step, bins, protect, epsilon, weights, unit, options.schema(schema, no_header),
            as_json, cap, rows,
        )  # fmt: skip
        return
    refuse("for --query only", by=by, bounds=bounds, step=step, weights=weights)
    if publish is None:
        raise UsageError("say what to compare: --publish COLUMN, or --query 'mean(COLUMN)'")
    wanted = Wanted(mechanism=mechanism, loss=loss, cap=cap)
    wanted.refuse_cap()
    budget = options.budget(epsilon, delta, alpha)
    if figure is not None:
        options.target(figure, table)
    with progress("fitting beliefs"):
        scenario = scenario_of(
            table, publish, protect, pairs, bins, missing, unit, prior=prior, components=components,
            schema=options.schema(schema, no_header), **options.level(confidence, shift),
        )  # fmt: skip
        stage("every method's noise")
        found = wanted.beside(fugu.compare(scenario, budget, grid=grid, rows=rows), scenario, budget)
        _ = found.beside, found.ordinary, found.usable, found.certificate  # worked out while progress is shown
        said = (*weaknesses(budget, scenario.report.rows if rows is None else rows), *scenario.report.few)
        if figure is not None:
            _figure(scenario, found, publish, protect, said, figure)
        within = None if rows_within is None else _rows(scenario, budget, rows_within)
    if as_json:
        needed: dict[str, Any] = {"anybody": None if found.certificate is None else found.certificate.anybody}
        needed |= {} if within is None else {"rows_needed": asdict(within)}
        print_json(
            {**found.to_json(), "budget": budget, "report": asdict(scenario.report), "warnings": list(said), **needed}
        )
        return
    believed = f"{promise(budget)} against whoever believes {REFERENCE}"
    out.print(comparison_table(found, f"Noise to publish {publish!r} while hiding {protect!r} at {believed}"))
    if found.promises:
        say(f"promised by {found.best.method}: {found.promises}")
    if (limits := limit_table(found)) is not None:
        out.print(limits)
    out.print(usable_table(found.usable))
    out.print(str(scenario.report), markup=False)
    say(f"usable: {found.basis}")
    if within is not None:
        say(str(within))
        say("what else lowers it, before the counts are looked at: " + "; ".join(within.advice))
    warn(said)


def _rows(scenario: Scenario, budget: Guarantee, within: str) -> RowsNeeded:
    """How large a reference would have to be."""
    return rows_needed(scenario, budget, float(options.positive("--rows-within", within)))


def _figure(
    scenario: Scenario, found: fugu.Comparison, publish: str, protect: str, said: Sequence[str], path: str
) -> None:
    """Write the page of a comparison."""
    from fugu.report import write
    from fugu.report.trade_page import trade_page

    beliefs = scenario.empirical or scenario.adversaries[0]
    laws = {name: law for name, law in beliefs.items() if isinstance(law, fugu.Discrete)}
    if scenario.query is not None and scenario.query.nominal:
        laws = {}  # names have no totals
    write(path, trade_page(scenario, found, publish, protect, laws or None, said))
