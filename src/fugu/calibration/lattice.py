"""`Problem`: laws as stated, what rounding onto a lattice makes of them, and how that lattice is chosen."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.offer import attempted, suited
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee.asks import Ask
from fugu.laws.cells import CellFamily
from fugu.laws.components import spread
from fugu.laws.family import Family, SetFamily
from fugu.laws.normal import Analytic
from fugu.laws.shapes import Shape
from fugu.loss.door import leakage
from fugu.loss.leakage import Leakage, require_room
from fugu.loss.search.laplace import delta_loss, pure_loss
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Kind
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.progress import on_time

FINER = 16
"""A lattice is at most this part of the scale and of the spread of the values."""
MOST_STEPS = 2.0**51
"""The widest noise, in lattice steps, that the samplers draw exactly, with room for rounding its scale up."""
_AMPLE = 2000
"""Steps in the scale and in the range of the values that make rounding negligible: it costs at most 0.05 % of both."""
_LIGHTER = 4
"""The first coarser lattice that is tried has this many times fewer points than are allowed: points take time."""
_COARSE_SETS = 200
"""Steps in the scale that make rounding of declared values cost at most 0.5 % of it."""
_ROUNDS = 40
_EXCESS = 1.005
_SAVED = 1.0025
_HALVINGS = 12


def reachable(asked: Problem, search: Callable[[Problem], float]) -> tuple[Problem, float]:
    """The problem on a lattice where `search`, for the least scale in steps, is within reach, and what it finds.

    The laws' own lattice where that can be; else one 2, 5, 10, ... times coarser. Rounding is part of the query: the
    laws are pushed through the coarser lattice before anything is searched or proved, so what is proved holds for what
    is released. A lattice that would show, above a sixteenth of the scale or of the spread, is not taken: then the
    first refusal stands."""
    try:
        return asked, search(asked)
    except OutOfReach as error:
        if not asked.free:
            raise
        first = last = error
    factor = 1
    for _ in range(_ROUNDS):
        factor = ladder(factor * max(1.5, _LIGHTER * last.points / last.limit))
        found = asked.coarser(factor)
        if found.spread() < FINER:
            raise first
        try:
            steps = search(found)
        except OutOfReach as error:
            last = error
            continue
        return _settled(asked, search, factor, steps, first)
    raise first


def _settled(
    asked: Problem, search: Callable[[Problem], float], factor: int, steps: float, first: OutOfReach
) -> tuple[Problem, float]:
    """A lattice within reach, made coarser while rounding stays negligible, since visiting its points takes time; or
    finer, while it can be, where the scale turned out to be small."""
    found = asked.coarser(factor)
    room = min(steps, found.spread()) / _AMPLE
    if room >= 2:
        lighter = asked.coarser(ladder(factor * room / 2))
        return lighter, search(lighter)
    while steps < FINER and factor > 1:
        factor = ladder(factor / 5)  # a fifth to a half
        try:
            found, steps = asked.coarser(factor), search(asked.coarser(factor))
        except OutOfReach:
            break
    if steps < FINER:
        raise first
    return found, steps


def ladder(x: float) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... that is at least x, up to rounding.

    >>> [ladder(x) for x in (0.3, 2, 3, 10, 51)]
    [1, 2, 5, 10, 100]
    """
    power = int(10 ** max(0, math.floor(math.log10(max(x, 1.0)) + 1e-9)))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= x * (1 - 1e-9))


def problem(given: tuple[Shape, ...], ask: Ask, kind: Kind, grid: Fraction | None = None) -> Problem:
    """Choose the lattice. Without a grid: the coarsest that holds every atom; where there is none, or a law is unknown
    (`Shifted`) or Gaussian, at most 1/16 of the scale, so that rounding costs at most 0.5 % of the scale."""
    if grid is not None or isinstance(given[0], CellFamily):
        return on(given, Lattice(grid or Fraction(1)))
    if isinstance(given[0], SetFamily):
        return _sets(given[0], ask, kind)
    atoms = [item for item in given if isinstance(item, Family)]
    if len(atoms) < len(given):
        return _smooth(given, ask, kind)
    lattice = Lattice.holding([family.points for family in atoms])
    if lattice is None:
        return _on_none(given, atoms, ask, kind)
    found = on(given, lattice)
    if not any(family.translates for family in atoms):
        return replace(found, free=given[0].dimension == 1)
    steps = 0.0
    with suppress(OutOfReach):  # fine enough then, and some methods visit no lattice points
        steps = _steps(found, ask, kind)
    parts = math.ceil(FINER / steps) if 0 < steps < FINER else 1
    if given[0].dimension > 1 and kind is Gaussian and 0 < steps < math.inf:
        parts = _finer(given, ask, lattice, parts)
    return on(given, Lattice(lattice.grid / parts, lattice.origin))


def _finer(given: tuple[Shape, ...], ask: Ask, lattice: Lattice, parts: int) -> int:
    """Into how many parts a step is cut for Gaussian noise on translates of vectors: the lattice adds a few squared
    steps to the variance (docs/proofs/correlated.md#3-on-points-a-post-processing-of-narrower-continuous-noise), so
    twice as many until that saves less than 0.25 % of the scale; all that is left to save is a third more."""

    def scale(cut: int) -> float:
        return _steps(on(given, Lattice(lattice.grid / cut, lattice.origin)), ask, Gaussian) / cut

    with suppress(OutOfReach):
        now = scale(parts)
        for _ in range(_HALVINGS):
            finer = scale(2 * parts)
            if now <= _SAVED * finer:
                break
            parts, now = 2 * parts, finer
    return parts


def _on_none(given: tuple[Shape, ...], atoms: Sequence[Family], ask: Ask, kind: Kind) -> Problem:
    """A lattice for atoms that are on none; of vectors by the smallest spread of any coordinate, its atoms taken
    alike."""
    if given[0].dimension == 1:
        return _smooth(given, ask, kind) if ask.finite else _rounded(tuple(atoms), ask)
    columns = [column for family in atoms for column in family.points.T]
    spreads = [spread(np.full(len(c), 1 / len(c)), c, np.zeros(len(c))) for c in columns]
    return on(given, Lattice(short_step(min((s for s in spreads if s > 0), default=1.0) / 64)))


def _sets(given: SetFamily, ask: Ask, kind: Kind) -> Problem:
    """The coarsest lattice that holds every declared value; where there is none, one so fine that rounding onto it
    costs at most 0.5 % of the scale. Sets are pushed through rounding exactly."""
    lattice = Lattice.holding([given.points])
    if lattice is not None:
        return replace(on((given,), lattice), free=True)
    grid = short_step(float(given.points[-1] - given.points[0]) / _AMPLE)
    found = on((given,), Lattice(grid))
    for _ in range(_HALVINGS):
        steps = _steps(found, ask, kind)
        if steps == 0 or steps >= _COARSE_SETS:
            break
        grid = min(short_step(float(grid) * steps / _COARSE_SETS), grid / 2)
        found = on((given,), Lattice(grid))
    return replace(found, free=True)


def _steps(found: Problem, ask: Ask, kind: Kind) -> float:
    """The least scale that is known, in lattice steps: for one number the exact one."""
    if found.dimension == 1:
        return max(least(item, ask, kind) for item in found.items)
    proposed = [attempted(lambda m=m: m.propose(found.items, ask, kind)) for m in suited(found.items, ask, kind)]  # type: ignore[misc]
    return min((proposal.steps for proposal in proposed), default=math.inf)


def _smooth(given: tuple[Shape, ...], ask: Ask, kind: Kind) -> Problem:
    """A lattice for laws with Gaussian components: a sixteenth of their spread, and of the scale once it is known;
    halved until halving it once more would save less than 0.5 % of the scale."""
    finest = min(item.narrower() if isinstance(item, Analytic) else item.spread() for item in given) / FINER
    if ask.pure and kind is Laplace and (shared := _common_shift(given)) is not None:
        # translates by whole steps stay translates: a grid that divides the shift makes the pure scale exact
        if ask.epsilon:
            scale = float(shared / ask.epsilon)
            finest = max(min(finest, scale / FINER), 4 * scale / MOST_STEPS)
        return on(given, Lattice(shared / max(1, math.ceil(shared / Fraction(finest)))))
    natural = on(given, Lattice(short_step(finest)))
    try:
        found, steps = reachable(replace(natural, free=True), lambda asked: _steps(asked, ask, kind))
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
            scale = _steps(on(given, Lattice(grid)), ask, kind) * float(grid)
            found = on(given, Lattice(grid))
            if scale <= _EXCESS * _steps(finer, ask, kind) * float(grid / 2):
                break
        except OutOfReach:
            break  # the last lattice within reach
        grid = grid / 2
    return found


def _common_shift(given: tuple[Shape, ...]) -> Fraction | None:
    """The largest number of which every shift is a multiple, if all items are translates of normal laws."""
    shifts = [item.shift() if isinstance(item, Analytic) else None for item in given]
    moved = [abs(shift) for shift in shifts if shift]
    if not moved or any(shift is None for shift in shifts):
        return None
    common = math.lcm(*(shift.denominator for shift in moved))
    return Fraction(math.gcd(*(int(shift * common) for shift in moved)), common)


def _rounded(given: tuple[Family, ...], ask: Ask) -> Problem:
    """A lattice for atoms that are on none: fine enough that rounding costs at most 0.5 % of the continuous scale."""
    wanted = max(_continuous(family, ask) for family in given)
    widest = max(family.spread() for family in given)
    grid = short_step(min(wanted or widest, widest) / FINER)
    found = on(given, Lattice(grid))
    for _ in range(_HALVINGS):
        if wanted == 0 or _steps(found, ask, Laplace) * float(grid) <= _EXCESS * wanted:
            break
        grid = short_step(float(grid) / 2)
        found = on(given, Lattice(grid))
    return replace(found, free=True)


def _continuous(family: Family, ask: Ask) -> float:
    """The least scale of continuous Laplace noise, in the unit of the points."""
    if family.same:
        return 0.0
    require_room(family, ask)
    epsilon = float(ask.epsilon)

    def loss(scale: float) -> float:
        return delta_loss(family, scale, epsilon, None).value if ask.delta else pure_loss(family, scale).value

    known = leakage("line", Laplace.name)
    known.known(family, ask)  # refuses what no scale meets
    return searched(known, family, ask, loss)


def short_step(x: float) -> Fraction:
    """The largest of 1, 2, 5 x 10^k that is <= x."""
    if not 0 < x < math.inf:
        raise NotProvable("the values or the noise are beyond the range of doubles; rescale the values")
    power = Fraction(10) ** math.floor(math.log10(x))
    return max(m * power for m in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)) if m * power <= Fraction(x))


@dataclass(frozen=True, eq=False)
class Problem:
    """Laws on lattice indices. `given` are the laws as stated; `items` is what rounding makes of them."""

    items: tuple[Shape, ...]
    given: tuple[Shape, ...]
    lattice: Lattice
    free: bool = False
    """Whether a coarser lattice would do as well: nobody asked for this one."""
    finer: Fraction | None = None
    """The grid that the values have by themselves, where the lattice is coarser to be within reach."""

    @property
    def dimension(self) -> int:
        """1 for a published number, d for a vector."""
        return self.given[0].dimension

    @property
    def cells(self) -> int:
        """(pair, atom) cells: what a method has to look at."""
        return sum(len(f.points) * len(f.pairs) for f in self.items if isinstance(f, Family | SetFamily))

    @property
    def support(self) -> NDArray[np.float64] | None:
        """All stated atoms; None where some law is an unknown translate, or spreads over the whole line."""
        atoms = [f.points for f in self.given if isinstance(f, Family | SetFamily) and not f.translates]
        if len(atoms) < len(self.given):
            return None
        return atoms[0] if len(atoms) == 1 else np.unique(np.concatenate(atoms), axis=0)

    def unrounded(self) -> tuple[Shape, ...] | None:
        """The stated laws with their atoms numbered in order: all that matters when neither noise nor rounding is
        applied. None for laws without atoms and for vectors, which are always rounded."""
        if self.dimension > 1 or not all(item.atoms for item in self.given):
            return None
        return tuple(item.numbered() for item in self.given)

    def coarser(self, factor: int) -> Problem:
        """The laws as stated, rounded onto a lattice of so many times the grid."""
        lattice = Lattice(self.lattice.grid * factor, self.lattice.origin)
        return replace(on(self.given, lattice), free=self.free, finer=self.finer or self.lattice.grid)

    def spread(self) -> float:
        """The largest standard deviation of the published value, both laws of a pair pooled, in lattice steps."""
        return max(item.spread() for item in self.given) / float(self.lattice.grid)

    @property
    def rounding(self) -> str | None:
        """What a certificate says of a lattice coarser than the values; None where it is not."""
        if self.finer is None:
            return None
        step = self.lattice.grid
        return (
            f"values are rounded to multiples of {step} from {self.lattice.origin} before noise is added, coarser than "
            f"their own step {self.finer}, so that every lattice point could be visited: no value moves by more than "
            f"{step / 2}, and the guarantee is for the rounded values"
        )


def on(given: tuple[Shape, ...], lattice: Lattice) -> Problem:
    """The laws rounded onto a lattice."""
    return Problem(tuple(item.on(lattice) for item in given), given, lattice)


def beliefs_of(given: Sequence[Shape]) -> str:
    """SHA-256 of laws as stated, before any rounding: equal for two calibrations on the same beliefs."""
    digest = hashlib.sha256()
    for item in given:
        item.mark(digest)
    return digest.hexdigest()


# The least scale at which a loss that never grows with the scale meets its target, from the safe side.


_SMALLEST = 1e-290


def least(item: Shape, ask: Ask, kind: Kind) -> float:
    """The least scale of a kind of noise, in lattice steps, at which the tight loss in doubles meets what is asked."""
    known = leakage(item.shape, kind.name)
    if item.same:
        return 0.0
    exact = known.known(item, ask)
    if exact is not None:
        return exact
    return math.inf if ask.impossible else searched(known, item, ask, lambda steps: known.guess(item, steps, ask))


def searched(known: Leakage[Any, Any], item: Shape, ask: Ask, loss: Callable[[float], float]) -> float:
    """The least scale at which a loss meets what is asked, from where the table begins, and at most what suffices."""
    start = cache(lambda: known.start(item, ask))

    def timely(steps: float) -> float:
        on_time()
        return loss(steps)

    found = least_scale(timely, ask.target, lambda: start()[0], known.resolution(ask))
    return min(found, start()[1]) if found else 0.0


def least_scale(
    loss: Callable[[float], float], target: float, upper: float | Callable[[], float], relative: float = 1e-11
) -> float:
    """A scale with loss(scale) <= target and loss(scale (1 - relative)) > target; 0 if no noise is needed.

    `loss` is non-increasing (docs/proofs/laplace.md) and `loss(upper) <= target` up to rounding. Brackets downwards
    from `upper`, then narrows; the end that meets the target is the one returned, so a wrong guess costs time, never
    soundness."""
    if loss(0.0) <= target:
        return 0.0
    high = upper() if callable(upper) else upper
    if not math.isfinite(high):
        raise NotProvable("the noise that this budget asks for is beyond the range of doubles; rescale the values")
    for attempt in range(60):
        at_high = loss(high)
        if at_high <= target:
            break
        high *= 1 + 1e-9 if attempt < 3 else 2
        if math.isinf(high):
            raise NotProvable("the noise that this budget asks for is beyond the range of doubles; rescale the values")
    else:
        raise NotProvable(
            "no scale within reach meets the budget; it is below what floating point can tell from zero: ask for a "
            "larger epsilon or delta"
        )
    while high > _SMALLEST:
        # the loss of distant laws falls like 1 / scale: jump there, and a little below
        ahead = min(high / 2, 0.98 * high * at_high / target) if 0 < at_high < target else high / 8
        low = max(ahead, high / 1024)
        at_low = loss(low)
        if at_low > target:
            return _narrow(loss, target, (low, at_low), (high, at_high), relative)
        high, at_high = low, at_low
    return high


def _narrow(
    loss: Callable[[float], float], target: float, low: tuple[float, float], high: tuple[float, float], relative: float
) -> float:
    """Shrink a bracket with loss(low) > target >= loss(high) to a relative width.

    Regula falsi in (log scale, log loss), which is nearly straight, with halved weights (Illinois) and a step just past
    the estimate, so that both ends close in; every third step that shrinks the bracket little is a bisection."""
    (a, loss_a), (b, loss_b) = low, high
    weight_a = weight_b = 1.0
    last = 0
    for step in range(300):
        if b - a <= relative * b:
            break
        width = math.log(b / a)
        above, below = (
            math.log(at / target) if 0 < at < math.inf and target > 0 else math.copysign(math.inf, at - target)
            for at in (loss_a, loss_b)
        )
        share = 0.5
        if step % 4 != 3 and math.isfinite(above) and math.isfinite(below) and above > below:
            share = weight_a * above / (weight_a * above - weight_b * below)
        nudge = 0.4 * relative / width
        share = min(max(share + (nudge if last <= 0 else -nudge), nudge), 1 - nudge)
        x = a * math.exp(share * width)
        if not a < x < b:
            break
        at_x = loss(x)
        if at_x <= target:
            weight_a, weight_b = (weight_a / 2 if last > 0 else 1.0), 1.0
            b, loss_b, last = x, at_x, 1
        else:
            weight_a, weight_b = 1.0, (weight_b / 2 if last < 0 else 1.0)
            a, loss_a, last = x, at_x, -1
    return b
