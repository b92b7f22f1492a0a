"""The contraction accountant of a chain whose rows are known up to limits, each row free in its own box."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from fugu.errors import NotProvable
from fugu.priors.interval_chain import IntervalChain, Limits, diameters, highest, lowest, pushed, seen_backwards
from fugu.translation.kernel import TINY, Array, U, by_variation
from fugu.translation.sequence import Accountant
from fugu.translation.side import Mask, OneSide, Places, SideLevels, open_cell
from fugu.translation.start import through_any

# The rows of every step lie in their boxes, chosen freely for each state and each step (time-varying; homogeneous
# chains are among them). As for one chain
#
#     log P(output | X_i = x) / P(output | X_i = x') <= eps + F_fwd(x, x') + F_bwd(x, x'),
#
# and, F_m being the largest loss through m further nodes over all these chains,
#
#     F_0 = 0,   F_m <= m eps,   F_m(x, x') <= (d - 1) eps + sup over p in R_x, p' in R_x' of L(p, p'; eps + F_(m-d)),
#
# R the boxes of the products of d steps (pushed forward; d = 1: the limits themselves). For x != x' the two rows are
# free, for fixed later steps the bound of one chain holds, and a larger last argument only adds what is bounded. One
# later step must serve all pairs, so this is a bound and not an equality. The earlier nodes: the same with the boxes of
# P(X_(t-d) | X_t), which follow from limits of the law of X_(t-d); and, whatever that law is, what `start` proves for
# any start from the diameter D(x, x') of the boxes. The lesser of the two is taken.
#
# From where the boxes no longer change, a bound A of the last levels that is not below what it passes on itself bounds
# F for every larger m.
#
# Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.

_MOST_STEPS = 1_500
_FEW_PLACES = 6
"""Laws of how many entries are told apart where there are many values; the last serves for all beyond."""
_MANY_PLACES = 200
_BLOCKS = (1, 2, 3, 4, 6)


class IntervalSide(OneSide):
    """The later nodes, or the earlier ones, whose laws lie between limits; what passes is kept between calls."""

    own = staticmethod(open_cell)
    slots = 1

    def __init__(self, chain: IntervalChain, laws: Limits | None) -> None:
        self.k, self.laws = chain.size, laws
        self.ds = (1,) if self.k == 2 else _BLOCKS if self.k <= MOST_SUBSETS else _BLOCKS[:3]
        self.still = 1 if laws is None else len(laws.lower)
        self._known: dict[tuple[int, int], tuple[Operator, Array | None]] = {}
        self._products = [chain.rows]
        """The boxes of the products of 1, 2, ... steps."""
        while len(self._products) < self.ds[-1]:
            self._products.append(pushed(self._products[-1], chain.rows))

    def valid_at(self, m: int) -> Mask:
        """The values that no chain rules out: paths may lead through them."""
        if self.laws is None:
            return np.ones(self.k, dtype=bool)
        return np.asarray(self.laws.lower[min(m, len(self.laws.lower) - 1)] > 0)

    def pairs_at(self, m: int) -> Mask:  # noqa: ARG002
        return ~np.eye(self.k, dtype=bool)

    def through(self, m: int, losses: Array, ds: tuple[int, ...], which: Places | None = None) -> Array:  # noqa: ARG002
        return np.where(self.pairs_at(m), [self._through(m, d, x) for d, x in zip(ds, losses, strict=True)], 0.0)

    def _through(self, m: int, d: int, losses: Array) -> Array:
        """What passes d steps, from a node with m further nodes to the d-th beyond it; m stands for itself or, beyond
        the last, for all: through the boxes of their rows, or, of the earlier nodes, for any start through their
        diameter. The lesser of the two."""
        place = 0 if self.laws is None else min(m - d, len(self.laws.lower) - 1)
        if (place, d) not in self._known:
            rows = self._products[d - 1]
            if self.laws is None:
                self._known[place, d] = operator(rows), None
            else:
                law = Limits(self.laws.lower[place], self.laws.upper[place])
                self._known[place, d] = operator(seen_backwards(law, rows)), diameters(rows, law.upper > 0)
        boxes, diameter = self._known[place, d]
        found = boxes(losses)
        if diameter is None:
            return found
        any_start = through_any(np.full(losses.shape, float(losses.max())), diameter)
        np.fill_diagonal(any_start, 0.0)
        return np.minimum(found, any_start)

    def settled(self, found: list[Array], m: int, epsilon: float, nodes: int) -> Array | None:
        bound = super().settled(found, m, epsilon, nodes)
        if bound is None and m >= self.still + _MOST_STEPS:
            raise NotProvable(f"no bound settles within {_MOST_STEPS} steps of this chain")
        return bound


class IntervalContraction(Accountant):
    """What per-entry privacy is worth under all chains between the limits; tables are kept between calls.

    >>> chain = IntervalChain([[0.5, 0.3], [0.15, 0.75]], [[0.7, 0.5], [0.25, 0.85]], length=7)
    >>> [round(float(level.max()), 8) for level in IntervalContraction(chain).later.levels(0.3, 3).values]
    [0.0, 0.16790798, 0.26328768, 0.31746768]
    """

    def __init__(self, chain: IntervalChain) -> None:
        self.length = chain.length
        laws = chain.laws(_MANY_PLACES if chain.size <= MOST_SUBSETS else _FEW_PLACES)
        self.later, self.earlier = IntervalSide(chain, None), IntervalSide(chain, laws)
        self.supports = laws.upper > 0  # what an entry can take under some chain

    def sides(self, epsilon: float) -> tuple[SideLevels, SideLevels]:
        return self.later.levels(epsilon, self.length - 1), self.earlier.levels(epsilon, self.length - 1)


# How much of a loss passes through a step whose rows are known up to limits, each row free in its own box.
#
# With R_x the laws between the limits of row x, and L as in `kernel`,
#
#     sup L(p, p'; Lam) over p in R_x and p' in R_x'.
#
# **One number alpha for all pairs.** An extreme g takes two values, so with q = e^-alpha it is the log of
#
#     max over sets A of (U(A) + q (1 - U(A))) / (V(A) + q (1 - V(A))),
#     U(A) = min(u(A), 1 - l(rest)) the most that row x gives A,  V(A) = max(l'(A), 1 - u'(rest)) the least that x'
#     does.
#
# Both rows have mass 1, which is why equal boxes pass nothing of alpha = 0; with limits alone (`kernel.passed`) the
# empty set would count as log u(all) / v(all) > 0. Up to 12 values all sets are tried. Above, U is one of two linear
# functions of A and so is V: for each of the four choices the quotient is largest at a prefix of the values sorted by
# the quotient of their coefficients, and the least of the four bounds all sets.
#
# **One loss for each pair.** For members p, p' the l of `kernel` is at most the largest, over all sets A, of the lesser
# of <p, w> / <p', w> with w = e^r on A and 1 elsewhere, and with w = 1 on A and e^-c elsewhere. Each is at most the
# most that row x gives w over the least that x' does.
#
# Everything is rounded outward. Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.

MOST_PAIRWISE = 6
"""Up to this many values one loss is carried for each ordered pair; above, one number."""
MOST_SUBSETS = 12
MOST_PREFIXES = 64


Operator = Callable[[Array], Array]
"""(k, k): upper bounds of what passes, for losses (k, k) with zero diagonal; at most the largest loss."""


def operator(rows: Limits) -> Operator:
    """The sharpest operator that is affordable for so many values; limits that some law reaches (`tightened`)."""
    k = rows.lower.shape[-1]
    if 2 < k <= MOST_PAIRWISE:
        return pairwise(rows)
    return subsets(rows) if k <= MOST_SUBSETS else prefixes(rows) if k <= MOST_PREFIXES else spread(rows)


def subsets(rows: Limits) -> Operator:
    """All sets of values, one number for all pairs. Of two values the sets are the values themselves, and the loss of
    each is that between it and the other."""
    inside = _subsets(rows.lower.shape[-1]).astype(np.float64)
    slack = (2 * len(rows.lower) + 8) * U
    high, low = (rows.upper @ inside.T) * (1 + slack), (rows.lower @ inside.T) * (1 - slack)
    rest_high, rest_low = (rows.upper @ (1 - inside).T) * (1 + slack), (rows.lower @ (1 - inside).T) * (1 - slack)
    most: Array = np.minimum(np.minimum(high, (1.0 - rest_low) * (1 + 2 * U) + 2 * U), 1.0)
    least: Array = np.maximum(np.maximum(low, 1.0 - rest_high - 2 * U * (1 + rest_high)), 0.0)

    def passed(losses: Array) -> Array:
        alpha = np.full(len(inside), float(losses.max()))  # a value in A is at most e^alpha times one outside
        if len(losses) == 2:
            alpha = np.array([losses[0, 1], losses[1, 0]])
        above, below = _scaled(alpha)
        top = (most + above * (1 - most) + 2 * U * above) * (1 + 8 * U)
        bottom = (least + below * (1 - least)) * (1 - 8 * U)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.stack([np.max(row / bottom, axis=-1, initial=1.0) for row in top])
        return _log(found, float(losses.max()))

    return passed


def pairwise(rows: Limits) -> Operator:
    """All sets of values, one loss for each ordered pair."""
    boxes, inside = Limits(rows.lower[:, None], rows.upper[:, None]), _subsets(rows.lower.shape[-1])
    coarse = subsets(rows)

    def ratios(weights: Array, slack: float) -> Array:
        """(x, x', A): the most of row x over the least of row x', for weights (A, k) off by a factor 1 + slack."""
        every = np.broadcast_to(weights, (len(weights[0]), *weights.shape))
        top = highest(boxes, every) * (1 + slack) + TINY
        bottom = lowest(boxes, np.where(every < TINY, 0.0, every)) * (1 - slack)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(top[:, None] / bottom[None])

    def passed(losses: Array) -> Array:
        most, rest = float(losses.max()), ~inside
        r = np.where(rest[:, None, :], losses, 0.0).max(axis=-1)  # (A, y): over z outside A
        c = np.where(inside[:, :, None], losses, 0.0).max(axis=1)  # (A, z): over y inside A
        slack = (8 + 2 * min(most, 800.0)) * U
        with np.errstate(under="ignore"):
            by_rows = np.exp(np.where(inside, r, 0.0) - most)
            by_columns = np.exp(np.where(inside, 0.0, -c))
        found = np.minimum(ratios(by_rows, slack), ratios(by_columns, slack)).max(axis=-1, initial=1.0)
        return np.minimum(_log(found, most), coarse(losses))

    return passed


def prefixes(rows: Limits) -> Operator:
    """Prefixes for each of the four choices of linear functions, one number for all pairs."""
    low, high, k = rows.lower, rows.upper, rows.lower.shape[-1]
    slack, pieces = (2 * k + 16) * U, []
    above = [(np.zeros(k), high), (np.maximum(1 - low.sum(-1), 0) + slack, low)]  # U(A) <= a0 + a(A)
    below = [(np.zeros(k), low), (1 - high.sum(-1) - slack * high.sum(-1), high)]  # V(A) >= b0 + b(A)
    for (a0, a), (b0, b) in product(above, below):  # a0 + a(A) up and b0 + b(A) down at all prefixes A: (x, x', k + 1)
        one, two = np.broadcast_to(a[:, None], (k, k, k)), np.broadcast_to(b[None], (k, k, k))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(two > 0, one / np.where(two > 0, two, 1.0), np.where(one > 0, np.inf, 0.0))
        order = np.argsort(-ratio, axis=-1, kind="stable")
        none = np.zeros((k, k, 1))
        inside = np.concatenate([none, np.cumsum(np.take_along_axis(one, order, -1), -1)], -1)
        least = np.concatenate([none, np.cumsum(np.take_along_axis(two, order, -1), -1)], -1)
        pieces.append((a0[:, None, None] + inside * (1 + slack), b0[None, :, None] + least * (1 - slack)))

    def passed(losses: Array) -> Array:
        alpha = float(losses.max())
        above, below = (float(q[0]) for q in _scaled(np.array([alpha])))
        best = np.full(losses.shape, np.inf)
        for high, low in pieces:
            top = (above + (1 - below) * high) * (1 + 8 * U)
            bottom = below + np.where(low > 0, (1 - above) * (1 - 2 * U), 1.0) * low
            bottom = bottom - 8 * U * (below + np.abs(low))
            usable = (bottom > 0).all(axis=-1)  # a denominator that starts at or below 0 says nothing
            with np.errstate(divide="ignore", invalid="ignore"):
                here = np.where(usable, np.max(top / bottom, axis=-1, initial=1.0), np.inf)
            best = np.minimum(best, here)
        return _log(best, alpha)

    return passed


def spread(rows: Limits) -> Operator:
    """The total variation eta between rows, for many values: log (1 + (e^alpha - 1) eta)."""
    apart = np.array([np.maximum(high - rows.lower, 0.0).sum(axis=-1) for high in rows.upper])
    np.fill_diagonal(apart, 0.0)
    eta: Array = np.minimum(1.0, apart * (1 + (2 * len(apart) + 8) * U))

    return lambda losses: by_variation(float(losses.max()), eta)


def _subsets(k: int) -> Mask:
    """All sets of k values but none and all: (2^k - 2, k)."""
    numbers = np.arange(1, 2**k - 1)
    return np.asarray((numbers[:, None] >> np.arange(k)) & 1, dtype=bool).reshape(-1, k)


def _scaled(alpha: Array) -> tuple[Array, Array]:
    """e^-alpha, rounded up and down."""
    with np.errstate(under="ignore"):
        q = np.exp(-alpha)
    return np.minimum(1.0, q * (1 + 4 * U) + TINY), q * (1 - 4 * U)


def _log(found: Array, most: float) -> Array:
    """The logarithm rounded up, at most the largest loss, 0 on the diagonal; what is not a number is no bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(found)
    logs = logs + 16 * U + 4 * U * np.abs(np.where(np.isfinite(logs), logs, 0.0))
    logs = np.where(np.isnan(logs), most, np.minimum(logs, most))
    np.fill_diagonal(logs, 0.0)
    return logs
