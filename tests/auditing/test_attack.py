"""Attacks: as strong as theory says, within the guarantee of what is calibrated, and above it for what is broken."""

from __future__ import annotations

import json
import sys
from statistics import NormalDist

import numpy as np
import pytest

import fugu
from fugu.auditing import AttackReport
from fugu.auditing.guessers import draw, protect
from fugu.errors import BadLaw, MissingExtra, UnknownName, UsageError

Phi = NormalDist().cdf


def rng(number=0):
    return np.random.default_rng(number)


@pytest.mark.parametrize("m", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("attacks", ["logistic", "likelihood-ratio"])
def test_an_unprotected_release_is_attacked_with_accuracy_phi_of_half_the_distance(m, attacks):
    found = fugu.attack(None, fugu.Normal(m, 1), fugu.Normal(0, 1), attacks=attacks, test=20_000, rng=rng(1))
    assert found.accuracy == pytest.approx(Phi(m / 2), abs=0.012)
    assert found.interval[0] <= Phi(m / 2) and found.interval[1] - found.interval[0] < 0.025
    assert found.guarantee is None and found.consistent is None and found.ceiling == 1.0
    assert found.best.implied.mu <= m


def test_a_spread_is_seen_as_well_as_a_shift():
    found = fugu.attack(None, fugu.Normal(0, 1), fugu.Normal(0, 4), rng=rng(2))
    assert [a.accuracy > 0.7 for a in found.attempts] == [True, True]  # squares are among the features


@pytest.fixture(scope="module")
def calibrated():
    p, q = fugu.Discrete([0, 1, 2], [6, 3, 1]), fugu.Discrete([0, 1, 2], [1, 3, 6])
    scenario = fugu.Scenario({"a": p, "b": q})
    points = fugu.Scenario({"a": fugu.Discrete([0]), "b": fugu.Discrete([1])})
    return {
        "pure": (scenario, fugu.calibrate(scenario, fugu.Pure(1))),
        "points": (points, fugu.calibrate(points, fugu.Pure(1))),
        "approx": (points, fugu.calibrate(points, fugu.Approx(1, 1e-3), noise="gaussian")),
        "renyi": (points, fugu.calibrate(points, fugu.Renyi(2, 0.5))),
        "channel": (scenario, fugu.optimal_channel(scenario, fugu.Pure(1))),
    }


@pytest.mark.parametrize("kind", ["pure", "points", "approx", "renyi", "channel"])
def test_what_is_calibrated_is_never_refuted_over_many_seeds(calibrated, kind):
    scenario, mechanism = calibrated[kind]
    found = [
        fugu.attack(mechanism, scenario, pair=("a", "b"), rng=rng(i), attacks="likelihood-ratio") for i in range(10)
    ]
    assert all(report.consistent and report.epsilon_lower <= report.epsilon for report in found)
    assert all(report.guarantee == mechanism.guarantee for report in found)
    if kind == "points":  # the bound says something: Laplace noise on two points loses all of epsilon
        assert np.mean([report.epsilon_lower for report in found]) > 0.6
    mechanism.release(1.0, allow_no_noise=True)  # nothing was spent


@pytest.mark.parametrize("kind", ["points", "approx"])
def test_a_twentieth_of_the_noise_is_refuted(calibrated, kind):
    scenario, mechanism = calibrated[kind]
    scale = float(mechanism.noise.scale) / 20
    broken = lambda x, r: x + (r.laplace if kind == "points" else r.normal)(0, scale, len(x))  # noqa: E731
    found = fugu.attack(broken, scenario, guarantee=mechanism.guarantee, rng=rng(3))
    assert found.consistent is False and found.epsilon_lower > 2 * found.epsilon
    assert found.accuracy > found.ceiling
    assert "REFUTE" in str(found)
    right = lambda x, r: x + (r.laplace if kind == "points" else r.normal)(0, 20 * scale, len(x))  # noqa: E731
    assert fugu.attack(right, scenario, guarantee=mechanism.guarantee, rng=rng(3)).consistent


def test_training_on_clean_shadows_understates_the_leakage():
    """Table 4 of the paper, ExpM at epsilon 5: .54 with clean shadows, .65 with protected ones. Round noise on an
    anisotropic law turns the best direction away from that of the clean law."""
    cov, apart, sigma = np.diag([0.04, 20.0]), np.array([0.25, 4.3]), 3.0
    p, q = fugu.MultivariateNormal(apart, cov), fugu.MultivariateNormal([0, 0], cov)
    noisy = lambda x, r: x + r.normal(0, sigma, x.shape)  # noqa: E731
    total = cov + sigma**2 * np.eye(2)
    w = np.linalg.solve(cov, apart)
    best, old = np.sqrt(apart @ np.linalg.solve(total, apart)), w @ apart / np.sqrt(w @ total @ w)
    assert (round(Phi(best / 2), 2), round(Phi(old / 2), 2)) == (0.66, 0.53)
    sizes = {"shadow": 4000, "test": 8000, "attacks": "logistic"}
    protected = fugu.attack(noisy, p, q, **sizes, rng=rng(4))
    clean = fugu.attack(noisy, p, q, **sizes, shadows="clean", rng=rng(4))
    assert protected.accuracy == pytest.approx(Phi(best / 2), abs=0.02)
    assert clean.accuracy < 0.56
    assert protected.interval[0] > clean.interval[1]
    assert protected.epsilon_lower > clean.epsilon_lower


def census(apart):
    def sampler(r, count):
        a = r.normal(38 + apart, 13, (count, 100)).clip(17, 90).round().mean(1)
        b = r.normal(10, 2.5, (count, 100)).clip(1, 16).round().mean(1)
        c, d = r.binomial(100, 0.35 - apart / 40, count), r.binomial(100, 0.5, count)
        e = r.normal(40 + apart, 12, (count, 100)).clip(1, 99).round().mean(1)
        return np.stack([a, b, c, d, e], axis=1)

    return sampler


def test_the_decoder_beats_logistic_regression_on_noise_along_a_line():
    v = np.array([1.0, 0.13, -2.41, 0.37, 1.0123])
    v /= np.linalg.norm(v)
    line = lambda x, r: x + r.normal(0, 65, len(x))[:, None] * v  # noqa: E731
    steps = [0.01, 0.01, 1, 1, 0.01]
    found = fugu.attack(
        line, census(1.5), census(0), directions=v, steps=steps, guarantee=fugu.Approx(0.2, 1e-3), rng=rng(6)
    )
    by = {a.attack: a for a in found.attempts}
    assert found.best.attack == "decoder" and "100.0%" in by["decoder"].note
    bare = fugu.attack(None, census(1.5), census(0), rng=rng(6))
    assert by["decoder"].accuracy > by["logistic"].accuracy + 0.03
    assert by["decoder"].accuracy == pytest.approx(bare.accuracy, abs=0.03)  # the noise buys nothing
    assert found.consistent is False and found.epsilon_lower > 0.2
    full = lambda x, r: x + r.normal(0, 65, x.shape)  # noqa: E731
    against = fugu.attack(full, census(1.5), census(0), directions=v, steps=steps, attacks="decoder", rng=rng(6))
    assert against.best.note.startswith("0.0%") and against.epsilon_lower == 0 and against.interval[0] < 0.5


def test_the_exact_ratio_is_that_of_the_lattice_law(calibrated):
    scenario, mechanism = calibrated["pure"]
    found = fugu.attack(mechanism, scenario, rng=rng(7), test=20_000)
    assert {a.attack: a.note for a in found.attempts}["likelihood-ratio"] == "exact laws"
    q = np.exp(-float(mechanism.noise.rate))
    k = np.arange(-200, 200)
    kernel = lambda at: (1 - q) / (1 + q) * q ** np.abs(k - at)  # noqa: E731
    laws = [sum(w * kernel(x) for w, x in zip(ws, (0, 1, 2), strict=True)) for ws in ((0.6, 0.3, 0.1), (0.1, 0.3, 0.6))]
    assert mechanism.lattice.grid == 1
    best = 0.5 + np.abs(laws[0] - laws[1]).sum() / 4
    assert {a.attack: a.accuracy for a in found.attempts}["likelihood-ratio"] == pytest.approx(best, abs=0.012)


def test_the_draws_of_a_mixture_are_independent_of_each_other():
    """One coin for a whole column would make the counts no binomials: each row has its own."""
    pair = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))
    both = fugu.mix(0.5, fugu.calibrate(pair, fugu.Pure(0.01)), fugu.calibrate(pair, fugu.Pure(5)))
    wide = np.abs(protect(both, np.zeros(200), rng(8))) > 10
    assert 60 < wide.sum() < 140
    whole = [int(np.sum(np.abs(both.simulate(np.zeros(200), rng(i)).values) > 10)) for i in range(8)]
    assert all(not 60 < count < 140 for count in whole)  # simulate on a column tosses one coin for all rows
    assert fugu.attack(both, pair, shadow=200, test=200, attacks="likelihood-ratio", rng=rng(8)).consistent


def test_a_post_processed_mechanism_is_attacked_row_by_row():
    pair = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))
    sorted_ = fugu.calibrate(pair, fugu.Pure(1)).then(np.sort)
    found = fugu.attack(sorted_, pair, shadow=300, test=300, attacks="likelihood-ratio", rng=rng(9))
    assert found.consistent and found.best.note.startswith("counts")


def test_all_forms_of_hypotheses():
    p, q = fugu.Discrete([0]), fugu.Discrete([1])
    m = fugu.calibrate(fugu.LawPair(p, q), fugu.Pure(2))
    small = {"shadow": 200, "test": 400, "attacks": "likelihood-ratio"}
    same = [
        fugu.attack(m, p, q, **small, rng=rng(1)),
        fugu.attack(m, (p, q), **small, rng=rng(1)),
        fugu.attack(m, fugu.LawPair(p, q), **small, rng=rng(1)),
        fugu.attack(m, fugu.Scenario({"a": p, "b": q}), **small, rng=rng(1)),
    ]
    assert len({report.accuracy for report in same}) == 1
    samplers = fugu.attack(m, lambda r: 0.0, lambda r: 1.0, **small, rng=rng(1))
    assert samplers.accuracy > 0.6 and fugu.attack(m, fugu.Shifted(0), fugu.Shifted(1), **small).accuracy > 0.6


@pytest.mark.parametrize(
    ("law", "mean", "std"),
    [
        (fugu.Discrete([0, 1], [1, 3]), 0.75, 0.4330127),
        (fugu.Normal(2, 3), 2, 3),
        (fugu.NormalMixture([1, 1], [0, 4], [1, 1]), 2, 5**0.5),
        (fugu.MultivariateNormal([1, 2], [[4, 6], [6, 9]]), [1, 2], [2, 3]),
        (fugu.Discrete([[0, 0], [2, 4]]), [1, 2], [1, 2]),
        (fugu.Shifted((1, 2)), [1, 2], [0, 0]),
        (lambda r: r.normal(1, 2), 1, 2),
        (lambda r: r.normal(1, 2, 3), [1] * 3, [2] * 3),
        (lambda r: r.normal(1, 2, (1000, 3)), [1] * 3, [2] * 3),
        (lambda r, n: r.normal(1, 2, n), 1, 2),
    ],
)
def test_draws_have_the_law_they_are_of(law, mean, std):
    found = draw(law, 4000, rng(10))
    assert len(found) == 4000 and found.shape[1:] == np.shape(mean)
    assert found.mean(axis=0) == pytest.approx(mean, abs=0.2)
    assert found.std(axis=0) == pytest.approx(std, abs=0.15)


def test_the_report_prints_and_is_plain_data(calibrated):
    scenario, mechanism = calibrated["approx"]
    found = fugu.attack(mechanism, scenario, rng=rng(11))
    assert isinstance(found, AttackReport)
    text = str(found).splitlines()
    assert len(text) == 4 and text[0].startswith("attack") and "proves nothing" in text[-1] and "0.001" in text[-1]
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["delta"] == 0.001 and data["epsilon"] == 1 and data["consistent"] is True
    assert [row["attack"] for row in data["attempts"]] == ["logistic", "likelihood-ratio"]
    assert data["ceiling"] == pytest.approx((np.e + 0.001) / (1 + np.e))
    again = fugu.attack(mechanism, scenario, rng=rng(11))
    assert again.to_json() == found.to_json()  # the generator fixes everything


def test_more_attacks_cost_confidence(calibrated):
    scenario, mechanism = calibrated["points"]
    two = fugu.attack(mechanism, scenario, rng=rng(12))
    one = fugu.attack(mechanism, scenario, rng=rng(12), attacks="likelihood-ratio")
    width = lambda a: a.interval[1] - a.interval[0]  # noqa: E731
    assert two.attempts[1].accuracy == pytest.approx(one.attempts[0].accuracy, abs=0.01)
    assert width(two.attempts[1]) > 1.02 * width(one.attempts[0])


def test_a_renyi_guarantee_is_compared_at_a_delta_it_implies(calibrated):
    scenario, mechanism = calibrated["renyi"]
    found = fugu.attack(mechanism, scenario, rng=rng(13))
    assert found.delta == 0.001
    assert found.epsilon == mechanism.guarantee.to_approx(0.001).epsilon
    assert fugu.attack(mechanism, scenario, delta=0.01, rng=rng(13)).epsilon < found.epsilon


def test_without_scikit_learn_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    p, q = fugu.Normal(0, 1), fugu.Normal(1, 1)
    with pytest.raises(MissingExtra, match=r"fugu-privacy\[fit\]"):
        fugu.attack(None, p, q, rng=rng())
    assert fugu.attack(None, p, q, attacks=("likelihood-ratio",), rng=rng()).accuracy > 0.6


P, Q = fugu.Normal(0, 1), fugu.Normal(1, 1)
THREE = fugu.Scenario({"a": P, "b": Q, "c": fugu.Normal(2, 1)})
TWO_BELIEFS = fugu.Scenario([{"a": P, "b": Q}, {"a": Q, "b": P}])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: fugu.attack(None, P), UsageError, "two hypotheses"),
        (lambda: fugu.attack(None, (P, Q, P)), UsageError, "two hypotheses"),
        (lambda: fugu.attack(None, P, 3), UsageError, "two hypotheses"),
        (lambda: fugu.attack(None, THREE), UsageError, "3 pairs"),
        (lambda: fugu.attack(None, THREE, pair=("a", "x")), UnknownName, "no secret 'x'"),
        (lambda: fugu.attack(None, THREE, pair=("a", "a")), UsageError, "two different"),
        (lambda: fugu.attack(None, THREE, P), UsageError, "its own laws"),
        (lambda: fugu.attack(None, TWO_BELIEFS, pair=("a", "b")), UsageError, "2 adversaries"),
        (lambda: fugu.attack(None, P, Q, pair=("a", "b")), UsageError, "of a Scenario"),
        (lambda: fugu.attack(None, P, fugu.MultivariateNormal([0, 0], np.eye(2))), UsageError, "1 and 2 statistics"),
        (lambda: fugu.attack(lambda x, r: x[:5], P, Q), UsageError, "2000 numbers"),
        (lambda: fugu.attack(lambda x, r: x * np.nan, P, Q), UsageError, "finite"),
        (lambda: fugu.attack(3, P, Q), UsageError, "a function"),
        (lambda: fugu.attack(None, P, Q, attacks="logit"), UnknownName, "logistic"),
        (lambda: fugu.attack(None, P, Q, attacks=()), UsageError, "no attack"),
        (lambda: fugu.attack(None, P, Q, attacks="decoder"), UsageError, "directions="),
        (lambda: fugu.attack(None, P, Q, directions=[1, 2]), UsageError, "steps="),
        (lambda: fugu.attack(None, P, Q, test=10), UsageError, "at least 100"),
        (lambda: fugu.attack(None, P, Q, shadow=2.5), UsageError, "whole number"),
        (lambda: fugu.attack(None, P, Q, confidence=1.0), UsageError, "between 0 and 1"),
        (lambda: fugu.attack(None, P, Q, shadows="cleen"), UnknownName, "clean"),
        (lambda: fugu.attack(None, P, Q, rng=3), UsageError, "Generator"),
        (lambda: fugu.attack(None, lambda r: [], Q), UsageError, "at least one"),
    ],
)
def test_wrong_use_is_refused_with_a_reason(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_a_mechanism_refuses_statistics_of_another_dimension(calibrated):
    _, mechanism = calibrated["pure"]
    flat = fugu.MultivariateNormal([0, 0], np.eye(2))
    with pytest.raises(BadLaw, match="shape"):
        fugu.attack(mechanism, flat, flat)
    with pytest.raises(UsageError, match="its own guarantee"):
        fugu.attack(mechanism, P, Q, guarantee=fugu.Pure(1))
