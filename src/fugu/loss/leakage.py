"""`Leakage`: everything that is known about one noise on one shape of laws, and laws as the user gave them in its
units."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Generic, TypeVar, cast

import numpy as np

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Ask, Divergences, PairLoss, Ratio
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, SetFamily, value_range
from fugu.noise.kind import kind_of
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_down, integers

NO_NOISE = "epsilon 0 asks for identical outputs, and these laws differ: no finite noise does that"
Laws = TypeVar("Laws")
Placed = TypeVar("Placed", Family, SetFamily)
Drawn = TypeVar("Drawn")
_RATIOS = Ratio(Fraction(1), Fraction(0))


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
        """The largest proved pure loss as an exact rational, of every pair what a coupling costs where that is less;
        None if it is not finite."""
        worst = Fraction(0)
        for loss in self.pure(item, noise, Fraction(0)):
            known = [self.coupled(item, loss.pair, noise), None if math.isinf(loss.value) else Fraction(loss.value)]
            if not any(value is not None for value in known):
                return None
            worst = max(worst, min(value for value in known if value is not None))
        return worst

    def coupled(self, item: Laws, pair: tuple[int, int], noise: Drawn) -> Fraction | None:
        """The pure loss that the coupling of least distance implies, in exact rationals; None where none is known."""
        return None

    def explain_pure(self, item: Laws, noise: Drawn) -> None:
        """Say why no pure loss is known, where that is not a matter of the scale: laws known up to an error have
        none."""
        require_exact(item)

    # ---- searches, with the scale in lattice steps; nothing is proved by them

    def guess(self, item: Laws, steps: float, ask: Ask) -> float:
        """The loss at a scale, in the unit of `ask.target`: as proved, unless doubles are faster."""
        noise: Any = kind_of(self.noise).at(steps, Fraction(1))
        if isinstance(ask, Divergences):
            return ask.excess(lambda alpha: largest(self.divergence(item, noise, alpha)))
        if not ask.delta:
            return largest(self.pure(item, noise, Fraction(0)))
        return largest(self.delta(item, noise, ask.epsilon, ask.delta))

    def known(self, item: Laws, ask: Ask) -> float | None:
        """The least scale where it is known without a search; raises where no scale of this noise will do."""
        if (reason := kind_of(self.noise).refusal(ask)) is not None:
            raise NotProvable(reason)
        return None

    def start(self, item: Laws, ask: Ask) -> tuple[float, float]:
        """A scale that should suffice, to search downwards from, and one that surely does up to the rounding of
        doubles, inf where none is known: some times the range, and the search doubles it where it is too little."""
        if (laws := cast(Any, item)).dimension > 1 and not laws.atoms:
            raise self.unknown("scale")
        return max(1.0, 2 * value_range(item)) / max(float(ask.epsilon), 0.05), math.inf

    def resolution(self, ask: Ask) -> float:
        """How close to the least scale a search comes, relatively."""
        return 1e-11

    def leak(self, item: Laws, noise: Drawn) -> float | None:
        """The tight pure epsilon of lattice noise on laws in lattice indices, for tables: infinite for noise that
        bounds no ratio, unless nothing is added or nothing differs; None where only a bound is known."""
        laws, drawn = cast(Any, item), cast(Any, noise)
        if drawn.refusal(_RATIOS) is not None and not (laws.same or drawn.silent):
            return math.inf
        return largest(self.pure(item, noise, Fraction(0)))

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


def largest(losses: Iterable[PairLoss]) -> float:
    """The largest loss of any pair; 0 where no two laws differ."""
    return max((loss.value for loss in losses), default=0.0)


def on_grid(item: Any, grid: Fraction | None) -> Any:
    """Lattice indices for lattice noise, on which all atoms must lie; laws with spread are rounded onto it. For
    continuous noise as it is."""
    if grid is None:
        return item
    if not item.atoms:
        return item.on(Lattice(grid))
    whole, unit = in_units(item)
    require_lattice(whole, grid / unit)
    steps = [(Fraction(x) - Fraction(whole.points[0].item())) * unit / grid for x in whole.points.tolist()]
    if steps and max(map(abs, steps)) >= 2**63:
        raise BadNoise(f"a grid of {float(grid):g} is too fine for values this far apart; choose a coarser grid")
    return item.placed(np.array([int(s) for s in steps], dtype=np.int64))


def discrete_laws(family: Family) -> list[tuple[Discrete, Discrete]]:
    """The pairs of laws behind a family, for noise without a lattice."""
    laws = [
        Discrete(family.points, law.parts if law.parts.dtype != np.float64 else law.floats()) for law in family.laws
    ]
    return [(laws[i], laws[j]) for (i, j), _ in family.different] or [(laws[0], laws[0])]


def in_units(family: Placed) -> tuple[Placed, Fraction]:
    """The family with whole-number points and their unit where all atoms are decimals; else as it is, unit 1.

    1000000.2 - 1000000.1 is 0.1 for the user and not for the doubles: distances are taken between whole numbers."""
    step = decimal_step(family.points)
    if step is None:
        return family, Fraction(1)
    return family.placed(integers(family.points, step)), step


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


def largest_slack(family: Any, epsilon: Real) -> float:
    """max over pairs and both orders of a + e^eps b, rounded up."""
    with balls.precision(64):
        e = balls.of(as_fraction(epsilon)).exp()
        orders = [order for pair in family.pairs for order in (pair, pair[::-1]) if family.blurred(pair)]
        return max((balls.upper(family.slack(order, e)) for order in orders), default=0.0)


def require_exact(family: Any) -> None:
    """Refuse to state a pure loss of laws that are known up to an error only."""
    if family.inexact:
        raise NotProvable(
            f"a law is known up to total variation {max(family.errors):.2g} only, and that bounds no ratio: "
            "use a budget with delta > 0, or the exact convolution (method='exact')"
        )


def require_room(family: Any, ask: Ask) -> None:
    """Refuse a budget that the errors of the laws exceed by themselves, whatever the noise."""
    if ask.pure:
        require_exact(family)
    elif (spent := largest_slack(family, ask.epsilon)) > ask.delta:
        raise NotProvable(
            f"the laws are known up to total variation {max(family.errors):.2g}, which costs delta {spent:.2g} at this "
            "epsilon whatever the noise: ask for a larger delta, or use the exact convolution (method='exact')"
        )
