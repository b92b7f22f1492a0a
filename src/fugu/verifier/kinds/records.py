"""Sessions on tables: charges follow from noise, and every law, load and ordered pair of secrets is proved again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from fugu.documents.plain_json import proving, reading
from fugu.documents.records import RecordsCertificate
from fugu.errors import CertificateError
from fugu.guarantee.numbers import exact
from fugu.laws.pair import PairsLike
from fugu.queries import record_checks as parts
from fugu.queries.record_proof import own_of, worst
from fugu.translation.records.checking import said
from fugu.verifier.kinds.registry import Kind, kind, no_laws, own_words, sealed
from fugu.verifier.verdict import Checked, NotChecked, Outcome, Proved, checked

_CHECKS = (
    ("writing", "every part, read and written again, is what the document says", parts.check_written),
    ("questions", "features are those that the words name, read by a schema", parts.check_questions),
    ("charges", "what each question is charged follows from its noise", parts.check_charges),
    ("records", "every record is in one group of each question", parts.check_types),
    ("laws", "every secret has its law, which rests on enough rows", parts.check_laws),
    ("assumptions", "nothing that the proof rests on is left out", parts.check_assumptions),
    ("against anybody", "within the cap; numbers with noise that is mostly 0 are called exact", parts.check_second),
)


@dataclass(frozen=True)
class Exactly(Proved):
    """What is proved, as a number that no double rounds."""

    least: Fraction


@final
@kind("records")
class Records(Kind):
    """Many statistics of one table of independent records, under one budget."""

    document = RecordsCertificate

    def prove(self, certificate: RecordsCertificate, laws: PairsLike | None) -> Proved:
        """The largest of what is proved for any type of records: its plans summed anew, or its own epsilons."""
        no_laws(laws, "many statistics of one table; its laws are in it")
        try:
            with reading(), proving():
                found, pair = worst(certificate)
        except CertificateError as error:
            return Proved.nothing(str(error))
        holds = found <= exact(certificate.budget.epsilon)
        reason = f"all questions together are {'within' if holds else 'above'} the budget, for every law and pair"
        outcome: Outcome = "holds" if holds else "fails"
        if holds and parts.on_their_word(certificate):
            outcome, reason = "not checked", f"{reason}, if what fugu did not draw is as private as was said of it"
        return Exactly(said(found), 0.0, pair, outcome, reason, found)

    def check(self, certificate: RecordsCertificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:  # noqa: ARG002
        """Each part against what follows from the questions and their noise, then the figures."""
        yield from sealed(certificate)
        for name, says, step in _CHECKS:
            yield checked(name, says, lambda step=step: _read(step, certificate))  # type: ignore[misc]
        says = "what is stated is not below what is proved now, and not above the budget"
        yield checked("stated figures", says, lambda: _figures(certificate, proved))
        yield from own_words(certificate)


def _read(step: object, certificate: RecordsCertificate) -> None:
    with reading():
        step(certificate)  # type: ignore[operator]


def _figures(certificate: RecordsCertificate, proved: Proved) -> None:
    if not isinstance(proved, Exactly):
        raise NotChecked(proved.reason)
    with reading():
        own = max((own_of(load) for _, load in parts.loads(certificate)), default=Fraction(0))
    if certificate.spent < proved.least or certificate.spent > exact(certificate.budget.epsilon):
        said = f"{float(certificate.spent):.10g} is stated as spent, and {proved.epsilon:.10g} is proved"
        raise CertificateError(f"{said}, of {float(certificate.budget.epsilon):.10g}")
    if certificate.any_belief < own:
        raise CertificateError("against any belief less is stated than the epsilons of the questions add up to")
