"""What the proofs in a session's certificate prove, summed anew: no figure that it states is used."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

from fugu.documents.records import RecordsCertificate, Type
from fugu.errors import CertificateError
from fugu.guarantee.numbers import exact
from fugu.queries.record_checks import charged, covers, loads, needed
from fugu.queries.session_certificate import load_from
from fugu.translation.records.charges import RecordCharge
from fugu.translation.records.checking import check
from fugu.visible import brief, shortened

ZERO, _ROUNDING = Fraction(0), Fraction(1, 10**9)
Load = tuple[RecordCharge, ...]


def worst(certificate: RecordsCertificate) -> tuple[Fraction, str]:
    """The largest epsilon over types without laws, and over laws, loads and ordered pairs of secrets; whose it is."""
    found, pair = max((own_of(load) for kind, load in loads(certificate) if _plain(kind, load)), default=ZERO), ""
    priced = [load_from(load) for load in certificate["loads"]]
    proofs: dict[tuple[int, str, str], list[int]] = {}
    for place, step in enumerate(certificate.steps):
        proofs.setdefault((step.law, *step.pair), []).append(place)
    known: dict[int, Fraction] = {}
    for listed, load in needed(certificate):
        for s, t in permutations(certificate["secrets"], 2):
            steps = [(k, certificate.steps[k]) for law in listed for k in proofs.get((law, s, t), ())]
            fitting = [(k, step) for k, step in steps if covers(priced[step.load], load)]
            for k, step in fitting:
                if k not in known:
                    law = certificate.laws[step.law]
                    known[k] = exact(check(law.states, law.given[s], law.given[t], priced[step.load], step.proof))
            who = certificate.laws[listed[0]].who
            if not fitting:
                raise CertificateError(f"there is no proof of {brief(s)} against {brief(t)} for {shortened(who)}")
            best = min(known[k] for k, _ in fitting)
            found, pair = max((found, pair), (min(best, own_of(load)), f"{s} vs {t}, {who}"))
    for k, step in enumerate(certificate.steps):
        if k in known and exact(step.epsilon) < known[k] * (1 - _ROUNDING):
            raise CertificateError(f"a proof states less than it proves of {step.pair[0][:80]!r}")
    return found, pair


def _plain(kind: Type, load: Load) -> bool:
    return kind.plain or not charged(load)


def own_of(load: Load) -> Fraction:
    """The sum of the epsilons of charges, whatever is believed."""
    return sum((charge.own for charge in load), ZERO)
