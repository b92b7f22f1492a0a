"""Oracles for noise on normal laws of vectors, from closed forms, grids and samples; and forgers of certificates."""

from __future__ import annotations

import copy
import math
from fractions import Fraction

import mpmath as mp
import numpy as np

from fugu import LawPair, Renyi
from fugu.documents.certificate import Certificate
from fugu.laws.multinormal import MultivariateNormal

PAPER = [[22, -6], [-6, 13]]


def normal(mean, cov):
    return MultivariateNormal(list(mean), [list(row) for row in cov])


def shift(difference, cov=PAPER, label="shift"):
    return LawPair(normal(difference, cov), normal([0] * len(difference), cov), label)


def exact_covariance(mechanism):
    return [list(row) for row in mechanism.noise.covariance()]


def added(cov, extra):
    return [[a + b for a, b in zip(r, s, strict=True)] for r, s in zip(cov, extra, strict=True)]


def rational_delta(pair, extra, epsilon):
    """delta of translates: Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m), m^2 = d' V^-1 d; exact rationals, then 50 digits."""
    V = [row[:] for row in added(pair.p.cov, extra)]
    d = [a - b for a, b in zip(pair.p.mean, pair.q.mean, strict=True)]
    n, y = len(d), list(d)
    for k in range(n):
        for i in range(k + 1, n):
            f = V[i][k] / V[k][k]
            V[i] = [a - f * b for a, b in zip(V[i], V[k], strict=True)]
            y[i] -= f * y[k]
    square = sum((y[k] ** 2 / V[k][k] for k in range(n)), Fraction(0))
    with mp.workdps(50):
        m = mp.sqrt(mp.mpf(square.numerator) / square.denominator)
        e = mp.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        if m == 0:
            return 0.0
        return float(mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m))


def arrays(pair, extra, turned):
    p, q = (pair.q, pair.p) if turned else (pair.p, pair.q)
    laws = [
        (
            np.array([float(x) for x in law.mean]),
            np.array([[float(x) for x in row] for row in added(law.cov, extra)]),
        )
        for law in (p, q)
    ]
    return (*laws[0], *laws[1])


def log_ratio(x, p_mean, p_cov, q_mean, q_cov):
    """ln p / q at the rows of x."""
    total = np.full(len(x), -0.5 * (np.linalg.slogdet(p_cov)[1] - np.linalg.slogdet(q_cov)[1]))
    for sign, mean, cov in ((-0.5, p_mean, p_cov), (0.5, q_mean, q_cov)):
        y = np.linalg.solve(np.linalg.cholesky(cov), (x - mean).T)
        total += sign * (y * y).sum(axis=0)
    return total


def plane_delta(pair, extra, epsilon, reach=9.0, step=0.02):
    """delta of two laws in the plane by a midpoint sum in coordinates where P is standard; good to 1e-4 of itself."""
    worst = 0.0
    axis = np.arange(-reach, reach, step) + step / 2
    z = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = np.exp(-0.5 * (z * z).sum(axis=1)) * step**2 / (2 * math.pi)
    for turned in (False, True):
        p_mean, p_cov, q_mean, q_cov = arrays(pair, extra, turned)
        x = p_mean + z @ np.linalg.cholesky(p_cov).T
        ratio = log_ratio(x, p_mean, p_cov, q_mean, q_cov)
        worst = max(worst, float((weight * -np.expm1(np.minimum(epsilon - ratio, 0))).sum()))
    return worst


def sampled_delta(pair, extra, epsilon, n=200_000, seed=1):
    """A lower bound on delta = E_P (1 - e^{epsilon - L})_+ that fails once in 10^6 (normal error of a mean), and the
    mean itself."""
    rng = np.random.default_rng(seed)
    low = mid = 0.0
    for turned in (False, True):
        p_mean, p_cov, q_mean, q_cov = arrays(pair, extra, turned)
        x = p_mean + rng.normal(size=(n, len(p_mean))) @ np.linalg.cholesky(p_cov).T
        loss = -np.expm1(np.minimum(epsilon - log_ratio(x, p_mean, p_cov, q_mean, q_cov), 0))
        mean, error = float(loss.mean()), float(loss.std()) / math.sqrt(n)
        low, mid = max(low, mean - 4.9 * error), max(mid, mean)
    return low, mid


def divergence(pair, extra, alpha):
    """D_alpha of both orders from its closed form (Gil, Alajaji and Linder 2013), in 40 digits."""
    worst = mp.mpf(0)
    with mp.workdps(40):
        a = mp.mpf(alpha)
        for p, q in ((pair.p, pair.q), (pair.q, pair.p)):
            A, B = (
                mp.matrix([[mp.mpf(x.numerator) / x.denominator for x in row] for row in added(law.cov, extra)])
                for law in (p, q)
            )
            d = mp.matrix(
                [mp.mpf((x - y).numerator) / (x - y).denominator for x, y in zip(p.mean, q.mean, strict=True)]
            )
            W = a * B + (1 - a) * A
            if min(mp.eigsy(W, eigvals_only=True)) <= 0:
                return math.inf
            logs = mp.log(mp.det(W)) - (1 - a) * mp.log(mp.det(A)) - a * mp.log(mp.det(B))
            worst = max(worst, a / 2 * (d.T * mp.inverse(W) * d)[0] - logs / (2 * (a - 1)))
    return float(worst)


def loss_over_budget(mechanism, pairs, share=1):
    """The worst of the true losses divided by the budget, for the noise times sqrt(share); above 1: a false promise.
    Sampled losses count with their lower bounds."""
    extra = [[x * Fraction(share) for x in row] for row in exact_covariance(mechanism)]
    budget, worst = mechanism.guarantee, 0.0
    for pair in pairs:
        if isinstance(budget, Renyi):
            found = divergence(pair, extra, budget.alpha) / float(budget.epsilon)
        elif pair.p.cov == pair.q.cov:
            found = rational_delta(pair, extra, budget.epsilon) / float(budget.delta)
        elif pair.p.dimension == 2:
            found = plane_delta(pair, extra, float(budget.epsilon)) / float(budget.delta) / 1.0003
        else:
            found = sampled_delta(pair, extra, float(budget.epsilon))[0] / float(budget.delta)
        worst = max(worst, found)
    return worst


def resealed(mechanism, change, laws=None):
    """The certificate with changes, sealed as a forger would."""
    body = {
        k: copy.deepcopy(v)
        for k, v in mechanism.certificate.body.items()
        if k not in ("schema", "fugu", "families", "fingerprint", "digest")
    }
    change(body)
    return Certificate.seal(body, mechanism.certificate.laws if laws is None else laws)


def scaled(mechanism, share):
    """The same with all noise variances times `share`."""

    def change(body):
        root = Fraction(math.sqrt(share)).limit_denominator(10**6)
        noise = body["noise"]
        noise["base"] = str(Fraction(noise["base"]) * root)
        noise["scales"] = [str(Fraction(x) * root) for x in noise["scales"]]

    return resealed(mechanism, change)


def random_pairs(rng, d, count, equal, size=6.0):
    made = []
    A = rng.normal(size=(d, d))
    base = np.round(A @ A.T + 0.5 * np.eye(d), 6)
    for k in range(count):
        other = base
        if not equal:
            B = rng.normal(size=(d, d)) * 0.4
            other = np.round(base + B @ B.T, 6)
        mean = np.round(rng.normal(size=d) * size, 6)
        made.append(LawPair(normal(mean, (base + base.T) / 2), normal(np.zeros(d), (other + other.T) / 2), f"pair {k}"))
    return made
