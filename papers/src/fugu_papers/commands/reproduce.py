"""`fugu reproduce`: the experiments of the papers, run again: printed, reproduced, true, and fugu's best."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich import box
from rich.table import Table

from fugu.cli.asking import AsJson
from fugu.cli.console import err, escape, out, print_json, progress, say, warn
from fugu.errors import FuguError, UsageError

if TYPE_CHECKING:
    from fugu_papers.experiment import Experiment, Outcome, Own, Setting
    from fugu_papers.shelf import Shelf

_FOLDER = "reproduced"


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="An experiment, a paper such as 003, or all.", show_default=False),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Data of one's own in place of the paper's, public or a reference: a table, or LAWS.toml."),
    ] = None,
    publish: Annotated[str | None, typer.Option(help="With --table: the column to publish, or the statistics.")] = None,
    protect: Annotated[str | None, typer.Option(help="With --table: the secret column, or the property.")] = None,
    by: Annotated[str | None, typer.Option(help="With --table and sequences: the column of users.")] = None,
    order: Annotated[str | None, typer.Option(help="With --table and sequences: the column of times.")] = None,
    state: Annotated[str | None, typer.Option(help="With --table and sequences: the column of states.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the data files are; else FUGU_DATA, the cache, and counts that come with fugu."),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch files that are nowhere from their source, and check them.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write tables and figures into this folder.")
    ] = None,
    short: Annotated[bool, typer.Option("--short", help="Fewer points and draws: a look, not a result.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Of several: run also what the folder has from a run like this one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the experiments of the papers; with a NAME, run one, all of one paper, or all.

    Nothing is released: what a paper prints is computed, with the loss that it really has. A method that does not keep
    its promise is shown as such. With `all`, tables and figures go into the folder reproduced, or that of -o, each
    experiment as it ends: a run that was cut short goes on where it stopped. What fails is listed, and left out.
    """
    from fugu_papers.experiment import NOT_PROTECTED, Setting
    from fugu_papers.reproduce import experiments
    from fugu_papers.shelf import Shelf

    own, shelf = _own(table, publish, protect, by, order, state), Shelf(folder, download)
    if name is None:
        if own is not None or output is not None:
            raise UsageError("give the NAME of an experiment; fugu reproduce lists them")
        _list(experiments(), shelf, as_json)
        return
    wanted, setting = _wanted(name, own), Setting(shelf, short, own)
    many = len(wanted) > 1
    target = output if output is not None or name.strip().lower() != "all" else Path(_FOLDER)
    if target is not None:
        _prepare(target)
    found, missing, written = _run(wanted, setting, target, again)
    if as_json:
        _print_json(found, missing, many)
        return
    for experiment, outcome in found:
        if not many:
            _show(experiment, outcome)
    if many:
        _summary(found, missing)
    if own is not None:
        warn((NOT_PROTECTED,))
    if target is not None:
        say(f"wrote {written} files into {target}")
    if any(not left.expected for left in missing):
        raise typer.Exit(1)


def _own(
    table: Path | None, publish: str | None, protect: str | None, by: str | None, order: str | None, state: str | None
) -> Own | None:
    from fugu_papers.experiment import LAWS, TABLE, Own

    columns, entries = (publish, protect), (by, order, state)
    if table is None:
        if any((*columns, *entries)):
            raise UsageError(
                "--publish, --protect, --by, --order and --state are for data of one's own: give it with --table"
            )
        return None
    own = Own(table, publish or "", protect or "", by, order, state)
    if own.kind == TABLE and (publish is None or protect is None or any(entries)):
        raise UsageError(
            "with --table give --publish, the column to publish, and --protect, the secret one; or --order and --state"
        )
    if own.kind != TABLE and (any(columns) or (own.kind == LAWS and any(entries))):
        raise UsageError("--publish and --protect are for a table: laws and sequences say themselves what is secret")
    if own.kind not in (TABLE, LAWS) and order is None:
        raise UsageError("sequences need --order, the column of times, beside --state")
    return own


def _wanted(name: str, own: Own | None) -> tuple[Experiment, ...]:
    """All, those of a paper (by number or first author), or one."""
    from fugu_papers.reproduce import PAPERS, experiments, find

    word = name.strip().lower()
    number = {module: key for key, (module, _) in PAPERS.items()}.get(word, word)
    several = [each for each in experiments() if word == "all" or each.name.startswith(f"{number}-")]
    if word != "all" and number not in PAPERS:
        several = [find(name)]
    if own is not None:
        several = [each for each in several if own.kind in each.takes] if len(several) > 1 else several
        if not several:
            raise UsageError(f"no experiment of {name!r} runs on such data of one's own; fugu reproduce says which do")
        several = [each.on(own) for each in several]
    return tuple(several)


class _Left(NamedTuple):
    """An experiment that was left out, and why; `expected`: for want of its data."""

    experiment: Experiment
    why: str
    expected: bool


def _run(
    wanted: tuple[Experiment, ...], setting: Setting, target: Path | None, again: bool
) -> tuple[list[tuple[Experiment, Outcome]], list[_Left], int]:
    """Run them, and write each as it ends; of several, one that cannot be run is left out and said. Also how many files
    were written."""
    from fugu.progress import report, stage
    from fugu_papers.reproduce import done, made_by, write
    from fugu_papers.shelf import DataMissing, WrongData

    found, missing, written, many, made = [], [], 0, len(wanted) > 1, made_by(setting)
    with progress("reproducing"):
        for number, experiment in enumerate(wanted):
            if many:
                report("experiments", number, len(wanted))
            stage(experiment.name)
            before = done(experiment, target, made) if many and target is not None and not again else None
            began = time.monotonic()
            try:
                outcome = before or experiment.run(setting)
                if target is not None and before is None:
                    written += len(write(experiment, outcome, target, made))
                found.append((experiment, outcome))
                told = "done before" if before else f"{len(outcome.rows)} rows, {time.monotonic() - began:.0f} s"
            except Exception as error:
                if not many:
                    raise
                expected = isinstance(error, DataMissing | WrongData)
                told = str(error) if isinstance(error, FuguError) else f"{type(error).__name__}: {error}"
                missing.append(_Left(experiment, told, expected))
            if many and not err.is_terminal:
                err.print(f"{number + 1} of {len(wanted)}: {escape(experiment.name)}, {escape(told)}", soft_wrap=True)
    return found, missing, written


def _prepare(target: Path) -> None:
    """Make the folder before anything runs: some runs take minutes, and should not end in a folder that is none."""
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"--output: {str(target)!r} is not a folder; name one to write into") from None
    if not os.access(target, os.W_OK | os.X_OK):
        raise UsageError(f"--output: the folder {str(target)!r} cannot be written into; name another one")


def _list(known: tuple[Experiment, ...], shelf: Shelf, as_json: bool) -> None:
    """Every experiment, and whether its data is there."""
    from fugu_papers.reproduce import PAPERS

    if as_json:
        names = ("name", "title", "measure", "loss", "chosen", "files", "takes")
        print_json([{**{n: getattr(e, n) for n in names}, "ready": _ready(e, shelf)} for e in known])
        return
    table = Table(header_style="bold", caption_justify="left")
    for column in ("name", "what it shows", "data", "of one's own"):
        table.add_column(column, no_wrap=column == "name")
    for each in known:
        data = "ready" if _ready(each, shelf) else "not found"
        table.add_row(escape(each.name), escape(each.title), data, ", ".join(each.takes))
    table.caption = "\n".join(escape(f"{number}: {title}") for number, (_, title) in PAPERS.items())
    out.print(table)
    say(f"{len(known)} experiments; fugu reproduce NAME runs one, fugu reproduce all runs all")


def _ready(experiment: Experiment, shelf: Shelf) -> bool:
    return all(shelf.find(path) is not None for path in experiment.files)


def _show(experiment: Experiment, outcome: Outcome) -> None:
    """One experiment: what was chosen for the paper's data, the table, its remarks."""
    from fugu_papers.experiment import NOT_PROTECTED
    from fugu_papers.reproduce import notes
    from fugu_papers.reproduce import table as told

    say(f"{experiment.name}: {experiment.title}")
    for sentence in (*experiment.chosen, *outcome.remarks):
        if sentence == NOT_PROTECTED:
            continue  # told at the end, as a warning
        say(f"- {sentence}", soft_wrap=not out.is_terminal)
    header, lines = told(experiment, outcome)
    say(f"Values are {experiment.measure}; losses are {experiment.loss}. (=) came out as printed, (!) did not.")
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    shown = [n for n, column in enumerate(header) if column != "verdict"]
    marks = {"reproduced": " (=)", "differs": " (!)"}
    rows = [
        [line[n] + (marks.get(row.verdict, "") if header[n] == "printed" else "") for n in shown]
        for row, line in zip(outcome.rows, lines, strict=True)
    ]
    for place, n in enumerate(shown):
        words = header[n] in (*experiment.columns, "method")
        widest = max(len(line[place]) for line in rows)  # no number is cut: what does not fit becomes a list
        least = None if words else max(widest, *(len(word) for word in header[n].split()))
        table.add_column(escape(header[n]), justify="left" if words else "right", min_width=least, overflow="fold")
    for line in rows:
        table.add_row(*map(escape, line))
    out.print(table)
    for note, number in notes(outcome.rows).items():
        say(f"({number}) {note}", soft_wrap=not out.is_terminal)
    for row in outcome.rows:
        if row.sound is False:
            case = ", ".join((*row.case, row.method))
            say(f"{case}: as printed, not a guarantee: true {experiment.loss} {row.truth:.5g}, claimed {row.claim:.5g}",
                soft_wrap=not out.is_terminal)  # fmt: skip


def _summary(found: list[tuple[Experiment, Outcome]], missing: list[_Left]) -> None:
    """One line for each experiment: how many rows came out as printed, and what the printed methods cost."""
    from fugu_papers.summary import VERDICTS, summary

    table = Table(header_style="bold")
    table.add_column("experiment", no_wrap=True)
    for column in ("rows", *VERDICTS, "not a guarantee", "ratio, median"):
        table.add_column(column, justify="right")
    for experiment, outcome in found:
        told = summary(outcome.rows)
        table.add_row(escape(experiment.name), *told.cells())
    total = summary(tuple(row for _, outcome in found for row in outcome.rows))
    table.add_row("[bold]all[/]", *total.cells())
    out.print(table)
    for experiment, why, expected in missing:
        said = "was left out" if expected else "failed"
        say(f"{experiment.name} {said}: {why}", soft_wrap=not out.is_terminal)


def _print_json(found: list[tuple[Experiment, Outcome]], missing: list[_Left], many: bool) -> None:
    from fugu_papers.reproduce import to_dict

    told = [to_dict(experiment, outcome) for experiment, outcome in found]
    left = [{"name": experiment.name, "why": why, "failed": not known} for experiment, why, known in missing]
    print_json({"experiments": told, "left_out": left} if many else told[0])
