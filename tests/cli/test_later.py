"""Commands are imported when they are called, and listed by the very sentences that their help begins with.

Wrong versions that are rejected: a command that is imported to be listed, a sentence that its command does not say."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

import fugu.cli.app as cli

LISTED = typer.main.get_command(cli.app).commands


def loaded(*words):
    """The modules that a command leaves behind."""
    code = (
        f"import sys; sys.argv = {['fugu', *words]!r}\nimport fugu.cli\ntry:\n    fugu.cli.main()\n"
        "except SystemExit as done:\n    print(done.code, *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exit_code, *modules = done.stderr.split()
    assert exit_code in ("0", "None")
    return done.stdout, {name for name in modules if name.startswith("fugu")}, set(modules)


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_what_lists_commands_imports_none_of_them(words):
    said, own, everything = loaded(*words)
    assert "fugu" in said and len(own) <= 10 and not {"numpy", "flint", "scipy", "duckdb"} & everything


@pytest.mark.parametrize("name", LISTED)
def test_a_command_is_listed_by_what_its_help_begins_with(name):
    listed = LISTED[name]
    first = (listed.real.help or "").split("\n\n")[0]
    assert " ".join(first.split()) == listed.help
    assert listed.real.name == name or hasattr(listed.real, "commands")


def test_a_command_hands_on_exactly_what_its_body_takes():
    """Bodies are found by name when a command is run: another parameter would be an error only then."""
    tree = ast.parse(Path(str(inspect.getsourcefile(import_module("fugu.cli.commands")))).read_text("utf-8"))
    stated = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(stated) == 8
    for command in stated:
        (asked,) = command.decorator_list
        body = getattr(import_module(f"fugu.cli.{asked.args[0].value}"), command.name)
        assert list(inspect.signature(body).parameters) == [argument.arg for argument in command.args.args]
