"""`fugu audit`: attack what a certificate says it runs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

import fugu
from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress
from fugu.errors import CertificateError


def audit(
    certificate: Annotated[str, typer.Argument(metavar="CERT.json", help="A certificate written by fugu.")],
    draws: Annotated[int, typer.Option(help="Outputs to draw in all, at least 1000.")] = 2_000_000,
    through_files: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Outputs that also go through files, end to end; 2000 where the certificate says how, 0 for none.",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[str, typer.Option(help="With which all bounds hold together.")] = "0.999999",
    as_json: options.AsJson = False,
) -> None:
    """Attack the release path on data drawn from the beliefs of a certificate; exit 4 if its guarantee is refuted.

    No private table is read, no ledger is charged, and nothing is released."""
    with progress():
        found = fugu.audit(
            certificate, draws=draws, through_files=through_files, confidence=options.number("confidence", confidence)
        )
    if as_json:
        print_json(found.to_json())
    else:
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for name, text in found.rows():
            table.add_row(name, escape(text))
        out.print(table)
        style = "bold green" if found.clean else "bold red"
        out.print(f"[{style}]{escape(found.verdict)}[/]")
    if not found.clean:
        raise typer.Exit(CertificateError.exit_code)
