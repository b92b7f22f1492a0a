"""`fugu report`: the page of a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fugu.cli import options
from fugu.cli.console import print_json, progress, say
from fugu.errors import UsageError
from fugu.mechanism import Certificate
from fugu.verifier.verify import document_of


def report(
    certificate: Annotated[str, typer.Argument(metavar="CERT.json", help="A certificate written by fugu.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="PAGE", help="The page, one HTML file.")],
    force: Annotated[bool, typer.Option("--force", help="Write over an existing page.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Make the page of a release or an analysis from its certificate alone; it works offline."""
    from fugu.report import page, write

    target = Path(output)
    if target.exists() and not force:
        raise UsageError(f"{target.name!r} exists; choose another name, or give --force")
    document = document_of(certificate)
    if not isinstance(document, Certificate):
        raise UsageError(f"pages are made from certificates of releases; this one is of a {document.kind}")
    with progress():
        html = page(document)
    write(target, html)
    if as_json:
        print_json({"page": str(target), "digest": document.body["digest"]})
    else:
        say(f"wrote {target}")
