"""`TableBelief`: what adversaries believe about a table of independent records, and the public groups in it."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.cells import Categories
from fugu.data.field import Field
from fugu.data.private import Private, label_of
from fugu.data.secrets import Protect, Secrets
from fugu.errors import BadTable, CertificateError, ColumnNotFound, NotComposable, UsageError
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.asks import exact, plain
from fugu.priors.prior import Belief
from fugu.queries.features import Codes
from fugu.queries.groups import expected_groups, require_public_groups
from fugu.queries.noised_question import NoisedQuestion
from fugu.queries.pricing import Pricing, TypeLaws, Types, Worth
from fugu.visible import brief, several

# The ledger hands it all charges at once, each with the questions that it pays for, and it says what they are worth
# together. It is fixed when a session is opened: another reference, secret, schema or unit is another belief.


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
            "unit": unit, "groups": groups, "_pricings": {}, "_worth": {},
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
    _worth: dict[TableHistory, Worth]

    def with_groups(self, groups: GroupColumns) -> TableBelief:
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
            if found and sum((q.most for q in found), Fraction(0)) == epsilon and self.knows(found):
                questions += list(found) * count
            else:
                apart += epsilon * count
        return TableHistory(tuple(questions), apart, tuple(sorted(public)))

    def knows(self, questions: Sequence[NoisedQuestion]) -> bool:
        """Whether each question names exactly the groups that the table has."""
        return all(q.by is None or set(q.rates) == set(self.groups.of(q.by).names) for q in questions)

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
        return cls(reading, known, spec, secrets, None, PublicGroups(Schema({}), table, secrets, private))


def reading_of(declared: Schema, reference: Table, unit: str | None) -> Schema:
    """How records are read: as declared, then as the reference shows; the unit as it stands."""
    if unit is not None and unit not in declared.fields:
        declared = declared.with_field(unit, Field("identifier"))
    return declared.completed(reference, tuple(dict.fromkeys((*reference.columns, *declared.fields))))


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


def reads_of(questions: Sequence[NoisedQuestion], public: Sequence[str] = ()) -> dict[str, object]:
    """What a charge for these questions says that it reads, and which columns it makes public besides."""
    told: dict[str, object] = {"questions": [q.to_json() for q in questions]}
    return told | ({"public": list(public)} if public else {})


# The public groups of a private table: which group each record is in, and which rows of the reference belong to it.
#
# Two readings of them. `PublicGroups` opens the columns of the private table, for what is charged; `ExpectedGroups`
# takes them from the reference and from what was published before, for rehearsals, which open nothing.


MOST = 100_000
Labels = NDArray[np.object_]


@final
@dataclass(frozen=True)
class Grouping:
    """The groups of one column: the number of private rows of each, by name (`sizes`), and the group of each row of the
    reference (`known`, "" for none of them; None if the reference lacks the column). `rows`: each private row's place
    among them; None where no private row was looked at, and the sizes are estimates."""

    sizes: Mapping[str, int]
    known: Labels | None
    rows: Codes | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in one order."""
        return tuple(self.sizes)


@dataclass(frozen=True, eq=False)
class GroupColumns(ABC):
    """The groups of columns that questions are asked by, which declares them public; each is looked at once.

    `declared`: what the user said of columns. `reference`: the public table as it stands. `secrets`: those of the
    reference, which no group may tell."""

    declared: Schema
    reference: Table
    secrets: Secrets
    _found: dict[str, Grouping] = field(default_factory=dict, init=False)

    def of(self, by: str) -> Grouping:
        """The groups of a column; refused if the secret is worked out from it, or if it determines the secret."""
        if by not in self._found:
            self._found[by] = self._read(by)
        return self._found[by]

    @abstractmethod
    def _read(self, by: str) -> Grouping:
        """The groups of a column that was not looked at yet."""

    @abstractmethod
    def types(self, by: tuple[str, ...]) -> Types:
        """The types of records for these columns: all combinations of groups that occur."""

    def _known(self, by: str) -> tuple[Schema, Table | None]:
        """How a column of groups is read, and the reference's, if it has one; refused where it tells the secret."""
        declared, reference = self.declared, self.reference
        known = declared.fields.get(by, Field("identifier"))  # public: no group is joined to another
        schema = declared.with_field(by, known)
        there = Table({by: schema.column(by, reference.raw(by))}) if by in reference.columns else None
        require_public_groups(by, self.secrets, reference if there is None else there)
        return schema, there


@final
@dataclass(frozen=True, eq=False)
class PublicGroups(GroupColumns):
    """Reads columns of the private table; each is read once."""

    private: Private
    _types: dict[tuple[str, ...], Types] = field(default_factory=dict, init=False)

    def types(self, by: tuple[str, ...]) -> Types:
        if by not in self._types:
            columns = [(grouping.names, grouping.rows) for grouping in map(self.of, by)]
            codes = np.zeros(len(self.private), dtype=np.int64)
            for names, rows in columns:
                assert rows is not None  # the private table is open
                codes = np.unique(codes * len(names) + rows, return_inverse=True)[1].reshape(-1)
            _, first, counts = np.unique(codes, return_index=True, return_counts=True)
            groups = (tuple(names[rows[k]] for names, rows in columns if rows is not None) for k in first.tolist())
            self._types[by] = Types(by, tuple(groups), tuple(counts.tolist()))
        return self._types[by]

    def _read(self, by: str) -> Grouping:
        if by not in self.private.whole.columns:
            raise ColumnNotFound(by, self.private.whole.columns)
        schema, there = self._known(by)
        column = schema.column(by, self.private.whole.raw(by))
        if column.missing.any():
            raise BadTable(f"column {by!r} groups the rows and has missing cells in the table; fill them in")
        codes, values = column.codes(strict=False)
        labels = [label_of(value) for value in values.tolist()]
        if len(labels) > MOST:
            raise UsageError(f"column {by!r} makes {len(labels)} groups; at most {MOST} are answered at once")
        if not all(label.strip() for label in labels):
            raise BadTable(f"column {by!r} groups the rows and has blank cells in the table; fill them in")
        known: Labels | None = None
        if there is not None:  # groups under the names that they have in the reference: "1.0" and "1" are one group
            own, cells = there.exact(by).codes(strict=False)
            listed = [label_of(cell) for cell in cells.tolist()]
            places = Categories(listed).places(labels).tolist()
            labels = [label if place < 0 else listed[place] for label, place in zip(labels, places, strict=True)]
            used = {listed[place] for place in places if place >= 0}
            known = np.array([*(name if name in used else "" for name in listed), ""], dtype=object)[own]
        at = {name: i for i, name in enumerate(dict.fromkeys(labels))}
        rows = np.array([at[name] for name in labels], dtype=np.int64)[codes]
        return Grouping(dict(zip(at, np.bincount(rows, minlength=len(at)).tolist(), strict=True)), known, rows)


@final
@dataclass(frozen=True, eq=False)
class ExpectedGroups(GroupColumns):
    """What is public of the groups before a private cell is looked at: those of the reference and those declared, their
    sizes scaled to `rows`; and those that earlier answers published.

    `published`: groups that answers have named, by column. `opened`: the private table's, if it is open; it is asked
    for columns that are `booked` as public only."""

    rows: int
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    booked: frozenset[str] = frozenset()
    opened: GroupColumns | None = None

    def after(self, booked: Charged, opened: GroupColumns | None) -> ExpectedGroups:
        """What a rehearsal expects after these charges: groups that they published are known. Of an `opened` table it
        sees the columns that the charges made public, and no other."""
        published: dict[str, tuple[str, ...]] = {}
        for _, reads, _ in booked:
            published |= {q.by: tuple(q.rates) for q in questions_in(reads) if q.by is not None}
        public = frozenset(published).union(*(public_in(reads) for _, reads, _ in booked))
        return ExpectedGroups(self.declared, self.reference, self.secrets, self.rows, published, public, opened)

    def types(self, by: tuple[str, ...]) -> Types:
        """The combinations that the reference has, scaled; a group that it lacks is in one type at least."""
        if self.opened is not None and self.booked.issuperset(by):
            return self.opened.types(by)
        columns = [self.of(column) for column in by]
        seen = [column.known for column in columns if column.known is not None]
        together = Counter(key for key in zip(*seen, strict=True) if all(key)) if seen else Counter({(): 1})
        open_ = product(*(column.names for column in columns if column.known is None))
        counts: dict[tuple[str, ...], int] = {}
        for rest in open_:
            for key, count in together.items():
                parts = (iter(key), iter(rest))
                counts[tuple(next(parts[column.known is None]) for column in columns)] = count
        first = next(iter(counts), tuple(column.names[0] for column in columns))
        for place, column in enumerate(columns):
            for name in {*column.names} - {key[place] for key in counts}:
                counts.setdefault((*first[:place], name, *first[place + 1 :]), 0)
        places = {str(k): count for k, count in enumerate(counts.values())}
        return Types(by, tuple(counts), tuple(expected_groups(places, (), self.rows).values()))

    def _read(self, by: str) -> Grouping:
        if self.opened is not None and by in self.booked:
            return self.opened.of(by)
        schema, there = self._known(by)
        values = schema.fields[by].values or ()
        known: Labels | None = None
        counts: dict[str, int] = {}
        if there is not None:
            codes, cells = there.exact(by).codes(strict=False)
            labels = [label_of(cell) for cell in cells.tolist()]
            known = np.array([*labels, ""], dtype=object)[codes]
            counts = dict(zip(labels, np.bincount(codes[codes >= 0], minlength=len(labels)).tolist(), strict=True))
        if (names := self.published.get(by)) is not None:
            counts, values = {name: counts[name] for name in names if name in counts}, names
            known = None if known is None else np.where(np.isin(known, names), known, "")
        return Grouping(expected_groups(counts, values, self.rows), known)
