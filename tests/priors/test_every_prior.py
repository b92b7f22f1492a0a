"""What holds for every prior in `priors/` and `training/`: a new file is found here by itself, by its `example`."""

from __future__ import annotations

import copy
import importlib
import json
import math
import pickle
import pkgutil
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import fugu
import fugu_papers
from fugu.errors import NotProvable, UsageError
from fugu.ledger.fingerprint import prior_digest
from fugu.priors.chain import SeveralChains
from fugu.priors.correlated import Windowed
from fugu.priors.coupling import Coupled, DependentGroups, IndependentBlocks
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.joint import JointTable
from fugu.priors.prior import Belief, Curved, Prior, Quilted, Recorded, SeveralPriors, skipped
from fugu.training.accountant import prior_from, prior_of

BASES = (Belief, SeveralPriors, SeveralChains, Recorded, Coupled, Windowed)
OPTIONAL = ("opacus", "torch_objects")


def found():
    """The classes of priors that the two rooms define, and the papers."""
    for room in (fugu.priors, fugu.training, fugu_papers):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            if not module.name.endswith(OPTIONAL):
                here = vars(importlib.import_module(module.name)).values()
                yield from (x for x in here if isinstance(x, type) and x.__module__ == module.name)


CLASSES = [x for x in found() if issubclass(x, Belief) and x not in BASES]
PRIORS = [pytest.param(x.example(), id=x.__name__) for x in CLASSES]


def translates(prior):
    if isinstance(prior, fugu.GaussianField):  # its curve is one of divergences: no pure epsilon
        return False
    return isinstance(prior, Curved | Quilted | SeveralPriors | fugu.MarkovChain)


TRANSLATED = [p for p in PRIORS if translates(p.values[0])]
RECORDED = [p for p in PRIORS if isinstance(p.values[0], Recorded)]
TIED = [p for p in TRANSLATED if p not in RECORDED]
"""Entries say something about each other: a release is worth more than its epsilon for each entry, not less."""
COUPLED = [p for p in PRIORS if isinstance(p.values[0], Coupled)]


def test_the_rooms_hold_what_they_should():
    names = {x.__name__ for x in CLASSES}
    assert names >= {"MarkovChain", "ChainSet", "BayesianNetwork", "JointTable", "HiddenMarkov", "GaussianField"}
    assert names >= {"AR1", "Correlated", "TruncatedAR1", "Independent", "Groups", "WorstCase", "DependentGroups"}
    assert names >= {"IndependentBlocks", "Mixing", "Chained", "ContractingChains", "Joint", "Records"}
    for name in fugu.iterate.__all__:
        thing = getattr(fugu.iterate, name)
        assert not (isinstance(thing, type) and issubclass(thing, Belief)) or thing in CLASSES


@pytest.mark.parametrize("prior", PRIORS)
def test_it_says_what_it_is(prior):
    assert isinstance(prior, Prior) and type(prior.example()) is type(prior)
    assert prior.assumptions and all(line and "\n" not in line for line in prior.assumptions)
    assert prior.entries is None or prior.entries >= 1
    assert skipped(prior) == prior.skipped and isinstance(prior.skipped, tuple)
    assert "\n" not in repr(prior) and " at 0x" not in repr(prior) and len(repr(prior)) < 120
    assert repr(prior).startswith(type(prior).__name__)


@pytest.mark.parametrize("prior", PRIORS)
def test_frozen_means_frozen(prior):
    before = prior_digest(prior)
    for one in (prior, copy.copy(prior), copy.deepcopy(prior), pickle.loads(pickle.dumps(prior))):
        for name in (*vars(one), "assumptions", "anything"):
            with pytest.raises(FrozenInstanceError):
                setattr(one, name, 0)
            with pytest.raises(FrozenInstanceError):
                delattr(one, name)
        assert prior_digest(one) == before
        for name, value in vars(one).items():
            assert name.startswith("_") or not isinstance(value, list | dict | set), name
            for array in (x for x in (value if isinstance(value, tuple) else [value]) if isinstance(x, np.ndarray)):
                assert not array.flags.writeable, name


@pytest.mark.parametrize("prior", PRIORS)
def test_using_it_does_not_change_what_a_ledger_knows_it_by(prior):
    fresh, used = type(prior).example(), type(prior).example()
    if translates(used):
        fugu.translate(used, 0.3)
    assert prior_digest(fresh) == prior_digest(used)


@pytest.mark.parametrize("prior", TRANSLATED)
def test_its_curve_never_rises_and_ends_at_nothing(prior):
    curve = fugu.influence(prior)
    values = [curve(b) for b in range(1, curve.length + 1)]
    assert all(x >= y >= 0 for x, y in pairwise(values)) and values[-1] == 0
    capped = fugu.influence(prior, 1)
    assert capped(1) == values[0] and capped(curve.length) == 0


@pytest.mark.parametrize("prior", TIED)
def test_translation_lies_between_one_entry_and_the_group_and_below_the_curve(prior):
    curve = fugu.influence(prior)
    assert fugu.translate(prior, 0) == 0 and fugu.translate(prior, math.inf) == math.inf
    before = 0.0
    for epsilon in (0.01, 0.1, 0.5, 2.0):
        worth = fugu.translate(prior, epsilon)
        assert worth <= curve.length * epsilon * (1 + 1e-12) and worth > before
        assert epsilon <= worth or getattr(prior, "protect", "entries") == "hidden"  # seen through noise: may be less
        least = min(b * epsilon + curve(b) for b in range(1, curve.length + 1))
        assert worth <= least * (1 + 1e-12)
        assert fugu.translate(prior, fugu.Pure(epsilon)) == fugu.Pure(worth)
        assert fugu.translate(prior, fugu.Approx(epsilon, 0)) == fugu.Approx(worth, 0)
        assert fugu.translate(prior, fugu.Renyi(math.inf, epsilon)) == fugu.Renyi(math.inf, worth)
        assert fugu.translate([prior, prior], epsilon) == fugu.translate({"a": prior}, epsilon) == worth
        wide = fugu.translate(prior, fugu.Approx(epsilon, 1e-12))
        seen = getattr(prior, "protect", "entries") != "hidden"  # a hidden state may be worth less, delta too
        assert wide.epsilon <= least * (1 + 1e-12)
        assert not seen or (wide.delta >= 1e-12 and epsilon <= wide.epsilon)
        before = worth


@pytest.mark.parametrize("prior", TIED)
def test_the_budget_is_the_inverse_of_the_translation(prior):
    for epsilon in (0.1, 1.0, 3.0):
        own = fugu.dp_budget(prior, epsilon)
        assert own > 0 and fugu.translate(prior, own) <= epsilon
        assert own <= epsilon or getattr(prior, "protect", "entries") == "hidden"
        assert own in (epsilon, 100.0) or fugu.translate(prior, own * (1 + 1e-9)) > epsilon  # e^100 is the end


@pytest.mark.parametrize("prior", RECORDED)
def test_independent_records_are_worth_no_more_than_their_epsilon(prior):
    assert fugu.translate(prior, 0) == 0 and fugu.influence(prior).points == [(1, 0)]
    before = 0.0
    for epsilon in (0.01, 0.1, 0.5, 2.0):
        worth = fugu.translate(prior, epsilon)
        assert before < worth <= epsilon and worth <= fugu.translate(prior, math.inf)
        assert fugu.translate(prior, fugu.Pure(epsilon)) == fugu.Pure(worth)
        assert fugu.translate(prior, fugu.Approx(epsilon, 0)) == fugu.Approx(worth, 0)
        assert fugu.translate(prior, fugu.Renyi(math.inf, epsilon)) == fugu.Renyi(math.inf, worth)
        assert fugu.translate([prior, prior], epsilon) == fugu.translate({"a": prior}, epsilon) == worth
        wide, narrow = fugu.translate(prior, fugu.Approx(epsilon, 1e-3)), fugu.translate(prior, fugu.Renyi(2, epsilon))
        assert wide.epsilon == worth and 0 <= wide.delta <= 1e-3 and 0 < narrow.epsilon <= epsilon
        own = fugu.dp_budget(prior, epsilon)
        assert own >= epsilon and fugu.translate(prior, own) <= epsilon < fugu.translate(prior, own * (1 + 1e-9))
        assert fugu.dp_budget([prior, prior], epsilon) == own
        before = worth


@pytest.mark.parametrize("prior", [p for p in PRIORS if p not in TRANSLATED])
def test_what_has_no_curve_is_refused(prior):
    if isinstance(prior, fugu.GaussianField):  # no pure epsilon, but divergences: translation/test_fields.py
        for pure in (0.1, fugu.Pure(0.1)):
            with pytest.raises(NotProvable, match="Theorem 9"):
                fugu.translate(prior, pure)
            with pytest.raises(NotProvable, match="Theorem 9"):
                fugu.dp_budget(prior, pure)
        return
    assert isinstance(prior, Coupled)
    for ask in (fugu.influence, lambda p: fugu.translate(p, 0.1), lambda p: fugu.dp_budget(p, 1)):
        with pytest.raises(UsageError, match="no influence curve"):
            ask(prior)


@pytest.mark.parametrize("prior", COUPLED)
def test_a_certificate_can_write_it_down(prior):
    written = json.loads(json.dumps(prior.parameters()))
    again = prior_of(written)
    assert written["kind"] == prior.kind and again.parameters() == written and again.words() == prior.words()
    assert prior_from(prior) is prior and "\n" not in prior.words()
    with pytest.raises(UsageError, match="not one that fugu wrote"):
        prior_of({**written, "more": 1})
    with pytest.raises(UsageError, match="not one that fugu wrote"):
        prior_of({**written, "kind": "nothing"})


@pytest.mark.parametrize("prior", COUPLED)
@pytest.mark.parametrize("more", [0, 1])
def test_training_costs_more_than_for_independent_records_and_less_than_for_all_at_once(prior, more):
    """The secret record itself moves as far as it can: 2 L = sensitivity x distance."""
    records = prior.entries or 4
    far = {} if prior.distance is None else {"sensitivity": 2 / float(prior.distance)}

    def cost(belief):
        sgd = fugu.iterate.NoisySGD(records + more, 0.5, 1, 1, noise=4, records=records, prior=belief, **far)
        return float(sgd.renyi(2).epsilon)

    assert cost("independent") * (1 - 1e-12) <= cost(prior) <= cost("group") * (1 + 1e-12)
    assert prior.kind in ("independent", "group") or cost("independent") < cost("group")


def test_a_class_from_outside_needs_one_method():
    class Pairs:
        def influence_curve(self, max_b=None):
            return fugu.priors.prior.InfluenceCurve(lambda _: math.inf, 2, max_b)

    class Wrong:
        def influence_curve(self, max_b=None):
            return [1, 2, 3]

    assert fugu.translate(Pairs(), 0.25) == 0.5 and skipped(Pairs()) == ()
    with pytest.raises(UsageError, match="must return an InfluenceCurve"):
        fugu.influence(Wrong())
    for nothing in ("nonsense", 3, None, object()):
        with pytest.raises(UsageError):
            fugu.translate(nothing, 0.1)


def test_every_value_that_never_occurs_is_named():
    table = JointTable([[0.5, 0, 0], [0.25, 0, 0.25]], ["a", "b"])
    assert table.skipped == ("value 1 of 'b'",)
    rain = {"rain": [0.8, 0.2, 0], "wet": [[0.9, 0.1, 0], [0.2, 0.8, 0], [0, 0, 1]]}
    assert fugu.BayesianNetwork(rain, {"wet": ["rain"]}).skipped == ("value 2 of 'rain'", "value 2 of 'wet'")
    steps, seen = [[0.5, 0.5], [0, 1]], [[1, 0, 0], [0.5, 0.5, 0]]
    assert HiddenMarkov(steps, seen, 3, [1, 0]).skipped == ("1 at entry 1",)
    observed = HiddenMarkov(steps, seen, 3, [1, 0], protect="observed")
    assert observed.skipped == ("1 at entry 1", "2 at every entry")
    assert skipped([table, observed, table]) == (*table.skipped, *observed.skipped)
    for node, name in enumerate(table.names):  # what is named is what no pair of the quilts speaks of
        leaks = table.quilts(node).leaks
        never = [v for v in range(leaks.shape[1]) if np.isneginf(np.delete(leaks[:, v], v, axis=-1)).all()]
        assert [f"value {v} of {name!r}" for v in never] == [line for line in table.skipped if repr(name) in line]


def test_groups_cost_as_much_as_the_largest_of_them():
    """Two entries that are always equal are the worst that two of one group can be: they cost the same."""
    uneven = fugu.iterate.Groups(["a", "b", "b", "a", "b", "c"])
    for epsilon in (0.1, 1.0):
        assert (
            fugu.translate(uneven, epsilon) == fugu.translate(DependentGroups(3), epsilon) == pytest.approx(3 * epsilon)
        )
        assert fugu.translate(fugu.iterate.Groups([1, 1]), epsilon) == pytest.approx(2 * epsilon)
        equal = JointTable([[0.5, 0], [0, 0.5]])
        assert fugu.translate(equal, epsilon) == fugu.translate(fugu.iterate.Groups([1, 1]), epsilon)
        assert fugu.translate(fugu.iterate.Independent(), epsilon) == epsilon
    blocks = IndependentBlocks(uneven, DependentGroups(2), fugu.iterate.Independent())
    assert fugu.translate(blocks, 0.1) == fugu.translate(uneven, 0.1)
    assert blocks.entries == 6 and fugu.influence(blocks)(2) == math.inf and fugu.influence(blocks)(3) == 0


@pytest.mark.parametrize("rho", [0.3, -0.8, 0])
@pytest.mark.parametrize("steps", [6, 9])
def test_a_sequence_of_neighbours_and_its_field_are_one_belief(rho, steps):
    """AR1 moves records in doubles, for any length; its field in rationals, for a few: from above, and no farther."""
    short = fugu.iterate.AR1(rho, 0.5)
    field = fugu.iterate.Correlated(short.field(6), 0.5)

    def cost(prior):
        sgd = fugu.iterate.NoisySGD(steps, 0.5, 1, 1, noise=4, records=6, prior=prior, sensitivity=1)
        return float(sgd.renyi(2).epsilon)

    assert cost(field) * (1 - 1e-13) <= cost(short) <= cost(field) * (1 + 1e-4)
    assert short.field(6).covariance[0] == tuple(Fraction(str(rho)) ** k for k in range(6))
