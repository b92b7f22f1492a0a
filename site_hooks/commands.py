"""docs/reference/commands.md, from the commands themselves: each with every argument and option it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import typer

from fugu import errors
from fugu.cli.app import app

_BEGIN = """# The command line

Generated from the commands by `python -m site_hooks`. `fugu COMMAND --help` shows the same on a terminal.

{contents}

Every command takes `--help`. With `--json` a result, and also a refusal, is one object on stdout; messages go to
stderr. An option in **bold** is required, unless a file given with `--scenario` has it:
[scenario files](../scenario-files.md) tell how.

## Exit codes

| code | meaning | in Python |
|---|---|---|
{codes}

No message holds a value of the private table. [Errors](api/errors.md) lists every class.

## Environment

| variable | says |
|---|---|
| `FUGU_LEDGER` | your own ledger, charged where `--ledger` is left out |
| `NO_COLOR` | plain text on terminals, too |
"""
_CODES = {
    0: "done",
    2: "wrong use: a column, a number, a file",
    3: "the budget refuses: spent, or already released",
    4: "not provable, or a certificate or ledger that does not hold",
}


@dataclass(frozen=True)
class Command:
    """A command by its words, its help, and its parameters."""

    words: str
    help: str
    params: tuple[object, ...]


def commands() -> list[Command]:
    """Every command of the app that does something, in the order of its help."""

    def below(command, words: str) -> Iterator[Command]:  # type: ignore[no-untyped-def]
        inner = getattr(command, "commands", None)
        if inner is None:
            yield Command(words, command.help or "", tuple(command.params))
        for name, found in (inner or {}).items():
            yield from below(found, f"{words} {name}")

    return list(below(typer.main.get_command(app), "fugu"))


def page() -> str:
    """The whole page."""
    found = commands()
    contents = " · ".join(f"[{c.words.removeprefix('fugu ')}](#{c.words.replace(' ', '-')})" for c in found)
    kinds = {0: ""} | {kind.exit_code: f"`{kind.__name__}`" for kind in reversed(_roots())}
    codes = "\n".join(
        f"| {code} | {said} | {f'`{kinds[code]}`' if kinds[code] else ''} |" for code, said in _CODES.items()
    )
    return _BEGIN.format(contents=_wrapped(contents), codes=codes) + "".join(map(_section, found))


def _roots() -> list[type[errors.FuguError]]:
    """The classes that stand for an exit code of their own."""
    return [errors.UsageError, errors.BudgetRefused, errors.NotProvable]


def _section(command: Command) -> str:
    shown = [p for p in command.params if not getattr(p, "hidden", False) and "--help" not in p.opts]  # type: ignore[attr-defined]
    arguments = [p for p in shown if not p.opts[0].startswith("-")]  # type: ignore[attr-defined]
    options = [p for p in shown if p not in arguments]
    words = " ".join([command.words, *map(_usage, arguments), *(["[OPTIONS]"] if options else [])])
    rows = "\n".join(f"| {_name(p)} | {_default(p)} | {_words(p)} |" for p in (*arguments, *options))
    said = "\n\n".join(_wrapped(" ".join(part.split())) for part in command.help.split("\n\n"))
    table = f"| option | else | meaning |\n|---|---|---|\n{rows}\n"
    return f"\n## {command.words}\n\n{said}\n\n```text\n{words}\n```\n\n{table}"


def _usage(argument) -> str:  # type: ignore[no-untyped-def]
    return argument.metavar if argument.required else f"[{argument.metavar}]"


def _name(param) -> str:  # type: ignore[no-untyped-def]
    if not param.opts[0].startswith("-"):
        name = f"`{param.metavar}`"
    else:
        value = "" if param.is_flag else f" {param.metavar or 'X'}"
        name = ", ".join(f"`{opt}{value}`" for opt in sorted(param.opts, key=len, reverse=True)[:1])
        name += "".join(f", `{opt}`" for opt in sorted(param.opts, key=len, reverse=True)[1:])
    return f"**{name}**" if param.required else name.replace("|", "\\|")


def _default(param) -> str:  # type: ignore[no-untyped-def]
    given = param.default
    return "" if param.required or getattr(param, "is_flag", False) or given in (None, "") else f"`{given}`"


def _words(param) -> str:  # type: ignore[no-untyped-def]
    several = " May be given more than once." if getattr(param, "multiple", False) else ""
    return re.sub(r"\\\[", "[", param.help or "").replace("|", "\\|").replace("\n", " ") + several


def _wrapped(text: str, width: int = 118) -> str:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
