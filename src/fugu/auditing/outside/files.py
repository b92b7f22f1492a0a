"""The published files and the private table, held against what a release document says of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fugu.auditing.outside.found import Found
from fugu.data import read_table
from fugu.documents.commitment import commit_file, file_sha256, same
from fugu.documents.release import PrivatePart, ReleaseDocument
from fugu.errors import CertificateError, FuguError, UsageError
from fugu.verifier.verdict import Checked, NotChecked, checked


def published_checks(found: Found, given: str | os.PathLike[str] | None) -> Iterator[Checked]:
    """One line for each published file: the file that is given, or the one of that name beside the document."""
    if given is not None and not Path(given).is_file():
        raise UsageError(f"{Path(given).name!r} is not a file")
    document = found.release
    if document is None:
        if given is not None:
            why = "this is a bare certificate, which binds no file; release documents of fugu 0.3 do"
            yield "published file", "not checked", why
        return
    wanted = document.published
    own = given if given is not None else found.published
    if own is not None and Path(own).name not in {file["name"] for file in wanted} and len(wanted) > 1:
        names = ", ".join(repr(file["name"]) for file in wanted)
        yield "published file", "fails", f"{Path(own).name!r} is none of the published files: {names}"
        return
    for file in wanted:
        place = None if found.folder is None else found.folder / file["name"]
        if own is not None and (len(wanted) == 1 or Path(own).name == file["name"]):
            place = Path(own)
        yield checked(f"published {file['name']}", _says(file, place), partial(_same, file, place))


def data_checks(document: ReleaseDocument, private: PrivatePart | None, table: str | None) -> Iterator[Checked]:
    """The commitment to the private table, which only whoever has the salt and the table can check."""
    yield checked(
        "data", "the table is the one that was released, byte for byte", lambda: _data(document, private, table)
    )


def _data(document: ReleaseDocument, private: PrivatePart | None, table: str | None) -> None:
    if table is None:
        raise NotChecked("the private table was not given (--data); the document holds a salted commitment to it")
    if private is None:
        raise NotChecked("without the private part, which holds the salt, nobody can tell (--private)")
    if not same(commit_file(table, private["data salt"]), document["data"]["commitment"]):
        raise CertificateError(f"{Path(table).name!r} is not the file that was released: another content")


def _says(file: dict[str, Any], place: Path | None) -> str:
    moved = "" if place is None or place.name == file["name"] else f", under the name {place.name!r}"
    return f"SHA-256 and {file['bytes']} bytes are those of the document{moved}"


def _same(file: dict[str, Any], place: Path | None) -> None:
    """CertificateError, with what differs in aggregate, unless the file is the one that was published."""
    if place is None or not place.is_file():
        raise NotChecked(f"{file['name']!r} is not beside the document; give it (--published)")
    if file_sha256(place) != file["sha256"]:
        raise CertificateError(
            f"{place.name!r} is not what was published: another SHA-256; "
            + ("; ".join(_differences(file, place)) or "as long as it was, so some content was exchanged")
        )
    if wrong := _differences(file, place):
        raise CertificateError(f"the document describes {place.name!r} wrongly: {'; '.join(wrong)}")


def _differences(file: dict[str, Any], place: Path) -> list[str]:
    """How a file differs as far as the document tells: size, columns, rows; never a value."""
    found = []
    if (size := place.stat().st_size) != file["bytes"]:
        found.append(f"{size} bytes instead of {file['bytes']}")
    if file["rows"] is not None:
        try:
            table = read_table(place)
        except FuguError:
            return [*found, "it cannot be read as a table"]
        if list(table.columns) != list(file["columns"]):
            found.append(f"columns {_named(table.columns, file)} instead of {list(file['columns'])[:8]}")
        if len(table) != file["rows"]:
            found.append(f"{len(table)} rows instead of {file['rows']}")
    return found


def _named(columns: Iterable[str], file: dict[str, Any]) -> list[str]:
    """The columns of a file that may be any, by the names that the document has: the first line of another file, which
    may be a record, is not repeated."""
    return [name if name in file["columns"] else "(another)" for name in list(columns)[:8]]
