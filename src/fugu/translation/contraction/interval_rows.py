"""How much of a loss passes through a step whose rows are known up to limits, each row free in its own box.

With R_x the laws between the limits of row x, and L as in `kernel`,

    sup L(p, p'; Lam) over p in R_x and p' in R_x'.

**One number alpha for all pairs.** An extreme g takes two values, so with q = e^-alpha it is the log of

    max over sets A of (U(A) + q (1 - U(A))) / (V(A) + q (1 - V(A))),
    U(A) = min(u(A), 1 - l(rest)) the most that row x gives A,  V(A) = max(l'(A), 1 - u'(rest)) the least that x' does.

Both rows have mass 1, which is why equal boxes pass nothing of alpha = 0; with limits alone (`kernel.passed`) the empty
set would count as log u(all) / v(all) > 0. Up to 12 values all sets are tried. Above, U is one of two linear functions
of A and so is V: for each of the four choices the quotient is largest at a prefix of the values sorted by the quotient
of their coefficients, and the least of the four bounds all sets.

**One loss for each pair.** For members p, p' the l of `kernel` is at most the largest, over all sets A, of the lesser
of <p, w> / <p', w> with w = e^r on A and 1 elsewhere, and with w = 1 on A and e^-c elsewhere. Each is at most the most
that row x gives w over the least that x' does.

Everything is rounded outward. Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fugu.priors.interval_limits import Limits, highest, lowest
from fugu.translation.contraction.kernel import Array, U

MOST_PAIRWISE = 6
"""Up to this many values one loss is carried for each ordered pair; above, one number."""
MOST_SUBSETS = 12
MOST_PREFIXES = 64
_TINY = 1e-290


class Operator(Protocol):
    """What one step passes on."""

    def passed(self, losses: Array) -> Array:
        """(k, k): upper bounds of what passes, for losses (k, k) with zero diagonal; at most the largest loss."""


def operator(rows: Limits) -> Operator:
    """The sharpest operator that is affordable for so many values; limits that some law reaches (`tightened`)."""
    k = rows.lower.shape[-1]
    if k <= MOST_PAIRWISE:
        return Pairwise(rows)
    return Subsets(rows) if k <= MOST_SUBSETS else Prefixes(rows) if k <= MOST_PREFIXES else Spread(rows)


class Subsets:
    """All sets of values, one number for all pairs."""

    def __init__(self, rows: Limits) -> None:
        inside = _subsets(rows.lower.shape[-1]).astype(np.float64)
        slack = (2 * len(rows.lower) + 8) * U
        high, low = (rows.upper @ inside.T) * (1 + slack), (rows.lower @ inside.T) * (1 - slack)
        rest_high, rest_low = (rows.upper @ (1 - inside).T) * (1 + slack), (rows.lower @ (1 - inside).T) * (1 - slack)
        self.most: Array = np.minimum(np.minimum(high, (1.0 - rest_low) * (1 + 2 * U) + 2 * U), 1.0)
        self.least: Array = np.maximum(np.maximum(low, 1.0 - rest_high - 2 * U * (1 + rest_high)), 0.0)

    def passed(self, losses: Array) -> Array:
        return self.scalar(float(losses.max()))

    def scalar(self, alpha: float) -> Array:
        """What passes of a loss `alpha` between any two values."""
        above, below = _scaled(alpha)
        top = (self.most + above * (1 - self.most) + 2 * U * above) * (1 + 8 * U)
        bottom = (self.least + below * (1 - self.least)) * (1 - 8 * U)
        k = len(top)
        found = np.empty((k, k))
        with np.errstate(divide="ignore", invalid="ignore"):
            for x in range(k):
                found[x] = np.max(top[x] / bottom, axis=-1, initial=1.0)
        return _log(found, alpha)


class Pairwise:
    """All sets of values, one loss for each ordered pair."""

    def __init__(self, rows: Limits) -> None:
        self.rows = Limits(rows.lower[:, None], rows.upper[:, None])
        self.inside = _subsets(rows.lower.shape[-1])
        self.coarse = Subsets(rows)

    def passed(self, losses: Array) -> Array:
        most, rest = float(losses.max()), ~self.inside
        r = np.where(rest[:, None, :], losses, 0.0).max(axis=-1)  # (A, y): over z outside A
        c = np.where(self.inside[:, :, None], losses, 0.0).max(axis=1)  # (A, z): over y inside A
        slack = (8 + 2 * min(most, 800.0)) * U
        with np.errstate(under="ignore"):
            by_rows = np.exp(np.where(self.inside, r, 0.0) - most)
            by_columns = np.exp(np.where(self.inside, 0.0, -c))
        found = np.minimum(self._ratios(by_rows, slack), self._ratios(by_columns, slack)).max(axis=-1, initial=1.0)
        return np.minimum(_log(found, most), self.coarse.scalar(most))

    def _ratios(self, weights: Array, slack: float) -> Array:
        """(x, x', A): the most of row x over the least of row x', for weights (A, k) off by a factor 1 + slack."""
        every = np.broadcast_to(weights, (len(weights[0]), *weights.shape))
        top = highest(self.rows, every) * (1 + slack) + _TINY
        bottom = lowest(self.rows, np.where(every < _TINY, 0.0, every)) * (1 - slack)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(top[:, None] / bottom[None])


class Prefixes:
    """Prefixes for each of the four choices of linear functions, one number for all pairs."""

    def __init__(self, rows: Limits) -> None:
        low, high, k = rows.lower, rows.upper, rows.lower.shape[-1]
        slack = (2 * k + 16) * U
        above = [(np.zeros(k), high), (np.maximum(1 - low.sum(-1), 0) + slack, low)]  # U(A) <= a0 + a(A)
        below = [(np.zeros(k), low), (1 - high.sum(-1) - slack * high.sum(-1), high)]  # V(A) >= b0 + b(A)
        self.pieces = [self._prefixes(a0, a, b0, b, slack) for a0, a in above for b0, b in below]

    @staticmethod
    def _prefixes(a0: Array, a: Array, b0: Array, b: Array, slack: float) -> tuple[Array, Array]:
        """a0 + a(A) up and b0 + b(A) down at all prefixes A, (x, x', k + 1) each."""
        k = len(a)
        one, two = np.broadcast_to(a[:, None], (k, k, k)), np.broadcast_to(b[None], (k, k, k))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(two > 0, one / np.where(two > 0, two, 1.0), np.where(one > 0, np.inf, 0.0))
        order = np.argsort(-ratio, axis=-1, kind="stable")
        none = np.zeros((k, k, 1))
        inside = np.concatenate([none, np.cumsum(np.take_along_axis(one, order, -1), -1)], -1)
        least = np.concatenate([none, np.cumsum(np.take_along_axis(two, order, -1), -1)], -1)
        return a0[:, None, None] + inside * (1 + slack), b0[None, :, None] + least * (1 - slack)

    def passed(self, losses: Array) -> Array:
        alpha = float(losses.max())
        above, below = _scaled(alpha)
        best = np.full(losses.shape, np.inf)
        for high, low in self.pieces:
            top = (above + (1 - below) * high) * (1 + 8 * U)
            bottom = below + np.where(low > 0, (1 - above) * (1 - 2 * U), 1.0) * low
            bottom = bottom - 8 * U * (below + np.abs(low))
            usable = (bottom > 0).all(axis=-1)  # a denominator that starts at or below 0 says nothing
            with np.errstate(divide="ignore", invalid="ignore"):
                here = np.where(usable, np.max(top / bottom, axis=-1, initial=1.0), np.inf)
            best = np.minimum(best, here)
        return _log(best, alpha)


class Spread:
    """The total variation eta between rows, for many values: log (1 + (e^alpha - 1) eta)."""

    def __init__(self, rows: Limits) -> None:
        k = len(rows.lower)
        eta = np.array([np.maximum(high - rows.lower, 0.0).sum(axis=-1) for high in rows.upper])
        np.fill_diagonal(eta, 0.0)
        self.eta: Array = np.minimum(1.0, eta * (1 + (2 * k + 8) * U))

    def passed(self, losses: Array) -> Array:
        alpha = float(losses.max())
        if alpha > 600:
            return np.where(self.eta > 0, alpha, 0.0)
        found = np.log1p(np.expm1(alpha) * self.eta) * (1 + 16 * U) + 4e-323 * (self.eta > 0)
        return np.asarray(np.minimum(alpha, found))


def _subsets(k: int) -> NDArray[np.bool_]:
    """All sets of k values but none and all: (2^k - 2, k)."""
    numbers = np.arange(1, 2**k - 1)
    return np.asarray((numbers[:, None] >> np.arange(k)) & 1, dtype=bool).reshape(-1, k)


def _scaled(alpha: float) -> tuple[float, float]:
    """e^-alpha, rounded up and down."""
    with np.errstate(under="ignore"):
        q = float(np.exp(-alpha))
    return min(1.0, q * (1 + 4 * U) + _TINY), q * (1 - 4 * U)


def _log(found: Array, most: float) -> Array:
    """The logarithm rounded up, at most the largest loss, 0 on the diagonal; what is not a number is no bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(found)
    logs = logs + 16 * U + 4 * U * np.abs(np.where(np.isfinite(logs), logs, 0.0))
    logs = np.where(np.isnan(logs), most, np.minimum(logs, most))
    np.fill_diagonal(logs, 0.0)
    return logs
