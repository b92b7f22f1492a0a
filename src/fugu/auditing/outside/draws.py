"""The draw that a ledger keeps for a request, held against the published file: charged once, drawn once, this one."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fugu.auditing.outside.opening import the_books
from fugu.data import write_csv
from fugu.data.formulas import shown_columns
from fugu.documents.commitment import file_sha256
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError
from fugu.ledger.store import View
from fugu.ledger.values import decode
from fugu.queries.answered import columns_of
from fugu.queries.cell import Cell
from fugu.queries.property_cells import statistic_columns
from fugu.queries.sequence_columns import sequence_columns
from fugu.queries.sequences import SequenceAnswer
from fugu.verifier.verdict import NotChecked
from fugu.visible import Json


def same_draw(document: ReleaseDocument, ledger: str) -> None:
    """CertificateError unless the one published file is what the ledger keeps for the request that is named.

    Without this, a second draw of the same question, charged nowhere, could name the entry of the first."""
    stated = document["ledger"]
    if stated is None:
        raise NotChecked("the document names no entry: no ledger was charged")
    with the_books(ledger) as books:
        text = books.read(_kept, stated["data"], stated["request"])
    if text is None:
        raise CertificateError(f"the ledger keeps no answer to {stated['request']!r} for {stated['data']!r}")
    if document["mechanisms"][0]["noise"].get("kind") == "records":
        raise NotChecked("the ledger keeps numbers of many questions; they are held against the published ones above")
    kept = _digest(decode(text), document["question"]["recipe"])
    if kept is None:
        raise NotChecked("the ledger keeps the answer in a form that is not the published file's")
    if [file["sha256"] for file in document.published] not in [[each] for each in kept]:
        raise CertificateError(f"the published file is not the draw that the ledger keeps for {stated['request']!r}")


def _kept(view: View, data: str, request: str) -> str | None:
    asked = view.request(data, request)
    return None if asked is None or asked.value is None else view.attached(asked)


def _digest(kept: Any, recipe: Json | None) -> tuple[str, ...] | None:
    """The SHA-256 of the file that an answer is published as: a receipt names it, and numbers are written again."""
    if isinstance(kept, dict) and "cells" in kept:
        return _written(statistic_columns(tuple(Cell(*cell) for cell in kept["cells"])))
    if isinstance(kept, dict):
        return (str(kept["sha256"]),) if "sha256" in kept else None
    if isinstance(kept, SequenceAnswer):
        return None if recipe is None else _written(sequence_columns(kept, str(recipe["asked"])))
    if isinstance(kept, list):
        return _written(columns_of(tuple(Cell(*cell) for cell in kept)))
    return None


def _written(columns: Mapping[str, object]) -> tuple[str, str]:
    """The digest of published columns as a file; and as version 0.3 wrote it, with labels that cannot be seen."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "published.csv"
        write_csv(place, shown_columns(columns))
        shown = file_sha256(place)
        write_csv(place, columns)
        return shown, file_sha256(place)
