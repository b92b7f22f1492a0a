"""Commands are imported when they are called, and listed by the very sentences that their help begins with.

Wrong versions that are rejected: a command that is imported to be listed, a sentence that its command does not say."""

from __future__ import annotations

import subprocess
import sys

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
