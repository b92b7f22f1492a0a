"""`fugu report`: the page of a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fugu.auditing.verify import document_of
from fugu.cli import options
from fugu.cli.console import print_json, progress, say
from fugu.errors import UsageError


def report(
    certificate: Annotated[str, typer.Argument(metavar="CERT.json", help="A certificate written by fugu.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="PAGE", help="The page, one HTML file.")],
    force: Annotated[bool, typer.Option("--force", help="Write over an existing page.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Make the page of a release, an analysis or a training from its certificate alone; it works offline."""
    from fugu.report import page, write

    target = Path(output)
    if target.exists() and not force:
        raise UsageError(f"{target.name!r} exists; choose another name, or give --force")
    document = document_of(certificate)
    with progress():
        html = page(document)
    write(target, html)
    if as_json:
        print_json({"page": str(target), "digest": document.body.get("digest")})
    else:
        say(f"wrote {target}")
