"""What beliefs about independent records have in common: the law of one record given each secret, and the assumptions.

Laws are whole numbers over the same states for every secret, so that p(x) = counts(x) / sum is exact. The words of
the assumptions are constants: certificates carry them, and the verifier asks for them letter by letter.

Proofs: docs/proofs/records.md#assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar, final

import numpy as np

from fugu.errors import BadLaw, UsageError
from fugu.fixed import Fixed
from fugu.laws.cells import MOST_ROWS, Counts

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
