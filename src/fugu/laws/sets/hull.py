"""`Hull`: the mixtures of named laws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.fixed import fixed
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.sets.law_set import Floats, LawSet, hexed
from fugu.laws.sets.mixing import is_mixture
from fugu.laws.sets.reading import declared, groups, member, vector
from fugu.numbers.exact import VectorLike
from fugu.visible import several


@final
class Hull(LawSet):
    """The mixtures of finitely many laws: what holds for each of them holds for every adversary who doubts which.

    - `laws`: one `Discrete` law of numbers or several, each known without error.
    - `values`: the declared values; by default all values of the laws. Every atom must be among them.

    Raises `BadLaw` for others. A linear function is largest at one of the laws, so the maximum is exact.

    >>> hull = Hull([Discrete([0, 1], [3, 1]), Discrete([1, 2], [1, 1])])
    >>> hull.top([0, 0, 1]), hull.top([0, 1, 0])
    (Fraction(1, 2), Fraction(1, 2))
    """

    kind: ClassVar[str] = "hull"
    laws: tuple[Discrete, ...]

    def __init__(self, laws: Iterable[Discrete], values: VectorLike | None = None) -> None:
        given = tuple(laws)
        if not given:
            raise BadLaw("a hull needs at least one law")
        for law in given:
            if not isinstance(law, Discrete) or law.dimension != 1:
                raise BadLaw(f"a hull holds Discrete laws of numbers, got {type(law).__name__}")
            if law.error:
                raise BadLaw("a hull holds laws that are known without error; use a Ball around one that is not")
        there = declared(np.unique(np.concatenate([law.values for law in given])) if values is None else values)
        self._hold(values=there, laws=tuple(spread_over(law, there) for law in given))

    @cached_property
    def weights(self) -> Floats:
        """All probabilities in doubles, one row per law."""
        return fixed(np.stack([law.weights for law in self.laws]))

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v, exactly. `v`: one rational per declared value."""
        numbers, common = vector(v, self.size)
        whole = (law.masses.whole() for law in self.laws)
        return max(
            Fraction(sum(m * x for m, x in zip(mass, numbers, strict=True)), total * common) for mass, total in whole
        )

    def tops(self, v: Floats) -> Floats:
        """max_p sum p v in doubles, for every row of `v` (m, n)."""
        best: Floats = (np.atleast_2d(np.asarray(v, dtype=np.float64)) @ self.weights.T).max(axis=1)
        return best

    def extreme(self, v: Floats) -> Floats:
        """The law that attains max_p sum p v, in doubles. `v`: (n,)."""
        best: Floats = self.weights[np.argmax(self.weights @ np.asarray(v, dtype=np.float64))]
        return best

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Hull:
        """Values joined: the masses of every law add up, exactly."""
        index, onto = groups(places, values, self.size)
        moved = (law.masses.scatter(index, len(onto)) for law in self.laws)
        return Hull([Discrete._with_error(onto, mass, 0.0) for mass in moved], onto)

    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities is a mixture of the laws."""
        law = member(weights, self.size)
        return law is not None and is_mixture(law, [_fractions(each.masses) for each in self.laws])

    def centre(self) -> Discrete:
        """The mean of the laws."""
        rows = [_fractions(law.masses) for law in self.laws]
        return Discrete(self.values, [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)])

    def to_json(self) -> dict[str, object]:
        """Values, and every law's masses over their total as whole numbers."""
        rows = [law.masses.whole() for law in self.laws]
        laws = [{"parts": [hex(p) for p in parts], "total": hex(total)} for parts, total in rows]
        return {"kind": self.kind, "values": hexed(self.values), "laws": laws}

    def _key(self) -> tuple[object, ...]:
        return self.values.tobytes(), self.laws

    def __repr__(self) -> str:
        return f"Hull({several(len(self.laws), 'law')} on {self.size} values)"


def spread_over(law: Discrete, values: Floats) -> Discrete:
    """The same law, with every declared value among its atoms."""
    if law.values is values or np.array_equal(law.values, values):
        return law
    there = np.searchsorted(values, law.values)
    if np.any(there == len(values)) or np.any(values[np.minimum(there, len(values) - 1)] != law.values):
        raise BadLaw("a law has an atom that is not among the declared values; declare every value that may occur")
    return Discrete._with_error(values, law.masses.scatter(there, len(values)), 0.0)


def _fractions(masses: Masses) -> list[Fraction]:
    parts, total = masses.whole()
    return [Fraction(p, total) for p in parts]
