"""Products of transition kernels as logarithms, with exact zeros and an a-priori bound on the error.

Proofs: docs/proofs/influence.md#rounding and docs/proofs/influence.md#any-start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.priors.stationary import ENTRY, UNIT

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
        logs, largest = _in_logs(self.logs, step.logs)
        return Product(logs, positive, self.error + step.error + (inner + 24 + 3 * largest) * UNIT)

    def ratios(self) -> Array:
        """max over y of log K(x, y) - log K(x', y), for all (x, x'); +inf where x reaches a y that x' does not.

        A y that x does not reach has a zero numerator and is left out (corrected Definition 7). An upper bound.
        """
        return _worst(self.logs, self.error)

    def column_ratios(self, rows: Mask) -> Array:
        """max over z in `rows` of log K(z, x) - log K(z, x'), for all (x, x'); an upper bound."""
        return _worst(np.ascontiguousarray(self.logs[rows].T), self.error)

    def left_ratios(self, rows: Mask, free: bool) -> Array:
        """What the value z at the near end of this kernel adds for (x, x') at its far end, but for the law of X.

        That is `column_ratios` plus log mu(x') - log mu(x), which the caller adds. If the law of z is `free`, the two
        together are at most D(x, x') = max over z, z' in `rows` of log K(z, x) K(z', x') / (K(z, x') K(z', x)): mu(x')
        / mu(x) is a mean of K(z', x') / K(z', x) over z' with weights mu(z') K(z', x). Nothing is to be added then."""
        found = self.column_ratios(rows)
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


def _in_logs(left: Array, right: Array) -> tuple[Array, float]:
    """log(e^left e^right) row by row, and the largest finite exponent met."""
    found = np.empty((left.shape[0], right.shape[1]))
    most = 0.0
    for x, row in enumerate(left):
        terms = row[:, None] + right
        top = terms.max(axis=0)
        shift = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            found[x] = shift + np.log(np.exp(terms - shift).sum(axis=0))
        most = max(most, largest(terms))
    return found, most
