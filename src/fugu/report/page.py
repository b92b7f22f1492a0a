"""`page`: the HTML of a report, from a document alone.

A document's page is the template of its kind and the facts that the kind's function reads off it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.promises import Promising, warnings_of
from fugu.documents.reading import guarded
from fugu.documents.sentences import holds_private_numbers
from fugu.errors import UsageError
from fugu.guarantee import Approx, Guarantee, Pure, Renyi
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import weaknesses
from fugu.guarantee.curve import budget_from
from fugu.mechanism.mechanism import Mechanism
from fugu.numbers.exact import read_number
from fugu.numbers.text import SECRET, VALUE, clean, number
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.statistic import exact_numbers
from fugu.report.dossier import documents_in, release_facts
from fugu.report.facts import REMAINDER, odds_of
from fugu.report.story import Story, exchanges, noise_of, questions_of, sureness
from fugu.report.template import render
from fugu.session.checks import usable_of_records
from fugu.training.record import TrainingCertificate
from fugu.utility.usable import Usable

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison

Facts = dict[str, Any]
Named = str | None
_AGAIN = "every release costs its ε again: several are added up"


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
        kind = "channel" if isinstance(document, Certificate) and document.runs == "channel" else document.kind
        template, facts = PAGES.get(kind, ("told.html", of_told))
        found = facts(document, comparison, query_name, secret_name, rows)
        return render(template, **{"title": title, "document": document, "released": True, **found})


def of_laws(
    certificate: Certificate, comparison: Comparison | None, query_name: Named, secret_name: Named, rows: int | None
) -> Facts:
    """One number, vectors, correlated noise, mixtures, analyses."""
    story = Story(certificate, comparison, query_name, secret_name, rows)
    return {
        "story": story,
        "f": story.f,
        "guarantee": story.f,
        "released": story.f.released,
        "sure": sureness(certificate),
        "assumptions": certificate.assumptions,
        "private": holds_private_numbers(certificate.assumptions),
        "warnings": warnings_of(certificate, rows),
    }


def of_channel(certificate: Certificate, _: object, query_name: Named, secret_name: Named, rows: int | None) -> Facts:
    """Values that are exchanged; of a coin between two channels, both."""
    query, recipe = (certificate.body.get(part) for part in ("query", "recipe"))
    protect = recipe.get("protect") if isinstance(recipe, dict) else None
    return {
        "channels": exchanges(certificate),
        "guarantee": certificate.budget,
        "query": query_name or str((query or {}).get("publish", VALUE)),
        "secret": secret_name or (protect if isinstance(protect, str) else SECRET),
        "sure": sureness(certificate),
        "usable": Usable.of(certificate, rows),
        "assumptions": certificate.assumptions,
        "private": holds_private_numbers(certificate.assumptions),
        "warnings": warnings_of(certificate, rows),
    }


def of_entries(certificate: PerEntryCertificate, _: object, query_name: Named, *__: object) -> Facts:
    """The promise is for one replaced entry, all others fixed."""
    belief = certificate.body.get("belief")
    if belief is not None:
        belief = {"worth": budget_from(dict(belief["worth"])), "width": read_number(belief["width"])}
    return {
        **_queried(certificate, query_name, odds_of(certificate.guarantee), (_AGAIN,)),
        "belief": belief,
    }


def of_sequences(certificate: SequenceCertificate, _: object, query_name: Named, *__: object) -> Facts:
    """The promise is for each entry's state; the larger of asked and stated, of a Rényi order what it implies."""
    asked, stated = certificate.budget, certificate.proved
    slip = max(exact(asked.delta), exact(stated.delta))
    most = max(certificate.asked, certificate.stated)
    guarantee = asked.to_approx(REMAINDER) if isinstance(asked, Renyi) else Approx(most, slip) if slip else Pure(most)
    epsilons = (certificate.stated, certificate.asked, certificate.epsilon)
    slips = (stated.delta, asked.delta, certificate.entry.delta)
    proved = [number(float(epsilon), "up", 10) for epsilon in epsilons]
    if any(slips):
        proved = [f"{x} with δ ≤ {number(float(d), 'up', 10)}" for x, d in zip(proved, slips, strict=True)]
    order = f" in Rényi divergence of order {float(asked.alpha):g}" if isinstance(asked, Renyi) else ""
    lines = tuple(map(str, certificate["assumptions"]))
    return {**_queried(certificate, query_name, guarantee, lines), "proved": proved, "order": order}


def _queried(certificate: Any, query_name: Named, guarantee: Guarantee, lines: tuple[str, ...]) -> Facts:
    """What is said of a query of entries and its noise."""
    noise, cards = noise_of(certificate.claims)
    query = clean(query_name or certificate["query"], 120)
    return {**_plain(certificate, guarantee, lines), "query": query, "noise": noise, "cards": cards}


def of_training(certificate: TrainingCertificate, *_: object) -> Facts:
    """The promise is for one record of the training, given what the others say about it."""
    size = number(float(read_number(certificate["accountant"]["noise"])), digits=4)
    noise = (
        f"After every step, normal noise with a standard deviation of {size} is added to every weight of the model, so "
        "that no record leaves more than a bounded trace in it."
    )
    rows = certificate.accountant.records
    return {**_plain(certificate, certificate.budget, tuple(certificate.assumptions), rows), "noise": (noise,)}


def of_records(certificate: RecordsCertificate, *_: object) -> Facts:
    """Both promises, what is spent, and every question with its noise."""
    return {
        **_plain(certificate, certificate.believed, tuple(map(str, certificate["assumptions"]))),
        **questions_of(certificate),
        "noise": ("Noise was drawn for every answer; these are all questions.",),
        "exact": exact_numbers(certificate.questions),
        "usable": usable_of_records(certificate),
    }


def of_told(document: Promising, *_: object) -> Facts:
    """A kind without a page of its own: what every document tells of itself."""
    told = document.tell()
    noise = (str(told.noise["words"]),)
    return {**_plain(document, odds_of(document.believed), told.assumptions), "told": told, "noise": noise}


def _plain(document: Promising, guarantee: Guarantee, assumptions: tuple[str, ...], rows: int | None = None) -> Facts:
    """What is said of every document without laws."""
    return {
        "guarantee": guarantee,
        "assumptions": assumptions,
        "private": holds_private_numbers(assumptions),
        "warnings": (*document.exact_values, *weaknesses(guarantee, rows)),
        "cards": (),
    }


PAGES: dict[str, tuple[str, Callable[..., Facts]]] = {
    **dict.fromkeys(Certificate.KINDS, ("laws.html", of_laws)),
    "channel": ("channel.html", of_channel),
    "per-entry": ("per-entry.html", of_entries),
    "sequence": ("sequence.html", of_sequences),
    "training": ("training.html", of_training),
    **dict.fromkeys(RecordsCertificate.KINDS, ("records.html", of_records)),
    "release": (
        "release.html",
        lambda found, comparison, *_: release_facts(*documents_in(found), comparison=comparison),
    ),
}
"""Kind -> its template, and what is read off a document for it."""
