"""From law pairs to a lattice problem: choose the grid, push the laws through rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.exact import least, least_steps
from fugu.calibration.method import AnyBudget, Budget
from fugu.exact import Real, as_fraction
from fugu.guarantee import Pure, Renyi, RenyiCurve
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item, items
from fugu.laws.pair import LawPair
from fugu.mechanism.pushed import numbered
from fugu.noise.lattice import Lattice, as_grid

_FINER = 16
_EXCESS = 1.005
_HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Problem:
    """Laws on lattice indices. `given` are the laws as stated; `items` is what rounding makes of them."""

    items: tuple[Item, ...]
    given: tuple[Item, ...]
    lattice: Lattice

    @property
    def support(self) -> NDArray[np.float64] | None:
        """All stated atoms; None where some law is an unknown translate, or spreads over the whole line."""
        atoms = [f.points for f in self.given if isinstance(f, Family) and not f.translates]
        if len(atoms) < len(self.given):
            return None
        return atoms[0] if len(atoms) == 1 else np.unique(np.concatenate(atoms))

    def unrounded(self) -> tuple[Family, ...] | None:
        """The stated laws with their atoms numbered in order: all that matters when neither noise nor rounding is
        applied. None for laws without atoms, which are always rounded."""
        if any(isinstance(f, Analytic) for f in self.given):
            return None
        return tuple(numbered(f) for f in self.given if isinstance(f, Family))


def problem(pairs: tuple[LawPair, ...], budget: AnyBudget, grid: Real | str = "auto", kind: str = "laplace") -> Problem:
    """Choose the lattice. "auto": the coarsest that holds every atom; where there is none, or a law is unknown
    (`Shifted`) or Gaussian, at most 1/16 of the scale, so that rounding costs at most 0.5 % of the scale."""
    given = items(pairs)
    if grid != "auto":
        return _on(given, Lattice(as_grid(grid)))
    atoms = [f for f in given if isinstance(f, Family)]
    if len(atoms) < len(given):
        return _smooth(given, budget, kind)
    lattice = Lattice.holding([f.points for f in atoms])
    if lattice is None:
        if isinstance(budget, Renyi | RenyiCurve):
            return _smooth(given, budget, kind)
        return _rounded(tuple(atoms), budget)
    found = _on(given, lattice)
    if any(f.translates for f in atoms):
        parts = math.ceil(_FINER / steps) if (steps := _steps(found, budget, kind)) > 0 else 1
        found = _on(given, Lattice(lattice.grid / parts, lattice.origin))
    return found


def _on(given: tuple[Item, ...], lattice: Lattice) -> Problem:
    return Problem(tuple(f.on(lattice) for f in given), given, lattice)


def _steps(found: Problem, budget: AnyBudget, kind: str) -> float:
    return max(least_steps(f, budget, kind) for f in found.items)


def _smooth(given: tuple[Item, ...], budget: AnyBudget, kind: str) -> Problem:
    """A lattice for laws with Gaussian components: a sixteenth of their spread, and of the scale once it is known;
    halved until halving it once more would save less than 0.5 % of the scale."""
    finest = min(_spread(f) for f in given) / _FINER
    if isinstance(budget, Pure) and kind == "laplace" and (shared := _common_shift(given)) is not None:
        # translates by whole steps stay translates: a grid that divides the shift makes the pure scale exact
        finest = min(finest, float(shared / as_fraction(budget.epsilon)) / _FINER) if budget.epsilon else finest
        return _on(given, Lattice(shared / max(1, math.ceil(shared / Fraction(finest)))))
    grid = short_step(finest)
    found = _on(given, Lattice(grid))
    scale = _steps(found, budget, kind) * float(grid)
    if scale > 0:
        grid = min(grid, short_step(scale / _FINER))
    for _ in range(_HALVINGS):
        found = _on(given, Lattice(grid))
        finer = _on(given, Lattice(grid / 2))
        scale = _steps(found, budget, kind) * float(grid)
        if scale <= _EXCESS * _steps(finer, budget, kind) * float(grid / 2):
            break
        grid = grid / 2
    return found


def _common_shift(given: tuple[Item, ...]) -> Fraction | None:
    """The largest number of which every shift is a multiple, if all items are translates of normal laws."""
    shifts = [item.shift() if isinstance(item, Analytic) else None for item in given]
    moved = [abs(shift) for shift in shifts if shift]
    if not moved or any(shift is None for shift in shifts):
        return None
    common = math.lcm(*(shift.denominator for shift in moved))
    return Fraction(math.gcd(*(int(shift * common) for shift in moved)), common)


def _rounded(given: tuple[Family, ...], budget: Budget) -> Problem:
    """A lattice for atoms that are on none: fine enough that rounding costs at most 0.5 % of the continuous scale."""
    wanted = max(least(f, budget, lattice=False) for f in given)
    spread = max(_spread(f) for f in given)
    grid = short_step(min(wanted or spread, spread) / _FINER)
    found = _on(given, Lattice(grid))
    for _ in range(_HALVINGS):
        if wanted == 0 or _steps(found, budget, "laplace") * float(grid) <= _EXCESS * wanted:
            break
        grid = short_step(float(grid) / 2)
        found = _on(given, Lattice(grid))
    return found


def _spread(item: Item) -> float:
    """The standard deviation of the published value: of all laws pooled, or of the narrower of two smooth ones."""
    if isinstance(item, Analytic):
        spreads = [_std(law.weights, law.means, law.stds) for law in (item.p, item.q)]
        return min(s for s in spreads if s > 0)
    return _std(item.weights.mean(axis=0), item.points, np.zeros(len(item.points))) or 1.0


def _std(weights: NDArray[np.float64], means: NDArray[np.float64], stds: NDArray[np.float64]) -> float:
    """sqrt(sum w (std^2 + (mean - centre)^2)), in a unit that keeps squares from overflowing or vanishing."""
    unit = float(np.maximum(np.abs(means), stds).max()) or 1.0
    centred = means / unit - weights @ (means / unit)
    return float(np.sqrt(weights @ ((stds / unit) ** 2 + centred**2))) * unit


def short_step(x: float) -> Fraction:
    """The largest of 1, 2, 5 x 10^k that is <= x."""
    power = Fraction(10) ** math.floor(math.log10(x))
    return max(m * power for m in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)) if m * power <= Fraction(x))
