"""What a budget asks of two noised laws: its numbers, read exactly, and how proved losses are held against it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from fugu.errors import BadBudget
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, float_down, float_up

# `budget.asks()` is one of two things. A `Ratio`: P(S) <= e^epsilon Q(S) + delta for every event S; with delta 0 it is
# the order infinity. `Divergences`: D_alpha(P || Q) <= epsilon(alpha) for every order listed, outside events of
# probability delta. Both are for every pair of laws and in both orders.


@dataclass(frozen=True)
class PairLoss:
    """A proved upper bound on the loss of one pair, both orders."""

    label: str
    value: float
    pair: tuple[int, int] = (0, 0)
    met: bool = False
    """Whether the epsilon asked for is met exactly, by an argument in rationals."""

    def within(self, bound: Fraction) -> bool:
        """Whether the loss is at most `bound`, decided exactly."""
        return self.met or (not math.isinf(self.value) and Fraction(self.value) <= bound)


@dataclass(frozen=True)
class Proof:
    """Proved upper bounds: every pair, both orders. delta is 0 if the pure bound alone meets epsilon."""

    epsilon: float
    delta: float
    worst_pair: str
    holds: bool


@dataclass(frozen=True)
class Ratio:
    """P(S) <= e^epsilon Q(S) + delta for every event S."""

    epsilon: Fraction
    delta: Fraction
    finite: ClassVar[bool] = False
    """Whether the orders are finite."""

    @property
    def pure(self) -> bool:
        """Whether no delta is allowed: then only noise that bounds every ratio will do."""
        return self.delta == 0

    @property
    def target(self) -> float:
        """What a search must not exceed: delta, or epsilon where there is none."""
        return float_down(self.delta if self.delta else self.epsilon)

    @property
    def impossible(self) -> bool:
        """Whether only equal laws meet it."""
        return self.epsilon == 0 and self.delta == 0


@dataclass(frozen=True)
class Divergences:
    """D_alpha <= epsilon for every (alpha, epsilon) listed, outside events of probability delta on each side."""

    orders: tuple[tuple[Fraction, Fraction], ...]
    delta: Fraction
    finite: ClassVar[bool] = True

    @property
    def pure(self) -> bool:
        """Never: noise that bounds no ratio has divergences of finite order."""
        return False

    @property
    def target(self) -> float:
        """What a search must not exceed: `excess`."""
        return 1.0

    @property
    def impossible(self) -> bool:
        """Whether only equal laws meet it."""
        return any(epsilon == 0 for _, epsilon in self.orders)

    @property
    def highest(self) -> Fraction:
        """The largest order."""
        return max(alpha for alpha, _ in self.orders)

    @property
    def epsilon(self) -> Fraction:
        """The least epsilon of any order."""
        return min(epsilon for _, epsilon in self.orders)

    def excess(self, loss: Callable[[Fraction], float]) -> float:
        """max over orders of loss(alpha) / epsilon(alpha): the budget is met where it is at most 1."""
        shares = []
        for alpha, epsilon in self.orders:
            found = loss(alpha)
            shares.append(0.0 if found <= 0 else found / float_down(epsilon) if epsilon else math.inf)
        return max(shares)

    def start(self, distance: float) -> float:
        """A scale that should do for a shift by `distance`: Laplace needs distance / epsilon, Gaussian distance
        sqrt(alpha / 2 epsilon)."""
        needed = [
            max(distance / float(e), distance * math.sqrt(float(a) / (2 * float(e)))) for a, e in self.orders if e
        ]
        return max(1e-280, *needed) if needed else math.inf


Ask = Ratio | Divergences


def exact(x: Real) -> Fraction:
    """The rational that x means; infinity becomes a number beyond every other."""
    return Fraction(10**400) if math.isinf(x) else as_fraction(x)


def plain(x: Fraction) -> Real:
    """A whole number, or a float where one means exactly this, else the Fraction.

    >>> plain(Fraction(1, 10)), plain(Fraction(4, 2)), plain(Fraction(1, 3))
    (0.1, 2, Fraction(1, 3))
    """
    if x.denominator == 1:
        return int(x)
    return float(x) if as_fraction(float(x)) == x else x


def outward(x: Fraction) -> float:
    """The least float at or above x that also means a number at or above x.

    >>> outward(Fraction(1, 10)), outward(Fraction(1, 3)) > Fraction(1, 3)
    (0.1, True)
    """
    found = float_up(x)
    while math.isfinite(found) and as_fraction(found) < x:
        found = math.nextafter(found, math.inf)
    return found


def check_alpha(x: Any) -> None:
    """Refuse what is no order of a Rényi divergence above 1."""
    if not is_number(x) or not x > 1:
        raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {x!r}")


def check_epsilon(x: Any) -> None:
    """Refuse what is no epsilon."""
    if not is_number(x) or not x >= 0:
        raise BadBudget(f"epsilon must be a number >= 0 (inf allowed), got {x!r}")


def check_delta(x: Any, positive: bool = False) -> None:
    """Refuse what is no delta; with `positive` also zero."""
    if not is_number(x) or not 0 <= x < 1 or (positive and x == 0):
        raise BadBudget(f"delta must be a number in {'(' if positive else '['}0, 1), got {x!r}")
