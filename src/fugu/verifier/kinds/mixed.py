"""Mixtures: one of two mechanisms, by an independent coin that is not published.

Why the weaker guarantee of the halves holds: docs/proofs/renyi.md#11-a-coin-between-two-mechanisms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from fugu.documents.certificate import Certificate
from fugu.documents.plain_json import proving
from fugu.documents.pushed import halves_agree
from fugu.errors import CertificateError
from fugu.guarantee.weaker import join
from fugu.laws.pair import PairsLike
from fugu.numbers.exact import read_number
from fugu.verifier.kinds.laws import FIGURES, is_schema, not_below
from fugu.verifier.kinds.registry import Kind, judge, kind, parsed, said
from fugu.verifier.verdict import Checked, Outcome, Proved, checked


@final
@kind("mixed")
class Mixtures(Kind):
    """A mixture holds if both halves hold, for the laws of the whole, and neither budget is above the mixture's."""

    document = Certificate

    def prove(self, certificate: Certificate, laws: PairsLike | None) -> Proved:
        """The larger figures of the halves, each judged by itself."""
        verdicts = [judge(half, laws) for half in certificate.parts]
        worst = max(verdicts, key=lambda v: (v.epsilon, v.delta))
        holds = all(verdicts) and all(within(half, certificate) for half in certificate.parts)
        outcome: Outcome = "holds" if holds else "fails"
        reason = "both halves hold" if holds else "a half does not hold, or is not within the budget of the mixture"
        epsilon, delta = max(v.epsilon for v in verdicts), max(v.delta for v in verdicts)
        return Proved(epsilon, delta, worst.worst_pair, outcome, reason)

    def check(self, certificate: Certificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:
        """That the halves belong together, and what every certificate with laws is asked."""
        yield from parsed(certificate)
        yield checked("coin", "it is a probability", lambda: is_share(certificate))
        yield checked("one problem", "both halves are for the laws of the mixture", lambda: belong(certificate))
        yield checked("reading", "records are read by a schema that can be read back", lambda: is_schema(certificate))
        yield checked("stated figures", FIGURES, lambda: not_below(certificate, proved, other_laws))
        yield from said(certificate, proved, other_laws)


def is_share(certificate: Certificate) -> None:
    """CertificateError if the coin is none."""
    if not 0 <= read_number(certificate.body["share"]) <= 1:
        raise CertificateError("the share of the first half is not a probability")


def belong(certificate: Certificate) -> None:
    """CertificateError unless each half is proved for the laws that the mixture states."""
    first, second = certificate.parts
    same = first.body["beliefs"] == second.body["beliefs"] == certificate.body["beliefs"]
    with proving():
        same = same and all(halves_agree(certificate, part) for part in (first, second))
    if not same:
        raise CertificateError("the halves do not belong together: they are not for the laws of the mixture")


def within(half: Certificate, whole: Certificate) -> bool:
    """Whether the budget of a half is at most that of the whole, number by number."""
    joined = join(half.budget, whole.budget)
    return joined is not None and joined == whole.budget
