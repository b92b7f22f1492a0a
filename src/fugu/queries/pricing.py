"""What all questions of a session are worth together, over types of records, adversaries and pairs; laws of the
types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.errors import CertificateError
from fugu.numbers.exact import as_fraction
from fugu.priors.records import LEAST_ROWS, parts_of
from fugu.queries.features import Codes, Feature
from fugu.queries.noised_question import NoisedQuestion, features_of, own_of
from fugu.queries.record_proofs import Pair, ProvedPair, StatedLaw, Type
from fugu.translation.records.checking import check
from fugu.translation.records.pricer import Pricer, RecordPrice
from fugu.translation.records.problem import Apart, Rate, RecordCharge, joined

# What all questions of a session are worth together: the largest loss over types of records, adversaries and pairs.
#
# For a record of type z the charges of all questions add to Lam_z. For each adversary about z, each two secrets and
# both orders, `price` proves T(p, q; Lam_z), and the session is worth the maximum: transcript by transcript, so
# questions may depend on earlier answers. A type whose laws are not all known costs the sum of epsilons. Proofs:
# docs/proofs/metric-charges.md#sessions.
#
# T rises with the charges, so types are priced at the largest charges among them: where one type is charged no less
# than another by every question, its price covers both.


Charges = tuple[RecordCharge, ...]
Shape = tuple[object, ...]
Job = tuple[StatedLaw, Charges]
"""One law and one set of charges to be priced on it, for all types that these cover."""
_FRONT = 64
"""More different charges on one law than this are first priced all at once, at the largest of each."""


@final
@dataclass(frozen=True)
class Types:
    """The record types of a private table: the columns `by`, each type's groups in that order, and its rows."""

    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    rows: tuple[int, ...]

    def known(self, groups: tuple[str, ...]) -> list[Known]:
        """What the adversaries about this type know: any part of its groups."""
        return parts_of(tuple(zip(self.by, groups, strict=True)))


@final
@dataclass(frozen=True, eq=False)
class Worth:
    """What the questions are worth: `spent` (proved), and the sum of epsilons against any belief."""

    spent: Fraction
    any_belief: Fraction
    types: tuple[Type, ...]
    jobs: tuple[Job, ...]


@final
@dataclass(frozen=True, eq=False)
class Pricing:
    """Prices charges on the laws of one reference, and keeps what it has proved."""

    laws: TypeLaws
    _proved: dict[tuple[int, Pair, Charges], RecordPrice] = field(default_factory=dict)
    _kept: dict[int, StatedLaw] = field(default_factory=dict)
    _pricers: dict[tuple[int, Pair], Pricer] = field(default_factory=dict)
    _last: dict[tuple[int, Pair], dict[tuple[str, ...], RecordPrice]] = field(default_factory=dict)

    def worth(self, questions: Sequence[NoisedQuestion], types: Types, apart: Fraction = Fraction(0)) -> Worth:
        """What these questions are worth together.

        `questions`: all of them, in any order. `types`: the record types for at least the columns they are asked by.
        `apart`: epsilons of releases of which nothing is known but that they are private for each record."""
        found, told, plain = self.jobs(questions, types, apart)
        most = max((own_of(charges) for charges in plain), default=Fraction(0))
        spent = max((self.value(*job) for job in found), default=Fraction(0))
        return Worth(max(spent, most), *told, tuple(found))

    def jobs(
        self, questions: Sequence[NoisedQuestion], types: Types, apart: Fraction = Fraction(0)
    ) -> tuple[list[Job], tuple[Fraction, tuple[Type, ...]], list[Charges]]:
        """All that has to be priced, the second promise and the types, and the charges of plain types."""
        features = self.modelled(questions)
        listed: dict[int, tuple[StatedLaw, dict[Charges, None]]] = {}
        told, most = [], Fraction(0)
        plain: dict[Charges, None] = {}
        for groups, rows, charges in self.charged(questions, types, features, apart):
            most = max(most, own_of(charges))
            laws = self.laws_of(types, groups, charges, features)
            told.append(Type(dict(zip(types.by, groups, strict=True)), rows, laws is None))
            if laws is None:
                plain[charges] = None
            for law in laws or ():
                listed.setdefault(id(law), (law, {}))[1][charges] = None
        found = [(law, one) for law, several in listed.values() for one in largest(list(several))]
        return found, (most, tuple(told)), list(plain)

    def laws_of(
        self, types: Types, groups: tuple[str, ...], charges: Charges, features: Mapping[str, Feature]
    ) -> list[StatedLaw] | None:
        """The laws of all adversaries about a type, of the features that are charged; None if the type is plain."""
        found = self.named_laws(types, groups, charges, features)
        return None if found is None else list({id(law): law for _, law in found}.values())

    def named_laws(
        self, types: Types, groups: tuple[str, ...], charges: Charges, features: Mapping[str, Feature]
    ) -> list[tuple[Known, StatedLaw]] | None:
        """The same, each with what the adversary knows."""
        used = [features[name] for name in features_of(charges)]
        found = [(known, self.laws.law(known, used)) for known in types.known(groups)] if used else []
        whole = [(known, law) for known, law in found if law is not None]
        if len(whole) < len(found) or not used:
            return None
        self._kept.update((id(law), law) for _, law in whole)  # an id stands for one law as long as it is kept
        return whole

    def charged(
        self, questions: Sequence[NoisedQuestion], types: Types, features: Mapping[str, Feature], apart: Fraction
    ) -> list[tuple[tuple[str, ...], int, Charges]]:
        """For each type its groups, its rows and its charges; worked out once for types that are charged alike."""
        place = {column: i for i, column in enumerate(types.by)}
        at = [None if q.by is None else place[q.by] for q in questions]
        kept: dict[tuple[tuple[Fraction, ...], ...], Charges] = {}
        found = []
        for groups, rows in zip(types.groups, types.rows, strict=True):
            own = ["" if k is None else groups[k] for k in at]
            key = tuple(q.rates.get(group, ()) for q, group in zip(questions, own, strict=True))
            if key not in kept:
                each = [c for q, group in zip(questions, own, strict=True) for c in q.charges(group, features)]
                kept[key] = joined([*each, Apart(apart)] if apart else each)
            found.append((groups, rows, kept[key]))
        return found

    def modelled(self, questions: Sequence[NoisedQuestion]) -> dict[str, Feature]:
        """The features of these questions that the reference knows, by name."""
        return {f.name: f for q in questions for f in q.features if self.laws.models(f)}

    def value(self, law: StatedLaw, charges: Charges, limit: Fraction | None = None) -> Fraction:
        """The largest loss over all ordered pairs of secrets; with a `limit`, it may stop at the first one above it."""
        most = Fraction(0)
        for pair in permutations(law.given, 2):
            most = max(most, exact(self.priced(law, charges, pair), charges))
            if limit is not None and most > limit:
                break
        return most

    def priced(self, law: StatedLaw, charges: Charges, pair: Pair) -> RecordPrice:
        """What the charges are worth for one ordered pair of secrets, proved."""
        key = (id(law), pair, charges)
        if key not in self._proved:
            self._kept[id(law)] = law
            found = self._warm(law, charges, pair)
            if found.epsilon > found.lower * 1.02 + 1e-6:  # not near the least that any proof could give
                found = min((found, *self._again(law, charges, pair)), key=lambda priced: priced.epsilon)
            elif found.proof.get("how") == "plan":
                self._last.setdefault(key[:2], {})[tuple(features_of(charges))] = found
            self._proved[key] = found
        return self._proved[key]

    def _warm(self, law: StatedLaw, charges: Charges, pair: Pair) -> RecordPrice:
        """Priced from where the last search on this law ended."""
        key = (id(law), pair)
        if key not in self._pricers:
            self._pricers[key] = Pricer(law.states, *(law.given[secret] for secret in pair))
        return self._pricers[key].price(charges)

    def _again(self, law: StatedLaw, charges: Charges, pair: Pair) -> list[RecordPrice]:
        """Other ways to a price that a search has missed: from the beginning, and the last plan under these charges.

        A plan for fewer charges is worth at most as much more as the new ones have of their own."""
        key, (p, q) = (id(law), pair), (law.given[secret] for secret in pair)
        self._pricers.pop(key, None)
        found, last = [self._warm(law, charges, pair)], self._last.get(key, {}).get(tuple(features_of(charges)))
        if last is not None:
            with suppress(CertificateError):
                epsilon = check(law.states, p, q, charges, last.proof)
                found.append(replace(last, epsilon=epsilon, slopes=()))
        return found

    def tangents(
        self, questions: Sequence[NoisedQuestion], types: Types, apart: Fraction = Fraction(0)
    ) -> list[tuple[Fraction, Mapping[Shape, float]]]:
        """Every price that these questions are worth, and about how fast it rises with each charge, by its shape.

        `questions`, `types`, `apart`: as in `worth`."""
        jobs, _, plain = self.jobs(questions, types, apart)
        found: list[tuple[Fraction, Mapping[Shape, float]]] = []
        for law, charges in jobs:
            for pair in permutations(law.given, 2):
                priced = self.priced(law, charges, pair)
                known = dict(zip((c.shape for c in charges), priced.slopes, strict=False))
                found.append((exact(priced, charges), known or _in_full(charges)))
        return found + [(own_of(charges), _in_full(charges)) for charges in plain]

    def proofs(self, jobs: Sequence[Job], places: Mapping[int, int]) -> list[ProvedPair]:
        """All proofs of these jobs; `places`: the place of each law, by its id."""
        return [
            (places[id(law)], pair, charges, found.epsilon, found.proof)
            for law, charges in jobs
            for pair in permutations(law.given, 2)
            for found in [self.priced(law, charges, pair)]
        ]


def exact(found: RecordPrice, charges: Charges) -> Fraction:
    """A proved epsilon as an exact number: the sum of epsilons where that is the proof, else what its double means."""
    return own_of(charges) if found.proof.get("how") == "sum" else min(as_fraction(found.epsilon), own_of(charges))


def _in_full(charges: Charges) -> dict[Shape, float]:
    """How fast the sum of epsilons rises with the number of each charge."""
    return {c.shape: float(c.most) if isinstance(c, Rate) else 1.0 for c in charges}


def largest(several: list[Charges]) -> list[Charges]:
    """Charges that cover all of these: those that no other one exceeds; the largest of each, if these are too many."""
    if len(several) == 1:
        return several
    tables = sorted(((_numbers(c), c) for c in several), key=lambda pair: -sum(pair[0].values()))
    front: list[tuple[Mapping[object, Fraction], Charges]] = []
    for numbers, charges in tables:
        if not any(all(other.get(k, 0) >= v for k, v in numbers.items()) for other, _ in front):
            front.append((numbers, charges))
        if len(front) > _FRONT:
            return [envelope(several)]
    return [charges for _, charges in front]


def envelope(several: Sequence[Charges]) -> Charges:
    """The charge of each shape that is the largest among all of these."""
    found: dict[object, RecordCharge] = {}
    for charges in several:
        for key, charge in zip(_numbers(charges), charges, strict=True):
            if key not in found or charge.own > found[key].own:
                found[key] = charge
    return tuple(found.values())


def _numbers(charges: Charges) -> dict[object, Fraction]:
    return {charge.shape: charge.own for charge in charges}


# The law of a record's features given each secret, for every adversary about every type of record.
#
# All of it comes from the reference. A record's groups are public: who knows them believes the law given them. Where
# some secret has fewer than `LEAST_ROWS` rows of the reference, in a group or in all of it, there is no law: nothing is
# believed there.


Known = tuple[tuple[str, str], ...]
"""Groups that an adversary knows: (by column, group), in the order of the columns' first use."""


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

    def models(self, feature: Feature) -> bool:
        """Whether the reference has the columns that the feature looks at."""
        return all(column in self.table.columns for column in feature.columns)

    def law(self, known: Known, features: Sequence[Feature]) -> StatedLaw | None:
        """The law of these features given each secret and these groups; None where the reference is too thin.

        Two adversaries who believe the same law share one object, so that it is priced once."""
        names = tuple(sorted(feature.name for feature in features))
        key = (known, names)
        if key not in self._laws:
            self._laws[key] = self._fit(known, {feature.name: feature for feature in features}, names)
        return self._laws[key]

    def _fit(self, known: Known, features: Mapping[str, Feature], names: tuple[str, ...]) -> StatedLaw | None:
        codes, first = self._coded(features, names)
        rows = self._rows_of(known)
        if rows is None:
            return None
        inside = codes[rows]
        present, places = np.unique(inside, return_inverse=True)
        given = {}
        for secret, mask in self.masks.items():
            counts = np.bincount(places.reshape(-1)[mask[rows]], minlength=len(present)).astype(np.int64)
            if int(counts.sum()) < LEAST_ROWS:
                return None
            given[secret] = counts
        states = {name: self._features[name][first[present]] for name in names}
        mark = b"".join(a.tobytes() + b"|" for a in (*states.values(), *given.values())) + repr(names).encode()
        if mark not in self._same:
            self._same[mark] = StatedLaw((dict(known),), states, given)
        return self._same[mark]

    def _coded(self, features: Mapping[str, Feature], names: tuple[str, ...]) -> tuple[Codes, Codes]:
        """One whole number for each row, the same for rows that agree on all features; and a row of each number."""
        if names not in self._joint:
            codes = np.zeros(len(self.table), dtype=np.int64)
            for name in names:
                if name not in self._features:
                    self._features[name] = features[name].of(self.reading, self.table)
                _, one = np.unique(self._features[name], return_inverse=True)
                _, codes = np.unique(codes * (int(one.max(initial=0)) + 1) + one.reshape(-1), return_inverse=True)
                codes = codes.reshape(-1).astype(np.int64)
            self._joint[names] = codes, np.unique(codes, return_index=True)[1].astype(np.int64)
        return self._joint[names]

    def _rows_of(self, known: Known) -> Codes | None:
        """The rows of the reference with these groups; None if the reference cannot tell."""
        if not known:
            return np.arange(len(self.table))
        columns = tuple(column for column, _ in known)
        if any(column not in self.groups for column in columns):
            return None
        if columns not in self._rows:
            listed = list(zip(*(self.groups[column].tolist() for column in columns), strict=True))
            found: dict[tuple[str, ...], list[int]] = {}
            for row, groups in enumerate(listed):
                found.setdefault(groups, []).append(row)
            self._rows[columns] = {groups: np.array(rows, dtype=np.int64) for groups, rows in found.items()}
        return self._rows[columns].get(tuple(group for _, group in known))
