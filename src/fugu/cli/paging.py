"""The pages of a release: one to sign before anything goes out, one to keep after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import fugu
from fugu.auditing.outside.books import extract
from fugu.cli.charging import Account
from fugu.cli.checking import OPEN, Eyes
from fugu.cli.console import say
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError, UsageError
from fugu.publication.files import Files
from fugu.publication.issue import Outgoing, preview
from fugu.utility.usable import Usable

DRAWS = 500_000
"""Draws of an attack whose result stands on a page."""


@dataclass(frozen=True)
class Pages:
    """What a command is told about pages.

    `report`: where the page to sign before goes, None for none; `attack`: whether the noise is attacked first. `eyes`:
    the owner's own, for whom the table is checked when it is opened."""

    report: str | None = None
    attack: bool = False
    eyes: Eyes = OPEN

    def before(
        self, going: Outgoing, quiet: bool = False, usable: Usable | None = None, remarks: Sequence[str] = ()
    ) -> Kept:
        """Attack and write the page to sign, if asked for. It is worked out in any case: what is wrong with it is then
        found before anything is drawn. Beliefs that are withheld from what is published are not shown on it either.
        `usable`: with what would help, where that was measured; `remarks`: on the reference."""
        from fugu.report import write
        from fugu.report.dossier import Dossier, dossier_page

        audit = _attacked(going) if self.attack else None
        shown = None if going.beliefs.own_table else going.certificates
        page = dossier_page(
            Dossier(preview(going), shown, released=False, audit=audit, usable=usable, remarks=tuple(remarks))
        )
        if self.report is not None:
            write(Path(self.report), page)
            if not quiet:
                say(f"wrote {self.report}")
        return Kept(audit, usable)


@dataclass(frozen=True)
class Kept:
    """What the page after the release takes over from the one before."""

    audit: fugu.Audit | None = None
    usable: Usable | None = None

    def after(
        self, files: Files, account: Account | None, remarks: Sequence[str] = ()
    ) -> Callable[[ReleaseDocument], str]:
        """What makes the page of a release, with the real names of its files, the extract of the ledger, and
        `remarks` on the published numbers."""
        from fugu.report.dossier import Dossier, dossier_page

        names = {"certificate": files.certificate.name, "private": files.private.name}

        def made(document: ReleaseDocument) -> str:
            entries = None if account is None else tuple(extract(str(account.ledger), account.data))
            return dossier_page(
                Dossier.of(
                    document, names=names, entries=entries, audit=self.audit, usable=self.usable, remarks=tuple(remarks)
                )
            )

        return made


def _attacked(going: Outgoing) -> fugu.Audit:
    """What an attack on the noise reaches; CertificateError, before anything goes out, if it refutes the guarantee."""
    if len(going.certificates) != 1:
        raise UsageError("--attack is for a release with one certificate; attack groups with fugu audit after it")
    (certificate,) = going.certificates.values()
    found = fugu.audit(certificate, draws=DRAWS, through_files=0)
    if not found.clean:
        raise CertificateError(f"nothing was released: {found.verdict}")
    return found
