"""`TableBelief`: what adversaries believe about a table of independent records, as a prior that a ledger holds.

The ledger hands it all charges at once, each with the questions that it pays for, and it says what they are worth
together. It is fixed when a session is opened: another reference, secret, schema or unit is another belief."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from fugu.data import Schema, Table
from fugu.data.secrets import Protect, Secrets
from fugu.errors import CertificateError, NotComposable
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.numbers import exact, plain
from fugu.priors.prior import Belief
from fugu.queries.noised import Noised
from fugu.queries.pricing import Pricing, Worth
from fugu.queries.public_groups import Groups, PublicGroups
from fugu.queries.type_laws import TypeLaws
from fugu.visible import brief, several

Charged = Sequence[tuple[Guarantee, str | None, int]]
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
class Asked:
    """All that was asked of a table: `questions` with their noise, epsilons of other releases of which nothing more is
    known (`apart`), and columns whose groups were made `public` by asking for their sizes."""

    questions: tuple[Noised, ...]
    apart: Fraction = Fraction(0)
    public: tuple[str, ...] = ()

    @property
    def by(self) -> tuple[str, ...]:
        """The columns whose groups are public, in one order whatever the order of the questions."""
        return tuple(sorted({*self.public, *(q.by for q in self.questions if q.by is not None)}))

    def beside(self, questions: Sequence[Noised] = (), public: Sequence[str] = ()) -> Asked:
        """This and more."""
        return Asked((*self.questions, *questions), self.apart, tuple(sorted({*self.public, *public})))


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
        self, reading: Schema, table: Table, spec: Protect, secrets: Secrets, unit: str | None, groups: Groups
    ) -> None:
        masks = {label: mask for label, mask in secrets.masks().items() if mask.any()}
        everything = {
            "reading": reading, "table": table, "spec": spec, "secrets": tuple(secrets.labels), "masks": masks,
            "unit": unit, "groups": groups, "_pricings": {}, "_worth": {},
        }  # fmt: skip
        vars(self).update(everything)

    reading: Schema
    table: Table
    spec: Protect
    secrets: tuple[str, ...]
    masks: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]
    unit: str | None
    groups: Groups
    _pricings: dict[tuple[str, ...], Pricing]
    _worth: dict[Asked, Worth]

    def with_groups(self, groups: Groups) -> TableBelief:
        """The same belief about other groups; laws for those who know no group are worked out once for both."""
        found = object.__new__(TableBelief)
        vars(found).update({**vars(self), "groups": groups, "_pricings": {(): self.pricing(())}, "_worth": {}})
        return found

    def __repr__(self) -> str:
        columns = several(len(self.table.columns), "column")
        return f"TableBelief({columns}, secrets {', '.join(map(brief, self.secrets))})"

    @property
    def skipped(self) -> tuple[str, ...]:
        """Secrets without a row in the reference: nothing is promised of them."""
        return tuple(label for label in self.secrets if label not in self.masks)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted; see `fugu.priors.record_laws`."""
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

    def read(self, charges: Charged) -> Asked:
        """What was asked so far, as charges say it.

        A charge whose questions do not add up to its epsilon is not believed: it costs its epsilon on top."""
        questions: list[Noised] = []
        apart, public = Fraction(0), set[str]()
        for guarantee, reads, count in charges:
            if not guarantee.pure:
                raise NotComposable(*_PURE)
            epsilon, found = exact(guarantee.epsilon), questions_in(reads)
            public |= {*public_in(reads)}
            if found and sum((q.most for q in found), Fraction(0)) == epsilon and self.knows(found):
                questions += list(found) * count
            else:
                apart += epsilon * count
        return Asked(tuple(questions), apart, tuple(sorted(public)))

    def knows(self, questions: Sequence[Noised]) -> bool:
        """Whether each question names exactly the groups that the table has."""
        return all(q.by is None or set(q.rates) == set(self.groups.of(q.by).names) for q in questions)

    def worth(self, asked: Asked) -> Worth:
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
            self._pricings[by] = Pricing(TypeLaws(self.reading, self.table, self.masks, there))
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
        return cls(reading, known, spec, secrets, None, PublicGroups(Schema({}), private, table, secrets))


@lru_cache(maxsize=1024)
def questions_in(reads: str | None) -> tuple[Noised, ...]:
    """The questions that a charge pays for; none if it says nothing, or nothing that fugu wrote."""
    if reads is None:
        return ()
    try:
        return tuple(Noised.from_json(told) for told in json.loads(reads)["questions"])
    except (CertificateError, ValueError, KeyError, TypeError):
        return ()


def public_in(reads: str | None) -> list[str]:
    """The columns whose groups a charge made public."""
    try:
        return [str(name) for name in json.loads(reads or "{}").get("public", ())]
    except (ValueError, AttributeError, TypeError):
        return []


def reads_of(questions: Sequence[Noised], public: Sequence[str] = ()) -> dict[str, object]:
    """What a charge for these questions says that it reads, and which columns it makes public besides."""
    told: dict[str, object] = {"questions": [q.to_json() for q in questions]}
    return told | ({"public": list(public)} if public else {})
