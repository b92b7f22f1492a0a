"""Nothing becomes a mechanism without its proof: every family, every pair, compared in exact numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fugu import (
    Approx,
    Discrete,
    GeneralizedCauchy,
    Laplace,
    LawPair,
    Normal,
    Pure,
    Renyi,
    Shifted,
    calibrate,
    compare,
    renyi,
    verify,
)
from fugu.calibration import offer as registry
from fugu.calibration.driver import rows_of
from fugu.calibration.lattice import problem
from fugu.calibration.offer import Proposal, named
from fugu.calibration.scales import Scaled
from fugu.errors import NotProvable
from fugu.laws.shapes import shapes
from fugu.loss.door import bound
from fugu.mechanism.intake import Context
from fugu.numbers.exact import decimal_up

PAIR = LawPair(Discrete([0, 1, 4], [5, 3, 2]), Discrete([0, 1, 4], [2, 3, 5]), "a vs b")


def stated(pairs, budget=Pure(1)):
    return problem(shapes(pairs), budget.asks(), Laplace, Fraction(1))


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
        return Scaled(Laplace, stated([PAIR], budget), exact, Proposal(steps), {})

    noise, proof = offer(enough).proved(budget.asks())
    assert proof.holds and noise.scale == pytest.approx(enough)
    assert not offer(share * enough).proved(budget.asks())[1].holds
    with pytest.raises(NotProvable, match="'a vs b'"):
        offer(share * enough).tried(budget.asks(), Context()).mechanism(budget)


def test_a_proposal_a_little_short_of_the_cap_is_made_up_for():
    """Two values are 4 steps apart: a cap of 1/10 needs a scale of 40, whatever else is proved below it."""
    (exact,) = [m for m in named("exact") if m.suits(lattice([PAIR]), Pure(5).asks(), Laplace)]
    short = Scaled(Laplace, stated([PAIR], Pure(5)), exact, Proposal(40 * (1 - 1e-7)), {}, cap=Fraction(1, 10))
    noise, proof = short.proved(Pure(5).asks())
    assert proof.holds and 40 <= noise.scale < 40.001
    with pytest.raises(NotProvable, match="too small for the cap"):
        replace(short, proposal=Proposal(39.9)).tried(Pure(5).asks(), Context())


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


def replaced(monkeypatch, **finds):
    """The registry with other ways to find a scale under the names given."""
    listed = tuple(replace(m, find=finds[m.name]) if m.name in finds else m for m in registry.methods())
    monkeypatch.setattr(registry, "methods", lambda: listed)


def short(item, ask, kind):
    return Proposal(0.01)


@pytest.mark.parametrize("budget", [Pure(0.4), Approx(0.4, 0.01), Renyi(2, 0.1)], ids=str)
def test_methods_that_another_beats_are_tried_where_that_one_is_not_proved(monkeypatch, budget):
    best = calibrate(PAIR, budget, noise="laplace").certificate
    assert best.method == "exact" and "wasserstein" not in best.scales
    replaced(monkeypatch, exact=short)
    other = calibrate(PAIR, budget, noise="laplace")
    assert other.certificate.method not in ("exact", "l1") and verify(other).holds
    rows = {row.method: row for row in compare(PAIR, budget).rows if row.noise == "laplace"}
    assert not rows["exact"].proven and rows["wasserstein"].proven


def test_a_row_below_the_proved_scale_is_proved_by_itself_or_not_at_all(monkeypatch):
    replaced(monkeypatch, wasserstein=short)
    rows = {row.method: row for row in compare(PAIR, Pure(0.4)).rows}
    assert rows["exact"].proven and rows["l1"].proven and not rows["wasserstein"].proven


def test_a_row_is_proved_for_all_laws_or_for_none():
    budget, pairs = Pure(0.4), [LawPair(Shifted(0), Shifted(1)), LawPair(Shifted(0), Shifted(9))]
    for order in (pairs, pairs[::-1]):
        where = problem(shapes(order), budget.asks(), Laplace, Fraction(1))
        (exact,) = [m for m in named("exact") if m.suits(where.items, budget.asks(), Laplace)]
        found = [Scaled(Laplace, where, exact, Proposal(d / 0.4), {}).row(budget.asks()).proven for d in (1, 9)]
        assert found == [False, True]


def test_a_scale_on_one_lattice_proves_none_on_another():
    """A coarse lattice may tell apart what a fine one does not: 1.9 and 2.1 become 0 and 4 there."""
    budget = Pure(0.05)
    pair = LawPair(Discrete([0, 1.9, 4], [1, 20, 1]), Discrete([0, 2.1, 4], [1, 20, 1]), "x")
    ask, wide = budget.asks(), Fraction(4)
    places = [problem(shapes([pair]), ask, Laplace, grid) for grid in (Fraction(1, 10), wide)]
    (exact,), (l1,) = ([m for m in named(name) if m.suits(places[0].items, ask, Laplace)] for name in ("exact", "l1"))
    fine = exact.propose(places[0].items, ask, Laplace)
    scale = 1.5 * fine.steps / 10
    offers = [
        Scaled(Laplace, places[0], exact, fine, {}),
        Scaled(Laplace, places[1], l1, Proposal(scale / 4), {}),
    ]
    assert not bound(places[1].items, Laplace(scale, wide), ask).holds
    assert [row.proven for row in rows_of(offers, ask)] == [True, False]


@pytest.mark.parametrize("budget", [Pure(0.4), Approx(0.4, 0.01), Renyi(2, 0.1)], ids=str)
def test_the_scale_is_that_of_the_laws_that_need_most(budget):
    near, far = LawPair(Shifted(0), Shifted(1)), LawPair(Shifted(0), Shifted(9))
    alone = calibrate(far, budget).noise.scale
    for pairs in ([near, far], [far, near]):
        found = calibrate(pairs, budget)
        assert found.noise.scale == pytest.approx(alone, rel=1e-3) and verify(found, far).holds


def test_methods_for_atoms_are_not_tried_on_half_of_the_laws():
    mixed = [PAIR, LawPair(Normal(0, 1), Normal(1, 1), "normal")]
    atoms = [m for m in registry.methods() if m.finite and m.shapes == ("line",) and "laplace" in m.noises]
    assert atoms
    for method in atoms:
        assert not method.suits(shapes(mixed), Renyi(2, 1).asks(), Laplace)
        assert method.suits(shapes(mixed[:1]), Renyi(2, 1).asks(), Laplace)
    mechanism = calibrate(mixed, Approx(0.5, 0.01))
    assert mechanism.support is None  # a normal value is not moved to the atoms of the others
    assert verify(mechanism, mixed).holds


@pytest.mark.parametrize("grid", ["1/8", 2])
def test_noise_that_is_not_drawn_is_proved_in_the_unit_of_its_lattice(grid):
    pair = LawPair(Discrete([0, 2, 8], [5, 3, 2]), Discrete([0, 2, 8], [2, 3, 5]))
    scales_found = [float(calibrate(pair, Renyi(2, 0.1), noise="cauchy", grid=g).noise.scale) for g in (grid, 1)]
    assert scales_found[0] == pytest.approx(scales_found[1], rel=1e-6)
    assert renyi(GeneralizedCauchy(scales_found[0]), pair, 2) == pytest.approx(0.1, rel=1e-6)


def test_a_proposal_a_little_short_is_made_up_for():
    budget = Pure(0.4)
    enough = float(calibrate(PAIR, budget).noise.scale)
    (exact,) = [m for m in named("exact") if m.suits(lattice([PAIR]), budget.asks(), Laplace)]
    offer = Scaled(Laplace, stated([PAIR], budget), exact, Proposal(enough * (1 - 1e-7)), {})
    found = offer.tried(budget.asks(), Context()).mechanism(budget)
    assert enough <= found.noise.scale <= enough * (1 + 1e-5) and verify(found).holds


def test_noise_of_more_steps_than_are_drawn_is_refused():
    with pytest.raises(NotProvable, match="cannot be drawn"):
        calibrate(LawPair(Discrete([0]), Discrete([1])), Pure(1e-17), grid=1)


def test_the_least_error_is_chosen():
    for objective in ("absolute", "squared"):
        best = calibrate(PAIR, Approx(0.4, 0.01), objective=objective)
        for noise in ("laplace", "gaussian"):
            named_one = calibrate(PAIR, Approx(0.4, 0.01), noise=noise, objective=objective)
            assert best.expected_error(objective) <= named_one.expected_error(objective)


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 0.3])
def test_translates_get_the_plain_laplace_scale_to_the_digit(epsilon):
    """W_inf / epsilon is the exact root; the end of a search would be a digit above it."""
    masses = [1, 4, 6, 4, 1]
    pair = LawPair(Discrete(range(5), masses), Discrete(range(1, 6), masses), "one more")
    other = LawPair(Discrete(range(5), masses), Discrete(range(5), [2, 4, 6, 4, 2]), "near")
    assert calibrate(pair, Pure(epsilon)).noise.scale == float(decimal_up(1 / epsilon, 10))
    assert calibrate([other, pair], Pure(epsilon)).noise.scale == calibrate(pair, Pure(epsilon)).noise.scale
