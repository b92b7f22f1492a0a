"""delta and Rényi divergences of lattice noise on laws of vectors, by sums over blocks of outputs
(docs/proofs/vectors.md#7-sums-over-blocks-of-outputs).

Let R = ln(M_P / M_Q) vary by at most o over a block of outputs, and P and Q be the block's masses. Then

    (P - g Q)+ <= sum over the block of (M_P - g M_Q)+ <= (sqrt P - sqrt(e^-o g Q))^2 / (1 - e^-o),

but P - g Q where P >= e^o g Q, and 0 where P <= e^-o g Q: above is the chord of the convex function over the worst
interval of length o around ln(P / Q), below Jensen's inequality. And by Hoeffding's lemma, with n = (a - 1) o,

    P^a Q^(1-a) <= sum over the block of M_P^a M_Q^(1-a) <= P^a Q^(1-a) e^(n min(a o / 8, 1)).

Blocks with the widest brackets are split until all brackets together are narrow; on a single point o = 0. Doubles are
enough for a proof: every sum has terms >= 0, the tables that it begins with are rounded from balls, and `_Box.error`
bounds the relative error of all that follows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.noise import Gaussian, Laplace, LatticeNoise
from fugu.numbers import balls
from fugu.numbers.exact import float_up
from fugu.transport.coupling import Coupling
from fugu.transport.plan import optimal_plan

Floats = NDArray[np.float64]
Index = NDArray[np.int64]

_UNIT, _LN2 = 2.0**-53, math.log(2)
_FALL = 690.0
"""Entries of tables below e^-690, which is 2^-995, are taken as 0."""
_LIFT = 640
"""Masses for divergences are multiplied by about 2^640: far out both are needed."""
_NARROW = 4e-3
"""What brackets may leave open, as a share of the sum."""
_START = 8_192
"""About so many blocks to begin with."""
_CELLS = 4_000_000
"""Most entries of one table: (block, atom)."""
_CHUNK = 1 << 16
_MOST = 40_000_000
"""Most (block, atom) products of one sum in two or three dimensions; in more, where splitting gains less, fewer."""
_OVERHEAD = 4
"""For each dimension a block weighs as much as so many atoms more."""
_PLANNED = 2_000
"""Most points for which a plan is made."""
_LONGEST = 1 << 18
"""Boxes with a longer side are not looked at."""
_TAIL = 1e-6
"""Gaussian tails beyond the box, as a share of what is asked for, or of 1e-9."""


class Bracket(NamedTuple):
    """A sum lies at or below `high`, and about at or above `low`; `high` alone is proved."""

    high: float
    low: float

    @property
    def narrow(self) -> bool:
        """Whether the two are as close as brackets are meant to be."""
        return self.high <= max(self.low * (1 + 4 * _NARROW), 1e-12)


NOTHING = Bracket(math.inf, 0.0)
"""What is known where the box is out of reach."""


@dataclass(frozen=True)
class _Box:
    """The outputs 0, ..., sides - 1 along every coordinate, and two laws on points counted from its corner."""

    points: Index
    p: Floats
    q: Floats
    sides: tuple[int, ...]
    noise: LatticeNoise
    proved: bool
    lift: int
    """Masses along each coordinate are multiplied by 2^lift."""

    @staticmethod
    def of(
        item: Family, pair: tuple[int, int], noise: LatticeNoise, lows: Index, highs: Index, proved: bool, lift: int = 0
    ) -> _Box | None:
        """The box with these corners, for the points that have mass; None where it is too long."""
        sides = tuple(int(s) for s in highs - lows + 1)
        if max(sides) > _LONGEST:
            return None
        there, d = held(item, pair), len(sides)
        p, q = (item.weights[k][there] for k in pair)
        return _Box(item.points[there] - lows, p, q, sides, noise, proved, lift // d)

    @cached_property
    def ranges(self) -> Floats:
        """How far apart the atoms' coordinates are."""
        found: Floats = np.ptp(self.points, axis=0).astype(np.float64)
        return found

    @cached_property
    def base(self) -> int:
        """The level of the smallest blocks, 2^base outputs along each coordinate: the tables must fit."""
        return next(n for n in itertools.count() if max(self.sides) * len(self.points) <= _CELLS << n)

    @cached_property
    def top(self) -> int:
        """The level of the first blocks."""
        return next(n for n in itertools.count(self.base) if math.prod(-(-s >> n) for s in self.sides) <= _START)

    @property
    def error(self) -> float:
        """At or above the relative error of a block's masses: of a table's entry, of adding its points level by level,
        of the weights, of d products and of K sums, in units of 2^-53, twice over. Underflow apart (`tiny`)."""
        each = len(self.sides) * (2 * self.top + 12)
        return 2 * (len(self.points) + each + 64) * _UNIT

    @property
    def tiny(self) -> float:
        """More than what entries taken as 0 and underflow hide of the mass of a block, in fewer than 2^90 products with
        entries of at most 2^lift."""
        return math.ldexp(1.0, self.lift * (len(self.sides) - 1) - 900)

    @property
    def faint(self) -> float:
        """Masses from here on are right relatively: what is hidden is below 2^-60 of them."""
        return self.tiny * 2.0**60

    @cached_property
    def masses(self) -> Floats:
        """The noise's masses at 0, 1, 2, ... steps, rounded from balls where they serve a proof."""
        seen = int(max(self.points.max(), np.max(np.array(self.sides) - 1 - self.points.min(axis=0))))
        last = min(seen, self.noise.reach(_FALL + self.lift * _LN2))
        found = np.zeros(seen + 1)
        if self.proved:
            with balls.precision(80):
                masses = [float(x * arb(2) ** self.lift) for x in self.noise.masses_within(last)[last:]]
            found[: last + 1] = masses
        else:
            found[: last + 1] = np.exp(self.noise.log_mass(np.arange(last + 1)) + self.lift * _LN2)
        return found

    @cached_property
    def tables(self) -> list[list[Floats]]:
        """For every level from `base` on and every coordinate the noise's masses in its blocks, one row a block, one
        column an atom."""
        own = []
        for j, side in enumerate(self.sides):
            values, where = np.unique(self.points[:, j], return_inverse=True)
            length = (-(-side >> self.top)) << self.top
            rows = np.zeros((length >> self.base, len(values)))
            for k, value in enumerate(values.tolist()):
                row = np.zeros(length)
                row[:side] = self._along(value, side)
                for _ in range(self.base):
                    row = row[0::2] + row[1::2]
                rows[:, k] = row
            own.append(np.ascontiguousarray(rows[:, where.ravel()]))
        levels = [own]
        for _ in range(self.base, self.top):
            levels.append([table[0::2] + table[1::2] for table in levels[-1]])
        return levels

    def _along(self, value: int, side: int) -> Floats:
        """The noise's masses along a coordinate around a value. Of Laplace noise the box is the atoms' hull, and its
        ends stand for all beyond them: there both laws fall by r with every step, and R stays."""
        row = self.masses[np.abs(np.arange(-value, side - value))]
        if isinstance(self.noise, Laplace):
            if side == 1:
                return np.full(1, 2.0**self.lift)
            with balls.precision(80):
                row[[0, -1]] *= float(1 / (1 - (-balls.of(self.noise.rate or 0)).exp()))
        return row

    def masses_of(self, level: int, blocks: Index) -> tuple[Floats, Floats, Floats]:
        """Of both laws the masses of blocks, and by how much R moves over each of them, at most."""
        tables, columns = self.tables[level - self.base], [self.p, self.q]
        if not isinstance(self.noise, Laplace):
            columns += [w * x for x in (self.points - self.points.min(axis=0)).T for w in (self.p, self.q)]
        weigh = np.stack(columns, axis=1)
        found = np.empty((len(blocks), len(columns)))
        step = max(1, _CHUNK // len(self.points))
        for k in range(0, len(blocks), step):
            part = blocks[k : k + step]
            product = tables[0][part[:, 0]]
            for j in range(1, len(self.sides)):
                product *= tables[j][part[:, j]]
            found[k : k + step] = product @ weigh
        steps = np.array([min(1 << level, side) - 1 for side in self.sides], dtype=np.float64)
        return found[:, 0], found[:, 1], self._moved(steps, found)

    def _moved(self, steps: Floats, sums: Floats) -> Floats:
        """Laplace: 2 rate for every step, as each term of either sum changes by a factor of at most e^rate. Gaussian:
        sum_j n_j min(r_j, |m_P - m_Q|_j + sum_i n_i r_i r_j / (2 s^2)) / s^2 over n_j steps: dR/dy_j is the difference
        of two posterior means over s^2; these move by Cov / s^2 <= r_i r_j / (4 s^2) for every step at most, and so do
        they from m_P and m_Q, their means over the block."""
        if isinstance(self.noise, Laplace):
            return np.full(len(sums), 2 * float_up(self.noise.rate or Fraction(0)) * float(steps.sum()) * (1 + 1e-12))
        decay = float_up(2 * self.noise.precision)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = sums[:, 2:].reshape(len(sums), -1, 2) / sums[:, None, :2]
            slopes = np.abs(means[:, :, 0] - means[:, :, 1])
        slopes += self.ranges * (4 * self.error + 1e-15 + float(steps @ self.ranges) * decay / 2)
        slopes[np.minimum(sums[:, 0], sums[:, 1]) < self.faint] = np.inf
        found: Floats = np.minimum(slopes, self.ranges) @ steps * decay * (1 + 1e-12)
        return found

    def summed(self, bounds: Bounds, room: Callable[[Bracket], float], far: Far | None = None) -> Bracket:
        """The sum over all outputs of the box: at every level the narrowest brackets are kept, the others split. `room`
        says how much may stay open; blocks that are `far` count for nothing where their masses are lost."""
        d, high, low, level = len(self.sides), 0.0, 0.0, self.top
        most = _MOST // ((len(self.points) + _OVERHEAD * d) * (1 if d < 4 else d * d))
        firsts = np.meshgrid(*(np.arange(-(-s >> level)) for s in self.sides), indexing="ij")
        blocks, halves = np.stack(firsts, axis=-1).reshape(-1, d), np.array(list(itertools.product((0, 1), repeat=d)))
        while True:
            most -= len(blocks)
            above, below = bounds(*self.masses_of(level, blocks))
            if far is not None and len(lost := np.flatnonzero(np.isinf(above))):
                above[lost[far(blocks[lost] << level, (blocks[lost] + 1) << level)]] = 0.0
            order = np.argsort(above - below)
            left = np.cumsum((above - below)[order])
            share = room(Bracket(high + float(above.sum()), low + float(below.sum()))) / (level - self.base + 1)
            keep = max(int(np.searchsorted(left, share, "right")),
                       len(left) - max(0, most) // len(halves))  # fmt: skip
            keep = len(left) if level == self.base else keep
            high += float(above[order[:keep]].sum())
            low += float(below[order[:keep]].sum())
            if keep >= len(left):
                return Bracket(high * (1 + 1e-12), low)
            level -= 1
            blocks = (2 * blocks[order[keep:], None, :] + halves).reshape(-1, d)
            blocks = blocks[(blocks < [-(-side >> level) for side in self.sides]).all(axis=1)]


def _room(floor: float, less: float, goal: float) -> Callable[[Bracket], float]:
    """How much of a sum may stay open: a share of what it is above `less`; everything, once it is known on which side
    of the goal the sum is."""

    def room(sums: Bracket) -> float:
        return math.inf if sums.high <= goal < math.inf or sums.low > goal else _NARROW * max(sums.low - less, floor)

    return room


Bounds = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
"""Of blocks' masses and of what R moves over them: at or above what they add to the sum, and about the least of it."""

Far = Callable[[Index, Index], NDArray[np.bool_]]
"""Whether blocks, from their least outputs to just above their largest, lie where all that is to be added is known."""


def held(item: Family, pair: tuple[int, int]) -> NDArray[np.bool_]:
    """Which points have mass under either law."""
    p, q = (item.laws[k].parts != 0 for k in pair)
    return np.asarray(p | q)


def _beyond(noise: Gaussian, t: int) -> arb:
    """At or above what the noise puts on one side, t > 0 steps away or more, wherever the lattice lies: the sum over
    k >= 0 of e^(-c (t + k)^2) is below a geometric series, and that over all k is at least 1 and sqrt(pi / c)."""
    c = balls.of(noise.precision)
    return (-c * t * t).exp() / (1 - (-2 * c * t).exp()) / (arb.pi() / c).sqrt().max(arb(1))


def block_delta(
    item: Family, pair: tuple[int, int], noise: LatticeNoise, epsilon: Fraction, goal: float, proved: bool = True
) -> Bracket:
    """sup_S M_P(S) - e^epsilon M_Q(S), the larger of both orders; `NOTHING` where the box is out of reach. Beyond the
    box of Gaussian noise there is at most what it puts there along each coordinate.

    `goal`: once the sum is known to be above or within it, no more of it is worked out; 0 for all of it."""
    atoms, rest, margin = item.points[held(item, pair)], 0.0, 0
    if isinstance(noise, Gaussian):
        margin = noise.reach(math.log(2 * atoms.shape[1] / (_TAIL * max(goal, 1e-9))))
        with balls.precision(80):
            rest = balls.upper(2 * atoms.shape[1] * _beyond(noise, margin + 1))
    box = _Box.of(item, pair, noise, atoms.min(axis=0) - margin, atoms.max(axis=0) + margin, proved)
    if box is None:
        return NOTHING
    with balls.precision(80):
        g, error = balls.lower(balls.of(min(epsilon, Fraction(700))).exp()), box.error

    def bounds(p: Floats, q: Floats, moved: Floats) -> tuple[Floats, Floats]:
        most, least = p * (1 + error) + box.tiny, g * np.maximum(0.0, q * (1 - error) - box.tiny)
        falls = np.exp(-moved)
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = (np.sqrt(most) - np.sqrt(falls * least)) ** 2 / -np.expm1(-moved)
        above = np.where(most * falls >= least, most - least, np.where(most <= falls * least, 0.0, chord))
        return above, np.maximum(0.0, p - g * q)

    room = _room(max(goal, 1e-12), 0.0, (goal - rest) * (1 - 1e-11) if goal else math.inf)
    both = [box.summed(one, room) for one in (bounds, lambda p, q, moved: bounds(q, p, moved))]
    return Bracket(min(1.0, max(x.high for x in both) + rest), max(x.low for x in both))


@lru_cache(maxsize=64)
def _plan(item: Family, pair: tuple[int, int], power: int) -> Coupling:
    """A coupling that makes E e^(2^power |X - X'|^2) small; any would do."""
    squares = np.zeros((len(item.points), len(item.points)))
    for column in item.points.T.astype(np.float64):
        squares += (column[:, None] - column[None, :]) ** 2
    return optimal_plan(math.ldexp(1.0, power) * squares, item.laws[pair[0]], item.laws[pair[1]])


def block_divergence(
    item: Family,
    pair: tuple[int, int],
    noise: LatticeNoise,
    alpha: Fraction,
    goal: float = math.inf,
    proved: bool = True,
) -> Bracket:
    """D_alpha(M_P || M_Q), the larger of both orders; `NOTHING` where the box is out of reach. For Gaussian noise and
    every plan of P and Q, by joint convexity,

        sum over y beyond the box of M_P^a M_Q^(1-a) <= E e^(c a (a-1) |X - X'|^2) sum over these y of N(y - Z),

    Z = a X + (1-a) X', so that the box must reach past every such Z, and not past the atoms alone. Outside a cube of t
    steps around Z there is at most `_beyond` on both sides of every coordinate, as all of Z + lattice has at most what
    the lattice has (Poisson)."""
    a, atoms, rest = float(alpha), item.points[held(item, pair)], 0.0
    lows, highs, far = atoms.min(axis=0), atoms.max(axis=0), None
    if isinstance(noise, Gaussian):
        corner, c = atoms.min(axis=0), noise.precision
        if len(item.points) > _PLANNED:
            return NOTHING
        plan = _plan(item, pair, math.frexp(alpha * (alpha - 1) * c)[1])
        x, y = (item.points[index] - corner for index in (plan.rows, plan.columns))
        apart = ((x - y) ** 2).sum(axis=1).tolist()
        centres = np.concatenate((a * x + (1 - a) * y, a * y + (1 - a) * x))
        with balls.precision(80):
            costs = {k: (balls.of(alpha * (alpha - 1) * c * k)).exp() for k in set(apart)}
            weight = sum(
                (balls.of(int(m)) * costs[k] for m, k in zip(plan.masses.tolist(), apart, strict=True)), arb(0)
            )
            weight *= 2 * len(corner) / balls.of(plan.total)
            wanted = balls.upper((weight / (_TAIL * min(1.0, a - 1) * 1e-3)).log())
            if not math.isfinite(wanted) or wanted > _FALL:
                return NOTHING
            t = math.ceil(math.sqrt(max(1.0, wanted) / float(c)))
            rest = balls.upper(weight * _beyond(noise, t))
        firsts, lasts = (np.unique(np.floor(centres).astype(np.int64) + k, axis=0) for k in (-t - 1, t + 2))
        lows, highs = corner + firsts.min(axis=0), corner + lasts.max(axis=0)

        def far(begin: Index, end: Index) -> NDArray[np.bool_]:
            """Whether blocks meet no cube of t steps around a Z."""
            base, found = lows - corner, np.ones(len(begin), dtype=bool)
            for first, last in zip(firsts - base, lasts - base, strict=True):
                found &= ((begin > last) | (end <= first)).any(axis=1)
            return found

    box = _Box.of(item, pair, noise, lows, highs, proved, _LIFT)
    if box is None:
        return NOTHING
    error, lifted = a * (2 * box.error + 12_000 * _UNIT) + 4_000 * _UNIT, box.lift * len(box.sides) * _LN2

    def bounds(p: Floats, q: Floats, moved: Floats) -> tuple[Floats, Floats]:
        with np.errstate(all="ignore"):
            power = np.exp(a * np.log(p) + (1 - a) * np.log(q) - lifted)
            above = power * np.exp((a - 1) * moved * np.minimum(a * moved / 8, 1)) * (1 + error)
        lost = (np.minimum(p, q) < box.faint) | ~np.isfinite(above)
        return np.where(lost, math.inf, above), np.where(lost, 0.0, power)

    room = _room(1e-4 * min(1.0, a - 1), 1.0, math.exp(min((a - 1) * goal, 700.0)) - rest if goal < math.inf else goal)
    both = [box.summed(one, room, far) for one in (bounds, lambda p, q, moved: bounds(q, p, moved))]
    with balls.precision(80):
        high = max(balls.divergence(arb(x.high) + arb(rest), alpha) for x in both)
    return Bracket(high, max(math.log(max(1.0, x.low)) / (a - 1) for x in both))
