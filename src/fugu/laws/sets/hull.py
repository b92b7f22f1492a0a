"""`Hull`: the mixtures of named laws; sets of laws of every kind read back from JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, CertificateError, UsageError
from fugu.fixed import fixed
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.sets.ball import Ball
from fugu.laws.sets.band import Band
from fugu.laws.sets.box import Box, Intersection
from fugu.laws.sets.law_set import Floats, LawSet, declared, groups, hexed, law_json, law_of, member, vector
from fugu.numbers.exact import VectorLike, echelon, read_whole
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

    def extremes(self, rows: Floats) -> Floats:
        """For every row of vectors the law that attains the maximum, in doubles."""
        best: Floats = self.weights[np.argmax(rows @ self.weights.T, axis=1)]
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
        return {"kind": self.kind, "values": hexed(self.values), "laws": [law_json(law) for law in self.laws]}

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


def is_mixture(law: Sequence[Fraction], laws: Sequence[Sequence[Fraction]]) -> bool:
    """Whether law = sum_k c_k laws[k] for some c >= 0 (which then sum to 1, as all are laws).

    Gaussian elimination leaves as many equations as the laws have independent ones; the first phase of the simplex
    method, with Bland's rule, then finds c or proves that there is none.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> is_mixture([half, half], [[1, 0], [third, 2 * third]]), is_mixture([0, 1], [[1, 0], [third, 2 * third]])
    (True, False)
    """
    count = len(laws)
    found = echelon([[Fraction(row[i]) for row in laws] + [Fraction(law[i])] for i in range(len(law))])
    if any(pivot == count for pivot, _ in found):
        return False
    table = [[-x for x in row] if row[-1] < 0 else row for _, row in found]
    basis = [count + i for i in range(len(table))]  # artificial variables, one per equation
    while True:
        gains = [
            sum((row[j] for row, b in zip(table, basis, strict=True) if b >= count), Fraction(0))
            for j in range(count + 1)
        ]
        if not gains[-1]:
            return True
        enter = next((j for j in range(count) if gains[j] > 0 and j not in basis), -1)
        if enter < 0:
            return False
        ratios = [(row[-1] / row[enter], basis[i], i) for i, row in enumerate(table) if row[enter] > 0]
        out = min(ratios)[2]
        scale = table[out][enter]
        table[out] = [x / scale for x in table[out]]
        for i, row in enumerate(table):
            if i != out and row[enter]:
                table[i] = [x - row[enter] * y for x, y in zip(row, table[out], strict=True)]
        basis[out] = enter


def law_set_from(found: dict[str, Any]) -> LawSet:
    """The set that `to_json` wrote, checked like one that a user gives; `CertificateError` for anything else.

    `found`: the JSON object of one set."""
    try:
        kind = found["kind"]
        if kind == Intersection.kind:
            sets = [law_set_from(part) for part in found["sets"]]
            return Intersection(sets, _law(sets[0].values, found["middle"]) if "middle" in found else None)
        values = declared([float.fromhex(x) for x in found["values"]])
        if kind == Ball.kind:
            return Ball(_law(values, found["centre"]), Fraction(float.fromhex(found["radius"])), found["distance"])
        if kind == Hull.kind:
            return Hull([_law(values, law) for law in found["laws"]], values)
        lower, upper = (np.array([float.fromhex(x) for x in found[name]]) for name in ("lower", "upper"))
        if not len(values) == len(lower) == len(upper):
            raise BadLaw("values and limits differ in number")
        if not all(np.all((row >= 0) & (row <= 1)) for row in (lower, upper)):
            raise BadLaw("a limit is outside its range")
        return {Box.kind: Box, Band.kind: Band}[kind].exactly(values, lower, upper)
    except (KeyError, TypeError, AttributeError, OverflowError, UsageError, ValueError, RecursionError) as error:
        why = f": {error}" if isinstance(error, BadLaw) else ""
        raise CertificateError(f"a set of laws in the document cannot be read{why}") from None


def _law(values: Floats, found: dict[str, Any]) -> Discrete:
    parts, total = [read_whole(p) for p in found["parts"]], read_whole(found["total"])
    if len(parts) != len(values) or min(parts) < 0 or sum(parts) != total or total <= 0:
        raise BadLaw("its masses are not those of a law")
    return law_of(values, parts, total)
