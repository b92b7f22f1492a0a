"""A published file, or a folder of parts, before it has its name: complete, hidden, for its owner alone, until what
covers it is written.

A process that is killed leaves its draft: by that the next run of the command sees that it was not finished, and the
draft goes as soon as there is a newer one. A column that a ledger has charged is never drawn again: its draft has its
digest in its name, so one that was not settled yet is known to be whole; it is found, and finished."""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast, final

import numpy as np

from fugu.data import csv_text
from fugu.data.files import Dialect, shown_columns
from fugu.data.parts import TablePart
from fugu.documents.release import file_sha256, listing
from fugu.errors import UsageError
from fugu.files import check_target, discard, give_name, parts_of, rename, staged, writing

PENDING = ".pending"
_OWN = re.compile(rf"\.(\d+)\.[0-9a-f]{{16}}{re.escape(PENDING)}")
"""How the name of a draft ends that no ledger keeps: the process that wrote it."""
Write = Callable[[BinaryIO], None]
"""Writes one file."""


@dataclass(frozen=True)
class Content:
    """What is published: the parts of a `folder`, by name, one after the other; or one file, whose name is not read."""

    parts: Iterable[tuple[str, Write]]
    folder: bool = False

    @staticmethod
    def of(stated: Mapping[str, object] | str) -> Content:
        """Columns, or a text such as a model; what cannot be seen in a label is spelled out."""
        text = stated if isinstance(stated, str) else csv_text(shown_columns(stated))
        return Content([("", partial(_told, text))])

    def fill(self, place: Path) -> list[tuple[str, str]]:
        """Write the parts into a folder; the name and the SHA-256 of each."""
        lines = []
        for name, write in self.parts:
            with writing(place / name) as file:
                out = Digested(file.buffer)
                write(cast(BinaryIO, out))
            lines.append((name, out.sha256))
        return lines

    @staticmethod
    def at(place: Path) -> Content:
        """What lies there."""
        return Content([(file.name, partial(_copy, file)) for file in parts_of(place)], place.is_dir())


@dataclass(frozen=True)
class Draft:
    """What is published, complete but perhaps not yet under its name.

    `sha256`: of a folder that of its listing. `kept`: a ledger holds it and will publish the draft later, so it stays
    until then."""

    file: Path
    target: Path
    sha256: str
    kept: bool = False

    def parts(self) -> list[tuple[str | None, str, Path]]:
        """The folder, the name and the place of each file that goes out."""
        if not self.file.is_dir():
            return [(None, self.target.name, self.file)]
        return [(self.target.name, file.name, file) for file in parts_of(self.file)]

    def cells(self) -> Iterator[tuple[object, int]]:
        """The different cells of the first column of some rows that go out, and how often each occurs there: of what
        was stored for a request, if it was drawn before, and never of a second draw. Nothing, if another process has
        moved it meanwhile and it cannot be read."""
        place = self.file if self.file.exists() else self.target  # another run of the same request may have named it
        with suppress(OSError, UsageError):
            for _, name, part in replace(self, file=place).parts():
                for _, table in TablePart(str(part), Path(name).suffix, (), "").batches(Dialect(separator=",")):
                    cells, codes = table.raw(table.columns[0]).factors()
                    yield from zip(cells, np.bincount(codes, minlength=len(cells)).tolist(), strict=True)

    def publish(self) -> None:
        """Give the file its name; if another run of the same request has done so meanwhile, it is done."""
        if self.file == self.target:
            return
        try:
            if self.file.name.endswith(PENDING) and self.file.absolute().parent == self.target.absolute().parent:
                give_name(self.file, self.target)
            else:
                name = _own(self.target)
                give_name(put(Content.at(self.file), self.target, lambda _: name)[0], self.target)
        except (UsageError, OSError):
            if not holds(self.target, self.sha256):
                raise

    def discard(self) -> None:
        """Remove it, if it never got its name and no ledger keeps it: what failed leaves no drawn value behind."""
        if self.file != self.target and not self.kept:
            discard(self.file)

    def supersede(self) -> None:
        """Remove what another release left under the name: it would lie there beside a document that is not its own."""
        if holds(self.target, self.sha256):
            return
        if not self.target.is_dir():
            check_target(self.target).unlink(missing_ok=True)
            return
        discard(rename(self.target, _own(self.target)))  # at once: half a release is none


def drafted(target: Path, content: Mapping[str, object] | str | Content) -> Draft:
    """What is published, in a hidden file or folder beside the one that it will be. The drafts of processes that are no
    more are removed."""
    name = _own(target)
    file, sha256 = put(content if isinstance(content, Content) else Content.of(content), target, lambda _: name)
    _sweep(target)
    return Draft(file, target, sha256)


def _own(target: Path) -> str:
    """The name of a draft that no ledger keeps."""
    return f".{target.name}.{os.getpid()}.{secrets.token_hex(8)}{PENDING}"


def _sweep(target: Path) -> None:
    """Remove the drafts of processes that are no more, but for those that a ledger may keep."""
    for draft in _drafts(target):
        if (own := _OWN.search(draft.name, len(target.name))) is not None:
            with suppress(OSError, OverflowError):
                try:
                    os.kill(int(own[1]), 0)
                except ProcessLookupError:
                    discard(draft)


def drafted_for(whose: str, target: Path, content: Callable[[], Content]) -> Draft:
    """The same for a request that a ledger knows by this text: the draft of a run that was killed before, if it is
    whole, and else a new one. One run at a time comes here."""
    _sweep(target)
    stem, whole = f".{target.name}.{_mark(whose)}.", []
    for draft in sorted(kept_for(whose, target)):
        if draft.name.startswith(stem) and holds(draft, draft.name.removeprefix(stem).removesuffix(PENDING)):
            whole.append(draft)
        else:
            discard(draft)  # of an earlier version, edited, killed before it was whole, or for another name
    if not whole:
        whole = [put(content(), target, lambda sha256: f"{stem}{sha256}{PENDING}")[0]]
    return Draft(whole[0], target, content_sha256(whole[0]), kept=True)


def kept_for(whose: str, target: Path) -> list[Path]:
    """The drafts of a request that a ledger knows by this text, beside the target, under whatever name they were to go
    out."""
    return list(target.parent.glob(f".*.{_mark(whose)}.*{PENDING}"))


def _mark(whose: str) -> str:
    return hashlib.sha256(whose.encode()).hexdigest()[:16]


def put(content: Content, target: Path, named: Callable[[str], str]) -> tuple[Path, str]:
    """Write the content under the hidden name that its digest has, beside its target; that place, and the digest."""
    if not content.folder:
        ((_, write),) = content.parts
        place = target.with_name(named(""))
        with writing(place, private=True, named=lambda: target.with_name(named(out.sha256))) as file:
            out = Digested(file.buffer)
            write(cast(BinaryIO, out))
        return target.with_name(named(out.sha256)), out.sha256
    with staged(target.with_name(named(secrets.token_hex(32)))) as place:
        lines = content.fill(place)
    sha256 = hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in sorted(lines)).encode()).hexdigest()
    return rename(place, named(sha256)), sha256


@final
class Digested(io.RawIOBase):
    """A file that is written from beginning to end, and what its SHA-256 is so far."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash, self._size = file, hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def write(self, some: Any) -> int:
        raw = bytes(some)
        self._hash.update(raw)
        self._size += len(raw)
        return self._file.write(raw)

    def tell(self) -> int:
        return self._size

    @property
    def sha256(self) -> str:
        """The digest of what was written."""
        return self._hash.hexdigest()


def _told(text: str, out: BinaryIO) -> None:
    out.write(text.encode())


def _copy(file: Path, out: BinaryIO) -> None:
    with open(file, "rb") as source:
        shutil.copyfileobj(source, out)


def unfinished(target: Path) -> bool:
    """Whether a release into this file was killed on the way: its draft lies there, and the file does not."""
    return not target.exists() and bool(_drafts(target))


def _drafts(target: Path) -> list[Path]:
    return list(target.parent.glob(f".{glob.escape(target.name)}.*{PENDING}"))


def content_sha256(place: Path) -> str:
    """The SHA-256 of a file; of a folder that of the listing of its parts."""
    if not place.is_dir():
        return file_sha256(place)
    return hashlib.sha256(listing(parts_of(place)).encode()).hexdigest()


def holds(path: Path, sha256: str) -> bool:
    """Whether there is a file, or a folder of parts, with this content."""
    try:
        return path.exists() and not path.is_symlink() and content_sha256(path) == sha256
    except (OSError, UsageError):  # renamed meanwhile
        return False
