"""`LawSet`: a closed convex set of laws on declared values, known by its support function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import ClassVar, NoReturn

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.laws.components import Described
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.numbers.balls import of
from fugu.numbers.exact import VectorLike

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

    def _hold(self, **parts: object) -> None:
        """Set what the set consists of, once."""
        self.__dict__.update(parts)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"a set of laws does not change, so {name!r} cannot be set; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"a set of laws does not change, so {name!r} cannot be removed")

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
    def tops(self, v: Floats) -> Floats:
        """max_p sum_x p(x) v(x) in doubles, for every row of `v` (m, n): to search with, not a proof."""

    @abstractmethod
    def extreme(self, v: Floats) -> Floats:
        """A law of the set, up to rounding, that attains the maximum for the vector `v` (n,), in doubles."""

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
