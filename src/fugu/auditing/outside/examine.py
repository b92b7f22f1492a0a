"""`examine`: everything about a release that somebody outside can check, one line each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from fugu.auditing.outside.answers import answers_checks, length_checks
from fugu.auditing.outside.books import ledger_checks
from fugu.auditing.outside.files import data_checks, published_checks, reference_checks
from fugu.auditing.outside.found import Found, find, private_part
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.release import PrivatePart, ReleaseDocument
from fugu.documents.verdict import Checked, Verdict
from fugu.verifier.verify import Source
from fugu.visible import Json

PathLike = str | os.PathLike[str]


def examine(
    source: Source,
    *,
    published: PathLike | None = None,
    reference: PathLike | None = None,
    ledger: PathLike | None = None,
    data: PathLike | None = None,
    private: PathLike | None = None,
    twice: bool = False,
) -> Verdict:
    """Check a release from outside: its document, and whatever lies beside it or is given.

    Parameters:

    - `source`: a certificate or release document, the path of one, of a model, or of a folder that holds one release.
    - `published`: the published file; by default the file of that name beside the document.
    - `reference`: the table that beliefs were fitted on: it must be the file that is named, and give the laws proved.
    - `ledger`: the ledger that was charged: it must be whole, and hold the entry that is named.
    - `data`: the private table; checked against the salted commitment, which needs the private part. Of sequences
      also the lengths, which are public, against the prior.
    - `private`: the private part; by default the one beside the document that belongs to it.
    - `twice`: True to prove everything a second time, by a proof that shares no code with the first.

    Returns a `Verdict` with one line for each check. Raises `CertificateError` or `UsageError` where there is no whole
    document to begin with."""
    found = find(source)
    opened = private_part(found, private)
    verdict, bodies = _judged(found, opened)
    more = list(_outside(found, opened, bodies, published, reference, ledger, data, twice))
    return verdict.with_checks(more)


def _judged(found: Found, private: PrivatePart | None) -> tuple[Verdict, Mapping[str, Json] | None]:
    """The verdict on the document, and its certificates where they can be seen."""
    release = found.release
    if release is None:
        return found.document.verdict(), {"": found.document.body}
    if private is None:
        return release.verdict(), release.certificates
    bodies = release.opened(private)
    return (release.judged(bodies) if release.withheld else release.verdict()), bodies


def _outside(
    found: Found,
    private: PrivatePart | None,
    bodies: Mapping[str, Json] | None,
    published: PathLike | None,
    reference: PathLike | None,
    ledger: PathLike | None,
    data: PathLike | None,
    twice: bool,
) -> Iterator[Checked]:
    yield from published_checks(found, published)
    given = (None if path is None else str(path) for path in (published, ledger))
    yield from answers_checks(found, bodies, *given)
    release = found.release
    certificates = None if bodies is None else _certificates(found, bodies)
    if release is not None:
        yield from data_checks(release, private, None if data is None else str(data))
        yield from length_checks(release, certificates, None if data is None else str(data))
        yield from ledger_checks(release, bodies, None if ledger is None else str(ledger))
        yield "date", "not checked", f"{release['date']}, as the document says; a file cannot prove a date"
    else:
        version = found.document.body.get("fugu", "0.1")
        yield (
            "release document",
            "not checked",
            f"there is none: this is a bare certificate of fugu {version}; it names no data, published file or ledger",
        )
    if reference is not None:
        yield from reference_checks(found, certificates, private, str(reference))
    elif release is not None and release["beliefs"]["name"] is not None:
        why = "the reference was not given (--reference): that its laws, of this secret, are those proved is not shown"
        yield "reference", "not checked", why
    if twice:
        from fugu.auditing.outside.answers import twice_checks

        yield from twice_checks(bodies)


def _certificates(found: Found, bodies: Mapping[str, Json]) -> dict[str, Document]:
    if not isinstance(found.document, ReleaseDocument):
        return {"": found.document}
    return {group: inner(body) for group, body in bodies.items()}
