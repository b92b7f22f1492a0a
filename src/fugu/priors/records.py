"""`Records`: independent records, one of which holds the secret; the laws of one record, declared or counted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar, final

import numpy as np

from fugu.data import Column, Schema
from fugu.data.frame import Table, TableLike
from fugu.data.secrets import ProtectLike, Secrets, read_protect
from fugu.errors import BadLaw, BadTable, MissingValues, RepeatedUnit, UsageError
from fugu.fixed import Fixed
from fugu.laws import Discrete
from fugu.laws.cells import MOST_ROWS, Counts
from fugu.numbers.checks import is_list, is_row, is_texts, listed
from fugu.numbers.exact import VectorLike, as_fraction
from fugu.priors.prior import Recorded
from fugu.visible import brief

# The laws of one record, read off a public table: whole numbers for each secret, and for each public group.

EVERY = "every record"
_SPARSE = 4
_MOST_CELLS = 1 << 27
_EXACT = 2.0**52
_FEW = 1 << 16


def places(table: Table, columns: Sequence[str]) -> tuple[Counts, int]:
    """Which of the combinations of cells that occur each row has, and how many occur; a missing cell is a value.

    Their order is that of the cells, so that the order of the rows does not matter."""
    total, size = np.zeros(len(table), dtype=np.int64), 1
    for name in columns:
        codes, many = _coded(table.exact(name))
        total, size = _ranked(total * many + codes, size * many)
    return total, size


def _coded(column: Column) -> tuple[Counts, int]:
    """A whole number for each cell, 0 where missing, in the order of the cells, and a number above them all."""
    if column.numeric and len(column):
        values = column.values.astype(np.int64) if column.values.dtype == bool else column.values
        low, high = values.min(), values.max()
        if abs(float(low)) <= _EXACT and float(high) - float(low) <= _SPARSE * len(column):
            codes = (values - low).astype(np.int64) + 1
            if values.dtype.kind != "f" or np.array_equal(codes + (low - 1), values):
                codes[column.missing] = 0
                return codes, int(high) - int(low) + 2
    codes, distinct = column.codes(strict=False)
    return codes + 1, len(distinct) + 1


def grouped(table: Table, by: Sequence[str], secrets: Secrets, states: Counts) -> Iterator[RecordLaw]:
    """The laws in each public group, on the states that occur there."""
    which, size = places(table, by)
    first = np.empty(size, dtype=np.int64)  # a row of each group, which says its cells
    first[which[::-1]] = np.arange(len(which))[::-1]
    parts = []
    for column in map(table.exact, by):
        shown = zip(column.values[first].tolist(), column.missing[first].tolist(), strict=True)
        parts.append([None if gone else value for value, gone in shown])
    named = [", ".join(f"{n}={v!r}" for n, v in zip(by, cells, strict=True)) for cells in zip(*parts, strict=True)]
    order = np.argsort(which.astype(np.uint16) if size <= _FEW else which, kind="stable")  # by digits, if they are few
    for group, rows in enumerate(np.split(order, np.cumsum(np.bincount(which, minlength=size))[:-1])):
        own, here = _ranked(states[rows], int(states[rows].max()) + 1)
        layers = [layer[rows] for layer in secrets.layers]
        yield law_of(f"records with {named[group]}", secrets.labels, layers, own, here)


def law_of(who: str, secrets: Sequence[str], layers: Sequence[Counts], states: Counts, size: int) -> RecordLaw:
    """The numbers of rows by secret and state; plain where a secret has fewer rows than a law needs."""
    if len(secrets) * size > _MOST_CELLS:
        raise BadTable(
            f"{len(secrets)} secrets times {size} combinations of the columns are too many to count; use fewer "
            "columns, bins, or fewer secrets"
        )
    table = np.zeros(len(secrets) * size, dtype=np.int64)
    for layer in layers:
        held = layer >= 0
        table += np.bincount(layer[held] * size + states[held], minlength=len(table))
    rows = table.reshape(len(secrets), size)
    if rows.sum(axis=1).min() < LEAST_ROWS:
        return RecordLaw(who, {}, plain=True)
    return RecordLaw(who, dict(zip(secrets, rows, strict=True)))


def _ranked(codes: Counts, size: int) -> tuple[Counts, int]:
    """The same partition of the rows, numbered without gaps, in the same order."""
    if size > _SPARSE * len(codes) + 1024:
        distinct, found = np.unique(codes, return_inverse=True)
        return found.reshape(-1).astype(np.int64), len(distinct)
    present = np.zeros(size, dtype=bool)
    present[codes] = True
    return (np.cumsum(present) - 1)[codes], int(present.sum())


# `Records`: a table of independent records, one of which holds the secret; the law of that record is known.
#
# Unlike the other priors, this one makes releases worth *less* than their epsilon for each entry: the secret only tilts
# the law of its own record, and the other records say nothing about it.
#
# Proofs: docs/proofs/records.md#one-epsilon-for-each-record, docs/proofs/records.md#assumptions.


class Records(Recorded):
    """Independent records; the law of one record's columns given its secret, and given its public group, is known.

    Parameters:

    - `reference`: a public table of records like those that are protected, never the protected table itself: a path, a
      dict of columns or a frame.
    - `protect`: the secret of a record: a column, "age<65", "age:18,65", a list of columns, or {secret: condition}.
    - `columns`: all columns that any release under this belief reads; one name or several. Their joint law is counted;
      a missing cell is a value of its own.
    - `by`: columns that are public for every record, such as a ward. Adversaries who use them (the laws in each group,
      and in each combination of several), any part of them, or none, are all covered.
    - `schema`: how the reference is read; what it does not say is taken from the reference.
    - `unit`: a column that names the person. Records of one person depend on each other, so a name that repeats is
      refused; give one row a person.

    A group in which some secret has fewer than 30 reference rows is *plain*: no law is read off so few, and what a
    release says of a record there counts as its epsilon for each entry, unreduced. `plain` names these groups.

    Raises `BadTable` and its kinds for the table, `UsageError` for other arguments.

    >>> rng = np.random.default_rng(1)
    >>> sex = rng.integers(0, 2, 1000)
    >>> records = Records({"sex": sex, "ill": rng.random(1000) < 0.3 + 0.2 * sex}, "sex", "ill")
    >>> records
    Records(2 secrets, 2 states, 1 law)
    """

    columns: tuple[str, ...]
    by: tuple[str, ...]
    protect: str
    _laws: tuple[RecordLaw, ...]

    def __init__(
        self,
        reference: TableLike,
        protect: ProtectLike,
        columns: str | Sequence[str],
        by: str | Sequence[str] | None = None,
        *,
        schema: Schema | None = None,
        unit: str | None = None,
    ) -> None:
        if schema is not None and not isinstance(schema, Schema):
            raise UsageError(f"schema must be a fugu.Schema, got {type(schema).__name__}")
        reading = schema or Schema({})
        public = reading.open(reference)
        used, groups = _named(columns, "columns"), () if by is None else _named(by, "by")
        asked = read_protect(protect, public.columns)
        if shared := set(groups) & set(asked.columns or ()):
            raise UsageError(f"column {sorted(shared)[0]!r} is protected, so it cannot be a public group too")
        if unit is not None:
            codes, distinct = public.exact(unit).codes(ordered=False)
            if (codes < 0).any():
                raise MissingValues(f"the unit, column {unit!r}, is missing in some rows of the reference; fill it in")
            if len(distinct) < len(codes):
                raise RepeatedUnit(
                    f"some units of column {unit!r} own several rows: {DEPENDENT}; keep one row for each unit"
                )
        secrets = asked.find(public, missing="drop")
        if not len(public):
            raise BadTable("the reference has no rows")
        if gone := [name for name, count in secrets.missing if count]:
            raise MissingValues(
                f"column {gone[0]!r} decides the secret and has missing cells in the reference; fill them in, perhaps "
                "with a category of their own, or leave those rows out"
            )
        if len(secrets.labels) < 2:
            raise BadTable("the reference shows fewer than two secrets, so there is nothing to tell apart")
        read = reading.completed(public, [*used, *groups]).read(public, [*used, *groups])
        states, size = places(read, used)
        laws = [law_of(EVERY, secrets.labels, secrets.layers, states, size)]
        for some in parts_of(groups)[1:]:
            laws += grouped(read, some, secrets, states)
        vars(self).update(columns=used, by=groups, protect=asked.text, _laws=tuple(laws))

    @classmethod
    def of_laws(
        cls, laws: Mapping[str, VectorLike | Discrete], *, columns: str | Sequence[str] = "value", who: str = EVERY
    ) -> Records:
        """The belief that a record has these laws given its secret, without a reference.

        `laws`: {secret: law} for two secrets or more. A law is a list of whole numbers, or of probabilities that sum to
        exactly 1, over the same states for all secrets; or a `Discrete`, whose states are its values. `columns`: what
        the law is about; `who`: whose law it is, in words. Raises `BadLaw` for others.

        >>> Records.of_laws({"ill": [7, 3], "well": [0.4, 0.6]}).laws()[0].given["well"]
        array([2, 3])
        """
        if not isinstance(laws, Mapping) or len(laws) < 2 or not is_texts(laws):
            raise BadLaw("give the laws of a record as {secret: law}, for two secrets or more")
        belief = cls.__new__(cls)
        atoms = {s: law for s, law in laws.items() if isinstance(law, Discrete)}
        if atoms and (len(atoms) < len(laws) or any(law.error or law.values.ndim > 1 for law in atoms.values())):
            raise BadLaw("give all laws as Discrete on a line with exact weights, or all as lists of numbers")
        given = {s: _whole(s, law) for s, law in laws.items() if s not in atoms}
        values = np.unique(np.concatenate([np.zeros(0), *(law.values for law in atoms.values())]))
        for s, atom in atoms.items():  # on the same states
            dense = np.zeros(len(values), dtype=object)
            dense[np.searchsorted(values, atom.values)] = atom.masses.whole()[0]
            given[s] = _whole(s, dense)
        law = RecordLaw(who, given)
        vars(belief).update(columns=_named(columns, "columns"), by=(), protect=", ".join(laws), _laws=(law,))
        return belief

    @classmethod
    def example(cls) -> Records:
        return cls.of_laws({"a": [7, 3, 0], "b": [4, 4, 2], "c": [1, 1, 8]})

    def laws(self) -> tuple[RecordLaw, ...]:
        """The law of one record given each secret: of every record, and of those of each public group."""
        return self._laws

    @property
    def plain(self) -> tuple[str, ...]:
        """Records of which too little is known: a release says at most its epsilon for each entry about them."""
        return tuple(law.who for law in self._laws if law.plain)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted; each is needed (docs/proofs/records.md#assumptions)."""
        about = f"the laws are those of {', '.join(self.columns)} given the secret ({self.protect})"
        thin = f"fewer than {LEAST_ROWS} reference rows of some secret, so the plain epsilon counts: "
        return (
            *ASSUMPTIONS,
            *((KNOWN_GROUPS,) if self.by else ()),
            about + (f" and given {', '.join(self.by)}" if self.by else ""),
            *((thin + brief(list(self.plain), 300),) if self.plain else ()),
        )

    def __repr__(self) -> str:
        known = [law for law in self._laws if not law.plain]
        most = max((law.states for law in known), default=0)
        secrets = max((len(law.given) for law in known), default=0)
        counted = f"{len(self._laws)} law{'s' if len(self._laws) > 1 else ''}"
        thin = f", {len(self.plain)} of them plain" if self.plain else ""
        return f"Records({secrets} secrets, {most} states, {counted}{thin})"


def _named(columns: object, what: str) -> tuple[str, ...]:
    """One name or several, each once."""
    given = (columns,) if isinstance(columns, str) else columns
    if not is_list(given) or not given or not is_texts(given):
        raise UsageError(f"{what} must be the name of a column, or a list of names")
    return tuple(dict.fromkeys(given))


def _whole(secret: str, law: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Whole numbers in the ratios of a law, without a common factor."""
    if not is_row(law) or not len(law):
        raise BadLaw(f"the law given {secret!r} must be a list of whole numbers, or of probabilities that sum to 1")
    try:
        parts = [as_fraction(x) for x in listed(law)]
    except (TypeError, ValueError, OverflowError):
        raise BadLaw(f"the law given {secret!r} must hold finite numbers") from None
    if min(parts) < 0 or not any(parts) or (any(x.denominator > 1 for x in parts) and sum(parts) != 1):
        raise BadLaw(
            f"the law given {secret!r} must be whole numbers of at least 0, or probabilities that sum to exactly 1; "
            "where decimals do not, give Fractions"
        )
    unit = math.lcm(*(x.denominator for x in parts))
    whole = [int(x * unit) for x in parts]
    common = math.gcd(*whole)
    if sum(whole) // common >= 2**53:
        raise BadLaw(f"the law given {secret!r} has too many digits; give probabilities of at most 15 digits")
    return np.array([x // common for x in whole], dtype=np.int64)


# What beliefs about independent records have in common: the law of one record given each secret, and the assumptions.
#
# Laws are whole numbers over the same states for every secret, so that p(x) = counts(x) / sum is exact. The words of
# the assumptions are constants: certificates carry them, and the verifier asks for them letter by letter.
#
# Proofs: docs/proofs/records.md#assumptions.

T = TypeVar("T")
MOST_PUBLIC = 6
"""So many columns of a record may be public: whoever knows any part of them is protected against."""
LEAST_ROWS = 30
"""A law read off fewer reference rows is not used: the records it speaks of are worth the plain epsilon."""

INDEPENDENT = (
    "each record is independent of all others, jointly with its secret, under every belief: there is no common unknown "
    "parameter; the other records may have any law, depend on each other, or be known"
)
NO_AGGREGATE = "nothing exact about the protected table is public but its number of rows and the sizes of its groups"
REFERENCE = "the reference is public and is not the protected table; it stays the same for all releases"
ONE_LAW = "every record has the law that the reference shows for its secret and its group"
OWN_RECORD = (
    "every column is a function of its own record and of public constants: no ranks, standard scores or household "
    "totals, no bins or bounds taken from the protected table; records are told apart by person, not by their place"
)
KNOWN_BEFORE = (
    "nothing else was known of a record beforehand than its group; what was known is conditioned on, what is published "
    "is charged"
)
WHOLE_DOMAIN = (
    "each release is private for the replacement of one record by any other, on the whole product domain, and reads "
    "no other columns of it than those that the law is about, and these no finer than the law tells values apart"
)
ASSUMPTIONS = (INDEPENDENT, NO_AGGREGATE, REFERENCE, ONE_LAW, OWN_RECORD, KNOWN_BEFORE, WHOLE_DOMAIN)
"""What every belief about independent records takes for granted; each is needed, and has a counterexample."""
KNOWN_GROUPS = "every record is in a group that the reference has"
"""Beside the others, where the law depends on a public group."""
DEPENDENT = (
    "records that depend on each other are not covered: with a hidden share of .1 or .9 that three records have in "
    "common, an epsilon of .5 for each record was claimed as .5 and is truly 1.123"
)
"""Why a repeated unit is refused."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class RecordLaw:
    """The law of one record given each secret, as one kind of adversary holds it about the records `who` speaks of.

    `who`: of which records and which adversary, in words; `given`: {secret: whole numbers over the same k states}.
    `plain`: no law is known, so a release is worth its per-record epsilon itself. Raises `BadLaw` for numbers below
    0, for none, for a sum of 2^53 or more, and for secrets with different states.

    >>> law = RecordLaw("every record", {"F": np.array([7, 3]), "M": np.array([4, 6])})
    >>> [(s, t, p.tolist(), q.tolist()) for s, t, p, q in law.pairs()]
    [('F', 'M', [7, 3], [4, 6]), ('M', 'F', [4, 6], [7, 3])]
    """

    who: str
    given: Mapping[str, Counts]
    plain: bool = False

    def __post_init__(self) -> None:
        own = {secret: counted(counts, f"{self.who}, secret {secret!r}") for secret, counts in self.given.items()}
        if len({counts.size for counts in own.values()}) > 1:
            raise BadLaw(f"{self.who}: the laws given different secrets must be on the same states")
        object.__setattr__(self, "given", Fixed(own))

    def __reduce__(self) -> tuple[type[RecordLaw], tuple[str, dict[str, Counts], bool]]:
        return RecordLaw, (self.who, dict(self.given), self.plain)

    def __repr__(self) -> str:
        known = "plain" if self.plain else f"{len(self.given)} secrets, {self.states} states"
        return f"RecordLaw({self.who!r}, {known})"

    @property
    def states(self) -> int:
        """How many states the laws are on."""
        return next((counts.size for counts in self.given.values()), 0)

    def pairs(self) -> Iterator[tuple[str, str, Counts, Counts]]:
        """Both orders of every pair of secrets, with their laws."""
        for s, p in self.given.items():
            for t, q in self.given.items():
                if s != t:
                    yield s, t, p, q


def counted(counts: object, where: str) -> Counts:
    """Whole numbers of at least 0 whose sum is above 0 and below 2^53, read-only; `where` names them in errors."""
    try:
        given = np.asarray(counts)
        own = given.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise BadLaw(f"{where}: a law must be a list of whole numbers") from None
    if own.ndim != 1 or not own.size or given.dtype == bool or not np.array_equal(own, given) or own.min() < 0:
        raise BadLaw(f"{where}: a law must be a list of whole numbers of at least 0")
    if not 0 < float(own.sum(dtype=np.float64)) < MOST_ROWS:
        raise BadLaw(f"{where}: the whole numbers of a law must sum to more than 0 and less than 2^53")
    own.flags.writeable = False
    return own


def parts_of(public: Sequence[T]) -> list[tuple[T, ...]]:
    """Every part of what is public of a record, none of it first: adversaries may know any of them.

    Who knows two of three columns is neither one who knows one of them nor one who knows all: with x = a xor b xor s
    and c = x, x tells s to whoever knows a and b, and nothing to whoever knows a, b and c.

    >>> parts_of("ab")
    [(), ('a',), ('b',), ('a', 'b')]
    """
    if len(public) > MOST_PUBLIC:
        raise UsageError(
            f"{len(public)} columns would be public, and at most {MOST_PUBLIC} can be: whoever knows any part of them "
            "is protected against. Ask by fewer columns, or join some into one"
        )
    return [part for many in range(len(public) + 1) for part in combinations(public, many)]
