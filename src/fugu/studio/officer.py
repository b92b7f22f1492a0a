"""Files that somebody was given, checked: which is the certificate, which the published file, which the reference, is
told by their names and what they say. All of it happens in a process of its own, within limits, in a folder that is
removed."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import fugu
from fugu.auditing.beside import Exhibit, find
from fugu.auditing.examine import examine
from fugu.auditing.signature import signed_by
from fugu.documents.document import NotChecked
from fugu.documents.promises import promise_lines
from fugu.documents.release import PrivatePart
from fugu.errors import CertificateError, FuguError, UsageError
from fugu.progress import stage
from fugu.report import page as page_of
from fugu.report.dossier import exhibited
from fugu.studio.work import in_folder, main_of
from fugu.visible import visible

Json = dict[str, Any]
PRIVATE = "this file should not have left its owner. It was not read"
_ENDING, _PLAIN = ".private.json", re.compile(r"[\w][\w .()+@-]{0,150}", re.ASCII)
_COPY = re.compile(r" ?\(\d{1,3}\)(?=\.)")
DRAWS = 200_000
"""Draws of an attack."""


def checked(asked: Json) -> Json:
    """What holds of these files, line by line; `UsageError` where there is no certificate among them."""
    given, notes = sorted_out(asked["files"])
    if not given:
        said = "; ".join(notes) or "choose the certificate, and what came with it"
        raise UsageError(f"there is nothing to check: {said}")
    with in_folder(given) as place:
        stated = [name for name in given if name.endswith(".json")]
        source = Path(place, *stated) if len(stated) == 1 else Path(place)  # of several, the one release among them
        try:
            told = _examined(source, sorted(given), notes, asked)
        except CertificateError as error:  # there is no whole document to begin with
            told = {"holds": False, "fails": True, "reason": str(error), "checks": [], "promise": [], "page": ""}
            told["name"] = " ".join(stated)
    lines = {key: list(map(visible, said)) for key, said in (("promise", told["promise"]), ("notes", notes))}
    checks = [list(map(visible, line)) for line in told["checks"]]
    return {**told, **lines, "reason": visible(told["reason"]), "checks": checks, "name": visible(told["name"])}


def _examined(source: Path, names: list[str], notes: list[str], asked: Json) -> Json:
    found = find(source)
    assert found.folder is not None
    others = [name for name in names if name != found.name]
    paths = {role: found.folder / name for role, name in roles_of(found, others, notes).items()}
    stage("checking what is stated")
    roles = {role: paths.get(role) for role in ("published", "reference", "signer")}
    at = source if source.is_file() else found.folder / str(found.name)
    verdict = examine(at, **roles, twice=asked["twice"])
    attack = list(_attacked(found)) if asked["attack"] and verdict.holds else []
    stage("making the report")
    return {
        "name": found.name or source.name, "holds": verdict.holds,
        "fails": any(outcome == "fails" for _, outcome, _ in verdict.checks),
        "reason": verdict.reason, "checks": sorted([*verdict.checks, *attack], key=lambda line: line[1] != "fails"),
        "promise": promise_lines(found.document) if verdict.holds else [],
        "page": main_of(_report(found, paths.get("signer"))) if verdict.holds else "",
    }  # fmt: skip


def sorted_out(files: list[tuple[str, str]]) -> tuple[dict[str, bytes], list[str]]:
    """The files by plain names of their own, and what is said of those that are left out: a private part, which is told
    by its name, else by the first words of it."""
    given, notes = dict[str, bytes](), list[str]()
    for place, (said, content) in enumerate(files):
        name = PurePosixPath(said.replace("\\", "/")).name
        if name.lower().endswith(_ENDING):
            notes.append(f"{name}: {PRIVATE}")
            continue
        if not _PLAIN.fullmatch(name) or name in given:
            ending = PurePosixPath(name).suffix if re.fullmatch(r"\.[a-z]{1,8}", PurePosixPath(name).suffix) else ""
            name = f"file-{place + 1}{ending}"
        raw = base64.b64decode(content)
        if f'"{PrivatePart.SCHEMA}"'.encode() in raw:  # under another name
            notes.append(f"{name}: {PRIVATE}")
        else:
            given[name] = raw
    return given, notes


def roles_of(found: Exhibit, names: list[str], notes: list[str]) -> dict[str, str]:
    """Which file is what: by its name in the document, else by what is still missing; what is taken for something it is
    not called is said to be."""
    release, roles, rest = found.release, dict[str, str](), list[str]()
    assert found.folder is not None
    wanted = {} if release is None else {"published": str(release.published[0]["name"])}
    if release is not None and release["beliefs"]["name"] is not None:
        wanted["reference"] = str(release["beliefs"]["name"])
    for name in names:
        if name.endswith(".sig"):
            (found.folder / name).rename(found.folder / f"{found.name}.sig")
        elif "signers" in name:
            roles["signer"] = name
        elif role := next((role for role, said in wanted.items() if _COPY.sub("", name) == said), ""):
            roles[role] = name
        elif not name.endswith((".json", ".html")):
            rest.append(name)
    for name in rest:
        missing = [role for role in wanted if role not in roles]
        if not missing:
            notes.append(f"{name}: the certificate speaks of no such file, so it was not read")
            continue
        role = missing[0]
        roles[role] = name
        notes.append(f"{name} was taken for {'the published file' if role == 'published' else role} {wanted[role]!r}")
    if "published" in roles and roles["published"] != wanted["published"] and _PLAIN.fullmatch(wanted["published"]):
        (found.folder / roles["published"]).rename(found.folder / wanted["published"])
        roles["published"] = wanted["published"]
    return roles


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
