"""The loss of a property of the whole when records are exchanged: what one record with it, in place of one without it,
can show through Laplace noise with a scale for every coordinate.

Data sets with c and with c - 1 records of a class are the same records R, and one record X of the class or X' of the
other. With g_i(w) the mean of e^(-sum_j |w_j - X_j| / b_j) over the law i of one record, the two densities at y are the
means over R of g_1(y - R) and g_0(y - R), times one constant; so no ratio of them is above

    max over w of  max(ln g_1(w) / g_0(w), ln g_0(w) / g_1(w)),

and numbers that differ by at most k lose at most k times that. Along one coordinate, between neighbouring values of
records, the ratio is monotone, and constant beyond all values: the maximum is on the product grid of the values
(docs/proofs/record-exchange.md).

- Drawn without replacement, X depends on R: it is one of the m_i records of its class that R leaves, and g_i lies
  between the mean of the m_i smallest and the m_i largest kernels at w. Both follow from g_i over all N_i records, and
  the smallest and largest kernel: (N_i g_i - (N_i - m_i) k_max) / m_i <= g_i <= (N_i g_i - (N_i - m_i) k_min) / m_i.
- Of laws known up to t in total variation on a box, g_i is known up to t (1 - k_far), k_far the kernel of the farthest
  corner of the box; then w runs over every point of the box: true laws may have values that these laws have not.

Sums are of whole numbers, in units of 2^-bits: a product loses less than a unit each time, which is counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.noise.kind import Noise
from fugu.noise.laplace import Laplace
from fugu.numbers import balls

MOST_POINTS = 1_000_000
"""Points w that are looked at, one by one."""
SMALL = 40
"""Noise that moves a value by a step with less than e^-40 of its mass is left out of a proof."""
_MOST_BITS = 20_000
_SPARE = 96
Rates = Sequence[Fraction | None]
"""How fast the noise of each coordinate decays in a step; None where there is none."""
Box = tuple[tuple[int, int, int], ...]
"""(least, largest, step) of every coordinate: where records lie, in steps of the lattice."""
Values = NDArray[Any]
Times = Callable[[Values, Any], Values]


def rates_of(noise: Noise, dimension: int) -> Rates:
    """The rates of Laplace noise on the axes; `NotProvable` for other noise."""
    found: list[Fraction | None] = [None] * dimension
    for direction, one in noise.along_each(dimension):
        (place, *others) = [j for j, x in enumerate(direction) if x]
        if others or abs(direction[place]) != 1 or not isinstance(one, Laplace) or found[place] is not None:
            raise NotProvable("a record exchange is proved for Laplace noise on each number, and no other")
        found[place] = None if one.silent else one.rate
    return found


@final
@dataclass(frozen=True, eq=False)
class Exchanged:
    """The laws of one record with the property and of one without, on lattice indices, and the box that they lie in.

    `left`: of how many records of each class the exchanged one is drawn where none is drawn twice; None with
    replacement. What a law may be off in total variation is the family's own error of it."""

    family: Family
    box: Box
    left: tuple[int, int] | None = None

    @cached_property
    def axes(self) -> tuple[NDArray[np.int64], ...]:
        """The coordinates of the points w: of records, or of the whole box where laws are known up to an error."""
        if any(self.family.errors):
            return tuple(np.arange(low, high + 1, step, dtype=np.int64) for low, high, step in self.box)
        return tuple(np.unique(column) for column in self.points.T)

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """The values of records, one row each."""
        return self.family.points.reshape(len(self.family.points), -1)

    @property
    def count(self) -> int:
        """How many points w there are."""
        return math.prod(len(axis) for axis in self.axes)

    @cached_property
    def places(self) -> tuple[NDArray[np.int64], ...]:
        """Where each value stands on the grid of the points w."""
        return tuple(np.searchsorted(axis, column) for axis, column in zip(self.axes, self.points.T, strict=True))

    @property
    def same(self) -> bool:
        """Whether the two laws are surely one: then nothing is lost, whatever the noise."""
        return self.left is None and not any(self.family.errors) and self.family.laws[0].same_as(self.family.laws[1])

    def loss(self, rates: Rates) -> float:
        """A float at or above ln(P / Q) for one exchanged record, both orders; inf where no bound is known."""
        if self.count > MOST_POINTS:
            raise NotProvable(
                f"the values of records make a grid of {self.count:,} points, and at most {MOST_POINTS:,} are looked "
                "at; round a column to fewer values (a step in the schema), or publish fewer statistics together"
            )
        if self.same:
            return 0.0
        rates = [self._seen(j, rate) for j, rate in enumerate(rates)]
        numbers = Integers.of(self, rates)
        (most, least), unit = zip(*(numbers.ends(self, rates, i) for i in (0, 1)), strict=True), 1 << _SPARE
        worst, done = 0, [numbers.denominator(self, i) for i in (0, 1)]
        for i, j in ((0, 1), (1, 0)):
            there = most[i] > 0
            if (least[j][there] <= 0).any():
                return math.inf
            parts = most[i][there] * (done[j] * unit) // (least[j][there] * done[i])
            worst = max(worst, int(parts.max()) + 1)
        with balls.precision(2 * _SPARE):
            return balls.upper((arb(fmpz(worst)) / arb(fmpz(unit))).log())

    def _seen(self, j: int, rate: Fraction | None) -> Fraction | None:
        """The rate of a coordinate; none for noise so small beside the least gap that only digits would be carried for
        it: what holds without noise on a coordinate holds with noise on it, which only processes what went out."""
        gap = min(np.diff(self.axes[j]).tolist(), default=1)
        return None if rate is None or rate * gap > SMALL else rate

    def mass(self, i: int) -> tuple[list[int], int]:
        """Whole numbers in proportion to a law, and their sum: the records of its class."""
        return self.family.laws[i].whole()


@dataclass(frozen=True)
class Doubles:
    """Kernels in doubles, for a search: `one` is 1."""

    one: Any = 1.0
    bits: int = 0
    vast: Any = 1e280
    """More than any kernel, however far it is carried."""

    def factor(self, exponent: Fraction | float) -> Any:
        """e^-x."""
        return math.exp(-float(exponent))

    def times(self, values: Values, factor: Any) -> Values:
        """The product."""
        return np.asarray(values * factor)

    def slack(self, lengths: Sequence[int], total: int) -> Any:
        """How far a sum may be below the truth; not counted in doubles."""
        return 0

    def ends(self, held: Exchanged, rates: Sequence[Any], i: int) -> tuple[Values, Values]:
        """At or above, and at or below, what g_i can be at every w, times `denominator`."""
        (masses, total), error = held.mass(i), Fraction(held.family.errors[i])
        m = total if held.left is None else held.left[i]
        lengths = [len(axis) for axis in held.axes]
        steps = [
            [self.factor(gap * rate) if rate is not None else 0 for gap in np.diff(axis).tolist()]
            for axis, rate in zip(held.axes, rates, strict=True)
        ]
        there = np.array([mass > 0 for mass in masses])
        at = tuple(place[there] for place in held.places)

        def laid(values: Sequence[Any], empty: Any, join: Any) -> Values:
            dense = np.full(lengths, empty, dtype=float if self.bits == 0 else object)
            dense[at] = np.array(values, dtype=dense.dtype)
            return swept(dense, steps, self.times, join)

        low = laid([mass * self.one for mass in masses if mass], 0, np.add)
        high = np.where(low > 0, low + self.slack(lengths, total), 0)  # none are 0 but sums of nothing
        if m < total:
            ones = [self.one] * int(there.sum())
            nearest = laid(ones, 0, np.maximum) + self.slack([sum(lengths)], 1)
            farthest = laid(ones, self.vast, np.minimum)
            low, high = low - (total - m) * nearest, high - (total - m) * farthest
        if not error:
            return high, low
        tn, td = error.numerator, error.denominator
        moved = (self.one - self.corner(held, rates)) * (tn * m)
        return high * td + moved, low * td - moved

    def denominator(self, held: Exchanged, i: int) -> int:
        """What `ends` are a multiple of g_i by."""
        total, error = held.mass(i)[1], Fraction(held.family.errors[i])
        return (total if held.left is None else held.left[i]) * (error.denominator if error else 1)

    def corner(self, held: Exchanged, rates: Sequence[Any]) -> Values:
        """At or below the kernel of the farthest corner of the box from every w."""
        found: Values = np.array(self.one, dtype=float if self.bits == 0 else object)
        for axis, (low, high, _), rate in zip(held.axes, held.box, rates, strict=True):
            far = [max(w - low, high - w) for w in axis.tolist()]
            row = [(self.factor(x * rate) if rate is not None else 0) if x else self.one for x in far]
            found = self.times(found[..., None], np.array(row, dtype=found.dtype))
        return found


@final
@dataclass(frozen=True)
class Integers(Doubles):
    """The same in whole numbers, in units of 2^-bits: factors and products are rounded down."""

    @staticmethod
    def of(held: Exchanged, rates: Rates) -> Integers:
        """So many bits that the least kernel there is stands far above what rounding loses."""
        spans = (int(axis[-1] - axis[0]) * (rate or 0) for axis, rate in zip(held.axes, rates, strict=True))
        far = math.ceil(sum(spans, Fraction(0)) * Fraction(3, 2))  # log2(e) < 3/2
        wide = Integers(1, 1).slack([len(axis) for axis in held.axes], max(held.mass(i)[1] for i in (0, 1)))
        bits = far + wide.bit_length() + 64
        if bits > _MOST_BITS:
            raise NotProvable("the noise is so small beside the values of records that no ratio is worked out")
        return Integers(1 << bits, bits, 1 << 3 * bits)

    def factor(self, exponent: Fraction | float) -> Any:
        """e^-x, at most two units below."""
        with balls.precision(self.bits + 32):
            return int(((-balls.of(exponent)).exp() * self.one - 1).lower().floor().fmpz())

    def times(self, values: Values, factor: Any) -> Values:
        """The product, rounded down."""
        return np.asarray(values * factor >> self.bits)

    def slack(self, lengths: Sequence[int], total: int) -> int:
        """How far below the truth a sum may be, of kernels that add up to at most `total`, along axes of these lengths:
        each product loses 2 total + 1 units at most, and each of the n sums along an axis has the error of its terms.
        """
        error = 0
        for n in lengths:
            error = n * (error + 2 * total + 1)
        return error


def swept(dense: Values, steps: Sequence[Sequence[Any]], times: Times, join: Any) -> Values:
    """The sum, maximum or minimum over x of dense(x) times the product of the factors on the way from x to w, for every
    w of a grid: axis by axis, once in each direction."""
    found = dense
    for axis, factors in enumerate(steps):
        own = np.moveaxis(found, axis, 0)
        ahead, back = own.copy(), own.copy()
        for k, factor in enumerate(factors):
            here, past = slice(k, k + 1), slice(k + 1, k + 2)  # arrays, however few axes there are
            ahead[past] = join(ahead[past], times(ahead[here], factor))
        for k in range(len(factors) - 1, -1, -1):
            here, past = slice(k, k + 1), slice(k + 1, k + 2)
            back[here] = join(back[here], times(back[past], factors[k]))
        both = join(ahead, back)
        found = np.moveaxis(both - own if join is np.add else both, 0, axis)
    return found
