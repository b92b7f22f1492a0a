"""`Discrete`: a law with finitely many atoms, held exactly; sums of independent ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.fixed import fixed
from fugu.laws.components import Components, Described
from fugu.laws.masses import Masses, masses
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, VectorLike, as_fraction, is_whole


@final
class Discrete(Described):
    """A law with finitely many values: P(X = values[k]) = weights[k]; atoms are sorted, equal atoms are joined exactly,
    nothing is merged by tolerance.

    Parameters:

    - `values`: n numbers, or n vectors of d numbers, each a finite number that a double holds.
    - `weights`: one per value; None makes them equal. Whole numbers are counts, Fractions must sum to 1, floats must
      sum to 1 within 1e-9 and are renormalised. A weight of 0 is allowed.

    Raises `BadLaw` for others. `values` and `weights` are read-only arrays; `error` bounds the total variation to the
    law that is meant, 0 where it is exact.

    >>> law = Discrete([0, 1, 2], [3, 1, 0])
    >>> law.weights
    array([0.75, 0.25, 0.  ])
    >>> Discrete([0.1, 0.1, 0.2]).weights
    array([0.66666667, 0.33333333])
    """

    __slots__ = ("error", "masses", "values")

    values: NDArray[np.float64]
    masses: Masses
    error: float

    def __init__(self, values: Iterable[Real | VectorLike], weights: Iterable[Real] | None = None) -> None:
        atoms = _atoms(values)
        order, starts = _distinct(atoms)
        mass = masses(weights, len(atoms))
        if order is not None:
            atoms, mass = atoms[order], Masses(mass.parts[order], mass.total)
        if starts is not None:
            index = np.cumsum(starts) - 1
            atoms, mass = atoms[starts], mass.scatter(index, int(index[-1]) + 1)
        self._hold(atoms, mass, 0.0)

    def _hold(self, values: NDArray[np.float64], mass: Masses, error: float) -> None:
        values.setflags(write=False)
        for name, part in (("values", values), ("masses", Masses(fixed(mass.parts), mass.total)), ("error", error)):
            object.__setattr__(self, name, part)

    def __reduce__(self) -> tuple[Any, ...]:
        return Discrete._with_error, (self.values, self.masses, self.error)

    @classmethod
    def _with_error(cls, values: NDArray[np.float64], mass: Masses, error: float) -> Discrete:
        """A law known up to the total variation `error`: sorted, distinct atoms and their masses, as they are."""
        law = cls.__new__(cls)
        law._hold(values, mass, error)
        return law

    def iid_sum(self, n: int, method: Literal["auto", "exact", "fft"] = "auto") -> Discrete:
        """The law of X_1 + ... + X_n for independent copies; its `error` bounds the total variation to the true law.

        `n`: a whole number of at least 1. `method`: "exact" (integers, error 0), "fft" (window and FFT), or "auto"
        (exact where that is small). Raises `BadLaw` and `UnknownName` for others.

        >>> Discrete([0, 1]).iid_sum(2).weights
        array([0.25, 0.5 , 0.25])
        """
        from fugu.laws.adding import METHODS, added

        if not is_whole(n, least=1):
            raise UsageError(f"a sum needs a whole number of draws of at least 1, got {n!r}")
        return self if n == 1 and method in METHODS else Discrete._with_error(*added({self: int(n)}, method))

    @property
    def weights(self) -> NDArray[np.float64]:
        """The probabilities of the atoms, as doubles."""
        return fixed(self.masses.floats())

    @property
    def dimension(self) -> int:
        """1 for numbers, d for vectors."""
        return 1 if self.values.ndim == 1 else int(self.values.shape[1])

    def components(self) -> Components:
        """The law as a mixture of normals without spread."""
        if self.dimension != 1:
            raise BadLaw(f"only laws of numbers are mixtures of normals, got vectors of dimension {self.dimension}")
        if self.error:
            raise NotProvable("a law known up to an error pairs only with laws that have atoms; use method='exact'")
        kept = self.masses.parts != 0
        values = self.values[kept]
        return Components(self, self.weights[kept], values, np.zeros_like(values))

    def parts(self) -> Iterator[tuple[Fraction, Real, Real]]:
        """(weight, mean, std) of every atom that has mass, exactly."""
        numerators, total = self.masses.whole()
        for part, value in zip(numerators, self.values.tolist(), strict=True):
            if part:
                yield Fraction(part, total), value, 0

    def mean(self) -> NDArray[np.float64] | float:
        """E X: a number, or a vector."""
        mean: Any = np.tensordot(self.weights, self.values, axes=1)
        return float(mean) if self.values.ndim == 1 else mean

    def std(self) -> float:
        """The standard deviation; of vectors, the root of the summed variances."""
        centred = self.values - np.tensordot(self.weights, self.values, axes=1)
        return float(np.sqrt(np.sum(self.weights * (centred * centred).T)))

    def __repr__(self) -> str:
        space = "" if self.dimension == 1 else f" in {self.dimension} dimensions"
        return f"Discrete({len(self.values)} atoms{space}{f', error {self.error:.2g}' if self.error else ''})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Discrete)
            and np.array_equal(self.values, other.values)
            and self.masses.same_as(other.masses)
            and self.error == other.error
        )

    def __hash__(self) -> int:
        return hash((self.values.tobytes(), self.weights.tobytes()))


def _atoms(values: Iterable[Real | VectorLike]) -> NDArray[np.float64]:
    """Values as float64, refused where a double cannot hold them exactly."""
    array = np.asarray(values if isinstance(values, np.ndarray) else list(values))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]  # vectors of one number are numbers
    if array.size == 0:
        raise BadLaw("a law needs at least one value")
    if array.ndim not in (1, 2):
        raise BadLaw(f"values must be (n,) numbers or (n, d) vectors, got shape {array.shape}")
    if array.dtype == object and all(isinstance(v, int | float | Fraction) for v in array.ravel().tolist()):
        floats = np.array([float(v) for v in array.ravel().tolist()], dtype=np.float64)
        exact = all(
            isinstance(v, float) or as_fraction(f) == v
            for v, f in zip(array.ravel().tolist(), floats.tolist(), strict=True)
        )
        if not exact:
            raise BadLaw("some value is not a double (for instance 1/3); rescale the values so that they are decimals")
        array = floats.reshape(array.shape)
    if array.dtype.kind not in "iufb":
        raise BadLaw(f"values must be numbers, got {array.dtype}; for categories give an ordering (codes 0, 1, 2, ...)")
    large = array.dtype.kind in "iu" and (np.any(array > 2**53) or np.any(array < -(2**53)))
    if large and any(int(float(v)) != v for v in array.ravel().tolist()):
        raise BadLaw("whole numbers beyond 2**53 are not doubles; rescale the values")
    floats = array.astype(np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
    if not np.all(np.isfinite(floats)):
        raise BadLaw("values must be finite numbers, found NaN or infinity")
    return floats


def _distinct(atoms: NDArray[np.float64]) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_] | None]:
    """The sorting permutation (None if sorted) and the first-of-its-kind mask (None if all differ)."""
    if atoms.ndim == 1:
        order = None if np.all(atoms[1:] >= atoms[:-1]) else np.argsort(atoms, kind="stable")
        ordered = atoms if order is None else atoms[order]
        fresh = ordered[1:] != ordered[:-1]
    else:
        order = np.lexsort(atoms.T[::-1])
        ordered = atoms[order]
        fresh = np.any(ordered[1:] != ordered[:-1], axis=1)
    starts = None if np.all(fresh) else np.concatenate(([True], fresh))
    return order, starts


def sum_of(laws: Sequence[Discrete] | Mapping[Discrete, int], method: str = "auto") -> Discrete:
    """The law of X_1 + ... + X_n for independent X_i ~ laws[i], which may all differ; or of so many of each law.

    "auto" convolves exact integers where the result takes at most 2 MB, and there `error` is 0; otherwise one FFT,
    and `error` bounds the total variation to the true law. "exact" insists on integers; it is what a pure budget
    needs, because a law known up to total variation says nothing of ratios in its tails. Errors of the given laws
    add up, as |P * P' - Q * Q'| <= |P - Q| + |P' - Q'|.

    >>> law = sum_of([Discrete([0, 0.1]), Discrete([0, 0.1], [3, 1]), Discrete([5])])
    >>> law.values, law.weights, law.error
    (array([5. , 5.1, 5.2]), array([0.375, 0.5  , 0.125]), 0.0)
    """
    from fugu.laws.adding import added

    given = Counter(laws if isinstance(laws, Mapping) else list(laws))
    if not given:
        raise UsageError("a sum needs at least one law")
    for law in given:
        if not isinstance(law, Discrete):
            raise BadLaw(f"a sum is over Discrete laws, got {type(law).__name__}")
    return Discrete._with_error(*added(given, method))


def poisson_binomial(probabilities: Iterable[Real], method: str = "auto") -> Discrete:
    """How many of n independent users say yes, when user i does so with probability p_i (floats mean their decimals).

    >>> poisson_binomial([0.1, 0.5]).weights
    array([0.45, 0.5 , 0.05])
    """
    from fugu.laws.adding import Term, convolved, placed_law

    chances = Counter[Fraction]()
    for p in probabilities:
        chance = int(p) if is_whole(p) else p
        if not is_number(chance) or not 0 <= chance <= 1:
            raise BadLaw("probabilities must be numbers in [0, 1]")
        chances[as_fraction(chance)] += 1
    if not chances:
        raise UsageError("a sum needs at least one probability")
    certain = chances.pop(Fraction(1), 0)
    chances.pop(Fraction(0), 0)
    terms = [Term([0, 1], [p.denominator - p.numerator, p.numerator], p.denominator, n) for p, n in chances.items()]
    found = convolved(terms, method)
    return Discrete._with_error(*placed_law(found, certain, 1, Fraction(1), found.error))
