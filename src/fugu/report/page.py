"""`page`: the HTML of a report, from a document alone.

A document's page is the template of its kind and the facts that the kind's function reads off it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.promises import Promising, warnings_of
from fugu.documents.reading import guarded
from fugu.documents.sentences import holds_private_numbers
from fugu.drawing.plots import curve
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure, Renyi
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import REMAINDER, odds_of, weaknesses
from fugu.guarantee.curve import budget_from
from fugu.mechanism.mechanism import Mechanism
from fugu.numbers.exact import read_number
from fugu.numbers.text import SECRET, VALUE, clean, number
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.statistic import exact_numbers
from fugu.report.dossier import documents_in, release_facts
from fugu.report.template import exchanges, noise_of, questions_of, render, story, sureness
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
        shown = {"title": title, "document": document, "released": True, "cards": (), "usable": None, **found}
        if isinstance(document, Promising):  # the page of a whole release is told all it says
            shown["lines"] = document.quoted()
            lines = shown.setdefault("assumptions", document.tell().assumptions)
            shown["private"] = holds_private_numbers(lines)
            if "warnings" not in shown:
                shown["warnings"] = (*document.exact_values, *weaknesses(shown["guarantee"], shown.get("rows")))
        return render(template, **shown)


def of_laws(
    certificate: Certificate, comparison: Comparison | None, query_name: Named, secret_name: Named, rows: int | None
) -> Facts:
    """One number, vectors, correlated noise, mixtures, analyses; or values that are exchanged, of a coin between two
    channels both."""
    shared = {"sure": sureness(certificate), "warnings": warnings_of(certificate, rows)}
    if certificate.runs != "channel":
        f = story(certificate, comparison, query_name, secret_name)
        usable = Usable.of(certificate, rows)
        if comparison is not None and usable.figures and comparison.usable.levers:  # what would help was measured
            usable = usable.with_levers(comparison.usable.levers, comparison.usable.untried)
        return {**shared, "f": f, "guarantee": f, "released": f.released, "usable": usable}
    query, recipe = (certificate.body.get(part) for part in ("query", "recipe"))
    protect = recipe.get("protect") if isinstance(recipe, dict) else None
    return {
        **shared,
        "channels": exchanges(certificate),
        "guarantee": certificate.budget,
        "query": query_name or str((query or {}).get("publish", VALUE)),
        "secret": secret_name or (protect if isinstance(protect, str) else SECRET),
        "usable": Usable.of(certificate, rows),
    }


def of_entries(
    certificate: PerEntryCertificate | SequenceCertificate, _: object, query_name: Named, *__: object
) -> Facts:
    """The promise is for one replaced entry, all others fixed; of a chain for each entry's state, the larger of asked
    and stated, of a Rényi order what it implies."""
    noise, cards = noise_of(certificate.claims)
    shared = {"query": clean(query_name or certificate["query"], 120), "noise": noise, "cards": cards}
    if not isinstance(certificate, SequenceCertificate):  # one is a document over the claims of an entry, too
        belief = certificate.body.get("belief")
        if belief is not None:
            belief = {"worth": budget_from(dict(belief["worth"])), "width": read_number(belief["width"])}
        guarantee = odds_of(certificate.guarantee)
        return {**shared, "guarantee": guarantee, "assumptions": (_AGAIN,), "belief": belief}
    asked, stated = certificate.budget, certificate.proved
    slip, most = max(exact(asked.delta), exact(stated.delta)), max(certificate.asked, certificate.stated)
    guarantee = asked.to_approx(REMAINDER) if isinstance(asked, Renyi) else Approx(most, slip) if slip else Pure(most)
    epsilons = (certificate.stated, certificate.asked, certificate.epsilon)
    slips = (stated.delta, asked.delta, certificate.entry.delta)
    proved = [number(float(epsilon), "up", 10) for epsilon in epsilons]
    if any(slips):
        proved = [f"{x} with δ ≤ {number(float(d), 'up', 10)}" for x, d in zip(proved, slips, strict=True)]
    order = f" in Rényi divergence of order {float(asked.alpha):g}" if isinstance(asked, Renyi) else ""
    return {**shared, "guarantee": guarantee, "proved": proved, "order": order}


def of_training(certificate: TrainingCertificate, *_: object) -> Facts:
    """The promise is for one record of the training, given what the others say about it."""
    size = number(float(read_number(certificate["accountant"]["noise"])), digits=4)
    noise = (
        f"After every step, normal noise with a standard deviation of {size} is added to every weight of the model, so "
        "that no record leaves more than a bounded trace in it."
    )
    return {"guarantee": certificate.budget, "rows": certificate.accountant.records, "noise": (noise,)}


def of_records(certificate: RecordsCertificate, *_: object) -> Facts:
    """Both promises, what is spent, and every question with its noise."""
    return {
        **questions_of(certificate),
        "guarantee": certificate.believed,
        "noise": ("Noise was drawn for every answer; these are all questions.",),
        "exact": exact_numbers(certificate.questions),
        "usable": usable_of_records(certificate),
    }


def of_told(document: Promising, *_: object) -> Facts:
    """A kind without a page of its own: what every document tells of itself."""
    told = document.tell()
    return {"guarantee": odds_of(document.believed), "told": told, "noise": (str(told.noise["words"]),)}


PAGES: dict[str, tuple[str, Callable[..., Facts]]] = {
    **dict.fromkeys(Certificate.KINDS, ("laws.html", of_laws)),
    "channel": ("channel.html", of_laws),
    "per-entry": ("per-entry.html", of_entries),
    "sequence": ("sequence.html", of_entries),
    "training": ("training.html", of_training),
    **dict.fromkeys(RecordsCertificate.KINDS, ("records.html", of_records)),
    "release": (
        "release.html",
        lambda found, comparison, *_: release_facts(*documents_in(found), comparison=comparison),
    ),
}
"""Kind -> its template, and what is read off a document for it."""


def influence_page(points: Sequence[tuple[int, float]], name: str) -> str:
    """A self-contained page with the finite part of the curve.

    `points`: (entries set aside, influence of the others); `name`: the sequences in words."""
    known = [(b, a) for b, a in points if math.isfinite(a)]
    rows = [(str(b), number(a, "up", 6)) for b, a in points]
    chart = None
    if known:
        (first, high), (last, low) = known[0], known[-1]
        about = f"It falls from {number(high, 'up')} at {first} to {number(low, 'up')} at {last}."
        axes = ("entries set aside, b (each mark is a multiple of the one before)", "influence of the others, a(b)")
        told = [f"b = {b}: at most {number(a, 'up', 6)}" for b, a in known]
        chart = curve("Influence of the other entries against entries set aside", about, known, *axes, True, told)
    return render("influence.html", title="How much entries say about each other", name=name, curve=chart, rows=rows)


TITLE = "Hiding a property of the whole"
