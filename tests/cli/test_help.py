"""Help at first sight: at most fifteen options, and an example that runs as it stands.

Wrong versions that are rejected: an option that shows itself first in a command that is full, one that --help-all
leaves out, an example with an option that its command does not take, a step that another example was to make ready."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
from importlib import resources

import pytest
import typer
from typer.testing import CliRunner

import fugu.cli.app as cli

COMMANDS = typer.main.get_command(cli.app).commands
QUICKLY = {"demo": ("--help",), "studio": ("--help",), "property": ("--no-attack", "--draws", "1000")}
"""The demo is run by test_commands, the studio by tests/studio."""
OPTION = re.compile(r"^│ (?:[ *] {2})?(--[a-z0-9-]+)", re.MULTILINE)


def options(*words):
    shown = CliRunner().invoke(cli.app, [*words], env={"COLUMNS": "100"})
    assert shown.exit_code == 0, shown.output
    return OPTION.findall(shown.stdout), shown.stdout


@pytest.mark.parametrize("name", [name for name, later in COMMANDS.items() if not hasattr(later.real, "commands")])
def test_help_shows_at_most_fifteen_options_and_help_all_every_one(name):
    first, text = options(name, "--help")
    assert len(first) <= cli.AT_FIRST_SIGHT
    assert COMMANDS[name].example.strip().splitlines()[0] in text
    shown = options(name, "--help-all")[0] if "--help-all" in first else first
    assert set(first) <= set(shown)
    every = {param.opts[0] for param in COMMANDS[name].real.params if param.param_type_name == "option"}
    assert every <= set(shown) <= every | {"--help"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The tables, and the key, that examples name."""
    made = tmp_path_factory.mktemp("examples")
    for name, ours in {"clinic_today": "patients", "clinic_reference": "last-year"}.items():
        (made / f"{ours}.csv").write_text((resources.files("fugu.examples") / f"{name}.csv").read_text("utf-8"))
    with open(made / "visits.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [("patient", "day", "ward")]
            + [(p, day, ("north", "south", "west")[(p * day + day // 3) % 3]) for p in range(20) for day in range(30)]
        )
    if shutil.which("ssh-keygen"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", made / "my-key"], check=True)
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_runs_as_it_stands(name, folder, monkeypatch):
    """In the order of the list: what one writes, another reads."""
    if name == "studio":
        pytest.skip("it waits for a browser: tests/studio runs it")
    if name == "sign" and not (folder / "my-key").exists():
        pytest.skip("there is no ssh-keygen here")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FUGU_LEDGER", str(folder / ("training.db" if name == "train" else "ledger.db")))
    for line in COMMANDS[name].example.strip().replace("\\\n", " ").splitlines():
        fugu, *words = *shlex.split(line), *QUICKLY.get(name, ())
        done = CliRunner().invoke(cli.app, words)
        assert (fugu, done.exit_code) == ("fugu", 0), f"{line}\n{done.output}\n{done.exception!r}"
