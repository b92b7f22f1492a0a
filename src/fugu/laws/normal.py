"""`Normal` and `NormalMixture`: beliefs with a bell shape, held exactly; `components`: one view of all such laws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from fugu.errors import BadLaw
from fugu.laws import fitting
from fugu.laws.components import Components, Described
from fugu.laws.discrete import Discrete
from fugu.laws.masses import masses
from fugu.numbers.checks import is_iterable, listed
from fugu.numbers.exact import Real, as_fraction


@final
@dataclass(frozen=True)
class Normal(Described):
    """X ~ N(mean, std^2); `std` is the standard deviation, never the variance, and std 0 is the point mass.

    `mean`: a finite number; `std`: a finite number >= 0. Raises `BadLaw` for others.
    A float means the decimal it shows (0.1 is 1/10). A field is a float wherever that float means the exact number,
    and a Fraction otherwise.

    >>> Normal(70, 2.5)
    Normal(mean=70.0, std=2.5)
    >>> Normal(Fraction(1, 10), 1) == Normal(0.1, 1)
    True
    """

    mean: Real
    std: Real
    error: ClassVar[float] = 0.0
    dimension: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _number(self.mean, "mean"))
        object.__setattr__(self, "std", _spread(self.std))

    @staticmethod
    def fit(values: ArrayLike) -> Normal:
        """The normal law with the mean and standard deviation of reference `values`, an array of finite numbers."""
        return Normal(*fitting.normal(values))

    def read(self) -> Components | Discrete:
        """Its one component; the point mass that it is if it has no spread."""
        return _read(self)

    def components(self) -> Components:
        """The law as a mixture of one."""
        return Components(self, np.ones(1), np.array([float(self.mean)]), np.array([float(self.std)]))

    def parts(self) -> Iterator[tuple[Real, Real, Real]]:
        """(1, mean, std)."""
        yield 1, self.mean, self.std


@final
@dataclass(frozen=True, repr=False)
class NormalMixture(Described):
    """X ~ N(means[k], stds[k]^2) with probability weights[k]; a std of 0 puts an atom at that mean.

    `means`: finite numbers, at least one; `stds`: a number >= 0 per mean; `weights`: one per mean, or None for equal
    ones. Whole weights are counts; Fractions must sum to 1; floats must sum to 1 within 1e-9 and are renormalised.
    Raises `BadLaw` for others.

    >>> law = NormalMixture([3, 1], means=[0, 10], stds=[1, 2])
    >>> law.weights, law.mean()
    ((0.75, 0.25), 2.5)
    """

    weights: tuple[Real, ...]
    means: tuple[Real, ...]
    stds: tuple[Real, ...]
    error: ClassVar[float] = 0.0
    dimension: ClassVar[int] = 1

    def __init__(self, weights: Iterable[Real] | None, means: Iterable[Real], stds: Iterable[Real]) -> None:
        centres = tuple(_number(m, "mean") for m in _listed(means, "means"))
        spreads = tuple(_spread(s) for s in _listed(stds, "stds"))
        if not centres:
            raise BadLaw("a mixture needs at least one component")
        if len(centres) != len(spreads):
            raise BadLaw(f"a mixture needs one std for each mean, got {len(centres)} means and {len(spreads)} stds")
        given = None if weights is None else _listed(weights, "weights")
        if given is not None and len(given) != len(centres):
            raise BadLaw(f"a mixture needs one weight for each mean, got {len(given)} weights, {len(centres)} means")
        parts, total = masses(given, len(centres)).whole()
        object.__setattr__(self, "weights", tuple(_plain(Fraction(part, total)) for part in parts))
        object.__setattr__(self, "means", centres)
        object.__setattr__(self, "stds", spreads)

    @staticmethod
    def fit(values: ArrayLike, components: int | Literal["bic"] = 3) -> NormalMixture:
        """A mixture fitted to reference `values` (extra `fit`).

        `components`: how many, a whole number of at least 1; "bic" chooses 1 to 6 by the Bayesian information
        criterion. Raises `BadLaw` where there are too few values, `MissingExtra` without scikit-learn."""
        return NormalMixture(*fitting.mixture(values, components))

    @staticmethod
    def fit_shared(groups: Mapping[str, ArrayLike], components: int | Literal["bic"] = 3) -> dict[str, NormalMixture]:
        """One background mixture with means adapted to each group of reference values (extra `fit`).

        `groups`: {secret: values}; `components` as in `fit`. Returns {secret: law}."""
        return {name: NormalMixture(*fitted) for name, fitted in fitting.shared(groups, components).items()}

    def read(self) -> Components | Discrete:
        """Its components; the law with atoms that it is if none has spread."""
        return _read(self)

    def components(self) -> Components:
        """The law as the mixture that it is."""
        table = np.array([(float(w), float(m), float(s)) for w, m, s in self.parts()])
        return Components(self, table[:, 0], table[:, 1], table[:, 2])

    def parts(self) -> Iterator[tuple[Real, Real, Real]]:
        """(weight, mean, std) of every component that has mass."""
        return (row for row in zip(self.weights, self.means, self.stds, strict=True) if row[0])

    def __repr__(self) -> str:
        if len(self.means) > 4:
            return f"NormalMixture({len(self.means)} components)"
        return f"NormalMixture(weights={self.weights}, means={self.means}, stds={self.stds})"

    def mean(self) -> float:
        """E X, in doubles."""
        view = self.components()
        return float(view.weights @ view.means)

    def std(self) -> float:
        """The standard deviation: the spread within components and the spread of their means."""
        view = self.components()
        centred = view.means - self.mean()
        return float(np.sqrt(view.weights @ (view.stds * view.stds + centred * centred)))


Belief = Normal | NormalMixture | Discrete


def components(law: Belief) -> Components:
    """The law as a mixture of normals; a `Discrete` law is one with all stds 0.

    >>> components(Normal(1, 2)).stds
    array([2.])
    """
    return law.components()


def _read(law: Normal | NormalMixture) -> Components | Discrete:
    """Components for a law with spread; the law with atoms it really is otherwise."""
    view = law.components()
    if any(view.exact_stds):
        return view
    return Discrete(list(view.exact_means), list(view.exact_weights))


def _listed(items: Iterable[object], name: str) -> list[object]:
    if not is_iterable(items):
        raise BadLaw(f"{name} must be a list of numbers, got {items!r}")
    return listed(items)


def _number(x: object, name: str) -> Real:
    """A finite number in plain form, or BadLaw."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Integral | float | Fraction | np.floating):
        raise BadLaw(f"a {name} must be a number, got {x!r}")
    if not isinstance(x, Integral | Fraction):
        x = float(x)
        if not math.isfinite(x):
            raise BadLaw(f"a {name} must be a finite number, got {x}")
        return x + 0.0  # + 0.0 turns -0.0 into 0.0
    exact = Fraction(int(x)) if isinstance(x, Integral) else x
    if abs(exact) > Fraction(np.finfo(np.float64).max.item()):
        raise BadLaw(f"a {name} is beyond the range of doubles; rescale the values")
    return _plain(exact)


def _spread(x: object) -> Real:
    std = _number(x, "standard deviation (std)")
    if std < 0:
        raise BadLaw(f"a standard deviation (std) must not be negative, got {std}")
    if std > 0 and float(std) < np.finfo(np.float64).tiny:
        raise BadLaw("a standard deviation (std) is positive but below the range of doubles; rescale, or say 0")
    return std


def _plain(exact: Fraction) -> Real:
    """The float that means this number, or the number itself where no float does."""
    nearest = float(exact)
    return nearest if as_fraction(nearest) == exact else exact
