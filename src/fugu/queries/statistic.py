"""`StatisticQuestion`: what is asked of a table, such as "mean(chol) by ward"; `QuestionPlan`, `NoisedQuestion`: the
same with its features and its noise, and what it charges a record.

| kind | noise | charge for a record that changes from x to x' |
|---|---|---|
| count, proportion, sum, mean | lattice Laplace of rate r on the sum of f | r abs(f(x) - f(x')) |
| variance | the same on the sum of f and on that of g = (f - c)^2 | r abs(f - f') + r' abs(g - g') |
| histogram, crosstab, top | lattice Laplace of rate r on every cell's count | 2 r where the cells differ |
| quantile, top of one | permute-and-flip at rate r on ranks or counts | 2 r where the cells differ |
| outside | whatever is private with epsilon r for each record, from outside | r where the columns differ |

One record that changes moves one count down and one up, so the 2 of histograms is not a choice. Neither is that of
selections: a move across the quantile changes one utility by +1 and another by -1. Proofs:
docs/proofs/metric-charges.md#charges and docs/proofs/metric-charges.md#sessions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final, final

import numpy as np

from fugu.data import Schema, Table
from fugu.data.secrets import column_and_value, kind_and_inside
from fugu.errors import CertificateError, ColumnNotFound, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import called_exact
from fugu.noise.bits import BitSource
from fugu.noise.laplace import laplace_sampler
from fugu.noise.selection import draw_one, permute_and_flip
from fugu.numbers.exact import read_number
from fugu.queries.features import Codes, Feature, feature_from
from fugu.queries.kinds import FLIP, KINDS, LAPLACE, OUTSIDE, Cell, Options, StatisticKind
from fugu.translation.records.problem import Apart, Jump, Rate, RecordCharge
from fugu.visible import Json, several

TOTALS = ("count", "sum", "mean", "histogram", "crosstab")
"""What the law of a total is worked out for; a session answers the others too."""
_LOOKS = "a query looks like mean(chol), count(smoker=yes) or crosstab(ward, sex)"
_MEDIAN = "median"
GRAMMAR = 2
"""The version of the grammar of lists of questions: in 2 a "by" at the end of a list is for all of it; in 1, that of
fugu 0.3, for its last question alone. What says no version has 1."""
_BY = re.compile(r"(?P<what>.*[^\s])\s+by\s+(?P<by>.+)", re.IGNORECASE | re.DOTALL)
_QUESTIONS = (
    "a question looks like count, mean(chol), proportion(smoker=yes), quantile(age, 0.9) or top(ward, 3) by site; "
    'there is no "where", but "by" answers for each group'
)


@dataclass(frozen=True)
class StatisticQuestion:
    """What is asked of a table: a kind, its columns, a value or a number, and the public column that makes the groups.

    `kind`: "count", "proportion", "sum", "mean", "variance", "histogram", "crosstab", "quantile" or "top"; a median is
    the quantile at 1/2. `equals`: the value that a counted column must have. `at`: which quantile, or how many of the
    top. `by`: the column whose groups are answered one by one.

    >>> StatisticQuestion.parse("quantile(age, 0.9) by ward")
    StatisticQuestion(kind='quantile', columns=('age',), equals=None, at=Fraction(9, 10), by='ward')
    >>> str(StatisticQuestion.parse("median( age )")), str(StatisticQuestion.parse("count by ward"))
    ('quantile(age, 1/2)', 'count by ward')
    """

    kind: str
    columns: tuple[str, ...] = ()
    equals: str | None = None
    at: Fraction | None = None
    by: str | None = None

    @staticmethod
    def parse(text: str) -> StatisticQuestion:
        """Read kind(column), count(column=value), quantile(column, q) or top(column, k), with or without " by column".

        `text`: the question; "count" alone asks for the number of rows, which is public."""
        what, by = what_and_by(text)
        if what.strip().lower() in ("count", "count()"):
            return StatisticQuestion("count", by=by)
        asked = [name for name in KINDS if name != OUTSIDE]
        kind, inside = kind_and_inside(what, [*asked, _MEDIAN], "question", _QUESTIONS)
        known = KINDS[kind if kind != _MEDIAN else "quantile"]
        if not known.columns:
            if (found := column_and_value(inside)) is None or found[0].endswith(("<", ">", "!")):
                raise UsageError(
                    f"a {kind} needs a column and one value, such as {kind}(smoker=yes); for ranges of a number ask a "
                    "histogram with bins"
                )
            return StatisticQuestion(kind, found[:1], found[1], by=by)
        parts = tuple(part.strip() for part in inside.split(",") if part.strip())
        numbered = bool(known.number) and kind != _MEDIAN
        if len(parts) != known.columns + numbered:
            wanted = f"a column and {known.number}" if numbered else several(known.columns, "column")
            raise UsageError(f"{kind} takes {wanted}, got {len(parts)}")
        if kind == _MEDIAN:
            return StatisticQuestion(known.name, parts, at=Fraction(1, 2), by=by)
        at = None
        with suppress(UsageError):
            at = read_number(parts[-1]) if numbered else None
        if numbered and (at is None or not known.allows(at)):
            raise UsageError(f"{kind} takes a column and {known.number}, got {parts[-1]!r}")
        return StatisticQuestion(kind, parts[: known.columns], at=at, by=by)

    @property
    def sized(self) -> bool:
        """Whether it asks for numbers of rows, which are public."""
        return not self.columns

    @staticmethod
    def of_total(text: str) -> StatisticQuestion:
        """Read a question of which the law of its total is worked out: one of `TOTALS`, without groups."""
        kind, inside = kind_and_inside(text, TOTALS, "query", _LOOKS)
        if kind == "count" and column_and_value(inside) is None:
            raise UsageError("a count needs a condition, such as count(smoker=yes); the number of rows is public")
        return StatisticQuestion.parse(text)

    @property
    def facts(self) -> StatisticKind:
        """The facts of its kind."""
        return KINDS[self.kind]

    def __str__(self) -> str:
        if self.equals is not None:
            inside = f"{self.columns[0]}={self.equals}"
        else:
            inside = ", ".join((*self.columns, *(() if self.at is None else (str(self.at),))))
        told = self.kind if self.sized else f"{self.kind}({inside})"
        return told if self.by is None else f"{told} by {self.by}"


def split(text: str) -> list[str]:
    """The questions of a line, each with the "by" that is meant for it.

    >>> split("count, crosstab(ward, sex), mean(chol) by ward; mean(age)")
    ['count by ward', 'crosstab(ward, sex) by ward', 'mean(chol) by ward', 'mean(age)']
    """
    questions: list[str] = []
    for part in cut(text, ";"):
        items = cut(part, ",")
        by = what_and_by(items[-1])[1]
        questions += [item if by is None or what_and_by(item)[1] is not None else f"{item} by {by}" for item in items]
    return questions


def cut(text: str, at: str) -> list[str]:
    """The parts between marks that stand outside of brackets, of which none is empty."""
    parts, depth = [""], 0
    for mark in text:
        depth += (mark == "(") - (mark == ")")
        parts += [""] if mark == at and depth <= 0 else [parts.pop() + mark]
    if not all(parts := [part.strip() for part in parts]):
        raise UsageError(
            f"there is an empty question between two {'commas' if at == ',' else 'semicolons'}, or at an end"
        )
    return parts


def what_and_by(text: object) -> tuple[str, str | None]:
    """The question and the column after the last " by " that stands outside the brackets.

    >>> what_and_by("mean(chol) by ward"), what_and_by("count(x=a by b)")
    (('mean(chol)', 'ward'), ('count(x=a by b)', None))
    """
    if not isinstance(text, str):
        raise UsageError(f"{_QUESTIONS}, got {text!r}")
    found = _BY.fullmatch(text.strip())
    if found is None or ")" in found["by"] or not (found["what"].endswith(")") or found["what"].lower() == "count"):
        return text, None
    return found["what"], found["by"].strip()


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

    @property
    def single(self) -> bool:
        """Whether the number is a sum over records, or a mean: the law of one record says what to expect of it."""
        return self.facts.summed and len(self.features) == 1

    def unit(self, rows: int) -> float:
        """What one step of the noise is in the published number of a group of so many rows."""
        return self.facts.unit(self, rows)

    def error(self, group: str, rows: int) -> float:
        """E|noise| = 1 / sinh(rate) steps for Laplace noise on whole numbers; of choices, the scale in ranks."""
        rates = self.rates[group]
        return 1 / float(rates[0]) if self.law == FLIP else self.unit(rows) / math.sinh(min(float(rates[-1]), 700.0))

    def blurred(self, numbers: Codes, names: Sequence[str], source: BitSource) -> list[list[int]]:
        """The numbers of each group with its noise, or the place that was chosen by them: see `fugu.queries.answer`."""
        rates = [self.rates[name] for name in names]
        if self.law == FLIP:
            each = zip(numbers, rates, strict=True)
            return [[permute_and_flip(self.facts.utilities(self, row), rate[0], source)] for row, rate in each]
        parts = [1] * len(self.features) if self.facts.summed else [numbers.shape[1]]
        noise = [_noise([rate[k] for rate in rates], size, source) for k, size in enumerate(parts)]
        noised: list[list[int]] = (numbers + np.concatenate(noise, axis=1)).tolist()
        return noised

    def cells(self, group: str, drawn: Sequence[int], rows: int) -> list[Cell]:
        """What goes out of a group: post-processing of what was drawn, and of its public size."""
        return self.facts.cells(self, group, drawn, rows)

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


_OFTEN = 200
"""Fewer draws of one rate than this are drawn without tables, if there are many rates."""


def _noise(rates: Sequence[Fraction], size: int, source: BitSource) -> Codes:
    """`size` draws of each rate. A rate that is drawn often, or one of few, is worth a table."""
    found = np.zeros((len(rates), size), dtype=np.int64)
    rows: dict[Fraction, list[int]] = {}
    for k, rate in enumerate(rates):
        rows.setdefault(rate, []).append(k)
    for rate, places in rows.items():
        draws = len(places) * size
        if draws >= _OFTEN or len(rows) <= 4:
            found[places] = laplace_sampler(rate).draw(draws, source).reshape(len(places), size)
        else:
            found[places] = np.reshape([draw_one(rate, source) for _ in range(draws)], (len(places), size))
    return found


def charges_of(
    kind: str, features: tuple[Feature, ...], rates: tuple[Fraction, ...], modelled: Collection[str]
) -> tuple[RecordCharge, ...]:
    """What noise charges for each change of a record, by the table at the head of this file; features that no law
    speaks of cost their epsilon on top."""
    found: tuple[RecordCharge, ...] = (Jump(tuple(f.name for f in features), rates[0] * (1 if kind == OUTSIDE else 2)),)
    if KINDS[kind].summed:
        found = tuple(Rate(f.name, rate, f.top) for f, rate in zip(features, rates, strict=True))
    return found if all(feature.name in modelled for feature in features) else (Apart(own_of(found)),)


def own_of(charges: Iterable[RecordCharge]) -> Fraction:
    """The sum of the epsilons of charges, whatever is believed."""
    return sum((charge.own for charge in charges), Fraction(0))


def features_of(charges: Iterable[RecordCharge]) -> list[str]:
    """The features that charges read, by name."""
    return sorted({name for charge in charges for name in charge.reads})


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

    @property
    def key(self) -> tuple[str, ...]:
        """By which plans of one list are put into one order, whichever way they were asked."""
        return str(self.question), *(feature.name for feature in self.features)

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


Charged = Sequence[tuple[Guarantee, str | None, int]]


@lru_cache(maxsize=1024)
def questions_in(reads: str | None) -> tuple[NoisedQuestion, ...]:
    """The questions that a charge pays for; none if it says nothing, or nothing that fugu wrote."""
    if reads is None:
        return ()
    try:
        return tuple(NoisedQuestion.from_json(told) for told in json.loads(reads)["questions"])
    except (CertificateError, ValueError, KeyError, TypeError):
        return ()


def public_in(reads: str | None) -> list[str]:
    """The columns whose groups a charge made public."""
    try:
        return [str(name) for name in json.loads(reads or "{}").get("public", ())]
    except (ValueError, AttributeError, TypeError):
        return []
