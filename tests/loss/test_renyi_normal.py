"""The Rényi divergence of lattice and continuous noise on laws with Gaussian components, against 40 digits."""

from __future__ import annotations

import math
from fractions import Fraction as F

import mpmath as mp
import pytest
from test_renyi_lattice import proved, searched

import fugu
from fugu.errors import NotProvable

LAWS = {
    "narrow": (fugu.Normal(0, 3), [(1, 0, 3)]),
    "wide": (fugu.Normal(2, 4), [(1, 2, 4)]),
    "mixed": (fugu.NormalMixture([0.25, 0.75], [-3, 5], [2, 3]), [(mp.mpf(1) / 4, -3, 2), (mp.mpf(3) / 4, 5, 3)]),
}
REACH = 170


def cell(rows, k):
    total = mp.mpf(0)
    for w, m, s in rows:
        low, high = (mp.mpf(k) - 0.5 - m) / s, (mp.mpf(k) + 0.5 - m) / s
        if low > 0:
            low, high = -high, -low
        total += w * (mp.erfc(-high / mp.sqrt(2)) - mp.erfc(-low / mp.sqrt(2))) / 2
    return total


def oracle(names, shape, alpha):
    with mp.workdps(60):
        a = mp.mpf(alpha.numerator) / alpha.denominator
        cells = [[cell(LAWS[n][1], k) for k in range(-REACH - 40, REACH + 41)] for n in names]
        if shape is None:
            noised = [row[40:-40] for row in cells]
        else:
            z = [shape(mp.mpf(d)) for d in range(2 * REACH + 200)]
            norm = z[0] + 2 * mp.fsum(z[1:])
            size = len(cells[0])
            noised = [
                [mp.fsum(row[k] * z[abs(x - k)] for k in range(size)) / norm for x in range(40, size - 40)]
                for row in cells
            ]
        both = (noised, noised[::-1])
        return max(
            float(mp.log(mp.fsum(m**a * n ** (1 - a) for m, n in zip(*rows, strict=True))) / (a - 1)) for rows in both
        )


@pytest.mark.parametrize(
    ("names", "noise", "alpha"),
    [
        (("narrow", "wide"), fugu.Gaussian(4, grid=1), F(2)),
        (("narrow", "mixed"), fugu.Gaussian(5, grid=1), F(5, 2)),
        (("narrow", "wide"), fugu.Laplace(4, grid=1), F(2)),
        (("wide", "mixed"), fugu.Laplace(3, grid=1), F(10)),
        (("narrow", "wide"), fugu.Gaussian(0, grid=1), F(3, 2)),
    ],
)
def test_rounded_normals_on_a_lattice(names, noise, alpha):
    s = float(noise.scale)
    shape = None
    if s:
        shape = (
            (lambda d: mp.exp(-d / s)) if isinstance(noise, fugu.Laplace) else (lambda d: mp.exp(-d * d / (2 * s * s)))
        )
    truth = oracle(names, shape, alpha)
    both = fugu.LawPair(LAWS[names[0]][0], LAWS[names[1]][0])
    found = proved(both, noise, alpha)
    assert truth <= found * (1 + 1e-14) and found <= truth * (1 + 1e-10)
    assert not truth <= found * 0.999
    assert searched(both, noise, alpha) == pytest.approx(truth, rel=1e-8)


def test_where_the_sum_diverges_the_bound_is_infinite():
    """alpha v_q > (alpha-1) v_p is needed: 10 (9 + 1) < 9 (16 + 1)."""
    both = fugu.LawPair(fugu.Normal(0, 3), fugu.Normal(2, 4))
    assert proved(both, fugu.Gaussian(1, grid=1), F(10)) == math.inf == searched(both, fugu.Gaussian(1, grid=1), 10)
    assert fugu.renyi(fugu.Gaussian(1), both, 10) == math.inf
    atoms = fugu.LawPair(fugu.Normal(0, 3), fugu.Discrete([0, 1]))
    assert proved(atoms, fugu.Gaussian(0, grid=1), F(2)) == math.inf


def test_translates_lose_less_than_the_shift_of_the_noise():
    """Before noise they already overlap: N(0, 9 + 16) and its shift by 3, not the noise's 16 alone."""
    both = fugu.LawPair(fugu.Normal(0, 3), fugu.Normal(3, 3))
    found = proved(both, fugu.Gaussian(4, grid=1), F(2))
    assert 9 / 25 * 0.99 < found < 9 / 16
    assert fugu.renyi(fugu.Gaussian(4), both, 2) == pytest.approx(9 / 25, rel=1e-12)


def density(rows, kind, b):
    def normal(x):
        return mp.fsum(w * mp.npdf(x, m, mp.sqrt(s * s + b * b)) for w, m, s in rows)

    def laplace(x):
        total = mp.mpf(0)
        for w, m, s in rows:
            for y in (x - m, m - x):
                total += (
                    w / (4 * b) * mp.exp(mp.mpf(s * s) / (2 * b * b) + y / b) * mp.erfc((y / s + s / b) / mp.sqrt(2))
                )
        return total

    return normal if kind == "gaussian" else laplace


def _integral(f, g, a):
    cuts = mp.linspace(-120, 120, 17)
    return mp.log(mp.quad(lambda x: f(x) ** a * g(x) ** (1 - a), cuts, method="gauss-legendre")) / (a - 1)


@pytest.mark.parametrize(("kind", "alpha"), [("gaussian", F(3, 2)), ("laplace", F(3))])
def test_continuous_noise_on_normals(kind, alpha):
    names = ("narrow", "mixed")
    noise = fugu.Gaussian(4) if kind == "gaussian" else fugu.Laplace(4)
    with mp.workdps(30):
        f, g = (density(LAWS[n][1], kind, mp.mpf(4)) for n in names)
        a = mp.mpf(alpha.numerator) / alpha.denominator
        both = [_integral(*order, a) for order in ((f, g), (g, f))]
    truth = float(max(both))
    found = fugu.renyi(noise, fugu.LawPair(LAWS[names[0]][0], LAWS[names[1]][0]), alpha)
    assert truth * (1 - 1e-13) <= found <= truth * (1 + 1e-9)
    assert min(both) < 0.98 * max(both)  # one order only would be too little


def test_what_has_no_proof_is_refused():
    both = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2))
    with pytest.raises(NotProvable):
        fugu.renyi(fugu.GeneralizedCauchy(1), both, 2)
    with pytest.raises(NotProvable):
        fugu.renyi(fugu.Laplace(1), fugu.LawPair(fugu.Normal(0, 1), fugu.Discrete([0])), 2)
    assert fugu.renyi(fugu.GeneralizedCauchy(1), fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(0, 1)), 2) == 0


@pytest.mark.parametrize(("scale", "alpha"), [(F(1, 2), F(20)), (F(1, 2), F(100)), (F(20), F(100))])
def test_large_orders_stay_sharp(scale, alpha):
    """The peaks lie alpha times the distance out; a window that ignores the half steps of rounding is 30 % loose."""
    both = fugu.LawPair(LAWS["narrow"][0], LAWS["mixed"][0])
    noise = fugu.Gaussian(scale, grid=1)
    assert proved(both, noise, alpha) == pytest.approx(searched(both, noise, alpha), rel=1e-9)
