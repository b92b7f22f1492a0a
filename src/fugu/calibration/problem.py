"""From law pairs to a lattice problem: choose the grid, push the laws through rounding."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from fugu.calibration.exact import least, least_steps
from fugu.calibration.method import AnyBudget, Budget
from fugu.calibration.reach import FINER, MOST_STEPS, Problem, on, pooled, reachable, std
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee import Pure, Renyi, RenyiCurve
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item, items
from fugu.laws.pair import LawPair
from fugu.noise.lattice import Lattice, as_grid
from fugu.numbers.exact import Real, as_fraction

_EXCESS = 1.005
_HALVINGS = 12


def problem(pairs: tuple[LawPair, ...], budget: AnyBudget, grid: Real | str = "auto", kind: str = "laplace") -> Problem:
    """Choose the lattice. "auto": the coarsest that holds every atom; where there is none, or a law is unknown
    (`Shifted`) or Gaussian, at most 1/16 of the scale, so that rounding costs at most 0.5 % of the scale."""
    given = items(pairs)
    if grid != "auto":
        return on(given, Lattice(as_grid(grid)))
    atoms = [f for f in given if isinstance(f, Family)]
    if len(atoms) < len(given):
        return _smooth(given, budget, kind)
    lattice = Lattice.holding([f.points for f in atoms])
    if lattice is None:
        if isinstance(budget, Renyi | RenyiCurve):
            return _smooth(given, budget, kind)
        return _rounded(tuple(atoms), budget)
    found = on(given, lattice)
    if not any(f.translates for f in atoms):
        return replace(found, free=True)
    parts = 1
    with suppress(OutOfReach):  # fine enough then, and some methods visit no lattice points
        parts = math.ceil(FINER / steps) if (steps := _steps(found, budget, kind)) > 0 else 1
    return on(given, Lattice(lattice.grid / parts, lattice.origin))


def _steps(found: Problem, budget: AnyBudget, kind: str) -> float:
    return max(least_steps(f, budget, kind) for f in found.items)


def _smooth(given: tuple[Item, ...], budget: AnyBudget, kind: str) -> Problem:
    """A lattice for laws with Gaussian components: a sixteenth of their spread, and of the scale once it is known;
    halved until halving it once more would save less than 0.5 % of the scale."""
    finest = min(_spread(f) for f in given) / FINER
    if isinstance(budget, Pure) and kind == "laplace" and (shared := _common_shift(given)) is not None:
        # translates by whole steps stay translates: a grid that divides the shift makes the pure scale exact
        if budget.epsilon:
            scale = float(shared / as_fraction(budget.epsilon))
            finest = max(min(finest, scale / FINER), 4 * scale / MOST_STEPS)
        return on(given, Lattice(shared / max(1, math.ceil(shared / Fraction(finest)))))
    natural = on(given, Lattice(short_step(finest)))
    try:
        found, steps = reachable(replace(natural, free=True), lambda asked: _steps(asked, budget, kind))
    except OutOfReach:
        return natural  # for the methods that visit no lattice points
    if found.finer is not None:
        return found
    grid = found.lattice.grid
    if steps > 0:
        grid = min(grid, short_step(steps * float(grid) / FINER))
    for _ in range(_HALVINGS):
        try:
            finer = on(given, Lattice(grid / 2))
            scale = _steps(on(given, Lattice(grid)), budget, kind) * float(grid)
            found = on(given, Lattice(grid))
            if scale <= _EXCESS * _steps(finer, budget, kind) * float(grid / 2):
                break
        except OutOfReach:
            break  # the last lattice within reach
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
    grid = short_step(min(wanted or spread, spread) / FINER)
    found = on(given, Lattice(grid))
    for _ in range(_HALVINGS):
        if wanted == 0 or _steps(found, budget, "laplace") * float(grid) <= _EXCESS * wanted:
            break
        grid = short_step(float(grid) / 2)
        found = on(given, Lattice(grid))
    return replace(found, free=True)


def _spread(item: Item) -> float:
    """The standard deviation of the published value: of all laws pooled, or of the narrower of two smooth ones."""
    if isinstance(item, Analytic):
        spreads = [std(law.weights, law.means, law.stds) for law in (item.p, item.q)]
        return min(s for s in spreads if s > 0)
    return pooled(item)


def short_step(x: float) -> Fraction:
    """The largest of 1, 2, 5 x 10^k that is <= x."""
    if not 0 < x < math.inf:
        raise NotProvable("the values or the noise are beyond the range of doubles; rescale the values")
    power = Fraction(10) ** math.floor(math.log10(x))
    return max(m * power for m in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)) if m * power <= Fraction(x))
