"""`page`: the HTML of a report, from a certificate alone; `write`: put it on disk, whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fugu.documents.document import Document
from fugu.documents.plain_json import guarded
from fugu.errors import UsageError
from fugu.files import write_text
from fugu.mechanism.mechanism import Mechanism
from fugu.report.kinds import Said, parts_of
from fugu.report.shell import whole_page

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison


def page(
    mechanism: Mechanism | Document,
    comparison: Comparison | None = None,
    title: str = "Privacy report",
    query_name: str | None = None,
    secret_name: str | None = None,
    rows: int | None = None,
) -> str:
    """One self-contained HTML page about a release: what was published, what it means, figures, methods, limits.

    Everything on it is computed from the certificate; the private column is never seen here. A certificate of beliefs
    fitted on the private table holds exact counts of it, and the page then says so in a box. No script is on it, and
    nothing is loaded.

    Parameters:

    - `mechanism`: a mechanism or its certificate, of any kind: one number, vectors with independent noise, normal
      vectors with correlated noise, mixtures, analyses of noise that is never released (which say so), sequences,
      mechanisms that are private for each entry, and trainings. Vectors are drawn one coordinate at a time.
    - `comparison`: what `fugu.compare` found for the same budget; without it the methods are those of the certificate.
    - `title`: the heading of the page.
    - `query_name`, `secret_name`: what is published and what is hidden, where the certificate does not name them.
    - `rows`: the number of rows released, which is published with them: a delta above 1 / rows is said aloud.

    Returns the text of the page. Raises `UsageError` for what is not a mechanism or a certificate, and for a comparison
    of another budget.

    >>> import fugu
    >>> pair = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]), "yes vs no")
    >>> html = page(fugu.calibrate(pair, fugu.Pure(0.5)), query_name="grade", secret_name="support")
    >>> "odds" in html, html.count("<figure"), "<script" in html
    (True, 4, False)
    """
    document = getattr(mechanism, "certificate", mechanism)
    if not isinstance(document, Document):
        raise UsageError(f"a page is made from a mechanism or a certificate, got {type(mechanism).__name__}")
    with guarded(document.kind):
        return whole_page(title, *parts_of(document, Said(title, comparison, query_name, secret_name, rows)))


def write(path: str | os.PathLike[str], html: str) -> None:
    """Write a page, whole or not at all."""
    write_text(path, html)
