"""The certificate of a session: its questions with their noise, all that is public at one moment, written and read."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Final, final

from fugu.data import Schema
from fugu.data.secrets import OF_NUMBERS, rules
from fugu.documents.document import canonical_json
from fugu.documents.records import ChargedQuestion, ProofStep, RecordsCertificate, StatedLaw, Type
from fugu.documents.sentences import APART, RECORDS, Told
from fugu.errors import CertificateError
from fugu.guarantee import Pure
from fugu.guarantee.composition import both, called_exact
from fugu.numbers.exact import float_up, read_number
from fugu.queries.features import Feature, feature_from
from fugu.translation.records.problem import Apart, Jump, Rate, RecordCharge, charge_from, joined
from fugu.visible import Json

# The certificate of a session: written from what is public about it, and read back into its questions.


def certificate_of(state: SessionState) -> RecordsCertificate:
    """What a session promises, sealed: `state` is everything public about it at this moment."""
    features = {feature.name: feature for asked in state.questions for feature in asked.features}
    known, questions = modelled(features, state.columns), []
    for asked in state.questions:
        charges = {group: [charge.to_json() for charge in asked.charges(group, known)] for group in asked.rates}
        names = tuple(feature.name for feature in asked.features)
        questions.append(ChargedQuestion(asked.query, asked.kind, asked.by, names, asked.law, asked.rates, charges))
    loads: dict[str, int] = {}
    priced: list[list[Json]] = []
    steps = []
    for law, pair, charged, epsilon, proof in state.proofs:
        listed = [charge.to_json() for charge in charged]
        if (key := canonical_json(listed)) not in loads:
            loads[key] = len(priced)
            priced.append(listed)
        steps.append(ProofStep(law, loads[key], pair, epsilon, proof))
    return RecordsCertificate.issue(
        budget=state.budget, cap=state.cap, spent=state.spent.epsilon, any_belief=state.any_belief,
        elsewhere=state.apart, protect=state.protect, secrets=state.secrets, skipped=state.skipped, unit=state.unit,
        reading=state.reading.to_json(), columns=state.columns,
        features={name: feature.to_json() for name, feature in features.items()},
        questions=questions,
        types=state.types, loads=priced, laws=state.laws, proofs=steps,
        assumptions=(*state.assumptions, APART), warnings=exact_numbers(state.questions),
    )  # fmt: skip


def exact_numbers(questions: Iterable[NoisedQuestion]) -> tuple[str, ...]:
    """A sentence for each question whose noise is 0 with probability above one half: its numbers are called exact."""
    return tuple(f"{asked.query}: {called_exact(asked.exact)}" for asked in questions if asked.exact > EXACT)


def modelled(features: Mapping[str, Feature], columns: Iterable[str]) -> frozenset[str]:
    """The features that laws speak of: the reference has all their columns."""
    there = set(columns)
    return frozenset(name for name, feature in features.items() if set(feature.columns) <= there)


def features_in(certificate: RecordsCertificate) -> dict[str, Feature]:
    """The features of the document, each under the one name that it has."""
    found = {name: feature_from(told) for name, told in certificate["features"].items()}
    if any(feature.name != name for name, feature in found.items()):
        raise CertificateError("a feature of the certificate has the name of another: its coding does not match")
    return found


def noised_in(certificate: RecordsCertificate) -> tuple[NoisedQuestion, ...]:
    """The questions of the document, each with its features and noise; CertificateError where they do not fit."""
    known = features_in(certificate)
    return tuple(
        NoisedQuestion(
            asked.query, asked.kind, asked.by, tuple(known[name] for name in asked.features), asked.law, asked.rates
        )
        for asked in certificate.questions
    )


def own_of(charges: Iterable[RecordCharge]) -> Fraction:
    """The sum of the epsilons of charges, whatever is believed."""
    return sum((charge.own for charge in charges), Fraction(0))


def features_of(charges: Iterable[RecordCharge]) -> list[str]:
    """The features that charges read, by name."""
    found: set[str] = set()
    for charge in charges:
        found |= {charge.feature} if isinstance(charge, Rate) else set(getattr(charge, "features", ()))
    return sorted(found)


def load_from(stated: Iterable[object]) -> tuple[RecordCharge, ...]:
    """Charges of a document, numbers of the same shape added."""
    return joined([charge_from(charge) for charge in stated])


# `SessionState`: everything public about a session at one moment, from which its certificate is written.
#
# A record has a *type*: its groups of all columns that questions were asked by. For a record of type z = {by: group}
# there are several adversaries: one for each part of z that may be known, from nothing (the law of the whole reference)
# to all of it. Each `StatedLaw` is the law of one or more of these. A type is *plain* where the reference is too
# thin for one of its laws: its charges are then worth the sum of their epsilons, whatever is believed.
#
# What has to hold: every type z that is not plain has a law for each of its adversaries (every part of z), and for each
# of these laws and every two secrets, in both orders, there is a `ProvedPair` whose charges are at least those of z,
# and whose epsilon is at most `spent`; for every plain type the sum of its epsilons is at most `spent`; `spent` is at
# most the budget.


Pair = tuple[str, str]
ProvedPair = tuple[int, Pair, tuple[RecordCharge, ...], float, Json]
"""What all charges together are worth for one law and one ordered pair of secrets: the law's place in
`SessionState.laws`; (s, t), the loss is log P(answers | s) / P(answers | t); the charges that were priced, at least
those of every type it is used for; the epsilon and the proof that `price` returned."""


@final
@dataclass(frozen=True, eq=False)
class SessionState:
    """A session so far: what it may spend, what it believes, what it was asked, and the proofs.

    `protect`: the specification in JSON types, None if a function is part of it. `secrets`: their names; `skipped`:
    those without a row in the reference, of which nothing is promised. `reading`: how records are read. `unit`: the
    column that names the person. `columns`: those that the reference has; the others cost their epsilon. `rows`: of the
    private table, public. `any_belief`: the largest sum of epsilons over all types, the second promise, at most `cap`,
    None where none was set. `apart`: the epsilons of other releases in the ledger, of which nothing more is known; they
    are part of every charge."""

    budget: Pure
    cap: Fraction | None
    spent: Pure
    any_belief: Fraction
    protect: object
    secrets: tuple[str, ...]
    skipped: tuple[str, ...]
    reading: Schema
    unit: str | None
    columns: tuple[str, ...]
    rows: int
    types: tuple[Type, ...]
    questions: tuple[NoisedQuestion, ...]
    laws: tuple[StatedLaw, ...]
    proofs: tuple[ProvedPair, ...]
    assumptions: tuple[str, ...]
    apart: Fraction = Fraction(0)

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that questions were asked by, in the order of their first use."""
        return tuple(dict.fromkeys(q.by for q in self.questions if q.by is not None))


# `Noised`: one question with its features and its noise, and the charges that follow from them.
#
# | kind | noise | charge for a record that changes from x to x' |
# |---|---|---|
# | count, proportion, sum, mean | lattice Laplace of rate r on the sum of f | r abs(f(x) - f(x')) |
# | variance | the same on the sum of f and on that of g = (f - c)^2 | r abs(f - f') + r' abs(g - g') |
# | histogram, crosstab, top | lattice Laplace of rate r on every cell's count | 2 r where the cells differ |
# | quantile, top of one | permute-and-flip at rate r on ranks or counts | 2 r where the cells differ |
# | outside | whatever is private with epsilon r for each record, from outside | r where the columns differ |
#
# One record that changes moves one count down and one up, so the 2 of histograms is no choice. Neither is that of
# selections: a move across the quantile changes one utility by +1 and another by -1. Proofs:
# docs/proofs/metric-charges.md#charges and docs/proofs/metric-charges.md#sessions.


LAPLACE: Final = "lattice-laplace"
FLIP: Final = "permute-and-flip"
OUTSIDE: Final = "outside"
LINES: Final = ("count", "proportion", "sum", "mean", "variance")
TABLES: Final = ("histogram", "crosstab", "top", "quantile")
KINDS: Final = (*LINES, *TABLES, OUTSIDE)
EXACT: Final = 0.5
"""A number whose noise is 0 with a larger probability is called exact."""
EVEN: Final = Fraction("1.09861228866")
"""A rate just below ln 3: lattice Laplace noise of rate r is 0 with probability tanh(r / 2), at ln 3 one half."""
_LAWS = {**dict.fromkeys(LINES, (LAPLACE,)), "histogram": (LAPLACE,), "crosstab": (LAPLACE,)} | {
    "top": (LAPLACE, FLIP),
    "quantile": (FLIP,),
    OUTSIDE: (OUTSIDE,),
}


@final
@dataclass(frozen=True)
class NoisedQuestion:
    """A question as it is charged. All of it is public.

    `query`: the question as text. `kind`: one of `KINDS`. `by`: the public column of its groups, or None. `features`:
    what is summed or counted. `law`: the noise. `rates`: for each group ("" without groups) the rate of each noise; a
    group that is not listed is not answered and is charged nothing."""

    query: str
    kind: str
    by: str | None
    features: tuple[Feature, ...]
    law: str
    rates: Mapping[str, tuple[Fraction, ...]]

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.law not in _LAWS[self.kind]:
            raise CertificateError("a question has a kind and a noise that fugu does not know together")
        wanted = 2 if self.kind == "variance" else 1
        several = self.kind != OUTSIDE and len(self.features) != wanted
        if several or not self.features or any(len(found) != wanted for found in self.rates.values()):
            raise CertificateError("a question does not have the features and rates of its kind")
        if any(rate <= 0 for found in self.rates.values() for rate in found):
            raise CertificateError("a rate of noise is positive")
        if (self.by is None) != (set(self.rates) == {""}):
            raise CertificateError("a question without groups has one set of rates, and one with groups names them")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.query, self.by, self.features, tuple(self.rates.items())))

    def charges(self, group: str, modelled: Collection[str]) -> tuple[RecordCharge, ...]:
        """What a record of this group is charged; features that no law speaks of cost their epsilon on top.

        `group`: the record's group of `by`, "" without groups. `modelled`: the names of features that laws speak of."""
        if group not in self.rates:
            return ()
        return charges_of(self.kind, self.features, self.rates[group], modelled)

    def group_of(self, groups: Mapping[str, str]) -> str:
        """The group of a record in these groups, {by column: group}; "" without groups."""
        return "" if self.by is None else groups[self.by]

    def own(self, group: str) -> Fraction:
        """The plain per-record epsilon in this group."""
        return own_of(self.charges(group, ()))

    @cached_property
    def most(self) -> Fraction:
        """The largest per-record epsilon of all groups."""
        groups = {rates: group for group, rates in self.rates.items()}  # one of each set of rates
        return max(map(self.own, groups.values()), default=Fraction(0))

    @cached_property
    def exact(self) -> float:
        """The largest probability, over groups and noises, that a number goes out without noise: tanh(rate / 2).

        0 for choices, which add no noise: whether the best one is chosen depends on the private table."""
        most = max((rate for rates in self.rates.values() for rate in rates), default=Fraction(0))
        return math.tanh(float(most) / 2) if self.law == LAPLACE else 0.0

    def to_json(self) -> Json:
        """The question in JSON types, as ledgers and certificates hold it."""
        return {
            "query": self.query,
            "kind": self.kind,
            "by": self.by,
            "features": [feature.to_json() for feature in self.features],
            "law": self.law,
            "rates": {group: [str(rate) for rate in rates] for group, rates in self.rates.items()},
        }

    @staticmethod
    def from_json(told: object) -> NoisedQuestion:
        """The question that `to_json` wrote as `told`; `CertificateError` for anything else."""
        try:
            found: Mapping[str, Any] = told  # type: ignore[assignment]
            rates = {str(g): tuple(read_number(str(rate)) for rate in rates) for g, rates in found["rates"].items()}
            features = tuple(map(feature_from, found["features"]))
            by = None if found["by"] is None else str(found["by"])
            return NoisedQuestion(str(found["query"]), found["kind"], by, features, found["law"], rates)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CertificateError("a question of a session cannot be read") from error


def charges_of(
    kind: str, features: tuple[Feature, ...], rates: tuple[Fraction, ...], modelled: Collection[str]
) -> tuple[RecordCharge, ...]:
    """The charges that follow from the noise; features that no law speaks of cost their epsilon on top."""
    found = metric_charges(kind, features, rates)
    return found if all(feature.name in modelled for feature in features) else (Apart(own_of(found)),)


def metric_charges(kind: str, features: tuple[Feature, ...], rates: tuple[Fraction, ...]) -> tuple[RecordCharge, ...]:
    """What noise charges for each change of a record: see the table at the head of this part."""
    if kind in LINES:
        return tuple(Rate(f.name, rate, f.top) for f, rate in zip(features, rates, strict=True))
    return (Jump(tuple(f.name for f in features), rates[0] * (1 if kind == OUTSIDE else 2)),)


# A session in words: what is drawn for each question, and both promises.


_PROOF = "docs/proofs/metric-charges.md"


def told_of_records(certificate: RecordsCertificate) -> Told:
    """One mechanism for all questions: their charges are added first and translated once."""
    asked = noised_in(certificate)
    since = "publisher" in certificate.body  # before 0.4 nothing was called exact, and the promises in other words
    questions = [question_told(found, since) for found in asked]
    any_belief = float_up(certificate.any_belief)
    worst = f"spent {both(certificate.spent, certificate.any_belief)}"
    if not since:
        spent = float_up(certificate.spent)
        worst = f"spent {spent:.6g} of the budget; at most {any_belief:.6g} against any belief about one record"
    each = [(found.kind, name) for found in asked for feature in found.features for name in feature.columns]
    counted = {name for kind, name in each if kind not in OF_NUMBERS}
    summary, more = "no noise: numbers of rows are public", len(questions) - 1
    if questions:
        rest = f"; and {more} more question{'' if more == 1 else 's'}, listed below" if more else ""
        summary = f"{questions[0]['query']}: {questions[0]['words']}{rest}"
    listed = ", ".join(found.query for found in asked) or "public numbers of rows"
    return Told(
        budget=certificate["budget"], unit="one record", secrets=tuple(certificate["secrets"]),
        pairs=tuple(f"{s} vs {t}" for s, t in combinations(certificate["secrets"], 2)),
        method=f"{len(asked)} question{'' if len(asked) == 1 else 's'}, charged to each record and translated together",
        theorem="charges of independent records add as distances, and any plan between two laws bounds their worth",
        proof=_PROOF,
        noise={"kind": RECORDS, "questions": questions, "words": summary},
        figures={"epsilon": certificate["spent"], "delta": 0.0, "any belief": any_belief},
        worst_pair=worst,
        assumptions=tuple(certificate["assumptions"]), reading=certificate["reading"], about={"query": listed},
        rules=rules(Schema.from_json(certificate["reading"]), dict.fromkeys(name for _, name in each), counted),
    )  # fmt: skip


def question_told(asked: NoisedQuestion, since: bool = True) -> Json:
    """One question: what is drawn, with the range of its scales over groups, and its own epsilon."""
    scales = [1 / float(rates[0]) for rates in asked.rates.values()]
    low, high = min(scales), max(scales)
    size = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    words = "a mechanism that fugu does not draw, on the word of whoever charged it"
    if asked.law == LAPLACE:
        whole = dict.fromkeys(("histogram", "crosstab", "top"), "every count")
        whole |= dict.fromkeys(("count", "proportion"), "the count")
        sums = {"variance": "a sum and a sum of squares, the first"}.get(asked.kind, "the sum")
        steps = "" if asked.kind in whole else " in steps of the values"
        words = f"Laplace noise of scale {size}{steps} on {whole.get(asked.kind, sums)}"
    elif asked.law == FLIP:
        words = f"a choice by counts blurred at a scale of {size} records"
    said = {"exact": asked.exact} if since and asked.exact > EXACT else {}
    words += f" ({called_exact(asked.exact)})" if said else ""
    return {"query": asked.query, "words": words, "groups": len(asked.rates), "own": str(asked.most), **said}
