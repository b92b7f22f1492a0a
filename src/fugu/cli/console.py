"""What the commands print: tables on stdout, progress and refusals on stderr; on narrow terminals no number is cut.

What the library says goes out in the words of the command line (`spoken`)."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import resources
from typing import TYPE_CHECKING, Any

from rich import markup
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fugu.calibration.comparison import called, shown
from fugu.errors import FuguError
from fugu.guarantee import is_guarantee
from fugu.progress import BLINK, bars
from fugu.releasing import blocks
from fugu.visible import finite, stated, visible, visible_json

if TYPE_CHECKING:
    from fugu.calibration import Comparison, Row
    from fugu.checking.check import Check
    from fugu.releasing.outcome import Forecast
    from fugu.utility.usable import Usable


WEIGHED = "errors are for a value of the mean of the beliefs; noise that is added has the same for every value"


class Screen(Console):
    """A console on which no text moves the cursor, sets a colour or turns the writing around, whoever wrote it."""

    def render_str(self, text: str, **how: Any) -> Text:
        """Every string that is printed, also as a cell or a title, comes through here."""
        return super().render_str(promised(visible(text, keep="\n\t")), **how)

    def print(self, *objects: Any, **how: Any) -> None:
        """As rich prints, but a table whose longest words and numbers do not fit becomes a list: no number is cut."""
        wide = self.options.update(max_width=10_000)
        fitting = (
            listed(self, x) if isinstance(x, Table) and Measurement.get(self, wide, x).minimum > self.width else x
            for x in objects
        )
        super().print(*fitting, **how)


out = Screen(highlight=False, emoji=False)
err = Screen(stderr=True, highlight=False, emoji=False)


@contextmanager
def spoken_aside(aside: bool) -> Iterator[None]:
    """Meanwhile, if `aside`, what would be said on stdout is said on stderr."""
    out.stderr = aside
    try:
        yield
    finally:
        out.stderr = False


def escape(text: object) -> str:
    """A name, label or message as part of a line with markup: brackets are brackets, and it stays on its line."""
    return markup.escape(visible(text))


def say(text: str, soft_wrap: bool = False) -> None:
    """One line on stdout, without markup."""
    out.print(visible(text), markup=False, soft_wrap=soft_wrap)


def fail(error: FuguError) -> None:
    """One message, no traceback; in a file or a pipe, one line."""
    word = "[bold red]refused[/]:" if error.exit_code > 2 else "[bold red]error[/]:"
    err.print(word, escape(spoken(str(error))), soft_wrap=not err.is_terminal)


_CARRIED = (
    "column", "available", "kind", "name", "spent", "asked", "left", "budget", "points", "limit", "why", "advice",
)  # fmt: skip
"""What errors carry beside their message."""


def fail_json(error: FuguError) -> None:
    """A refusal for programs, on stdout: its class, message and exit code, and what it carries."""
    said = {"type": type(error).__name__, "message": str(error), "exit": error.exit_code}
    for name in _CARRIED:
        if hasattr(error, name):
            part = getattr(error, name)
            plain = part is None or isinstance(part, str | int | float | list | tuple | Fraction) or is_guarantee(part)
            said[name] = part if plain else str(part)
    print_json({"error": said})


def note(text: object) -> None:
    """What is good to know, on stderr: stdout stays what programs read."""
    err.print(f"[bold yellow]note[/]: {escape(text)}", soft_wrap=True)


def head(promise: Iterable[str], verdict: str = "") -> None:
    """What every output begins with: the promise, the only epsilons to quote, and the `verdict`, if there is one."""
    for line in promise:
        out.print(f"[bold]{escape(line)}[/]")
    if verdict:
        out.print(f"[bold]Verdict:[/] {escape(spoken(verdict))}")


def warn(sentences: Iterable[str]) -> None:
    """What must not be overlooked, one line each."""
    for sentence in sentences:
        out.print("[bold yellow]warning[/]:", escape(spoken(sentence)))


def print_json(content: Any) -> None:
    """Plain JSON on stdout, for programs: numbers as numbers, guarantees as theirs; infinite numbers become null."""
    told = json.dumps(finite(content), indent=2, ensure_ascii=False, default=stated)
    print(visible_json(told))  # noqa: T201


@contextmanager
def progress(what: str = "working") -> Iterator[None]:
    """Show the library's progress reports as bars on stderr, as `fugu.progress.bars` does; on a terminal only."""
    with bars(err, what, BLINK):
        yield


def grid(
    title: str | None, columns: Iterable[str], left: Collection[str] = (), fixed: Collection[str] = (),
    rows: Iterable[Iterable[object]] = (),
) -> Table:  # fmt: skip
    """A table, its columns of numbers but for those on the `left`; cells of `fixed` ones stay on one line. `rows`: of
    texts as they are, and numbers in six digits, blank where none is known; rows of another look come after."""
    said = None if title is None else escape(title)
    table = Table(title=said, title_justify="left", caption_justify="left", header_style="bold")
    for name in columns:
        table.add_column(escape(name), justify="left" if name in left else "right", no_wrap=name in fixed)
    for row in rows:
        table.add_row(*(
            escape("" if x is None else x) if not isinstance(x, float) else "" if math.isnan(x) else f"{x:.6g}"
            for x in row
        ))  # fmt: skip
    return table


def comparison_table(comparison: Comparison, title: str) -> Table:
    """All methods side by side, the best one marked, ordinary differential privacy below."""
    columns = ("method", "scale", "E |error|", "E error²", "true epsilon", "proven")
    table = grid(spoken(title), columns, ("method", "proven"), columns[1:])
    best, methods = comparison.best, [row.method for row in comparison.rows]
    names = {
        row: f"{row.method} ({row.noise})" if methods.count(row.method) > 1 else row.method for row in comparison.rows
    }
    for row in (*comparison.rows, *comparison.ordinary):
        released = row in comparison.rows
        if not released and row is comparison.ordinary[0]:
            table.add_section()
        style = "dim" if not released else "bold green" if row == best else ""
        numbers = (row.scale, row.expected_absolute, row.expected_squared, row.epsilon)
        proven = "compared" if not released else "yes" if row.proven else "no"
        table.add_row(_named(names.get(row, row.method), row), *(shown(x, 6) for x in numbers), proven, style=style)
    remarks = [
        f"{names[row]}: {row.note if row.proven else row.why}" for row in comparison.rows if row.note or not row.proven
    ]
    remarks += [f"{row.method}, never released: {comparison.beside_best(row)}" for row in comparison.ordinary]
    table.caption = "\n".join(escape(spoken(remark)) for remark in remarks)
    return table


def _named(shown_name: str, row: Row) -> str:
    """The name that options take, and under it the name for people."""
    name = called(row.method, row.noise)
    return escape(shown_name) if name == row.method else f"{escape(shown_name)}\n[dim]{escape(name)}[/]"


def usable_table(usable: Usable) -> Table:
    """How usable a release is: figures, verdict, and what would help."""
    on = f", on {usable.basis}" if usable.basis else ""
    table = Table(title=escape(f"How usable it is{on}"), title_justify="left", box=None, show_header=False)
    table.add_column("figure", style="dim")
    table.add_column("")
    for label, text in usable.lines():
        said = escape(spoken(text))
        table.add_row(escape(label), f"[bold]{said}[/]" if label == "verdict" else said)
    return table


def limit_table(comparison: Comparison) -> Table | None:
    """How far each way is from the least error that any mechanism can have; None where nothing is known of it."""
    if not comparison.beside:
        return None
    columns = ("way", "noise", "E |error|", "x limit")
    table = grid("How far from the limit", columns, columns[:2], columns[1:])
    for row in comparison.against:
        if row is comparison.beside[0]:
            table.add_section()
        numbers = shown(row.expected_absolute, 6), shown(comparison.times_limit(row) or math.nan, 4)
        way = _named(row.method, row) if row in comparison.beside else escape(row.method)
        table.add_row(way, row.noise, *numbers)
    notes = [f"{row.method}: {row.note if row.proven else row.why}" for row in comparison.beside]
    table.caption = "\n".join(escape(spoken(note)) for note in [*notes, WEIGHED] if not note.endswith(": "))
    return table


def listed(console: Console, table: Table) -> Group:
    """Every row as its first cell and, below it, the other cells with the names of their columns."""
    lines: list[RenderableType] = []
    if table.title is not None:
        lines.append(_text(console, table.title, "bold"))
    columns = [list(column.cells) for column in table.columns]
    names = [_text(console, column.header).plain for column in table.columns]
    for number, row in enumerate(table.rows):
        first, *others = (_text(console, cells[number], str(row.style or "")) for cells in columns)
        lines.append(first)
        for name, cell in zip(names[1:], others, strict=True):
            if cell.plain:
                lines.append(Text("  ").append_text(Text(f"{name}: " if name else "")).append_text(cell))
    if table.caption is not None:
        lines.append(_text(console, table.caption, "italic"))
    return Group(*lines)


def _text(console: Console, cell: RenderableType, style: str = "") -> Text:
    """A cell as text that folds and is never cut."""
    found = console.render_str(cell) if isinstance(cell, str) else cell if isinstance(cell, Text) else Text(str(cell))
    found = found.copy()
    found.overflow, found.no_wrap = "fold", False
    if style:
        found.stylize_before(style)
    return found


def present(went: Forecast, as_json: bool, alarms: Iterable[str] = ()) -> None:
    """What became of it, for programs or for people; after the verdict, which is on noise alone, what the owner saw."""
    if as_json:
        print_json(went.to_json())
    else:
        show(went.told)
    for said in alarms:
        err.print(f"[bold red]look at[/] {escape(said)} [dim](not for publication)[/]")


def show(said: Iterable[blocks.Block]) -> None:
    """What a release says, on the screen."""
    for block in said:
        match block:
            case blocks.Listing(title, columns, left, rows):
                out.print(grid(title, columns, left, rows=rows))
            case blocks.Text(text, tone) if tone == blocks.LOUD:
                err.print(f"[bold red]warning[/]: {escape(text)}", soft_wrap=not err.is_terminal)
            case blocks.Text(text, tone) if tone == blocks.NOTE:
                note(spoken(text))
            case blocks.Text(text, tone) if tone == blocks.CAUTION:
                warn([text])
            case blocks.Text(text, strong="", soft=soft, formal=formal):
                say(text.replace("{}", spoken(formal).strip()) if formal else text, soft_wrap=soft)
            case blocks.Text(text, strong=strong):
                out.print(f"[bold]{escape(strong)}[/]{escape(text)}")
            case _:
                out.print(usable_table(block))


_COLUMNS = 40  # columns that are shown; of more, those first in which something was not read as it stands


def show_check(seen: Check) -> None:
    """The check on the owner's terminal: a table, what to look at, what is likely behind it."""
    from fugu.checking.check import HEAD, OUTSIDE, OWNER

    some = "" if seen.size is None else f" of {seen.size:,}"
    rich = grid(f"How the {seen.records:,}{some} records were read ({OWNER})", HEAD, HEAD[:1])
    lines = sorted(seen.cells(), key=lambda line: line[1] == line[2] and not line[5])
    for line in lines[:_COLUMNS]:
        rich.add_row(escape(line[0]), *(f"{count:,}" for count in line[1:]))
    err.print(rich)
    if len(lines) > _COLUMNS:
        err.print(f"and {len(lines) - _COLUMNS} more columns; --json has all")
    for said in seen.alarms:
        err.print(f"[bold red]look at[/] {escape(said)}")
    for said in seen.causes:
        err.print(f"[bold yellow]note[/]: {escape(said)}")
    err.print(escape(OUTSIDE), style="dim")


# What the library says, in the words of the command line: the one place where arguments become options.
#
# The library names Python arguments, budgets as Python writes them, and pages of proofs. Whoever types a command knows
# none of these. Text in quotes is somebody's own, and stays as it is.


_FILE = tomllib.loads(resources.files("fugu.cli").joinpath("spoken.toml").read_text("utf-8"))
OPTIONS: dict[str, str] = _FILE["options"]
_FLAGS = {"allow_no_noise", "public_prior", "force", "replacement"}
_NUMBERS = {"confidence", "delta", "epsilon", "grid", "shift"}
"""Arguments whose value may stand as a bare number; of others, "state=1" is a secret of somebody's table."""
_LITERAL = r"""'[^']*'|"[^"]*"|\([^()]*\)|\[[^\]]*\]|<[^<>]*>|True|False|None|\.\.\.|[A-Z]{2,}"""
_GIVEN = re.compile(rf"\b([a-z]+(?:_[a-z]+)*)=({_LITERAL}|[-+]?[0-9][0-9.e+-]*)?(?=$|[\s,;:.)\]])")
_BARE = re.compile(r"\b(" + "|".join(sorted(name for name in OPTIONS if "_" in name)) + r")\b")
_PAGE = r"docs/(?!glossary\.md)[\w/.-]+\.md(?:#[\w-]+)?"
"""Pages of proofs; the glossary is for whoever types a name."""
_PROMISES = tuple((re.compile(found), said) for found, said in _FILE["promises"])
_PHRASES = tuple((re.compile(found.replace("PAGE", _PAGE)), said) for found, said in _FILE["phrases"])
_FRACTION = re.compile(r"(?<![\w/.'\"-])([0-9]+)/([1-9][0-9]*)(?![\w/.'\"])")
_QUOTED = re.compile(r"""(?<![\w=])'[^']*'(?!\w)|(?<![\w=])"[^"]*"(?!\w)""")


def spoken(text: str) -> str:
    """A message of the library as the command line says it.

    >>> spoken("leave those rows out with missing='drop', or see column 'bins=[1]'")
    "leave those rows out with --missing drop, or see column 'bins=[1]'"
    >>> spoken("no noise could be proved for Pure(epsilon=0.1) on a grid of 1/4 (docs/proofs/laplace.md)")
    'no noise could be proved for epsilon 0.1 on a grid of 0.25'
    >>> spoken("the loss of what is drawn: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md")
    'the loss of what is drawn'
    """
    for found, said in _PHRASES:
        text = found.sub(said, text)

    def change(part: str) -> str:
        part = _BARE.sub(lambda found: OPTIONS[found[1]], _GIVEN.sub(_given, part))
        return _FRACTION.sub(lambda found: f"{float(Fraction(int(found[1]), int(found[2]))):.6g}", part)

    text, done, made = promised(text), 0, ""
    for quoted in _QUOTED.finditer(text):  # these stay; quotes of an argument's value belong to it
        made += change(text[done : quoted.start()]) + quoted[0]
        done = quoted.end()
    return made + change(text[done:])


def promised(text: str) -> str:
    """A text with every promise in words, for all that is printed.

    >>> promised("spent Pure(epsilon=0.75), asked Approx(epsilon=1, delta=1e-06)")
    'spent epsilon 0.75, asked epsilon 1 and delta 1e-06'
    """
    for found, said in _PROMISES:
        text = found.sub(said, text)
    return text


def _given(found: re.Match[str]) -> str:
    """An argument with its value as an option with its value."""
    name, value = found[1], found[2] or ""
    if name not in OPTIONS or (value[:1] in "0123456789+-" and value and name not in _NUMBERS):
        return found[0]
    option = OPTIONS[name]
    if name in _FLAGS or value in ("", "True", "None", "..."):
        return option
    plain = value.strip("'\"<>").strip("()[]").replace(", ", ",") if value[0] in "'\"<([" else value
    return option if plain == "..." else f"{option} {plain}"
