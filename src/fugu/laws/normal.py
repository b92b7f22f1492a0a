"""Beliefs with a bell shape, held exactly: `Normal`, `NormalMixture`, pairs of them, and fits to reference values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import BadLaw, CertificateError, MissingExtra, UsageError
from fugu.laws.components import Components, Described, Digest, OnePair, spread
from fugu.laws.discrete import Discrete
from fugu.laws.masses import masses
from fugu.noise.lattice import Lattice
from fugu.numbers.checks import is_count, is_iterable, listed
from fugu.numbers.exact import Real, as_fraction, read_number


@final
@dataclass(frozen=True)
class Normal(Described):
    """The normal law on the line: X ~ N(mean, std^2); `std` is the standard deviation, never the variance, and std 0 is
    the point mass.

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
        """The normal law with the mean and standard deviation (n - 1) of reference `values`, an array of finite
        numbers.

        >>> Normal.fit([1, 2, 3])
        Normal(mean=2.0, std=1.0)
        """
        column = _column(values, least=2)
        return Normal(_short(column.mean()), _short(column.std(ddof=1)))

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
    """A mixture of normal laws on the line: X ~ N(means[k], stds[k]^2) with probability weights[k]; a std of 0 puts an
    atom at that mean.

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
        """A mixture fitted to reference `values` by expectation maximisation (scikit-learn, extra `fit`).

        `components`: how many, a whole number of at least 1; "bic" chooses 1 to 6 by the Bayesian information
        criterion -2 ln likelihood + parameters ln n, of which the least wins (Schwarz 1978). No component is narrower
        than the resolution of the values allows. Raises `BadLaw` where there are too few values, `MissingExtra`
        without scikit-learn."""
        model = _fitted(_column(values, least=2), components)
        return _mixture(model.weights_, model.means_[:, 0], np.sqrt(model.covariances_[:, 0, 0]))

    @staticmethod
    def fit_shared(groups: Mapping[str, ArrayLike], components: int | Literal["bic"] = 3) -> dict[str, NormalMixture]:
        """One background mixture with means adapted to each group of reference values: common weights and spreads
        (GMM-UBM; extra `fit`).

        mean_k(s) = (n_k m_k(s) + r m_k) / (n_k + r), with n_k, m_k(s) the expected count and mean of component k among
        the values of secret s, and r = 16 (Reynolds, Quatieri, Dunn 2000): the setting of Ding 2024, Corollary 2.

        `groups`: {secret: values}; `components` as in `fit`. Returns {secret: law}."""
        columns = {name: _column(values, least=1) for name, values in groups.items()}
        if len(columns) < 2:
            raise UsageError("a shared model needs at least two groups of values")
        model = _fitted(np.concatenate(list(columns.values())), components)
        laws, spreads = {}, np.sqrt(model.covariances_[:, 0, 0])
        for name, column in columns.items():
            share = model.predict_proba(column[:, None])
            means = (share.T @ column + _RELEVANCE * model.means_[:, 0]) / (share.sum(axis=0) + _RELEVANCE)
            laws[name] = _mixture(model.weights_, means, spreads)
        return laws

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


@dataclass(frozen=True, eq=False)
class Analytic(OnePair):
    """A pair of laws of a real number; on a lattice once `lattice` is set."""

    p: Components
    q: Components
    label: str
    lattice: Lattice | None = None
    shape: ClassVar[str] = "smooth"
    dimension: ClassVar[int] = 1

    def on(self, lattice: Lattice) -> Analytic:
        """The same laws, rounded onto a lattice."""
        return Analytic(self.p, self.q, self.label, lattice)

    def spread(self) -> float:
        """The standard deviation of the published value under both laws together; 1 where it has none."""
        p, q = self.p, self.q
        weights, means = np.concatenate((p.weights, q.weights)), np.concatenate((p.means, q.means))
        return spread(weights / 2, means, np.concatenate((p.stds, q.stds))) or 1.0

    def to_json(self) -> dict[str, Any]:
        """The components of both laws, exactly."""
        names = ("weights", "means", "stds")
        laws = ({name: [str(x) for x in row] for name, row in zip(names, law, strict=True)} for law in self.exact)
        return {"kind": "analytic", "label": self.label, **dict(zip("pq", laws, strict=True))}

    @staticmethod
    def from_json(found: dict[str, Any], lattice: Lattice | None) -> Analytic:
        """What `to_json` wrote; `NormalMixture` refuses weights that do not sum to one and negative spreads."""
        if lattice is None:
            raise CertificateError("laws without atoms need a lattice")
        rows = [[[read_number(x) for x in found[k][name]] for name in ("weights", "means", "stds")] for k in "pq"]
        p, q = (NormalMixture(*row).components() for row in rows)
        return Analytic(p, q, str(found["label"]), lattice)

    def narrower(self) -> float:
        """The standard deviation of the narrower of the two laws that have one."""
        return min(s for law in (self.p, self.q) if (s := spread(law.weights, law.means, law.stds)) > 0)

    def mark(self, digest: Digest) -> None:
        """Add what is stated to a digest."""
        for law in (self.p, self.q):
            digest.update(repr(law.exact).encode())

    def differs(self, number: int, other: Any, its: int, comparable: bool) -> bool:  # noqa: ARG002
        """Whether this law of the pair is surely not that one of another."""
        return bool(other.shape == self.shape and self.exact[number] != other.exact[its])

    def shift(self) -> Fraction | None:
        """If the two laws are translates of one normal law: by how much, in steps of the lattice if there is one."""
        if len(self.p.exact_stds) != 1 or self.p.exact_stds != self.q.exact_stds:
            return None
        return (self.q.exact_means[0] - self.p.exact_means[0]) / (self.lattice.grid if self.lattice else 1)

    @property
    def exact(self) -> tuple[tuple[tuple[Fraction, ...], ...], ...]:
        """The weights, means and standard deviations of both laws."""
        return self.p.exact, self.q.exact

    @property
    def same(self) -> bool:
        """Whether the two laws are given by the same components."""
        return self.p.exact == self.q.exact


# Fitting bell-shaped beliefs to reference values: one normal, a mixture, or one background model adapted by secret.
#
# A fitted law is a belief like any other: the guarantee is for it, not for the data it was fitted on.


_DIGITS = 12
_LARGEST_CHOICE = 6
_RELEVANCE = 16.0
"""How many observations a background mean is worth when it is adapted (Reynolds, Quatieri, Dunn 2000)."""


def _fitted(column: NDArray[np.float64], components: int | str) -> Any:
    """The model of the values with the least information criterion among the numbers of components that may be."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not float(column.var()) < math.inf:
            raise BadLaw("the values are so large that their variance is not a number; publish them in a larger unit")
    if components == "bic":
        counts = list(range(1, min(_LARGEST_CHOICE, len(column)) + 1))
    elif not is_count(components):
        raise UsageError(f"components must be a whole number of at least 1, or 'bic', got {components!r}")
    elif components > len(column):
        raise BadLaw(f"{components} components cannot be fitted to {len(column)} values; use fewer")
    else:
        counts = [components]
    return min((_model(column, count) for count in counts), key=lambda model: float(model.bic(column[:, None])))


def _model(column: NDArray[np.float64], components: int) -> Any:
    try:
        from sklearn.mixture import GaussianMixture
    except ImportError:
        raise MissingExtra("fitting a mixture needs scikit-learn; install fugu-privacy[fit]") from None

    def fitted(extra: float) -> Any:
        with warnings.catch_warnings():  # they tell how many different values there are
            warnings.simplefilter("ignore")
            return GaussianMixture(components, random_state=0, n_init=1, reg_covar=extra).fit(column[:, None])

    least, slight = least_std(column) ** 2, 1e-6 * float(column.var() or 1.0)
    model = fitted(slight)
    if float(model.covariances_.min()) >= least:
        return model
    # again with that much added to every variance, so that no component closes in on one value; then taken off again
    model = fitted(least)
    model.covariances_ = np.maximum(model.covariances_ - least, least)
    model.precisions_cholesky_ = 1 / np.sqrt(model.covariances_)
    return model


def least_std(column: NDArray[np.float64]) -> float:
    """The least standard deviation that values of this resolution can tell from 0: resolution / sqrt(12).

    The resolution is the least distance of two different values, and a value rounded to it says as much as a uniform
    law of that width, whose standard deviation this is. A likelihood knows no such limit: it grows for ever as a
    component closes in on a value that occurs twice. Never above the standard deviation of the values themselves.

    >>> round(least_std(np.array([1.0, 2.0, 2.0, 9.0])), 6)
    0.288675
    """
    values = np.unique(column)
    if values.size < 2:
        return 0.0
    return min(float(np.diff(values).min()) / math.sqrt(12), float(column.std()))


def _mixture(weights: NDArray[Any], means: NDArray[Any], stds: NDArray[Any]) -> NormalMixture:
    """Weights as whole parts of 10^12, so that they sum to one exactly; means and spreads to 12 digits."""
    parts = np.maximum(1, np.rint(weights * 10**_DIGITS)).astype(np.int64)
    return NormalMixture(parts.tolist(), [_short(m) for m in means], [_short(s) for s in stds])


def _column(values: ArrayLike, least: int) -> NDArray[np.float64]:
    column = np.asarray(values, dtype=np.float64).ravel()
    if column.size < least:
        raise BadLaw(f"at least {least} values are needed to fit a law, got {column.size}")
    if not np.all(np.isfinite(column)):
        raise BadLaw("values to fit must be finite numbers, found NaN or infinity")
    return column


def _short(x: Any) -> float:
    """Twelve significant digits: a decimal that means itself."""
    return float(f"{float(x):.{_DIGITS}g}")
