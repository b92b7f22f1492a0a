"""The second proof against sums at 50 digits: every loss that it encloses, on cases small enough to write out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath.ctx_mp import MPContext

from fugu_verify import arithmetic, normals, orders, prove_again, ratios
from hunting import search

mp = MPContext()
mp.dps = 50
TINY = mp.mpf(10) ** -20


def real(x):
    return mp.mpf(Fraction(x).numerator) / Fraction(x).denominator


def document(points, laws, noise, scale, budget, pairs=((0, 1),)):
    """A certificate without words: laws on whole numbers with noise on the integers."""
    return {
        "kind": "additive" if isinstance(points[0], int) else "vector",
        "budget": budget,
        "noise": {"kind": noise, "scale": str(scale), "grid": "1"},
        "lattice": {"grid": "1", "origin": "0"},
        "families": [
            {
                "points": list(points),
                "laws": [{"kind": "counts", "parts": list(law), "total": str(sum(law))} for law in laws],
                "pairs": [list(pair) for pair in pairs],
                "labels": [f"{i} vs {j}" for i, j in pairs],
            }
        ],
    }


def outputs(points, laws, noise, scale, reach):
    """Noised masses on a wide box, each with what is beyond left out."""
    rows = [x if isinstance(x, (list, tuple)) else (x,) for x in points]
    ranges = [range(min(axis) - reach, max(axis) + reach + 1) for axis in zip(*rows, strict=True)]
    s = real(Fraction(scale))

    def weigh(k):
        return mp.exp(-abs(k) / s) if noise == "laplace" else mp.exp(-mp.mpf(k) * k / (2 * s * s))

    total = mp.fsum(weigh(k) for k in range(-600, 601))
    kernel = {k: weigh(k) / total for k in range(-600, 601)}
    return [
        [
            mp.fsum(
                mp.mpf(p) / sum(law) * mp.fprod(kernel[a - b] for a, b in zip(y, x, strict=True))
                for x, p in zip(rows, law, strict=True)
                if p
            )
            for y in itertools.product(*ranges)
        ]
        for law in laws
    ]


def truth(kind, masses, epsilon, alpha):
    """The loss in the worse order of the two."""
    found = []
    for p, q in (masses, masses[::-1]):
        if kind == "pure":
            found.append(max(mp.log(a / b) for a, b in zip(p, q, strict=True)))
        elif kind == "delta":
            found.append(mp.fsum(max(mp.mpf(0), a - mp.exp(epsilon) * b) for a, b in zip(p, q, strict=True)))
        else:
            found.append(mp.log(mp.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))) / (alpha - 1))
    return max(found)


def enclosed(bounds, value, width=TINY):
    low, high = real(bounds[0]), real(bounds[1])
    return low - TINY <= value <= high + TINY and high - low <= width


CASES = [
    ([0, 1, 4], [[5, 3, 2], [2, 3, 5]], "laplace", "13/10"),
    ([0, 1, 4], [[5, 3, 2], [2, 3, 5]], "gaussian", "17/10"),
    ([0, 3], [[1, 0], [0, 1]], "laplace", "2"),
    ([0, 2], [[1, 0], [0, 1]], "gaussian", "5/4"),
    ([[0, 0], [1, 2]], [[3, 1], [1, 3]], "laplace", "1"),
    ([[0, 0], [1, 2]], [[3, 1], [1, 3]], "gaussian", "1"),
    ([0], [[1], [1]], "laplace", "1"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("epsilon", ["1/10", "1"])
def test_delta_is_enclosed_to_twenty_digits(case, epsilon):
    points, laws, noise, scale = case
    masses = outputs(points, laws, noise, scale, 90 if isinstance(points[0], int) else 60)
    value = truth("delta", masses, real(Fraction(epsilon)), None)
    found = prove_again(document(*case, {"kind": "Approx", "epsilon": epsilon, "delta": "1/1000000"}))
    assert enclosed(found.delta, value)
    assert found.outcome == ("holds" if value <= mp.mpf("1e-6") else "fails")


@pytest.mark.parametrize("case", [c for c in CASES if c[2] == "laplace"], ids=str)
def test_the_largest_ratio_is_enclosed(case):
    points, laws, noise, scale = case
    value = truth("pure", outputs(points, laws, noise, scale, 3), None, None)
    found = prove_again(document(*case, {"kind": "Pure", "epsilon": "100"}))
    assert enclosed(found.epsilon, value) and found.outcome == "holds"
    if value > 0:
        less = Fraction(str(mp.nstr(value, 15))) * Fraction(999, 1000)
        assert prove_again(document(*case, {"kind": "Pure", "epsilon": str(less)})).outcome == "fails"


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("alpha", ["2", "3/2", "37/10"])
def test_divergences_are_enclosed(case, alpha):
    points, laws, noise, scale = case
    masses = outputs(points, laws, noise, scale, 100 if isinstance(points[0], int) else 25)
    value = truth("order", masses, None, real(Fraction(alpha)))
    found = prove_again(document(*case, {"kind": "Renyi", "alpha": alpha, "epsilon": "100", "delta": "0"}))
    wide = TINY if isinstance(points[0], int) else mp.mpf("1e-9")  # the box of the comparison cuts the tails
    assert real(found.epsilon[0]) - wide <= value <= real(found.epsilon[1]) + wide
    assert found.epsilon[1] - found.epsilon[0] <= Fraction(1, 10**15) and found.outcome == "holds"


def test_without_noise_everything_is_exact():
    budget = {"kind": "Approx", "epsilon": "0", "delta": "3/10"}
    case = [0, 1, 2], [[5, 3, 2], [2, 3, 5]], "laplace", "0"
    assert prove_again(document(*case, budget)).outcome == "holds"  # equal to the delta, to the last digit
    less = {**budget, "delta": "299999999999999999999/1000000000000000000000"}
    assert prove_again(document(*case, less)).outcome == "fails"
    apart = [0, 1], [[1, 0], [0, 1]], "laplace", "0"
    found = prove_again(document(*apart, {"kind": "Pure", "epsilon": "5"}))
    assert found.outcome == "fails" and found.epsilon == (math.inf, math.inf)
    found = prove_again(document(*apart, {"kind": "Renyi", "alpha": "2", "epsilon": "5", "delta": "0"}))
    assert found.outcome == "fails" and found.epsilon[0] == math.inf


def test_equality_is_decided_where_no_interval_can():
    budget = {"kind": "Pure", "epsilon": "1/2"}
    assert prove_again(document([0, 3], [[1, 0], [0, 1]], "laplace", "6", budget)).outcome == "holds"
    assert (
        prove_again(document([0, 3], [[1, 0], [0, 1]], "laplace", "5999999999/1000000000", budget)).outcome == "fails"
    )


def test_gaussian_tails_are_enclosed_where_the_window_is_short(monkeypatch):
    """With margins of a few steps the bounds are wide and still hold; the wrong version forgets what is beyond."""
    case = CASES[1]
    masses = outputs(*case, 90)
    delta, order = (truth(kind, masses, mp.mpf("0.1"), mp.mpf(2)) for kind in ("delta", "order"))
    approx = {"kind": "Approx", "epsilon": "1/10", "delta": "1/100"}
    renyi = {"kind": "Renyi", "alpha": "2", "epsilon": "1", "delta": "0"}
    monkeypatch.setattr(ratios, "reach", lambda decay, bits: 3)
    monkeypatch.setattr(orders, "reach", lambda decay, bits: 3)
    found = prove_again(document(*case, approx)).delta
    assert real(found[0]) < delta < real(found[1]) and real(found[1]) > delta * (1 + mp.mpf("1e-4"))
    found = prove_again(document(*case, renyi)).epsilon
    assert real(found[0]) < order < real(found[1])
    monkeypatch.setattr(ratios, "tail", lambda decay, beyond, bits: Fraction(0))
    monkeypatch.setattr(orders.Summed, "beyond", lambda self, pair, alpha: (Fraction(0), Fraction(0)))
    assert real(prove_again(document(*case, approx)).delta[1]) < delta
    assert real(prove_again(document(*case, renyi)).epsilon[1]) < order


def test_forgotten_tails_are_seen(monkeypatch):
    """The wrong version counts an end of the hull once, not for all that is beyond it."""
    case = CASES[2]
    right = prove_again(document(*case, {"kind": "Approx", "epsilon": "1/10", "delta": "1/1000"})).delta
    once = ratios.Whole.of

    def forgets(family, noise, outputs, bits):
        found = once(family, noise, outputs, bits)
        return ratios.Whole((Fraction(1), Fraction(1)), found.normal, found.beyond)

    monkeypatch.setattr(ratios.Whole, "of", staticmethod(forgets))
    wrong = prove_again(document(*case, {"kind": "Approx", "epsilon": "1/10", "delta": "1/1000"})).delta
    value = truth("delta", outputs(case[0], case[1], case[2], case[3], 90), mp.mpf("0.1"), None)
    assert enclosed(right, value) and not enclosed(wrong, value)


@search("exponentials and logarithms between whole numbers", quick=20)
def test_exponentials_and_logarithms_are_enclosed(rng):
    top = 10 ** int(rng.integers(1, 9))
    x, bits = Fraction(int(rng.integers(-top, top)), int(rng.integers(1, 10**6))), int(rng.choice([64, 128, 500]))
    x = max(min(x, Fraction(200)), Fraction(-200))
    with mp.workprec(2000):
        low, high = arithmetic.exp(x, bits)
        assert low <= mp.exp(real(x)) * mp.mpf(2) ** bits <= high <= low + 4
        if x > 0:
            low, high = arithmetic.log(x, bits)
            assert low <= mp.log(real(x)) * mp.mpf(2) ** bits <= high <= low + 4
            assert mp.log(real(x) * (1 + mp.mpf(2) ** (4 - bits))) * mp.mpf(2) ** bits > high  # 16 units above
        z = x / 10
        low, high = normals.below(z, bits)
        assert low <= mp.ncdf(real(z)) * mp.mpf(2) ** bits <= high <= low + 4


@pytest.mark.parametrize("bits", [8, 64, 300])
def test_the_normal_distribution_function_is_enclosed_however_far_out(bits):
    edge = math.sqrt(7 * bits / 5)
    far = [Fraction(edge * k / 20) for k in range(31)] + [Fraction(10) ** k for k in (2, 9, 30)]
    for z in (sign * x for x in far for sign in (1, -1)):
        low, high = normals.below(z, bits)
        with mp.workdps(400):
            exact = mp.ncdf(real(max(min(z, 10**4), -(10**4)))) * mp.mpf(2) ** bits
        assert 0 <= low <= exact <= high <= 1 << bits
        assert high - low <= 4


def test_a_law_that_hardly_varies_is_rounded_and_not_summed():
    law = {"weights": ["1"], "means": ["0"], "stds": ["1e-16"]}
    stated = {"p": law, "q": law, "label": "a vs b"}
    cells = normals.smooth(stated, {"grid": "1", "origin": "7e12"}, Fraction(1), 40).cells
    assert max(cells.laws[0].low) / cells.laws[0].total == 1


def test_signs_of_sums_of_exponentials():
    sign, one = arithmetic.exp_sum_sign, Fraction(1)
    assert sign({}) == 0 == sign({one: Fraction(0)})
    near = Fraction(math.e)  # a double next to e
    assert sign({one: one, Fraction(0): -near}) == (1 if mp.e > real(near) else -1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        terms = {Fraction(int(rng.integers(-9, 9)), 7): Fraction(int(rng.integers(-9, 9)), 5) for _ in range(3)}
        value = mp.fsum(real(c) * mp.exp(real(x)) for x, c in terms.items())
        assert sign(terms) == mp.sign(value) or abs(value) < TINY
