"""`fugu init`: a scenario file to start from, written from a reference or from a certificate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from fugu.cli import options
from fugu.cli.console import print_json, progress, say
from fugu.cli.scenario_file import ScenarioFile
from fugu.cli.scenario_start import started
from fugu.errors import UsageError
from fugu.files import write_text


def init(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="The reference, a CSV or Parquet file; never a private table.")
    ] = None,
    certificate: Annotated[
        str | None, typer.Option("--from", metavar="CERT", help="Or write the scenario of a certificate or release.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Where the scenario goes (TOML).")] = "scenario.toml",
    publish: Annotated[str | None, typer.Option(help="The column to publish; chosen if left out.")] = None,
    protect: Annotated[str | None, typer.Option(help="What is secret; chosen if left out.")] = None,
    epsilon: options.Epsilon = "0.5",
    private: Annotated[
        str | None, typer.Option("--table", help="The private table to name in the file; it is not opened.")
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Write a commented scenario.toml from TABLE, a reference. It tells of TABLE, so never give a private one."""
    if (table is None) == (certificate is None):
        raise UsageError("give TABLE, a reference to start from, or --from CERT to write its scenario; one of the two")
    if Path(output).suffix != ".toml":
        raise UsageError(f"a scenario is written as TOML; give a name that ends in .toml, not {output!r}")
    options.fresh(options.target(output, table, certificate, private), force)
    folder = Path(output).parent
    with progress():
        if certificate is not None:
            from fugu.cli.scenario_back import written_back

            if publish is not None or protect is not None or private is not None:
                raise UsageError("--from takes all from the certificate; leave out --publish, --protect and --table")
            text = written_back(certificate)
        else:
            assert table is not None
            options.positive("epsilon", epsilon)
            named = None if private is None else _beside(private, folder)
            text = started(table, _beside(table, folder), publish, protect, epsilon, named)
    write_text(output, text)
    ScenarioFile.load(output)
    if as_json:
        print_json({"scenario": output, "from": certificate or table})
        return
    say(f"wrote {output}")
    if table is not None:
        say(
            f"it describes {Path(table).name!r} as the reference: whoever reads it learns its columns, categories and "
            "ranges. No private table was opened; read the comments, then try: "
            f"fugu compare --scenario {output}"
        )


def _beside(path: str, folder: Path) -> str:
    """A path as a file in that folder names it."""
    return path if os.path.isabs(path) or folder == Path() else os.path.relpath(path, folder)
