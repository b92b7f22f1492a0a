"""`TableBelief`: what adversaries believe about a table of independent records, and what all questions are worth
together, over types of records, adversaries and pairs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import final

import numpy as np

from fugu.data import Schema, Table
from fugu.data.secrets import Protect, Secrets
from fugu.errors import CertificateError, NotComposable
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.asks import exact, plain
from fugu.numbers.exact import as_fraction
from fugu.priors.prior import Belief
from fugu.queries.features import Feature
from fugu.queries.groups import GroupColumns, PublicGroups, Types
from fugu.queries.record_proofs import Known, Pair, ProvedPair, StatedLaw, Type, TypeLaws
from fugu.queries.statistic import Charged, NoisedQuestion, features_of, own_of, public_in, questions_in
from fugu.translation.records.bounds import check
from fugu.translation.records.plan import EXACT, NEAR, Nearness
from fugu.translation.records.pricer import PriceEstimate, Pricer, RecordPrice
from fugu.translation.records.problem import Apart, Rate, RecordCharge, joined
from fugu.visible import brief, several

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
    _loose: set[tuple[int, Pair, Charges]] = field(default_factory=set)

    def worth(self, questions: Sequence[NoisedQuestion], types: Types, apart: Fraction = Fraction(0)) -> Worth:
        """What these questions are worth together.

        `questions`: all of them, in any order. `types`: the record types for at least the columns they are asked by.
        `apart`: epsilons of releases of which nothing is known but that they are private for each record."""
        found, told, plain = self.jobs(questions, types, apart)
        most = max((own_of(charges) for charges in plain), default=Fraction(0))
        for law, charges in sorted(found, key=lambda job: max(job[0].size, EXACT)):
            for pair in permutations(law.given, 2):
                most = max(most, proved_epsilon(self.priced(law, charges, pair, most), charges))
        return Worth(most, *told, tuple(found))

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
            for _, law in laws or ():
                listed.setdefault(id(law), (law, {}))[1][charges] = None
        found = [(law, one) for law, several in listed.values() for one in largest(list(several))]
        return found, (most, tuple(told)), list(plain)

    def laws_of(
        self, types: Types, groups: tuple[str, ...], charges: Charges, features: Mapping[str, Feature]
    ) -> list[tuple[Known, StatedLaw]] | None:
        """The laws of all adversaries about a type, of the features that are charged, each with what the adversary
        knows; None if the type is plain."""
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

    def priced(self, law: StatedLaw, charges: Charges, pair: Pair, enough: Fraction = Fraction(0)) -> RecordPrice:
        """What the charges are worth for one ordered pair of secrets, proved. `enough`: as in `Pricer.price`."""
        key = (id(law), pair, charges)
        if key not in self._proved or (key in self._loose and exact(self._proved[key].epsilon) > enough):
            p, q = (law.given[secret] for secret in pair)
            pricer = self._pricer(law, pair)
            found = pricer.price(charges, float(enough))
            if found.epsilon > max(found.lower * 1.02 + 1e-6, float(enough)):  # not near the least of any proof
                # from the beginning, and the last plan under these charges: a plan for fewer of them is worth at most
                # as much more as the new ones have of their own
                self._pricers[key[:2]] = Pricer(law.states, p, q)
                others = [found, self._pricers[key[:2]].price(charges)]
                last = self._last.get(key[:2], {}).get(tuple(features_of(charges)))
                if last is not None:
                    with suppress(CertificateError):
                        epsilon = check(law.states, p, q, charges, last.proof)
                        others.append(replace(last, epsilon=epsilon, slopes=()))
                found = min(others, key=lambda priced: priced.epsilon)
            elif found.proof.get("how") == "plan":
                self._last.setdefault(key[:2], {})[tuple(features_of(charges))] = found
            self._proved[key] = found
            loose = law.size > EXACT and exact(found.epsilon) <= enough
            (self._loose.add if loose else self._loose.discard)(key)
        return self._proved[key]

    def estimate(
        self, law: StatedLaw, charges: Charges, pair: Pair, limits: Nearness, only_known: bool = False
    ) -> PriceEstimate:
        """About what `priced` proves, for searches. `limits`, `only_known`: as in `Pricer.estimate`."""
        return self._pricer(law, pair).estimate(charges, limits, only_known)

    def _pricer(self, law: StatedLaw, pair: Pair) -> Pricer:
        """The pricer of one law and one ordered pair of secrets."""
        key = (id(law), pair)
        if key not in self._pricers:
            self._kept[id(law)] = law
            p, q = (law.given[secret] for secret in pair)
            self._pricers[key] = Pricer(law.states, p, q)
        return self._pricers[key]

    def tangents(
        self, questions: Sequence[NoisedQuestion], types: Types, apart: Fraction, limits: Nearness
    ) -> list[tuple[float, Mapping[Shape, float]]]:
        """About every price of these questions, and how fast it rises with each charge, by its shape.

        `questions`, `types`, `apart`: as in `worth`; `limits`: how near, where there are many
        states; those that are small enough there are left out."""
        jobs, _, plain = self.jobs(questions, types, apart)
        found: list[tuple[float, Mapping[Shape, float]]] = []
        for law, charges in jobs:
            for pair in permutations(law.given, 2):
                about = self.estimate(law, charges, pair, limits if law.size > EXACT else NEAR)
                if law.size <= EXACT or limits.enough is None or about.high > limits.enough:
                    found.append((about.high, about.slopes))
        return found + [(float(own_of(charges)), _in_full(charges)) for charges in plain]

    def proofs(self, jobs: Sequence[Job], places: Mapping[int, int], spent: Fraction) -> list[ProvedPair]:
        """All proofs of these jobs, which are worth `spent`; `places`: the place of each law, by its id."""
        return [
            (places[id(law)], pair, charges, found.epsilon, found.proof)
            for law, charges in jobs
            for pair in permutations(law.given, 2)
            for found in [self.priced(law, charges, pair, spent)]
        ]


def proved_epsilon(found: RecordPrice, charges: Charges) -> Fraction:
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


# The ledger hands it all charges at once, each with the questions that it pays for, and it says what they are worth
# together. It is fixed when a session is opened: another reference, secret, schema or unit is another belief.


_PURE = (
    (
        "Rényi divergences beside questions of a session: along each path of answers only some columns are read, and "
        "no bound is proved path by path"
    ),
    (
        "charge epsilons and deltas (to_approx), or keep such releases in a ledger of their own with "
        "prior=fugu.Records(...), whose columns are fixed beforehand"
    ),
)


@final
@dataclass(frozen=True)
class TableHistory:
    """All that was asked of a table: `questions` with their noise, epsilons of other releases of which nothing more is
    known (`apart`), and columns whose groups were made `public` by asking for their sizes."""

    questions: tuple[NoisedQuestion, ...]
    apart: Fraction = Fraction(0)
    public: tuple[str, ...] = ()

    @property
    def by(self) -> tuple[str, ...]:
        """The columns whose groups are public, in one order whatever the order of the questions."""
        return tuple(sorted({*self.public, *(q.by for q in self.questions if q.by is not None)}))

    def beside(self, questions: Sequence[NoisedQuestion] = (), public: Sequence[str] = ()) -> TableHistory:
        """This and more."""
        return TableHistory((*self.questions, *questions), self.apart, tuple(sorted({*self.public, *public})))


@final
class TableBelief(Belief):
    """A reference, the secrets in it, and how records are read; prices everything a session was asked.

    Parameters:

    - `reading`: how records are read. `table`: the reference, read. `raw`: the reference as it stands.
    - `spec`, `secrets`: what is protected, and the rows of the reference that hold each secret.
    - `unit`: the column that names the person, or None. `groups`: the public groups of the private table, or, for a
      rehearsal, those to be expected.
    """

    def __init__(
        self, reading: Schema, table: Table, spec: Protect, secrets: Secrets, unit: str | None, groups: GroupColumns
    ) -> None:
        masks = {label: mask for label, mask in secrets.masks().items() if mask.any()}
        everything = {
            "reading": reading, "table": table, "spec": spec, "secrets": tuple(secrets.labels), "masks": masks,
            "unit": unit, "groups": groups, "_pricings": {}, "_priced": [], "_worth": {},
        }  # fmt: skip
        vars(self).update(everything)

    reading: Schema
    table: Table
    spec: Protect
    secrets: tuple[str, ...]
    masks: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]
    unit: str | None
    groups: GroupColumns
    _pricings: dict[tuple[str, ...], Pricing]
    _priced: list[Pricing]
    _worth: dict[TableHistory, Worth]

    def with_groups(self, groups: GroupColumns) -> TableBelief:
        """The same belief about other groups; where those sort the reference alike, laws and prices are one."""
        found = object.__new__(TableBelief)
        vars(found).update({**vars(self), "groups": groups, "_pricings": {}, "_worth": {}})
        return found

    def __repr__(self) -> str:
        columns = several(len(self.table.columns), "column")
        of = f" of {', '.join(self.spec.columns)}" if self.spec.columns else ""
        return f"TableBelief({columns}, secrets {', '.join(map(brief, self.secrets))}{of})"

    @property
    def skipped(self) -> tuple[str, ...]:
        """Secrets without a row in the reference: nothing is promised of them."""
        return tuple(label for label in self.secrets if label not in self.masks)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted; see `fugu.priors.records`."""
        return ()

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that it was made from: the reading, the reference cell by cell, the secrets and the unit."""
        found = hashlib.sha256(json.dumps([self.reading.to_json(), self.unit, self.secrets], default=str).encode())
        for name in self.table.columns:
            column = self.table.exact(name)
            codes, values = column.codes(strict=False)
            found.update(json.dumps([name, [str(v) for v in values.tolist()]]).encode())
            found.update(codes.astype("<i8").tobytes())
        for label, mask in self.masks.items():
            found.update(label.encode("utf-8", "surrogatepass") + np.packbits(mask).tobytes())
        return found.hexdigest()

    def together(self, charges: Charged) -> Guarantee:
        """What all charges promise together: T of the sum of all metrics, the worst type, adversary and pair; with a
        delta among them the plain sums (docs/proofs/composition.md#a-delta-beside-questions-of-a-session)."""
        if all(guarantee.pure for guarantee, _, _ in charges):
            return Pure(plain(self.worth(self.read(charges)).spent))
        if any(guarantee.renyi for guarantee, _, _ in charges):
            raise NotComposable(*_PURE)
        epsilon, delta = (
            sum((exact(part) * count for part, count in parts), Fraction(0))
            for parts in zip(*([(g.epsilon, n), (g.delta, n)] for g, _, n in charges), strict=True)
        )
        return Approx(plain(epsilon), plain(delta)) if delta < 1 else Pure(math.inf)

    def anybody(self, charges: Charged) -> Guarantee:
        """What all charges promise against anybody: the largest sum of epsilons over all types of records."""
        return Pure(plain(self.worth(self.read(charges)).any_belief))

    def read(self, charges: Charged) -> TableHistory:
        """What was asked so far, as charges say it.

        A charge whose questions do not add up to its epsilon is not believed: it costs its epsilon on top."""
        questions: list[NoisedQuestion] = []
        apart, public = Fraction(0), set[str]()
        for guarantee, reads, count in charges:
            if not guarantee.pure:
                raise NotComposable(*_PURE)
            epsilon, found = exact(guarantee.epsilon), questions_in(reads)
            public |= {*public_in(reads)}
            # each question names exactly the groups that the table has
            known = all(q.by is None or set(q.rates) == set(self.groups.of(q.by).names) for q in found)
            if found and sum((q.most for q in found), Fraction(0)) == epsilon and known:
                questions += list(found) * count
            else:
                apart += epsilon * count
        return TableHistory(tuple(questions), apart, tuple(sorted(public)))

    def worth(self, asked: TableHistory) -> Worth:
        """What all that was asked is worth together."""
        if asked not in self._worth:
            types = self.groups.types(asked.by)
            self._worth[asked] = self.pricing(asked.by).worth(asked.questions, types, asked.apart)
        return self._worth[asked]

    def pricing(self, by: tuple[str, ...]) -> Pricing:
        """The laws for adversaries who know the groups of these columns, and what was priced on them."""
        if by not in self._pricings:
            known = {column: self.groups.of(column).known for column in by}
            there = {column: labels for column, labels in known.items() if labels is not None}
            alike = (each for each in self._priced if each.laws.sorts_by(there))
            if (pricing := next(alike, None)) is None:
                self._priced.append(pricing := Pricing(TypeLaws(self.reading, self.table, self.masks, there)))
            self._pricings[by] = pricing
        return self._pricings[by]

    @classmethod
    def example(cls) -> TableBelief:
        """A small one: a secret and one column that tells something of it."""
        from fugu.data.private import open_private
        from fugu.data.secrets import read_protect

        table = Table({"s": ["a", "b"] * 40, "x": ["u", "u", "v", "u"] * 20})
        reading = Schema.from_table(table)
        known = reading.read(table)
        spec = read_protect("s", table.columns)
        secrets = spec.find(known)
        private = open_private(Table({"x": ["u", "v"]}), reading, ["x"])
        return cls(reading, known, spec, secrets, None, PublicGroups(Schema({}), table, secrets, private))
