"""Files that somebody was given, checked as `fugu.examine` tells them apart: in a process of its own, within limits,
in a folder that is removed."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fugu
from fugu.auditing.beside import Exhibit, find
from fugu.auditing.examine import examine, laid_out
from fugu.auditing.signature import signed_by
from fugu.documents.document import NotChecked
from fugu.documents.promises import promise_lines
from fugu.errors import CertificateError, FuguError
from fugu.progress import stage
from fugu.report import page as page_of
from fugu.report.dossier import exhibited
from fugu.studio.work import main_of
from fugu.visible import visible

Json = dict[str, Any]
DRAWS = 200_000
"""Draws of an attack."""


def checked(asked: Json) -> Json:
    """What holds of these files, line by line; `UsageError` where there is no certificate among them."""
    # files of one name stay apart: of a path only the last part counts
    files = {f"{k}/{name}": base64.b64decode(content) for k, (name, content) in enumerate(asked["files"])}
    try:
        with laid_out(files) as (document, roles, notes):
            told = {**_examined(find(document), document, roles, asked), "notes": notes}
    except CertificateError as error:  # there is no whole document to begin with
        told = {"holds": False, "fails": True, "reason": str(error), "checks": [], "promise": [], "notes": []}
        told |= {"page": "", "name": " ".join(name for name, _ in asked["files"] if name.endswith(".json"))}
    lines = {key: list(map(visible, told[key])) for key in ("promise", "notes")}
    checks = [list(map(visible, line)) for line in told["checks"]]
    return {**told, **lines, "reason": visible(told["reason"]), "checks": checks, "name": visible(told["name"])}


def _examined(found: Exhibit, document: Path, roles: dict[str, Path], asked: Json) -> Json:
    stage("checking what is stated")
    verdict = examine(document, **roles, twice=asked["twice"])
    attack = list(_attacked(found)) if asked["attack"] and verdict.holds else []
    stage("making the report")
    return {
        "name": found.name, "holds": verdict.holds,
        "fails": any(outcome == "fails" for _, outcome, _ in verdict.checks),
        "reason": verdict.reason, "checks": sorted([*verdict.checks, *attack], key=lambda line: line[1] != "fails"),
        "promise": promise_lines(found.document) if verdict.holds else [],
        "page": main_of(_report(found, roles.get("signer"))) if verdict.holds else "",
    }  # fmt: skip


def _attacked(found: Exhibit) -> Iterator[tuple[str, str, str]]:
    stage("attacking it")
    try:
        audit = fugu.audit(found.document, draws=DRAWS, through_files=0)
        yield "attack", "holds" if audit.clean else "fails", audit.verdict
    except FuguError as error:
        yield "attack", "not checked", str(error)


def _report(found: Exhibit, signer: Path | None) -> str:
    signed = ""
    if signer is not None:
        with suppress(NotChecked, CertificateError):
            signed = signed_by(found, signer)
    release = found.release
    return page_of(found.document) if release is None else exhibited(found, release, None, None, signed, False)
