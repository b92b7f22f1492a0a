"""What `fugu verify` is pointed at: a certificate, a model, or a folder that holds one release and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fugu.documents.document import Document
from fugu.documents.kinds import inner, read
from fugu.documents.plain_json import load_json
from fugu.documents.promises import Promising, weakest
from fugu.documents.release import PrivatePart, ReleaseDocument
from fugu.errors import CertificateError, UsageError
from fugu.verifier.verify import Source, document_of

MODEL = "fugu/model/1"


@dataclass(frozen=True)
class Exhibit:
    """A document, the folder in which its files are looked for, and the published file that led to it."""

    document: Document
    folder: Path | None
    published: Path | None = None
    name: str | None = None
    """The name of the document's own file."""

    @property
    def release(self) -> ReleaseDocument | None:
        """The document, if it is of a whole release."""
        return self.document if isinstance(self.document, ReleaseDocument) else None


def find(source: Source) -> Exhibit:
    """The document of a mechanism, a file or a folder. UsageError or CertificateError, which name the files, if there
    is none or more than one."""
    if not isinstance(source, str | os.PathLike):
        return Exhibit(document_of(source), None)
    path = Path(source)
    if path.is_dir():
        return _in_folder(path)
    content = load_json(path)
    if isinstance(content, dict) and content.get("schema") == MODEL:
        return _of_model(path, content)
    if isinstance(content, dict) and content.get("schema") == PrivatePart.SCHEMA:
        raise UsageError(
            f"{path.name!r} is the private part of a release, not for publication; give the certificate beside it"
        )
    return Exhibit(read(content), path.absolute().parent, name=path.name)


def private_part(found: Exhibit, path: str | os.PathLike[str] | None) -> PrivatePart | None:
    """The private part that is named, or the one beside the document that belongs to it; None if there is none."""
    if path is not None:
        return PrivatePart.load(path)
    release = found.release
    if release is None or found.folder is None:
        return None
    for file in sorted(found.folder.glob("*.private.json")):
        try:
            part = PrivatePart.load(file)
        except (CertificateError, OSError):
            continue  # of something else: only one that belongs to this release is used
        if part["release"] == release["data"]["commitment"]:
            return part
    return None


def promising(found: Exhibit, path: str | os.PathLike[str] | None = None) -> Promising | None:
    """The certificate that says what the document promises, of a release the weakest one inside; None where it is
    withheld, and `path`, or what lies beside it, is not its private part."""
    release = found.release
    if release is None:
        return found.document if isinstance(found.document, Promising) else None
    bodies = release.certificates
    if bodies is None and (opened := private_part(found, path)) is not None:
        bodies = release.opened(opened)
    inside = map(inner, (bodies or {}).values())
    return weakest(each for each in inside if isinstance(each, Promising))


def _in_folder(folder: Path) -> Exhibit:
    """The one release document of a folder, or else its one certificate."""
    documents: dict[Path, Document] = {}
    unread: dict[Path, CertificateError] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            content = load_json(file)
            if _is_other(content):
                continue
            documents[file] = read(content)
        except CertificateError as error:
            if file.name.endswith(".certificate.json"):
                unread[file] = error
    if unread:
        file, why = next(iter(unread.items()))
        raise CertificateError(f"{file.name!r} in the folder cannot be read: {why}")
    releases = {file: found for file, found in documents.items() if isinstance(found, ReleaseDocument)}
    candidates = releases or documents
    if len(candidates) > 1 or (releases and len(documents) > len(releases)):
        names = ", ".join(repr(file.name) for file in list(documents)[:5])
        raise UsageError(f"the folder holds {len(documents)} certificates ({names}); name the one that is meant")
    if not candidates:
        raise UsageError(f"there is no certificate in the folder {folder.name!r}")
    file, document = next(iter(candidates.items()))
    return Exhibit(document, folder, name=file.name)


def _of_model(path: Path, model: dict[str, Any]) -> Exhibit:
    """The release document beside a model that binds it; or, as version 0.2 wrote it, the certificate that it names."""
    unread = []
    for file in sorted(path.absolute().parent.glob("*.certificate.json")):
        try:
            document = read(load_json(file))
        except CertificateError as error:
            unread.append(f"{file.name!r} cannot be read: {error}")
            continue
        if isinstance(document, ReleaseDocument):
            named = {part["name"] for part in document.published}
            digests = {str(body.get("digest")) for body in (document.certificates or {}).values()}
            if path.name in named or model.get("certificate") in digests:
                return Exhibit(document, path.absolute().parent, path, file.name)
        elif document.body.get("digest") == model.get("certificate"):
            return Exhibit(document, path.absolute().parent, name=file.name)
    if unread:
        raise CertificateError(f"no certificate beside {path.name!r} is for this model; {unread[0]}")
    raise UsageError(
        f"no certificate beside {path.name!r} is for this model; put its certificate into the same folder, or name it"
    )


def _is_other(content: Any) -> bool:
    """Whether a JSON file is none that could be a certificate: a model, a private part, or not of fugu."""
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema in (MODEL, PrivatePart.SCHEMA) or not isinstance(content, dict):
        return True
    return not (str(schema).startswith("fugu/") or {"pufferfish", "prior"} <= content.keys())
