"""Certificates that embed laws and a noise: one number, vectors, normal vectors, and analyses that are never drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, final

from fugu.auditing.given import laws_given, vectors_given
from fugu.auditing.kinds.registry import Kind, kind, parsed
from fugu.auditing.verdict import Checked, NotChecked, Outcome, Proved, checked
from fugu.calibration.covariance.calibrate import normal_pairs
from fugu.calibration.covariance.prove import prove_normal
from fugu.calibration.proof import Proof
from fugu.calibration.prove import prove
from fugu.calibration.renyi.analysis import prove_cauchy
from fugu.calibration.renyi.target import Target
from fugu.calibration.vectors.prove import prove_vectors
from fugu.data.schema import Schema
from fugu.errors import BadNoise, CertificateError
from fugu.guarantee import Renyi, RenyiCurve
from fugu.laws.pair import PairsLike, as_pairs
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.plain_json import proving, reading
from fugu.numbers.exact import read_number


class LawBased(Kind):
    """What all certificates with laws have in common: prove the noise on the laws, compare with the budget."""

    document = Certificate

    @abstractmethod
    def given(self, laws: PairsLike, certificate: Certificate) -> Any:
        """The laws given, as the certified mechanism sees them; BadNoise if they do not fit it."""

    @abstractmethod
    def proof(self, laws: Any, certificate: Certificate) -> Proof:
        """The loss of the certified noise on laws, bounded in ball arithmetic and compared with the budget exactly."""

    def prove(self, certificate: Certificate, laws: PairsLike | None) -> Proved:
        """On the certificate's own laws, or on those given, pushed through the certificate's rounding first."""
        try:
            with proving():
                found = certificate.laws if laws is None else self.given(laws, certificate)
                proof = self.proof(found, certificate)
        except BadNoise as error:
            return Proved.nothing(f"these laws do not fit the certificate's lattice: {error}")
        words = "the proved loss is within the budget" if proof.holds else "the proved loss is above the budget"
        outcome: Outcome = "holds" if proof.holds else "fails"
        return Proved(proof.epsilon, proof.delta, proof.worst_pair, outcome, f"{words} {certificate.budget!r}")

    def check(self, certificate: Certificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:
        """What `Certificate.parse` has run, then what was not looked at before: the reading and the stated figures."""
        yield from parsed(certificate)
        yield checked("reading", "records are read by a schema that can be read back", lambda: is_schema(certificate))
        says = "what is stated as proved is not below what is proved now"
        yield checked("stated figures", says, lambda: not_below(certificate, proved, other_laws))


@final
@kind("additive")
class OneNumber(LawBased):
    """Noise on a lattice, added to one number or to each row of a column."""

    def given(self, laws: PairsLike, certificate: Certificate) -> Any:
        return laws_given(laws, certificate)

    def proof(self, laws: Any, certificate: Certificate) -> Proof:
        return prove(laws, certificate.noise, certificate.budget)


@final
@kind("vector")
class Vectors(LawBased):
    """Independent lattice noise on every coordinate."""

    def given(self, laws: PairsLike, certificate: Certificate) -> Any:
        return vectors_given(laws, certificate)

    def proof(self, laws: Any, certificate: Certificate) -> Proof:
        return prove_vectors(laws, certificate.noise, certificate.budget)


@final
@kind("correlated")
class NormalVectors(LawBased):
    """Correlated noise on normal laws of vectors, in the Gaussian model."""

    def given(self, laws: PairsLike, certificate: Certificate) -> Any:
        found = normal_pairs(as_pairs(laws))
        if any(pair.p.dimension != certificate.body["dimension"] for pair in found):
            raise BadNoise("these are laws of vectors of another dimension")
        return found

    def proof(self, laws: Any, certificate: Certificate) -> Proof:
        return prove_normal(laws, certificate.correlated, certificate.budget)


@final
@kind("analysis")
class OnPaper(LawBased):
    """The divergence of noise that is never drawn, in real arithmetic."""

    def given(self, laws: PairsLike, certificate: Certificate) -> Any:
        return laws_given(laws, certificate)

    def prove(self, certificate: Certificate, laws: PairsLike | None) -> Proved:
        if not isinstance(certificate.budget, Renyi | RenyiCurve):
            return Proved.nothing("Cauchy noise is analysed for Renyi budgets only")
        return super().prove(certificate, laws)

    def proof(self, laws: Any, certificate: Certificate) -> Proof:
        return prove_cauchy(laws, certificate.analysed, Target.of(certificate.budget))  # type: ignore[arg-type]


def is_schema(certificate: Certificate) -> None:
    """CertificateError if the reading is not a schema; there is none where laws were given directly."""
    if (stated := certificate.body.get("reading")) is None:
        raise NotChecked("no schema is stated: the laws were given directly, or the statistics worked out before")
    with reading():
        Schema.from_json(stated)


def not_below(certificate: Certificate, proved: Proved, other_laws: bool) -> None:
    """CertificateError if a stated figure is smaller than what is proved now: a loss that nobody has proved."""
    if other_laws:
        raise NotChecked("the figures are about the certificate's own laws, and others were given")
    for name, now in (("epsilon", proved.epsilon), ("delta", proved.delta)):
        with reading():
            stated = read_number(certificate.body["proved"][name])
        if now == float("inf") or stated < read_number(now):
            raise CertificateError(f"the certificate states {name} {float(stated):.10g}, and proved is {now:.10g}")
