"""Which rows two tables share, whether chance alone would make them, and which data sets of a ledger hold them."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import binom

from fugu.data.field import Field, is_gone
from fugu.data.frame import Table
from fugu.data.private import label_of
from fugu.data.schema import ABSENT
from fugu.errors import UsageError
from fugu.ledger.cells import Bits, cells
from fugu.ledger.fingerprint import Keyed, beyond_chance, fingerprints, keyed_marks, within
from fugu.ledger.keys import key_of
from fugu.ledger.state import Registered
from fugu.ledger.store import File, LockedView, stored
from fugu.visible import Json

# Which rows two tables share, and whether chance alone would make them.
#
# Two independent samples of one law coincide in a row as often as rows within one of them do: put all rows together,
# and every row is in the first with the same probability q = n / (n + m), whatever its twins are. A value that c rows
# have is then in both min(a, c - a) times with a ~ Bin(c, q), and the number of shared rows is a sum of such numbers,
# nearly independent (of a fixed number of rows they are negatively associated, so the bound below still holds).
# Chernoff's bound on its tail says how likely chance alone shares as many.


CHANCE: Final = 1e-4
"""Shared rows that chance makes less often than this are said to be beyond it."""
PEOPLE: Final = 0.01
"""A share of people in both above this is said aloud."""
_ODD: Final = 0x9E3779B97F4A7C15
"""Powers of an odd number tell the columns of a row apart in the sum of its cells, which are 64 mixed bits each."""
_MANY: Final = 60
"""A value of more rows than this is in both tables in any case, and says nothing."""


@final
@dataclass(frozen=True)
class Overlap:
    """What of the table is in another one: `shared` of `records` rows, or people.

    `other`: "the reference", or the name of a data set of the ledger. `what`: "rows" or "people". `chance`: how many
    rows chance alone would share, by the twins within the reference; None where that is not known. `beyond`: whether it
    is more than chance explains."""

    other: str
    what: str
    shared: int
    records: int
    chance: float | None
    beyond: bool

    @property
    def words(self) -> str:
        """One sentence."""
        share = f"{self.shared:,} of {self.records:,} {self.what} ({self.shared / max(self.records, 1):.1%})"
        chance = "" if self.chance is None else f"; chance alone would make it about {self.chance:.3g}"
        more = f": {self._meaning}" if self.beyond else ""
        return f"{share} are in {self.other} too{chance}{more}"

    @property
    def _meaning(self) -> str:
        if self.other != "the reference":
            return "they have one budget"
        return (
            "the reference is said to be independent of the table, and its counts go out with the certificate; take "
            "one with other people in it"
        )

    def to_json(self) -> Json:
        """Plain data."""
        return {**asdict(self), "words": self.words}


def shared_rows(table: Table, reference: Table, unit: str | None = None) -> Overlap | None:
    """How many rows of the table are in the reference, in all columns that both have but the unit; None without any."""
    common = [name for name in table.columns if name in reference.columns and name != unit]
    if not common or not len(table) or not len(reference):
        return None
    one, two = (np.zeros(len(each), dtype=np.uint64) for each in (table, reference))
    pairs = float(len(one)) * len(two)
    """How many pairs of rows would be alike if columns knew nothing of each other."""
    for k, name in enumerate(common):
        bits = [cells(each.raw(name)) for each in (table, reference)]
        mine, theirs = _counts(*bits)
        pairs *= float(mine @ theirs) / len(one) / len(two)
        place = np.uint64(pow(_ODD, 2 * k + 1, 2**64))
        one, two = one + bits[0] * place, two + bits[1] * place
    mine, theirs = _counts(one, two)
    shared = int(np.minimum(mine, theirs).sum())
    twins = 1 - np.count_nonzero(theirs == 1) / len(two)  # so often a row of the reference has a twin there
    chance = min(max(twins * len(one), pairs), float(shared))
    beyond = log_tail(mine, theirs) < math.log(CHANCE) and not _expected(shared, pairs)
    return Overlap("the reference", "rows", shared, len(one), chance, beyond)


def shared_people(table: Table, reference: Table, unit: str | None) -> Overlap | None:
    """How many of the people of the table are in the reference; None where one of the two does not name them."""
    if unit is None or unit not in table.columns or unit not in reference.columns:
        return None
    one, two = (_people(each, unit) for each in (table, reference))
    shared = len(one & two)
    return Overlap("the reference", "people", shared, len(one), None, shared > PEOPLE * max(len(one), 1))


def _people(table: Table, unit: str) -> set[str]:
    column = Field("identifier").read(unit, table.raw(unit))
    return set(map(label_of, column.values[~column.missing].tolist()))


def log_tail(mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> float:
    """A bound on ln P(rows put into two tables at random are shared as often as these), for values of at most 60 rows.

    `mine`, `theirs`: how often each value is in the one and in the other. P(S >= s) <= E exp(t S) / exp(t s), any t."""
    both = mine + theirs
    some = (both > 1) & (both <= _MANY)
    seen = int(np.minimum(mine, theirs)[some].sum())
    if not seen:
        return 0.0
    share = float(mine.sum() / both.sum())
    sizes, times = np.unique(both[some], return_counts=True)
    laws = [(np.minimum(k := np.arange(c + 1), c - k), binom.logpmf(k, c, share)) for c in sizes.tolist()]

    def exponent(rate: float) -> float:
        made = (n * float(logsumexp(rate * x + mass)) for n, (x, mass) in zip(times.tolist(), laws, strict=True))
        return sum(made, -rate * seen)

    return min(0.0, float(minimize_scalar(exponent, bounds=(0.0, 60.0), method="bounded").fun))


def _expected(shared: int, pairs: float) -> bool:
    """Whether columns that know nothing of each other would share as many rows (Chernoff's bound for Poisson's law):
    in tables without twins, such as lists of all that there is."""
    if shared <= pairs or pairs == 0:
        return shared <= pairs
    return shared - pairs + shared * math.log(pairs / shared) > math.log(CHANCE)


def _counts(one: Bits, two: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each value that occurs is in the first and in the second."""
    values, codes = np.unique(np.concatenate([one, two]), return_inverse=True)
    found = (np.bincount(part, minlength=len(values)) for part in np.split(codes, [len(one)]))
    return next(found), next(found)


# Which data sets of a ledger hold the same people, or the same rows: for the owner, and without charging anything.


def in_ledger(
    table: Table, ledger: str | os.PathLike[str], unit: str | None, data: str | None = None
) -> list[Overlap | None]:
    """Of every data set that the ledger would take for one of the same people: how many of them are in both.

    By the column that names the person, where the ledger knows who is in the data set; else by its rows. `data`: the
    name of the table itself in the ledger, which may be new yet."""
    path = Path(ledger)
    if not path.is_file():
        if data is not None:
            return []
        raise UsageError(f"no ledger {path.name!r}; check the path")
    named = () if unit is None or unit not in table.columns else table.raw(unit).to_list()
    marks = fingerprints(table, [cell for cell in named if not is_gone(cell, frozenset(ABSENT))] or None)

    def look(view: LockedView) -> list[Overlap | None]:
        own = keyed_marks(marks, key_of(view, path))
        others = {name: known for name, known in view.state.sets.items() if name != data}
        return [_shared(view, own, name, known, len(table)) for name, known in others.items()]

    return File(path, 30.0).read(look)


def _shared(view: LockedView, own: Keyed, name: str, known: Registered, rows: int) -> Overlap | None:
    """What of the table is in one data set; None if nothing is, or no more than by chance."""
    other = f"data set {name!r} of the ledger"
    if own.people is not None and known.people:
        inside = np.any([within(own.people, stored(view, held)) for held in known.people], axis=0)
        shared = int(np.count_nonzero(inside))
        return Overlap(other, "people", shared, len(own.people), None, True) if shared else None
    if (bits := own.rows) is not None:
        for held in known.rows:
            if beyond_chance(bits, theirs := stored(view, held)):
                return Overlap(other, "rows", int(within(bits, theirs).sum()), rows, None, True)
    same = bool(own.marks.keys() & set(known.marks))
    return Overlap(other, "rows", rows, rows, None, True) if same else None
