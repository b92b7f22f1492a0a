"""Beliefs that are fitted to the values behind empirical laws: normal laws, mixtures, a shared mixture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, BadTable
from fugu.laws import Discrete, Law, Normal, NormalMixture

Columns = dict[str, NDArray[np.float64]]


def fitted_laws(
    laws: dict[str, Discrete], prior: str, publish: str, components: int | Literal["bic"] | None = None
) -> Mapping[str, Law]:
    """The empirical laws, or what `prior` makes of the values behind them."""
    if prior not in _FITS:
        return laws
    columns = {secret: np.repeat(law.values, law.masses.parts) for secret, law in laws.items()}
    try:
        return _FITS[prior](columns, components)
    except BadLaw as error:
        raise BadTable(f"column {publish!r} cannot be fitted for every secret: {error}") from None


def _gaussian(columns: Columns, components: int | Literal["bic"] | None) -> Mapping[str, Law]:  # noqa: ARG001
    return {secret: Normal.fit(column) for secret, column in columns.items()}


def _mixture(columns: Columns, components: int | Literal["bic"] | None) -> Mapping[str, Law]:
    wanted: int | Literal["bic"] = "bic" if components is None else components
    return {secret: NormalMixture.fit(column, wanted) for secret, column in columns.items()}


def _shared(columns: Columns, components: int | Literal["bic"] | None) -> Mapping[str, Law]:
    return NormalMixture.fit_shared(columns, 3 if components is None else components)


_FITS: dict[str, Callable[[Columns, int | Literal["bic"] | None], Mapping[str, Law]]] = {
    "gaussian": _gaussian,
    "mixture": _mixture,
    "shared": _shared,
}
