"""Products and sums of nonnegative floats with proved errors, and the quilts of one entry that stand on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.priors.transitions import ENTRY, UNIT

# Products of transition kernels as logarithms, with exact zeros and an a-priori bound on the error.
#
# Proofs: docs/proofs/influence.md#rounding and docs/proofs/influence.md#any-start.

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_FLOOR = 1e-250  # below, products move to logarithms


@dataclass(frozen=True)
class Product:
    """A product of nonnegative matrices: logs (-inf exactly at the true zeros), each within `error` of the truth.

    In floats, a product of d kernels of k states has relative error at most d (k + 9) u: sums of products of
    nonnegative numbers lose at most k u a step, and each stored entry is within 8u of the one meant. Numbers that
    underflow add at most d k^2 2^-1074 in all (rows sum to at most 1), which is nothing next to entries above 1e-250.
    Which entries are zero is decided by reachability, never by underflow; as soon as a positive entry falls below
    1e-250 the product goes on in logarithms.
    """

    logs: Array
    positive: Mask
    error: float
    floats: Array | None = None
    relative: float = 0.0

    def then(self, step: Product) -> Product:
        """This kernel followed by one step."""
        positive = (self.positive.astype(np.float32) @ step.positive.astype(np.float32)) > 0
        inner = step.logs.shape[0]
        if self.floats is not None and step.floats is not None:
            floats = self.floats @ step.floats
            if floats[positive].min(initial=1.0) >= _FLOOR:
                relative = self.relative + step.relative + (inner + 1) * UNIT
                return _of_floats(np.where(positive, floats, 0.0), positive, relative)
        logs, most = np.empty((self.logs.shape[0], step.logs.shape[1])), 0.0  # most: the largest finite exponent met
        for x, row in enumerate(self.logs):
            terms = row[:, None] + step.logs
            top = terms.max(axis=0)
            shift = np.where(np.isfinite(top), top, 0.0)
            with np.errstate(divide="ignore"):
                logs[x] = shift + np.log(np.exp(terms - shift).sum(axis=0))
            most = max(most, largest(terms))
        return Product(logs, positive, self.error + step.error + (inner + 24 + 3 * most) * UNIT)

    def ratios(self) -> Array:
        """max over y of log K(x, y) - log K(x', y), for all (x, x'); +inf where x reaches a y that x' does not.

        A y that x does not reach has a zero numerator and is left out (corrected Definition 7). An upper bound.
        """
        return _worst(self.logs, self.error)

    def left_ratios(self, rows: Mask, free: bool) -> Array:
        """What the value z at the near end of this kernel adds for (x, x') at its far end, but for the law of X.

        That is max over z in `rows` of log K(z, x) - log K(z, x'), plus log mu(x') - log mu(x), which the caller adds.
        If the law of z is `free`, the two together are at most D(x, x') = max over z, z' in `rows` of
        log K(z, x) K(z', x') / (K(z, x') K(z', x)): mu(x') / mu(x) is a mean of K(z', x') / K(z', x) over z' with
        weights mu(z') K(z', x). Nothing is to be added then."""
        found = _worst(np.ascontiguousarray(self.logs[rows].T), self.error)
        return padded(found + found.T, 0.0) if free else found


def single(kernel: Array, relative: float = ENTRY) -> Product:
    """One kernel (or one law, as a row)."""
    return _of_floats(kernel, kernel > 0, relative)


def largest(values: Array) -> float:
    """The largest finite absolute value."""
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


def padded(values: Array, error: float) -> Array:
    """Upper bounds: each value plus its error and 16 roundings of the largest, enough for two later additions."""
    return values + (1.01 * error + 16 * UNIT * largest(values))


def _of_floats(floats: Array, positive: Mask, relative: float) -> Product:
    with np.errstate(divide="ignore"):
        logs = np.log(floats)
    error = 1.01 * relative + 8 * UNIT * largest(logs)
    return Product(logs, positive, error, None if floats[positive].min(initial=1.0) < _FLOOR else floats, relative)


def _worst(rows: Array, error: float) -> Array:
    found = np.zeros((len(rows), len(rows)))  # 0 for an x that reaches nothing: never compared
    for x, row in enumerate(rows):
        some = np.isfinite(row)
        if some.all():
            found[x] = (row - rows).max(axis=1)
        elif some.any():
            found[x] = (row[some] - rows[:, some]).max(axis=1)
    return padded(found, 2 * error)


# Sums and products of nonnegative floats that count their roundings, so that every ratio has a proved bound.
#
# Each rounding multiplies a number by 1 + d, |d| <= u = 2^-53, which moves its logarithm by at most u / (1 - u). Adding
# nonnegative numbers never amplifies this. So a number made with m roundings on the way has |log(computed / true)|
# <= m u / (1 - u), whatever it is, as long as nothing underflows; that is checked.
#
# Proofs: docs/proofs/quilts.md#rounding.

Floats = NDArray[np.float64]
STEP = 1.12e-16  # above u / (1 - u)
_LEAST = 1e-290
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class RoundedFloats:
    """Nonnegative floats, and the most roundings that any of them has gone through."""

    DIGESTED: ClassVar[str] = "Counted"
    """What the digests of priors call it since 0.1 (`fugu.ledger.fingerprint`)."""
    values: Floats
    roundings: int = 0


def least(values: Floats) -> float:
    """The smallest positive entry, 1 if there is none."""
    positive = values[values > 0]
    return float(positive.min()) if positive.size else 1.0


def combine(subscripts: str, a: RoundedFloats, b: RoundedFloats) -> RoundedFloats:
    """An einsum of two arrays of nonnegative numbers; a sum of K products adds at most K roundings."""
    if least(a.values) * least(b.values) < _LEAST:
        raise NotProvable(
            "some probability of this prior lies below 1e-290, where floats lose their digits; merge rare states"
        )
    inputs, output = subscripts.split("->")
    sizes = dict(zip(inputs.replace(",", ""), (*a.values.shape, *b.values.shape), strict=True))
    summed = math.prod(size for letter, size in sizes.items() if letter not in output)
    return RoundedFloats(np.einsum(subscripts, a.values, b.values), a.roundings + b.roundings + summed)


def laws(given: Any, name: str) -> RoundedFloats:
    """Rows that each sum to one: read as decimals, within 1e-12, and divided by their exact sum.

    One rounding reads a decimal; the sum of K entries takes K more, the division one.
    """
    try:
        rows = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be numbers") from None
    if rows.ndim == 0 or rows.size == 0 or not np.all(np.isfinite(rows)) or np.any(rows < 0):
        raise BadLaw(f"{name} must be probabilities: finite numbers >= 0 with at least one entry")
    if least(rows) < _LEAST:
        raise BadLaw(f"{name} has a positive probability below 1e-290; write 0 or merge rare states")
    sums = rows.sum(axis=-1, keepdims=True)
    if np.any(np.abs(sums - 1.0) > _TOLERANCE):
        raise BadLaw(f"{name} must sum to one along the last axis within {_TOLERANCE}; divide by the sum first")
    found = rows / sums
    found.flags.writeable = False
    return RoundedFloats(found, rows.shape[-1] + 3)


def log_ratios(laws: RoundedFloats) -> Floats:
    """max_z log p(z | x) / p(z | x') for all pairs of rows x, x', from above; +inf where p(z | x) > 0 = p(z | x').

    A z with p(z | x) = 0 does not count. A row of zeros is an impossible x: its pairs give -inf. The division, the
    logarithm (4 units in the last place) and the counted roundings of both rows are added on top.

    >>> log_ratios(RoundedFloats(np.array([[0.5, 0.5], [1.0, 0.0]])))[0]
    array([ 0., inf])
    """
    table = laws.values.reshape(laws.values.shape[0], -1)
    found = np.full((table.shape[0], table.shape[0]), -np.inf)
    for x, row in enumerate(table):
        seen = row > 0
        if not seen.any():
            continue
        with np.errstate(divide="ignore"):
            logs = np.log(row[seen] / table[:, seen]).max(axis=1)
        found[x] = outward(logs, 2 * laws.roundings + 1)
        found[x, x] = 0.0
    found[:, ~np.any(table > 0, axis=1)] = -np.inf
    return found


def leaks(joint: RoundedFloats) -> Floats:
    """max_z log P(z | x) / P(z | x') for all pairs x, x', from above, of the masses of (x, z), x along the first axis;
    at least 0, and -inf for pairs with an impossible value."""
    rows = joint.values.reshape(joint.values.shape[0], -1)
    sums = rows.sum(axis=1)
    law = RoundedFloats(rows / np.where(sums > 0, sums, 1.0)[:, None], 2 * joint.roundings + rows.shape[1] + 1)
    found = log_ratios(law)
    return np.where(np.isfinite(found), np.maximum(found, 0.0), found)


def outward(logs: Floats, roundings: int) -> Floats:
    """Logarithms of counted numbers, moved up past every rounding."""
    with np.errstate(invalid="ignore"):
        moved = logs + (roundings + 2) * STEP + 1e-15 * np.abs(logs)
    return np.where(np.isfinite(logs), moved, logs)


# The quilts of one entry: which entries shield it, how many stay near, and what those that shield say about it.
#
# A quilt of entry i splits the other entries into N (near, with i in it), Q (the quilt) and R (remote) such that X_R is
# independent of X_i given X_Q. What it leaks is max_q log P(X_Q = q | X_i = x) / P(X_Q = q | X_i = x'). What follows
# from that for a release is the matter of `fugu.translation.quilts`.
#
# Proofs: docs/proofs/quilts.md#quilts.


@dataclass(frozen=True)
class Quilts:
    """The quilts of one entry: card(N), and an upper bound of the leakage for every ordered pair of its values.

    The trivial quilt (Q empty, N everything, leakage 0) must be among them. Pairs with an impossible value are -inf.
    """

    length: int
    cards: Any
    leaks: Floats
    separators: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        trivial = (self.cards == self.length) & np.all(self.leaks <= 0, axis=(1, 2))
        if not trivial.any():
            raise UsageError("a set of quilts must contain the trivial one: everything near, leakage 0")
        if np.any(self.cards < 1) or np.any(np.isnan(self.leaks)):
            raise UsageError("a quilt has at least the entry itself near, and a leakage that is a number")
        impossible = np.isneginf(self.leaks).any(axis=0)
        object.__setattr__(self, "leaks", np.where(impossible, -np.inf, self.leaks))

    def worst(self) -> Floats:
        """Per quilt, the largest leakage over pairs."""
        return np.asarray(np.maximum(self.leaks.max(axis=(1, 2)), 0.0))


def assemble(length: int, t: int, left: Floats, right: Floats, trivial: Floats) -> Quilts:
    """The quilts of entry t of a sequence from the leakages of its sides, nearest first: both ends, one of them, none.

    `trivial` is -inf for the pairs that cannot occur."""
    a, b = np.arange(1, len(left) + 1), np.arange(1, len(right) + 1)
    both = np.nextafter(left[:, None] + right[None, :], np.inf) * (1 + 4 * UNIT)
    cards = np.concatenate([(a[:, None] + b[None, :] - 1).ravel(), length - t + a, t + b - 1, [length]])
    leaks = np.concatenate([both.reshape(-1, *trivial.shape), left, right, trivial[None]])
    return Quilts(length, cards, np.where(np.isneginf(trivial), -np.inf, leaks))
