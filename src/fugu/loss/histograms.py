"""delta of a histogram with lattice noise in every cell, Laplace or Gaussian (docs/proofs/histograms.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, final

import numpy as np
from flint import arb, fmpz

from fugu.errors import BadNoise, NotProvable, OutOfReach
from fugu.guarantee.asks import Ask, PairLoss, Ratio
from fugu.laws.cells import CellFamily, Counts
from fugu.loss import cells
from fugu.loss.cells import UNIT, Floats, Mask, Ratios, hockey_stick, tilt
from fugu.loss.leakage import Leakage, largest
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up

# Every cell multiplies its part of the likelihood by e^r or e^-r, r = 1/b, so with c = p - e^epsilon q
#
#     delta(epsilon) = (e^r - e^-r) E (D - sum over cells of |c| G)_+,   D = HS_epsilon - (e^epsilon - 1) / (e^2r - 1),
#
# where G = 1 if a cell is not at the better of its two values: with probability 1 / (1 + e^-r) if c > 0, and
# e^-r / (1 + e^-r) if c < 0. D <= 0 is the pure guarantee.


_BITS = 256
_SHARP = 300
"""A rate above this is no noise to speak of: delta is at most that of the laws themselves."""
_MANY = 2**13
"""Sums are kept as they are up to so many; more are spread over a grid."""
_WORK = 2**25
"""Cells times grid points."""


def laplace_delta(p: Counts, q: Counts, rate: Fraction, epsilon: Fraction) -> float:
    """sup over events of P - e^epsilon Q for noise of that `rate` = 1 / scale in every cell, up; one order."""
    bare = hockey_stick(p, q, epsilon)
    if rate > _SHARP or bare == 0:
        return bare
    with balls.precision(_BITS):
        r = balls.of(rate)
        excess = balls.of(epsilon).expm1()
        room = balls.upper(Ratios(p, q).stick(excess)[0] - excess / (2 * r).expm1())
        if room <= 0:
            return 0.0
        swing, stay = r.exp() - (-r).exp(), 1 / (1 + (-r).exp())
        ends = balls.upper(stay), balls.upper(1 - stay)
        odds = {True: ends[::-1], False: ends}
        found = balls.upper(swing * arb(_gap(room, p, q, epsilon, odds)))
    return min(bare, found)


def _gap(room: float, p: Counts, q: Counts, epsilon: Fraction, odds: dict[bool, tuple[float, float]]) -> float:
    """E (room - sum |c| G)_+, up: |c| from below, probabilities from above.

    All terms are positive, so that what doubles lose is relative: at most 6 units for each cell and one for each term
    of the last sum. The sums are kept as they are while there are few. Then each is spread over the two next points of
    a grid with the same mean, which makes no convex function smaller."""
    least, _, gains = tilt(p, q, epsilon)
    cells = list(zip(least.tolist(), gains.tolist(), strict=True))
    sums, masses = np.zeros(1), np.ones(1)
    used = 0
    while used < len(cells) and len(sums) <= _MANY:
        size, (kept, lost) = cells[used][0], odds[cells[used][1]]
        used += 1
        if size == 0.0:
            masses = masses * (kept + lost)
            continue
        moved = (sums + size) * (1 - 4 * UNIT)
        inside = moved < room  # sums that leave no room are dropped
        sums, masses = np.append(sums, moved[inside]), np.append(masses * kept, masses[inside] * lost)
    if used < len(cells):
        points = max(256, min(_MANY, _WORK // len(cells)))
        step = 2.0 ** np.ceil(np.log2(room / points))
        masses = spread(sums / step, masses, int(room / step) + 2)
        for size, gain in cells[used:]:
            masses = _shifted(masses, size / step, *odds[gain])
        sums = np.arange(len(masses)) * step
    inside = sums < room
    total = float(np.dot(masses[inside], room - sums[inside]))
    return total * (1 + (6 * len(cells) + 2 * len(sums) + 64) * UNIT) + 1e-290


def spread(places: Floats, masses: Floats, points: int) -> Floats:
    """Masses on 0, 1, ..., points - 1 with the mean of each; what lies beyond is dropped."""
    low = np.floor(places)
    part = places - low  # exact: places are doubles
    index = low.astype(np.int64)
    inside = index < points - 1
    index, part, masses = index[inside], part[inside], masses[inside]
    return np.asarray(
        np.bincount(index, masses * (1 - part), points) + np.bincount(index + 1, masses * part, points),
        dtype=np.float64,
    ) * (1 + 2 * len(places) * UNIT)


def _shifted(masses: Floats, steps: float, kept: float, lost: float) -> Floats:
    """The masses after a cell that adds 0, or `steps` grid points spread over the two next to it."""
    low = int(steps)
    part = steps - low
    found = masses * kept
    if low < len(masses):
        found[low:] += masses[: len(masses) - low] * (lost * (1 - part))
    if low + 1 < len(masses):
        found[low + 1 :] += masses[: len(masses) - low - 1] * (lost * part)
    return found


# delta of a histogram with lattice Gaussian noise in every cell: an outward convolution (docs/proofs/histograms.md).
#
# With c = p - e^epsilon q and W = f(z - 1) / f(z) = e^(t (2z - 1)), z drawn from f ~ e^(-t z^2) in each cell,
#
#     delta(epsilon) = E (sum over cells of c W)_+.
#
# f is positive everywhere, so that W has mean 1; noise with ends would not do. Every step rounds outward: values up,
# probabilities up, and a sum is moved only by spreading it over two points with the same mean, which makes no convex
# function smaller. What a cell with c > 0 gains beyond z = top is charged by its mean, c P(z >= top).


_CONVOLUTION_BITS = 128
_WIDEST = 40_000
"""Lattice points of the noise in one cell."""
WORK = 1e6
"""Sums times values of a cell, over all cells: what a proof takes."""
_CONVOLUTION_SHARP = 200
"""Factors beyond e^200 are for noise that hides next to nothing: then delta is that of the laws themselves."""
_TAIL = 1e-5
"""The part of delta that tails may cost."""


def weights(precision: Fraction, fine: float) -> tuple[Floats, Floats, Floats, float] | None:
    """The factor W of one cell at z = -top ... top, P(z >= top) <= `fine`, from below and above; probabilities, those
    of the tails too, from above; and P(z >= top) from above. None where they are beyond the range of doubles."""
    t = float(precision)
    top = max(1, math.ceil(math.sqrt(-math.log(max(fine, 1e-290)) / t))) + 1
    if 2 * top > _WIDEST:
        raise OutOfReach(
            f"the noise in each cell spreads over {2 * top} values, and at most {_WIDEST} are summed; ask for a larger "
            "epsilon or delta, or for Laplace noise",
            points=2 * top,
            limit=_WIDEST,
        )
    if t * (2 * top + 1) > _CONVOLUTION_SHARP:
        return None
    with balls.precision(_CONVOLUTION_BITS):
        rate = balls.of(precision)
        half = [(-rate * arb(fmpz(z * z))).exp() for z in range(top + 2)]
        total = 2 * sum(half, arb(0)) - 1
        rest = half[top + 1] / (1 - (-rate * arb(fmpz(2 * top + 2))).exp())  # beyond top, a geometric series
        # the true total lies between the sum of what is listed and that plus both tails
        each = [x / total for x in half]
        factor = [(rate * arb(fmpz(2 * z - 1))).exp() for z in range(-top, top + 1)]
        chance = np.array([balls.upper(each[abs(z)]) for z in range(-top, top + 1)])
        least, most = (np.array([end(x) for x in factor]) for end in (balls.lower, balls.upper))
        tail = balls.upper(rest / total)
    chance[0] += tail
    chance[-1] += tail
    beyond = float(chance[-1]) * (1 + 8 * UNIT)
    return least, most, chance * (1 + 4 * UNIT), beyond


def gaussian_delta(
    p: Counts, q: Counts, precision: Fraction, epsilon: Fraction, enough: float = 0.0, work: float = WORK
) -> float:
    """sup over events of P - e^epsilon Q for lattice noise of that `precision` in every cell, up; one order.

    `enough`: the delta that matters, by which the tails are cut. `work`: how finely sums are kept; any is sound."""
    bare = hockey_stick(p, q, epsilon)
    if bare == 0 or epsilon > 600:
        return bare
    known = weights(precision, max(enough, 1e-18) * _TAIL)
    return bare if known is None else min(bare, _positive_part(tilt(p, q, epsilon), known, work))


def _positive_part(
    parts: tuple[Floats, Floats, Mask], known: tuple[Floats, Floats, Floats, float], work: float
) -> float:
    """E (sum c W)_+, up. First the cells that gain: their sums are >= 0. Then those that lose: a sum that falls to 0
    or below stays there, and is dropped.

    All masses are positive, so that what doubles lose is relative: 8 units for each cell, and one for each of the
    terms that meet at a point."""
    lowest, highest, chance, beyond = known
    gains, losses = parts[1][parts[2]], parts[0][~parts[2]]
    tail = float(gains.sum()) * beyond * (1 + 1e-9)
    most = float(gains.sum()) * float(highest[-1]) * (1 + 1e-9)
    count = max(1, len(gains) + len(losses))
    values = int(min(256, max(16, math.sqrt(work / count / 16))))
    # 0 to `most`: steps of a thousandth of what is typical at first, then growing with the sum; exact doubles, whatever
    # their rounding
    points = int(min(8192, max(256, work / count / values)))
    first = max(float(gains.sum()), most * 1e-9) / 1024
    low, high = 1e-9, 1.0
    for _ in range(60):
        growth = math.sqrt(low * high)
        if math.log1p(growth * most / first) / growth > points:
            low = growth
        else:
            high = growth
    found = first / high * np.expm1(high * np.arange(points + 2))
    grid = np.append(found[found < most], most)
    up, up_chance = _fewer(highest, chance, values)
    down, down_chance = _fewer(-lowest[::-1], chance[::-1], values)
    down[-1] = 0.0  # the first factor, and what lies below it
    sums, masses = np.zeros(1), np.ones(1)
    for size in gains.tolist():
        sums, masses = _added(sums, masses, size * up * (1 + 2 * UNIT), up_chance, grid)
    for size in losses.tolist():
        sums, masses = _added(sums, masses, size * down * (1 - 2 * UNIT), down_chance, grid)
    lost = 8.0 * (len(gains) + len(losses))
    total = float(np.dot(masses, np.maximum(sums, 0.0)))
    return total * (1 + (lost + 2 * len(sums) + 64) * UNIT) + tail + 1e-220


def _fewer(factors: Floats, chance: Floats, values: int) -> tuple[Floats, Floats]:
    """The factors spread over fewer values, with the same mean each."""
    if len(factors) <= values:
        return factors.copy(), chance
    keep = np.unique(np.round(np.linspace(0, len(factors) - 1, values)).astype(np.int64))
    points = factors[keep]
    return points.copy(), _spread(points, factors, chance)


def _added(sums: Floats, masses: Floats, values: Floats, chance: Floats, grid: Floats) -> tuple[Floats, Floats]:
    """All sums with one more cell, spread over the grid where they would be too many; those at or below 0 dropped."""
    found = (sums[:, None] + values[None, :]).ravel()
    found += np.abs(found) * (2 * UNIT)
    mass = (masses[:, None] * chance[None, :]).ravel()
    inside = (found > 0) & (mass > 0)
    found, mass = found[inside], mass[inside]
    if len(found) <= len(grid):
        return found, mass
    spread = _spread(grid, np.minimum(found, grid[-1]), mass)
    there = spread > 0
    return grid[there], spread[there]


def _spread(points: Floats, values: Floats, masses: Floats) -> Floats:
    """Masses moved to the two points next to each value, with the same mean from above."""
    right = np.clip(np.searchsorted(points, values, side="left"), 1, len(points) - 1)
    low, high = points[right - 1], points[right]
    part = np.clip((values - low) / (high - low) * (1 + 8 * UNIT), 0.0, 1.0)
    moved = np.bincount(right, masses * part, len(points)) + np.bincount(right - 1, masses * (1 - part), len(points))
    return np.asarray(moved, dtype=np.float64) * (1 + (len(values) + 8) * UNIT)


NO_ORDERS = "Rényi divergences of histograms are not proved; give fugu.Pure or fugu.Approx"


class CellsLeakage(Leakage[CellFamily, Any]):
    """Independent noise in every count: the likelihood of the counts is a sum over cells of p times one factor,
    independent from cell to cell."""

    def pure(self, item: CellFamily, noise: Any, epsilon: Fraction) -> list[PairLoss]:
        """Without noise: what the laws do not lose, they do not lose after noise either."""
        return each_pair(item, lambda p, q: cells.worth(p, q, math.inf))

    def bare_delta(self, item: CellFamily, epsilon: Fraction) -> list[PairLoss]:
        """Without noise: the hockey stick of the laws."""
        return each_pair(item, lambda p, q: cells.hockey_stick(p, q, epsilon))

    def divergence(self, item: CellFamily, noise: Laplace | Gaussian, alpha: Fraction) -> list[PairLoss]:
        """Refused."""
        raise NotProvable(NO_ORDERS)

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """Divergences are not known; no noise is needed if the laws themselves keep within delta."""
        if ask.finite:
            raise NotProvable(NO_ORDERS)
        super().known(item, ask)
        if isinstance(ask, Ratio) and ask.delta:
            return 0.0 if Fraction(largest(self.bare_delta(item, ask.epsilon))) <= ask.delta else None
        return None

    def start(self, item: CellFamily, ask: Ask) -> tuple[float, float]:
        """One record moves two counts by one each: 2 / epsilon suffices, for laws that have no cell in common it is the
        exact root; and 2 / delta where epsilon is tiny."""
        return 2 / float(max(ask.epsilon, ask.delta)), float_up(2 / ask.epsilon) if ask.epsilon else math.inf

    def delta_at(self, item: CellFamily, noise: Laplace | Gaussian, epsilon: Real) -> float:
        """For lattice noise."""
        if noise.grid is None and not noise.silent:
            raise NotProvable("delta of a histogram is known for lattice noise; give the noise a grid of 1")
        return super().delta_at(item, noise, epsilon)


def each_pair(item: CellFamily, loss: Callable[[Counts, Counts], float]) -> list[PairLoss]:
    """The larger loss of the two orders of every pair; none of pairs that are the same."""
    found = []
    for (i, j), label in item.different:
        p, q = item.laws[i], item.laws[j]
        found.append(PairLoss(label, max(loss(p, q), loss(q, p)), (i, j)))
    return found or [PairLoss(item.labels[0], 0.0)]


def _require_counts(noise: Laplace | Gaussian) -> None:
    if noise.grid is not None and noise.grid != 1 and not noise.silent:
        raise BadNoise(f"counts of records are whole numbers, so the grid of their noise is 1, got {noise.grid}")


@final
class CellsLaplace(CellsLeakage):
    """One record moves two counts by one each, so its per-record epsilon is 2 / scale, worth T(2 / scale): the same for
    continuous noise, as all that matters are the two extreme values of each cell's factor."""

    def pure(self, item: CellFamily, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """T(2 / scale), both orders; a pair above `epsilon` by rounding alone may meet it exactly: T(own) <= epsilon
        is decided in balls or by own <= epsilon."""
        _require_counts(noise)
        if noise.silent:
            return super().pure(item, noise, epsilon)
        own, found = 2 / as_fraction(noise.scale), []
        for loss in each_pair(item, lambda p, q: cells.worth(p, q, own)):
            p, q = (item.laws[k] for k in loss.pair)
            met = not loss.within(epsilon) and cells.holds(p, q, own, epsilon) and cells.holds(q, p, own, epsilon)
            found.append(PairLoss(loss.label, float_up(epsilon), loss.pair, met=True) if met else loss)
        return found

    def delta(self, item: CellFamily, noise: Laplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """The finite sum over the two values of each cell's factor."""
        _require_counts(noise)
        if noise.silent:
            return self.bare_delta(item, epsilon)
        return each_pair(item, lambda p, q: laplace_delta(p, q, noise.rate, epsilon))

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """2 / epsilon_0 where no delta is allowed, e^epsilon_0 = 1 + (e^epsilon - 1) / HS; 0 if HS is 0."""
        if not ask.pure or not ask.epsilon:
            return super().known(item, ask)
        pairs = [(item.laws[i], item.laws[j]) for (i, j), _ in item.different]
        least = min(min(cells.largest(p, q, ask.epsilon), cells.largest(q, p, ask.epsilon)) for p, q in pairs)
        return 0.0 if math.isinf(least) else 2 / least


@final
class CellsGaussian(CellsLeakage):
    """An outward convolution of the lattice Gaussian's own factors f(z - 1) / f(z), cell by cell. It bounds no ratio by
    itself."""

    def delta(self, item: CellFamily, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """E (sum over cells of (p - e^epsilon q) W)_+."""
        _require_counts(noise)
        if noise.silent:
            return self.bare_delta(item, epsilon)
        return each_pair(item, lambda p, q: gaussian_delta(p, q, noise.precision, epsilon, float(delta)))

    def known(self, item: CellFamily, ask: Ask) -> float | None:
        """A search of its own: the loss takes time, and is smooth."""
        none = super().known(item, ask)
        if none is not None or not isinstance(ask, Ratio):
            return none
        return least_gaussian(lambda steps: self.guess(item, steps, ask), ask.target, self.start(item, ask)[0])


_CLOSE_SCALE = 1e-6
_WIDEST_SCALE = 1e6


def least_gaussian(loss: Callable[[float], float], target: float, start: float) -> float:
    """A scale with loss(scale) <= target, some 1e-6 above one with more, from a first guess.

    Raises `NotProvable` where no scale within reach meets the target."""
    from scipy.optimize import brentq

    @cache
    def height(scale: float) -> float:
        return math.log(max(loss(scale), 1e-300) / target)

    low = high = start
    step = 1.0
    while height(high) > 0:
        low, high = high, high * 2
        if high > _WIDEST_SCALE:
            raise NotProvable("no Gaussian noise within reach meets the budget; ask for a larger epsilon or delta")
    while low == high or height(low) <= 0:
        step *= 2
        high, low = min(high, low), low / step
        if low < 1e-3:
            return high
    found = float(brentq(height, low, high, xtol=0.3 * _CLOSE_SCALE * high, rtol=1e-12))
    while height(found) > 0:
        found *= 1 + _CLOSE_SCALE
    return found
