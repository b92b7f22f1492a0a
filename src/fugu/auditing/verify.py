"""`verify`: prove a certificate again, from its own laws or from yours, using no number it states."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.raw import through_bins
from fugu.calibration.proof import Proof
from fugu.calibration.prove import prove
from fugu.errors import BadNoise, UsageError
from fugu.guarantee import Approx, Pure, Renyi, RenyiCurve
from fugu.laws.items import Item, items
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.vectors import VectorFamily, distinct, vector_families
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.plain_json import proving
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.pushed import halves_agree, pushed
from fugu.mechanism.vector import nearest_rows
from fugu.numbers.exact import as_fraction, read_number


@dataclass(frozen=True)
class Verdict:
    """Whether the guarantee holds, and the proved upper bounds behind it."""

    holds: bool
    epsilon: float
    delta: float
    worst_pair: str
    reason: str

    def __bool__(self) -> bool:
        return self.holds


def verify(
    mechanism_or_certificate: Mechanism | Certificate | str | os.PathLike[str],
    scenario_or_pairs: PairsLike | None = None,
) -> Verdict:
    """Bound the loss of the certified noise in ball arithmetic, on the certificate's laws or on the laws given.

    With laws given, they are first pushed through the certificate's rounding, as the data is. Nothing stored in the
    certificate is believed but the noise, the lattice and the budget: what it says it runs and what it promises."""
    certificate = _certificate(mechanism_or_certificate)
    with proving():
        return _proved(certificate, scenario_or_pairs)


def _proved(certificate: Certificate, scenario_or_pairs: PairsLike | None) -> Verdict:
    """The verdict, by the kind of the certificate."""
    if certificate.kind == "mixed":
        return _verify_mixed(certificate, scenario_or_pairs)
    if certificate.kind == "vector":
        return _verify_vectors(certificate, scenario_or_pairs)
    if certificate.kind == "correlated":
        return _verify_normal(certificate, scenario_or_pairs)
    if certificate.kind == "analysis":
        return _verify_analysis(certificate, scenario_or_pairs)
    budget = certificate.budget
    laws = certificate.items
    if scenario_or_pairs is not None:
        try:
            laws = _laws(scenario_or_pairs, certificate)
        except BadNoise as error:
            return Verdict(False, float("inf"), 1.0, "", f"these laws do not fit the certificate's lattice: {error}")
    return _verdict(prove(laws, certificate.noise, budget), budget)


def _verify_normal(certificate: Certificate, scenario_or_pairs: PairsLike | None) -> Verdict:
    """Correlated noise on normal laws of vectors, in the Gaussian model."""
    from fugu.calibration.covariance.calibrate import normal_pairs
    from fugu.calibration.covariance.prove import prove_normal

    laws = certificate.normal_pairs if scenario_or_pairs is None else normal_pairs(as_pairs(scenario_or_pairs))
    if any(pair.p.dimension != certificate.body["dimension"] for pair in laws):
        return Verdict(False, float("inf"), 1.0, "", "these are laws of vectors of another dimension")
    return _verdict(prove_normal(laws, certificate.correlated, certificate.budget), certificate.budget)


def _verify_analysis(certificate: Certificate, scenario_or_pairs: PairsLike | None) -> Verdict:
    """The divergence of noise that is never drawn, in real arithmetic."""
    from fugu.calibration.renyi.analysis import prove_cauchy
    from fugu.calibration.renyi.target import Target

    budget, laws = certificate.budget, certificate.items
    if not isinstance(budget, Renyi | RenyiCurve):
        return Verdict(False, float("inf"), 1.0, "", "Cauchy noise is analysed for Renyi budgets only")
    if scenario_or_pairs is not None:
        try:
            laws = _laws(scenario_or_pairs, certificate)
        except BadNoise as error:
            return Verdict(False, float("inf"), 1.0, "", f"these laws do not fit the certificate's lattice: {error}")
    return _verdict(prove_cauchy(laws, certificate.analysed, Target.of(budget)), budget)


def _verify_vectors(certificate: Certificate, scenario_or_pairs: PairsLike | None) -> Verdict:
    """The same for published vectors."""
    from fugu.calibration.vectors.prove import prove_vectors

    laws = certificate.vectors
    if scenario_or_pairs is not None:
        try:
            laws = _vectors(scenario_or_pairs, certificate)
        except BadNoise as error:
            return Verdict(False, float("inf"), 1.0, "", f"these laws do not fit the certificate's lattice: {error}")
    return _verdict(prove_vectors(laws, certificate.noise, certificate.budget), certificate.budget)


def _vectors(scenario_or_pairs: PairsLike, certificate: Certificate) -> tuple[VectorFamily, ...]:
    """The laws given, each vector moved to the nearest supported one and rounded, as a release does."""
    given, lattice = vector_families(as_pairs(scenario_or_pairs)), certificate.lattice
    stated = certificate.body.get("support")
    if any(family.dimension != certificate.body["dimension"] for family in given):
        raise BadNoise("they are laws of vectors of another dimension")
    if stated is not None:
        if any(family.translates for family in given):
            raise BadNoise("it moves every vector to its own atoms, and these laws have none")
        support = np.array(stated, dtype=np.float64)
        given = tuple(_moved_rows(family, support) for family in given)
    assert lattice is not None
    return tuple(family.on(lattice) for family in given)


def _moved_rows(family: VectorFamily, support: NDArray[np.float64]) -> VectorFamily:
    points, where = distinct(nearest_rows(support, family.points))
    return replace(family, points=points, laws=tuple(law.scatter(where, len(points)) for law in family.laws))


def _certificate(source: Mechanism | Certificate | str | os.PathLike[str]) -> Certificate:
    if isinstance(source, Mechanism):
        return Certificate.parse(source.certificate.body)
    if isinstance(source, Certificate):
        return Certificate.parse(source.body)
    if isinstance(source, str | os.PathLike):
        return Certificate.load(source)
    raise UsageError(f"expected a mechanism, a certificate or its file, got {type(source).__name__}")


def _laws(scenario_or_pairs: PairsLike, certificate: Certificate) -> tuple[Item, ...]:
    """The laws given, pushed through what a release does to a value: into its bin if there are bins, to the nearest
    supported one, onto the lattice."""
    return pushed(through_bins(items(as_pairs(scenario_or_pairs)), certificate), certificate)


def _verdict(proof: Proof, budget: object) -> Verdict:
    kept = "the proved loss is within the budget" if proof.holds else "the proved loss is above the budget"
    return Verdict(proof.holds, proof.epsilon, proof.delta, proof.worst_pair, f"{kept} {budget!r}")


def _verify_mixed(certificate: Certificate, scenario_or_pairs: PairsLike | None) -> Verdict:
    """A mixture holds if both halves hold, for the laws of the whole, and neither budget is above the mixture's."""
    first, second = certificate.parts
    verdicts = [verify(part, scenario_or_pairs) for part in (first, second)]
    same = first.body["beliefs"] == second.body["beliefs"] == certificate.body["beliefs"]
    same = same and all(halves_agree(certificate, part) for part in (first, second))
    share = read_number(certificate.body["share"])
    within = all(_bounded(part, certificate) for part in (first, second)) and 0 <= share <= 1
    worst = max(verdicts, key=lambda v: (v.epsilon, v.delta))
    holds = all(verdicts) and same and within
    reason = "both halves hold" if holds else "a half does not hold, or the halves do not belong together"
    return Verdict(holds, max(v.epsilon for v in verdicts), max(v.delta for v in verdicts), worst.worst_pair, reason)


def _bounded(part: Certificate, whole: Certificate) -> bool:
    """Mixing is proved for Pure and Approx alone, each half within the whole's epsilon and delta."""
    a, b = part.budget, whole.budget
    if not isinstance(a, Pure | Approx) or not isinstance(b, Pure | Approx):
        return False
    delta_a = a.delta if isinstance(a, Approx) else 0
    delta_b = b.delta if isinstance(b, Approx) else 0
    return as_fraction(a.epsilon) <= as_fraction(b.epsilon) and as_fraction(delta_a) <= as_fraction(delta_b)
