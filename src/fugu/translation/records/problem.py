"""One order of one pair of secrets: two laws on common states, and the distance that the charges make of them.

States that agree on every charged feature are one state, and states that neither law has are none: `Problem.of` merges
them, in the lexicographic order of their values with the features sorted by name. Proofs count states in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.translation.records.charges import Apart, Cells, Line, RecordCharge, States, joined, shape

Ints = NDArray[np.int64]
_LARGEST = 2**53


@dataclass(frozen=True, eq=False)
class Problem:
    """What is priced: at state x the law of s has p[x] of `sum(p)`, that of t has q[x] of `sum(q)`.

    Parameters:
        p: counts of the states given s.
        q: counts given t; p + q > 0 everywhere.
        charges: joined, each of them a `Line` or `Cells`.
        codes: for every charge a number at every state; a Line charges their distance, Cells a difference.
        apart: the epsilon that is added on top.
        own: the sum of all per-record epsilons, which no bound exceeds.
    """

    p: Ints
    q: Ints
    charges: tuple[Line | Cells, ...]
    codes: Ints
    apart: Fraction
    own: Fraction

    @classmethod
    def of(cls, states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge]) -> Problem:
        """Check what is given, and merge what the charges cannot tell apart."""
        p, q = counts(p, "s"), counts(q, "t")
        if p.size != q.size:
            raise UsageError("the two laws do not stand on the same states")
        all_charges = joined(charges)
        kept = tuple(c for c in all_charges if not isinstance(c, Apart))
        names = sorted({name for c in kept for name in features(c)})
        values = np.empty((p.size, len(names)), dtype=np.int64)
        for place, name in enumerate(names):
            values[:, place] = _column(states, name, p.size)
        seen = (p > 0) | (q > 0)
        distinct, where = np.unique(values[seen], axis=0, return_inverse=True)
        where = where.ravel()
        merged_p, merged_q = np.zeros((2, len(distinct)), dtype=np.int64)
        np.add.at(merged_p, where, p[seen])
        np.add.at(merged_q, where, q[seen])
        codes = np.empty((len(kept), len(distinct)), dtype=np.int64)
        for row, charge in enumerate(kept):
            columns = distinct[:, [names.index(name) for name in features(charge)]]
            if isinstance(charge, Cells):
                codes[row] = np.unique(columns, axis=0, return_inverse=True)[1].ravel()
            else:
                codes[row] = columns[:, 0]
                if int(np.ptp(codes[row])) > charge.most:
                    raise UsageError(f"feature {charge.feature!r} moves by more than the {charge.most} of its charge")
        return cls(merged_p, merged_q, kept, codes, _apart(all_charges), _own(charges))

    def at(self, charges: Sequence[RecordCharge]) -> Problem:
        """The same states under charges of the same shapes and other numbers."""
        together = joined(charges)
        kept = tuple(c for c in together if not isinstance(c, Apart))
        if [shape(c) for c in kept] != [shape(c) for c in self.charges]:
            raise UsageError("these charges have other shapes, which tell other states apart")
        return replace(self, charges=kept, apart=_apart(together), own=_own(charges))

    @property
    def size(self) -> int:
        """How many states there are."""
        return self.p.size

    @property
    def spans(self) -> list[int]:
        """The largest step of each charge between two of the states."""
        wide = [int(np.ptp(code)) for code in self.codes]
        return [wide[k] if isinstance(c, Line) else min(wide[k], 1) for k, c in enumerate(self.charges)]

    @property
    def widest(self) -> Fraction:
        """The largest distance between two states, or a bound on it."""
        return sum((unit(c) * span for c, span in zip(self.charges, self.spans, strict=True)), Fraction(0))

    @property
    def equal(self) -> bool:
        """Whether the two laws are the same."""
        total_p, total_q = int(self.p.sum()), int(self.q.sum())
        return all(x * total_q == y * total_p for x, y in zip(self.p.tolist(), self.q.tolist(), strict=True))

    @property
    def direction(self) -> int | None:
        """1 if p/q rises along the codes of the first charge, -1 if it falls, 0 if it is constant, None otherwise."""
        order = np.argsort(self.codes[0], kind="stable")
        p, q = self.p[order].tolist(), self.q[order].tolist()
        turns = (p[k + 1] * q[k] - p[k] * q[k + 1] for k in range(len(p) - 1))
        signs = {(x > 0) - (x < 0) for x in turns} - {0}
        return None if len(signs) > 1 else next(iter(signs), 0)

    def steps(self, i: Ints, j: Ints) -> Ints:
        """How far apart the states i and j are under each charge, in its units: a row for every charge."""
        found: Ints = np.abs(self.codes[:, i] - self.codes[:, j])
        for row, charge in enumerate(self.charges):
            if isinstance(charge, Cells):
                np.minimum(found[row], 1, out=found[row])
        return found

    @property
    def units(self) -> NDArray[np.float64]:
        """What one step of each charge costs, in doubles."""
        return np.array([float(unit(c)) for c in self.charges])


def _own(charges: Sequence[RecordCharge]) -> Fraction:
    return sum((c.own for c in charges), Fraction(0))


def _apart(charges: Sequence[RecordCharge]) -> Fraction:
    return _own([c for c in charges if isinstance(c, Apart)])


def unit(charge: Line | Cells) -> Fraction:
    """What one step of a charge costs: the rate of a line, the epsilon of cells."""
    return charge.rate if isinstance(charge, Line) else charge.epsilon


def features(charge: Line | Cells) -> tuple[str, ...]:
    """The features that a charge reads."""
    return (charge.feature,) if isinstance(charge, Line) else charge.features


def counts(law: object, whose: str) -> Ints:
    """Whole-number weights of a law, not all of them zero."""
    found = np.asarray(law)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise UsageError(f"the law given {whose} must be a list of whole-number counts")
    if not found.size or int(found.min()) < 0 or not found.any():
        raise UsageError(f"the law given {whose} must have counts, none below 0 and not all of them 0")
    if int(found.max()) * found.size >= 2**62:
        raise UsageError(f"the counts of the law given {whose} are too large")
    return found.astype(np.int64)


def _column(states: States, name: str, size: int) -> Ints:
    if name not in states:
        raise UsageError(f"a charge reads feature {name!r}, of which the law does not speak")
    column = np.asarray(states[name])
    if column.shape != (size,) or column.dtype.kind not in "iu":
        raise UsageError(f"feature {name!r} must have one whole number for each state")
    if size and max(-int(column.min()), int(column.max())) > _LARGEST:
        raise UsageError(f"feature {name!r} has values beyond 2^53")
    return column.astype(np.int64)
