"""`fugu papers`: every result of the papers behind fugu, and where it stands here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fugu.cli.asking import AsJson
from fugu.cli.console import escape, out, print_json, say
from fugu.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from fugu_papers.catalogue import Paper, Result
    from fugu_papers.field import Work
    from fugu_papers.glossary import Term

_WHOLE = 3
"""Up to so many results are shown in full; more as a table."""


def papers(
    asked: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help='A paper ("000"), a label ("Theorem 4.5"), a name ("GWM"), or a work around them ("Blowfish").',
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the papers; with a number, its results; with a label or name, what fugu says about it."""
    from fugu_papers.catalogue import paper
    from fugu_papers.catalogue import papers as known

    text = " ".join(asked or [])
    if not text.strip():
        if as_json:
            print_json([_about(each) for each in known()])
        else:
            _list(known())
    elif re.fullmatch(r"\d+", text) or text.lower() in (each.file for each in known()):
        found = paper(text)
        if as_json:
            print_json({**_about(found), "results": [result.to_dict() for result in found.results]})
        else:
            _table(found.results, f"{found.number}: {found.title}")
            say(f"{len(found.results)} results; fugu papers WHAT shows one; {found.page}")
    else:
        term, results, around = _found(text)
        if as_json:
            told = {"term": None if term is None else _told(term), "results": [each.to_dict() for each in results]}
            print_json({**told, "works": [work.to_dict() for work in around]})
        else:
            _show(term, results, text)
            _around(around)


def _found(text: str) -> tuple[Term | None, tuple[Result, ...], tuple[Work, ...]]:
    """The word of the glossary, the results and the works that a text names; refused if there is none."""
    from fugu_papers.catalogue import find
    from fugu_papers.catalogue.reading import find_one
    from fugu_papers.field import about
    from fugu_papers.glossary import find as find_word

    try:
        term: Term | None = find_word(text)
    except UnknownName:
        term = None
    around = about(text)
    try:
        return term, find(text), around
    except UsageError:
        if term is None and not around:
            raise
    return term, tuple(find_one(*place.split(" ", 1)) for place in (term.where if term else ())), around


def _about(paper: Paper) -> dict[str, object]:
    about = {name: getattr(paper, name) for name in ("number", "authors", "title", "page")}
    return {**about, "verdicts": dict(Counter(result.verdict for result in paper.results))}


def _told(term: Term) -> dict[str, object]:
    return {name: getattr(term, name) for name in ("name", "means", "differs", "ours")} | {"link": _link(term)}


def _link(term: Term) -> str:
    return f"docs/glossary.md#{term.anchor}"


def _list(known: Sequence[Paper]) -> None:
    """The papers, with how many results have which verdict."""
    from fugu_papers.catalogue import VERDICTS
    from fugu_papers.field import PAGE, works

    table = Table(header_style="bold")
    table.add_column("paper", no_wrap=True)
    for name in ("what it is", "results"):
        table.add_column(name)
    for paper in known:
        counted = Counter(result.verdict for result in paper.results)
        said = ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted[verdict])
        table.add_row(paper.number, escape(f"{paper.authors}: {paper.title}"), f"{len(paper.results)}: {said}")
    out.print(table)
    say('fugu papers 000 lists the results of one, fugu papers "Theorem 4.5" or GWM finds one; docs/papers.md')
    around = Table(header_style="bold", title="Around them", title_justify="left")
    for name in ("work", "name", "where"):
        around.add_column(name)
    for work in works():
        around.add_row(*map(escape, (f"{work.authors}: {work.title}", work.names[0], work.where)))
    out.print(around)
    say(f"fugu papers {works()[2].names[0]} shows one; {PAGE}")


def _table(results: Sequence[Result], title: str) -> None:
    table = Table(header_style="bold", title=escape(title), title_justify="left")
    table.add_column("result", no_wrap=True)
    for name in ("name", "verdict", "what is true"):
        table.add_column(name)
    several = len({result.paper for result in results}) > 1
    for result in results:
        label = result.place if several else result.label
        table.add_row(*map(escape, (label, result.name, result.verdict, result.says)))
    out.print(table)


def _around(works: Sequence[Work]) -> None:
    """Works around the five papers, in full."""
    for work in works:
        out.print(f"[bold]{escape(work.authors)}[/]: {escape(work.title)}", soft_wrap=not out.is_terminal)
        _lines(
            ("where", f"{work.where} (told from {work.source})"),
            ("defines", work.defines),
            ("here", work.here),
            ("missing", work.missing),
            ("run it", work.link),
        )


def _show(term: Term | None, results: Sequence[Result], text: str) -> None:
    """A word of the glossary, then a few results in full, or many as a table."""
    wrap = not out.is_terminal
    if term is not None:
        out.print(f"[bold]{escape(term.name)}[/]: {escape(term.means)}", soft_wrap=wrap)
        _lines(("differs", term.differs), ("here", "; ".join(term.ours)), ("more", _link(term)))
    first = [result for result in results if result.name.partition(":")[0].casefold() == text.strip().casefold()]
    whole = results if len(results) <= _WHOLE else first
    for result in whole:
        out.print(f"[bold]{escape(result.place)}[/]: {escape(result.name)}", soft_wrap=wrap)
        _lines(
            ("verdict", result.verdict),
            ("true is", result.says),
            ("here", ", ".join(result.functions)),
            ("run it", ", ".join(result.typed)),
            ("tests", ", ".join(result.tests)),
            ("proof", result.proof_page),
            *(("errata", _wrong(name)) for name in result.errata),
        )
    if len(whole) < len(results):
        _table([result for result in results if result not in whole], f"also about {text}" if first else text)


def _wrong(name: str) -> str:
    """An erratum in one line: how to run it, its class, and what it was checked under."""
    from fugu_papers.errata import find

    entry = find(name)
    return f"fugu errata {name} ({entry.grade}). {entry.assumes}"


def _lines(*parts: tuple[str, str]) -> None:
    """What is said, each after its word; what is empty is left out."""
    for word, said in parts:
        if said:
            out.print(f"  {word + ':':<9}{escape(said)}", soft_wrap=not out.is_terminal)
