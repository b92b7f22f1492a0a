"""Rules of Chen and Ohrimenko 2023 that no release needs, corrected where they are printed wrong: several directions,
expected values with Laplace noise, laws within balls, and the length of spherical noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fugu.calibration.covariance.directions import (
    ROUNDING,
    Array,
    lengths,
    pairs_of,
    positive,
    positive_limit,
    refuse_beside,
    up,
)
from fugu.errors import UnknownName, UsageError


@dataclass(frozen=True)
class Subspace:
    """Noise basis @ z on the span of the columns of `basis`; z has `scale`, and mean squared length `error`."""

    basis: Array
    scale: float
    error: float


def expected_value_laplace(differences: ArrayLike, epsilon: float) -> float:
    """b = max |d|_1 / eps: independent Laplace noise of scale b gives the pure level eps (the same, Theorem 5.1).

    >>> round(expected_value_laplace([[1, -2], [0.5, 0.5]], 2), 12)
    1.5
    """
    D = pairs_of(differences)
    return float(np.abs(D).sum(axis=1).max(initial=0.0) / positive(epsilon, "epsilon")) * up(D.shape[1])


def several_directions(
    differences: ArrayLike,
    noise: Literal["laplace", "spherical", "gaussian"],
    t: float | None = None,
    epsilon: float | None = None,
    basis: ArrayLike | None = None,
) -> Subspace:
    """Noise on the span of all differences, with an orthonormal basis V (columns; their own span if none is given).

    laplace: independent, scale max |V'd|_1 / eps, error 2 k b^2. The printed scale max |d|_2 / eps has the pure level
    sqrt(k) eps. spherical: density ~ exp(-|z|_2 / b), b = max |d|_2 / eps, pure level eps by the triangle inequality,
    error k (k + 1) b^2. gaussian: deviation max |d|_2 / t, error k sigma^2."""
    D = pairs_of(differences)
    if noise not in ("laplace", "spherical", "gaussian"):
        raise UnknownName("noise", noise, ("laplace", "spherical", "gaussian"))
    if (noise == "gaussian") != (epsilon is None):
        raise UsageError("gaussian noise takes t = mu(epsilon, delta); laplace and spherical noise take epsilon")
    limit = positive_limit(t, epsilon)
    V = _span(D) if basis is None else np.asarray(basis, dtype=np.float64)
    k = V.shape[1] if V.ndim == 2 else 0
    if V.shape != (D.shape[1], k) or np.abs(V.T @ V - np.eye(k)).max(initial=0.0) > 1e-12:
        raise UsageError(f"basis must hold orthonormal columns of {D.shape[1]} numbers")
    Y = D @ V
    refuse_beside(lengths(D - Y @ V.T), lengths(D), "in the span of the basis", "add directions until they are")
    reach = np.abs(Y).sum(axis=1) if noise == "laplace" else lengths(Y)
    scale = float(reach.max(initial=0.0) / limit) * (
        1 + (4e-12 * k * k if basis is not None else ROUNDING * D.shape[1])
    )
    return Subspace(V, scale, {"laplace": 2 * k, "spherical": k * (k + 1), "gaussian": k}[noise] * scale**2)


def _span(D: Array) -> Array:
    """An orthonormal basis of the span of the rows."""
    _, s, rows = np.linalg.svd(D, full_matrices=False)
    return np.asarray(rows[s > s.max(initial=0.0) * ROUNDING].T)


def bounded(centres: ArrayLike, radii: ArrayLike, pairs: Iterable[tuple[int, int]], radius_norm: int = 1) -> float:
    """W = max |E_i - E_j| + c_i + c_j: the laws are (W, delta)-close if each P(|F - E_i| <= c_i) >= 1 - delta.

    Chen and Ohrimenko 2023, Proposition 4.1, asks for 1 - delta/2 and spends 2 max c; the coupling
    (1 - delta) P|ball x Q|ball has marginals below both laws, so 1 - delta is enough, with any centres. A Laplace
    scale W / eps (norm 1), or a deviation W / t (norm 2), then gives (eps, delta + the delta of the noise)."""
    E = pairs_of(centres)
    c = np.asarray(radii, dtype=np.float64)
    if c.shape != (len(E),) or not np.isfinite(c).all() or (c < 0).any():
        raise UsageError(f"radii must be {len(E)} finite numbers, none negative: one for each centre")
    if radius_norm not in (1, 2):
        raise UsageError("radius_norm must be 1 (Laplace noise) or 2 (Gaussian noise)")
    found = [float(np.linalg.norm(E[i] - E[j], radius_norm) + c[i] + c[j]) for i, j in pairs]
    return max(found, default=0.0) * up(E.shape[1])


def spherical_length(k: int, scale: float) -> float:
    """E |z| for the density ~ exp(-|z|_2 / b) in k dimensions: the radius is Gamma(k, b), with mean k b."""
    return k * scale
