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
from scipy.special import log_ndtr

from fugu.laws.discrete import Discrete
from fugu.laws.normal import Normal, NormalMixture
from fugu.loss.search.couplings import FORMS, coupled_scale, theorem1_scale
from fugu.loss.smooth import hockey_stick, pure_epsilon
from fugu_papers.ding_exact import least_continuous
from hunting import search

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
    for w, m, std in rows(law):
        z, s = mpf(y) - mpf(m), mpf(std)
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
    for w, m, std in rows(law):
        z, s = y - float(m), float(std)
        if kind == "gaussian" or b < 1e-5 * s or b == 0:  # far less noise than spread: nearly normal
            s = math.hypot(s, b)
            term = -0.5 * (z / s) ** 2 - math.log(s * math.sqrt(2 * math.pi))
        elif s == 0:
            term = -np.abs(z) / b - math.log(2 * b)
        else:
            base = s * s / 2 / b / b - math.log(2 * b)
            term = base + np.logaddexp(z / b + log_ndtr(-z / s - s / b), -z / b + log_ndtr(z / s - s / b))
        terms.append(math.log(w) + term)
    terms = np.array(terms)
    top = terms.max(axis=0)
    return top + np.log(np.exp(terms - top).sum(axis=0))


def scan(p, q, kind, b):
    """A dense set of places: around every component at every length there is, and where two of them cross."""
    t = np.concatenate((np.linspace(0, 12, 97), np.geomspace(12.5, 60, 16)))
    parts, found = rows(p) + rows(q), []
    for m, s in [(float(m), float(s)) for _, m, s in parts]:
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
    whole, y = mp.mpf(0), scan(p, q, kind, b)
    e = mp.exp(mpf(eps))

    def excess(x):
        return log_f(p, kind, b, x) - log_f(q, kind, b, x) - eps

    r = excess(y)
    peaks = np.flatnonzero((r[1:-1] >= r[:-2]) & (r[1:-1] > r[2:]) & (r[1:-1] <= 0) & (r[1:-1] > -2)) + 1
    peaks = peaks[np.argsort(r[peaks])[::-1][:12]]
    left, right = y[peaks - 1], y[peaks + 1]
    for _ in range(8 if peaks.size else 0):  # peaks that are still below: look closer
        x = np.linspace(left, right, 17)
        top = np.argmax(excess(x.ravel()).reshape(x.shape), axis=0)
        at = np.arange(top.size)
        left, right = x[np.maximum(0, top - 1), at], x[np.minimum(16, top + 1), at]
    y = np.unique(np.concatenate((y, 0.5 * (left + right))))
    up = excess(y) > 0
    k = np.flatnonzero(up[1:] != up[:-1])
    left, right = y[k], y[k + 1]
    for _ in range(60 if k.size else 0):
        mid = 0.5 * (left + right)
        same = (excess(mid) > 0) == up[k]
        left, right = np.where(same, mid, left), np.where(same, right, mid)
    ends = right.tolist()
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


@search("delta of normal laws against the oracle", quick=15)
def test_normals_are_never_below_the_oracle_and_tight(rng):
    p, q, b, eps = random_normals(rng)
    kind = ("laplace", "laplace", "gaussian")[rng.integers(3)]
    check_claim(p, q, kind, 0.0 if rng.random() < 0.1 else b, eps)


@search("delta of normal mixtures against the oracle", quick=4)
def test_mixtures_are_never_below_the_oracle_and_tight(rng):
    p, q = random_mixture(rng, 0.2), random_mixture(rng, 0.2)
    kind = ("laplace", "gaussian")[rng.integers(2)]
    check_claim(p, q, kind, decimal(10 ** rng.uniform(-1.5, 1.2)), decimal(rng.uniform(0, 2)))


def test_the_oracle_agrees_with_quadrature_of_the_convolution():
    p, q, b, eps = Normal(0, 1), Normal(1, 2), 1.5, 0.8

    def f(law, y):
        m, s = mpf(law.mean), mpf(law.std)
        cuts = [m - 14 * s, m - 4 * s, m, m + 4 * s, m + 14 * s, y]
        return mp.quad(
            lambda x: mp.exp(-abs(y - x) / b - (x - m) ** 2 / 2 / s**2) / (2 * b * s * mp.sqrt(2 * mp.pi)), sorted(cuts)
        )

    ys = np.linspace(-25, 40, 66)
    with mp.workdps(15):
        gap = [max(float(f(q, mp.mpf(y)) - math.exp(eps) * f(p, mp.mpf(y))), 0.0) for y in ys]
    assert np.trapezoid(gap, ys) == pytest.approx(float(oracle(q, p, "laplace", b, eps)), abs=1e-3)


@pytest.mark.parametrize(
    ("s", "t", "shift", "b", "eps"),
    [
        (0.001, 1, 0, 0.001, 0.5),
        (0.001, 1, 3, 0.01, 2),
        (0.01, 10, 35, 0.05, 1),
        (0.0001, 1, 4, 0.1, 0.3),
        (0.02, 1, 4.5, 0.3, 0.05),
        (1, 1.001, 0.001, 0.5, 0.0001),
        (0.3, 5, 20, 1.2, 3),
        (1e-6, 1, 2, 0.3, 1),
        (1e-6, 1, 2, 1e-6, 1),
    ],
)
def test_narrow_peaks_are_not_missed(s, t, shift, b, eps):
    """A plain bounded maximisation of the log-ratio reports delta = 0 on cases such as these."""
    check_claim(Normal(0, s), Normal(shift, t), "laplace", b, eps)
    check_claim(Normal(shift, t), Normal(0, s), "laplace", b, eps)


def test_an_atom_or_a_needle_inside_a_wide_law():
    for needle in (0, 1e-6):
        p = NormalMixture([0.98, 0.02], [0, 7.3], [1, needle])
        _, true = check_claim(p, Normal(0, 1), "laplace", 1e-3, 0.5)
        assert true > 0.019
        check_claim(p, Discrete([0, 7, 8], [0.9, 0.05, 0.05]), "laplace", 0.2, 0.5)
        check_claim(p, Discrete([0, 7, 8], [0.9, 0.05, 0.05]), "gaussian", 0.2, 0.5)


@pytest.mark.parametrize("eps", [9, 20, 30])
def test_a_large_epsilon_does_not_drown_in_rounding(eps):
    """e^epsilon times the unit roundoff is no error: a needle at the very centre of a wide law."""
    for s in (1e-9, 1e-13, 1e-14):
        check_claim(NormalMixture([1, 1], [0, 0], [s, 1]), Normal(0, 1), "gaussian", 0, eps)
        check_claim(NormalMixture([1, 1], [0, 0], [s, 1]), Normal(0, 1), "laplace", 1e-14, eps)


def test_tiny_weights_count():
    p, q = NormalMixture([1e-12, 1 - 1e-12], [1000, 0], [1, 1]), Normal(0, 1)
    _, true = check_claim(p, q, "laplace", 1, 1)
    assert true > 0.99e-12
    assert pure_epsilon(p, q, 1) == pytest.approx(math.log(1e-12) + 1000, rel=1e-9)


def test_no_noise_tells_atoms_from_densities():
    assert hockey_stick(Discrete([0]), Normal(0, 1), "laplace", 0, 1) == 1
    assert pure_epsilon(Discrete([0]), Normal(0, 1), 0) == math.inf
    half = NormalMixture([1, 1], [0, 0], [0, 1])
    assert hockey_stick(half, Normal(0, 1), "gaussian", 0, 0) == pytest.approx(0.5, abs=1e-12)
    assert least_continuous(half, Normal(0, 1), "laplace", 0.5, 0.6) == 0


def test_equal_laws_need_nothing():
    double = NormalMixture([0.25, 0.75], [1, 1], [2, 2])
    for kind in ("laplace", "gaussian"):
        assert hockey_stick(double, Normal(1, 2), kind, 0.1, 0) == 0
        assert least_continuous(double, Normal(1, 2), kind, 0, 0) == 0
    assert pure_epsilon(double, Normal(1, 2), 1e-9) == 0
    assert coupled_scale(double, Normal(1, 2), 1, 0).scale == 0


def test_points_are_plain_differential_privacy():
    p, q = Normal(0, 0), NormalMixture([1], [3], [0])
    assert pure_epsilon(p, q, 2) == pytest.approx(1.5, rel=1e-9)
    assert hockey_stick(p, q, "laplace", 2, 1) == pytest.approx(-math.expm1(-0.25), abs=1e-11)
    assert hockey_stick(Discrete([0]), Discrete([3]), "laplace", 2, 1) == pytest.approx(-math.expm1(-0.25), abs=1e-11)
    assert least_continuous(p, q, "laplace", 1, 0) == pytest.approx(3, rel=1e-9)


def test_far_means():
    p, q = Normal(0, 1), Normal(1_000_000, 1)
    assert hockey_stick(p, q, "laplace", 1, 1) == pytest.approx(1, abs=1e-12)
    assert pure_epsilon(p, q, 1) == pytest.approx(1e6, rel=1e-9)
    assert pure_epsilon(Normal(0, 1), Normal(1_000_000, 2), 1) == pytest.approx(1e6 + 1.5, rel=1e-9)
    b = least_continuous(p, q, "laplace", 1, 0.01)
    assert both(p, q, "laplace", b, 1) <= 0.01 < both(p, q, "laplace", 0.98 * b, 1)
    far = NormalMixture([0.5, 0.5], [0, 1e9], [1, 1]), NormalMixture([0.5, 0.5], [0.5, 1e9], [1, 1])
    check_claim(*far, "laplace", 1, 0.1)
    check_claim(*far, "gaussian", 1, 0.1)


@pytest.mark.parametrize("b", [1e-9, 1e-4, 1e3, 1e9])
def test_extreme_scales(b):
    for q in (Normal(0.5, 1), Normal(0, 1.5), NormalMixture([0.5, 0.5], [0, 3], [0.2, 1])):
        check_claim(Normal(0, 1), q, "laplace", b, 0.4)


def test_pure_epsilon_is_the_supremum_of_the_log_ratio():
    rng = np.random.default_rng(5)
    for k in range(12):
        p, q = (random_normals(rng)[:2]) if k % 2 else (random_mixture(rng, 0.2), random_mixture(rng, 0.2))
        b = decimal(10 ** rng.uniform(-0.5, 1.2))
        y = scan(p, q, "laplace", b)
        seen = float(np.abs(log_f(p, "laplace", b, y) - log_f(q, "laplace", b, y)).max())
        claimed = pure_epsilon(p, q, b)
        assert claimed >= seen * (1 - 1e-12)
        assert claimed <= seen * 1.01  # the scan is coarse; the golden values are sharp


def test_least_scales_hold_and_two_percent_less_does_not():
    rng = np.random.default_rng(6)
    for k in range(8):
        p, q = (random_normals(rng)[:2]) if k % 2 else (random_mixture(rng, 0.2), random_mixture(rng, 0.2))
        kind, eps, delta = ("laplace", "gaussian")[k // 2 % 2], decimal(rng.uniform(0.2, 1)), 0.001
        b = least_continuous(p, q, kind, eps, delta)
        if b == 0:
            continue
        assert both(p, q, kind, b, eps) <= delta
        assert both(p, q, kind, 0.98 * b, eps) > delta


def test_coupling_bounds_are_sound_and_above_the_exact_scale():
    rng = np.random.default_rng(7)
    for _ in range(6):
        p, q = random_mixture(rng, 0.2), random_mixture(rng, 0.2)
        eps, delta = decimal(rng.uniform(0.2, 2)), float(rng.choice([0.001, 0.05, 0.3]))
        found = coupled_scale(p, q, eps, delta)
        exact = least_continuous(p, q, "laplace", eps, delta)
        for _, scale in found.all:
            assert scale >= exact * (1 - 1e-9)
        a, b, _, _ = random_normals(rng)
        exact = least_continuous(a, b, "laplace", eps, delta)
        for form in FORMS:
            assert theorem1_scale(a, b, eps, delta, form) >= exact * (1 - 1e-9)
