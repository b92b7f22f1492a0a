"""Gaussian fields through every door: `translate`, `influence`, `dp_budget`, budgets of every kind, refusals."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import ZCDP, Approx, GaussianField, Pure, Renyi, RenyiCurve
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.curve import budget_from, budget_json
from fugu.ledger.fingerprint import prior_digest
from fugu.priors.gaussian_field import FieldInfluence

FIELD = GaussianField.ar1(6, 0.5, width=0.2)
CHAIN = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=5)


def test_every_language_of_divergences_agrees():
    """b = 1 is best here: rho + w^2 (2/3) / 2, and at each order that times the order."""
    rho = 0.01 + 0.04 / 3
    assert fugu.translate(FIELD, ZCDP(0.01)).rho == pytest.approx(rho)
    curve = fugu.translate(FIELD, RenyiCurve({2: 0.02, 8: 0.08}))
    assert type(curve) is RenyiCurve and curve(8) == pytest.approx(8 * rho)
    one = fugu.translate(FIELD, Renyi(2, 0.02))
    assert type(one) is Renyi and one.epsilon == pytest.approx(2 * rho)
    assert curve <= fugu.translate(FIELD, Renyi(8, 0.08))


def test_groups_are_used_where_they_are_better():
    """Nearly equal entries: all of them near, n^2 rho; a curve of few orders knows one entry only, zCDP all."""
    equal = GaussianField([[1, 0.999], [0.999, 1]], width=1)
    assert fugu.translate(equal, ZCDP(0.01)).rho == 0.04
    short, long = RenyiCurve({2: 0.02}), RenyiCurve({2: 0.02, 3: 0.03, 4: 0.04})
    assert fugu.translate(equal, short)(2) > 400 and fugu.translate(equal, long)(2) == pytest.approx(0.08)


def test_old_calls_work_as_before_and_a_width_is_part_of_the_belief():
    bare = GaussianField.ar1(4, 0.5)
    assert bare.width is None and bare.zcdp(0.01, 0.1) == bare.of_width(0.1).zcdp(0.01)
    assert bare.rho_budget(0.5, 0.3) == bare.of_width("0.3").rho_budget(0.5)
    assert prior_digest(bare) != prior_digest(bare.of_width(0.1)) != prior_digest(bare.of_width(0.2))
    assert "0.1 apart" in bare.of_width(0.1).assumptions[1] and len(bare.assumptions) == 1
    again = pickle.loads(pickle.dumps(bare.of_width(0.1)))
    assert again.width == Fraction(1, 10) and again.zcdp(0.01) == bare.zcdp(0.01, 0.1)
    for ask in (lambda: fugu.translate(bare, ZCDP(1)), lambda: fugu.influence(bare), lambda: bare.zcdp(1)):
        with pytest.raises(UsageError, match="width of its secrets"):
            ask()
    for wrong in (0, -1, math.inf, math.nan, "wide"):
        with pytest.raises(UsageError, match="width"):
            GaussianField([[1]], width=wrong)


def test_influence_is_infinite_as_ratios_and_finite_in_zcdp():
    found = fugu.influence(FIELD)
    assert isinstance(found, FieldInfluence) and found(1) == math.inf and found(6) == 0
    assert found.rho(1) == pytest.approx(0.04 / 3) and found.rhos[-1] == (6, 0)
    assert all(a >= b for (_, a), (_, b) in zip(found.rhos, found.rhos[1:], strict=False))
    for b, rho in found.rhos:
        assert fugu.translate(FIELD, ZCDP(0.01)).rho <= (b * b * 0.01 + rho) * (1 + 1e-12)
    assert "rho(b)" in str(found.plot()._repr_html_()) and "rho, at most" in found._repr_html_()
    lone = GaussianField(np.eye(3), width=1)
    assert fugu.influence(lone)(1) == 0 and fugu.translate(lone, ZCDP(0.1)).rho == 0.1


def test_pure_is_refused_with_the_reason_and_a_way_out():
    for ask in (0.1, Pure(0.1), Renyi(math.inf, 0.1), RenyiCurve({math.inf: 0.1})):
        with pytest.raises(NotProvable, match=r"Theorem 9.*DependentGroups\(6\) gives 6 epsilon"):
            fugu.translate(FIELD, ask)
    for ask in (1, Pure(1), Approx(1, 0)):
        with pytest.raises(NotProvable, match="Theorem 9"):
            fugu.dp_budget(FIELD, ask)
    assert fugu.translate(fugu.DependentGroups(6), 0.1) == pytest.approx(0.6)


def test_epsilon_and_delta_need_a_delta_for_what_is_seen():
    with pytest.raises(UsageError, match="say which delta"):
        fugu.translate(FIELD, Approx(0.1, 1e-7))
    found = fugu.translate(FIELD, Approx(0.1, 1e-7), delta=1e-5)
    assert found.delta == 1e-5 and 0.1 < found.epsilon <= 0.6
    assert fugu.translate(FIELD, Approx(0.1, 0), delta=1e-5).epsilon < found.epsilon
    with pytest.raises(NotProvable, match="above the delta of the answer"):
        fugu.translate(FIELD, Approx(0.1, 1e-4), delta=1e-5)
    equal = GaussianField([[1, 1], [1, 1]], width=1)  # both near: delta (1 + e^epsilon)
    assert fugu.translate(equal, Approx(1, 2e-6), delta=1e-5) == Approx(2, 1e-5)
    with pytest.raises(NotProvable, match="above the delta of the answer"):
        fugu.translate(equal, Approx(1, 4e-6), delta=1e-5)
    with pytest.raises(NotProvable, match="Theorem 9"):
        fugu.translate(FIELD, Approx(0.1, 0), delta=0)
    with pytest.raises(NotProvable, match="use Approx"):
        fugu.translate(FIELD, RenyiCurve({2: 0.1}, 1e-6))
    with pytest.raises(UsageError, match="dp must be a number"):
        fugu.translate(FIELD, "0.1")


def test_several_fields_and_fields_beside_chains():
    wide = FIELD.of_width(0.4)
    both = fugu.translate([FIELD, wide], ZCDP(0.01))
    assert both == fugu.translate(fugu.IndependentBlocks(FIELD, wide), ZCDP(0.01)) == fugu.translate(wide, ZCDP(0.01))
    mixed, alone = fugu.translate({"a": FIELD, "b": CHAIN}, ZCDP(0.01)), fugu.translate(CHAIN, ZCDP(0.01))
    assert all(mixed(a) >= max(alone(a), fugu.translate(FIELD, ZCDP(0.01))(a)) * (1 - 1e-12) for a in (2, 8, 64))
    assert fugu.dp_budget([FIELD, wide], ZCDP(0.1)).rho == fugu.dp_budget(wide, ZCDP(0.1)).rho
    with pytest.raises(UsageError, match="ask for each prior by itself"):
        fugu.dp_budget([FIELD, CHAIN], ZCDP(0.1))
    assert fugu.dp_budget(FIELD, ZCDP(1e-9)).rho == pytest.approx(1e-9 / 36)  # all near: nothing is seen
    with pytest.raises(NotProvable, match="give a larger budget"):
        fugu.dp_budget(FIELD, ZCDP(0))


def test_other_priors_take_a_zcdp_as_a_curve_of_all_orders():
    """A listed curve says nothing of groups at its last order; zCDP does."""
    listed = RenyiCurve({a: 0.01 * a for a in (1.5, 2, 4, 8, 16, 32, 64)})
    found, few = fugu.translate(CHAIN, ZCDP(0.01)), fugu.translate(CHAIN, listed)
    assert all(found(a) <= few(a) * (1 + 1e-12) for a in (2, 16, 64)) and found(1.5) < few(1.5) * 0.995
    assert fugu.dp_budget(CHAIN, Pure(1)) == Pure(fugu.dp_budget(CHAIN, 1))
    with pytest.raises(BadBudget, match="or Pure"):
        fugu.dp_budget(CHAIN, Approx(1, 1e-6))


def test_one_number_for_all_orders():
    z = ZCDP(0.25)
    assert z(3) == 0.75 and z(math.inf) == math.inf and z.divergence_at(Fraction(5, 2)) == Fraction(5, 8)
    assert z <= RenyiCurve({2: 0.5, 100: 25}) and not z <= RenyiCurve({100: 24.9})
    assert not RenyiCurve({a: 0.25 * a for a in (1.5, 2, 4, 8, 1000)}) <= z
    assert Pure(0.5) <= ZCDP(0.125) and not Pure(0.5) <= ZCDP(0.1249)
    assert ZCDP(0) == Pure(0) and ZCDP(0).to_approx(1e-9).epsilon == 0 and ZCDP(0).delta_at(0) == 0
    assert Approx(1, 1e-6).zcdp is None and RenyiCurve({2: 1}).zcdp is None and Pure(2).zcdp == 2
    assert budget_from(budget_json(z)) == z and type(budget_from(budget_json(z))) is ZCDP
    assert copy.copy(z) == z == pickle.loads(pickle.dumps(z)) and hash(z) == hash(ZCDP(Fraction(1, 4)))
    for wrong in (-1, math.inf, math.nan, "1", None):
        with pytest.raises(BadBudget, match="rho"):
            ZCDP(wrong)
    with pytest.raises(NotProvable, match="RenyiCurve"):
        fugu.calibrate(fugu.Shifted(1), z)
    with pytest.raises(NotProvable, match="RenyiCurve"):
        fugu.iterate.NoisySGD(10, 0.5, 1, 1, noise=1).for_budget(z)


@pytest.mark.parametrize("rho", [1e-4, 0.03, 2])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_the_conversion_is_no_worse_than_the_best_closed_form(rho, delta):
    """And never below the Gaussian with this rho, which is zCDP and has an exact curve."""
    from fugu.guarantee import balle
    from fugu.loss.shifts import gaussian_delta

    found = ZCDP(rho).to_approx(delta).epsilon
    best = min(balle(1 + float(x), rho * (1 + float(x)), delta) for x in np.geomspace(1e-2, 1e6, 400))
    assert found <= best * (1 + 1e-9) and gaussian_delta(found, math.sqrt(2 * rho)) <= delta
    assert ZCDP(rho).delta_at(found) <= delta * (1 + 1e-2)


def test_a_budget_of_next_to_no_epsilon_is_answered():
    """Its first guess is 0 in doubles, of which no larger one is made by multiplying: the search did not end."""
    field = GaussianField.ar1(2, 0.5, width=0.2)
    small = fugu.dp_budget(field, Approx(1e-20, 1e-6))
    assert small.rho > 0 and fugu.translate(field, small) <= Approx(1e-20, 1e-6)
