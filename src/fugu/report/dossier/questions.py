"""Every question of a release of many statistics, with its noise; both promises; what is left."""

from __future__ import annotations

from fugu.documents.records import RecordsCertificate
from fugu.drawing import text
from fugu.drawing.html import Html, joined, tag
from fugu.report.dossier.dossier import Dossier
from fugu.report.kinds.records import public_numbers, questions_table
from fugu.report.shell import defined, section


def questions(dossier: Dossier) -> Html | None:
    """A section for a release that is charged to each record; none for any other."""
    found = [each for each in (dossier.certificates or {}).values() if isinstance(each, RecordsCertificate)]
    return joined([_of(certificate) for certificate in found]) if found else None


def _of(certificate: RecordsCertificate) -> Html:
    budget, spent, anybody = (float(x) for x in (certificate.budget.epsilon, certificate.spent, certificate.any_belief))
    whatever = (
        "Against observers with any other beliefs, under which records are still independent, all answers together "
        f"change the odds by a factor of at most {text.factor(anybody)} ({text.epsilon(anybody)}): the sum of what the "
        "questions cost by themselves."
    )
    return section(
        "questions-title",
        "Every question that was charged",
        questions_table(certificate),
        defined(
            ("Spent by all of them together", f"{text.number(spent, 'up', 6)} of {text.number(budget, 'up', 6)}"),
            ("Public numbers", public_numbers(certificate)),
            ("Left", text.number(budget - spent, "down", 6)),
            ("Whatever is believed", tag("span", whatever)),
        ),
    )
