"""Fitting bell-shaped beliefs to reference values: one normal, a mixture, or one background model adapted by secret.

A fitted law is a belief like any other: the guarantee is for it, not for the data it was fitted on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import BadLaw, MissingExtra, UsageError
from fugu.numbers.checks import is_count

Mixture = tuple[list[int], list[float], list[float]]
"""Weights as whole parts, means, standard deviations."""

_DIGITS = 12
_LARGEST_CHOICE = 6
_RELEVANCE = 16.0
"""How many observations a background mean is worth when it is adapted (Reynolds, Quatieri, Dunn 2000)."""


def normal(values: ArrayLike) -> tuple[float, float]:
    """The mean and the standard deviation (n - 1) of the values.

    >>> normal([1, 2, 3])
    (2.0, 1.0)
    """
    column = _column(values, least=2)
    return _short(column.mean()), _short(column.std(ddof=1))


def mixture(values: ArrayLike, components: int | str = 3) -> Mixture:
    """A Gaussian mixture by expectation maximisation (scikit-learn); components="bic" chooses 1 to 6 of them.

    BIC = -2 ln likelihood + parameters ln n; the least one wins (Schwarz 1978). No component is narrower than the
    resolution of the values allows (`least_std`)."""
    column = _column(values, least=2)
    counts = _counts(components, len(column))
    models = [_model(column, count) for count in counts]
    best = min(models, key=lambda model: float(model.bic(column[:, None])))
    return _mixture(best.weights_, best.means_[:, 0], np.sqrt(best.covariances_[:, 0, 0]))


def shared(groups: Mapping[str, ArrayLike], components: int | str = 3) -> dict[str, Mixture]:
    """One background mixture for all secrets, its means adapted to each: common weights and spreads (GMM-UBM).

    mean_k(s) = (n_k m_k(s) + r m_k) / (n_k + r), with n_k, m_k(s) the expected count and mean of component k among the
    values of secret s, and r = 16 (Reynolds, Quatieri, Dunn 2000): the setting of Ding 2024, Corollary 2."""
    columns = {name: _column(values, least=1) for name, values in groups.items()}
    if len(columns) < 2:
        raise UsageError("a shared model needs at least two groups of values")
    pooled = np.concatenate(list(columns.values()))
    models = [_model(pooled, count) for count in _counts(components, len(pooled))]
    best = min(models, key=lambda model: float(model.bic(pooled[:, None])))
    spreads = np.sqrt(best.covariances_[:, 0, 0])
    adapted = {}
    for name, column in columns.items():
        share = best.predict_proba(column[:, None])
        count = share.sum(axis=0)
        means = (share.T @ column + _RELEVANCE * best.means_[:, 0]) / (count + _RELEVANCE)
        adapted[name] = _mixture(best.weights_, means, spreads)
    return adapted


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


def _mixture(weights: NDArray[Any], means: NDArray[Any], stds: NDArray[Any]) -> Mixture:
    """Weights as whole parts of 10^12, so that they sum to one exactly; means and spreads to 12 digits."""
    parts = np.maximum(1, np.rint(weights * 10**_DIGITS)).astype(np.int64)
    return parts.tolist(), [_short(m) for m in means], [_short(s) for s in stds]


def _counts(components: int | str, size: int) -> list[int]:
    if components == "bic":
        return list(range(1, min(_LARGEST_CHOICE, size) + 1))
    if not is_count(components):
        raise UsageError(f"components must be a whole number of at least 1, or 'bic', got {components!r}")
    if components > size:
        raise BadLaw(f"{components} components cannot be fitted to {size} values; use fewer")
    return [components]


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
