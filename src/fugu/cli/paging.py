"""The pages of a release: one to sign before anything goes out, one to keep after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fugu.auditing.outside.books import extract
from fugu.calibration.comparison import Comparison
from fugu.cli.charging import Account
from fugu.cli.console import say
from fugu.documents.release import ReleaseDocument
from fugu.publication.files import Files
from fugu.publication.issue import Outgoing, preview


def page_before(going: Outgoing, comparison: Comparison | None = None) -> str:
    """What would go out. Beliefs that would be withheld from a published page are not shown on this one either."""
    from fugu.report.dossier import Dossier, dossier_page

    shown = None if going.beliefs.own_table else going.certificates
    return dossier_page(Dossier(preview(going), shown, released=False, comparison=comparison))


def page_after(files: Files, account: Account | None) -> Callable[[ReleaseDocument], str]:
    """What makes the page of a release, with the real names of its files and the extract of the ledger."""
    from fugu.report.dossier import Dossier, dossier_page

    names = {"certificate": files.certificate.name, "private": files.private.name}

    def made(document: ReleaseDocument) -> str:
        entries = None if account is None else tuple(extract(str(account.ledger), account.data))
        return dossier_page(Dossier.of(document, names=names, entries=entries))

    return made


def write_before(path: str | None, page: str, as_json: bool) -> None:
    """The page to sign, where one was asked for."""
    from fugu.report import write

    if path is not None:
        write(Path(path), page)
        if not as_json:
            say(f"wrote {path}")
