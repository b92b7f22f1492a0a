"""`fugu influence`: how much the entries of a sequence say about each other, and what that costs."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table

import fugu
from fugu.cli import options, sequence_options
from fugu.cli.console import escape, out, print_json, progress
from fugu.cli.sequence_output import shown, unprotected
from fugu.cli.sequence_reading import Columns, spacing
from fugu.data.layout import MODELLED, Layout
from fugu.data.sequences import Timed, declared_states
from fugu.errors import UsageError
from fugu.numbers.exact import Real, as_fraction, float_down
from fugu.progress import report, stage
from fugu.queries.sequence_beliefs import believed, steps_of
from fugu.queries.sequence_prior import Chain, chain_json
from fugu.visible import several

_USUAL, _FEW = 0.95, 12
"""The confidence that is shown beside a chain that was fitted without one, and up to how many declared states."""
_AT = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)


def influence(
    table: Annotated[str, typer.Argument(metavar="SEQ", help="Reference sequences: a CSV or Parquet file.")],
    epsilon: options.Epsilon,
    by: sequence_options.UserIfAny = None,
    order: options.OrderIfAny = None,
    state: options.StateIfAny = None,
    smoothing: options.Smoothing = 0.0,
    start: options.Start = "fitted",
    confidence: options.Confidence = None,
    length: Annotated[int | None, typer.Option(help="Length of the sequences to be released.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="OUT.html", help="Write a page with the curve.")] = None,
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    repeats: sequence_options.Repeats = None,
    columns: sequence_options.Wide = None,
    end: sequence_options.End = None,
    every: sequence_options.Every = None,
    between: sequence_options.Between = None,
    overlaps: sequence_options.Overlaps = None,
    backwards: sequence_options.Backwards = None,
    bins: sequence_options.Cuts = None,
    gaps: sequence_options.Gaps = None,
    inside: sequence_options.Inside = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit a chain on SEQ: its influence curve, and the largest epsilon for each entry that keeps EPSILON."""
    asked, level = options.positive("epsilon", epsilon), options.confidence(confidence)
    if level is not None and smoothing:
        raise UsageError("--smoothing makes another prior, and --confidence covers the true one: give one of the two")
    if plot is not None:
        options.target(plot, table, schema)
    with progress():
        stage("reading the sequences")
        layout = Layout.of(repeats, columns, end, every, between, overlaps, backwards, bins, gaps, inside)
        wanted = Columns.of(by, order, state, schema, not no_header, layout)
        known, told_before = wanted.timed(table)[1], wanted.told()
        stage("fitting the chain")
        modelled = told_before.sequence.gaps == MODELLED and length is None and level is None
        steps = steps_of(known.plan, known.sequences) if modelled else None
        chain: Chain = believed(known, told_before, wanted.state, smoothing, length, start, level, steps)
        written = chain_json(chain)
        beside = _beside(wanted, known, length, start, asked) if level is None and not smoothing else None
        stage("the curve of influence")
        curve = fugu.influence(chain)
        at = (*(b for b in _AT if b < chain.length), chain.length)
        points = []
        for place, b in enumerate(at):
            report("entries set aside", place, len(at))
            points.append((b, curve(b)))
        report("entries set aside", len(at), len(at))
        stage("the largest epsilon for each entry")
        best = fugu.dp_budget(chain, asked)
        group = as_fraction(asked) / chain.length
    told: dict[str, Any] = {
        "users": len(known.sequences),
        "states": list(chain.states),
        "length": chain.length,
        "smoothing": smoothing,
        "start": written["initial"],
        "forbidden transitions": written["forbidden transitions"],
        **({"confidence": written["confidence"]["confidence"]} if "confidence" in written else {}),
        "skipped": list(chain.skipped),
        "influence": [{"b": b, "a": a} for b, a in points],
        "epsilon": float(asked),
        "epsilon per entry": {
            "best rule": best,
            "group": float_down(group),
            **({} if beside is None else {f"with confidence {_USUAL:g}": beside}),
        },
        "assumptions": [*chain.assumptions, *told_before.sequence.sentences(), *spacing(known.plan)],
    }
    if plot is not None:
        from fugu.report import write

        write(plot, _page(points, f"{chain.size} states, length {chain.length}"))
        told["plot"] = plot
    if as_json:
        print_json(told)
    else:
        _show(told, group)


def _beside(columns: Columns, known: Timed, length: int | None, start: str, asked: Real) -> float | str | None:
    """The same budget for every chain that the reference does not rule out; or why it is not known; None if no states
    were declared, which limits need, or too many to do unasked."""
    told = columns.told()
    declared = declared_states(told, columns.state)
    if not declared or len(declared) > _FEW:
        return None
    try:
        return fugu.dp_budget(believed(known, told, columns.state, 0.0, length, start, _USUAL), asked)
    except UsageError as error:
        return f"not worked out, because {error}"


def _show(told: dict[str, Any], group: Fraction) -> None:
    """Influences are shown rounded up, budgets rounded down."""
    names = [str(name) for name in told["states"]]
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    out.print(
        f"{told['users']} users; {several(len(names), 'state')} ({escape(listed)}); length {told['length']}; "
        f"{told['forbidden transitions']} of {len(names) ** 2} transitions forbidden; smoothing {told['smoothing']:g}; "
        f"{told['start'] if isinstance(told['start'], str) else 'fitted'} start{_sure(told)}"
        f"{escape(unprotected(told['skipped']))}",
        soft_wrap=True,
    )
    table = Table(header_style="bold")
    table.add_column("entries set aside, b", justify="right")
    table.add_column("influence of the others, a(b)", justify="right")
    for point in told["influence"]:
        table.add_row(str(point["b"]), shown(point["a"], ROUND_CEILING))
    out.print(table)
    best = told["epsilon per entry"]["best rule"]
    out.print(
        f"for epsilon {told['epsilon']:g}: {shown(best, ROUND_FLOOR)} for each entry by the best rule; "
        f"{shown(group, ROUND_FLOOR)} by the group bound epsilon / {told['length']}",
        soft_wrap=True,
    )
    for line in told["assumptions"]:
        if line.startswith("Gaps in time"):
            out.print(escape(line), soft_wrap=True)
    if (beside := told["epsilon per entry"].get(f"with confidence {_USUAL:g}")) is not None:
        found = beside if isinstance(beside, str) else f"{shown(beside, ROUND_FLOOR)} for each entry"
        out.print(
            "that is for the fitted chain; for every chain that SEQ does not rule out "
            f"(--confidence {_USUAL:g}): {escape(found)}",
            soft_wrap=True,
        )


def _sure(told: dict[str, Any]) -> str:
    """What the confidence means, in a few words."""
    if "confidence" not in told:
        return ""
    level = float(Fraction(told["confidence"]))
    return f"; every chain between limits that hold the truth with confidence {level:.10g} over the draw of SEQ"


def _page(points: list[tuple[int, float]], name: str) -> str:
    """A self-contained page with the finite part of the curve."""
    from fugu.report.influence import influence_page

    return influence_page(points, name)
