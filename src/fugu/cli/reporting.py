"""`fugu report`: the page of a certificate or of a whole release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import fugu
from fugu.auditing.outside.books import extract
from fugu.auditing.outside.found import Found, find, private_part
from fugu.cli import options
from fugu.cli.console import print_json, progress, say
from fugu.documents.release import ReleaseDocument
from fugu.errors import UsageError
from fugu.verifier.kinds.release import inner

_QUICK = 200_000
"""Draws of the attack for a page."""


def report(
    certificate: Annotated[
        str, typer.Argument(metavar="CERT|FOLDER|MODEL", help="A certificate, a model, or the folder of one release.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="PAGE", help="The page, one HTML file.")],
    ledger: Annotated[
        str | None, typer.Option(metavar="DB", help="Show what was spent on the data, from this ledger.")
    ] = None,
    private: Annotated[
        str | None, typer.Option(metavar="FILE", help="Show withheld beliefs; the page is then not for publication.")
    ] = None,
    attack: Annotated[bool, typer.Option("--attack", help="Attack the release and show the lower bound.")] = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Make the page of a release, or of a certificate of any kind, from its files alone; it works offline."""
    from fugu.report import page, write

    options.fresh(options.target(output, certificate, ledger, private), force)
    found = find(certificate)
    if found.release is None and (ledger is not None or private is not None or attack):
        raise UsageError("--ledger, --private and --attack are for the page of a whole release")
    with progress():
        html = page(found.document) if found.release is None else _dossier(found, ledger, private, attack)
    write(Path(output), html)
    if as_json:
        print_json({"page": output, "digest": found.document.body.get("digest")})
    else:
        say(f"wrote {output}")


def _dossier(found: Found, ledger: str | None, private: str | None, attack: bool) -> str:
    """The page of a release, with the names of the files that lie beside it."""
    from fugu.report.dossier import Dossier, dossier_page

    document = found.release
    assert document is not None
    part = None if private is None else private_part(found, private)
    bodies = document.certificates if part is None else document.opened(part)
    shown = None if bodies is None else {group: inner(body) for group, body in bodies.items()}
    entries = None if ledger is None else tuple(extract(ledger, _data(document)))
    audit = None
    if attack:
        if shown is None or len(shown) != 1:
            raise UsageError("--attack is for a release with one certificate that is not withheld; see fugu audit")
        audit = fugu.audit(next(iter(shown.values())), draws=_QUICK, through_files=0)
    names = {} if found.name is None else {"certificate": found.name}
    return dossier_page(Dossier(document.body, shown, names, entries=entries, audit=audit))


def _data(document: ReleaseDocument) -> str:
    if document["ledger"] is None:
        raise UsageError("no ledger was charged for this release, so there is nothing to extract")
    return str(document["ledger"]["data"])
