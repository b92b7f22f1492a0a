"""`Records`: a table of independent records, one of which holds the secret; the law of that record is known.

Unlike the other priors, this one makes releases worth *less* than their epsilon for each entry: the secret only tilts
the law of its own record, and the other records say nothing about it.

Proofs: docs/proofs/records.md#one-epsilon-for-each-record, docs/proofs/records.md#assumptions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from fugu.data import Schema
from fugu.data.frame import Table
from fugu.data.secrets import ProtectLike, Secrets, read_protect
from fugu.data.sources import TableLike
from fugu.errors import BadLaw, BadTable, MissingValues, RepeatedUnit, UsageError
from fugu.laws import Discrete
from fugu.numbers.checks import is_list, is_row, is_texts, listed
from fugu.numbers.exact import VectorLike, as_fraction
from fugu.priors.prior import Recorded
from fugu.priors.record_counts import EVERY, grouped, places, pooled
from fugu.priors.record_laws import ASSUMPTIONS, DEPENDENT, KNOWN_GROUPS, LEAST_ROWS, RecordLaw, parts_of
from fugu.visible import brief


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
        _check_unit(public, unit)
        secrets = asked.find(public, missing="drop")
        _check(secrets, len(public))
        read = reading.completed(public, [*used, *groups]).read(public, [*used, *groups])
        states, size = places(read, used)
        laws = [pooled(secrets, states, size)]
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
        law = RecordLaw(who, _common(laws))
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


def _check(secrets: Secrets, rows: int) -> None:
    """There must be something to tell apart, and something to learn it from."""
    if not rows:
        raise BadTable("the reference has no rows")
    if gone := [name for name, count in secrets.missing if count]:
        raise MissingValues(
            f"column {gone[0]!r} decides the secret and has missing cells in the reference; fill them in, perhaps with "
            "a category of their own, or leave those rows out"
        )
    if len(secrets.labels) < 2:
        raise BadTable("the reference shows fewer than two secrets, so there is nothing to tell apart")


def _check_unit(public: Table, unit: str | None) -> None:
    if unit is None:
        return
    codes, distinct = public.exact(unit).codes(ordered=False)
    if (codes < 0).any():
        raise MissingValues(f"the unit, column {unit!r}, is missing in some rows of the reference; fill it in")
    if len(distinct) < len(codes):
        raise RepeatedUnit(f"some units of column {unit!r} own several rows: {DEPENDENT}; keep one row for each unit")


def _common(laws: Mapping[str, VectorLike | Discrete]) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The laws as whole numbers over the same states."""
    atoms = {s: law for s, law in laws.items() if isinstance(law, Discrete)}
    if not atoms:
        return {s: _whole(s, law) for s, law in laws.items()}
    if len(atoms) < len(laws) or any(law.error or law.values.ndim > 1 for law in atoms.values()):
        raise BadLaw("give all laws as Discrete on a line with exact weights, or all as lists of numbers")
    values = np.unique(np.concatenate([law.values for law in atoms.values()]))
    found = {}
    for s, law in atoms.items():
        dense = np.zeros(len(values), dtype=object)
        dense[np.searchsorted(values, law.values)] = law.masses.whole()[0]
        found[s] = _whole(s, dense)
    return found


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
