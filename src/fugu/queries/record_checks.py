"""What must hold between the parts of a session's certificate, and what its proofs prove, summed anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import permutations
from typing import Any

from fugu.data.schema import Schema
from fugu.documents.document import canonical_json
from fugu.documents.records import RecordsCertificate, Type
from fugu.documents.sentences import APART, UNPROTECTED
from fugu.errors import CertificateError
from fugu.guarantee.asks import exact
from fugu.guarantee.curve import budget_json
from fugu.numbers.exact import read_number
from fugu.priors.records import ASSUMPTIONS, LEAST_ROWS, MOST_PUBLIC, parts_of
from fugu.queries.features import Coded, Feature, Gridded, Is, Placed, SquaredFeature
from fugu.queries.session_certificate import (
    OUTSIDE,
    exact_numbers,
    features_in,
    features_of,
    load_from,
    modelled,
    noised_in,
    own_of,
)
from fugu.queries.statistic import StatisticQuestion
from fugu.translation.records.checking import check
from fugu.translation.records.problem import Apart, RecordCharge, joined
from fugu.visible import brief, shortened

# What must hold between the parts of a session's certificate, worked out from its questions and their noise alone.
#
# Which features a question looks at follows from its words; what it charges, from its noise; which laws a record needs,
# from the groups it is in. Nothing that the document states of these is believed.


_FEATURES: dict[str, tuple[tuple[type[Feature], ...], ...]] = {
    **dict.fromkeys(("count", "proportion"), ((Is,),)),
    **dict.fromkeys(("sum", "mean"), ((Coded,),)),
    "variance": ((Coded, SquaredFeature),),
    **dict.fromkeys(("histogram", "crosstab", "top"), ((Placed,),)),
    "quantile": ((Gridded,), (Coded,)),
}
"""The functions of one record that each kind of question sums, counts or ranks."""


def check_written(certificate: RecordsCertificate) -> None:
    """CertificateError unless every part, read and written again, is what the document says, and the person is named by
    a column that is read."""
    features = {name: feature.to_json() for name, feature in features_in(certificate).items()}
    own = {
        "budget": budget_json(certificate.budget),
        "reading": Schema.from_json(certificate["reading"]).to_json(),
        "features": features,
        **{
            name: [one.to_json() for one in getattr(certificate, read)]
            for name, read in (("questions", "questions"), ("types", "types"), ("laws", "laws"), ("proofs", "steps"))
        },
    }
    for name, part in own.items():
        if canonical_json(certificate[name]) != canonical_json(part):
            raise CertificateError(f"the part {name!r} of the certificate is not as fugu writes it: it says more")
    known = certificate["reading"]["columns"]
    if certificate["unit"] is not None and known.get(certificate["unit"], {}).get("kind") != "identifier":
        raise CertificateError("the certificate names the person by a column that is not read as an identifier")


def check_questions(certificate: RecordsCertificate) -> None:
    """CertificateError unless every question looks at what its words say, each feature once, read by the schema."""
    schema = Schema.from_json(certificate["reading"])
    for asked in noised_in(certificate):
        if asked.kind == OUTSIDE:
            continue
        said, columns = StatisticQuestion.parse(asked.query), [feature.columns for feature in asked.features]
        kinds = tuple(type(feature) for feature in asked.features)
        if (said.kind, said.by) != (asked.kind, asked.by) or kinds not in _FEATURES[asked.kind]:
            raise CertificateError(f"the question {brief(asked.query)} is answered as if it were another")
        if any(found != said.columns for found in columns) or not set(said.columns) <= set(schema.fields):
            raise CertificateError(f"the question {brief(asked.query)} looks at other columns than it names")
        first = asked.features[0]
        if isinstance(first, Is) and schema.fields[first.column].label(said.equals) != first.label:
            raise CertificateError(f"the question {brief(asked.query)} counts another value than it names")
        if len({canonical_json(feature.told()) for feature in asked.features}) > 1:
            raise CertificateError(f"the question {brief(asked.query)} has features that do not belong together")


def on_their_word(certificate: RecordsCertificate) -> bool:
    """Whether an epsilon in it is somebody's word: of a mechanism from outside, or of another release of the ledger."""
    return certificate.elsewhere > 0 or any(asked.kind == OUTSIDE for asked in certificate.questions)


def check_charges(certificate: RecordsCertificate) -> None:
    """CertificateError unless every stated charge is the one that follows from the noise."""
    known = _modelled(certificate)
    for asked, stated in zip(noised_in(certificate), certificate.questions, strict=True):
        for group, listed in stated.charges.items():
            own = [charge.to_json() for charge in asked.charges(group, known)]
            if canonical_json(own) != canonical_json(listed):
                where = f" in group {brief(group)}" if group else ""
                raise CertificateError(f"what {brief(asked.query)} is charged{where} does not follow from its noise")


def check_types(certificate: RecordsCertificate) -> None:
    """CertificateError unless every record is in one group of each question, and every group has its records."""
    types = certificate.types
    every = set(types[0].groups) if types else set()
    if not types or any(set(kind.groups) != every for kind in types):
        raise CertificateError("the types of records in the certificate are not in the same questions' groups")
    if len({canonical_json(kind.groups) for kind in types}) < len(types):
        raise CertificateError("a type of records is stated twice")
    there = {by: {kind.groups[by] for kind in types} for by in every}
    for asked in certificate.questions:
        if asked.by is not None and not (asked.by in every and set(asked.rates) <= there[asked.by]):
            raise CertificateError(f"the question {brief(asked.query)} is by groups that no record is in")


def loads(certificate: RecordsCertificate) -> list[tuple[Type, tuple[RecordCharge, ...]]]:
    """What all questions together charge a record, for every type of records."""
    known, asked, rest = _modelled(certificate), noised_in(certificate), Apart(certificate.elsewhere)
    return [
        (kind, joined([*(c for one in asked for c in one.charges(one.group_of(kind.groups), known)), rest]))
        for kind in certificate.types
    ]


def needed(certificate: RecordsCertificate) -> Iterator[tuple[list[int], tuple[RecordCharge, ...]]]:
    """Laws of one adversary and the load they must be priced at, for every type of records that is not plain.

    There are adversaries who know any part of the groups of a record. Several laws of one
    adversary speak of different features; those that speak of all that is charged are listed."""
    places: dict[str, list[int]] = {}
    for k, law in enumerate(certificate.laws):
        for known in law.known:
            places.setdefault(canonical_json(known), []).append(k)
    seen = set()
    for kind, load in loads(certificate):
        read = set(features_of(load))
        if kind.plain or not read:
            continue
        if len(kind.groups) > MOST_PUBLIC:
            raise CertificateError(f"more than {MOST_PUBLIC} columns are public, and any part of them may be known")
        for known in map(dict, parts_of(list(kind.groups.items()))):
            listed = [k for k in places.get(canonical_json(known), ()) if read <= set(certificate.laws[k].states)]
            if not listed:
                who = ", ".join(f"{by}={group}"[:80] for by, group in kind.groups.items()) or "the table"
                raise CertificateError(f"{who} is not marked as plain, and a law of its records is missing")
            if (key := (tuple(listed), frozenset(load))) not in seen:
                seen.add(key)
                yield listed, load


def check_laws(certificate: RecordsCertificate) -> None:
    """CertificateError unless each law has every secret, enough rows of each, and states within range."""
    features, secrets = features_in(certificate), set(certificate["secrets"])
    if _protected(certificate["protect"]) & {by for kind in certificate.types for by in kind.groups}:
        raise CertificateError("the records are grouped by what the secret is worked out from, which makes it public")
    known, stated = modelled(features, certificate["columns"]), set[tuple[str, ...]]()
    for law in certificate.laws:
        if set(law.given) != secrets:
            raise CertificateError(f"the law of {shortened(law.who)} leaves out a secret")
        if any(int(counts.sum()) < LEAST_ROWS for counts in law.given.values()):
            raise CertificateError(f"the law of {shortened(law.who)} rests on fewer than {LEAST_ROWS} rows of a secret")
        if not set(law.states) <= known:
            raise CertificateError(f"the law of {shortened(law.who)} speaks of what the reference has no column for")
        own = {(canonical_json(groups), *sorted(law.states)) for groups in law.known}
        if own & stated or len(own) < len(law.known):
            raise CertificateError(f"the law of {shortened(law.who)} is stated twice")
        stated |= own
        for name, column in law.states.items():
            if int(column.min()) < 0 or int(column.max()) > features[name].top:
                raise CertificateError(f"the law of {shortened(law.who)} has a state beyond the range of its feature")


def _protected(protect: object) -> set[str]:
    """The columns that a specification of secrets names, where it names them outright."""
    if isinstance(protect, str):
        return {protect}
    if isinstance(protect, Mapping):
        return {str(name) for condition in protect.values() if isinstance(condition, Mapping) for name in condition}
    return {str(name) for name in protect} if isinstance(protect, list | tuple) else set()


def covers(priced: tuple[RecordCharge, ...], load: tuple[RecordCharge, ...]) -> bool:
    """Whether what was priced charges at least as much as a load, shape by shape: a proof of it serves both."""
    found = {charge.shape: charge.own for charge in priced}
    return all(charge.own <= found.get(charge.shape, Fraction(-1)) for charge in load)


def check_assumptions(certificate: RecordsCertificate) -> None:
    """CertificateError if an assumption is left out that the proof rests on."""
    left_out = [UNPROTECTED + ", ".join(certificate["skipped"])] if certificate["skipped"] else []
    left_out += [APART] if "publisher" in certificate.body else []  # versions before said less of the reference
    if missing := set(ASSUMPTIONS).union(left_out) - set(certificate["assumptions"]):
        raise CertificateError(f"the certificate leaves out assumptions that its proof needs: {brief(min(missing))}")


def check_second(certificate: RecordsCertificate) -> None:
    """CertificateError if more is stated against anybody than the cap allows, or unless the numbers that are called
    exact are those whose noise is 0 with probability above one half. Documents without a cap are from before 0.4: what
    they state is their second promise, and nothing was called exact."""
    if certificate.cap is not None and certificate.any_belief > certificate.cap:
        raise CertificateError("what is stated against anybody is above the cap")
    stated = tuple(certificate.body.get("warnings", ()))
    said = certificate.cap is not None or "publisher" in certificate.body or bool(stated)
    if said and stated != exact_numbers(noised_in(certificate)):
        raise CertificateError("the certificate calls other numbers exact than those whose noise is mostly 0")


def answers_recipe(recipe: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Whether a certificate charges the questions of a recipe, in any order; it may charge earlier ones of the same
    ledger too, and numbers of rows are public and in none."""
    wanted = Counter(
        str(asked["query"]) for asked in recipe["questions"] if StatisticQuestion.parse(asked["query"]).columns
    )
    found = Counter(str(asked["query"]) for asked in body["questions"])
    named = (recipe["protect"], recipe["unit"]) == (body["protect"], body["unit"])
    alone = wanted == found and body["elsewhere"] == "0" and "epsilon" in recipe
    if alone and read_number(body["spent"]) > read_number(recipe["epsilon"]):
        return False  # what was asked for is at least what all of it cost
    return wanted <= found and named and recipe["rows"] == sum(kind["rows"] for kind in body["types"])


def _modelled(certificate: RecordsCertificate) -> frozenset[str]:
    return modelled(features_in(certificate), certificate["columns"])


CHECKS = (
    ("writing", "every part, read and written again, is what the document says", check_written),
    ("questions", "features are those that the words name, read by a schema", check_questions),
    ("charges", "what each question is charged follows from its noise", check_charges),
    ("records", "every record is in one group of each question", check_types),
    ("laws", "every secret has its law, which rests on enough rows", check_laws),
    ("assumptions", "nothing that the proof rests on is left out", check_assumptions),
    ("against anybody", "within the cap; numbers with noise that is mostly 0 are called exact", check_second),
)
"""The name of a check, what is true if it passes, and the check: a CertificateError if it does not."""


# What the proofs in a session's certificate prove, summed anew: no figure that it states is used.


ZERO, _ROUNDING = Fraction(0), Fraction(1, 10**9)


def worst(certificate: RecordsCertificate) -> tuple[Fraction, str]:
    """The largest epsilon over types without laws, and over laws, loads and ordered pairs of secrets; whose it is."""
    each = loads(certificate)
    plain = (own_of(load) for kind, load in each if kind.plain or not features_of(load))
    found, pair = max(plain, default=ZERO), ""
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


def largest_own(certificate: RecordsCertificate) -> Fraction:
    """The largest sum of the questions' own epsilons over all types of records: what holds against any belief."""
    return max((own_of(load) for _, load in loads(certificate)), default=ZERO)
