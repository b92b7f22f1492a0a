"""`Leakage`: everything that is known about one noise on one shape of laws. `fugu.loss.table` has one file for each.

Proofs are pair by pair and for both orders, on laws in lattice indices; searches are in doubles, with scales in lattice
steps; the losses that users ask for (`epsilon`, `delta_at`, `renyi`) are of laws as given, for continuous noise too."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Ratio

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
    """What is not overridden is not known, and refused."""

    # ---- proofs: what a certificate may state

    def pure(self, item: Laws, noise: Drawn, epsilon: Fraction) -> list[PairLoss]:
        """Proved pure losses; inf where none is finite. A pair that meets `epsilon` by an exact argument says so."""
        raise self._unknown("pure loss")

    def delta(self, item: Laws, noise: Drawn, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """Proved delta(epsilon); `delta` is what would be enough."""
        raise self._unknown("delta")

    def divergence(self, item: Laws, noise: Drawn, alpha: Fraction) -> list[PairLoss]:
        """Proved Rényi divergences of order alpha."""
        raise self._unknown("Rényi divergence")

    def conditioned(self, item: Laws, noise: Drawn, alpha: Fraction, delta: Fraction) -> Laws | None:
        """One pair given events of probability at least 1 - delta on each side; None where nothing is known."""
        return None

    def limit(self, item: Laws, noise: Drawn) -> Fraction | None:
        """The largest proved pure loss, as an exact rational where one is known; None if it is not finite."""
        losses = [loss.value for loss in self.pure(item, noise, Fraction(0))]
        return None if any(map(math.isinf, losses)) else max(map(Fraction, losses), default=Fraction(0))

    def explain_pure(self, item: Laws, noise: Drawn) -> None:
        """Say why no pure loss is known, where that is not a matter of the scale."""

    # ---- searches: in doubles, with the scale in lattice steps; nothing is proved by them

    def fast_pure(self, item: Laws, steps: float) -> float:
        """The pure loss, to search with."""
        raise self._unknown("pure loss")

    def fast_delta(self, item: Laws, steps: float, ask: Ratio) -> float:
        """delta at the epsilon asked for, to search with."""
        raise self._unknown("delta")

    def fast_divergence(self, item: Laws, steps: float, alpha: Fraction) -> float:
        """The Rényi divergence, to search with."""
        raise self._unknown("Rényi divergence")

    def require(self, item: Laws, ask: Ask) -> None:
        """Refuse, before any search, what no scale of this noise can meet."""

    def known(self, item: Laws, ask: Ask) -> float | None:
        """The least scale where it is known in closed form."""
        return None

    def start(self, item: Laws, ask: Ask) -> float:
        """A scale that should suffice, to search downwards from."""
        raise self._unknown("scale")

    def sure(self, item: Laws, ask: Ask) -> float:
        """A scale that surely suffices, up to the rounding of doubles; inf where none is known."""
        return math.inf

    def leak(self, item: Laws, noise: Drawn) -> float | None:
        """The tight pure epsilon of lattice noise on laws in lattice indices, for tables; None where only a bound is
        known."""
        return None

    # ---- stated losses: laws as given, noise continuous or on a lattice; floats at or above the truth

    def epsilon(self, item: Laws, noise: Drawn) -> float:
        """The tight pure loss; inf if none is finite."""
        raise self._unknown("pure loss")

    def delta_at(self, item: Laws, noise: Drawn, epsilon: Any) -> float:
        """The tight delta."""
        raise self._unknown("delta")

    def renyi(self, item: Laws, noise: Drawn, alpha: Fraction) -> float:
        """The tight Rényi divergence."""
        raise self._unknown("Rényi divergence")

    def _unknown(self, what: str) -> NotProvable:
        return NotProvable(f"{self.about}: no {what} is known; choose another noise, budget or kind of law")

    about = "this noise on these laws"
