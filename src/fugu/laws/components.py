"""What every law and every family of laws answers for itself, whatever it is a law of: places, components, pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw, BadNoise, CertificateError
from fugu.numbers.exact import Real, as_fraction, read_whole

Floats = NDArray[np.float64]


class Described:
    """What a law says of itself; each kind of law says otherwise where it differs."""

    __slots__ = ()

    shifted: ClassVar[bool] = False
    """Whether it is an unknown law, known up to a shift."""
    normal_vector: ClassVar[bool] = False
    """Whether it is a normal law of a vector."""
    smooth: ClassVar[bool] = False
    """Whether it is the view of a law with spread, rather than a law."""
    called: ClassVar[str] = "a law"

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{self.called} does not change, so {name!r} cannot be set; make a new one")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{self.called} does not change, so {name!r} cannot be removed")

    def read(self) -> Described | Components:
        """Itself; a bell shape as its components, or as the atoms that it is if it has no spread."""
        return self

    def components(self) -> Components:
        """The law as a mixture of normals; refused where it is none."""
        raise BadLaw(f"expected a Normal, NormalMixture or Discrete law, got {type(self).__name__}")

    def parts(self) -> Iterator[tuple[Real, Real, Real]]:
        """(weight, mean, std) of every component that has mass, as they were given."""
        raise BadLaw(f"expected a Normal, NormalMixture or Discrete law, got {type(self).__name__}")


@final
@dataclass(frozen=True, eq=False)
class Components:
    """A law as sum_k weights[k] N(means[k], stds[k]^2), in doubles and, on demand, exactly; null weights are left out.

    >>> from fugu import Discrete
    >>> Discrete([0, 5], [1, 3]).components().exact_weights
    (Fraction(1, 4), Fraction(3, 4))
    """

    law: Any
    weights: Floats
    means: Floats
    stds: Floats
    smooth: ClassVar[bool] = True

    @cached_property
    def exact(self) -> tuple[tuple[Fraction, ...], ...]:
        """The rows of weights, means and standard deviations, as the decimals they were given as."""
        return tuple(zip(*(map(as_fraction, part) for part in self.law.parts()), strict=True))

    @property
    def exact_weights(self) -> tuple[Fraction, ...]:
        """The weights as Fractions that sum to 1."""
        return self.exact[0]

    @property
    def exact_means(self) -> tuple[Fraction, ...]:
        """The means as the decimals they were given as."""
        return self.exact[1]

    @property
    def exact_stds(self) -> tuple[Fraction, ...]:
        """The standard deviations as the decimals they were given as."""
        return self.exact[2]

    def components(self) -> Components:
        """Itself."""
        return self


class Compared:
    """Pairs of laws that must look alike; known exactly, unless a family says otherwise."""

    def blurred(self, pair: tuple[int, int]) -> bool:  # noqa: ARG002
        """Whether the pair is two laws of which one is known up to an error only: equal masses are no proof then."""
        return False

    def slack(self, order: tuple[int, int], e: arb) -> arb:  # noqa: ARG002
        """What the laws' own errors add to delta at epsilon, e = e^epsilon, in one order of a pair; 0 if exact."""
        return arb(0)


class OnePair(Compared):
    """One pair of laws with a spread: nothing can be moved to atoms, and values are always rounded."""

    label: str
    atoms: ClassVar[bool] = False
    translates: ClassVar[bool] = False
    inexact: ClassVar[bool] = False
    point_masses: ClassVar[bool] = False

    @property
    def same(self) -> bool:
        """Whether the two laws are equal."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the pair."""
        return (self.label,)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """One pair."""
        return ((0, 1),)

    @property
    def differing(self) -> int:
        """How many pairs differ."""
        return 0 if self.same else 1

    def alone(self) -> Iterator[Self]:
        """The pair, if it differs."""
        if not self.same:
            yield self

    def push(self, support: NDArray[np.float64]) -> Self:  # noqa: ARG002
        """Refused: values without atoms are not moved to atoms."""
        raise BadNoise("it moves every value to its own atoms, and these laws have none")

    def numbered(self) -> Self:
        """Refused: values without atoms are always rounded."""
        raise BadNoise("laws without atoms need a lattice, and this certificate has none")


class SeveralPairs(Compared):
    """Laws by their places, and the pairs of them that must look alike. A frozen dataclass says which pairs differ."""

    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]

    @property
    def different(self) -> tuple[tuple[tuple[int, int], str], ...]:
        """The pairs whose two laws are not surely the same law, with their labels; the others lose nothing."""
        raise NotImplementedError

    @property
    def same(self) -> bool:
        """Whether no pair differs."""
        return not self.different

    @property
    def differing(self) -> int:
        """How many pairs differ."""
        return len(self.different)

    def pairs_json(self) -> dict[str, Any]:
        """Every pair and its label."""
        return {"pairs": [list(pair) for pair in self.pairs], "labels": list(self.labels)}

    def alone(self) -> Iterator[Self]:
        """Every pair that differs, by itself."""
        for pair, label in self.different:
            yield replace(self, pairs=(pair,), labels=(label,))  # type: ignore[type-var]


def pairs_from(found: dict[str, Any], count: int) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
    """What `pairs_json` wrote, checked: pairs of laws that are there, one label each."""
    pairs = tuple((read_whole(i), read_whole(j)) for i, j in found["pairs"])
    labels = tuple(str(label) for label in found["labels"])
    if not pairs or len(labels) != len(pairs):
        raise CertificateError("the certificate's laws are not in order")
    if any(not 0 <= k < count for pair in pairs for k in pair):
        raise CertificateError("the certificate names a law that it does not hold")
    if any(i == j for i, j in pairs):
        raise CertificateError("the certificate compares a law with itself, which no noise can tell apart")
    return pairs, labels


_BLOCK = 10_000_000


class Digest(Protocol):
    """A running hash."""

    def update(self, data: bytes, /) -> None: ...


def nearest(support: Floats, values: NDArray[Any]) -> Floats:
    """Each value, or each row, moved to the nearest supported one.

    Numbers: halves downward, infinities to the ends. Vectors: in the l2 norm, the first in the list on ties.

    >>> nearest(np.array([0.0, 1.0, 5.0]), np.array([-3.0, 0.4, 3.0, 9.0]))
    array([0., 0., 1., 5.])
    >>> nearest(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.9, 0.1], [5.0, 5.0]]))
    array([[0., 0.],
           [2., 0.]])
    """
    if support.ndim > 1:
        out = np.empty_like(values)
        step = max(1, _BLOCK // support.size)
        scale = 2.0 ** -math.frexp(float(np.max(np.abs(support))))[1] if support.any() else 1.0
        placed = support * scale  # a power of two, so that no square of a gap between supported vectors underflows
        with np.errstate(over="ignore", under="ignore"):
            for start in range(0, len(values), step):
                block = values[start : start + step] * scale
                gaps = ((block[:, None, :] - placed[None, :, :]) ** 2).sum(axis=2)
                out[start : start + step] = support[np.argmin(gaps, axis=1)]
        return out
    return np.asarray(support[nearest_place(support, values)])


def nearest_place(support: Floats, values: NDArray[Any]) -> NDArray[np.int64]:
    """The place of the supported number that each value is moved to."""
    right = np.clip(np.searchsorted(support, values), 0, len(support) - 1)
    left = np.maximum(right - 1, 0)
    closer_left = np.abs(values - support[left]) <= np.abs(support[right] - values)
    return np.where(closer_left & (values < support[right]), left, right)


def spread(weights: Floats, means: Floats, stds: Floats) -> float:
    """sqrt(sum w (std^2 + (mean - centre)^2)), in a unit that keeps squares from overflowing or vanishing."""
    unit = float(np.maximum(np.abs(means), stds).max()) or 1.0
    centred = means / unit - weights @ (means / unit)
    return float(np.sqrt(weights @ ((stds / unit) ** 2 + centred**2))) * unit
