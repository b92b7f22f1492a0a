"""The files of one release, written so that no published value is ever without what covers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from pathlib import Path

from fugu.documents.release import ReleaseDocument
from fugu.files import write_text, writing
from fugu.publication.drafts import Draft
from fugu.publication.issue import Outgoing, Published, issue
from fugu.visible import visible

_BESIDE = {"certificate": ".certificate.json", "private": ".private.json", "page": ".report.html"}


@dataclass(frozen=True)
class Files:
    """Where the parts of a release go: the published file, and beside it certificate, private part and page."""

    published: Path
    over: bool = False
    """Whether they may be written over what is there."""

    @property
    def certificate(self) -> Path:
        """The release document."""
        return self._beside("certificate")

    @property
    def private(self) -> Path:
        """What opens its commitments; not for publication."""
        return self._beside("private")

    @property
    def page(self) -> Path:
        """The page for people."""
        return self._beside("page")

    def all(self) -> tuple[Path, ...]:
        """Every file, the published one first."""
        return (self.published, self.certificate, self.private, self.page)

    def to_json(self) -> dict[str, str]:
        """By name, for summaries."""
        return {name: str(path) for name, path in zip(("published", *_BESIDE), self.all(), strict=True)}

    def _beside(self, name: str) -> Path:
        return self.published.with_suffix(_BESIDE[name])


def publish(
    files: Files,
    going: Outgoing,
    draft: Draft,
    columns: Mapping[str, Sized] | None,
    page: Callable[[ReleaseDocument], str],
) -> ReleaseDocument:
    """Write the private part, the document and the page, and give the published file its name, in this order.

    Parameters:

    - `files`: where everything goes; `going`: what the document is told; `draft`: the values, under another name yet.
    - `columns`: what the file holds, for the document; None if it is no table.
    - `page`: what makes the page of the document.

    Whatever fails on the way, no published file lies there without its document, and what was drawn is removed unless
    a ledger keeps it; so are the files that were not there before."""
    rows = None if columns is None else max(map(len, columns.values()), default=0)
    new = [file for file in files.all()[1:] if not file.exists()]
    try:
        file = Published(
            files.published.name, draft.file, rows, () if columns is None else tuple(map(visible, columns))
        )
        document, private = issue(going, [file])
        with writing(files.private, private=True) as out:
            out.write(private.to_json())
        draft.supersede()
        document.save(files.certificate)
        write_text(files.page, page(document))
        draft.publish()
    except BaseException:
        if not files.published.exists():
            for path in new:
                path.unlink(missing_ok=True)
        draft.discard()
        raise
    return document
