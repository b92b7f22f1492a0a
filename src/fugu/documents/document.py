"""`Document`: what every certificate is, whatever it certifies: plain JSON with a schema, a kind and a digest.

A document is sealed once and never changes: `body` is read-only at every depth. Reading one is bounded in size and
depth, and refuses what is truncated, edited or of another schema. The digest detects edits; it is not a signature, and
nothing a document says of itself is believed because of it: `fugu.verify` proves again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar, NoReturn, Self

from fugu._version import __version__
from fugu.documents import plain_json
from fugu.documents.fields import SEALED, Field, by_publisher, read_parts
from fugu.documents.frozen import frozen
from fugu.documents.plain_json import check_plain, load_json, reading
from fugu.drawing.sheet import Sheet
from fugu.drawing.shown import Shown
from fugu.errors import CertificateError, UsageError
from fugu.files import write_text
from fugu.visible import Json, brief, visible_json

SEAL = ("schema", "fugu", "publisher", "digest")
"""The parts that sealing adds."""


class Sealed:
    """Nothing about it can be set or removed, in subclasses either: a frozen dataclass guards its own fields only."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"a document does not change after it is made, so {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"a document does not change after it is made, so {name!r} cannot be removed")


@dataclass(frozen=True, repr=False)
class Document(Sealed, Shown):
    """A sealed document. A subclass says which schema it is of, which kinds there are, and what each must hold."""

    body: Json

    SCHEMA: ClassVar[str] = ""
    SCHEMAS: ClassVar[tuple[str, ...]] = ()
    """Further schemas that `parse` reads, of documents of the same kinds."""
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    KINDS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The kinds of this schema, each with the parts that it needs beyond those that all need."""
    PARTS: ClassVar[Mapping[str, Field]] = SEALED
    """Every part that a document may have: its form, and what it rests on."""
    INDENT: ClassVar[int | None] = 1

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "body", frozen(self.body))
        except RecursionError:
            raise CertificateError("the certificate is nested deeper than any that fugu wrote") from None

    def _sheet(self) -> Sheet:
        said = [(name, str(self.body[name])) for name in ("schema", "kind", "digest") if name in self.body]
        return Sheet(type(self).__name__, said, notes=["nothing it says is believed: fugu.verify proves it again"])

    def __hash__(self) -> int:
        return hash(self.body.get("digest"))

    @classmethod
    def sealed(cls, body: Mapping[str, object]) -> Self:
        """The document with the content `body`, under the schema of the class, with the digest of the whole."""
        full = {"schema": cls.SCHEMA, "fugu": __version__, **body}
        full["publisher"] = cls({k: v for k, v in full.items() if k != "publisher"})._marks()
        return cls({**full, "digest": digest_of(full)})

    def _marks(self) -> Json:
        """What is marked as the publisher's own words; of what cannot be read no line: `parse` refuses it."""
        with suppress(CertificateError), reading():
            return self.by_publisher()
        return {"parts": sorted(by_publisher(self.PARTS, self.body)), "assumptions": []}

    @classmethod
    def parse(cls, content: object) -> Self:
        """The document that `content`, decoded JSON, is. Raises `CertificateError` if it is of another schema or kind,
        if a part is missing or cannot be read, if parts do not belong together, or if the digest does not match."""
        check_plain(content)
        if not isinstance(content, dict) or content.get("schema") != cls.SCHEMA:
            raise CertificateError(f"not a certificate of schema {cls.SCHEMA}{_hint(content)}")
        if not isinstance(content.get("kind"), str) or content["kind"] not in cls.KINDS:
            raise CertificateError("the certificate is of a kind that this version of fugu does not know")
        required = ("schema", "kind", *cls.REQUIRED, *cls.KINDS[content["kind"]], "digest")
        if missing := [key for key in required if key not in content]:
            raise CertificateError(f"the certificate lacks {', '.join(missing)}; it may be truncated")
        if digest_of({k: v for k, v in content.items() if k != "digest"}) != content["digest"]:
            raise CertificateError("the certificate's content does not match its digest: it was edited after sealing")
        return cls._read(content)

    @classmethod
    def _read(cls, content: Json) -> Self:
        """The document, each part of its form."""
        read_parts(cls.PARTS, content)
        document = cls(content)
        with reading():
            document.check()
        return document

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read the file at `path`; refuses what `parse` refuses. It proves nothing yet."""
        return cls.parse(load_json(path))

    def check(self) -> None:
        """CertificateError if parts cannot be read or do not belong together; any error while reading becomes one."""

    def own_lines(self) -> list[str]:
        """The assumptions that do not follow from the other parts: the publisher's own words."""
        return []

    def by_publisher(self) -> Json:
        """What is the publisher's own words in this document: parts by name, and lines of the assumptions."""
        return {"parts": sorted(by_publisher(self.PARTS, self.body)), "assumptions": self.own_lines()}

    def check_marks(self) -> None:
        """CertificateError unless the publisher's own words are marked as such; before version 0.4 none were."""
        stated = self.body.get("publisher")
        with reading():
            own = self.by_publisher()
        if stated is not None and stated != own:
            raise CertificateError("what does not follow from the certificate is not marked as the publisher's words")

    @property
    def kind(self) -> str:
        """What is certified, one of the kinds of the schema."""
        return str(self.body["kind"])

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    @property
    def claims(self) -> Json:
        """The body without what sealing adds: what is said, whichever version of fugu said it."""
        return {k: v for k, v in self.body.items() if k not in SEAL}

    @property
    def digest(self) -> str:
        """SHA-256 of everything else in the document."""
        return str(self.body["digest"])

    def to_json(self) -> str:
        """The document as text."""
        compact = (",", ":") if self.INDENT is None else None
        return visible_json(json.dumps(self.body, ensure_ascii=False, separators=compact, indent=self.INDENT))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to `path`, whole or not at all; UsageError if it is larger than any reader takes."""
        write_text(path, sized(self.to_json()))

    def __repr__(self) -> str:
        kind, digest = self.body.get("kind"), str(self.body.get("digest"))
        return f"{type(self).__name__}({kind!r}, digest {brief(digest, 12)})"


def _hint(content: object) -> str:
    """Where the certificate is, if this is a document around it."""
    around = isinstance(content, dict) and str(content.get("schema")).startswith("fugu/release/")
    return "; this is a release document, with its certificates inside: fugu.ReleaseDocument.load" if around else ""


def sized(text: str) -> str:
    """The text of a document, if `load` would read it; UsageError, which says what to do, for a larger one."""
    size = len(text.encode())
    if size > plain_json.MOST_BYTES:
        raise UsageError(
            f"the certificate has {size:,} bytes, and documents of more than {plain_json.MOST_BYTES:,} are read by "
            "nobody: publish fewer different values (bins, or a coarser step), fewer groups or fewer questions"
        )
    return text


def canonical_json(content: Any) -> str:
    """One text for one content, whatever the order of its names: what digests are taken of."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest_of(content: Any) -> str:
    """SHA-256 of the canonical text."""
    try:
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()
    except UnicodeEncodeError:
        raise UsageError("a name or label holds half of a surrogate pair, which is not text; rename it") from None
