"""`ReleaseDocument`: what went out, around the certificates that were sealed before anything was drawn.

It is written after the draw, and publishable: it names the data and commits to it, lists the published files with
their SHA-256, and says in words what was asked and what is promised. What it says of the mechanisms is worked out from
the certificates in it, and `fugu.verify` compares: a document that says more than its certificates prove is refused.

`PrivatePart` goes with it and stays at home: the salts of the commitments, and the certificates themselves where they
hold numbers of the private table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar

from fugu.documents.commitment import commit_text, same
from fugu.documents.document import Document, canonical_json
from fugu.documents.parts import PRIVATE, RELEASE
from fugu.errors import CertificateError
from fugu.numbers.exact import read_whole
from fugu.visible import Json

DERIVED = ("budget", "unit", "secrets", "pairs", "mechanisms", "reading", "assumptions")
"""The parts that are worked out from the certificates."""
SINCE_0_4 = ("rules",)
"""Those of them that earlier versions did not write: what missing and unreadable cells count as, in sentences."""
REFERENCE, PUBLIC_TABLE = "a reference", "the table itself, which is public"
OWN_TABLE, DECLARED = "the private table itself", "declared"
"""Where beliefs come from. The first two are files, named with their SHA-256 if they are public."""
NOT_FOR_PUBLICATION = (
    "NOT FOR PUBLICATION. This file opens the commitments of the release document beside it; whoever has it can test "
    "guesses about the private table."
)
OTHER_PEOPLE = "other people"
"""The publisher's word on data sets of the ledger: their people are others than those of this release."""
_HEX = set("0123456789abcdef")


class ReleaseDocument(Document):
    """What went out in one release, why it may, and what binds the files to it."""

    SCHEMA = "fugu/release/1"
    REQUIRED = ("fugu", "date", "data", "published", "question", "skipped", "beliefs", "ledger", "certificates",
                "withheld", *DERIVED)  # fmt: skip
    KINDS: ClassVar = {"release": ()}
    PARTS = RELEASE
    INDENT = None

    def own_lines(self) -> list[str]:
        """Those of the certificates inside, as far as this document repeats them."""
        if self.withheld:
            return list(self["assumptions"])  # nobody else can check one of them
        inside = [part["certificate"].get("publisher") or {} for part in self["certificates"]]
        own = {line for marks in inside for line in marks.get("assumptions", ())}
        return [line for line in self["assumptions"] if line in own]

    def check(self) -> None:
        """Parts that can be read: digests, counts, names that are no paths; the certificates, or why there are none."""
        for file in self.published:
            if not is_name(file["name"]) or not is_digest(file["sha256"]) or read_whole(file["bytes"]) < 0:
                raise CertificateError("a published file is not described by a name, its size and its SHA-256")
            rows, columns = file["rows"], file["columns"]
            if (rows is not None and read_whole(rows) < 0) or not all(isinstance(name, str) for name in columns):
                raise CertificateError("a published file is not described by its rows and the names of its columns")
        names = [file["name"] for file in self.published]
        if len(set(names)) < len(names):
            raise CertificateError("a published file is named twice")
        if not self.published:
            raise CertificateError("the document names no published file, so it binds nothing")
        data, rows = self["data"], self["data"]["rows"]
        if (
            not is_name(data["name"])
            or not is_digest(data["commitment"])
            or (rows is not None and read_whole(rows) < 0)
        ):
            raise CertificateError("the data is not described by a name that is no path, a commitment and its rows")
        if datetime.fromisoformat(self["date"]).tzinfo is None:
            raise CertificateError("the date of the document has no time zone")
        _check_ledger(self["ledger"])
        if (self["certificates"] is None) == (self["withheld"] is None):
            raise CertificateError("a release document holds its certificates, or a commitment to them; one of the two")
        if self["withheld"] is not None and not is_digest(self["withheld"]["commitment"]):
            raise CertificateError("the commitment to the withheld certificates cannot be read")
        if not isinstance(self["question"]["recipe"], Mapping | None) or not isinstance(self["question"]["words"], str):
            raise CertificateError("the question is not described by words and a recipe")
        if self["certificates"] is not None:
            by_group(self["certificates"])
        _check_beliefs(self["beliefs"], self["withheld"] is not None)

    @property
    def published(self) -> list[Json]:
        """The files that went out: name, bytes, SHA-256, rows, columns."""
        return list(self["published"])

    @property
    def withheld(self) -> bool:
        """Whether the certificates hold numbers of the private table, and are in a file that is not for publication."""
        return self["withheld"] is not None

    @property
    def certificates(self) -> dict[str, Json] | None:
        """The sealed certificates by group; the only one is called "". None if they are withheld."""
        return None if self.withheld else by_group(self["certificates"])

    def opened(self, private: PrivatePart) -> dict[str, Json]:
        """The certificates, from the private part that belongs to this document.

        CertificateError if it belongs to another, or does not hold what was committed to."""
        if private["release"] != self["data"]["commitment"]:
            raise CertificateError("the private part belongs to another release")
        if (known := self.certificates) is not None:
            return known
        stated = private["certificates"]
        if stated is None or private["beliefs salt"] is None:
            raise CertificateError("the private part does not hold the withheld certificates")
        found = commit_text(canonical_json(stated), private["beliefs salt"])
        if not same(found, self["withheld"]["commitment"]):
            raise CertificateError("the private part does not hold the certificates that were committed to")
        return by_group(stated)


class PrivatePart(Document):
    """What opens the commitments of one release document; not for publication."""

    SCHEMA = "fugu/release-private/1"
    REQUIRED = ("marking", "release", "data salt", "reference salt", "beliefs salt", "certificates", "recipe")
    KINDS: ClassVar = {"release-private": ()}
    PARTS = PRIVATE

    def check(self) -> None:
        """It says aloud what it is, and names one release."""
        if self["marking"] != NOT_FOR_PUBLICATION:
            raise CertificateError("the private part of a release is not marked as such")
        if not is_digest(self["release"]):
            raise CertificateError("the private part does not name its release")


def _check_ledger(stated: Json | None) -> None:
    """An entry is named by data, request and the hash of its event."""
    if stated is not None and not (
        isinstance(stated["data"], str) and isinstance(stated["request"], str) and is_digest(stated["entry"])
        and isinstance(named := stated.get(OTHER_PEOPLE, []), list) and all(isinstance(name, str) for name in named)
    ):  # fmt: skip
        raise CertificateError("the ledger entry is not described by data, request and the hash of its event")


def _check_beliefs(stated: Json, withheld: bool) -> None:
    """One of four sources; a file is named with its digest if it is public, else with a commitment; certificates are
    withheld for one source only."""
    source, name, digest, hidden = (stated[part] for part in ("from", "name", "sha256", "commitment"))
    if source in (REFERENCE, PUBLIC_TABLE):
        named = is_name(name) and is_digest(hidden if digest is None else digest) and None in (digest, hidden)
        public = digest is not None
    else:
        named, public = (name, digest, hidden) == (None, None, None), True
    if source not in (REFERENCE, PUBLIC_TABLE, OWN_TABLE, DECLARED) or not named:
        raise CertificateError("the beliefs are not described by where they come from")
    if stated["declared public"] is not public or (source == PUBLIC_TABLE and not public):
        raise CertificateError("the beliefs are said to be declared public, or not, against where they come from")
    if withheld != (source == OWN_TABLE):
        raise CertificateError("certificates are withheld if and only if beliefs come from the private table itself")


def by_group(stated: Any) -> dict[str, Json]:
    """{group: body} of a list of certificates, each group once."""
    found: dict[str, Json] = {}
    for group, body in _listed(stated):
        if group in found:
            raise CertificateError(f"group {group!r} has two certificates")
        found[group] = body
    if not found:
        raise CertificateError("there is no certificate")
    return found


def _listed(stated: Any) -> Iterator[tuple[str, Json]]:
    for part in stated:
        if not isinstance(part, Mapping) or not isinstance(part.get("group"), str):
            raise CertificateError("a certificate does not say which group it is for")
        if not isinstance(part.get("certificate"), Mapping):
            raise CertificateError(f"group {part['group']!r} has no certificate")
        yield part["group"], dict(part["certificate"])


def is_digest(text: Any) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(text, str) and len(text) == 64 and set(text) <= _HEX


def is_name(text: Any) -> bool:
    """Whether this names a file, and no place: a document never says where on a machine something was."""
    return isinstance(text, str) and text not in ("", ".", "..") and not set(text) & {"/", "\\", "\0"}
