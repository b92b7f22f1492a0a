"""Nothing becomes a mechanism without its proof: every family, every pair, compared in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fugu import Approx, Discrete, Laplace, LawPair, Pure, Shifted, calibrate, verify
from fugu.calibration.lattice import problem
from fugu.calibration.registry import Proposal, named
from fugu.calibration.scales import ScaleOffer
from fugu.errors import NotProvable
from fugu.laws.items import shapes
from fugu.loss.door import bound
from fugu.mechanism.context import Context

PAIR = LawPair(Discrete([0, 1, 4], [5, 3, 2]), Discrete([0, 1, 4], [2, 3, 5]), "a vs b")


def stated(pairs, budget=Pure(1)):
    return problem(shapes(pairs), budget.asks(), Laplace, 1)


def lattice(pairs):
    return stated(pairs).items


def prove(items, noise, budget):
    return bound(items, noise, budget.asks())


@pytest.mark.parametrize("budget", [Pure(0.4), Approx(0.4, 0.01)], ids=str)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
def test_a_proposal_that_is_too_small_is_refused(budget, share):
    enough = float(calibrate(PAIR, budget).noise.scale)
    (exact,) = [m for m in named("exact") if m.suits(lattice([PAIR]), budget.asks(), Laplace)]

    def offer(steps):
        return ScaleOffer(Laplace, stated([PAIR], budget), exact, Proposal(steps), {})

    noise, proof = offer(enough).proved(budget.asks())
    assert proof.holds and noise.scale == pytest.approx(enough)
    assert not offer(share * enough).proved(budget.asks())[1].holds
    with pytest.raises(NotProvable, match="'a vs b'"):
        offer(share * enough).mechanism(budget, budget.asks(), Context())


@pytest.mark.parametrize("budget", [Pure(0.4), Approx(0.4, 0.01)], ids=str)
def test_a_family_that_is_not_the_first_must_hold_too(budget):
    noise = Laplace(calibrate(PAIR, budget).noise.scale, 1)
    shift, far = lattice([LawPair(Shifted(0), Shifted(1))]), lattice([LawPair(Shifted(0), Shifted(9), "far")])
    assert prove(shift + lattice([PAIR]), Laplace(20, 1), budget).holds
    assert not prove(shift + far, noise, budget).holds
    assert prove(shift + far, noise, budget).worst_pair == "far"
    assert not prove(far + shift, noise, budget).holds


def test_one_coupled_pair_excuses_no_other():
    """Two points at the plain Laplace scale are settled by coupling; the pair beside them is not."""
    point = LawPair(Discrete([0]), Discrete([1]), "points")
    wide = LawPair(Discrete([0, 9]), Discrete([0, 9], [1, 9]), "wide")
    assert prove(lattice([point]), Laplace(2, 1), Pure(0.5)).holds
    for pairs in ([point, wide], [wide, point]):
        assert not prove(lattice(pairs), Laplace(2, 1), Pure(0.5)).holds


def test_a_delta_that_is_met_exactly_is_met():
    family = lattice([LawPair(Discrete([0, 1], [1, 1]), Discrete([0, 1], [1, 3]))])
    silent = Laplace(0, 1)
    assert prove(family, silent, Approx(0, 0.25)).holds
    assert not prove(family, silent, Approx(0, Fraction(1, 4) - Fraction(1, 10**30))).holds


def test_a_delta_of_one_tenth_is_not_its_double():
    """The two laws are 0.1 apart as a double, which is above 1/10, and 0.1 means 1/10."""
    half, double = Fraction(1, 2), Fraction(0.1)
    moved = Discrete([0, 1], [half + double, half - double])
    family = lattice([LawPair(Discrete([0, 1]), moved)])
    assert double > Fraction(1, 10)
    assert not prove(family, Laplace(0, 1), Approx(0, 0.1)).holds
    assert prove(family, Laplace(0, 1), Approx(0, double)).holds


def test_epsilon_is_compared_in_exact_numbers():
    family, noise = lattice([PAIR]), Laplace(3, 1)
    bound = Fraction(prove(family, noise, Pure(0)).epsilon)
    assert prove(family, noise, Pure(bound)).holds
    assert not prove(family, noise, Pure(bound - Fraction(1, 10**40))).holds


def test_values_that_rounding_alone_makes_alike_are_still_rounded():
    """On a grid of 1 the laws are one law, so no noise is needed; the values themselves would tell them apart."""
    pair = LawPair(Discrete([0.0, 0.1, 3.0]), Discrete([0.0, 0.2, 3.0]))
    mechanism = calibrate(pair, Pure(0.5), grid=1)
    assert mechanism.noise.scale == 0 and mechanism.lattice.grid == 1
    assert mechanism.release(np.array([0.1, 0.2, 3.0]), allow_no_noise=True).values.tolist() == [0, 0, 3]
    assert verify(mechanism).holds and verify(mechanism, pair).holds


def test_the_proved_figures_are_at_or_above_what_is_lost():
    """Two points at the plain Laplace scale lose exactly 1/3, and the double nearest to 1/3 is below it."""
    exact = calibrate(LawPair(Discrete([0]), Discrete([1])), Pure(Fraction(1, 3)))
    assert exact.noise.scale == 3
    assert Fraction(exact.certificate.proved["epsilon"]) >= Fraction(1, 3)
