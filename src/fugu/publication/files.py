"""The files of one release: drafts, the release document around sealed certificates, no value without what covers
it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fugu._version import __version__
from fugu.documents.document import Document, canonical_json, sized
from fugu.documents.release import (
    DECLARED,
    NOT_FOR_PUBLICATION,
    OWN_TABLE,
    PUBLIC_TABLE,
    REFERENCE,
    PrivatePart,
    ReleaseDocument,
    commit_file,
    commit_table,
    commit_text,
    file_sha256,
    is_name,
    new_salt,
)
from fugu.documents.sentences import derived, question_words, without_fitted
from fugu.documents.sign_off import SignOff, declared
from fugu.errors import UsageError
from fugu.files import file_name, write_text, writing
from fugu.publication.drafts import Draft
from fugu.question import SIGN_OFF
from fugu.visible import Json, visible


@dataclass(frozen=True)
class Files:
    """Where the parts of a release go: the published file, and beside it certificate, private part and page.

    `over`: whether they may be written over what is there; `folder`: whether a folder of parts is published."""

    published: Path
    over: bool = False
    folder: bool = False

    @property
    def certificate(self) -> Path:
        """The release document."""
        return self._beside(".certificate.json")

    @property
    def private(self) -> Path:
        """What opens its commitments; not for publication."""
        return self._beside(".private.json")

    @property
    def page(self) -> Path:
        """The page for people."""
        return self._beside(".report.html")

    def _beside(self, ending: str) -> Path:
        published = self.published
        return published.with_name(published.name + ending) if self.folder else published.with_suffix(ending)

    def all(self) -> tuple[Path, ...]:
        """Every file, the published one first."""
        return (self.published, self.certificate, self.private, self.page)

    def to_json(self) -> dict[str, str]:
        """By name, for summaries."""
        return dict(zip(("published", "certificate", "private", "page"), map(str, self.all()), strict=True))


def publish(
    files: Files, going: Outgoing, draft: Draft, columns: Mapping[str, Sized] | None,
    page: Callable[[ReleaseDocument, Path], str], rows: Mapping[str, int] | None = None,
) -> ReleaseDocument:  # fmt: skip
    """Write the private part, the document and the page, and give the published file its name, in this order.

    Parameters:

    - `files`: where everything goes; `going`: what the document is told; `draft`: the values, under another name yet.
    - `columns`: what the file holds, for the document; None if it is no table.
    - `page`: what makes the page of the document and the published file, which has another name yet.
    - `rows`: of a folder, how many each part has.

    Whatever fails on the way, no published file lies there without its document, and what was drawn is removed unless
    a ledger keeps it; so are the files that were not there before."""
    size = None if columns is None else max(map(len, columns.values()), default=0)
    new = [file for file in files.all()[1:] if not file.exists()]
    try:
        names = () if columns is None else tuple(map(visible, columns))
        published = [
            published_file(name, file, size if rows is None else rows[name], names, folder)
            for folder, name, file in draft.parts()
        ]
        document, private = issue(going, published)
        with writing(files.private, private=True) as out:
            out.write(private.text)
        draft.supersede()
        document.save(files.certificate)
        write_text(files.page, page(document, draft.file))
        draft.publish()
    except BaseException:
        if not files.published.exists():
            for path in new:
                path.unlink(missing_ok=True)
        draft.discard()
        raise
    return document


PathLike = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """Where the beliefs come from: a reference, or the private table itself, which is withheld; or declared.

    `public`: whether the file of the reference is declared public. Only then is its plain SHA-256 published: of a past
    register, whoever knows all rows but one could test the last. `released`: whether that file is the very table that
    is released."""

    reference: PathLike | None = None
    own_table: bool = False
    public: bool = False
    released: bool = False

    @staticmethod
    def fitted_on(reference: PathLike | None, public: bool) -> Beliefs:
        """Beliefs fitted on a reference, declared public or not; without one, on the private table itself."""
        return Beliefs(reference=reference, own_table=reference is None, public=public)

    def to_json(self, salt: str) -> Json:
        """The name of a reference, and its SHA-256 or a commitment to it. The private table has its own commitment."""
        found: Json = {"from": DECLARED, "declared public": True, "name": None, "sha256": None, "commitment": None}
        if self.own_table:
            return {**found, "from": OWN_TABLE}
        if self.reference is None:
            return found
        source = PUBLIC_TABLE if self.released else REFERENCE
        found |= {"from": source, "declared public": self.public, "name": file_name(self.reference)}
        if self.public:
            return {**found, "sha256": file_sha256(self.reference)}
        return {**found, "commitment": commit_file(self.reference, salt)}


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """What a release document is told beside the files.

    `certificates`: sealed before the draw, by group ("" for the only one). `table`: the private file, which is only
    committed to; `data`: its declared name; `rows`: their number where it is public. `recipe`: the question, with its
    form under "what"; None for a predicate in code, whose `words` are then all there is. `skipped`: secrets of which
    nothing is promised; None if that is not known. `ledger`: the entry that was charged, None if there is none.
    `basis`: before the table is opened, for how many rows and whose groups it is. `check`: what the owner saw of the
    table, which goes into the private part alone. `marks`: of a frame, which has no file, the digest of its rows, by
    which a ledger knows it: committed to in place of a file. `sign_off`: who answers for the choices."""

    certificates: Mapping[str, Document]
    table: PathLike
    data: str
    rows: int | None
    recipe: Json | None
    words: str = ""
    skipped: Sequence[str] | None = ()
    beliefs: Beliefs
    ledger: Json | None = None
    basis: str = ""
    check: Json | None = None
    marks: str | None = None
    sign_off: SignOff | None = None


def published_file(
    name: str, file: Path, rows: int | None = None, columns: Iterable[str] = (), folder: str | None = None
) -> Json:
    """What binds a file that goes out under a name, and lies at `file` until then: its size and SHA-256. `folder`: what
    the folder is called whose part it is."""
    size, digest = file.stat().st_size, file_sha256(file)
    told = {"name": name, "bytes": size, "sha256": digest, "rows": rows, "columns": list(columns)}
    return told if folder is None else {**told, "folder": folder}


def issue(going: Outgoing, published: Sequence[Json]) -> tuple[ReleaseDocument, PrivatePart]:
    """The publishable document, and what stays at home.

    Beliefs that were fitted on the private table hold numbers of it: their certificates go into the private part, and
    the document holds a salted commitment to them."""
    if not is_name(going.data):
        raise UsageError("the declared name of the data is a name, never a path: it goes out with the document")
    salt, reference_salt, own = new_salt(), new_salt(), going.beliefs.own_table
    stated = [{"group": group, "certificate": found.body} for group, found in going.certificates.items()]
    beliefs_salt = new_salt() if own else None
    commitment = commit_table(going.table, salt) if going.marks is None else commit_text(going.marks, salt)
    withheld = None if beliefs_salt is None else {"commitment": commit_text(canonical_json(stated), beliefs_salt)}
    body = {
        **_said(going, reference_salt), "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {"name": going.data, "commitment": commitment, "rows": going.rows}, "published": list(published),
        "withheld": withheld, "certificates": None if own else stated,
    }  # fmt: skip
    private = {
        "kind": "release-private", "marking": NOT_FOR_PUBLICATION, "release": commitment, "data salt": salt,
        "reference salt": reference_salt, "beliefs salt": beliefs_salt, "certificates": stated if own else None,
        "recipe": going.recipe if own else None, **({} if going.check is None else {"check": going.check}),
    }  # fmt: skip
    return ReleaseDocument.sealed(body), PrivatePart.sealed(private)


def preview(going: Outgoing) -> Json:
    """What the document would say, before anything is drawn: nothing is committed to, nothing has a date. UsageError if
    it would be larger than any reader takes: found now, it costs nothing."""
    data = {"name": going.data, "commitment": None, "rows": going.rows, "basis": going.basis}
    said = {"fugu": __version__, **_said(going, new_salt()), "date": None, "data": data, "published": []}
    sized(canonical_json({**said, "certificates": [found.body for found in going.certificates.values()]}))
    return said


def _said(going: Outgoing, salt: str) -> Json:
    """What a document says that does not depend on the draw; of beliefs that are withheld, words without what was
    fitted, and no recipe."""
    own, recipe, words = going.beliefs.own_table, going.recipe, going.words
    if recipe is not None:
        words = question_words(without_fitted(recipe) if own else recipe)
    said = {
        "kind": "release", "question": {"words": words, "recipe": None if own else recipe},
        "skipped": None if going.skipped is None or own else list(going.skipped),
        "beliefs": going.beliefs.to_json(salt), "ledger": going.ledger,
        **derived({group: found.tell() for group, found in going.certificates.items()}, withheld=own),
    }  # fmt: skip
    return said if going.sign_off is None else {**said, SIGN_OFF: declared(going.sign_off, said)}
