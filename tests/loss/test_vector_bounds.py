"""Bounds for published vectors: the product grid, plans, what the pure epsilon and the laws alone imply."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import fugu
from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.laws.shapes import families
from fugu.loss import vectors as vector_bounds
from fugu.loss.door import divergence_bounds, leakage, pure_bounds
from fugu.loss.search.shapes import fast_vector_pure
from fugu.loss.vectors import LARGEST, pure_as_delta, vertices
from fugu.noise.lattice import Lattice
from fugu.transport.coupling import Coupling

FIRST, SECOND = [(0, 1), (0, 2), (2, 1), (2, 3)], [(0, 0), (1, 1), (1, 2), (2, 3)]
NARROW = fugu.LawPair(fugu.Discrete([[0, 0], [2, 4]], [3, 1]), fugu.Discrete([[2, 0], [0, 4]]))


def family(pair: fugu.LawPair, grid: Fraction = Fraction(1)) -> Family:
    return families((pair,))[0].on(Lattice(grid))


def test_the_atoms_alone_give_half_of_the_truth() -> None:
    """The extreme is off every atom; 50 digits, from the definition, over a box around the grid as well."""
    pair = fugu.LawPair(fugu.Discrete(FIRST), fugu.Discrete(SECOND))
    with mp.workdps(50):

        def ratio(y: tuple[int, ...]) -> mpf:
            sums = [sum(mp.exp(-mpf(abs(x[0] - y[0]) + abs(x[1] - y[1])) / 4) for x in law) for law in (FIRST, SECOND)]
            return abs(mp.log(sums[0] / sums[1]))

        atoms = max(map(ratio, FIRST + SECOND))
        grid = max(map(ratio, itertools.product(range(3), range(4))))
        box = max(map(ratio, itertools.product(range(-9, 13), repeat=2)))
        for noise in (fugu.Laplace(4), fugu.Laplace(4, 1), fugu.Laplace(4, Fraction(1, 7))):
            assert grid <= fugu.epsilon(noise, pair) <= grid * (1 + mpf(10) ** -14)
        assert box <= grid * (1 + mpf(10) ** -45)  # equal but for the last digits
        assert atoms < 0.48 * grid


def test_the_fast_number_is_the_proved_one() -> None:
    rng = np.random.default_rng(2)
    for d, top in ((2, 9), (3, 4), (4, 3)):
        laws = [fugu.Discrete(rng.integers(-top, top, (12, d)), rng.integers(1, 9, 12)) for _ in range(2)]
        held = family(fugu.LawPair(*laws))
        for scale in (0.3, 2.0, 50.0):
            proved = pure_bounds(held, fugu.Laplace(scale, 1), Fraction(0))[0].value
            assert math.isclose(fast_vector_pure(held, scale), proved, rel_tol=1e-9)


def test_beyond_sixty_thousand_vertices_distance_bounds_the_ratio() -> None:
    rng = np.random.default_rng(4)
    base = rng.permutation(300)[:260]
    rows = np.stack([base, rng.permutation(base)], axis=1)
    pair = fugu.LawPair(fugu.Discrete(rows), fugu.Discrete(rows + np.array([1, 0])))
    held = family(pair)
    assert vertices(held) > LARGEST
    loss = pure_bounds(held, fugu.Laplace(2, 1), Fraction(1, 2))[0]
    assert loss.within(Fraction(1, 2))
    assert not pure_bounds(held, fugu.Laplace(1.96, 1), Fraction(1, 2))[0].within(Fraction(1, 2))
    found = fugu.calibrate(pair, fugu.Pure(0.5))
    assert (found.noise.scale, found.certificate.method) == (2, "wasserstein")
    same = fugu.LawPair(fugu.Discrete(rows, np.r_[2, [1] * 259]), fugu.Discrete(rows))
    assert fugu.epsilon(fugu.Laplace(1e-3), same) <= math.log(2)  # what the laws do not lose, noise does not reveal


def _chord(pure: float, epsilon: Fraction) -> mpf:
    """delta of randomised response, whose ratio takes the two ends alone; 50 digits."""
    e = mp.exp(mpf(epsilon.numerator) / epsilon.denominator)
    p = [mp.exp(mpf(pure)) / (1 + mp.exp(mpf(pure))), 1 / (1 + mp.exp(mpf(pure)))]
    return sum(max(a - e * b, mpf(0)) for a, b in zip(p, p[::-1], strict=True))


@pytest.mark.parametrize("pure", [0.01, 0.5, 1.5109, 20.0])
@pytest.mark.parametrize("epsilon", [0, 0.3, 1.5])
def test_delta_of_a_pure_pair_is_that_of_randomised_response(pure: float, epsilon: float) -> None:
    exact = Fraction(str(epsilon))
    found = pure_as_delta(pure, exact)
    with mp.workdps(50):
        true = _chord(pure, exact)
        assert true <= found <= true * (1 + mpf(10) ** -14)
        assert found > true / 2 if true else found == 0
    assert pure_as_delta(math.inf, Fraction(1)) == 1


def test_the_pure_epsilon_improves_delta_and_divergences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what couplings imply, where the sum over blocks is out of reach."""
    held, noise, known = family(NARROW), fugu.Laplace(1.5, 1), leakage("space", "laplace")
    now = [known.coupled_divergence(held, noise, Fraction(a))[0].value for a in (2, 8)]
    assert known.coupled_delta(held, noise, Fraction(1, 2), Fraction(0))[0].value < 0.53
    monkeypatch.setattr(vector_bounds, "IMPLIED", 0)
    before = [known.coupled_divergence(held, noise, Fraction(a))[0].value for a in (2, 8)]
    assert now[0] < 0.9 * before[0]
    assert now[1] < before[1]
    pure = fugu.epsilon(noise, NARROW)
    assert max(now) <= pure
    assert divergence_bounds(held, noise, Fraction(2))[0].value < now[0]


def test_no_bound_is_below_the_definition_where_the_pure_epsilon_is_used() -> None:
    laws = [{(0, 0): 0.75, (2, 4): 0.25}, {(2, 0): 0.5, (0, 4): 0.5}]
    axis = np.arange(-70, 75)
    rows = []
    for law in laws:
        one = np.zeros((len(axis), len(axis)))
        for (x, y), m in law.items():
            one += m * np.outer(np.exp(-np.abs(axis - x) / 1.5), np.exp(-np.abs(axis - y) / 1.5))
        rows.append(one / (np.exp(-np.abs(np.arange(-400, 401)) / 1.5).sum() ** 2))
    for a in (1.25, 2, 8):
        true = max(math.log((p**a * q ** (1 - a)).sum()) / (a - 1) for p, q in (rows, rows[::-1]))
        found = fugu.renyi(fugu.Laplace(1.5, 1), NARROW, a)
        assert true <= found
        assert found * 0.5 < true
    for e in (0, 0.5, 1.4):
        true = max(np.maximum(p - math.exp(e) * q, 0).sum() for p, q in (rows, rows[::-1]))
        assert true <= fugu.delta(fugu.Laplace(1.5, 1), NARROW, e)


def test_the_laws_alone_bound_what_noise_reveals() -> None:
    pair = fugu.LawPair(fugu.Discrete([[0, 0], [900, 0]], [1, 1]), fugu.Discrete([[0, 0], [900, 0]], [3, 2]))
    for noise in (fugu.Laplace(1, 1), fugu.Gaussian(1, 1), fugu.Gaussian(1)):
        total = max(0.5**2 / 0.6 + 0.5**2 / 0.4, (0.6**2 + 0.4**2) / 0.5)
        assert math.isclose(fugu.renyi(noise, pair, 2), math.log(total), rel_tol=1e-9)
        assert math.isclose(fugu.delta(noise, pair, 0), 0.1, rel_tol=1e-9)
    assert math.isclose(fugu.epsilon(fugu.Gaussian(1, 1), pair), math.log(1.25), rel_tol=1e-9)


def test_continuous_noise_has_the_bounds_of_every_lattice_or_is_refused() -> None:
    assert fugu.delta(fugu.Laplace(1.5), NARROW, 0.5) == fugu.delta(fugu.Laplace(1.5, 2), NARROW, 0.5)
    assert fugu.renyi(fugu.Gaussian(1.5), NARROW, 3) >= 3 * 4 / (2 * 1.5**2) * 0.2
    with pytest.raises(NotProvable, match="grid"):
        fugu.renyi(fugu.Laplace(1.5), NARROW, 2)
    with pytest.raises(NotProvable, match="decimals"):
        fugu.epsilon(fugu.Laplace(1), fugu.LawPair(fugu.Discrete([[math.pi, 1]]), fugu.Discrete([[math.e, 1]])))


def test_the_laws_alone_are_taken_in_both_orders() -> None:
    p, q = fugu.Discrete([[0, 0], [9, 0]], [1, 99]), fugu.Discrete([[0, 0], [9, 0]], [30, 70])
    true = max(math.log(sum(x * x / y for x, y in z)) for z in (((0.01, 0.3), (0.99, 0.7)), ((0.3, 0.01), (0.7, 0.99))))
    for pair in (fugu.LawPair(p, q), fugu.LawPair(q, p)):
        assert math.isclose(fugu.renyi(fugu.Laplace(0, 1), pair, 2), true, rel_tol=1e-9)


def test_conditioning_keeps_all_but_delta_of_each_law() -> None:
    pair = fugu.LawPair(
        fugu.Discrete([[0, 0], [5, 0], [9, 9]], [6, 2, 2]), fugu.Discrete([[0, 0], [7, 1], [40, 0]], [6, 2, 2])
    )
    held = family(pair)
    noise, known = fugu.Laplace(1, 1), leakage("space", "laplace")
    kept = known.conditioned(held, noise, Fraction(2), Fraction(1, 5))
    for law, part in zip(held.weights, kept.weights, strict=True):
        assert np.all(part * 0.8 <= law + 1e-12)
    less = known.conditioned(held, noise, Fraction(2), Fraction(2, 5)).weights[0]
    assert np.any(less * 0.8 > held.weights[0] + 1e-12)


def test_points_2_to_the_40_steps_apart_are_bounded_as_points_one_step_apart() -> None:
    """Squared distances in lattice steps are beyond 64 bits there."""
    far = 2**40
    pair = fugu.LawPair(fugu.Discrete([[0, 0], [far, 0]]), fugu.Discrete([[0, far], [far, far]]))
    found = fugu.delta(fugu.Gaussian(4 * far, 1), pair, 1)
    with mp.workdps(50):
        true = mp.ncdf(mpf(1) / 8 - 4) - mp.e * mp.ncdf(-mpf(1) / 8 - 4)
        assert true <= found <= true * (1 + mpf(10) ** -9)


def test_a_plan_that_leaves_mass_where_it_is_bounds_no_divergence() -> None:
    space = vector_bounds.space_of(family(NARROW), (0, 1), 1)
    plan = vector_bounds.plan_for(space, fugu.Laplace(1.5, 1), Fraction(2))
    part = Coupling(plan.rows[1:], plan.columns[1:], plan.masses[1:], plan.total)
    assert vector_bounds.plan_loss(space, plan, fugu.Laplace(1.5, 1), Fraction(2)) > 0
    with pytest.raises(NotProvable, match="margins"):
        vector_bounds.plan_loss(space, part, fugu.Laplace(1.5, 1), Fraction(2))
