"""Positive parts between two neighbouring atoms: of a e^{-t} + c e^{-(g - t)}, integrated or summed over a lattice.

With a the decayed sum at the left atom and c the one at the right atom, the difference of the two noised laws inside
the gap is proportional to this; it changes sign at most once
(docs/proofs/laplace.md#5-delta-of-continuous-noise, docs/proofs/laplace.md#6-delta-of-lattice-noise)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def continuous_gaps(a: NDArray[np.float64], c: NDArray[np.float64], g: NDArray[np.float64]) -> float:
    """sum over gaps of int_0^g [a e^{-t} + c e^{-(g-t)}]_+ dt, gap lengths in units of the scale."""
    both = (a >= 0) & (c >= 0)
    total = float(np.sum((a[both] + c[both]) * -np.expm1(-g[both])))
    a, c, g = _mixed(a, c, g)
    if a.size == 0:
        return total
    t = np.clip(0.5 * (g + np.log(a) - np.log(-c)), 0, g)
    return total + float(np.sum(np.maximum(0, a * -np.expm1(-t) + c * np.exp(-(g - t)) * -np.expm1(-t))))


def lattice_gaps(a: NDArray[np.float64], c: NDArray[np.float64], steps: NDArray[Any], rate: float) -> float:
    """sum over gaps of sum_{t=1}^{G-1} [a q^t + c q^{G-t}]_+ with q = e^{-rate}; geometric sums up to the sign
    change."""
    inner = steps > 1
    a, c, big = a[inner], c[inner], steps[inner].astype(np.float64)
    ratio = tail_sum(rate)
    both = (a >= 0) & (c >= 0)
    total = float(np.sum((a[both] + c[both]) * -np.expm1(-rate * (big[both] - 1)))) * ratio
    a, c, big = _mixed(a, c, big)
    if a.size == 0:
        return total
    last = np.clip(np.ceil(0.5 * (big + (np.log(a) - np.log(-c)) / rate)) - 1, 0, big - 1)
    shrunk = -np.expm1(-rate * last)
    part = a * shrunk + c * np.exp(-rate * (big - last - 1)) * shrunk
    return total + float(np.sum(np.maximum(0, part))) * ratio


def tail_sum(rate: float) -> float:
    """q + q^2 + ... = q / (1 - q) for q = e^{-rate}; times 1 - q^T it is q + ... + q^T."""
    return float(np.exp(-rate) / -np.expm1(-rate))


def _mixed(
    a: NDArray[np.float64], c: NDArray[np.float64], g: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The gaps with one sign change, mirrored where needed so that a > 0 > c."""
    falls, rises = (a > 0) & (c < 0), (a < 0) & (c > 0)
    return (
        np.concatenate((a[falls], c[rises])),
        np.concatenate((c[falls], a[rises])),
        np.concatenate((g[falls], g[rises])),
    )
