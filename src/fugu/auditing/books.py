"""The ledger, held against a release document: the entry that it names, and the draw that it keeps."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from fugu.data import write_csv
from fugu.data.files import shown_columns
from fugu.documents.certificate import Certificate
from fugu.documents.document import Checked, NotChecked, canonical_json, checked
from fugu.documents.kinds import inner
from fugu.documents.reading import reading
from fugu.documents.release import ReleaseDocument, file_sha256
from fugu.errors import BadLedger, CertificateError, LedgerBroken
from fugu.guarantee import ZCDP, Guarantee
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import promise
from fugu.guarantee.curve import budget_json
from fugu.ledger import Books, books
from fugu.ledger.books import standing
from fugu.ledger.charge import LAW, Charge
from fugu.ledger.events import CHARGED
from fugu.ledger.keys import Place, place_of
from fugu.ledger.values import decode
from fugu.numbers.exact import read_number
from fugu.queries.answer import columns_of
from fugu.queries.kinds import Cell
from fugu.queries.property_release import statistic_columns
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequences import SequenceAnswer
from fugu.queries.statistic import StatisticQuestion, questions_in
from fugu.visible import Json


def ledger_checks(
    document: ReleaseDocument, bodies: Mapping[str, Json] | None, ledger: str | None
) -> Iterator[Checked]:
    """That the ledger is whole, and that the release was charged in it."""
    stated = document["ledger"]
    if ledger is None:
        why = "no ledger was charged" if stated is None else "the ledger was not given (--ledger)"
        yield "ledger", "not checked", why
        return

    def whole() -> None:
        with the_books(ledger) as found:
            found.read(books.verify)

    yield checked("ledger", "every event follows from the one before", whole)
    yield checked("ledger entry", "the release was charged, with this budget", lambda: _charged(document, ledger))
    yield checked("ledger beliefs", "it was charged for these laws", lambda: _beliefs(document, bodies, ledger))
    yield checked(
        "ledger draw", "the published file is the draw that the ledger keeps", lambda: _draw(document, ledger)
    )


def extract(ledger: Place | str, data: str) -> list[Json]:
    """Every request for one data set, for a reader: when, what state, what charge."""
    found = Books(place_of(ledger)).read(books.history, data)
    return [
        {"request": e.request, "state": e.state, "charge": promise(e.guarantee), "kind": e.kind, "at": e.at}
        for e in found
    ]


def request_of(document: ReleaseDocument, ledger: str) -> tuple[str, Charge | None, str | None]:
    """The request that a document names, in words; what was charged for it, None if the ledger has no such request; and
    the answer that is kept, None if there is none."""
    data, name = _named(document)
    with the_books(ledger) as kept:
        asked, text = kept.read(
            lambda view: (a := view.request(data, name), None if a is None or a.value is None else view.attached(a))
        )
    return f"{name!r} for {data!r}", None if asked is None else Charge.parse(asked.charge), text


def _named(document: ReleaseDocument) -> tuple[str, str]:
    """The data set and the request that a document names."""
    if (stated := document["ledger"]) is None:
        raise NotChecked("the document names no entry: no ledger was charged")
    return stated["data"], stated["request"]


def _beliefs(document: ReleaseDocument, bodies: Mapping[str, Json] | None, ledger: str) -> None:
    """CertificateError unless the charge was for the certificates in the document."""
    data, name = _named(document)
    if bodies is None:
        raise NotChecked("the certificates are withheld")
    with reading():
        with the_books(ledger) as kept:
            asked, listed = kept.read(lambda view: (view.request(data, name), dict(view.requests())))
        known_by_now = [r for (of, _), r in listed.items() if of == data and r.state in CHARGED]
        earlier = [] if asked is None else [Charge.parse(r.charge) for r in known_by_now if r.seq <= asked.seq]
        request, charge, _ = request_of(document, ledger)
        if charge is None:
            raise CertificateError(f"the ledger has no request {request}")
        certificate = inner(next(iter(bodies.values()))) if len(bodies) == 1 else None
        if isinstance(certificate, RecordsCertificate):
            known = standing(place_of(ledger), data)
            if known is None or budget_json(known.budget) != dict(document["budget"]):
                raise CertificateError(f"the ledger has {data!r} under another budget than the document says")
            _questions(charge, certificate, document["question"]["recipe"])
            _together(earlier, certificate)
            return
        if charge.kind != LAW:
            raise NotChecked("charges for each entry are for any data: the ledger knows no laws of them")
        if charge.beliefs not in _known(bodies, charge.guarantee):
            raise CertificateError("the ledger charged this request for other laws or another question")


def _questions(charge: Charge, certificate: RecordsCertificate, recipe: Json | None) -> None:
    """CertificateError unless the charge is for the questions that were published, with the certificate's noise."""
    paid = questions_in(charge.reads)
    stated = [canonical_json(asked.to_json()) for asked in certificate.questions]
    if not paid or any(canonical_json(asked.to_json()) not in stated for asked in paid):
        raise CertificateError("the ledger charged this request for questions or noise that the certificate lacks")
    if exact(charge.guarantee.epsilon) != sum((asked.most for asked in paid), Fraction(0)):
        raise CertificateError("the ledger charged this request less than its questions cost by themselves")
    if recipe is not None:
        asked_for = [
            str(asked["query"]) for asked in recipe["questions"] if not StatisticQuestion.parse(asked["query"]).sized
        ]
        if sorted(asked_for) != sorted(asked.query for asked in paid):
            raise CertificateError("the ledger charged this request for other questions than the recipe names")


def _together(charges: Sequence[Charge], certificate: RecordsCertificate) -> None:
    """CertificateError unless the certificate prices everything that was charged up to its request: what one release
    of several is worth by itself is not what they are worth together."""
    stated = Counter(canonical_json(asked.to_json()) for asked in certificate.questions)
    own = [charge for charge in charges if charge.reads is None]
    paid = Counter(canonical_json(asked.to_json()) for c in charges if c.reads for asked in questions_in(c.reads))
    if not paid <= stated:
        raise CertificateError("the ledger charged other questions before, which the certificate does not price")
    if certificate.elsewhere < sum((exact(charge.guarantee.epsilon) for charge in own), Fraction(0)):
        raise CertificateError("the ledger charged other releases before, which the certificate does not count")


def _known(bodies: Mapping[str, Json], budget: Guarantee) -> set[str]:
    """What a ledger knows the certificates of a document by: a training by all that it claims, the only one by its
    laws, those of a statistic by question and laws."""
    if runs := [each for each in map(inner, bodies.values()) if each.WHOLE_RUN]:
        return {Charge.of_training(each).beliefs for each in runs}
    certificates = {group: Certificate.parse(body) for group, body in bodies.items()}
    first = next(iter(certificates.values()))
    known = {first.fingerprint} if len(certificates) == 1 else set()
    if (about := first.body.get("statistic")) is not None:
        known.add(Charge.of_groups(budget, about.get("by"), certificates).beliefs)
    return known


def _charged(document: ReleaseDocument, ledger: str) -> None:
    data, name = _named(document)
    stated = document["ledger"]
    with reading(), the_books(ledger) as kept:
        event, charge = kept.read(books.settled, data, name), kept.read(books.charge_of, data, name)
        if event is None or charge is None:
            raise CertificateError(f"the ledger has no settled request {name!r} for {data!r}")
        if event.hash != stated["entry"]:
            raise CertificateError(f"the ledger's entry for {name!r} is another than the one named")
        if event.at != stated["at"]:
            raise CertificateError(f"the ledger charged {name!r} at another time than the document says")
        if not _same_budget(document, charge.kind, charge.guarantee):
            raise CertificateError(f"the ledger charged {charge.guarantee!r}, and the document states another budget")


def _same_budget(document: ReleaseDocument, kind: str, charged: Guarantee) -> bool:
    """Whether the charge is what the document states: its budget, or, of sequences, the epsilon for each entry."""
    if kind == LAW:
        return budget_json(charged) == dict(document["budget"])
    if document.composes:
        return True  # what it charged is held against the certificate's questions
    if document.withheld:
        raise NotChecked("the entry is there; what it charged for each entry is withheld with the certificate")
    proved = document["mechanisms"][0]["proved"]
    if "per entry" not in proved:  # a training for independent records, which is private for each of them
        return budget_json(charged) == dict(document["budget"])
    same = read_number(proved["per entry"]) == exact(charged.rho if isinstance(charged, ZCDP) else charged.epsilon)
    return same and read_number(proved.get("per entry delta", "0")) == exact(charged.delta)


def _draw(document: ReleaseDocument, ledger: str) -> None:
    """CertificateError unless the one published file is what the ledger keeps for the request that is named.

    Without this, a second draw of the same question, charged nowhere, could name the entry of the first."""
    with reading():
        request, _, text = request_of(document, ledger)
        if text is None:
            raise CertificateError(f"the ledger keeps no answer to {request}")
        if document.composes:
            raise NotChecked(
                "the ledger keeps numbers of many questions; they are held against the published ones above"
            )
        kept = _digest(decode(text), document["question"]["recipe"])
        if kept is None:
            raise NotChecked("the ledger keeps the answer in a form that is not the published file's")
        if document.bound not in kept:
            name = document["ledger"]["request"]
            raise CertificateError(f"the published file is not the draw that the ledger keeps for {name!r}")


def _digest(kept: Any, recipe: Json | None) -> tuple[str, ...] | None:
    """The SHA-256 of the file that an answer is published as: a receipt names it, and numbers are written again."""
    if isinstance(kept, dict) and "cells" in kept:
        return _written(statistic_columns(tuple(Cell(*cell) for cell in kept["cells"])))
    if isinstance(kept, dict):
        return (str(kept["sha256"]),) if "sha256" in kept else None
    if isinstance(kept, SequenceAnswer):
        return None if recipe is None else _written(kept.columns(str(recipe["asked"])))
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


@contextmanager
def the_books(ledger: str) -> Iterator[Books]:
    """The books in `ledger`; `CertificateError` if there is none, or if it was edited."""
    found = Books(place_of(ledger))
    if not found.there():
        raise CertificateError(f"there is no ledger {found.name!r}")
    try:
        yield found
    except (BadLedger, LedgerBroken) as error:
        raise CertificateError(str(error)) from None
