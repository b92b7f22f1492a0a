"""Writing the release document: after the draw, around certificates that were sealed before it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fugu._version import __version__
from fugu.documents.commitment import commit_file, commit_text, file_sha256, new_salt
from fugu.documents.document import Document, canonical_json, sized
from fugu.documents.release import (
    DECLARED,
    NOT_FOR_PUBLICATION,
    OWN_TABLE,
    PUBLIC_TABLE,
    REFERENCE,
    PrivatePart,
    ReleaseDocument,
    is_name,
)
from fugu.errors import UsageError
from fugu.telling import derived, told
from fugu.telling.question import question_words, without_fitted
from fugu.visible import Json

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
        found |= {"from": source, "declared public": self.public, "name": Path(self.reference).name}
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
    table, which goes into the private part alone."""

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


@dataclass(frozen=True)
class Published:
    """A file that goes out under a name; `file` is where it lies until then."""

    name: str
    file: Path
    rows: int | None = None
    columns: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """What binds the file: its size and SHA-256."""
        size = self.file.stat().st_size
        return {
            "name": self.name, "bytes": size, "sha256": file_sha256(self.file), "rows": self.rows,
            "columns": list(self.columns),
        }  # fmt: skip


def issue(going: Outgoing, published: Sequence[Published]) -> tuple[ReleaseDocument, PrivatePart]:
    """The publishable document, and what stays at home.

    Beliefs that were fitted on the private table hold numbers of it: their certificates go into the private part, and
    the document holds a salted commitment to them."""
    if not is_name(going.data):
        raise UsageError("the declared name of the data is a name, never a path: it goes out with the document")
    salt, reference_salt, own = new_salt(), new_salt(), going.beliefs.own_table
    stated = [{"group": group, "certificate": found.body} for group, found in going.certificates.items()]
    beliefs_salt = new_salt() if own else None
    commitment = commit_file(going.table, salt)
    withheld = None if beliefs_salt is None else {"commitment": commit_text(canonical_json(stated), beliefs_salt)}
    body = {
        **_said(going, reference_salt),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {"name": going.data, "commitment": commitment, "rows": going.rows},
        "published": [file.to_json() for file in published],
        "withheld": withheld,
        "certificates": None if own else stated,
    }
    private = {
        "kind": "release-private",
        "marking": NOT_FOR_PUBLICATION,
        "release": commitment,
        "data salt": salt,
        "reference salt": reference_salt,
        "beliefs salt": beliefs_salt,
        "certificates": stated if own else None,
        "recipe": going.recipe if own else None,
        **({} if going.check is None else {"check": going.check}),
    }
    return ReleaseDocument.sealed(body), PrivatePart.sealed(private)


def preview(going: Outgoing) -> Json:
    """What the document would say, before anything is drawn: nothing is committed to, nothing has a date. UsageError if
    it would be larger than any reader takes: found now, it costs nothing."""
    data = {"name": going.data, "commitment": None, "rows": going.rows, "basis": going.basis}
    said = {"fugu": __version__, **_said(going, new_salt()), "date": None, "data": data, "published": []}
    sized(canonical_json({**said, "certificates": [found.body for found in going.certificates.values()]}))
    return said


def _said(going: Outgoing, salt: str) -> Json:
    """What a document says that does not depend on the draw."""
    own = going.beliefs.own_table
    return {
        "kind": "release",
        "question": _question(going),
        "skipped": None if going.skipped is None or own else list(going.skipped),
        "beliefs": going.beliefs.to_json(salt),
        "ledger": going.ledger,
        **derived({group: told(found) for group, found in going.certificates.items()}, withheld=own),
    }


def _question(going: Outgoing) -> Json:
    """The words and the recipe; of beliefs that are withheld, words without what was fitted."""
    if going.recipe is None:
        return {"words": going.words, "recipe": None}
    if going.beliefs.own_table:
        return {"words": question_words(without_fitted(going.recipe)), "recipe": None}
    return {"words": question_words(going.recipe), "recipe": going.recipe}
