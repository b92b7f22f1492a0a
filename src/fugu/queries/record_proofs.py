"""What a session says of records: their public types, the laws that are believed of them, and the proofs about these.

A record has a *type*: its groups of all columns that questions were asked by. For a record of type z = {by: group}
there are several adversaries: one for each part of z that may be known, from nothing (the law of the whole reference)
to all of it. Each `StatedLaw` is the law of one or more of these. A type is *plain* where the reference is too thin for
one of its laws: its charges are then worth the sum of their epsilons, whatever is believed.

What has to hold: every type z that is not plain has a law for each of its adversaries (every part of z), and for each
of these laws and every two secrets, in both orders, there is a proof whose charges are at least those of z, and whose
epsilon is at most what is spent; for every plain type the sum of its epsilons is at most that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.documents import reading as of
from fugu.documents.document import canonical_json
from fugu.errors import CertificateError
from fugu.guarantee.asks import exact
from fugu.priors.records import LEAST_ROWS, MOST_PUBLIC, parts_of
from fugu.queries.features import Codes, Feature
from fugu.queries.statistic import features_of, own_of
from fugu.translation.records.bounds import check
from fugu.translation.records.problem import RecordCharge
from fugu.visible import Json, brief, shortened

Pair = tuple[str, str]
Known = tuple[tuple[str, str], ...]
"""Groups that an adversary knows: (by column, group), in the order of the columns' first use."""
Load = tuple[RecordCharge, ...]
ProvedPair = tuple[int, Pair, Load, float, Json]
"""What all charges together are worth for one law and one ordered pair of secrets: the law's place among all; (s, t),
the loss is log P(answers | s) / P(answers | t); the charges that were priced, at least those of every type it is used
for; the epsilon and the proof that `price` returned."""
_ROUNDING = Fraction(1, 10**9)
_QUESTION = of.parts(
    {
        "query": of.text, "kind": of.text, "by": of.maybe(of.text), "features": of.TEXTS, "law": of.text,
        "rates": of.named(of.each(of.exact)), "charges": of.named(of.each(of.thing)),
    }
)  # fmt: skip
_TYPE = of.parts({"groups": of.named(of.text), "rows": of.whole, "plain": of.truth})
_LAW = of.parts({"known": of.each(of.named(of.text)), "states": of.named(of.wholes), "given": of.named(of.wholes)})
_STEP = of.parts(
    {"law": of.whole, "load": of.whole, "pair": of.each(of.text, 2, 2), "epsilon": of.exact, "proof": of.thing}
)
RECORDS = of.listed(
    of.SEALED,
    proof={
        "budget": of.GUARANTEE, "cap": of.exact, "protect": of.maybe(of.either(of.text, of.items, of.thing)),
        "secrets": of.TEXTS, "skipped": of.TEXTS, "reading": of.SCHEMA, "features": of.named(of.thing),
        "questions": of.each(_QUESTION), "types": of.each(_TYPE, 200_000), "loads": of.each(of.each(of.thing)),
        "laws": of.each(_LAW, 200_000), "proofs": of.each(_STEP, 1_000_000),
    },
    derived={
        "warnings": of.TEXTS, "spent": of.exact, "any belief": of.exact, "unit": of.maybe(of.text),
        "assumptions": of.TEXTS,
    },
    publisher={"elsewhere": of.exact, "columns": of.TEXTS},
    inside={"proofs": {"*/epsilon": of.DERIVED}},
)  # fmt: skip


@dataclass(frozen=True)
class Type:
    """Records in the same groups of all questions: how many there are, and whether no belief is used of them."""

    groups: Mapping[str, str]
    rows: int
    plain: bool

    def to_json(self) -> Json:
        """In JSON types."""
        return {"groups": dict(self.groups), "rows": self.rows, "plain": self.plain}

    @staticmethod
    def read(stated: Any) -> Type:
        """What a document says, if there are such records."""
        if stated["rows"] < 1:
            raise CertificateError("a type of records in the certificate has no rows")
        return Type(**stated)


@dataclass(frozen=True, eq=False)
class StatedLaw:
    """Whole-number counts of one record's features given each secret, for whoever knows these groups of it.

    `known`: for which adversaries it is the law, each {by column: group}; {} is the law of the whole reference.
    `states`: of each feature its value at each state; `given`: of each secret the count of each state."""

    known: tuple[Mapping[str, str], ...]
    states: Mapping[str, NDArray[np.int64]]
    given: Mapping[str, NDArray[np.int64]]

    def to_json(self) -> Json:
        """In JSON types."""
        states = {name: np.asarray(column).tolist() for name, column in self.states.items()}
        given = {secret: np.asarray(counts).tolist() for secret, counts in self.given.items()}
        return {"known": [dict(groups) for groups in self.known], "states": states, "given": given}

    @property
    def size(self) -> int:
        """How many states it has."""
        return len(next(iter(self.given.values())))

    @property
    def who(self) -> str:
        """Whose law it is, in words."""
        first = ", ".join(f"{by} {group!r}" for by, group in self.known[0].items())
        more = f" and {len(self.known) - 1} more" if len(self.known) > 1 else ""
        return f"somebody who knows {first or 'no group'}{more}"

    @staticmethod
    def read(stated: Any) -> StatedLaw:
        """What a document says: arrays of one length, no count below 0, every law with some mass."""
        states, given = (
            {name: np.array(column, dtype=np.int64) for name, column in stated[part].items()}
            for part in ("states", "given")
        )
        lengths = {len(array) for array in (*states.values(), *given.values())}
        if len(lengths) != 1 or lengths == {0} or not stated["known"]:
            raise CertificateError("a law of the certificate does not have one count for each state and secret")
        if any(int(counts.min()) < 0 or int(counts.sum()) <= 0 for counts in given.values()):
            raise CertificateError("a law of the certificate has a negative count, or no mass")
        return StatedLaw(tuple(stated["known"]), states, given)


@dataclass(frozen=True)
class ProofStep:
    """The proof of one order of one pair of secrets, under one law and for one load of charges; `epsilon` is what it
    was found to prove, and is not believed."""

    law: int
    load: int
    pair: Pair
    epsilon: float
    proof: Json

    def to_json(self) -> Json:
        """In JSON types."""
        return {**vars(self), "pair": list(self.pair)}


def largest_proved(
    secrets: Sequence[str], charged: Sequence[tuple[Type, Load]], laws: Sequence[StatedLaw],
    steps: Sequence[ProofStep], loads: Sequence[Load],
) -> tuple[Fraction, str]:  # fmt: skip
    """The largest epsilon over types without laws, and over laws, loads and ordered pairs of secrets; whose it is.

    Every plan is summed anew, and no figure that a step states is used. `charged`: what a record of each type is
    charged; `loads`: the charges that steps are about. CertificateError where a law or a proof is missing."""
    own = (own_of(load) for kind, load in charged if kind.plain or not features_of(load))
    most, pair = max(own, default=Fraction(0)), ""
    places: dict[tuple[int, str, str], list[int]] = {}
    for place, step in enumerate(steps):
        places.setdefault((step.law, *step.pair), []).append(place)
    proved: dict[int, Fraction] = {}
    for listed, load in _needed(charged, laws):
        who = laws[listed[0]].who
        for s, t in permutations(secrets, 2):
            fitting = [k for law in listed for k in places.get((law, s, t), ()) if covers(loads[steps[k].load], load)]
            if not fitting:
                raise CertificateError(f"there is no proof of {brief(s)} against {brief(t)} for {shortened(who)}")
            for k in fitting:
                if k not in proved:
                    law, priced = laws[steps[k].law], loads[steps[k].load]
                    proved[k] = exact(check(law.states, law.given[s], law.given[t], priced, steps[k].proof))
            best = min(proved[k] for k in fitting)
            most, pair = max((most, pair), (min(best, own_of(load)), f"{s} vs {t}, {who}"))
    for k, epsilon in proved.items():
        if exact(steps[k].epsilon) < epsilon * (1 - _ROUNDING):
            raise CertificateError(f"a proof states less than it proves of {steps[k].pair[0][:80]!r}")
    return most, pair


def _needed(charged: Sequence[tuple[Type, Load]], laws: Sequence[StatedLaw]) -> Iterator[tuple[list[int], Load]]:
    """Laws of one adversary and the load they must be priced at, for every type of records that is not plain.

    There are adversaries who know any part of the groups of a record. Several laws of one adversary speak of different
    features; those that speak of all that is charged are listed."""
    places: dict[str, list[int]] = {}
    for k, law in enumerate(laws):
        for known in law.known:
            places.setdefault(canonical_json(known), []).append(k)
    seen = set()
    for kind, load in charged:
        read = set(features_of(load))
        if kind.plain or not read:
            continue
        if len(kind.groups) > MOST_PUBLIC:
            raise CertificateError(f"more than {MOST_PUBLIC} columns are public, and any part of them may be known")
        for known in map(dict, parts_of(list(kind.groups.items()))):
            listed = [k for k in places.get(canonical_json(known), ()) if read <= set(laws[k].states)]
            if not listed:
                who = ", ".join(f"{by}={group}"[:80] for by, group in kind.groups.items()) or "the table"
                raise CertificateError(f"{who} is not marked as plain, and a law of its records is missing")
            if (key := (tuple(listed), frozenset(load))) not in seen:
                seen.add(key)
                yield listed, load


def covers(priced: Load, load: Load) -> bool:
    """Whether what was priced charges at least as much as a load, shape by shape: a proof of it serves both."""
    own = {charge.shape: charge.own for charge in priced}
    return all(charge.own <= own.get(charge.shape, Fraction(-1)) for charge in load)


# The law of a record's features given each secret, for every adversary about every type of record.
#
# All of it comes from the reference. A record's groups are public: who knows them believes the law given them. Where
# some secret has fewer than `LEAST_ROWS` rows of the reference, in a group or in all of it, there is no law: nothing is
# believed there.


@final
@dataclass(frozen=True, eq=False)
class TypeLaws:
    """The reference, read; laws are worked out when they are asked for and kept.

    `reading`, `table`: the reference as read. `masks`: the rows of each secret, none of them empty. `groups`: for each
    column asked by, each reference row's group, "" where it has none; a column that the reference lacks is not there.
    """

    reading: Schema
    table: Table
    masks: Mapping[str, NDArray[np.bool_]]
    groups: Mapping[str, NDArray[np.object_]]
    _features: dict[str, Codes] = field(default_factory=dict)
    _joint: dict[tuple[str, ...], tuple[Codes, Codes]] = field(default_factory=dict)
    _rows: dict[tuple[str, ...], dict[tuple[str, ...], Codes]] = field(default_factory=dict)
    _laws: dict[tuple[Known, tuple[str, ...]], StatedLaw | None] = field(default_factory=dict)
    _same: dict[bytes, StatedLaw] = field(default_factory=dict)

    def sorts_by(self, groups: Mapping[str, NDArray[np.object_]]) -> bool:
        """Whether these groups of the reference's rows are its own, row by row."""
        same = (np.array_equal(rows, groups[column]) for column, rows in self.groups.items() if column in groups)
        return self.groups.keys() == groups.keys() and all(same)

    def models(self, feature: Feature) -> bool:
        """Whether the reference has the columns that the feature looks at."""
        return all(column in self.table.columns for column in feature.columns)

    def law(self, known: Known, features: Sequence[Feature]) -> StatedLaw | None:
        """The law of these features given each secret and these groups; None where the reference is too thin, or
        cannot tell the groups.

        Two adversaries who believe the same law share one object, so that it is priced once."""
        by_name = {feature.name: feature for feature in features}
        names = tuple(sorted(by_name))
        if (known, names) in self._laws:
            return self._laws[known, names]
        if names not in self._joint:  # a number for each row, the same where all features agree; a row of each number
            codes = np.zeros(len(self.table), dtype=np.int64)
            for name in names:
                if name not in self._features:
                    self._features[name] = by_name[name].of(self.reading, self.table)
                _, one = np.unique(self._features[name], return_inverse=True)
                _, codes = np.unique(codes * (int(one.max(initial=0)) + 1) + one.reshape(-1), return_inverse=True)
                codes = codes.reshape(-1).astype(np.int64)
            self._joint[names] = codes, np.unique(codes, return_index=True)[1].astype(np.int64)
        codes, first = self._joint[names]
        columns, rows = tuple(column for column, _ in known), np.arange(len(self.table))
        if any(column not in self.groups for column in columns):
            self._laws[known, names] = None
            return None
        if known:
            if columns not in self._rows:
                found: dict[tuple[str, ...], list[int]] = {}
                for row, groups in enumerate(zip(*(self.groups[name].tolist() for name in columns), strict=True)):
                    found.setdefault(groups, []).append(row)
                self._rows[columns] = {groups: np.array(each, dtype=np.int64) for groups, each in found.items()}
            rows = self._rows[columns].get(tuple(group for _, group in known), rows[:0])
        present, places = np.unique(codes[rows], return_inverse=True)
        given = {}
        for secret, mask in self.masks.items():
            counts = np.bincount(places.reshape(-1)[mask[rows]], minlength=len(present)).astype(np.int64)
            if int(counts.sum()) < LEAST_ROWS:
                self._laws[known, names] = None
                return None
            given[secret] = counts
        states = {name: self._features[name][first[present]] for name in names}
        mark = b"".join(a.tobytes() + b"|" for a in (*states.values(), *given.values())) + repr(names).encode()
        self._laws[known, names] = self._same.setdefault(mark, StatedLaw((dict(known),), states, given))
        return self._laws[known, names]
