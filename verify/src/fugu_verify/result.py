"""`Second`: how the second proof ended, what it encloses, and whether the figures of the first fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Outcome = Literal["holds", "fails", "not checked"]
Number = Fraction | float
"""A rational; the only float that ever stands here is infinity."""
Bounds = tuple[Number, Number]
"""A lower and an upper bound on the truth."""
_SHOWN = Fraction(1, 10**12)
"""Quotients of doubles (which order of a curve is worst) are compared up to this."""


class BadCertificate(Exception):
    """What is not a certificate, or one that contradicts itself; the message says which part."""


class NotSummed(Exception):
    """What this proof does not do; the message says why, and what can be done instead."""


@dataclass(frozen=True)
class Asked:
    """A budget: epsilon and delta of a ratio, or an epsilon for each finite order, outside events of probability delta.

    `orders` is empty for a ratio."""

    epsilon: Fraction
    delta: Fraction
    orders: tuple[tuple[Fraction, Fraction], ...] = ()

    def covers(self, epsilon: float, delta: float) -> bool:
        """Whether a double, rounded up from a proof, is within the budget."""
        most = max(e for _, e in self.orders) if self.orders else self.epsilon
        return _at_most(epsilon, most) and _at_most(delta, self.delta)


@dataclass(frozen=True)
class Second:
    """The outcome of a proof from the definition.

    - `outcome`: "holds", "fails" or "not checked"; `why`: the reason in words.
    - `epsilon`: bounds on the largest loss of any pair in either order: the pure epsilon, or the Rényi divergence of
      the order that uses most of its budget. Infinity is the only float.
    - `delta`: bounds on delta at the epsilon that was asked for; of a Rényi budget, what is left out.
    - `worst_pair`: the label of the pair with the largest loss.
    - `pairs`, `terms`: how many ordered pairs were compared, and how many terms were summed.
    - `orders`: (order, epsilon asked for, lower bound, upper bound) for each Rényi order.
    - `asked`: the budget as it was read."""

    outcome: Outcome
    why: str
    epsilon: Bounds | None = None
    delta: Bounds | None = None
    worst_pair: str = ""
    pairs: int = 0
    terms: int = 0
    orders: tuple[tuple[Fraction, Fraction, Number, Number], ...] = ()
    asked: Asked | None = None

    def agrees_with(self, epsilon: float, delta: float) -> bool:
        """Whether what the first proof states fits what this one encloses.

        - `epsilon`, `delta`: the upper bounds that the first proof states (`Verdict.epsilon`, `Verdict.delta`).

        False if one of them is below a lower bound of this proof, which would be a false guarantee, or if one proof
        finds the budget kept and the other does not. What this proof did not check contradicts nothing."""
        if self.asked is None:
            return True
        if self._below_the_truth(epsilon, delta):
            return False
        if self.outcome == "not checked":
            return True
        return self.asked.covers(epsilon, delta) == (self.outcome == "holds")

    def _below_the_truth(self, epsilon: float, delta: float) -> bool:
        if self.orders:
            return delta == 0 and self._below_every_order(epsilon)
        if delta == 0:
            return self.epsilon is not None and _less(epsilon, self.epsilon[0])
        return self.delta is not None and _less(delta, self.delta[0])

    def _below_every_order(self, epsilon: float) -> bool:
        """The first proof states the divergence of the order that uses most of its budget, and not which order that is:
        of some order it must be at least the largest share of any order that is used for sure."""
        if any(low == math.inf for *_, low, _ in self.orders):
            return not math.isinf(epsilon)
        share = max((Fraction(low) / e if e else Fraction(low) for _, e, low, _ in self.orders), default=Fraction(0))
        return all(_less(epsilon, share * (e or 1) * (1 - _SHOWN)) for _, e, _, _ in self.orders)


def not_checked(why: str) -> Second:
    """Nothing was proved, with the reason."""
    return Second("not checked", f"not checked, because {why}")


def _less(stated: float, bound: Number) -> bool:
    """Whether a figure is below a bound, as the double that it is and as the decimal that it means (0.1 is 1/10)."""
    return not math.isinf(stated) and (bound == math.inf or max(Fraction(stated), Fraction(repr(stated))) < bound)


def _at_most(stated: float, most: Fraction) -> bool:
    """Whether the double is at most the least double at or above the bound."""
    if math.isinf(stated):
        return False
    return Fraction(stated) <= most or Fraction(math.nextafter(stated, -math.inf)) < most
