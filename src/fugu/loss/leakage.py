"""`Leakage`: everything that is known about one noise on one shape of laws, and laws as the user gave them in its
units."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from flint import arb

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, SetFamily
from fugu.noise.kind import kind_of
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_down, integers

NO_NOISE = "epsilon 0 asks for identical outputs, and these laws differ: no finite noise does that"
Laws = TypeVar("Laws")
Drawn = TypeVar("Drawn")


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


class Leakage(ABC, Generic[Laws, Drawn]):
    """What is known about one noise on one shape of laws: proofs of three losses, and what more is known. Stated
    losses follow from the proofs where nothing tighter is known; what is not known is refused."""

    def __init__(self, noise: str, about: str) -> None:
        self.noise, self.about = noise, about

    # ---- proofs, in lattice indices, pair by pair and for both orders: what a certificate may state

    def pure(self, item: Laws, noise: Drawn, epsilon: Fraction) -> list[PairLoss]:
        """Proved pure losses; inf where none is finite. A pair that meets `epsilon` by an exact argument says so."""
        raise self.unknown("pure loss")

    def delta(self, item: Laws, noise: Drawn, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """Proved delta(epsilon); `delta` is what would be enough."""
        raise self.unknown("delta")

    def divergence(self, item: Laws, noise: Drawn, alpha: Fraction) -> list[PairLoss]:
        """Proved Rényi divergences of order alpha."""
        raise self.unknown("Rényi divergence")

    def conditioned(self, item: Laws, noise: Drawn, alpha: Fraction, delta: Fraction) -> Laws | None:
        """One pair given events of probability at least 1 - delta on each side; None where nothing is known."""
        return None

    def limit(self, item: Laws, noise: Drawn) -> Fraction | None:
        """The largest proved pure loss, as an exact rational where one is known; None if it is not finite."""
        losses = [loss.value for loss in self.pure(item, noise, Fraction(0))]
        return None if any(map(math.isinf, losses)) else max(map(Fraction, losses), default=Fraction(0))

    def explain_pure(self, item: Laws, noise: Drawn) -> None:
        """Say why no pure loss is known, where that is not a matter of the scale: laws known up to an error have
        none."""
        if isinstance(item, Family):
            require_exact(item)

    # ---- searches: in doubles, with the scale in lattice steps; nothing is proved by them

    def fast_pure(self, item: Laws, steps: float) -> float:
        """The pure loss, to search with."""
        raise self.unknown("pure loss")

    def fast_delta(self, item: Laws, steps: float, ask: Ratio) -> float:
        """delta at the epsilon asked for, to search with."""
        raise self.unknown("delta")

    def fast_divergence(self, item: Laws, steps: float, alpha: Fraction) -> float:
        """The Rényi divergence, to search with."""
        raise self.unknown("Rényi divergence")

    def require(self, item: Laws, ask: Ask) -> None:
        """Refuse, before any search, what no scale of this noise can meet."""
        if (reason := kind_of(self.noise).refusal(ask)) is not None:
            raise NotProvable(reason)

    def known(self, item: Laws, ask: Ask) -> float | None:
        """The least scale where it is known in closed form."""
        return None

    def start(self, item: Laws, ask: Ask) -> float:
        """A scale that should suffice, to search downwards from."""
        raise self.unknown("scale")

    def sure(self, item: Laws, ask: Ask) -> float:
        """A scale that surely suffices, up to the rounding of doubles; inf where none is known."""
        return math.inf

    def leak(self, item: Laws, noise: Drawn) -> float | None:
        """The tight pure epsilon of lattice noise on laws in lattice indices, for tables; None where only a bound is
        known."""
        return None

    # ---- stated losses: laws as given, noise continuous or on a lattice; floats at or above the truth

    def given(self, item: Laws, noise: Drawn) -> tuple[Laws, Drawn]:
        """Laws as given, and the noise, as the proofs read them."""
        return item, noise

    def epsilon(self, item: Laws, noise: Drawn) -> float:
        """The tight pure loss; inf if none is finite."""
        return largest(self.pure(*self.given(item, noise), Fraction(0)))

    def delta_at(self, item: Laws, noise: Drawn, epsilon: Any) -> float:
        """The tight delta."""
        return largest(self.delta(*self.given(item, noise), as_fraction(epsilon), Fraction(0)))

    def renyi(self, item: Laws, noise: Drawn, alpha: Fraction) -> float:
        """The tight Rényi divergence."""
        return largest(self.divergence(*self.given(item, noise), alpha))

    def unknown(self, what: str) -> NotProvable:
        """The refusal of what is not known."""
        return NotProvable(f"{self.about}: no {what} is known; choose another noise, budget or kind of law")


class ProvedFast(Leakage[Laws, Drawn]):
    """Where what is proved is fast enough to search with."""

    def drawn(self, steps: float) -> Any:
        """The noise of a scale in lattice steps."""
        return kind_of(self.noise).at(steps, Fraction(1))

    def fast_pure(self, item: Laws, steps: float) -> float:
        """As proved."""
        return largest(self.pure(item, self.drawn(steps), Fraction(0)))

    def fast_delta(self, item: Laws, steps: float, ask: Ratio) -> float:
        """As proved."""
        return largest(self.delta(item, self.drawn(steps), ask.epsilon, ask.delta))

    def fast_divergence(self, item: Laws, steps: float, alpha: Fraction) -> float:
        """As proved."""
        return largest(self.divergence(item, self.drawn(steps), alpha))

    def leak(self, item: Laws, noise: Drawn) -> float:
        """As proved."""
        return largest(self.pure(item, noise, Fraction(0)))


def largest(losses: Iterable[PairLoss]) -> float:
    """The largest loss of any pair; 0 where no two laws differ."""
    return max((loss.value for loss in losses), default=0.0)


# From laws as the user gave them to what a loss is computed on: units, lattices, the laws behind an item.


def on_grid(family: Family, grid: Fraction | None) -> Family:
    """Lattice indices for lattice noise, on which all atoms must lie; as it is for continuous noise."""
    if grid is None:
        return family
    whole, unit = in_units(family)
    require_lattice(whole, grid / unit)
    steps = [(Fraction(x) - Fraction(whole.points[0].item())) * unit / grid for x in whole.points.tolist()]
    return replace(family, points=np.array([int(s) for s in steps], dtype=np.int64))


def discrete_laws(family: Family) -> list[tuple[Discrete, Discrete]]:
    """The pairs of laws behind a family, for noise without a lattice."""
    laws = [
        Discrete(family.points, law.parts if law.parts.dtype != np.float64 else law.floats()) for law in family.laws
    ]
    return [(laws[i], laws[j]) for (i, j), _ in family.different] or [(laws[0], laws[0])]


def in_units(family: Family) -> tuple[Family, Fraction]:
    """The family with whole-number points and their unit where all atoms are decimals; else as it is, unit 1.

    1000000.2 - 1000000.1 is 0.1 for the user and not for the doubles: distances are taken between whole numbers."""
    step = decimal_step(family.points)
    if step is None:
        return family, Fraction(1)
    return replace(family, points=integers(family.points, step)), step


def require_lattice(family: Family | SetFamily, grid: Fraction) -> None:
    """Refuse unless all atoms lie on one lattice of this grid, decided exactly."""
    points = family.points
    if points.dtype == np.int64 and grid.denominator == 1:
        aligned = not np.any((points - points[0]) % int(grid))
    else:
        first = Fraction(points[0].item())
        aligned = all(((Fraction(x) - first) / grid).denominator == 1 for x in points.tolist())
    if not aligned:
        raise BadNoise(
            "some atoms are off the lattice of this grid: no epsilon is finite there. Round the laws onto the "
            "lattice first (calibrate does), or choose a grid that divides every distance"
        )


def steps_below(scale: Real, unit: Fraction) -> float:
    """scale / unit, rounded down: a smaller scale loses more, so the loss stays an upper bound."""
    return max(0.0, float_down(as_fraction(scale) / unit))


# What a law that is known up to total variation adds to a loss.
#
# Let |P - p| <= a and |Q - q| <= b in total variation, P and Q the true laws and p and q the computed ones. Noise and
# rounding bring laws no farther apart, so for every set S of outputs
#     P(S) - e^eps Q(S) <= p(S) + a - e^eps (q(S) - b) <= delta(eps) + a + e^eps b,
# with delta(eps) that of p and q. Ratios are another matter: P may have mass where Q has none, so no pure loss is
# known.


def slack(family: Family, order: tuple[int, int], e: arb) -> arb:
    """a + e b for the laws P and Q of one order of a pair, e = e^eps; 0 for exact laws.

    >>> from fugu.laws import Discrete, LawPair, families
    >>> family = families([LawPair(Discrete([0]), Discrete([1]))])[0]
    >>> slack(family, (0, 1), arb(1)) == 0
    True
    """
    first, second = (arb(family.errors[k]) for k in order)
    return first + e * second if family.blurred(order) else arb(0)


def largest_slack(family: Family, epsilon: Real) -> float:
    """max over pairs and both orders of a + e^eps b, rounded up."""
    with balls.precision(64):
        e = balls.of(as_fraction(epsilon)).exp()
        orders = [order for pair in family.pairs for order in (pair, pair[::-1]) if family.blurred(pair)]
        return max((balls.upper(slack(family, order, e)) for order in orders), default=0.0)


def require_exact(family: Family) -> None:
    """Refuse to state a pure loss of laws that are known up to an error only."""
    if family.inexact:
        raise NotProvable(
            f"a law is known up to total variation {max(family.errors):.2g} only, and that bounds no ratio: "
            "use a budget with delta > 0, or the exact convolution (method='exact')"
        )


def require_room(family: Family, ask: Ask) -> None:
    """Refuse a budget that the errors of the laws exceed by themselves, whatever the noise."""
    if ask.pure:
        require_exact(family)
    elif (spent := largest_slack(family, ask.epsilon)) > ask.delta:
        raise NotProvable(
            f"the laws are known up to total variation {max(family.errors):.2g}, which costs delta {spent:.2g} at this "
            "epsilon whatever the noise: ask for a larger delta, or use the exact convolution (method='exact')"
        )
