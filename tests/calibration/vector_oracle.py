"""Losses of published vectors from the definition alone: rounded laws, lattice noise, every point of a large box.

Nothing here uses fugu: positions are read as decimals, rounded with exact fractions, and the noised laws are sums over
all atoms at all points. Sums over the box leave out the far tails, so divergences and deltas come out a little low."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

Law = dict[tuple[Fraction, ...], Fraction]


def rounded(law: Law, grid: Fraction, origin: Fraction = Fraction(0)) -> dict[tuple[int, ...], Fraction]:
    """Every coordinate to the nearest step, halves up; masses that meet are added."""
    found: dict[tuple[int, ...], Fraction] = {}
    for point, mass in law.items():
        place = tuple(math.floor((x - origin) / grid + Fraction(1, 2)) for x in point)
        found[place] = found.get(place, Fraction(0)) + mass
    return {k: m for k, m in found.items() if m}


def log_noise(kind: str, steps: np.ndarray, scale: float) -> np.ndarray:
    """The log of the unnormalised mass of one coordinate; `scale` in steps."""
    return -np.abs(steps) / scale if kind == "laplace" else -(steps.astype(float) ** 2) / (2 * scale**2)


def log_norm(kind: str, scale: float) -> float:
    """The log of the sum of that mass over the whole line."""
    far = math.ceil(60 * scale) + 10
    return float(np.log(np.exp(log_noise(kind, np.arange(-far, far + 1), scale)).sum()))


def noised(law: dict[tuple[int, ...], Fraction], axes: list[np.ndarray], kind: str, scale: float) -> np.ndarray:
    """The log probabilities at all points of the box that the axes span."""
    total = np.full([len(a) for a in axes], -np.inf)
    norm = log_norm(kind, scale)
    for point, mass in law.items():
        term = np.array(math.log(mass))
        for axis, x in zip(axes, point, strict=True):
            term = term[..., None] + (log_noise(kind, axis - x, scale) - norm)
        total = np.logaddexp(total, term)
    return total


def box(laws: list[dict[tuple[int, ...], Fraction]], margin: int) -> list[np.ndarray]:
    """All lattice points between the outermost atoms, and `margin` steps beyond."""
    points = np.array([p for law in laws for p in law], dtype=np.int64)
    return [np.arange(lo - margin, hi + margin + 1) for lo, hi in zip(points.min(0), points.max(0), strict=True)]


def pure(p: np.ndarray, q: np.ndarray) -> float:
    """max |log ratio|, both orders."""
    return float(np.max(np.abs(p - q)))


def renyi(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    """The larger D_alpha of the two orders, over the box."""
    found = []
    for x, y in ((p, q), (q, p)):
        terms = alpha * x + (1 - alpha) * y
        top = terms.max()
        found.append((top + math.log(np.exp(terms - top).sum())) / (alpha - 1))
    return max(found)


def delta(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The larger hockey stick of the two orders, over the box."""
    a, b = np.exp(p), np.exp(q)
    return max(float(np.maximum(x - math.exp(epsilon) * y, 0).sum()) for x, y in ((a, b), (b, a)))
