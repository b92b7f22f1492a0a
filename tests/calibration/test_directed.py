"""Laplace noise of several scales: the ratio on the lattice by brute force, the closed form, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Approx, LawPair, Pure, Scenario, Shifted
from fugu.calibration.covariance.directions import laplace_length
from fugu.calibration.translates import whole_basis
from fugu.errors import BadNoise, CertificateError, NotProvable, UsageError
from fugu.noise.matrix import DirectedLaplace
from hunting import search

ADULT = (0.72566, 0.19677, -3.46022, -2.34048, 0.63185)


def masses(noise: DirectedLaplace, reach: int = 60) -> dict[tuple[int, ...], float]:
    """The mass of every lattice point, all Z within `reach`; independent columns only."""
    each = [np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(t)) for t in noise.scales]
    found: dict[tuple[int, ...], float] = {}
    for index in np.ndindex(*(len(row) for row in each)):
        at = sum((k - reach) * np.array(b) for k, b in zip(index, noise.columns, strict=True))
        found[tuple(at.tolist())] = math.prod(float(row[k]) for row, k in zip(each, index, strict=True))
    return found


def level(noise: DirectedLaplace, moved: tuple[int, ...]) -> float:
    """max |ln P(N = y) / P(N = y - moved)| over points well inside; inf where one of them has none."""
    known, worst = masses(noise, 24), 0.0
    for at, mass in masses(noise, 8).items():
        other = known.get(tuple(x - m for x, m in zip(at, moved, strict=True)))
        if other is None:
            return math.inf
        worst = max(worst, abs(math.log(mass / other)))
    return worst


@pytest.mark.parametrize(
    ("columns", "scales", "moved"),
    [
        (((1, 0), (0, 1)), (2.0, 5.0), (3, -4)),
        (((2, 1),), (1.5,), (4, 2)),
        (((1, 1), (1, -1)), (2.0, 3.0), (3, 1)),
    ],
)
def test_the_stated_loss_is_the_ratio_on_the_lattice(columns, scales, moved):
    noise = DirectedLaplace(columns, scales, 1)
    assert level(noise, moved) == pytest.approx(float(noise.loss(moved)), rel=1e-12)


def test_a_move_off_the_directions_is_not_hidden():
    noise = DirectedLaplace(((2, 1),), (50.0,), 1)
    assert noise.loss((1, 0)) is None and level(noise, (1, 0)) == math.inf
    assert DirectedLaplace(((2, 2),), (50.0,), 1).loss((1, 1)) is None  # half a step along the direction
    pair = LawPair(Shifted((0, 0)), Shifted((1, 0)))
    made = fugu.calibrate(Shifted((2, 1)), Pure(1), method="several-directions", declared_exact=True)
    assert fugu.verify(made).holds and not fugu.verify(made, pair).holds


def test_anisotropic_scales_are_the_closed_form_and_beat_one_scale():
    d = np.abs(np.array(ADULT))
    made = fugu.calibrate(Shifted(ADULT), Pure(1), method="anisotropic-laplace")
    assert math.sqrt(made.expected_error("squared")) == pytest.approx(20.4358, rel=1e-3)
    closed = np.cbrt(d) * (np.cbrt(d) ** 2).sum()
    assert np.allclose(made.noise.coordinate_scales(), closed, rtol=1e-6)
    plain = fugu.calibrate(Shifted(ADULT), Pure(1), noise="laplace")
    assert math.sqrt(plain.expected_error("squared")) == pytest.approx(23.2585, rel=1e-3)
    assert made.certificate.method == "anisotropic-laplace" and fugu.verify(made).holds
    wrong = [0.97 * t for t in made.noise.scales]  # a wrong version: 3 % less noise
    assert DirectedLaplace(made.noise.columns, wrong, made.noise.grid).loss(_steps(made)) > 1


def _steps(made) -> tuple[int, ...]:
    points = made.certificate.laws[0].points
    return tuple(int(x) for x in points[-1] - points[0])


def test_several_directions_use_the_sum_and_not_the_length():
    pairs = [Shifted((1, 1, 0)), Shifted((1, -1, 0))]
    made = fugu.calibrate(pairs, Pure(1), method="several-directions", declared_exact=True)
    assert len(made.noise.columns) == 2 and not any(b[2] for b in made.noise.columns)
    assert fugu.verify(made).holds
    # printed: scale max |d|_2 / epsilon on each of two orthonormal directions has the level sqrt(2) epsilon
    printed = DirectedLaplace(((1, 0), (0, 1)), (math.sqrt(2), math.sqrt(2)), 1)
    assert float(printed.loss((1, 1))) == pytest.approx(math.sqrt(2))


def test_noise_along_differences_needs_the_declaration():
    with pytest.raises(NotProvable, match="declared_exact=True"):
        fugu.calibrate(Shifted((1, 2)), Pure(1), method="several-directions")
    moves = Scenario.group((1, 2))  # values that move by at most so much, not by exactly so much
    with pytest.raises(NotProvable, match="at most so much"):
        fugu.calibrate(moves, Pure(1), method="several-directions", declared_exact=True)
    assert fugu.calibrate(moves, Pure(1), method="anisotropic-laplace").certificate.method == "anisotropic-laplace"
    with pytest.raises(UsageError, match="MultivariateNormal"):
        fugu.calibrate(Shifted((1, 2)), Pure(1), declared_exact=True)


def test_ranges_of_records_give_a_pure_budget():
    table = {"x": [0, 1, 2, 9] * 5, "y": ["a", "b", "b", "b"] * 5, "s": ["p", "q"] * 10}
    shares = Scenario.from_property(table, ["mean(x)", "count(y=a)"], "s=p", 20, tolerance=0.1, bounds={"x": (0, 10)})
    made = fugu.calibrate(shares, Pure(1), method="record-group")
    assert fugu.verify(made).holds and fugu.calibrate(shares, Pure(1)).certificate.method == "record-exchange"
    d = np.array([2 * 10 / 20, 2 * 1.0])  # two records of twenty, each within its range
    assert np.allclose(made.noise.coordinate_scales(), np.cbrt(d) * (np.cbrt(d) ** 2).sum(), rtol=1e-2)
    assert sum(d / np.array(made.noise.coordinate_scales())) <= 1
    with pytest.raises(fugu.errors.BadBudget, match="no pure guarantee"):
        fugu.calibrate(shares, Pure(1), method="optimal")
    drawn = made.release([5.0, 5.0])
    assert drawn.values.shape == (1, 2) and fugu.verify(drawn).holds


def test_forged_scales_are_refused():
    made = fugu.calibrate(Shifted((1, 2)), Pure(1), method="anisotropic-laplace")
    body = made.certificate.unsealed
    noise = {**body["noise"], "scales": ["1", "1"]}
    assert not fugu.verify(fugu.Certificate.seal({**body, "noise": noise}, made.certificate.laws)).holds
    wide = {**body["noise"], "columns": [[1, 0, 0], [0, 1, 0]]}
    with pytest.raises(CertificateError):
        fugu.verify(fugu.Certificate.seal({**body, "noise": wide}, made.certificate.laws))
    for columns, scales in (((), ()), (((0, 0),), (1.0,)), (((1, 0),), (0,)), (((1.5, 0),), (1.0,))):
        with pytest.raises(BadNoise):
            DirectedLaplace(columns, scales, 1)


def test_delta_is_converted_and_other_budgets_are_refused():
    made = fugu.calibrate(Shifted((1, 2)), Approx(1, 1e-3), method="anisotropic-laplace")
    assert made.certificate.proved["delta"] == 0
    with pytest.raises(NotProvable):
        fugu.calibrate(Shifted((1, 2)), fugu.Renyi(2, 1), method="anisotropic-laplace")
    with pytest.raises(NotProvable, match=r"fugu\.Shifted"):
        fugu.calibrate(Shifted(3), Pure(1), method="anisotropic-laplace")


def test_errors_of_the_noise_are_those_of_its_draws():
    noise = DirectedLaplace(((1, 0), (0, 1)), (3.0, 9.0), Fraction(1, 2))
    drawn = (
        noise.move(np.zeros((200_000, noise.dimension), dtype=int), fugu.noise.bits.RngBits(np.random.default_rng(1)))
        * 0.5
    )
    assert np.abs(drawn).sum(axis=1).mean() == pytest.approx(noise.expected_error(), rel=0.02)
    assert (drawn**2).sum(axis=1).mean() == pytest.approx(noise.expected_error("squared"), rel=0.03)
    for k, half in enumerate(noise.each_quantile(0.9)):
        assert 0.9 <= (np.abs(drawn[:, k]) <= half).mean() < 0.93
    assert laplace_length([1.0] * 5) == pytest.approx(2.8634, abs=2e-3)


@search("directed Laplace noise against the ratio on the lattice", quick=30)
def test_no_shift_loses_more_than_stated(rng):
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    vectors = [tuple(int(x) for x in rng.integers(-3, 4, d)) for _ in range(k)]
    basis = whole_basis(vectors)
    if not basis or len(basis) > 2 or d < 2:
        return 0
    noise = DirectedLaplace(basis, [float(x) for x in rng.uniform(0.5, 6, len(basis))], 1)
    for v in vectors:
        loss = noise.loss(v)
        assert loss is not None  # every vector is a whole combination of the basis
        if any(v):
            z = [abs(int(x)) for x in noise.along(v)]
            if max(z) <= 14:
                assert level(noise, v) <= float(loss) * (1 + 1e-9)
    return 1
