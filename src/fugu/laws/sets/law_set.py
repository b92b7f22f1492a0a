"""`LawSet`: a closed convex set of laws on declared values, known by its support function; how its limits are read."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.fixed import fixed
from fugu.laws.components import Described
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.numbers.balls import of
from fugu.numbers.checks import is_iterable, is_real, listed, plain
from fugu.numbers.exact import Real, VectorLike, as_fraction, float_down, float_up

Floats = NDArray[np.float64]


class LawSet(Described, ABC):
    """Every law p on `values` that an adversary may hold; what is proved of the set is proved of each of them.

    All that a loss needs is the support function h(v) = max { sum_x p(x) v(x) : p in the set }: `top` bounds it in
    rationals, `top_ball` in balls, `tops` computes it in doubles to search with, and `extreme` is a law that attains
    it. The limits of a set are doubles, read as the binary numbers that they are."""

    values: Floats
    """The declared values, strictly increasing: a law of the set may have mass at each of them, seen or not."""
    kind: ClassVar[str]
    """What it is called in documents."""
    called: ClassVar[str] = "a set of laws"

    def _hold(self, **parts: object) -> None:
        """Set what the set consists of, once."""
        self.__dict__.update(parts)

    @property
    def dimension(self) -> int:
        """1: sets hold laws of numbers."""
        return 1

    @property
    def size(self) -> int:
        """How many values are declared."""
        return len(self.values)

    @abstractmethod
    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """A rational at or above max_p sum_x p(x) v(x): the maximum itself, except where the class says otherwise.

        `v`: one rational per declared value."""

    @abstractmethod
    def extremes(self, rows: Floats) -> Floats:
        """For every row of vectors (m, n) a law of the set, up to rounding, that attains the maximum, in doubles."""

    def tops(self, v: Floats) -> Floats:
        """max_p sum_x p(x) v(x) in doubles, for every row of `v` (m, n): to search with, not a proof."""
        rows = np.atleast_2d(np.asarray(v, dtype=np.float64))
        best: Floats = (self.extremes(rows) * rows).sum(axis=1)
        return best

    def extreme(self, v: Floats) -> Floats:
        """A law of the set, up to rounding, that attains the maximum for the vector `v` (n,), in doubles."""
        law: Floats = self.extremes(np.asarray(v, dtype=np.float64)[None, :])[0]
        return law

    @abstractmethod
    def at(self, places: NDArray[np.int64], values: VectorLike) -> LawSet:
        """The laws of the set pushed forward by declared value i -> values[places[i]].

        `places`: nondecreasing, and onto 0, ..., len(values) - 1. `values`: the new declared values."""

    @abstractmethod
    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities, one per declared value, is in the set."""

    @abstractmethod
    def centre(self) -> Discrete:
        """A law of the set, to show."""

    @abstractmethod
    def to_json(self) -> dict[str, object]:
        """The set as JSON, exactly: doubles in hexadecimal. `law_set_from` reads it."""

    @abstractmethod
    def _key(self) -> tuple[object, ...]:
        """What two equal sets have in common."""

    def bottom(self, v: Sequence[Fraction | int]) -> Fraction:
        """A rational at or below min_p sum_x p(x) v(x). `v`: one rational per declared value."""
        return -self.top([-x for x in v])

    def bottoms(self, v: Floats) -> Floats:
        """min_p sum_x p(x) v(x) in doubles, for every row of `v` (m, n)."""
        return -self.tops(-np.asarray(v))

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The least mass that any law of the set has from each value on, and up to each value, in doubles."""
        before = np.tri(self.size)
        return self.bottoms(before.T), self.bottoms(before)

    def top_ball(self, v: Sequence[arb]) -> arb:
        """A proved upper bound of max_p sum_x p(x) v(x) for every vector in the balls; infinite if one is unbounded.

        p >= 0, so the maximum grows with every entry of v: the upper ends of the balls decide."""
        if not all(x.is_finite() for x in v):
            return arb("inf")
        return of(self.top([exact(x.upper()) for x in v]))

    def bottom_ball(self, v: Sequence[arb]) -> arb:
        """A proved lower bound of min_p sum_x p(x) v(x) for every vector in the balls."""
        return -self.top_ball([-x for x in v])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, LawSet) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))


# Laws between limits of single probabilities and of the cumulated ones: the exact maximum of a linear function.
#
# With P_i = p_1 + ... + p_i the laws are the paths 0 = P_0, P_i - P_{i-1} in [l_i, u_i], P_i in [L_i, U_i], P_k = 1.
# Let f_i(P) be the largest sum_{j <= i} p_j v_j with P_i = P. Then f_i is f_{i-1} convolved (in the sense of suprema)
# with the segment of slope v_i over [l_i, u_i], and cut to [L_i, U_i]. So f_i is concave and piecewise linear: it is
# held as its segments sorted by slope, a convolution inserts one, a cut removes length at an end. Removed on the left,
# where slopes are steepest, is mass that is used; removed on the right is mass that no path may use. How much is cut
# depends on the limits alone, so it is found once; each maximum then takes n insertions into a sorted list.


@dataclass(frozen=True, eq=False)
class Path:
    """The laws with lower <= p <= upper and low <= P <= high, in integers over `total`; at least one, or `BadLaw`.

    `used[i]` and `lost[i]` are the lengths that step i cuts off on the left and on the right."""

    lower: list[int]
    width: list[int]
    used: list[int]
    lost: list[int]
    total: int

    @classmethod
    def of(cls, lower: Floats, upper: Floats, low: Floats, high: Floats) -> Path:
        """From doubles: the limits of probabilities, and those of cumulated probabilities, whose last ones are 1."""
        (a, b, c, d), total = whole(lower, upper, low, high)
        used, lost = [], []
        left = right = 0
        for i, (least, most, floor, roof) in enumerate(zip(a, b, c, d, strict=True)):
            left, right = left + least, right + most
            used.append(max(0, floor - left))
            lost.append(max(0, right - roof))
            left, right = max(left, floor), min(right, roof)
            if left > right:
                raise BadLaw(f"the set of laws is empty: its limits contradict each other up to declared value {i}")
        return cls(a, [y - x for x, y in zip(a, b, strict=True)], used, lost, total)

    def best(self, v: Sequence[int] | Sequence[float]) -> list[int]:
        """The law that attains max_p sum p v, as integers over `total`; `v` is any list that can be ordered."""
        mass, room = list(self.lower), list(self.width)
        waiting: list[tuple[float, int]] = []  # by slope; those before `start` are used up from below
        start = 0
        for i, slope in enumerate(v):
            insort(waiting, (slope, i), lo=start)
            use, lose = self.used[i], self.lost[i]
            while use:
                j = waiting[-1][1]
                step = min(use, room[j])
                mass[j], room[j], use = mass[j] + step, room[j] - step, use - step
                if not room[j]:
                    waiting.pop()
            while lose:
                j = waiting[start][1]
                step = min(lose, room[j])
                room[j], lose = room[j] - step, lose - step
                start += not room[j]
        return mass

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v, exactly."""
        numbers, common = vector(v, len(self.lower))
        mass = self.best(numbers)
        return Fraction(sum(m * x for m, x in zip(mass, numbers, strict=True)), self.total * common)

    def extreme(self, v: Floats) -> Floats:
        """The law that attains max_p sum p v, in doubles."""
        return np.array([m / self.total for m in self.best(np.asarray(v).tolist())], dtype=np.float64)

    def tops(self, v: Floats) -> Floats:
        """max_p sum p v for every row of v, in doubles."""
        return np.array([self.extreme(row) @ row for row in np.atleast_2d(v)], dtype=np.float64)

    @cached_property
    def middle(self) -> list[int]:
        """A law between the limits, as integers over `total`: each path point as central as the next one allows."""
        left, right, ends = 0, 0, [(0, 0)]
        for least, width, use, lose in zip(self.lower, self.width, self.used, self.lost, strict=True):
            left, right = left + least + use, right + least + width - lose
            ends.append((left, right))
        here, mass = self.total, []
        for i in range(len(self.lower) - 1, -1, -1):
            left, right = ends[i]
            left, right = max(left, here - self.lower[i] - self.width[i]), min(right, here - self.lower[i])
            before = (left + right) // 2
            mass.append(here - before)
            here = before
        return mass[::-1]


class LimitedLaws(LawSet):
    """Laws between two rows of limits, one of each for every declared value: numbers in [0, 1], rounded outward."""

    lower: Floats
    upper: Floats

    def __init__(self, values: VectorLike, lower: VectorLike, upper: VectorLike) -> None:
        there = declared(values)
        low = limits(lower, len(there), "lower", up=False)
        self._narrow(there, low, limits(upper, len(there), "upper", up=True))

    @abstractmethod
    def _narrow(self, values: Floats, lower: Floats, upper: Floats) -> None:
        """Hold the limits; `BadLaw` if no law lies between."""

    @classmethod
    def exactly(cls, values: Floats, lower: Floats, upper: Floats) -> Self:
        """The set whose limits are these doubles, as the binary numbers that they are."""
        made = cls.__new__(cls)
        made._narrow(fixed(values), lower, upper)
        return made

    @property
    @abstractmethod
    def path(self) -> Path:
        """The same laws as paths of their cumulated probabilities."""

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v, exactly. `v`: one rational per declared value."""
        return self.path.top(v)

    def to_json(self) -> dict[str, object]:
        """Values and limits, in hexadecimal."""
        rows = {"values": self.values, "lower": self.lower, "upper": self.upper}
        return {"kind": self.kind, **{name: hexed(row) for name, row in rows.items()}}

    def _key(self) -> tuple[object, ...]:
        return self.values.tobytes(), self.lower.tobytes(), self.upper.tobytes()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} values)"


def exact(x: arb) -> Fraction:
    """The number that a ball of radius zero is."""
    mantissa, exponent = x.man_exp()
    m, e = int(mantissa), int(exponent)
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


def law_of(values: Floats, numerators: Sequence[int], total: int) -> Discrete:
    """The law with these masses over a common total, exactly."""
    small = total < 2**62
    parts = np.array(numerators, dtype=np.int64 if small else object)
    return Discrete._with_error(values, Masses(parts, Fraction(total)), 0.0)


def hexed(row: Floats) -> list[str]:
    """Doubles as text, exactly."""
    return [float(x).hex() for x in row.tolist()]


def law_json(law: Discrete) -> dict[str, object]:
    """The masses of a law over their total, as whole numbers in hexadecimal."""
    parts, total = law.masses.whole()
    return {"parts": [hex(p) for p in parts], "total": hex(total)}


def declared(values: VectorLike) -> Floats:
    """The declared values: at least one, finite doubles, strictly increasing."""
    if not is_iterable(values):
        raise BadLaw(f"the declared values are a list of numbers, got {type(values).__name__}")
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == np.float64:
        array = np.asarray(values + 0.0, dtype=np.float64)
    else:
        found = [_number(x, "a declared value") for x in listed(values)]
        array = np.array([float(x) for x in found], dtype=np.float64) + 0.0
        if any(Fraction(x) != Fraction(y) for x, y in zip(array.tolist(), found, strict=True)):
            raise BadLaw("some declared value is not a double (for instance 1/3); rescale the values")
    if not array.size:
        raise BadLaw("a set of laws needs at least one declared value")
    if not np.all(np.isfinite(array)):
        raise BadLaw("a declared value must be a finite number, found NaN or infinity")
    if np.any(array[1:] <= array[:-1]):
        raise BadLaw("the declared values of a set of laws must be strictly increasing; sort them, each once")
    return fixed(array)


def limits(found: VectorLike, count: int, name: str, *, up: bool) -> Floats:
    """Limits of probabilities, one per declared value: numbers in [0, 1], as doubles at or outside what is meant.

    A decimal such as 0.1 means 1/10; `up` says which way it is rounded to a double. The rounding of a rounded limit
    is the limit itself, so that reading twice changes nothing."""
    if not is_iterable(found):
        raise BadLaw(f"the {name} limits are a list of numbers, got {type(found).__name__}")
    numbers = listed(found)
    if len(numbers) != count:
        raise BadLaw(f"expected {count} {name} limits, one for each declared value, got {len(numbers)}")
    rounded = np.empty(count, dtype=np.float64)
    for i, x in enumerate(numbers):
        exact = as_fraction(_number(x, f"the {name} limit at position {i}"))
        if not 0 <= exact <= 1:
            raise BadLaw(f"the {name} limit at position {i} is {float(exact):.6g}, which is outside [0, 1]")
        rounded[i] = float_up(exact) if up else float_down(exact)
    return fixed(rounded)


def radius_up(x: Real, name: str, most: int | None) -> float:
    """A radius as a double at or above what is meant: finite, not negative, at most `most`."""
    exact = as_fraction(_number(x, name))
    if exact < 0 or (most is not None and exact > most):
        within = "at least 0" if most is None else f"between 0 and {most}"
        raise BadLaw(f"{name} must be {within}, got {float(exact):.6g}")
    return float_up(exact)


def vector(v: Sequence[Fraction | int], count: int) -> tuple[list[int], int]:
    """A vector of rationals, one per declared value, as integers over one denominator."""
    if len(v) != count:
        raise BadLaw(f"expected a vector of {count} numbers, one for each declared value, got {len(v)}")
    if any(isinstance(x, float | np.floating) for x in v):
        raise BadLaw("an exact maximum needs Fractions or whole numbers, got floats; `tops` takes floats")
    common = math.lcm(*(x.denominator for x in v))
    return [int(x.numerator) * (common // x.denominator) for x in v], common


def whole(*rows: Floats) -> tuple[tuple[list[int], ...], int]:
    """Rows of doubles as integers over one power of two, exactly."""
    ratios = [[x.as_integer_ratio() for x in row.tolist()] for row in rows]
    common = max((d for row in ratios for _, d in row), default=1)
    return tuple([n * (common // d) for n, d in row] for row in ratios), common


def groups(places: NDArray[np.int64], values: VectorLike, count: int) -> tuple[NDArray[np.int64], Floats]:
    """A nondecreasing map of the declared points onto the new values, checked: every new value is reached."""
    index, onto = np.asarray(places), declared(values)
    if index.shape != (count,) or index.dtype.kind not in "iu":
        raise BadLaw(f"expected {count} places, one whole number for each declared value")
    index = index.astype(np.int64)
    steps = np.diff(index)
    if index[0] != 0 or index[-1] != len(onto) - 1 or np.any((steps < 0) | (steps > 1)):
        raise BadLaw("the places of the declared values must not decrease, and must reach every new value")
    return index, onto


def member(weights: Iterable[Fraction | int], count: int) -> list[Fraction] | None:
    """The weights of a law, as Fractions; None if they are not a law on so many values."""
    found = [Fraction(w) for w in weights]
    return found if len(found) == count and min(found) >= 0 and sum(found) == 1 else None


def _number(x: object, name: str) -> Real:
    number = plain(x)
    if not is_real(number) or not math.isfinite(number):
        raise BadLaw(f"{name} must be a finite number, got {number!r}")
    return number if isinstance(number, int | float) else Fraction(number)
