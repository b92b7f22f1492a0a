"""The law of the output in doubles, against sums from the definition and against what is proved in balls."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import Discrete, Gaussian, Laplace, LawPair
from fugu.laws import families
from fugu.loss.door import delta_bounds, pure_bounds
from fugu.noise.atoms import AtomLaplace
from fugu.noise.lattice import Lattice
from fugu.noised import Noised, convolved

PAIRS = 51


def case(seed: int):
    """A family of one pair on lattice indices, and a noise of each kind for it."""
    rng = np.random.default_rng(seed)
    points = np.sort(rng.choice(60, size=int(rng.integers(2, 12)), replace=False))
    weights = [rng.integers(0, 9, size=len(points)) for _ in range(2)]
    for row in weights:
        row[rng.integers(len(points))] += 1
    laws = [Discrete(points[w > 0].tolist(), w[w > 0].tolist()) for w in weights]
    family = families([LawPair(laws[0], laws[1], "a vs b")])[0].on(Lattice(Fraction(1)))
    scale = float(rng.uniform(0.4, 12))
    return family, [Laplace(scale, 1), Gaussian(scale, 1), AtomLaplace(scale, 1, family.points)]


def chance(noise, x: int, y: int) -> float:
    """P(y | x) from the formula of each noise."""
    if isinstance(noise, AtomLaplace):
        atoms = list(noise.atoms)
        return float(noise.matrix()[atoms.index(x), atoms.index(y)])
    if isinstance(noise, Laplace):
        q = math.exp(-1 / float(noise.scale))
        return (1 - q) / (1 + q) * q ** abs(y - x)
    reach = math.ceil(12 * float(noise.scale)) + 12
    total = math.fsum(math.exp(-(k**2) / (2 * float(noise.scale) ** 2)) for k in range(-reach, reach + 1))
    return math.exp(-((y - x) ** 2) / (2 * float(noise.scale) ** 2)) / total


@pytest.mark.parametrize("seed", range(PAIRS))
def test_masses_sums_and_ratios_are_those_of_the_definition(seed):
    family, noises = case(seed)
    for noise in noises:
        laws = Noised(family.points, family.weights, noise)
        seen = laws.window(30.0, 40)[0]
        kernel = np.array([[chance(noise, int(x), int(y)) for x in family.points] for y in seen])
        direct = family.weights @ kernel.T
        sure = direct > 1e-280
        assert laws.log_mass(seen)[sure] == pytest.approx(np.log(direct[sure]), rel=1e-12, abs=1e-11)
        (found,) = (rows for _, rows in laws.posteriors(0, seen))
        each = kernel * family.weights[0]
        assert found[sure[0]] == pytest.approx(each[sure[0]] / direct[0][sure[0], None], rel=1e-10, abs=1e-14)
        every, masses = laws.masses
        assert masses.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert laws.cdf(every) == pytest.approx(np.cumsum(masses, axis=1), abs=1e-12)
        above = laws.rows @ noise.above(family.points, every)
        assert above == pytest.approx(np.cumsum(masses[:, ::-1], axis=1)[:, ::-1], abs=1e-12)


@pytest.mark.parametrize("seed", range(PAIRS))
def test_what_it_tells_is_what_is_proved(seed):
    """The larger of both orders; one of them alone would be less in some of these cases."""
    family, noises = case(seed)
    if not family.different:
        return
    epsilon = Fraction(seed % 9, 4)
    for noise in noises:
        laws = Noised(family.points, family.weights, noise)
        proved = max(loss.value for loss in delta_bounds(family, noise, epsilon))
        assert laws.apart(float(epsilon)) == pytest.approx(proved, abs=1e-12)
        if noise.rate is not None:  # then the largest ratio is at an atom
            largest = max(loss.value for loss in pure_bounds(family, noise, Fraction(0)))
            assert np.abs(laws.log_ratio(family.points)).max() == pytest.approx(largest, rel=1e-9)


def test_one_order_is_less():
    family, noises = case(3)
    p, q = Noised(family.points, family.weights, noises[0]).masses[1]
    orders = sorted(np.maximum(a - 1.5 * b, 0).sum() for a, b in ((p, q), (q, p)))
    assert orders[0] < orders[1] == pytest.approx(Noised(family.points, family.weights, noises[0]).apart(math.log(1.5)))


def test_two_ways_to_convolve_agree(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.random(300), rng.random(200)
    plain = convolved(a, b)
    monkeypatch.setattr("fugu.noised._BY_HAND", 0)
    assert convolved(a, b) == pytest.approx(plain, rel=1e-12)


def test_an_output_that_cannot_come_leaves_the_weight_as_it_is():
    """Noise with ends, values further apart than those."""
    from test_generic import Listed

    laws = Noised(np.array([0, 100]), np.array([[0.25, 0.75]]), Listed(((-1, 1), (0, 2), (1, 1))))
    (rows,) = (rows for _, rows in laws.posteriors(0, np.array([0, 50, 101])))
    assert rows == pytest.approx(np.array([[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]]))
