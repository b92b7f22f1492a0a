"""What is priced: one order of one pair of secrets, and the charges that make a distance between values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fugu.errors import CertificateError, UsageError
from fugu.numbers.checks import is_count, is_texts
from fugu.numbers.exact import read_number
from fugu.visible import Json, brief

# One order of one pair of secrets: two laws on common states, and the distance that the charges make of them.
#
# States that agree on every charged feature are one state, and states that neither law has are none: `Problem.of`
# merges them, in the lexicographic order of their values with the features sorted by name. Proofs count states in that
# order.

Ints = NDArray[np.int64]
_LARGEST = 2**53
PAIRS = 64
"""Pairs in a plan for each state, at most: a vertex of the program has two."""


@dataclass(frozen=True, eq=False)
class PricingProblem:
    """What is priced: at state x the law of s has p[x] of `sum(p)`, that of t has q[x] of `sum(q)`.

    Parameters:
        p: counts of the states given s.
        q: counts given t; p + q > 0 everywhere.
        charges: joined, each of them a `Rate` or `Jump`.
        codes: for every charge a number at every state; a Line charges their distance, Cells a difference.
        apart: the epsilon that is added on top.
        own: the sum of all per-record epsilons, which no bound exceeds.
        names: the features that are charged, sorted.
        values: their values at every state.
    """

    p: Ints
    q: Ints
    charges: tuple[Rate | Jump, ...]
    codes: Ints
    apart: Fraction
    own: Fraction
    names: tuple[str, ...]
    values: Ints
    size: int = field(init=False)
    """How many states there are."""
    spans: list[int] = field(init=False)
    """The largest step of each charge between two of the states."""
    units: NDArray[np.float64] = field(init=False)
    """What one step of each charge costs, in doubles."""
    widest: Fraction = field(init=False)
    """The largest distance between two states, or a bound on it."""

    @classmethod
    def of(cls, states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge]) -> PricingProblem:
        """Check what is given, and merge what the charges cannot tell apart."""
        p, q = counts(p, "s"), counts(q, "t")
        if p.size != q.size:
            raise UsageError("the two laws do not stand on the same states")
        all_charges = joined(charges)
        kept = tuple(c for c in all_charges if not isinstance(c, Apart))
        names = sorted({name for c in kept for name in c.reads})
        values = np.empty((p.size, len(names)), dtype=np.int64)
        for place, name in enumerate(names):
            if name not in states:
                raise UsageError(f"a charge reads feature {name!r}, of which the law does not speak")
            column = np.asarray(states[name])
            if column.shape != p.shape or column.dtype.kind not in "iu":
                raise UsageError(f"feature {name!r} must have one whole number for each state")
            if max(-int(column.min()), int(column.max())) > _LARGEST:
                raise UsageError(f"feature {name!r} has values beyond 2^53")
            values[:, place] = column
        seen = (p > 0) | (q > 0)
        distinct, where = np.unique(values[seen], axis=0, return_inverse=True)
        where = where.ravel()
        merged_p, merged_q = np.zeros((2, len(distinct)), dtype=np.int64)
        np.add.at(merged_p, where, p[seen])
        np.add.at(merged_q, where, q[seen])
        codes = np.empty((len(kept), len(distinct)), dtype=np.int64)
        for row, charge in enumerate(kept):
            columns = distinct[:, [names.index(name) for name in charge.reads]]
            if isinstance(charge, Jump):
                codes[row] = np.unique(columns, axis=0, return_inverse=True)[1].ravel()
            else:
                codes[row] = columns[:, 0]
                if int(np.ptp(codes[row])) > charge.most:
                    raise UsageError(f"feature {charge.feature!r} moves by more than the {charge.most} of its charge")
        apart = sum((c.own for c in all_charges if isinstance(c, Apart)), Fraction(0))
        own = sum((c.own for c in charges), Fraction(0))
        return cls(merged_p, merged_q, kept, codes, apart, own, tuple(names), distinct)

    def __post_init__(self) -> None:
        wide = [int(np.ptp(code)) for code in self.codes]
        spans = [wide[k] if isinstance(c, Rate) else min(wide[k], 1) for k, c in enumerate(self.charges)]
        units = [c.unit for c in self.charges]
        known = {
            "size": self.p.size, "spans": spans, "units": np.array([float(unit) for unit in units]),
            "widest": sum((unit * span for unit, span in zip(units, spans, strict=True)), Fraction(0)),
        }  # fmt: skip
        for name, value in known.items():
            object.__setattr__(self, name, value)

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
            if isinstance(charge, Jump):
                np.minimum(found[row], 1, out=found[row])
        return found


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


# Charges: what one release can tell about one record, as a distance between two values of the record.
#
# A release is *Lam-private* if its law changes by at most a factor e^Lam(x, x') when one record changes from x to x'.
# Releases add, adaptively too: Lam is the sum of the charges. Three shapes cover all that fugu releases:
#
# | release                                              | charge                                      |
# |------------------------------------------------------|---------------------------------------------|
# | count, sum or mean of f with Laplace noise           | `Line`: rate |f(x) - f(x')|                 |
# | histogram, quantile, top-k, anything from outside    | `Cells`: epsilon if the features differ     |
# | whatever reads columns that no law speaks of         | `Apart`: epsilon, on top of all the rest    |
#
# Proofs: docs/proofs/metric-charges.md#charges.

States = Mapping[str, NDArray[np.int64]]
"""The value of each feature at each of the distinct states of a record."""


class _Charge:
    """What the three shapes share: one number, `epsilon` or the `rate` of a line, which costs one step."""

    kind: ClassVar[str]
    number: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        x = getattr(self, self.number)
        if isinstance(x, bool) or not isinstance(x, int | Fraction) or x < 0:
            name = f"the {self.number} of a charge"
            raise UsageError(f"{name} must be a finite exact number (a Fraction), not below 0; got {brief(x)}")
        object.__setattr__(self, self.number, Fraction(x))

    @property
    def unit(self) -> Fraction:
        """What one step of it costs."""
        found: Fraction = getattr(self, self.number)
        return found

    @property
    def own(self) -> Fraction:
        """The per-record epsilon of the release by itself."""
        return self.unit

    @property
    def reads(self) -> tuple[str, ...]:
        """The features that it reads."""
        return ()

    @property
    def shape(self) -> tuple[object, ...]:
        """What it is but for its number: charges of one shape are one charge, of the sum of their numbers."""
        return (self.kind,)

    def of(self, number: Fraction) -> Self:
        """The same charge with another number."""
        return replace(self, **{self.number: number})  # type: ignore[type-var]

    def to_json(self) -> Json:
        """The charge as plain data; `charge_from` reads it."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        plain = {n: str(x) if n == self.number else list(x) if n == "features" else x for n, x in stated.items()}
        return {"charge": self.kind, **plain}


@dataclass(frozen=True)
class Rate(_Charge):
    """rate * |f(x) - f(x')| for a whole-numbered feature f.

    Parameters:
        feature: the name of f.
        rate: the loss for each unit that f changes by (1/b for Laplace noise of scale b); finite.
        most: the largest |f(x) - f(x')| on the whole domain, seen or not.
    """

    feature: str
    rate: Fraction
    most: int
    kind = "line"
    number = "rate"

    def __post_init__(self) -> None:
        _named([self.feature])
        super().__post_init__()
        if not is_count(self.most, 0):
            raise UsageError(f"the range of a charge must be a whole number, got {brief(self.most)}")

    @property
    def own(self) -> Fraction:
        return self.rate * self.most

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.feature,)

    @property
    def shape(self) -> tuple[object, ...]:
        return self.kind, self.feature, self.most


@dataclass(frozen=True)
class Jump(_Charge):
    """epsilon if any of the features changes, else nothing.

    Parameters:
        features: the names of the features that the release reads.
        epsilon: the loss if they change in any way; finite.
    """

    features: tuple[str, ...]
    epsilon: Fraction
    kind = "cells"

    def __post_init__(self) -> None:
        if isinstance(self.features, str) or not is_texts(self.features) or not tuple(self.features):
            raise UsageError(f"a charge on cells names its features, got {brief(self.features)}")
        object.__setattr__(self, "features", tuple(self.features))
        _named(self.features)
        super().__post_init__()

    @property
    def reads(self) -> tuple[str, ...]:
        return self.features

    @property
    def shape(self) -> tuple[object, ...]:
        return self.kind, frozenset(self.features)


@dataclass(frozen=True)
class Apart(_Charge):
    """epsilon on top of everything else: the release reads columns that no law speaks of.

    Parameters:
        epsilon: the per-record epsilon of the release; finite.
    """

    epsilon: Fraction
    kind = "apart"


RecordCharge = Rate | Jump | Apart
_KINDS: dict[object, type[RecordCharge]] = {kind.kind: kind for kind in (Rate, Jump, Apart)}


def charge_from(content: Any) -> RecordCharge:
    """The charge that `to_json` wrote; CertificateError if it is none."""
    stated = dict(content) if isinstance(content, dict) else {}
    kind = stated.pop("charge", None)
    made = _KINDS.get(kind) if isinstance(kind, str) else None
    if made is None or set(stated) != {field.name for field in fields(made)}:
        raise CertificateError(f"{brief(content)} is not a charge: it is line, cells or apart, with its numbers")
    try:
        return made(**{**stated, made.number: read_number(stated[made.number])})
    except UsageError as error:
        raise CertificateError(f"a charge that cannot be read: {error}") from None


def joined(charges: Sequence[RecordCharge]) -> tuple[RecordCharge, ...]:
    """The same total with one charge for each shape and features: numbers of the same shape are added first.

    Parameters:
        charges: in any order; the answer is in the order of first appearance, and charges of nothing are left out.

    >>> [str(c.own) for c in joined([Jump(("a",), Fraction(1)), Apart(Fraction(1)), Jump(("a",), Fraction(2))])]
    ['3', '1']
    """
    found: dict[object, RecordCharge] = {}
    for charge in charges:
        if charge.own:
            total = charge.unit + (found[charge.shape].unit if charge.shape in found else 0)
            found[charge.shape] = charge.of(total)
            if isinstance(charge, Jump):  # its features in the order of their names
                found[charge.shape] = Jump(tuple(sorted(charge.features)), total)
    return tuple(found.values())


def _named(features: Sequence[object]) -> None:
    if not all(isinstance(name, str) for name in features):
        raise UsageError("features are named by texts")
    if len(set(features)) != len(features):
        raise UsageError("a charge names a feature twice")


# The distance Lam between states in doubles, a few rows at a time: closures of potentials and neighbours.
#
# Everything here is a search: nothing of it is believed (`checking` sums again, in balls).

Floats = NDArray[np.float64]
_BLOCK = 2**18
"""Distances at a time: they stay in the cache, which is worth a factor of three."""


class Distances:
    """Lam(x, y) of a problem, from its codes and what one step of each charge costs."""

    def __init__(self, problem: PricingProblem) -> None:
        self.size = problem.size
        self.line = [isinstance(c, Rate) for c in problem.charges]
        self.units = problem.units
        self.codes = problem.codes.astype(np.float64)

    def between(self, i: Ints, j: Ints) -> Floats:
        """Lam for pairs."""
        found = np.zeros(len(i))
        for code, step, line in zip(self.codes, self.units, self.line, strict=True):
            found += step * (np.abs(code[i] - code[j]) if line else code[i] != code[j])
        return found

    def rows(
        self, start: Floats | None = None, x: Ints | slice = slice(None), y: Ints | slice = slice(None)
    ) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows of the matrix Lam(x, y) + start(y); each block is written over by the next.

        `x`, `y`: the states that have a row, and those that have a column."""
        ends, starts = self.codes[:, y], self.codes[:, x]
        size, width = starts.shape[1], ends.shape[1]
        height = max(1, _BLOCK // width)
        whole, part = np.empty((2, height, width))
        for first in range(0, size, height):
            taken = slice(first, min(first + height, size))
            found, work = whole[: taken.stop - first], part[: taken.stop - first]
            found[:] = 0.0 if start is None else start
            for code, end, step, line in zip(starts, ends, self.units, self.line, strict=True):
                if line:
                    np.subtract(code[taken, None], end, out=work)
                    np.abs(work, out=work)
                    work *= step
                else:
                    np.multiply(code[taken, None] != end, step, out=work)
                found += work
            yield taken, found

    def nearly(
        self, start: Floats, x: Ints, y: Ints, more: float, few: int = 1
    ) -> tuple[Floats, tuple[Ints, Ints, Floats]]:
        """For each of `x` the least Lam(x, y) + start(y); and, as places in `x` and `y`, the pairs that are at most
        `more` above it, at least `few` for each of `x`, with how far they are above it."""
        least, few = np.empty(x.size), min(few, y.size) - 1
        found: list[tuple[Ints, Ints, Floats]] = []
        for taken, block in self.rows(start, x, y):
            least[taken] = block.min(axis=1)
            rise = np.subtract(block, least[taken, None], out=block)
            most = more if few < 1 else np.maximum(np.partition(rise, few, axis=1)[:, few, None], more)
            i, j = np.divmod(np.flatnonzero(rise <= most), y.size)
            found.append((i + taken.start, j, rise[i, j]))
        i, j, above = (np.concatenate([each[k] for each in found]) for k in range(3))
        return least, (i, j, above)

    def closure(self, h: Floats) -> Floats:
        """min over y of Lam(x, y) + h(y): the largest Lipschitz function below h."""
        found = np.empty(self.size)
        for taken, block in self.rows(h):
            found[taken] = block.min(axis=1)
        return found

    def steepest(self, h: Floats) -> tuple[Ints, Ints, Floats]:
        """For every x the y != x with the least Lam(x, y) + h(y) - h(x), and for every y such an x: both as pairs."""
        everywhere = np.arange(self.size)
        to, best, source = np.empty(self.size, dtype=np.int64), np.full(self.size, np.inf), np.zeros_like(everywhere)
        for taken, block in self.rows(h):
            inside = np.arange(taken.stop - taken.start)
            block[inside, everywhere[taken]] = np.inf
            to[taken] = block.argmin(axis=1)
            slack = np.subtract(block, h[taken, None], out=block)
            nearest = slack.argmin(axis=0)
            value = slack[nearest, everywhere]
            lower = value < best
            best[lower], source[lower] = value[lower], taken.start + nearest[lower]
        i, j = np.concatenate([everywhere, source]), np.concatenate([to, everywhere])
        return i, j, self.between(i, j) + h[j] - h[i]

    def neighbours(self, near: int) -> tuple[Ints, Ints]:
        """Pairs that are close: the `near` closest, and the closest of those that move along each charge.

        A chain through all states is among them, so that every state can be reached from every other.
        """
        near, everywhere = min(near, self.size - 1), np.arange(self.size)
        pairs = [(everywhere[:-1], everywhere[1:])]
        for taken, block in self.rows():
            rows = everywhere[taken]
            inside = np.arange(rows.size)
            block[inside, rows] = np.inf
            if near == 1:
                pairs.append((rows, block.argmin(axis=1)))
            elif near:
                closest = np.argpartition(block, near - 1, axis=1)[:, :near]
                pairs.append((np.repeat(rows, near), closest.ravel()))
            for code, line in zip(self.codes, self.line, strict=True):
                step = code[taken, None] - code
                for moves in (step > 0, step < 0) if line else (step != 0,):
                    masked = np.where(moves, block, np.inf)
                    found = masked.argmin(axis=1)
                    there = np.isfinite(masked[inside, found])
                    pairs.append((rows[there], found[there]))
        i, j = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
        return distinct(np.concatenate([i, j]), np.concatenate([j, i]), self.size)


def distinct(i: Ints, j: Ints, size: int) -> tuple[Ints, Ints]:
    """Every pair once, and none of a state with itself."""
    keys = np.unique((i * size + j)[i != j])
    return keys // size, keys % size
