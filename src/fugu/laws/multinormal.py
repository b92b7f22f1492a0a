"""`MultivariateNormal`: a normal law of a vector, held exactly; pairs of such laws, and laws of sums of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, CertificateError
from fugu.fixed import fixed
from fugu.laws.components import Described, Digest, OnePair
from fugu.noise.lattice import Lattice
from fugu.numbers.checks import is_number, listed
from fugu.numbers.exact import MatrixLike, VectorLike, as_flint, as_fraction, echelon, read_number

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]
_STATED = "normal-vectors"


@dataclass(frozen=True, eq=False)
class MultivariateNormal(Described):
    """The normal law of a vector: N(mean, cov). Entries are read as the decimals they are written as.

    `mean`: d >= 2 finite numbers; `cov`: d rows of d numbers, symmetric and positive semidefinite, which is decided
    exactly. Raises `BadLaw` for others. `mean_array` and `cov_array` are read-only doubles.

    >>> law = MultivariateNormal([0, 1], [[2, 0.5], [0.5, 1]])
    >>> law.dimension, law.cov[0][1]
    (2, Fraction(1, 2))
    """

    mean: Row
    cov: Matrix
    normal_vector: ClassVar[bool] = True

    def __init__(self, mean: VectorLike, cov: MatrixLike) -> None:
        object.__setattr__(self, "mean", _row(mean, "the mean"))
        rows = listed(cov)
        if not all(isinstance(row, Sequence | np.ndarray) for row in rows):
            raise BadLaw("a covariance is a square table of numbers, one row per coordinate")
        object.__setattr__(self, "cov", tuple(_row(row, "the covariance") for row in rows))
        d = len(self.mean)
        if d == 1:
            raise BadLaw("a normal law of one number is fugu.Normal(mean, std); a vector has at least two coordinates")
        if any(len(row) != d for row in self.cov) or len(self.cov) != d:
            raise BadLaw(f"a covariance for {d} coordinates has {d} rows of {d} numbers; give one of that shape")
        if any(self.cov[i][j] != self.cov[j][i] for i in range(d) for j in range(i)):
            raise BadLaw("the covariance is not symmetric: entry (i, j) must equal entry (j, i)")
        if not is_semidefinite(self.cov):
            raise BadLaw("the covariance is not positive semidefinite: some direction would have a negative variance")

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.mean)

    @cached_property
    def mean_array(self) -> NDArray[np.float64]:
        """The mean as doubles."""
        return fixed(np.array([float(x) for x in self.mean]))

    @cached_property
    def cov_array(self) -> NDArray[np.float64]:
        """The covariance as doubles."""
        return fixed(np.array([[float(x) for x in row] for row in self.cov]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultivariateNormal) and (self.mean, self.cov) == (other.mean, other.cov)

    def __hash__(self) -> int:
        return hash((self.mean, self.cov))

    def __repr__(self) -> str:
        return f"MultivariateNormal({self.dimension} coordinates)"


@dataclass(frozen=True, eq=False)
class NormalPair(OnePair):
    """Two normal laws of a vector that must look alike."""

    p: MultivariateNormal
    q: MultivariateNormal
    label: str
    shape: ClassVar[str] = "normal"

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.p.dimension

    def on(self, lattice: Lattice) -> NormalPair:
        """The laws as they are: rounding is part of what is proved of the noise (`loss.normal.smoothing`)."""
        del lattice
        return self

    def to_json(self) -> dict[str, Any]:
        """Both laws, exactly."""
        return {"kind": _STATED, "label": self.label, "p": moments_json(self.p), "q": moments_json(self.q)}

    @staticmethod
    def from_json(found: dict[str, Any]) -> NormalPair:
        """What `to_json` wrote; `MultivariateNormal` refuses what is no covariance."""
        if found.get("kind") != _STATED:
            raise CertificateError("the certificate's laws are not normal laws of vectors")
        laws = []
        for law in (found["p"], found["q"]):
            cov = [[read_number(x) for x in row] for row in law["cov"]]
            laws.append(MultivariateNormal([read_number(x) for x in law["mean"]], cov))
        return NormalPair(laws[0], laws[1], str(found["label"]))

    def spread(self) -> float:
        """The root of the mean variance, over coordinates and both laws."""
        total = sum(float(law.cov[i][i]) for law in (self.p, self.q) for i in range(self.dimension))
        return math.sqrt(total / (2 * self.dimension)) or 1.0

    def mark(self, digest: Digest) -> None:
        """Add what is stated to a digest."""
        digest.update(repr((self.p.mean, self.p.cov, self.q.mean, self.q.cov)).encode())

    def differs(self, number: int, other: Any, its: int, comparable: bool) -> bool:  # noqa: ARG002
        """Whether this law of the pair is surely not that one of another."""
        return bool(other.shape == self.shape and (self.p, self.q)[number] != (other.p, other.q)[its])

    @property
    def difference(self) -> Row:
        """mean of p - mean of q, exactly."""
        return tuple(a - b for a, b in zip(self.p.mean, self.q.mean, strict=True))

    @property
    def shared(self) -> bool:
        """Whether both laws have the same covariance: then they are translates."""
        return self.p.cov == self.q.cov

    @property
    def same(self) -> bool:
        """Whether the two laws are equal."""
        return self.p == self.q


def moments_json(law: MultivariateNormal | ClassMoments) -> dict[str, Any]:
    """Mean and covariance, exactly."""
    return {"mean": [str(x) for x in law.mean], "cov": [[str(x) for x in row] for row in law.cov]}


def is_semidefinite(matrix: Matrix, definite: bool = False) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite (or definite), decided exactly."""
    found = positive_pivots(matrix)
    return found is not None and (not definite or len(found) == len(matrix))


def positive_pivots(matrix: Matrix) -> list[int] | None:
    """Indices of a principal submatrix of full rank of a positive semidefinite matrix; None if it is not.

    All roots of the characteristic polynomial are real, so none is negative iff its coefficients alternate in sign
    (Descartes). A = B'B has the null vectors of B: columns of A that are independent are so in B, and the principal
    submatrix on them is definite."""
    if not matrix:
        return []
    signed = as_flint(matrix).charpoly().coeffs()[::-1]
    if any(c * (-1) ** k < 0 for k, c in enumerate(signed)):
        return None
    return [pivot for pivot, _ in echelon(matrix)]


def _row(values: Any, what: str) -> Row:
    found = []
    for x in listed(values):
        if not is_number(x):
            raise BadLaw(f"{what} must hold numbers, found {type(x).__name__}")
        try:
            found.append(as_fraction(x))
        except ValueError:
            raise BadLaw(f"{what} must hold finite numbers, found NaN or infinity") from None
    if not found:
        raise BadLaw(f"{what} is empty; give one number for each coordinate")
    return tuple(found)


@final
@dataclass(frozen=True)
class ClassMoments:
    """Mean and covariance of what one record of a class adds to the statistics."""

    mean: Row
    cov: Matrix

    @staticmethod
    def scaled(
        mean: Sequence[Fraction], cov: Sequence[Sequence[Fraction]], factors: Sequence[Fraction]
    ) -> ClassMoments:
        """A m and A C A, A the diagonal matrix of the factors."""
        return ClassMoments(
            tuple(a * x for a, x in zip(factors, mean, strict=True)),
            tuple(
                tuple(a * b * x for b, x in zip(factors, row, strict=True)) for a, row in zip(factors, cov, strict=True)
            ),
        )

    def to_json(self) -> dict[str, object]:
        """The numbers exactly."""
        return moments_json(self)


def mixed_law(
    one: ClassMoments, other: ClassMoments, spread_one: Fraction, spread_other: Fraction, k: int, rest: int
) -> tuple[Row, Matrix]:
    """k m_1 + rest m_0, and a C_1 + b C_0 with a, b the spreads.

    >>> unit, none = ClassMoments((Fraction(1),), ((Fraction(2),),)), ClassMoments((Fraction(0),), ((Fraction(1),),))
    >>> mixed_law(unit, none, Fraction(3), Fraction(4), 3, 4)
    ((Fraction(3, 1),), ((Fraction(10, 1),),))
    """
    mean = tuple(k * x + rest * y for x, y in zip(one.mean, other.mean, strict=True))
    cov = tuple(
        tuple(spread_one * x + spread_other * y for x, y in zip(r, s, strict=True))
        for r, s in zip(one.cov, other.cov, strict=True)
    )
    return mean, cov
