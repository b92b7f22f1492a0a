"""Sequences of one or several users, read into a declared domain. Entries are all positions of all sequences.

Neighbouring data sets differ in one entry, replaced by anything whatever. So the number of users and the lengths are
public; states and bounds are declared, never read off the data. Each entry is read by itself, and every one has its
place in the domain: what is not declared counts as a declared state, a number outside as the nearest bound, what is no
number as a declared one. That is part of the query, and stands in the certificate. No entry is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import OTHER, Categories, is_missing, number_of, text_of
from fugu.data.counted import CountedSequences
from fugu.data.field import Field
from fugu.data.private import Private, open_private
from fugu.data.schema import Schema
from fugu.errors import BadTable, UsageError
from fugu.numbers.checks import is_row, plain
from fugu.numbers.exact import Real, as_fraction, read_number

_ENTRY = "entries"
_LONGEST = 1000
Codes = tuple[tuple[int, ...], ...]
Figures = tuple[tuple[Fraction, ...], ...]
T = TypeVar("T")
Read = tuple[tuple[T, ...], ...] | CountedSequences[T]
"""Entries that a domain has read, user by user, or counted."""


def split_users(sequences: object) -> list[list[Any]]:
    """One list of entries per user: of a mapping or an array, or of a list of which every item is a list.

    Any other list is the sequence of one user, and a list in it is an odd entry. The shape is public, and refused if it
    is none; what the entries are does not matter. Of an array short floats and times stay as they are, all else becomes
    plain values.

    >>> split_users(["a", "b"]), split_users({"u": ["a"], "v": ("b", "a")})
    ([['a', 'b']], [['a'], ['b', 'a']])
    """
    if isinstance(sequences, Mapping):
        users = list(map(_listed, sequences.values()))
        if not all(map(is_row, users)):
            raise BadTable("a mapping of sequences holds a list of entries for each user")
    else:
        given = _listed(sequences)
        if not is_row(given) or (isinstance(given, np.ndarray) and given.ndim not in (1, 2)):
            raise BadTable(
                "sequences are a list of entries (one user), or a list or mapping of such lists, got "
                f"{type(sequences).__name__}"
            )
        rows = list(map(_listed, given))
        users = rows if rows and all(map(is_row, rows)) else [given]
    if any(isinstance(user, np.ndarray) and user.ndim != 1 for user in users):
        raise BadTable("the sequence of a user has one dimension")
    found = []
    for user in users:
        simple = isinstance(user, np.ndarray) and (user.dtype.kind not in "fcMmV" or user.dtype == np.float64)
        found.append(list(user.tolist()) if simple else list(user))
    if not found or not all(found):
        raise BadTable("an empty sequence has no entry; leave such users out (lengths are public)")
    return found


def _listed(row: Any) -> Any:
    return row.to_list() if hasattr(row, "to_list") else row


def is_label(thing: object) -> bool:
    """A text or a number, which certificates and ledgers can hold and which equals itself."""
    return isinstance(thing, str | int) or (isinstance(thing, float) and not math.isnan(thing))


def _images(
    sequences: object, known: Field, image: Callable[[Private], list[T]]
) -> tuple[tuple[T, ...], ...] | CountedSequences[T]:
    """All entries, one after another, as a private table of one column, which is the one door, and what `image` makes
    of them; split again by the lengths, which are public. Of sequences that were counted each different one."""
    schema = Schema({_ENTRY: known}, absent=())

    def read(entries: list[Any]) -> list[T]:
        return image(open_private({_ENTRY: entries}, schema, (_ENTRY,)))

    if isinstance(sequences, CountedSequences):
        return sequences.mapped(read)
    users = split_users(sequences)
    rest = iter(read(list(chain.from_iterable(users))))
    return tuple(tuple(islice(rest, len(user))) for user in users)


def tallied(data: Read[T]) -> CountedSequences[T]:
    """What adds up over entries that a domain has read."""
    return data if isinstance(data, CountedSequences) else CountedSequences.of(data)


@dataclass(frozen=True)
class States:
    """The declared states of an entry. Whatever else the data hold, a missing entry too, counts as the state `other`:
    the first one unless declared (or the one called "(other)").

    States are compared as categories are everywhere: 1, 1.0 and "1" are one state, "V27.0" and "V27" are two.

    >>> States(("home", "work", "other"), other="other").read(["home", "gym", None])
    ((0, 2, 2),)
    >>> States((1, 2)).read([2, "2", 2.0, 1.5, float("nan"), [1]])
    ((1, 1, 1, 0, 0, 0),)
    """

    names: Sequence[Hashable]
    other: Hashable | None = None

    def __post_init__(self) -> None:
        if isinstance(self.names, str | bytes):
            raise UsageError("states are a list of names, not one text")
        names = tuple(map(plain, self.names))
        if not all(is_label(n) for n in names):
            raise UsageError("a state is a text or a number; None, NaN, dates and lists are not")
        object.__setattr__(self, "names", names)
        labels = set(self.categories.values)
        if len(names) < 2 or len(labels) < len(names):
            raise UsageError("at least two states are needed, each declared once; 1 and '1' are one state")
        chosen = self.other if self.other is not None else OTHER if OTHER in labels else names[0]
        if OTHER in labels and text_of(chosen) != OTHER:
            raise UsageError(f"the state {OTHER!r} is what undeclared entries count as; give no other, or rename it")
        if not is_label(chosen) or self.categories.place(text_of(chosen)) < 0:
            raise UsageError(f"other={self.other!r} must be one of the declared states")
        object.__setattr__(self, "other", names[self.code(chosen)])

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def categories(self) -> Categories:
        """The states as categories, to compare with."""
        return Categories([text_of(name) for name in self.names])

    def code(self, state: Hashable) -> int:
        """The place of a declared state; "1" also names the number 1."""
        place = self.categories.place(text_of(state)) if is_label(state) else -1
        if place < 0:
            raise UsageError(f"state {state!r} is not declared; declared are {list(self.names)[:8]}")
        return place

    def read(self, sequences: object) -> Read[int]:
        """Each entry as the place of its state, or of `other`; a total function of each entry alone."""
        values = self.categories.values

        def codes(opened: Private) -> list[int]:
            places = opened.places(_ENTRY, values)
            found: list[int] = np.where(places < 0, self.code(self.other), places).tolist()
            return found

        return _images(sequences, Field("category", values), codes)

    def counts(self, data: Read[int]) -> NDArray[np.int64]:
        """How many entries are in each state; private."""
        found = tallied(data).entries
        return np.array([found[code] for code in range(len(self))], dtype=np.int64)

    def plain(self, data: Codes) -> tuple[tuple[Hashable, ...], ...]:
        """The sequences of states again, as a user's own function sees them."""
        return tuple(tuple(self.names[code] for code in user) for user in data)

    def describe(self) -> dict[str, Any]:
        """The domain, for a certificate."""
        return {"states": list(self.names), "undeclared entries count as": self.other}


@dataclass(frozen=True)
class Numbers:
    """Numbers between declared bounds. Values outside, infinities too, are clipped; what is missing, or no number,
    counts as `missing`: the middle of the bounds unless declared.

    >>> Numbers(0, 10, missing=5).read([1.5, 99, float("nan"), "2.5", "V27.0"])
    ((Fraction(3, 2), Fraction(10, 1), Fraction(5, 1), Fraction(5, 2), Fraction(5, 1)),)
    """

    low: Real
    high: Real
    missing: Real | None = None

    def __post_init__(self) -> None:
        given = {"low": self.low, "high": self.high, **({} if self.missing is None else {"missing": self.missing})}
        for name, number in given.items():
            try:
                object.__setattr__(self, name, as_fraction(number))
            except (TypeError, ValueError):
                raise UsageError(f"{name} must be a finite number, got {number!r}") from None
        if not self.low < self.high:
            raise UsageError(f"bounds must be increasing, got {float(self.low):g} and {float(self.high):g}")
        if self.missing is None:
            object.__setattr__(self, "missing", (as_fraction(self.low) + as_fraction(self.high)) / 2)
        elif not self.low <= self.missing <= self.high:
            raise UsageError("missing must be a number within the bounds")

    @property
    def width(self) -> Fraction:
        """high - low: how far one entry can move a sum."""
        return as_fraction(self.high) - as_fraction(self.low)

    def read(self, sequences: object) -> Read[Fraction]:
        """Each entry as the exact number it stands for, within the bounds; a total function of each entry alone."""
        low, high = as_fraction(self.low), as_fraction(self.high)

        def figure(entry: Any) -> Fraction:
            number = exact_cell(entry)
            if number is None:
                return as_fraction(self.missing or 0)
            return low if number <= low else high if number >= high else as_fraction(number)

        return _images(sequences, Field("number"), lambda opened: opened.images(_ENTRY, figure))

    def plain(self, data: Figures) -> Figures:
        """The sequences as a user's own function sees them: clipped, exact."""
        return data

    def describe(self) -> dict[str, Any]:
        """The domain, for a certificate."""
        return {"clipped to": [str(self.low), str(self.high)], "missing entries count as": str(self.missing)}


def states_from(claims: Mapping[str, Any]) -> States:
    """The states that a certificate describes."""
    return States(claims["entries"]["states"], claims["entries"]["undeclared entries count as"])


def numbers_from(claims: Mapping[str, Any]) -> Numbers:
    """The numbers that a certificate describes."""
    low, high = map(read_number, claims["entries"]["clipped to"])
    return Numbers(low, high, read_number(claims["entries"]["missing entries count as"]))


def exact_cell(cell: Any) -> Fraction | float | None:
    """The number that a cell is or spells, exactly (a float is its decimal), or an infinity; None if it is none.

    >>> exact_cell(0.1), exact_cell("1e3"), exact_cell(10**400) == 10**400, exact_cell("1e999"), exact_cell("V27.0")
    (Fraction(1, 10), Fraction(1000, 1), True, inf, None)
    """
    if is_missing(cell) or isinstance(cell, np.timedelta64):  # numpy counts times among the integers
        return None
    if isinstance(cell, int | Fraction):
        return Fraction(cell)
    if isinstance(cell, np.integer):
        return Fraction(int(cell))
    if isinstance(cell, Decimal) and cell.is_finite() and abs(cell.adjusted()) <= _LONGEST:
        return Fraction(cell)
    number = number_of(cell)
    return None if math.isnan(number) else number if math.isinf(number) else as_fraction(number)
