"""Files that somebody was given, told apart: the certificate, the published file, the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from fugu.auditing.beside import Exhibit, find
from fugu.data.files import FORMS
from fugu.documents.release import PrivatePart
from fugu.errors import UsageError
from fugu.files import write_bytes
from fugu.visible import visible

_MOST_FILES, _MOST_HANDED = 20, 256 * 1024**2
"""So many files, of so many bytes in all, are looked at of those that are handed over."""


PRIVATE = "this file should not have left its owner. It was not read"
_PLAIN, _COPY = re.compile(r"[\w][\w .()+@-]{0,150}", re.ASCII), re.compile(r" ?\(\d{1,3}\)(?=\.)")


@dataclass(frozen=True)
class Handed:
    """Files that were handed over, told apart: the `document`; `roles`, where the published file, the reference and the
    list of signers lie; `notes`, what was left out, or taken for something that it is not called."""

    document: Exhibit
    roles: Mapping[str, Path]
    notes: tuple[str, ...]

    @property
    def source(self) -> Path:
        """The file of the document."""
        return Path(str(self.document.folder), str(self.document.name))


@contextmanager
def laid_out(handed: Mapping[str, bytes]) -> Iterator[Handed]:
    """Files that are handed over by name, in a folder of their owner's that goes afterwards. Limits, and what must not
    be looked at, come first."""
    if len(handed) > _MOST_FILES:
        raise UsageError(f"at most {_MOST_FILES} files are looked at together")
    if not all(isinstance(content, bytes) for content in handed.values()):
        raise UsageError("what is handed over of a file is its bytes")
    if sum(map(len, handed.values())) > _MOST_HANDED:
        raise UsageError(f"the files are not read: they have more than {_MOST_HANDED:,} bytes")
    given, notes = _by_plain_names(handed)
    if not any(name.endswith(".json") for name in given):
        said = "; ".join([*notes, "none of the files is a certificate, such as OUT.certificate.json"])
        raise UsageError(f"there is nothing to check: {said}")
    with TemporaryDirectory(prefix="fugu-") as place:
        folder = Path(place, "files")
        folder.mkdir()
        for name, content in given.items():
            write_bytes(folder / name, content)
        stated = [folder / name for name in given if name.endswith(".json")]
        found = find(stated[0] if len(stated) == 1 else folder)  # of several, the one release among them
        roles = _roles_of(found, sorted({*given} - {found.name}), notes)
        yield Handed(found, roles, tuple(notes))


def _by_plain_names(handed: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """The files by plain names of their own, and what is said of those that are left out: a private part, which is told
    by its name, else by the first words of it."""
    given, notes = dict[str, bytes](), list[str]()
    for place, (said, content) in enumerate(handed.items()):
        name = PurePosixPath(said.replace("\\", "/")).name
        if name.lower().endswith(".private.json") or f'"{PrivatePart.SCHEMA}"'.encode() in content:
            notes.append(f"{visible(name)}: {PRIVATE}")
            continue
        if not _PLAIN.fullmatch(name) or name in given:
            ending = PurePosixPath(name).suffix if re.fullmatch(r"\.[a-z]{1,8}", PurePosixPath(name).suffix) else ""
            name = f"file-{place + 1}{ending}"
        given[name] = content
    return given, notes


def _roles_of(found: Exhibit, names: list[str], notes: list[str]) -> dict[str, Path]:
    """Which file is what: by its name in the document, else by what is still missing; what is taken for something it is
    not called is said to be."""
    release, roles, rest, folder = found.release, dict[str, Path](), list[str](), Path(str(found.folder))
    parts = [] if release is None else [str(file["name"]) for file in release.published]
    wanted = {"published": parts[0]} if len(parts) == 1 else {}
    if release is not None and release["beliefs"]["name"] is not None:
        wanted["reference"] = str(release["beliefs"]["name"])
    for name in names:
        if name.endswith(".sig"):
            (folder / name).rename(folder / f"{found.name}.sig")
        elif "signers" in name:
            roles["signer"] = folder / name
        elif role := next((role for role, said in wanted.items() if _COPY.sub("", name) == said), ""):
            roles[role] = folder / name
        elif not name.endswith((".json", ".html")) and name not in parts:
            rest.append(name)
    for name in rest:
        role = next((role for role in wanted if role not in roles and name.lower().endswith(FORMS)), "")
        if role:
            roles[role] = folder / name
            notes.append(
                f"{name} was taken for {'the published file' if role == 'published' else role} {wanted[role]!r}"
            )
        else:
            notes.append(f"{name}: the certificate speaks of no such file, so it was not read")
    if "published" in roles and _PLAIN.fullmatch(wanted["published"]):
        roles["published"] = roles["published"].rename(folder / wanted["published"])
    return roles
