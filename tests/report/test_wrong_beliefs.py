"""What a page says of observers with other beliefs: only what holds for all of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.documents.certificate import Certificate
from fugu.loss import epsilon
from fugu.report.dossier import uses_no_beliefs, whatever_is_believed
from fugu.report.template import sentence
from law_route import prepare

GRADES = fugu.LawPair(fugu.Discrete([0, 1, 4], [5, 3, 2]), fugu.Discrete([0, 1, 4], [2, 3, 5]), "yes vs no")
HALVES = fugu.LawPair(fugu.Discrete([0, 3.5], [3, 1]), fugu.Discrete([0, 3.5], [1, 3]), "yes vs no")
LIMITED, ANYBODY, UNKNOWN = (
    "limits the change of the odds",
    "holds whatever an observer believes",
    "no limit on the odds",
)


def said(**certificates):
    """The words of the section, for certificates by group."""
    return sentence("believed", None, whatever_is_believed(certificates), None, of="sections.html")


def reach(**certificates):
    """The limit on the loss against anybody."""
    return whatever_is_believed(certificates)["reach"]


def answers(query, budget=fugu.Pure(1), thin=False, **more):
    """The certificates of a statistic by ward; with `thin`, the reference has few rows of ward b."""
    rng = np.random.default_rng(0)
    known = {"ward": ["a"] * 300 + ["b"] * (2 if thin else 300)}
    rows = len(known["ward"])
    known |= {"age": rng.integers(0, 90, rows).tolist(), "sex": (["F", "M"] * rows)[:rows]}
    table = {"ward": ["a", "b"] * 40, "age": rng.integers(0, 90, 80).tolist(), "sex": ["F", "M", "M", "F"] * 20}
    found = prepare(table, query, "sex", budget, known, by="ward", **more)
    return {group: each.certificate for group, each in found.mechanisms.items()}


def unmoved(certificate):
    """The same proof for values that are taken as they are."""
    return Certificate.seal({**certificate.unsealed, "support": None}, certificate.laws)


def test_values_that_are_moved_to_the_believed_ones_are_hidden_by_the_noise_alone():
    certificate = fugu.calibrate(GRADES, fugu.Pure(0.3), noise="laplace").certificate
    most = reach(one=certificate)
    assert most == pytest.approx(4 / float(certificate.noise.scale))
    assert LIMITED in said(one=certificate)
    worst = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([4]))
    assert epsilon(certificate.noise, worst) <= most * (1 + 1e-12)


def test_values_that_are_taken_as_they_are_have_no_limit():
    """An observer who believes in a value far away learns more than the believed range says: the wrong version lied."""
    certificate = unmoved(fugu.calibrate(GRADES, fugu.Pure(0.3), noise="laplace").certificate)
    assert reach(one=certificate) is None
    assert UNKNOWN in said(one=certificate)
    assert LIMITED not in said(one=certificate)
    believed = 4 / float(certificate.noise.scale)
    far = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([40]))
    assert epsilon(certificate.noise, far) > 5 * believed


def test_halves_of_a_mixture_are_limited_on_lattices_of_their_own():
    """3.5 is rounded to 4 by the half whose step is 1: its values lie farther apart than those of the first half."""
    fine = fugu.calibrate(HALVES, fugu.Pure(0.3), noise="laplace", grid=0.5)
    coarse = fugu.calibrate(HALVES, fugu.Pure(0.3), noise="laplace", grid=1)
    mixed = fugu.mix(0.5, fine, coarse).certificate
    assert {part.lattice.grid for part in mixed.parts} == {1, Fraction(1, 2)}
    far = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([4]))
    near = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([3.5]))
    assert epsilon(coarse.noise, far) <= reach(one=mixed) * (1 + 1e-12)
    assert epsilon(fine.noise, near) <= reach(one=mixed) * (1 + 1e-12)
    assert LIMITED in said(one=mixed)
    open_ended = fugu.mix(0.5, *(fugu.calibrate(fugu.Shifted(1), fugu.Pure(e)) for e in (1, 2))).certificate
    assert reach(one=open_ended) is None
    assert UNKNOWN in said(one=open_ended)


def test_a_limit_with_a_remainder_is_no_factor_of_the_odds():
    """Gaussian noise limits no ratio, whatever the second promise says with a delta."""
    certificate = fugu.calibrate(GRADES, fugu.Approx(0.5, 1e-3), noise="gaussian").certificate
    assert certificate.anybody.delta > 0
    assert reach(one=certificate) is None
    assert UNKNOWN in said(one=certificate)


def test_one_group_without_a_limit_leaves_all_without_one():
    certificate = fugu.calibrate(GRADES, fugu.Pure(0.3), noise="laplace").certificate
    assert reach(one=certificate, two=unmoved(certificate)) is None


def test_a_clipped_number_in_a_sum_is_hidden_by_the_noise_alone():
    found = answers("mean(age)", bounds=(0, 100), step=1)
    assert not any(map(uses_no_beliefs, found.values()))
    for certificate in found.values():
        assert certificate.support is None
        assert reach(one=certificate) == pytest.approx(100 / float(certificate.noise.scale))
    assert LIMITED in said(**found)


@pytest.mark.parametrize("query", ["histogram(sex)", "crosstab(sex, ward)"])
def test_tables_of_counts_use_no_beliefs(query):
    found = answers(query)
    assert all(map(uses_no_beliefs, found.values()))
    assert ANYBODY in said(**found)
    assert UNKNOWN not in said(**found)
    (certificate, *_) = found.values()
    apart = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([2]))
    assert math.isclose(epsilon(certificate.noise, apart), 1)


@pytest.mark.parametrize("budget", [fugu.Pure(1), fugu.Approx(1, 1e-6)])
def test_a_group_of_ordinary_privacy_is_told_apart_from_the_others(budget):
    found = answers("mean(age)", budget, thin=True, bounds=(0, 100), step=1)
    assert {group: uses_no_beliefs(each) for group, each in found.items()} == {"a": False, "b": True}
    words = said(**found)
    assert f"The promise for b uses no beliefs about a record: it {ANYBODY}" in words
    assert "In the other groups: " in words
    assert ANYBODY not in said(a=found["a"])


def test_laws_that_are_believed_to_be_translates_are_beliefs():
    certificate = fugu.calibrate(fugu.Shifted(1), fugu.Pure(1)).certificate
    assert not uses_no_beliefs(certificate)
    assert UNKNOWN in said(one=certificate)
    assert ANYBODY not in said(one=certificate)


@pytest.mark.parametrize("budget", [fugu.Pure(1), fugu.Approx(1, 1e-6)])
def test_points_nearer_than_the_farthest_are_beliefs(budget):
    """Who believes that a secret decides the age, 20 or 60, of ages within 0 and 100, believes something."""
    known = {"sex": ["F", "M"] * 60, "age": [20, 60] * 60}
    table = {"sex": ["F", "M"] * 30, "age": [20, 60] * 30}
    found = prepare(table, "sum(age)", "sex", budget, known, bounds=(0, 100), step=1)
    certificates = {group: each.certificate for group, each in found.mechanisms.items()}
    assert not any(map(uses_no_beliefs, certificates.values()))
    assert ANYBODY not in said(**certificates)
