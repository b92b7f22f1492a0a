"""What tests ask of the files of a release: the sealed certificates inside the document that went out."""

from __future__ import annotations

from pathlib import Path

from fugu.documents.release import PrivatePart, ReleaseDocument
from fugu.verifier.kinds.release import inner

DRAWN = ("fugu", "digest", "date")
"""Parts of a release document that every run writes anew."""


def document_of(path):
    """The release document that lies beside the published file `path`, or is `path`."""
    path = Path(path)
    return ReleaseDocument.load(path if path.name.endswith(".certificate.json") else _beside(path, "certificate"))


def certificates_of(path):
    """{group: certificate} inside it, each read by its own schema; from the private part where they are withheld."""
    document = document_of(path)
    bodies = document.certificates
    if bodies is None:
        plain = Path(str(path).replace(".certificate.json", ".csv"))
        bodies = document.opened(PrivatePart.load(_beside(plain, "private")))
    return {group: inner(body) for group, body in bodies.items()}


def certificate_of(path):
    """The only certificate inside it."""
    (found,) = certificates_of(path).values()
    return found


def public_part(body):
    """What a reader learns of the release itself: a document without what is drawn anew for every run, and without
    the sizes and digests of the published files, which are those of drawn values."""
    kept = {name: part for name, part in body.items() if name not in DRAWN}
    if "data" in kept:
        kept["data"] = {name: part for name, part in kept["data"].items() if name != "commitment"}
        kept["published"] = [
            {name: part for name, part in file.items() if name not in ("sha256", "bytes")} for file in kept["published"]
        ]
    return kept


def _beside(path, part):
    return path.with_suffix(f".{part}.json")
