"""`QuestionPlan`, `NoisedQuestion`: a question with its features and its noise, and what it charges a record.

| kind | noise | charge for a record that changes from x to x' |
|---|---|---|
| count, proportion, sum, mean | lattice Laplace of rate r on the sum of f | r abs(f(x) - f(x')) |
| variance | the same on the sum of f and on that of g = (f - c)^2 | r abs(f - f') + r' abs(g - g') |
| histogram, crosstab, top | lattice Laplace of rate r on every cell's count | 2 r where the cells differ |
| quantile, top of one | permute-and-flip at rate r on ranks or counts | 2 r where the cells differ |
| outside | whatever is private with epsilon r for each record, from outside | r where the columns differ |

One record that changes moves one count down and one up, so the 2 of histograms is no choice. Neither is that of
selections: a move across the quantile changes one utility by +1 and another by -1. Proofs:
docs/proofs/metric-charges.md#charges and docs/proofs/metric-charges.md#sessions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

from fugu.data import Schema, Table
from fugu.errors import CertificateError, ColumnNotFound
from fugu.guarantee.composition import called_exact
from fugu.numbers.exact import read_number
from fugu.queries.features import Feature, feature_from
from fugu.queries.kinds import FLIP, KINDS, LAPLACE, OUTSIDE, Options, StatisticKind
from fugu.queries.statistic import StatisticQuestion
from fugu.translation.records.problem import Apart, Jump, Rate, RecordCharge
from fugu.visible import Json

EXACT: Final = 0.5
"""A number whose noise is 0 with a larger probability is called exact."""
EVEN: Final = Fraction("1.09861228866")
"""A rate just below ln 3: lattice Laplace noise of rate r is 0 with probability tanh(r / 2), at ln 3 one half."""


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
        if self.kind not in KINDS or self.law not in self.facts.laws:
            raise CertificateError("a question has a kind and a noise that fugu does not know together")
        wanted = {len(listed) for listed in self.facts.features}  # of a mechanism from outside any number
        fits = not wanted or len(self.features) in wanted
        rates = len(self.features) if self.facts.summed else 1
        if not fits or not self.features or any(len(listed) != rates for listed in self.rates.values()):
            raise CertificateError("a question does not have the features and rates of its kind")
        if any(rate <= 0 for found in self.rates.values() for rate in found):
            raise CertificateError("a rate of noise is positive")
        if (self.by is None) != (set(self.rates) == {""}):
            raise CertificateError("a question without groups has one set of rates, and one with groups names them")

    @property
    def facts(self) -> StatisticKind:
        """The facts of its kind."""
        return KINDS[self.kind]

    @cached_property
    def at(self) -> Fraction | None:
        """The number that its words name."""
        return StatisticQuestion.parse(self.query).at

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

    def each_charge(self, modelled: Collection[str]) -> dict[str, list[Json]]:
        """The same of every group, in JSON types."""
        return {group: [charge.to_json() for charge in self.charges(group, modelled)] for group in self.rates}

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

    def stated(self, charges: Mapping[str, object]) -> Json:
        """As a certificate states it: its features by name, and what it charges in each group."""
        return {**self.to_json(), "features": [feature.name for feature in self.features], "charges": dict(charges)}

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
    if KINDS[kind].summed:
        return tuple(Rate(f.name, rate, f.top) for f, rate in zip(features, rates, strict=True))
    return (Jump(tuple(f.name for f in features), rates[0] * (1 if kind == OUTSIDE else 2)),)


def own_of(charges: Iterable[RecordCharge]) -> Fraction:
    """The sum of the epsilons of charges, whatever is believed."""
    return sum((charge.own for charge in charges), Fraction(0))


def features_of(charges: Iterable[RecordCharge]) -> list[str]:
    """The features that charges read, by name."""
    found: set[str] = set()
    for charge in charges:
        found |= {charge.feature} if isinstance(charge, Rate) else set(getattr(charge, "features", ()))
    return sorted(found)


def modelled(features: Mapping[str, Feature], columns: Iterable[str]) -> frozenset[str]:
    """The features that laws speak of: the reference has all their columns."""
    there = set(columns)
    return frozenset(name for name, feature in features.items() if set(feature.columns) <= there)


def exact_numbers(questions: Iterable[NoisedQuestion]) -> tuple[str, ...]:
    """A sentence for each question whose noise is 0 with probability above one half: its numbers are called exact."""
    return tuple(f"{asked.query}: {called_exact(asked.exact)}" for asked in questions if asked.exact > EXACT)


def question_told(asked: NoisedQuestion, since: bool = True) -> Json:
    """One question: what is drawn, with the range of its scales over groups, and its own epsilon."""
    scales = [1 / float(rates[0]) for rates in asked.rates.values()]
    low, high = min(scales), max(scales)
    size = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    words = "a mechanism that fugu does not draw, on the word of whoever charged it"
    if asked.law == LAPLACE:
        steps = " in steps of the values" if asked.facts.numbers else ""
        words = f"Laplace noise of scale {size}{steps} on {asked.facts.noised}"
    elif asked.law == FLIP:
        words = f"a choice by counts blurred at a scale of {size} records"
    said = {"exact": asked.exact} if since and asked.exact > EXACT else {}
    words += f" ({called_exact(asked.exact)})" if said else ""
    return {"query": asked.query, "words": words, "groups": len(asked.rates), "own": str(asked.most), **said}


@final
@dataclass(frozen=True)
class QuestionPlan:
    """A question with its features, its noise, and the share of its epsilon that each noise has."""

    question: StatisticQuestion
    features: tuple[Feature, ...]
    law: str
    shares: tuple[Fraction, ...]

    def rates(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The rate of each noise at which the question's own epsilon is this one."""
        if self.question.facts.summed:
            return tuple(epsilon * share / f.top for f, share in zip(self.features, self.shares, strict=True))
        return (epsilon / 2,)

    @property
    def noisy(self) -> Fraction | None:
        """The largest epsilon of its own at which no noise is 0 with probability above one half; None for choices."""
        return None if self.law == FLIP else EVEN / max(self.rates(Fraction(1)))

    def charges(self, epsilon: Fraction, modelled: Collection[str]) -> tuple[RecordCharge, ...]:
        """What it costs at this epsilon of its own."""
        return charges_of(self.question.kind, self.features, self.rates(epsilon), modelled) if epsilon else ()

    def noised(self, epsilons: Mapping[str, Fraction]) -> NoisedQuestion:
        """The question with the noise that follows from its own epsilon in each group."""
        asked = self.question
        rates = {group: self.rates(epsilon) for group, epsilon in epsilons.items()}
        return NoisedQuestion(str(asked), asked.kind, asked.by, self.features, self.law, rates)


def plan_of(question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> QuestionPlan:
    """How the question is answered; `UsageError` or `BadTable` if it makes no sense for these columns.

    `reading`: how records are read. `reference`: the public table, read. `options`: what the question says besides."""
    for column in question.columns:
        if column not in reading.fields:
            raise ColumnNotFound(column, tuple(reading.fields))
    return QuestionPlan(question, *question.facts.plan(question, reading, reference, options))
