"""`fugu errata`: slips in the papers behind fugu, each with a counterexample that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fugu.cli.asking import AsJson
from fugu.cli.console import escape, out, print_json, progress, say
from fugu.errors import NotProvable, UsageError

if TYPE_CHECKING:
    from fugu_papers.errata import Claim, Erratum, Finding


def errata(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="Run the counterexample of this one.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run every counterexample.")] = False,
    as_json: AsJson = False,
) -> None:
    """List errors in the papers; with an ID, or --all, run the counterexamples.

    Ends with 4 if a counterexample that was run does not refute what is printed, or the correction fails.
    """
    from fugu_papers import errata as known

    if name is not None and everything:
        raise UsageError("give one ID, or --all")
    if name is None and not everything:
        entries = known.errata()
        if as_json:
            print_json([{**entry.to_dict(), **_places(entry)} for entry in entries])
        else:
            _list(entries)
        return
    with progress():
        one = [] if name is None else [known.find(name)]
        found = tuple((entry, entry.run()) for entry in one) or known.run_all()
    if as_json:
        told = [{**entry.to_dict(), **_places(entry), **finding.to_dict()} for entry, finding in found]
        print_json(told[0] if one else told)
    elif one:
        _show(*found[0])
    else:
        _table(found)
    idle = [entry.id for entry, finding in found if not (finding.refuted and finding.stands)]
    if idle:
        raise NotProvable(f"not confirmed, {len(idle)} of {len(found)}: {', '.join(idle)}; see what was computed above")


def _places(entry: Erratum) -> dict[str, list[str]]:
    """Where it stands in the table of the papers, and the experiments of `fugu reproduce` that show it."""
    from fugu_papers.catalogue import results

    of = [result for result in results() if entry.id in result.errata]
    runs = list(dict.fromkeys(result.experiment for result in of if result.experiment))
    return {"papers": [result.place for result in of], "experiments": runs}


def _list(entries: tuple[Erratum, ...]) -> None:
    """All of them, nothing run; the letters are explained below."""
    from fugu_papers.errata.registry import PAPERS

    table = Table(header_style="bold", caption_justify="left")
    table.add_column("id", no_wrap=True)
    table.add_column("where")
    table.add_column("what is wrong")
    table.add_column("class")
    table.add_column("experiment")
    for entry in entries:
        runs = ", ".join(_places(entry)["experiments"])
        table.add_row(*map(escape, (entry.id, entry.where, entry.verdict, entry.grade, runs)))
    table.caption = "\n".join(escape(f"{letter}: {paper}") for letter, paper in PAPERS.items())
    out.print(table)
    say(f"{len(entries)} entries; fugu errata ID runs one, fugu errata --all runs all; fugu papers has what stands")


def _show(entry: Erratum, finding: Finding) -> None:
    """One finding in words: the two statements, the example, and what was computed."""
    out.print(
        f"[bold]{escape(entry.id)}[/]: {escape(entry.where)}, {escape(entry.paper)}", soft_wrap=not out.is_terminal
    )
    places = _places(entry)
    for word, text in (
        ("class", entry.grade),
        ("under", entry.assumes),
        ("printed", entry.printed),
        ("example", finding.example),
        ("it says", finding.printed.stated),
        ("truth", _verdict(finding.printed, "refuted" if finding.refuted else "NOT refuted")),
        ("instead", entry.corrected),
        ("it says", finding.corrected.stated),
        ("truth", _verdict(finding.corrected, "holds" if finding.stands else "FAILS")),
        ("papers", ", ".join(places["papers"])),
        ("run it", ", ".join(f"fugu reproduce {name}" for name in places["experiments"])),
        ("more", entry.link),
    ):
        if not text:
            continue
        out.print(f"  {word + ':':<9}{escape(text)}", soft_wrap=not out.is_terminal)


def _verdict(claim: Claim, word: str) -> str:
    from fugu_papers.errata.finding import shown

    return f"{shown(claim.truth)}: {word}"


def _table(found: tuple[tuple[Erratum, Finding], ...]) -> None:
    """All findings, one row each."""
    from fugu_papers.errata.finding import shown

    table = Table(header_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("the printed statement says")
    table.add_column("truth", justify="right", no_wrap=True)
    table.add_column("so it is", no_wrap=True)
    for entry, finding in found:
        table.add_row(
            escape(entry.id),
            escape(finding.printed.stated),
            shown(finding.printed.truth),
            "refuted" if finding.refuted else "[bold red]NOT refuted[/]",
        )
    out.print(table)
    for entry, finding in found:
        if not finding.stands:
            out.print(f"[bold red]{escape(entry.id)}[/]: the correction FAILS: {escape(finding.corrected.stated)}")
    done, right = sum(finding.refuted for _, finding in found), sum(finding.stands for _, finding in found)
    say(f"{done} of {len(found)} printed statements refuted; {right} corrected statements hold for the same examples")
