"""Whole releases: the page that an officer signs and keeps."""

from __future__ import annotations

from collections.abc import Iterable

from fugu.documents.release import ReleaseDocument
from fugu.drawing.html import Html
from fugu.report.dossier import Dossier, sections_of
from fugu.report.kinds.registry import Said, page_of


@page_of("release")
def of_release(document: ReleaseDocument, said: Said) -> Iterable[Html | None]:
    """Every section of the dossier."""
    return sections_of(Dossier.of(document, comparison=said.comparison))
