"""What noisy iterations leak, from the definition alone: exact normal laws, mixtures, dense grids, exact programmes.

    W_t = phi_t(W_{t-1}) + N_t,   phi_t Lipschitz with constant c_t,   two laws of the maps, one for each secret

Nothing is shared with the library. `least` solves min sum a_t^2 / scale_t^2 in Fractions, `dual_value` proves from any
levels that no allocation costs less, and `attaining` turns the optimum into linear maps that really leak it: the bound
for two fixed sequences of maps is an equality, so a bound may be neither below nor visibly above these numbers.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, ndtr

# ---- the allocation problem: z_t = c_t z_{t-1} + s_t - a_t >= 0, z_T = 0 -------------------------------------------


def exactly(values):
    """The binary numbers themselves, as Fractions."""
    return [Fraction(float(v)) if isinstance(v, float | np.floating) else Fraction(int(v)) for v in values]


def least(shifts, scales, contraction):
    """(optimum, levels) in Fractions, level_t = a_t / scale_t^2; steps before the last c_t = 0 are forgotten.

    A block [i, j] with z = 0 around it and z > 0 inside has level_t = c_{t+1} level_{t+1}; neighbouring blocks join
    while level_{i-1} > c_i level_i. `dual_value` of the levels equals the cost: the certificate of optimality.
    """
    s, c = exactly(shifts), exactly(contraction)
    v = [x * x for x in exactly(scales)]
    start = max((t for t in range(len(s)) if c[t] == 0), default=0)
    blocks = []  # first step, last step, prod c inside, sum g s, sum g^2 v
    for t in range(start, len(s)):
        block = (t, t, Fraction(1), s[t], v[t])
        while blocks:
            i, j, inside, total, weight = blocks[-1]
            k, end, within, more, heavy = block
            if total / weight <= c[k] * within * more / heavy:
                break
            ratio = c[k] * within
            block = (i, end, inside * ratio, total * ratio + more, weight * ratio * ratio + heavy)
            blocks.pop()
        blocks.append(block)
    levels = [Fraction(0)] * len(s)
    for i, j, _, total, weight in blocks:
        level = total / weight
        for t in range(j, i - 1, -1):
            levels[t] = level
            level *= c[t]
    return sum((total * total / weight for *_, total, weight in blocks), Fraction(0)), levels


def dual_value(shifts, scales, contraction, levels):
    """A proved lower bound of every allocation's cost: 2 sum l_t s_t - sum l_t^2 scale_t^2 with l_t <= c_{t+1} l_{t+1}.

    a^2 / v >= 2 l a - l^2 v, summed over the steps; the terms in z_t have the factors c_{t+1} l_{t+1} - l_t >= 0.
    """
    s, c = exactly(shifts), exactly(contraction)
    v = [x * x for x in exactly(scales)]
    found = list(levels)
    for t in range(len(found) - 2, -1, -1):
        found[t] = max(Fraction(0), min(found[t], c[t + 1] * found[t + 1]))
    return sum((2 * x * y - x * x * w for x, y, w in zip(found, s, v, strict=True)), Fraction(0))


def paid(shifts, scales, contraction, allocation):
    """The cost of an allocation in Fractions; None if it leaves the set a >= 0, z >= 0, z_T <= 0."""
    z, cost = Fraction(0), Fraction(0)
    rows = zip(*map(exactly, (shifts, scales, contraction, allocation)), strict=True)
    for s, scale, c, a in rows:
        z = c * z + s - a
        cost += (a / scale) ** 2
        if a < 0:
            return None
        z = max(z, Fraction(0))  # allocating more than is there is allowed: the sequences may meet early
    return cost if z == 0 else None


def laplace_cost(z, scale, alpha, dimension=1):
    """sup over ||x||_2 = z of D_alpha between a Laplace vector and its shift by x: d h(z / (scale sqrt d))."""
    u, a, b = np.asarray(z, dtype=float) / (scale * math.sqrt(dimension)), alpha, alpha - 1
    series = a * b * u**2 * (1 / 2 - u / 6 + (a * a - a * b + b * b) * u**2 / 24 - (a * a + b * b) * u**3 / 120)
    near = (a * np.expm1(np.minimum(b * u, 700)) + b * np.expm1(-a * u)) / (a + b)
    far = b * u + math.log(a / (a + b))
    return dimension * np.where(b * u < 30, np.log1p(np.where(a * u < 1e-3, series, near)), far) / b


def least_laplace(shifts, scale, alpha, contraction, dimension=1):
    """The optimum of sum_t laplace_cost(a_t), by the same joining of blocks with each block's equation solved."""
    root, c = scale * math.sqrt(dimension), np.asarray(contraction, dtype=float)
    s = np.asarray(shifts, dtype=float)

    def slope(a):  # alpha (R - 1) / (alpha R + alpha - 1) with R = e^{(2 alpha - 1) u}: from 0 up to 1
        small = np.exp(-(2 * alpha - 1) * a / root)
        return alpha * -np.expm1(-(2 * alpha - 1) * a / root) / (alpha + (alpha - 1) * small)

    def inverse(g, x):  # slope(a) = level = g (1 - e^{-x}): e^{(2 alpha - 1) u} - 1 = (2 - 1/alpha) level / (1 - level)
        with np.errstate(divide="ignore"):
            left = np.logaddexp(np.log1p(-g), np.log(g) - x)
            level = np.log(g) + np.log(-np.expm1(-x))
        return root * np.logaddexp(0, math.log(2 - 1 / alpha) + level - left) / (2 * alpha - 1)

    def solve(i, j):
        g = np.cumprod(np.r_[1.0, c[i + 1 : j + 1][::-1]])[::-1]
        total = float(g @ s[i : j + 1])
        if total == 0:
            return np.zeros(j - i + 1)
        return inverse(
            g, brentq(lambda x: float(g @ inverse(g, x)) - total, 0, 1e6, xtol=1e-300, rtol=1e-15, maxiter=9999)
        )

    start = int(max(np.flatnonzero(c == 0), default=0))
    blocks = []
    for t in range(start, len(s)):
        block = (t, t)
        while blocks and slope(solve(*blocks[-1]))[-1] > c[block[0]] * slope(solve(*block))[0]:
            block = (blocks.pop()[0], t)
        blocks.append(block)
    a = np.concatenate([np.zeros(start), *(solve(*block) for block in blocks)])
    return float(laplace_cost(a, scale, alpha, dimension).sum()), a


def least_with_restart(shifts, scales, contraction, diameter):
    """min over tau: forget the steps up to tau, start from z_tau = diameter, so that s_{tau+1} grows by c diameter."""
    found = [least(shifts, scales, contraction)[0]]
    for tau in range(1, len(shifts)):
        s = exactly(shifts[tau:])
        s[0] += Fraction(float(contraction[tau])) * Fraction(float(diameter))
        found.append(_least_of(s, scales[tau:], contraction[tau:]))
    return min(found)


def _least_of(shifts, scales, contraction):
    """`least` for shifts that are Fractions already: scaled to whole numbers and back."""
    common = math.lcm(*(x.denominator for x in shifts))
    return least([int(x * common) for x in shifts], scales, contraction)[0] / common**2


def attaining(levels):
    """Factors c'_t = level_{t-1} / level_t <= c_t: linear maps with these leak the whole optimum."""
    pairs = itertools.pairwise(levels)
    return [Fraction(0), *(a / b if b else Fraction(0) for a, b in pairs)]


def linear_leak(shifts, scales, factors):
    """mu^2 of W_T = c'_T W_{T-1} + (0 or s_T) + N_T in R: two normal laws of one variance."""
    gap = variance = Fraction(0)
    for s, scale, c in zip(*map(exactly, (shifts, scales)), factors, strict=True):
        gap, variance = c * gap + s, c * c * variance + scale * scale
    return gap * gap / variance


# ---- divergences ----------------------------------------------------------------------------------------------------


def normal_delta(epsilon, mu):
    """sup_S N(mu, 1)(S) - e^epsilon N(0, 1)(S)."""
    if mu <= 0:
        return 0.0
    return float(np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def renyi_of(log_p, log_q, step, alpha):
    """D_alpha of two densities on a grid."""
    with np.errstate(invalid="ignore"):
        terms = np.where(log_p > -600, alpha * log_p + (1 - alpha) * log_q, -np.inf)
    return float(logsumexp(terms) + math.log(step)) / (alpha - 1)


def delta_of(log_p, log_q, step, epsilon):
    """The hockey stick of two densities on a grid: the positive part of the straight lines between the points."""
    f = np.exp(log_p) - np.exp(epsilon + log_q)
    up, down = np.maximum(f[:-1], f[1:]), np.minimum(f[:-1], f[1:])
    share = np.divide(up, up - down, out=np.zeros_like(up), where=(down < 0) & (up > 0))
    return float(np.where(down >= 0, up + down, up * share * (up > 0)).sum() * step / 2)


def worst_renyi(log_p, log_q, step, alpha):
    """Both orders."""
    return max(renyi_of(log_p, log_q, step, alpha), renyi_of(log_q, log_p, step, alpha))


def worst_delta(log_p, log_q, step, epsilon):
    """Both orders."""
    return max(delta_of(log_p, log_q, step, epsilon), delta_of(log_q, log_p, step, epsilon))


def normal_mixtures(laws, sd, reach=14.0, points=24):
    """Logarithms of the densities of sum p N(mean, sd^2) on one grid, and its step; laws = [(means, weights), ...]."""
    every = np.concatenate([np.asarray(means, dtype=float) for means, _ in laws])
    step = sd / points
    grid = np.arange(every.min() - reach * sd, every.max() + reach * sd + step, step)
    found = []
    for means, weights in laws:
        m, p = (np.asarray(x, dtype=float) for x in (means, weights))
        m, p = _joined(m[p > 0], p[p > 0])
        logs = -((grid[:, None] - m) ** 2) / (2 * sd * sd) + np.log(p / p.sum())
        found.append(logsumexp(logs, axis=1) - math.log(sd * math.sqrt(2 * math.pi)))
    return found, step


def mixture_delta(laws, sd, epsilon, points=24, reach=12.0):
    """At most the hockey stick of two mixtures, and close to it: exact chances of the cells of a grid, both orders."""
    every = np.concatenate([np.asarray(means, dtype=float) for means, _ in laws])
    edges = np.arange(every.min() - reach * sd, every.max() + reach * sd, sd / points)
    cells = []
    for means, weights in laws:
        m, p = _joined(*(np.asarray(x, dtype=float) for x in (means, weights)))
        cells.append(np.diff(ndtr((edges[:, None] - m) / sd), axis=0) @ (p / p.sum()))
    grow = math.exp(epsilon)
    return max(float(np.maximum(a - grow * b, 0).sum()) for a, b in (cells, cells[::-1]))


def _joined(means, weights):
    """Equal means joined: many paths end in the same place."""
    places, which = np.unique(np.round(means, 12), return_inverse=True)
    return places, np.bincount(which.ravel(), weights)


# ---- which record moves which step ----------------------------------------------------------------------------------


def batch_of(step, records, batch_size):
    """The records of a step: record j is in batch j // m, step t uses batch t mod ceil(n / m)."""
    count = -(-records // batch_size)
    batch = step % count
    return range(batch * batch_size, min((batch + 1) * batch_size, records))


def record_weights(steps, records, batch_size, rates, factors):
    """k with W_T = sum_j k_j g_j + noise for gradients -g_j, and the variance of the noise for unit noise.

    W_t = c'_t W_{t-1} + rate_t / m sum_{j in batch t} g_j + N_t.
    """
    k, variance = np.zeros(records), 0.0
    for t in range(steps):
        k, variance = factors[t] * k, factors[t] ** 2 * variance + 1
        for j in batch_of(t, records, batch_size):
            k[j] += rates[t] / batch_size
    return k, variance


# ---- chains ---------------------------------------------------------------------------------------------------------


def chain_paths(kernel, initial, length):
    """All sequences of a chain with their probabilities: (paths, probabilities)."""
    kernel, initial = np.asarray(kernel, dtype=float), np.asarray(initial, dtype=float)
    paths = np.array(list(itertools.product(range(len(initial)), repeat=length)))
    p = initial[paths[:, 0]]
    for t in range(1, length):
        p = p * kernel[paths[:, t - 1], paths[:, t]]
    return paths[p > 0], p[p > 0]


def secret_pairs(paths, probabilities):
    """For each position i and pair of values of X_i that occur: (i, rows and weights of one, of the other)."""
    for i in range(paths.shape[1]):
        for a, b in itertools.combinations(np.unique(paths[:, i]), 2):
            one, other = paths[:, i] == a, paths[:, i] == b
            yield i, (one, probabilities[one]), (other, probabilities[other])


# ---- dense grids on the line ----------------------------------------------------------------------------------------


class Line:
    """Densities on an even grid; `push` is one step W -> phi(Pi(W)) + N, with `after=True` the order Pi(phi(W)) + N."""

    def __init__(self, low, high, points, sd=None, laplace=None, interval=None):
        self.w = np.linspace(low, high, points)
        self.step = self.w[1] - self.w[0]
        self.sd, self.laplace, self.interval = sd, laplace, interval
        self._kernels = {}

    def density(self, at):
        """Density of `at` + N on the grid, a row for each entry of `at`; for Laplace means over cells, of mass 1."""
        away = self.w[None, :] - np.atleast_1d(at)[:, None]
        if self.laplace is not None:
            edges = np.concatenate((away - self.step / 2, away[:, -1:] + self.step / 2), axis=1) / self.laplace
            below = np.minimum(edges, -edges)  # log of twice the smaller tail
            tail = np.exp(below) / 2
            left, right = tail[:, :-1], tail[:, 1:]
            lower, upper = edges[:, 1:] <= 0, edges[:, :-1] >= 0
            return np.where(lower, right - left, np.where(upper, left - right, 1 - left - right)) / self.step
        return np.exp(-((away / self.sd) ** 2) / 2) / (self.sd * math.sqrt(2 * math.pi))

    def image(self, phi, w, after=False):
        """Where a step takes w before the noise."""
        if self.interval is None:
            return phi(w)
        return np.clip(phi(w), *self.interval) if after else phi(np.clip(w, *self.interval))

    def push(self, law, phi, after=False):
        """The next law."""
        if (phi, after) not in self._kernels:
            self._kernels[phi, after] = self.step * self.density(self.image(phi, self.w, after))
        return law @ self._kernels[phi, after]

    def run(self, start, maps, after=False):
        """The law after all maps, from a public starting point."""
        law = self.density(self.image(maps[0], np.array([start]), after))[0]
        for phi in maps[1:]:
            law = self.push(law, phi, after)
        return law

    def mixture(self, start, paths, weights, map_of, after=False):
        """The law when the maps are drawn: map_of(t, x) for a path x_0, x_1, ...; prefixes are shared."""
        total, weights = np.zeros_like(self.w), np.asarray(weights, dtype=float)
        known = {}

        def law(path):
            if path not in known:
                phi = map_of(len(path) - 1, path[-1])
                known[path] = self.run(start, [phi], after) if len(path) == 1 else self.push(law(path[:-1]), phi, after)
            return known[path]

        for path, p in zip(paths, weights / weights.sum(), strict=True):
            total += p * law(tuple(path))
        return total

    def logs(self, law):
        """log density, -inf where it underflows."""
        with np.errstate(divide="ignore"):
            return np.log(law)


def lipschitz_map(rng, c, reach, knots=7):
    """A random piecewise linear map with slopes in [-c, c]."""
    x = np.sort(rng.uniform(-reach, reach, knots))
    slopes = c * rng.choice([-1.0, 1.0, 1.0, 1.0, 0.0, rng.uniform(-1, 1)], knots - 1)
    y = rng.normal() * reach / 4 + np.r_[0.0, np.cumsum(slopes * np.diff(x))]
    return lambda w: np.interp(w, x, y)


def near_map(rng, phi, c, shift, reach):
    """Another map with the same constant, never further than `shift` from phi."""
    other = lipschitz_map(rng, c, reach)
    if rng.random() < 0.5:
        sign = rng.choice([-1.0, 1.0])
        return lambda w: phi(w) + sign * shift
    return lambda w: np.clip(other(w), phi(w) - shift, phi(w) + shift)
