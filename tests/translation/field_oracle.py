"""What releases about a Gaussian field say of one entry, from the definition: closed forms and quadrature."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

FAR = 9.0
"""Standard deviations beyond which nothing lies, to some 1e-18."""


def draw_field(rng, size):
    """A covariance with short decimals: from nearly independent to nearly equal entries, of any scale."""
    kind = rng.integers(3)
    if kind == 0:
        loads = rng.normal(size=(size, size + 1))
    elif kind == 1:  # nearly equal
        loads = np.c_[np.ones(size), rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-3, 0)]
    else:  # a sequence
        r = float(rng.uniform(-0.98, 0.98))
        return exact(np.array([[r ** abs(i - j) for j in range(size)] for i in range(size)]))
    cov = loads @ loads.T
    unit = np.sqrt(np.diag(cov))
    spread = np.exp(rng.normal(0, rng.choice([0.0, 0.5]), size))
    return exact(cov / np.outer(unit, unit) * np.outer(spread, spread) * 10.0 ** rng.uniform(-1, 1))


def exact(cov):
    """A nearby matrix of short decimals, a little more on the diagonal so that it stays a covariance."""
    rows = [[Fraction(round(float(x) * 10**6), 10**6) for x in row] for row in cov]
    for i, row in enumerate(rows):
        for j in range(i):
            row[j] = rows[j][i]
        row[i] += Fraction(len(rows), 10**5)
    return rows


def linear(cov, sigma, i, width):
    """D_alpha / alpha of sum(x) + N(0, sigma^2) given x_i = u and v, width apart, exactly: nothing is clipped."""
    s = np.array([[float(x) for x in row] for row in cov])
    shift = width * s[i].sum() / s[i, i]
    var = s.sum() - s[i].sum() ** 2 / s[i, i]
    return shift**2 / (2 * (max(var, 0.0) + sigma**2))


def needed_range(cov, width):
    """High - low of bounds around the mean that clip nothing when one entry is width / 2 from its mean."""
    s = np.array([[float(x) for x in row] for row in cov])
    slopes = np.abs(s / np.diag(s)[:, None]).max()
    return 2 * (max(1.0, slopes) * width / 2 + FAR * math.sqrt(np.diag(s).max()))


def _others(cov, i, u, points):
    """Points and masses of the other entries given x_i = u, the mean of the field being 0: a product grid."""
    s = np.array([[float(x) for x in row] for row in cov])
    rest = [j for j in range(len(s)) if j != i]
    mean = s[rest, i] / s[i, i] * u
    left = s[np.ix_(rest, rest)] - np.outer(s[rest, i], s[rest, i]) / s[i, i]
    root = np.linalg.cholesky(left + 1e-15 * np.eye(len(rest)))
    grid = np.linspace(-7.5, 7.5, points)
    axes = np.meshgrid(*[grid] * len(rest), indexing="ij")
    z = np.stack([a.ravel() for a in axes])
    mass = np.exp(-(z**2).sum(axis=0) / 2)
    return mean[:, None] + root @ z, mass / mass.sum()


def clipped(cov, i, u, bounds, points):
    """Values and masses of the sum of clipped entries given x_i = u, on a grid."""
    y, mass = _others(cov, i, u, points)
    total = np.clip(u, *bounds) + np.clip(y, *bounds).sum(axis=0)
    return total, mass


def binned(total, mass, centres, step):
    """The masses on whole steps: rounding is part of the query, and one function for both secrets."""
    found = np.zeros(len(centres))
    np.add.at(found, np.clip(np.rint((total - centres[0]) / step).astype(int), 0, len(centres) - 1), mass)
    return found


def outputs(cov, i, u, v, bounds, noise, points=121, cells=160):
    """The laws of the noised rounded sum given u and v on one lattice, where the noise reaches from every sum.

    `noise` gives its masses on whole steps, a range of sums being so many steps long."""
    low, high = (len(cov) * b for b in bounds)
    step = (bounds[1] - bounds[0]) / (cells // len(cov))
    centres = low + step * np.arange(math.ceil((high - low) / step) + 1)
    masses = noise(step, len(centres))
    laws = [binned(*clipped(cov, i, x, bounds, points), centres, step) for x in (u, v)]
    return [np.convolve(law, masses, mode="valid") for law in laws]


def divergence(p, q, alpha):
    """D_alpha of two laws on one lattice, the larger of both orders."""
    keep = (p > 1e-290) & (q > 1e-290)
    p, q = np.log(p[keep]), np.log(q[keep])
    both = [alpha * a + (1 - alpha) * b for a, b in ((p, q), (q, p))]
    return max(x.max() + math.log(np.exp(x - x.max()).sum()) for x in both) / (alpha - 1)


def hockey(p, q, epsilon):
    """The least delta at epsilon, the larger of both orders."""
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))


def gaussian_steps(sigma):
    """Lattice Gaussian noise of deviation sigma, as a function of the step."""

    def masses(step, reach):
        most = math.ceil(12 * sigma / step) + 7 * reach
        k = np.arange(-most, most + 1)
        found = np.exp(-((k * step) ** 2) / (2 * sigma**2))
        return found / found.sum()

    return masses


def laplace_steps(scale):
    """Lattice Laplace noise, as a function of the step."""

    def masses(step, reach):
        most = math.ceil(40 * scale / step) + 2 * reach
        k = np.arange(-most, most + 1)
        found = np.exp(-np.abs(k * step) / scale)
        return found / found.sum()

    return masses
