"""`publish`: from Python, what the command line writes for a release: the file, its document, its page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.release import ReleaseDocument
from fugu.documents.sentences import holds_private_numbers
from fugu.errors import UsageError
from fugu.files import check_apart
from fugu.ledger import Books, Ledger, books
from fugu.mechanism.release import Release
from fugu.publication.files import Beliefs, Files, Outgoing, drafted
from fugu.publication.files import publish as write_files
from fugu.queries.answer import Answer
from fugu.report.dossier import Dossier, dossier_page
from fugu.visible import Json

PathLike = str | os.PathLike[str]


def publish(
    path: PathLike,
    released: Release | Answer,
    *,
    table: PathLike,
    data: str | None = None,
    reference: PathLike | None = None,
    public_reference: bool = False,
    question: str = "",
    skipped: Sequence[str] | None = None,
    ledger: Ledger | None = None,
    request: str | None = None,
    force: bool = False,
) -> ReleaseDocument:
    """Write a release as the command line does: OUT.csv, OUT.certificate.json, OUT.private.json, OUT.report.html.

    Parameters:

    - `path`: where the published numbers go, a name that ends in .csv; the other files lie beside it.
    - `released`: what `mechanism.release`, `release_column` or `fugu.answer` returned.
    - `table`: the file of the private table; the document holds a salted commitment to it. `data`: its declared name,
      by default the name of the file.
    - `reference`: the file that beliefs were fitted on; None if they were declared, or fitted on the private table.
      `public_reference`: True if that file is public, so that its plain SHA-256 may be published.
    - `question`: what was asked, in words, where the certificate holds no recipe. `skipped`: secrets of which nothing
      is promised, None if that is not known.
    - `ledger`, `request`: the ledger that was charged, and the name of the request in it.
    - `force`: True to write over files that exist.

    Returns the `ReleaseDocument`. Raises `UsageError` for names that exist or are no CSV file, and where beliefs were
    fitted on a reference that is not given: the document would call them declared."""
    files = Files(Path(path))
    if files.published.suffix != ".csv":
        raise UsageError(f"the numbers are written as CSV; give a name that ends in .csv, not {files.published.name!r}")
    read = [str(file) for file in (table, reference) if file is not None]
    for file in files.all():
        check_apart(str(file), *read)
        if not force and (file.exists() or file.is_symlink()):
            raise UsageError(f"{file.name!r} exists; choose another name, or give force=True to write over it")
    certificates: dict[str, Certificate]
    if isinstance(released, Answer):
        recipe = None if released.recipe is None else {"what": "statistic", **released.recipe}
        rows = None if recipe is None else sum(recipe["groups"].values())
        certificates = {group: each.certificate for group, each in released.mechanisms.items()}
        columns: Mapping[str, Any] = released.columns()
    elif isinstance(released, Release):
        stated = released.certificate.body.get("recipe")
        recipe = None if stated is None else {"what": "column", **stated}
        rows, certificates = None if released.scalar else len(released), {"": released.certificate}
        columns = _columns(released)
    else:
        raise UsageError(f"publish takes what a release or fugu.answer returned, got {type(released).__name__}")
    going = Outgoing(
        certificates=certificates,
        table=table,
        data=Path(table).name if data is None else data,
        rows=rows,
        recipe=recipe,
        words=question,
        skipped=skipped,
        beliefs=_beliefs(certificates, reference, public_reference),
        ledger=_entry(ledger, request),
    )
    names = {"certificate": files.certificate.name, "private": files.private.name}

    def page(document: ReleaseDocument) -> str:
        return dossier_page(Dossier.of(document, names=names))

    return write_files(files, going, drafted(files.published, columns), columns, page)


def _beliefs(certificates: Mapping[str, Certificate], reference: PathLike | None, public: bool) -> Beliefs:
    """Where the beliefs come from: the private table, a reference, or nowhere that the certificates know of."""
    if any(holds_private_numbers(found.assumptions) for found in certificates.values()):
        return Beliefs.fitted_on(None, public)
    if reference is not None:
        return Beliefs.fitted_on(reference, public)
    if any(_fitted(found.body) for found in certificates.values()):
        raise UsageError(
            "the beliefs were fitted on a reference, and without it the document would call them declared; give the "
            "reference: reference=FILE"
        )
    return Beliefs(public=public)


def _fitted(body: Json) -> bool:
    """Whether a certificate speaks of a table that its beliefs were fitted on; a mixture, if a half does."""
    of_a_table = any(body.get(part) is not None for part in ("recipe", "query", "statistic"))
    return of_a_table or any(map(_fitted, body.get("parts", ())))


def _columns(released: Release) -> dict[str, Any]:
    """The values under the names that the certificate knows, one column for each coordinate of vectors."""
    body = released.certificate.body
    values = np.asarray(released.values)
    if values.ndim == 1:
        return {str((body.get("query") or {}).get("publish", "value")): values}
    stated = (body.get("property") or {}).get("statistics")
    names = list(stated) if stated else [f"value {k + 1}" for k in range(values.shape[1])]
    return {str(name): values[:, k] for k, name in enumerate(names)}


def _entry(ledger: Ledger | None, request: str | None) -> Json | None:
    """The entry of a request in a ledger, by the hash of its event."""
    if ledger is None and request is None:
        return None
    if ledger is None or request is None:
        raise UsageError("give the ledger and the name of the request in it, or neither")
    found = Books(ledger.path).read(books.settled, ledger.data, request)
    if found is None:
        raise UsageError(f"the ledger has no settled request {request!r} for data set {ledger.data!r}")
    return {"request": request, "data": ledger.data, "entry": found.hash, "at": found.at}
