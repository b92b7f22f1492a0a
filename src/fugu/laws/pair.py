"""`Shifted` and `LawPair`: what must look alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

from fugu.errors import BadLaw, UsageError
from fugu.laws.cells import CellLaw
from fugu.laws.components import Described
from fugu.laws.discrete import Discrete
from fugu.laws.multinormal import MultivariateNormal
from fugu.laws.normal import Normal, NormalMixture
from fugu.laws.sets.law_set import LawSet
from fugu.numbers.checks import is_finite, is_iterable
from fugu.numbers.exact import Real, as_fraction
from fugu.visible import brief


@dataclass(frozen=True, repr=False)
class Shifted(Described):
    """A law that nobody needs to know, moved by a known amount: that of Z + by; two of them are translates by the
    difference.

    `by`: a finite number, or one per published coordinate. Raises `BadLaw` for others.

    Every loss is convex in the pair of laws, so the worst Z is a point mass: what holds for the points 0 and `by`
    holds for every translate."""

    by: Real | Sequence[Real]
    """A number, or a vector as a tuple of numbers."""
    shifted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if is_iterable(self.by):
            object.__setattr__(self, "by", tuple(self.by))
        for x in self.coordinates:
            if not is_finite(x):
                raise BadLaw(f"a shift must be a finite number or a tuple of them, got {self.by!r}")
        if self.by == ():
            raise BadLaw("a shift of no coordinates shifts nothing; give one number, or one for each coordinate")

    @property
    def dimension(self) -> int:
        """1 for a number, d for a vector."""
        return len(self.coordinates)

    def __repr__(self) -> str:
        return f"Shifted(by={brief(self.by)})" if self.dimension > 4 else f"Shifted(by={self.by!r})"

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The coordinates of the shift, as the decimals they stand for."""
        return tuple(as_fraction(x) for x in self.coordinates)

    @property
    def coordinates(self) -> tuple[Real, ...]:
        """The shift as a vector, also of one number."""
        return self.by if isinstance(self.by, tuple) else (self.by,)

    def as_pair(self) -> LawPair:
        """The translate and the law itself."""
        origin = Shifted(0 if self.by == self.coordinates[0] else (0,) * self.dimension)
        return LawPair(origin, self, f"shift by {self.by}")


Law = Discrete | Shifted | Normal | NormalMixture | MultivariateNormal | CellLaw | LawSet


def as_law(given: Any) -> Any:
    """A law of another kind as the law that it reads as; every other thing as it is."""
    return given.read() if isinstance(given, Described) and not isinstance(given, Law) else given


@dataclass(frozen=True, repr=False)
class LawPair:
    """Two laws of the published value that must look alike, protected in both orders.

    `p`, `q`: two laws (`Discrete`, `Normal`, `NormalMixture`, `MultivariateNormal`) of one dimension, two `Shifted`, or
    two `CellLaw` of the cell that one record falls into; or sets of laws (`Box`, `Band`, `Ball`, `Hull`,
    `Intersection`), beside each other or beside a `Discrete` law, which stand for every pair of their laws, chosen
    independently. `label`: a name for reports and certificates. Raises
    `BadLaw` for others.

    >>> LawPair(Discrete([0, 1], [3, 1]), Discrete([1]), "smoker").dimension
    1
    """

    p: Law
    q: Law
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", as_law(self.p))
        object.__setattr__(self, "q", as_law(self.q))
        for law in (self.p, self.q):
            if not isinstance(law, Law):
                known = "Discrete, Normal, NormalMixture, MultivariateNormal, Shifted, or a set of laws"
                raise BadLaw(f"a pair holds laws ({known}), got {type(law).__name__}")
        if self.p.shifted != self.q.shifted:
            raise BadLaw("a Shifted law pairs only with a Shifted law: both are translates of one unknown law")
        if self.p.dimension != self.q.dimension:
            raise BadLaw(f"the laws of a pair must have one dimension, got {self.p.dimension} and {self.q.dimension}")

    def __repr__(self) -> str:
        return f"LawPair({self.p!r}, {self.q!r}{f', {brief(self.label)}' if self.label else ''})"

    @property
    def dimension(self) -> int:
        """1 for a published number, d for a published vector."""
        return self.p.dimension


@runtime_checkable
class HasLawPairs(Protocol):
    """A scenario: anything that compiles to law pairs."""

    def law_pairs(self) -> tuple[LawPair, ...]: ...


PairsLike = HasLawPairs | LawPair | Shifted | Iterable[LawPair | Shifted]
"""What must look alike: a scenario, a pair of laws, a shift, or several pairs and shifts."""


def as_pairs(source: PairsLike) -> tuple[LawPair, ...]:
    """The law pairs of a scenario, a pair, a shift, or a list of them; never empty."""
    if isinstance(source, HasLawPairs):
        return source.law_pairs()
    items = [source] if isinstance(source, LawPair | Shifted) else list(source)
    if not items:
        raise UsageError("no law pair is given: there is nothing to protect")
    for item in items:
        if not isinstance(item, LawPair | Shifted):
            raise UsageError(f"expected a Scenario or law pairs, got {type(item).__name__}")
    return tuple(item if isinstance(item, LawPair) else item.as_pair() for item in items)
