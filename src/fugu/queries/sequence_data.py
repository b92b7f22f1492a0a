"""Sequences of one or several users, read into a declared domain. Entries are all positions of all sequences.

Neighbouring data sets differ in one entry, replaced by any value of the domain. So the number of users and the
lengths are public; states and bounds are declared, never read off the data. What the data hold outside the domain is
mapped into it where the caller said how, as part of the query, and refused otherwise: then by a message without it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.errors import BadTable, MissingValues, UsageError
from fugu.exact import Real, as_fraction

_NESTED = (list, tuple, np.ndarray)
Codes = tuple[tuple[int, ...], ...]
Figures = tuple[tuple[Fraction, ...], ...]


def split_users(sequences: object) -> list[list[Any]]:
    """One list of entries per user, from a flat sequence (one user), a list or a mapping of sequences, or an array.

    >>> split_users(["a", "b"]), split_users({"u": ["a"], "v": ("b", "a")})
    ([['a', 'b']], [['a'], ['b', 'a']])
    """
    if isinstance(sequences, Mapping):
        sequences = list(sequences.values())
    elif hasattr(sequences, "to_list"):
        sequences = sequences.to_list()
    if isinstance(sequences, str | bytes) or not isinstance(sequences, _NESTED):
        raise BadTable(
            "sequences are a list of entries (one user), or a list or mapping of such lists, got "
            f"{type(sequences).__name__}"
        )
    rows = [row.to_list() if hasattr(row, "to_list") else row for row in sequences]
    nested = [isinstance(row, _NESTED) for row in rows]
    if any(nested) and not all(nested):
        raise BadTable("some items are sequences and some are not; give one list of entries, or a list of lists")
    users = [_entries(row) for row in rows] if any(nested) else [_entries(rows)]
    if not users or any(not user for user in users):
        raise BadTable("an empty sequence has no entry; leave such users out (lengths are public)")
    return users


def _entries(row: Any) -> list[Any]:
    entries = row.tolist() if isinstance(row, np.ndarray) else list(row)
    if any(isinstance(entry, _NESTED) for entry in entries):
        raise BadTable("an entry is one state or one number, not a list")
    return [entry.item() if isinstance(entry, np.generic) else entry for entry in entries]


def is_label(thing: object) -> bool:
    """A text or a number, which certificates and ledgers can hold and which equals itself."""
    return isinstance(thing, str | int) or (isinstance(thing, float) and not math.isnan(thing))


def is_missing(entry: object) -> bool:
    """None, NaN, or the missing marks of pandas."""
    if isinstance(entry, float):
        return math.isnan(entry)
    return entry is None or type(entry).__name__ in ("NAType", "NaTType")


@dataclass(frozen=True)
class States:
    """The declared states of an entry; with `other`, a declared state that takes in whatever else the data hold.

    >>> States(("home", "work", "other"), other="other").read(["home", "gym"])
    ((0, 2),)
    """

    names: Sequence[Hashable]
    other: Hashable | None = None

    def __post_init__(self) -> None:
        if isinstance(self.names, str | bytes):
            raise UsageError("states are a list of names, not one text")
        names = tuple(n.item() if isinstance(n, np.generic) else n for n in self.names)
        if not all(is_label(n) for n in names):
            raise UsageError("a state is a text or a number; None, NaN, dates and lists are none")
        if len(names) < 2 or len(set(names)) < len(names):
            raise UsageError("at least two states are needed, each declared once")
        object.__setattr__(self, "names", names)
        if self.other is not None and self.other not in names:
            raise UsageError(f"other={self.other!r} must be one of the declared states")

    def __len__(self) -> int:
        return len(self.names)

    def code(self, state: Hashable) -> int:
        """The place of a declared state."""
        if state not in self.names:
            raise UsageError(f"state {state!r} is not declared; declared are {list(self.names)[:8]}")
        return self.names.index(state)

    def read(self, sequences: object) -> Codes:
        """Each entry as the place of its state."""
        place = {name: i for i, name in enumerate(self.names)}
        spare = -1 if self.other is None else place[self.other]
        users = split_users(sequences)
        try:
            codes = tuple(tuple(place.get(entry, spare) for entry in user) for user in users)
        except TypeError:
            raise BadTable("an entry is neither text nor number; states are hashable values") from None
        if any(min(user) < 0 for user in codes):
            raise BadTable(
                "the sequences hold a state that is not declared (or a missing one); declare it, or give other=<state> "
                "to count it as that one"
            )
        return codes

    def plain(self, data: Codes) -> tuple[tuple[Hashable, ...], ...]:
        """The sequences of states again, as a user's own function sees them."""
        return tuple(tuple(self.names[code] for code in user) for user in data)

    def describe(self) -> dict[str, Any]:
        """The domain, for a certificate."""
        other = {} if self.other is None else {"undeclared entries count as": self.other}
        return {"states": list(self.names), **other}


@dataclass(frozen=True)
class Numbers:
    """Numbers between declared bounds. Values outside, infinities too, are clipped; NaN and None become `missing`.

    >>> Numbers(0, 10, missing=5).read([1.5, 99, float("nan")])
    ((Fraction(3, 2), Fraction(10, 1), Fraction(5, 1)),)
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
        if self.missing is not None and not self.low <= self.missing <= self.high:
            raise UsageError("missing must be a number within the bounds")

    @property
    def width(self) -> Fraction:
        """high - low: how far one entry can move a sum."""
        return as_fraction(self.high) - as_fraction(self.low)

    def read(self, sequences: object) -> Figures:
        """Each entry as the exact number it stands for, within the bounds."""
        seen: dict[Any, Fraction] = {}
        return tuple(tuple(self._figure(entry, seen) for entry in user) for user in split_users(sequences))

    def _figure(self, entry: Any, seen: dict[Any, Fraction]) -> Fraction:
        if is_missing(entry):
            if self.missing is None:
                raise MissingValues("the sequences have missing values; fill them in, or give missing=<number>")
            return as_fraction(self.missing)
        if isinstance(entry, bool) or not isinstance(entry, int | float | Fraction):
            raise BadTable("an entry is not a number; a sum or mean needs numbers")
        key = type(entry), entry  # 0.1 == Fraction(0.1), but they are read as different numbers
        if key not in seen:
            clipped = self.low if entry <= self.low else self.high if entry >= self.high else entry
            seen[key] = min(max(as_fraction(clipped), as_fraction(self.low)), as_fraction(self.high))
        return seen[key]

    def plain(self, data: Figures) -> Figures:
        """The sequences as a user's own function sees them: clipped, exact."""
        return data

    def describe(self) -> dict[str, Any]:
        """The domain, for a certificate."""
        missing = {} if self.missing is None else {"missing entries count as": str(self.missing)}
        return {"clipped to": [str(self.low), str(self.high)], **missing}
