"""Losses of normal and mixture beliefs against an oracle that shares nothing with the library.

The oracle guesses a set B from a dense scan of the log-ratio and then evaluates P(B) - e^epsilon Q(B) at 40 digits:
whatever B is, that is a lower bound of the true delta, so a claim below it is a false claim. The closed forms it uses
are themselves checked against quadrature of the convolution integral.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath.ctx_mp import MPContext
from scipy.special import log_ndtr, logsumexp

from fugu.laws.discrete import Discrete
from fugu.laws.normal import Normal, NormalMixture
from fugu.loss.continuous import hockey_stick, pure_epsilon
from fugu.loss.continuous_search import least_continuous
from fugu.loss.mixture_coupling import coupled_scale
from fugu.loss.theorem1 import FORMS, theorem1_scale

mp = MPContext()
mp.dps = 40
TIGHT = 2e-11


def rows(law):
    """(weight, mean, std) of every component."""
    if isinstance(law, Normal):
        return [(Fraction(1), law.mean, law.std)]
    if isinstance(law, Discrete):
        return [(w, x, 0) for w, x in zip(law.weights.tolist(), law.values.tolist(), strict=True) if w]
    return [r for r in zip(law.weights, law.means, law.stds, strict=True) if r[0]]


def mpf(x):
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(repr(float(x)))


def phi(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def mp_cdf(law, kind, scale, y):
    """P(X + N <= y) at 40 digits."""
    b, total = mpf(scale), mp.mpf(0)
    for w, m, s in rows(law):
        z, s = mpf(y) - mpf(m), mpf(s)
        if kind == "gaussian" or b == 0:
            s = mp.sqrt(s * s + b * b)
            part = phi(z / s) if s else mp.mpf(z >= 0)
        elif s == 0:
            part = mp.exp(z / b) / 2 if z <= 0 else 1 - mp.exp(-z / b) / 2
        else:
            a = mp.exp(s * s / 2 / b**2 + z / b) * phi(-z / s - s / b)
            c = mp.exp(s * s / 2 / b**2 - z / b) * phi(z / s - s / b)
            part = phi(z / s) + (a - c) / 2
        total += mpf(w) * part
    return total


def log_f(law, kind, b, y):
    """ln density in doubles, for the scan only."""
    terms = []
    for w, m, s in rows(law):
        z, s = y - float(m), float(s)
        if kind == "gaussian" or b == 0:
            s = math.hypot(s, b)
            term = -0.5 * (z / s) ** 2 - math.log(s * math.sqrt(2 * math.pi))
        elif s == 0:
            term = -np.abs(z) / b - math.log(2 * b)
        else:
            base = s * s / 2 / b / b - math.log(2 * b)
            term = base + np.logaddexp(z / b + log_ndtr(-z / s - s / b), -z / b + log_ndtr(z / s - s / b))
        terms.append(math.log(w) + term)
    return logsumexp(np.array(terms), axis=0)


def scan(p, q, kind, b):
    """A dense set of places: around every component at every length there is, and where two of them cross."""
    t = np.concatenate((np.linspace(0, 12, 97), np.geomspace(12.5, 60, 16)))
    parts, found = rows(p) + rows(q), []
    for _, m, s in parts:
        m, s = float(m), float(s)
        lengths = {s, b, math.hypot(s, b)} - {0.0}
        steps = [x * t for x in lengths] + ([s * s / b + s * np.linspace(-9, 9, 37)] if b else [])
        steps = np.concatenate(steps) if steps else np.zeros(1)
        found += [m + steps, m - steps]
    for _, m, s in rows(p):
        for _, n, r in rows(q):
            v, w = float(s) ** 2 + b * b * (kind == "gaussian"), float(r) ** 2 + b * b * (kind == "gaussian")
            if v != w:  # the extremum of the ratio of the two normals
                found.append(np.array([(float(m) * w - float(n) * v) / (w - v)]))
    return np.unique(np.concatenate(found))


def oracle(p, q, kind, b, eps):
    """A lower bound of sup_B P(B) - e^eps Q(B), one order, at 40 digits on the best B seen."""
    silent = b == 0
    whole, y = mp.mpf(0), scan(p, q, kind, b)
    e = mp.exp(mpf(eps))
    if silent and any(s == 0 for _, _, s in rows(p) + rows(q)):
        raise ValueError("atoms without noise are checked by hand")

    def excess(x):
        return log_f(p, kind, b, x) - log_f(q, kind, b, x) - eps

    r = excess(y)
    extra = []
    for k in np.flatnonzero((r[1:-1] >= r[:-2]) & (r[1:-1] >= r[2:]) & (r[1:-1] <= 0) & (r[1:-1] > -2)) + 1:
        left, right = y[k - 1], y[k + 1]
        for _ in range(8):  # a peak that is still below: look closer
            x = np.linspace(left, right, 17)
            top = int(np.argmax(excess(x)))
            left, right = x[max(0, top - 1)], x[min(16, top + 1)]
        extra.append(x[top])
    y = np.unique(np.concatenate((y, extra)))
    up = excess(y) > 0
    ends = []
    for k in np.flatnonzero(up[1:] != up[:-1]):
        left, right = y[k], y[k + 1]
        for _ in range(60):
            mid = 0.5 * (left + right)
            if (excess(np.array([mid]))[0] > 0) == up[k]:
                left = mid
            else:
                right = mid
        ends.append(right)
    marks = [None, *ends, None]
    for k in range(len(marks) - 1):
        if not up[0] ^ (k % 2 == 1):
            continue
        lo, hi = marks[k], marks[k + 1]
        for law, sign in ((p, 1), (q, -e)):
            top = mp.mpf(1) if hi is None else mp_cdf(law, kind, b, Fraction(float(hi)))
            low = mp.mpf(0) if lo is None else mp_cdf(law, kind, b, Fraction(float(lo)))
            whole += sign * (top - low)
    return max(whole, mp.mpf(0))


def both(p, q, kind, b, eps):
    return float(max(oracle(p, q, kind, b, eps), oracle(q, p, kind, b, eps)))


def decimal(x):
    return float(f"{x:.6g}")


def random_normals(rng):
    s = decimal(10 ** rng.uniform(-2, 1))
    t = s if rng.random() < 0.15 else decimal(s * 10 ** rng.uniform(-1.5, 1.5))
    p, q = Normal(0, s), Normal(decimal(rng.choice([0, 1]) * rng.normal() * 3 * max(s, t)), t)
    return p, q, decimal(max(s, t) * 10 ** rng.uniform(-1.5, 1)), decimal(10 ** rng.uniform(-1.5, 0.7))


def random_mixture(rng, kinds):
    k = int(rng.integers(1, 5))
    stds = [0.0 if rng.random() < kinds else decimal(10 ** rng.uniform(-2, 1)) for _ in range(k)]
    return NormalMixture(rng.integers(1, 20, k), [decimal(x) for x in rng.normal(0, 4, k)], stds)


def check_claim(p, q, kind, b, eps):
    claimed, true = hockey_stick(p, q, kind, b, eps), both(p, q, kind, b, eps)
    assert claimed >= true - 1e-15, (p, q, kind, b, eps, claimed, true)
    assert claimed <= true + TIGHT, (p, q, kind, b, eps, claimed, true)
    return claimed, true


def run_normals(seed, count):
    rng = np.random.default_rng(seed)
    for k in range(count):
        p, q, b, eps = random_normals(rng)
        kind = ("laplace", "laplace", "gaussian")[k % 3]
        check_claim(p, q, kind, 0.0 if k % 10 == 9 else b, eps)


def run_mixtures(seed, count):
    rng = np.random.default_rng(seed)
    for k in range(count):
        p, q = random_mixture(rng, 0.2), random_mixture(rng, 0.2)
        check_claim(p, q, ("laplace", "gaussian")[k % 2], decimal(10 ** rng.uniform(-1.5, 1.2)), decimal(rng.uniform(0, 2)))


def test_normals_are_never_below_the_oracle_and_tight():
    run_normals(1, 60)


def test_mixtures_are_never_below_the_oracle_and_tight():
    run_mixtures(2, 15)


@pytest.mark.slow
def test_many_normals_are_never_below_the_oracle_and_tight():
    run_normals(3, 2000)


@pytest.mark.slow
def test_many_mixtures_are_never_below_the_oracle_and_tight():
    run_mixtures(4, 500)
