"""The private table of a release of sequences, held against its prior: no user has more entries, or other gaps.

Users, the numbers of their entries and the times of these are public, and nothing else of the table is looked at. A
prior of a shorter chain would be worth less noise than the table needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path

from fugu.data.layout import MODELLED
from fugu.data.plan import Plan
from fugu.data.schema import Schema
from fugu.data.sequences import open_timed
from fugu.documents.document import Document
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError, FuguError
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.verifier.verdict import Checked, NotChecked, checked


def length_checks(
    document: ReleaseDocument, certificates: Mapping[str, Document] | None, table: str | None
) -> Iterator[Checked]:
    """One line for a release of sequences whose table is given; none for others.

    `certificates`: those inside the document, None if they are withheld; `table`: the private one, if it is given."""
    certificate = next(iter((certificates or {}).values()), None)
    if table is not None and isinstance(certificate, SequenceCertificate):
        says = "no user of the table has more entries than the prior, or is seen at other steps"
        yield checked("length of the prior", says, lambda: _covered(document, certificate, table))


def _covered(document: ReleaseDocument, certificate: SequenceCertificate, table: str) -> None:
    recipe, stated = document["question"]["recipe"], certificate["prior"]
    if recipe is None or recipe["what"] != "sequence":
        raise NotChecked("the document does not say which columns hold the users, times and states")
    schema = Schema.from_json(certificate["reading"])
    try:
        plan = open_timed(table, recipe["by"], recipe["order"], recipe["state"], schema).plan
    except FuguError as error:  # about the table, by the names of its columns
        raise CertificateError(f"{Path(table).name!r} is not read as the table that was released: {error}") from None
    if "steps" in stated:
        _seen(plan, [frozenset(accumulate(steps, initial=0)) for steps in stated["steps"]])
        return
    whole = schema.sequence.gaps == MODELLED
    longest = plan.span if whole else max(map(len, plan.cells.values()))
    if longest > stated["length"]:
        points = "steps from first to last entry" if whole else "entries"
        raise CertificateError(f"the table has a user with {longest} {points}, and the prior is for {stated['length']}")


def _seen(plan: Plan, patterns: list[frozenset[int]]) -> None:
    """CertificateError unless every user is seen at points of one of the patterns, the first among them."""
    for at in (plan.times or {}).values():
        if not any(frozenset(t - at[0] for t in at) <= points for points in patterns):
            raise CertificateError("the table has a user who is seen at steps that no pattern of the prior has")
