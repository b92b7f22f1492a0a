"""The numbers behind the figures against dense sums over the lattice, and against what the certificate proves."""

import math
import time

import numpy as np
import pytest

import fugu
from fugu.report import curves
from fugu.report.curves import MOST, secrets_of, views
from fugu.report.facts import beliefs, facts, methods, parts, posterior

STUDENT = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]), "yes vs no")


def random_pair(seed, atoms=12, span=60):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.choice(span, atoms, replace=False))
    p, q = rng.integers(0, 9, (2, atoms)) + np.array([[1], [0]])
    q[rng.integers(atoms)] += 1
    return fugu.LawPair(fugu.Discrete(values, p), fugu.Discrete(values, q), "a vs b")


def dense(view, reach=40):
    """Lattice indices far beyond the atoms, and both noised laws there, by the definition."""
    points, h = view.pair.points, 1 / view.steps
    index = np.arange(points[0] - round(reach * view.steps) - 1, points[-1] + round(reach * view.steps) + 2)
    kernel = math.tanh(h / 2) * np.exp(-h * np.abs(index[:, None] - points[None, :]))
    return index, (kernel @ view.pair.weights.T).T


@pytest.mark.parametrize("seed", range(4))
def test_noised_masses_are_the_sums_they_stand_for(seed):
    mechanism = fugu.calibrate(random_pair(seed), fugu.Pure(0.7))
    (view,) = views(mechanism.certificate)
    index, laws = dense(view)
    assert laws.sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
    for most in (400, 7):
        drawn = curves.laws(view, most)
        assert len(drawn[1].values) <= most
        ends = view.values(index)
        for k, middle in enumerate(drawn[1].values):
            inside = np.abs(ends - middle) < drawn[1].width / 2
            assert inside.sum() == drawn[1].group
            assert drawn[1].heights[:, k] == pytest.approx(laws[:, inside].sum(axis=1), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_curve_peaks_at_the_proved_epsilon(seed, epsilon):
    certificate = fugu.calibrate(random_pair(seed), fugu.Pure(epsilon)).certificate
    (view,) = views(certificate)
    for most in (400, 20):
        found = curves.ratio(view, most)
        assert len(found.values) <= most
        assert found.largest == pytest.approx(certificate.proved["epsilon"], abs=1e-6)
        assert np.all(np.diff(found.values) > 0)
    _, laws = dense(view, reach=4)
    assert np.abs(np.log(laws[0] / laws[1])).max() == pytest.approx(found.largest, abs=1e-9)


def test_tails_beyond_the_range_of_doubles_are_drawn():
    far = fugu.LawPair(fugu.Discrete([0, 1, 9000], [5, 4, 1]), fugu.Discrete([0, 1, 9000], [4, 5, 1]), "a vs b")
    certificate = fugu.calibrate(far, fugu.Pure(0.2)).certificate
    (view,) = views(certificate)
    assert 9000 / view.steps > 800
    assert curves.ratio(view).largest == pytest.approx(certificate.proved["epsilon"], abs=1e-6)


def test_values_possible_under_one_secret_only_are_infinite_before_noise():
    pair = fugu.LawPair(fugu.Discrete([0, 1, 2], [1, 2, 1]), fugu.Discrete([1, 2, 3], [1, 1, 8]), "a vs b")
    (view,) = views(fugu.calibrate(pair, fugu.Pure(1)).certificate)
    found = curves.ratio(view)
    assert dict(zip(found.atoms, found.before, strict=True)) == pytest.approx(
        {0: math.inf, 1: math.log(5), 2: math.log(2.5), 3: -math.inf}
    )
    assert (found.only_first, found.only_second) == pytest.approx((0.25, 0.8))
    assert np.all(np.isfinite(found.after))


@pytest.mark.parametrize("seed", range(5))
def test_best_guess_is_that_of_the_likelier_secret(seed):
    (view,) = views(fugu.calibrate(random_pair(seed), fugu.Pure(0.7)).certificate)
    _, laws = dense(view)
    expected = [np.maximum(*rows).sum() / 2 for rows in (view.pair.weights, laws)]
    assert curves.guess(view) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_posteriors_stay_in_the_table_and_reach_its_edge(seed, epsilon):
    """Bayes' rule on the noised laws, value by value; a table for 0.97 epsilon would be broken."""
    certificate = fugu.calibrate(random_pair(seed), fugu.Pure(epsilon)).certificate
    (view,) = views(certificate)
    _, (p, q) = dense(view, reach=6)
    attained = False
    for (prior, low, high), (_, least, most) in zip(beliefs(epsilon), beliefs(0.97 * epsilon), strict=True):
        for a, b in ((p, q), (q, p)):
            after = prior * a / (prior * a + (1 - prior) * b)
            assert low - 1e-9 <= after.min() <= after.max() <= high + 1e-9
            if after.max() > high - 1e-8 or after.min() < low + 1e-8:
                attained = True
                assert after.max() > most or after.min() < least
    assert attained


def test_posterior_is_odds_times_a_factor():
    for prior in (1e-12, 0.01, 0.5, 0.9):
        for loss in (-40, -1, 0, 0.3, 9):
            found = posterior(prior, loss)
            assert found / (1 - found) == pytest.approx(prior / (1 - prior) * math.exp(loss), rel=1e-9)
    assert [posterior(0.5, x) for x in (1e5, -1e5, math.inf, -math.inf)] == [1, 0, 1, 0]


def test_facts_are_those_of_the_mechanism():
    mechanism = fugu.calibrate(STUDENT, fugu.Pure(0.3))
    found = facts(mechanism.certificate, "grade", "support")
    assert found.error == mechanism.expected_error()
    assert found.half == mechanism.interval(0.95)[1]
    assert (found.epsilon, found.delta, found.silent, found.grid, found.pairs) == (0.3, 0, 0, 1, 1)
    assert found.leak == pytest.approx(0.3, abs=1e-8)


def test_mixture_is_averaged_and_its_parts_are_drawn():
    a, b = (fugu.calibrate(STUDENT, fugu.Pure(e)) for e in (0.3, 0.1))
    mixed = fugu.mix(0.25, a, b)
    found = facts(mixed.certificate)
    assert [float(part.share) for part in parts(mixed.certificate)] == [0.25, 0.75]
    assert found.error == pytest.approx(mixed.expected_error())
    assert found.half == mixed.interval()[1]
    assert found.mixed and found.pairs == 1
    assert len(views(mixed.certificate)) == 2
    assert [part.share for part in parts(fugu.mix(1, a, b).certificate)] == [1]


def test_worst_pair_comes_first_and_at_most_twelve_follow():
    laws = {f"s{k}": fugu.Discrete([0, 1], [10 + k, 20 - k]) for k in range(7)}
    certificate = fugu.calibrate(fugu.Scenario(laws), fugu.Pure(0.3)).certificate
    drawn = views(certificate)
    assert len(drawn) == MOST
    assert drawn[0].label == certificate.worst_pair == "s0 vs s6"
    assert (drawn[0].first, drawn[0].second) == ("s0", "s6")
    losses = [curves.ratio(view).largest for view in drawn]
    assert losses == sorted(losses, reverse=True)
    assert facts(certificate).pairs == 21


def test_names_of_secrets_are_read_from_labels():
    assert secrets_of("F vs M") == ("F", "M")
    assert secrets_of("adversary 12: a b vs c") == ("a b", "c")
    neutral = ("the first secret", "the second secret")
    assert [secrets_of(x) for x in ("", "a vs b vs c", "x vs x", " vs b", "shift by 2")] == [neutral] * 5


def test_methods_come_from_the_certificate_or_the_comparison():
    budget = fugu.Pure(0.3)
    certificate = fugu.calibrate(STUDENT, budget).certificate
    alone, compared = methods(certificate), methods(certificate, fugu.compare(STUDENT, budget))
    assert set(certificate.scales) == {"exact"}  # no method that it beats was tried; the page works them out
    assert [line.method for line in alone] == [row.method for row in fugu.compare(STUDENT, budget).rows]
    assert [line.method for line in compared] == [line.method for line in alone]
    assert [line.scale for line in alone] == pytest.approx([line.scale for line in compared], rel=1e-7)
    assert [line.error for line in alone] == pytest.approx([line.error for line in compared], rel=1e-6)
    assert [line.method for line in alone if line.used] == ["exact"]
    assert all(line.proved for line in alone)
    with pytest.raises(fugu.errors.UsageError, match="budget"):
        methods(certificate, fugu.compare(STUDENT, fugu.Pure(0.2)))


def test_smaller_scale_than_the_one_used_is_not_called_proved():
    certificate = fugu.calibrate(STUDENT, fugu.Pure(0.3), method="wasserstein").certificate
    scales = {"l1": 10.0, "wasserstein": certificate.scales["wasserstein"], "relaxed": None, "exact": 0.4055136804}
    lines = methods(fugu.Certificate({**certificate.body, "scales": scales}))
    assert {line.method: line.proved for line in lines if line.method in scales} == {
        "l1": True,
        "wasserstein": True,
        "relaxed": None,
        "exact": None,
    }


def test_hundred_thousand_atoms_are_fast():
    rng = np.random.default_rng(5)
    p, q = rng.integers(1, 1000, (2, 100_000))
    pair = fugu.LawPair(fugu.Discrete(np.arange(100_000), p), fugu.Discrete(np.arange(100_000), q), "a vs b")
    certificate = fugu.calibrate(pair, fugu.Pure(1)).certificate
    start = time.perf_counter()
    (view,) = views(certificate)
    drawn, found = curves.laws(view), curves.ratio(view)
    curves.guess(view)
    assert time.perf_counter() - start < 5
    assert max(len(drawn[1].values), len(found.values), len(found.atoms)) <= 400
    assert drawn[0].heights.sum(axis=1) == pytest.approx([1, 1])
    assert found.largest == pytest.approx(certificate.proved["epsilon"], abs=1e-6)
