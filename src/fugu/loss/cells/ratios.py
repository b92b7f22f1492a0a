"""Two laws of one record, told apart by their ratio: which states have p(x) > c q(x), decided exactly where it matters.

Doubles decide what is clear. The few states whose ratio is within some roundings of c are decided in balls, and what
even balls leave open is returned as a bound. Sums of whole numbers below 2^53 are exact in doubles, in any order.
"""

from __future__ import annotations

import math
from typing import final

import numpy as np
from flint import arb, fmpq, fmpz
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.laws.cells import MOST_ROWS, Counts

Mask = NDArray[np.bool_]
BEYOND = 2.0**120
"""Above every finite ratio of two laws of numbers below 2^53."""
_MARGIN = 2.0**-49
"""Sixteen roundings: more than the quotient, the threshold and its conversion to a double make together."""


@final
class Ratios:
    """The ratios p(x) / q(x) of two laws given as whole numbers on the same states."""

    def __init__(self, p: Counts, q: Counts) -> None:
        if p.shape != q.shape or p.ndim != 1 or not p.size:
            raise BadLaw("two laws of one record must be on the same states, at least one")
        self._p, self._q = p.astype(np.float64), q.astype(np.float64)
        self._sums = float(self._p.sum()), float(self._q.sum())
        if not all(0 < total < MOST_ROWS for total in self._sums) or min(p.min(), q.min()) < 0:
            raise BadLaw("the whole numbers of a law must be at least 0, and sum to more than 0 and less than 2^53")
        with np.errstate(divide="ignore", invalid="ignore"):  # q(x) = 0: infinite; neither law has x: not a number
            self._ratios = self._p / self._q
        self._scale = self._sums[0] / self._sums[1]

    def mass(self, chosen: Mask) -> tuple[fmpq, fmpq]:
        """p(S) and q(S), exactly."""
        weights = chosen.astype(np.float64)
        p, q = int(weights @ self._p), int(weights @ self._q)
        return fmpq(p, int(self._sums[0])), fmpq(q, int(self._sums[1]))

    def search(self, offset: float) -> Mask:
        """The set S that makes (offset + p(S)) / (offset + q(S)) largest, as far as doubles can tell.

        Dinkelbach's iteration: S -> {p > c q}, with c the value of S, raises c until it stays."""
        best, chosen = 1.0, self._ratios > self._scale
        for _ in range(64):
            weights = chosen.astype(np.float64)
            p, q = float(weights @ self._p) / self._sums[0], float(weights @ self._q) / self._sums[1]
            value = (offset + p) / (offset + q) if offset + q > 0 else BEYOND
            if not value > best:
                break
            best, chosen = value, self._ratios > min(value, BEYOND) * self._scale
        return chosen

    def above(self, excess: arb) -> tuple[Mask, arb]:
        """The states with p(x) > c q(x), c = 1 + excess, and a bound on what p(x) / q(x) - c is where that is open.

        States left open are not among the chosen ones. The ball must be exact to 64 bits."""
        cut = min(1.0 + float(excess.mid()), BEYOND) * self._scale
        chosen = self._ratios > cut * (1 + _MARGIN)
        near = np.flatnonzero((self._ratios <= cut * (1 + _MARGIN)) & (self._ratios >= cut * (1 - _MARGIN)))
        slack = arb(0)
        while near.size:
            same = self._alike(near)
            further = self._beyond(int(near[0]), excess)
            if further > 0:
                chosen[near[same]] = True
            elif not further <= 0:
                slack = slack.max(further.upper())
            near = near[~same]
        return chosen, slack

    def stick(self, excess: arb) -> tuple[arb, arb]:
        """sum of (p(x) - c q(x))+, c = 1 + excess: from above and from below (any set gives a lower bound)."""
        chosen, slack = self.above(excess)
        p, q = self.mass(chosen)
        least = arb(p - q) - excess * arb(q)
        return least + slack, least

    def level(self, alpha: float, rho: float) -> float:
        """The l with w sum (p - l e^(rho / alpha) q)+ = sum (l q - p)+, w = e^((alpha - 1) rho / alpha), in doubles."""
        p, q = self._p / self._sums[0], self._q / self._sums[1]
        step, weight = math.exp(rho / alpha), math.exp((alpha - 1) * rho / alpha)
        low, high = 0.0, weight
        for _ in range(200):
            middle = low + (high - low) / 2 if low else high / 2
            if not low < middle < high or high - low < 1e-15 * high:
                break
            short = weight * np.maximum(p - middle * step * q, 0).sum() - np.maximum(middle * q - p, 0).sum()
            low, high = (middle, high) if short > 0 else (low, middle)
        return high

    def cut(self, low: float, high: float) -> tuple[fmpq, list[tuple[fmpq, fmpq]], fmpq]:
        """q(r > high), the ratios r between with their q, and q(r < low).

        States within some roundings of a limit count as between. States of q(x) = 0 are beyond; with an infinite
        limit their p is returned in place of their q, which is 0."""
        ends = low * self._scale, high * self._scale
        beyond = self._ratios > ends[1] * (1 + _MARGIN) if high < math.inf else np.isinf(self._ratios)
        below = self._ratios < ends[0] * (1 - _MARGIN)
        rest = np.flatnonzero(~beyond & ~below & (self._q > 0))
        between = []
        if rest.size:
            pairs, counts = np.unique(np.stack([self._p[rest], self._q[rest]]), axis=1, return_counts=True)
            scale, whole = fmpq(int(self._sums[1]), int(self._sums[0])), int(self._sums[1])
            for (p, q), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
                between.append((fmpq(int(p), int(q)) * scale, fmpq(int(q) * count, whole)))
        taken = self.mass(beyond)
        return taken[1] if high < math.inf else taken[0], between, self.mass(below)[1]

    def largest(self) -> fmpq | None:
        """max over x of p(x) / q(x), exactly; None for infinity."""
        top = float(np.nanmax(self._ratios))
        if top == np.inf:
            return None
        near, found = np.flatnonzero(self._ratios >= top * (1 - _MARGIN)), fmpq(0)
        while near.size:
            place, same = int(near[0]), self._alike(near)
            found = max(found, fmpq(int(self._p[place]), int(self._q[place])))
            near = near[~same]
        return found * fmpq(int(self._sums[1]), int(self._sums[0]))

    def _alike(self, places: NDArray[np.intp]) -> Mask:
        """Which of the states, all within the margin of one ratio, have exactly the ratio of the first of them.

        The products p q' and q p' differ by less than 2^-47 times 2^106, so they are equal iff they are modulo 2^64."""
        p, q = self._p[places].astype(np.int64), self._q[places].astype(np.int64)
        return np.asarray(p * q[0] == q * p[0])

    def _beyond(self, place: int, excess: arb) -> arb:
        """p(x) / q(x) - c for one state with q(x) > 0, so near to c that doubles cannot tell."""
        p_sum, q_sum = (fmpz(int(total)) for total in self._sums)
        p, q = fmpz(int(self._p[place])), fmpz(int(self._q[place]))
        return arb(fmpq(p * q_sum - q * p_sum, q * p_sum)) - excess
