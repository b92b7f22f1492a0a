"""The certificate of a session: written from what is public about it, and read back into its questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fugu.documents.document import canonical_json
from fugu.documents.records import Law, Question, RecordsCertificate, Step, Type
from fugu.documents.sentences import APART
from fugu.errors import CertificateError
from fugu.guarantee.promises import called_exact
from fugu.queries.features import Feature, feature_from
from fugu.queries.noised import EXACT, Noised
from fugu.queries.session_state import SessionState
from fugu.translation.records.charges import RecordCharge, charge_from, joined
from fugu.visible import Json


def certificate_of(state: SessionState) -> RecordsCertificate:
    """What a session promises, sealed: `state` is everything public about it at this moment."""
    features = {feature.name: feature for asked in state.questions for feature in asked.features}
    known = modelled(features, state.columns)
    loads: dict[str, int] = {}
    priced: list[list[Json]] = []
    steps = []
    for proof in state.proofs:
        listed = [charge.to_json() for charge in proof.charges]
        if (key := canonical_json(listed)) not in loads:
            loads[key] = len(priced)
            priced.append(listed)
        steps.append(Step(proof.law, loads[key], proof.pair, proof.epsilon, proof.proof))
    return RecordsCertificate.issue(
        budget=state.budget, cap=state.cap, spent=state.spent.epsilon, any_belief=state.any_belief,
        elsewhere=state.apart, protect=state.protect, secrets=state.secrets, skipped=state.skipped, unit=state.unit,
        reading=state.reading.to_json(), columns=state.columns,
        features={name: feature.to_json() for name, feature in features.items()},
        questions=[_question(asked, known) for asked in state.questions],
        types=[Type(found.groups, found.rows, found.plain) for found in state.types], loads=priced,
        laws=[Law(law.known, law.states, law.given) for law in state.laws], proofs=steps,
        assumptions=(*state.assumptions, APART), warnings=exact_numbers(state.questions),
    )  # fmt: skip


def exact_numbers(questions: Iterable[Noised]) -> tuple[str, ...]:
    """A sentence for each question whose noise is 0 with probability above one half: its numbers are called exact."""
    return tuple(f"{asked.query}: {called_exact(asked.exact)}" for asked in questions if asked.exact > EXACT)


def modelled(features: Mapping[str, Feature], columns: Iterable[str]) -> frozenset[str]:
    """The features that laws speak of: the reference has all their columns."""
    there = set(columns)
    return frozenset(name for name, feature in features.items() if set(feature.columns) <= there)


def _question(asked: Noised, known: frozenset[str]) -> Question:
    charges = {group: [charge.to_json() for charge in asked.charges(group, known)] for group in asked.rates}
    names = tuple(feature.name for feature in asked.features)
    return Question(asked.query, asked.kind, asked.by, names, asked.law, asked.rates, charges)


def features_in(certificate: RecordsCertificate) -> dict[str, Feature]:
    """The features of the document, each under the one name that it has."""
    found = {name: feature_from(told) for name, told in certificate["features"].items()}
    if any(feature.name != name for name, feature in found.items()):
        raise CertificateError("a feature of the certificate has the name of another: its coding does not match")
    return found


def noised_in(certificate: RecordsCertificate) -> tuple[Noised, ...]:
    """The questions of the document, each with its features and noise; CertificateError where they do not fit."""
    known = features_in(certificate)
    return tuple(
        Noised(asked.query, asked.kind, asked.by, tuple(known[name] for name in asked.features), asked.law, asked.rates)
        for asked in certificate.questions
    )


def load_from(stated: Iterable[object]) -> tuple[RecordCharge, ...]:
    """Charges of a document, numbers of the same shape added."""
    return joined([charge_from(charge) for charge in stated])
