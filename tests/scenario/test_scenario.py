"""A scenario compiles to exactly the law pairs that were asked for."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fugu
from fugu import Discrete, LawPair, Normal, Pure, Scenario, Shifted
from fugu.errors import BadLaw, UnknownName, UsageError
from fugu.laws import as_pairs
from fugu.scenario import Report
from fugu.scenario.scenario import LABELS

F, M, X = Discrete([0, 1]), Discrete([1, 2]), Discrete([2, 3], [1, 3])
LAWS = {"F": F, "M": M, "X": X}


def labels(scenario):
    return [pair.label for pair in scenario.law_pairs()]


def test_all_pairs_are_every_two_secrets_once():
    scenario = Scenario(LAWS)
    assert labels(scenario) == ["F vs M", "F vs X", "M vs X"]
    assert scenario.secrets == ("F", "M", "X")
    assert scenario.law_pairs()[1].p is F and scenario.law_pairs()[1].q is X


def test_adjacent_pairs_are_neighbours_in_the_order_of_the_dict():
    assert labels(Scenario(LAWS, pairs="adjacent")) == ["F vs M", "M vs X"]


def test_listed_pairs_are_those_listed_each_once_whatever_its_order():
    assert labels(Scenario(LAWS, pairs=[("F", "X"), ("X", "F"), ["M", "X"]])) == ["F vs X", "M vs X"]
    assert labels(Scenario(LAWS, pairs=(p for p in [("F", "X")]))) == ["F vs X"]


def test_several_adversaries_give_each_its_pairs():
    scenario = Scenario([LAWS, {"F": M, "M": F}])
    assert labels(scenario) == [
        "adversary 1: F vs M",
        "adversary 1: F vs X",
        "adversary 1: M vs X",
        "adversary 2: F vs M",
    ]
    assert scenario.law_pairs()[3].p is M
    assert scenario.report.skipped == (("adversary 2: X", "no law given, so impossible"),)
    assert "adversary 2: X" in str(scenario.report)


def test_adjacent_under_an_adversary_skips_what_it_holds_impossible():
    assert labels(Scenario([LAWS, {"F": F, "X": X}], pairs="adjacent"))[-1] == "adversary 2: F vs X"


def test_a_pair_no_adversary_can_weigh_is_refused_not_forgotten():
    with pytest.raises(UsageError, match="'F' and 'X'"):
        Scenario([{"F": F, "M": M}, {"M": M, "X": X}], pairs=[("F", "X")])
    with pytest.raises(UsageError, match="at least two"):
        Scenario([{"F": F}, {"M": M}])


@pytest.mark.parametrize("laws", [{}, {"F": F}, [{"F": F}], [], [{}]])
def test_fewer_than_two_secrets_are_refused(laws):
    with pytest.raises(UsageError, match="at least two"):
        Scenario(laws)


@pytest.mark.parametrize("laws", [{"F": F, "M": [1, 2]}, [F, M], [None], {1: F, "1": M}])
def test_what_is_not_a_dict_of_laws_is_refused(laws):
    with pytest.raises(UsageError):
        Scenario(laws)


def test_unknown_secret_in_pairs_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="no secret 'Fm'"):
        Scenario(LAWS, pairs=[("Fm", "M")])
    with pytest.raises(UnknownName, match="did you mean 'adjacent'"):
        Scenario(LAWS, pairs="adjecent")


@pytest.mark.parametrize("pairs", [[("F", "F")], [], [("F",)], ["FM"], [("F", "M", "X")], 3, None, [1]])
def test_pairs_that_are_no_pairs_are_refused(pairs):
    with pytest.raises(UsageError):
        Scenario(LAWS, pairs=pairs)


def test_secrets_may_be_named_by_anything_that_has_a_text():
    scenario = Scenario({0: F, 1: M}, pairs=[(0, 1)])
    assert labels(scenario) == ["0 vs 1"]


def test_translates_pair_with_translates_only():
    assert len(Scenario({"a": Shifted(0), "b": Shifted(1)}).law_pairs()) == 1
    with pytest.raises(BadLaw):
        Scenario({"a": Shifted(0), "b": F}).law_pairs()


def test_a_scenario_is_read_as_its_pairs_and_cannot_be_changed():
    scenario = Scenario(LAWS)
    assert as_pairs(scenario) is scenario.law_pairs()
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.unit = "x"


def test_laws_by_hand_have_no_query_no_reference_and_say_so():
    scenario = Scenario(LAWS)
    assert scenario.query is None and scenario.reference_digest is None and scenario.recipe is None
    assert scenario.unit is None and not scenario.public_prior
    assert "rows are independent given their own secret" in scenario.assumptions
    assert repr(scenario) == "Scenario(3 secrets, 3 pairs)"
    assert str(scenario.report) == "nothing to report" and scenario.report == Report()


@given(st.integers(2, 12))
def test_number_of_pairs_is_n_choose_2_or_n_minus_1(n):
    laws = {f"s{i}": Discrete([i]) for i in range(n)}
    assert len(Scenario(laws).law_pairs()) == n * (n - 1) // 2
    assert len(Scenario(laws, pairs="adjacent").law_pairs()) == n - 1


THETA = {"mu": Discrete([1, 2, 100], [6, 2, 2]), "nu": Discrete([1, 2, 3, 100], [4, 3, 2, 1])}
PAIR = LawPair(THETA["mu"], THETA["nu"])


def test_figure_1():
    scenario = Scenario.from_distributions(THETA)
    assert fugu.wasserstein(*THETA.values()) == 97
    made = fugu.calibrate(scenario, Pure(1), noise="laplace", grid="0.001")
    assert float(made.noise.scale) == pytest.approx(0.86824395779771, rel=2e-3)
    assert fugu.verify(made).holds
    assert LABELS in made.certificate.assumptions
    assert any("mu, nu" in line and "drawn from one of" in line for line in made.certificate.assumptions)


def test_ordered_pairs_are_symmetric_unless_said_otherwise_and_protected_anyway():
    both = Scenario.from_distributions(THETA, psi=[("mu", "nu")])
    assert any("each in both orders" in line for line in both.assumptions)
    one = Scenario.from_distributions(THETA, psi=[("mu", "nu")], symmetric=False)
    assert any("(nu, mu) not asked for, and protected as well" in line for line in one.assumptions)
    listed = Scenario.from_distributions(THETA, psi=[("mu", "nu"), ("nu", "mu")], symmetric=False)
    assert any("each in both orders" in line for line in listed.assumptions)
    assert len(listed.law_pairs()) == len(one.law_pairs()) == 1
    scales = {float(fugu.calibrate(s, Pure(1)).noise.scale) for s in (both, one, listed)}
    assert len(scales) == 1


def test_what_distributions_may_be():
    assert Scenario.from_distributions({"a": [1, 1, 2], "b": [1, 2, 2]}).law_pairs()[0].p.weights.tolist() == [
        2 / 3,
        1 / 3,
    ]
    for law in (Normal(0, 1), Shifted(1)):
        other = Normal(1, 1) if isinstance(law, Normal) else Shifted(3)
        assert len(Scenario.from_distributions({"a": law, "b": other}).law_pairs()) == 1
    for wrong, error in (
        ([("a", "b")], UsageError),
        ({"a": "text", "b": [1]}, UsageError),
        ({"a": [1]}, UsageError),
    ):
        with pytest.raises(error):
            Scenario.from_distributions(wrong)
    for psi, error in (
        ("some", UnknownName),
        ([("mu", "xi")], UnknownName),
        ([("mu", "mu")], UsageError),
        ([], UsageError),
        (3, UsageError),
        (["mu"], UsageError),
    ):
        with pytest.raises(error):
            Scenario.from_distributions(THETA, psi)
