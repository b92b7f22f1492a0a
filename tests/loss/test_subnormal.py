"""`fugu.epsilon`, `delta` and `renyi` never fall below the truth, however small the masses are: 60-digit oracle.

Nor however far the atoms are, or however long their decimals."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import pytest

import fugu
from fugu.errors import BadNoise
from fugu.laws.masses import Masses
from fugu.loss.door import widened
from hunting import search

CASES = 150
mpf = mpmath.mpf


def _real(x: Fraction) -> mpmath.mpf:
    return mpf(x.numerator) / mpf(x.denominator)


def _sums(points: list[int], masses: list[mpmath.mpf], scale: mpmath.mpf) -> list[mpmath.mpf]:
    if scale == 0:
        return masses
    return [
        mpmath.fsum(m * mpmath.exp(-abs(x - y) / scale) for m, y in zip(masses, points, strict=True)) for x in points
    ]


def _epsilon(first: list[mpmath.mpf], second: list[mpmath.mpf]) -> mpmath.mpf:
    return max(abs(mpmath.log(a / b)) for a, b in zip(first, second, strict=True))


def _weights(rng: random.Random, count: int, kind: str) -> list[object]:
    if kind == "float":
        drawn = [10.0 ** rng.uniform(-323, -280) if rng.random() < 0.5 else rng.random() for _ in range(count)]
        drawn[rng.randrange(count)] = 0.5 + rng.random()
        total = sum(drawn)
        return [max(x / total, 5e-324) for x in drawn]
    if kind == "fraction":
        parts = [Fraction(rng.randint(1, 9), 10 ** rng.choice([1, 20, 300, 320, 400])) for _ in range(count)]
        return [x / sum(parts) for x in parts]
    return [rng.randint(1, 10 ** rng.choice([1, 300, 330, 1000])) for _ in range(count)]


def _readings(law: fugu.Discrete, weights: list[object]) -> list[list[mpmath.mpf]]:
    """What the weights may stand for: the masses as stored, and those below 2^-1022 as the decimals they are written
    as."""
    parts, total = law.masses.whole()
    found = [[_real(Fraction(p, total)) for p in parts]]
    if isinstance(weights[0], float):
        minute = min(weights) < 2.0**-1022  # type: ignore[type-var, operator]
        decimals = [Fraction(repr(w)) if w < 2.0**-1022 else Fraction(w) for w in weights]  # type: ignore[operator, arg-type]
        # without such masses the law as stored is the only reading: decimals that sum to 1 are read as decimals
        found.append([_real(d / sum(decimals)) for d in decimals] if minute else found[0])
    return found


def _hunt(cases: int, seed: int) -> dict[str, int]:
    """How often a stated loss was below the truth, by what was stated."""
    rng, below = random.Random(seed), {"epsilon": 0, "delta": 0, "renyi": 0}
    with mpmath.workdps(60):
        for number in range(cases):
            kind = ("float", "fraction", "whole")[number % 3]
            count = rng.choice([2, 3, 4, 6])
            points = sorted(rng.sample(range(40), count))
            weights = [_weights(rng, count, kind) for _ in range(2)]
            laws = [fugu.Discrete(points, w) for w in weights]
            pair = fugu.LawPair(*laws)
            scale = rng.choice([0, 0, 0.5, 1.0, 3.0, float(f"{10 ** rng.uniform(-2, 2):.3g}")])
            stated = fugu.epsilon(fugu.Laplace(scale), pair)
            silent = fugu.delta(fugu.Laplace(0), pair, 1), fugu.renyi(fugu.Laplace(0), pair, 2)
            for p, q in zip(*(_readings(law, w) for law, w in zip(laws, weights, strict=True)), strict=True):
                exact = _real(Fraction(str(scale)))
                below["epsilon"] += not mpf(stated) >= _epsilon(_sums(points, p, exact), _sums(points, q, exact))
                delta = max(
                    mpmath.fsum(max(mpf(0), a - mpmath.e * b) for a, b in zip(u, v, strict=True))
                    for u, v in ((p, q), (q, p))
                )
                below["delta"] += not mpf(silent[0]) + mpf(10) ** -50 >= delta  # the rounding of 60 digits
                renyi = max(
                    mpmath.log(mpmath.fsum(a * a / b for a, b in zip(u, v, strict=True))) for u, v in ((p, q), (q, p))
                )
                below["renyi"] += not mpf(silent[1]) >= renyi
    return below


@search("losses of masses below 1e-280 against 60 digits", quick=3)
def test_many_stated_losses_are_at_or_above_the_truth(seed: int) -> int:
    assert _hunt(50, seed) == {"epsilon": 0, "delta": 0, "renyi": 0}
    return 50


def test_the_oracle_sees_the_stored_reading_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong version: masses below 2^-1022 read as the doubles they are, and no more."""
    monkeypatch.setattr("fugu.loss.door.widened", lambda family: family)
    found = _hunt(CASES, 1)
    assert found["epsilon"] > 0 and found["renyi"] > 0


def test_the_oracle_sees_logarithms_that_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong version: ln part - ln total of whole numbers of 300 digits loses three digits."""
    import math

    import numpy as np

    def cancelling(self: Masses) -> object:
        total = math.log(self.total.numerator) - math.log(self.total.denominator)
        return np.array([math.log(p) - total if p else -math.inf for p in self.parts.tolist()])

    monkeypatch.setattr(Masses, "logs", cancelling)
    assert _hunt(CASES, 1)["epsilon"] > 0


def test_ordinary_laws_are_not_widened() -> None:
    from fugu.laws import families

    pair = fugu.LawPair(fugu.Discrete([0, 1], [2.3e-308, 1.0]), fugu.Discrete([0, 1], [0.25, 0.75]))
    family = families([pair])[0]
    assert widened(family) is family
    apart = fugu.LawPair(fugu.Discrete([0, 1], [5e-324, 1.0]), fugu.Discrete([0, 1], [1.0, 5e-324]))
    assert fugu.delta(fugu.Laplace(0), apart, 0) == 1  # a probability still
    same = fugu.Discrete([0, 1], [5e-324, 1.0])
    assert fugu.epsilon(fugu.Laplace(0), fugu.LawPair(same, fugu.Discrete([0, 1], [5e-324, 1.0]))) < 1e-15
    # an atom that underflowed costs nothing where noise covers it
    near = fugu.LawPair(same, fugu.Discrete([0, 1], [0.25, 0.75]))
    plain = fugu.LawPair(fugu.Discrete([0, 1], [0.0, 1.0]), fugu.Discrete([0, 1], [0.25, 0.75]))
    assert fugu.epsilon(fugu.Laplace(1), near) == pytest.approx(fugu.epsilon(fugu.Laplace(1), plain), abs=1e-12)


def test_a_translate_loses_what_two_points_do():
    assert fugu.epsilon(fugu.Laplace(2.0), fugu.Shifted(3)) == fugu.epsilon(
        fugu.Laplace(2.0), fugu.LawPair(fugu.Discrete([2]), fugu.Discrete([5]))
    )


def test_decimals_are_subtracted_as_decimals():
    pair = fugu.LawPair(fugu.Discrete([1000000.1]), fugu.Discrete([1000000.2]))
    assert fugu.epsilon(fugu.Laplace(1.0), pair) == pytest.approx(
        0.1, abs=1e-13
    )  # the doubles differ by 0.0999999999767


@pytest.mark.parametrize(("scale", "expected"), [(1e299, 10.0), (1.0, 1e300), (1e-300, math.inf)])
def test_atoms_1e300_apart(scale, expected):
    assert fugu.epsilon(fugu.Laplace(scale), fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1e300]))) == pytest.approx(
        expected, rel=1e-12
    )


def test_off_the_lattice_is_refused_not_guessed():
    with pytest.raises(BadNoise, match="off the lattice"):
        fugu.epsilon(fugu.Laplace(1, grid=1), fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([0.5])))
    with pytest.raises(BadNoise, match="off the lattice"):
        fugu.delta(fugu.Laplace(1, grid=Fraction(1, 3)), fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([0.5])), 1)
    with pytest.raises(BadNoise, match="off the lattice"):
        fugu.epsilon(fugu.Laplace(1, grid=1), fugu.LawPair(fugu.Discrete([[0, 0]]), fugu.Discrete([[0.5, 1]])))
