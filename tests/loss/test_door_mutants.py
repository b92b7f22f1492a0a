"""The door to losses: every item, every pair, every order is held against the budget; what is left out is charged."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import fugu
from fugu import (
    Approx,
    Discrete,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LawPair,
    MultivariateNormal,
    Normal,
    Pure,
    Renyi,
    RenyiCurve,
    Shifted,
)
from fugu.errors import NotProvable
from fugu.guarantee.asks import PairLoss
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.laws.shapes import shapes
from fugu.loss.door import bound, divergence_bounds, leakage
from fugu.loss.leakage import steps_below
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers.exact import as_fraction

NEAR = LawPair(Discrete([0, 1], [1, 1]), Discrete([0, 1], [2, 3]), "near")
FAR = LawPair(Shifted(0), Shifted(9), "far")


def steps(*pairs):
    return tuple(item.on(Lattice(Fraction(1))) for item in shapes(pairs))


@pytest.mark.parametrize("budget", [Pure(0.5), Approx(0.5, 0.01), Renyi(3, 0.5)], ids=str)
@pytest.mark.parametrize("noise", [Laplace(4, 1), Gaussian(6, 1)], ids=["laplace", "gaussian"])
def test_every_item_counts(budget, noise):
    near, far = steps(NEAR), steps(FAR)
    assert bound(near, noise, budget.asks()).holds
    for items in (near + far, far + near):
        proof = bound(items, noise, budget.asks())
        assert not proof.holds and proof.worst_pair == "far"


def test_every_order_counts_and_the_tightest_is_stated():
    items, noise = steps(LawPair(Shifted(0), Shifted(3), "shift")), Laplace(4, 1)
    low, high = (divergence_bounds(items[0], noise, Fraction(a))[0].value for a in (2, 20))
    for orders, tight in (
        ({2: low * 1.01, 20: high * 1.2}, low),
        ({2: low * 1.2, 20: high * 1.01}, high),
    ):
        proof = bound(items, noise, RenyiCurve(orders).asks())
        assert proof.holds and proof.epsilon == tight
    for orders in ({2: low * 0.99, 20: high * 1.2}, {2: low * 1.2, 20: high * 0.99}):
        assert not bound(items, noise, RenyiCurve(orders).asks()).holds
        found = fugu.calibrate(Shifted(3), RenyiCurve(orders))
        assert fugu.verify(found).holds


def test_an_order_that_asks_for_nothing_but_equal_laws_cannot_be_met():
    with pytest.raises(NotProvable, match="no finite noise"):
        fugu.calibrate(Shifted(3), RenyiCurve({2: 0, 8: 1}))


def test_events_that_are_left_out_are_charged():
    """3/10 of the mass is 40 steps away: given the likely events nothing is lost, and they cost their delta."""
    pair = LawPair(Discrete([0, 40], [7, 3]), Discrete([0], [1]), "tail")
    for items in (steps(pair), steps(LawPair(*(Discrete([[x, 0] for x in law.values], list(law.weights))
                                                 for law in (pair.p, pair.q)), "tail"))):  # fmt: skip
        for noise in (Laplace(2, 1), Gaussian(3, 1)):
            assert not bound(items, noise, Renyi(2, 0.5).asks()).holds
            enough, short = (bound(items, noise, Renyi(2, 0.5, d).asks()) for d in (0.3, 0.16))
            assert enough.holds and enough.delta >= 0.3
            assert not short.holds


def test_pairs_that_need_no_events_are_charged_nothing_and_excuse_no_other():
    wide = LawPair(Discrete([0, 1, 40], [5, 2, 3]), Discrete([0, 1, 40], [7, 3, 0]), "wide")
    near, both = steps(NEAR), steps(NEAR, wide)
    assert len(both) == 1 and len(both[0].pairs) == 2
    assert bound(near, Laplace(3, 1), Renyi(2, 0.5, 0.3).asks()).delta == 0
    found = bound(both, Laplace(3, 1), Renyi(2, 0.5, 0.3).asks())
    assert found.holds and found.delta >= 0.3
    assert not bound(both, Laplace(3, 1), Renyi(2, 0.5, 0.1).asks()).holds


@pytest.mark.parametrize(
    "pair",
    [
        NEAR,
        LawPair(Normal(0, 1), Normal(3, 1)),
        LawPair(*(MultivariateNormal([m, 0], [[1, 0], [0, 1]]) for m in (0, 3))),
    ],
    ids=["atoms", "normal", "vectors"],
)
def test_gaussian_noise_bounds_no_ratio(pair):
    for noise in (Gaussian(5, Fraction(1, 16)), Gaussian(5)):
        assert fugu.epsilon(noise, pair) > 0.1
        assert fugu.delta(noise, pair, 0) > 0.001
    assert fugu.epsilon(Gaussian(5, 1), FAR) == math.inf
    items = shapes([pair]) if isinstance(pair.p, MultivariateNormal) else steps(pair)
    assert not bound(items, Gaussian(5, 1), Pure(0.01).asks()).holds


def test_correlated_noise_bounds_no_ratio():
    pair = LawPair(*(MultivariateNormal([m, 0], [[1, 0], [0, 1]]) for m in (0, 3)), "means")
    noise = CorrelatedGaussian(8.0, (), (), Fraction(1, 4), 2)
    assert fugu.epsilon(noise, pair) == math.inf
    with pytest.raises(NotProvable, match="no pure guarantee"):
        bound(shapes([pair]), noise, Pure(9).asks())
    tight = fugu.delta(noise, pair, 0.1)
    assert bound(shapes([pair]), noise, Approx(0.1, tight).asks()).holds
    assert not bound(shapes([pair]), noise, Approx(0.1, tight * 0.99).asks()).holds


@pytest.mark.parametrize("scale", [0.5, 2, 7])
def test_gaussian_noise_on_normal_vectors_has_the_loss_of_the_sum_of_variances(scale):
    """Both covariances are 2 I, so the divergence is alpha |d|^2 / 2 (2 + scale^2), and so is that of one number."""
    pair = LawPair(*(MultivariateNormal([m, 0], [[2, 0], [0, 2]]) for m in (0, 3)))
    one = LawPair(Normal(0, math.sqrt(2 + scale**2)), Normal(3, math.sqrt(2 + scale**2)))
    assert fugu.renyi(Gaussian(scale), pair, 3) == pytest.approx(3 * 9 / (2 * (2 + scale**2)), rel=1e-12)
    assert fugu.delta(Gaussian(scale), pair, 0.5) == pytest.approx(fugu.delta(Gaussian(0), one, 0.5), rel=1e-6)
    assert fugu.delta(Gaussian(scale, Fraction(1, 8)), pair, 0.5) >= fugu.delta(Gaussian(scale), pair, 0.5)


def test_no_noise_leaks_what_the_laws_leak():
    items = steps(LawPair(Discrete([0, 1], [1, 1]), Discrete([0, 1], [1, 3]), "x"))
    for noise in (Laplace(0, 1), Gaussian(0, 1)):
        assert bound(items, noise, Approx(0, 0.25).asks()).holds
        assert not bound(items, noise, Approx(0, 0.2).asks()).holds


def test_cauchy_noise_is_held_against_every_pair():
    a, b, c = (Discrete([0, 1, 9], w) for w in ([3, 2, 1], [2, 3, 1], [1, 1, 9]))
    (item,) = steps(LawPair(a, b, "near"), LawPair(a, c, "far"), LawPair(b, b, "same"))
    found = divergence_bounds(item, GeneralizedCauchy(2), Fraction(2))
    each = [fugu.renyi(GeneralizedCauchy(2), pair, 2) for pair in (LawPair(a, b), LawPair(a, c))]
    assert [loss.value for loss in found] == pytest.approx([*each, 0.0]) and each[1] > 5 * each[0] > 0
    budget = Renyi(2, each[0] * 1.01).asks()
    assert not bound((item,), GeneralizedCauchy(2), budget).holds


def test_laws_known_up_to_an_error_are_settled_by_no_coupling():
    """Two points at the plain Laplace scale lose exactly epsilon; with an error of the laws nothing is known."""
    points = steps(LawPair(Discrete([0]), Discrete([1]), "points"))[0]
    assert bound((points,), Laplace(3, 1), Pure(Fraction(1, 3)).asks()).holds
    blurred = Family(points.points, points.laws, points.pairs, points.labels, errors=(1e-9, 0.0))
    with pytest.raises(NotProvable, match="total variation"):
        bound((blurred,), Laplace(3, 1), Pure(Fraction(1, 3)).asks())
    assert isinstance(points.laws[0], Masses)


def test_lattice_noise_is_held_against_rounded_laws():
    """On a grid of 4 the two normal laws round to different points; on a fine grid they overlap."""
    pair = LawPair(Normal(1.9, 0.05), Normal(2.1, 0.05))
    assert fugu.delta(Gaussian(6, 4), pair, 0.1) > 3 * fugu.delta(Gaussian(6, Fraction(1, 16)), pair, 0.1)


@pytest.mark.parametrize(("shape", "noise"), [("space", "cauchy"), ("normal", "laplace")])
def test_a_noise_without_a_bound_is_refused_with_what_there_is(shape, noise):
    with pytest.raises(NotProvable, match=r"for them there is .*gaussian"):
        leakage(shape, noise)


def test_scales_in_other_units_are_never_rounded_up():
    """A larger scale loses less: the loss of a scale that is above the true one would be no bound."""
    for k in range(1, 60):
        scale, unit = k / 7, Fraction(3, 10 * k + 1)
        assert Fraction(steps_below(scale, unit)) <= as_fraction(scale) / unit
        assert steps_below(scale, unit) == pytest.approx(float(as_fraction(scale) / unit), rel=1e-15)


@pytest.mark.parametrize("name", ["pure", "delta", "divergence"])
@pytest.mark.parametrize("shape", ["line", "space", "smooth", "normal"])
def test_nothing_holds_because_nothing_was_looked_at(name, shape, monkeypatch):
    """A wrong version: an entry of the table that leaves a pair out."""
    pairs = {
        "line": fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1, 2])),
        "space": fugu.LawPair(fugu.Discrete([[0, 0], [1, 1]]), fugu.Discrete([[0, 1], [1, 1]])),
        "smooth": fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2)),
        "normal": fugu.LawPair(*(fugu.MultivariateNormal([k, 0], [[1, 0], [0, 1]]) for k in (0, 1))),
    }
    budget = {"pure": fugu.Pure(1), "delta": fugu.Approx(0.01, 1e-3), "divergence": fugu.Renyi(2, 0.5)}[name]
    noise = "gaussian" if shape == "normal" else "laplace"
    items = shapes([pairs[shape]])
    known = leakage(shape, noise)
    monkeypatch.setattr(type(known), name, lambda *_: [])
    if name == "delta":
        monkeypatch.setattr(type(known), "pure", lambda self, item, *_: [PairLoss("", math.inf)] * item.differing)
    drawn = (fugu.Gaussian if shape == "normal" else fugu.Laplace)(5, 1)
    with pytest.raises(NotProvable, match="not looked at"):
        bound([item.on(Lattice(Fraction(1))) for item in items], drawn, budget.asks())
