"""A coin between two mechanisms keeps the weaker guarantee, for numbers and vectors, hockey sticks and divergences."""

from __future__ import annotations

import copy
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Approx, Certificate, Discrete, LawPair, MultivariateNormal, Normal, Pure, Renyi, RenyiCurve
from fugu.auditing import guarantee_against
from fugu.documents.document import digest_of
from fugu.errors import CertificateError, NotProvable
from fugu.guarantee.composition import join
from fugu.report.page import page

X = [0, 1, 4]
PAIR = LawPair(Discrete(X, [97, 2, 1]), Discrete(X, [1, 2, 97]), "a vs b")
FLAT = [[0, 0], [1, 0], [2, 3]]
PLANE = LawPair(Discrete(FLAT, [97, 2, 1]), Discrete(FLAT, [1, 2, 97]), "in the plane")
APART = LawPair(MultivariateNormal([0, 0], [[2, 1], [1, 2]]), MultivariateNormal([1, 0], [[2, 1], [1, 2]]), "apart")
REACH = 60
"""Lattice steps that the brute force looks at, on each side; what lies beyond has less than 1e-9."""


def divergence(p, q, alpha):
    return math.log(float(np.sum(p**alpha * q ** (1 - alpha)))) / (alpha - 1)


def output(certificate, law, dimension):
    """The law of what goes out, point by point, on the lattice 1 of these tests; a mixture by its halves."""
    if certificate.kind == "mixed":
        share = float(Fraction(certificate.body["share"]))
        one, other = (output(half, law, dimension) for half in certificate.parts)
        return share * one + (1 - share) * other
    steps, scale = np.arange(-REACH, REACH + 1), float(certificate.noise.scale)
    powers = {"laplace": lambda x: -np.abs(x) / scale, "gaussian": lambda x: -(x**2) / (2 * scale**2)}
    power = powers[certificate.body["noise"]["kind"]]
    total = np.exp(power(steps)).sum()
    found = np.zeros((2 * REACH + 1,) * dimension)
    for point, weight in zip(np.reshape(law.values, (-1, dimension)), law.weights, strict=True):
        one = [np.exp(power(steps - x)) / total for x in point]
        found += weight * (one[0] if dimension == 1 else np.multiply.outer(*one))
    return found + 1e-300


def losses(certificate, pair, dimension=1):
    return [output(certificate, law, dimension).ravel() for law in (pair.p, pair.q)]


def made(pair, budget, noise="laplace"):
    return fugu.calibrate(pair, budget, noise=noise, grid=1)


@pytest.mark.parametrize(("pair", "dimension"), [(PAIR, 1), (PLANE, 2)], ids=["numbers", "vectors"])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_the_mixture_loses_no_more_than_its_weaker_half_and_more_than_the_stronger(pair, dimension, share):
    strong, weak = made(pair, Pure(1.0)), made(pair, Pure(2.0))
    mixture = fugu.mix(share, strong, weak)
    assert fugu.verify(mixture).holds and mixture.guarantee == weak.guarantee
    p, q = losses(mixture.certificate, pair, dimension)
    loss = max(np.max(np.log(p / q)), np.max(np.log(q / p)))
    stronger = losses(strong.certificate, pair, dimension)
    assert np.max(np.abs(np.log(stronger[0] / stronger[1]))) < loss <= 2.0 + 1e-9  # the stronger promise would be false


@pytest.mark.parametrize(
    "budgets",
    [(Renyi(2, 0.05), Renyi(2, 0.2)), (RenyiCurve({2: 0.05, 4: 0.2}), RenyiCurve({2: 0.1, 4: 0.3}))],
    ids=["one order", "a curve"],
)
@pytest.mark.parametrize(("pair", "dimension"), [(PAIR, 1), (PLANE, 2)], ids=["numbers", "vectors"])
def test_divergences_of_mixtures_by_brute_force(pair, dimension, budgets):
    halves = [made(pair, budget, "gaussian") for budget in budgets]
    mixture = fugu.mix(Fraction(1, 3), *halves)
    assert fugu.verify(mixture).holds and mixture.guarantee == budgets[1]
    p, q = losses(mixture.certificate, pair, dimension)
    orders = {2: 0.2} if isinstance(budgets[0], Renyi) else budgets[1].epsilons
    strong = losses(halves[0].certificate, pair, dimension)
    for alpha, epsilon in orders.items():
        found = max(divergence(p, q, alpha), divergence(q, p, alpha))
        assert max(divergence(*strong, alpha), divergence(*strong[::-1], alpha)) < found <= epsilon + 1e-9


def test_divergences_are_quasi_convex_and_not_convex():
    """On random laws: never above the larger half; the average of the halves, a wrong version, is exceeded."""
    rng, above_average = np.random.default_rng(3), 0
    for _ in range(400):
        p1, q1, p2, q2 = rng.dirichlet(np.ones(4) * 0.5, 4) + 1e-12
        share, alpha = rng.random(), rng.choice([1.1, 2.0, 5.0, 20.0])
        one, other = divergence(p1, q1, alpha), divergence(p2, q2, alpha)
        mixed = divergence(share * p1 + (1 - share) * p2, share * q1 + (1 - share) * q2, alpha)
        assert mixed <= max(one, other) + 1e-9
        above_average += mixed > share * one + (1 - share) * other + 1e-6
    assert above_average > 0
    a, b, zero = [0.9, 0.1], [0.1, 0.9], [0.0, 0.0]  # halves on disjoint points: the coin is seen
    p, q = (
        np.array([*a, *zero]) / 2 + np.array([*zero, 0.5, 0.5]) / 2,
        np.array([*b, *zero]) / 2 + np.array([*zero, 0.5, 0.5]) / 2,
    )
    assert divergence(p, q, 2) > 0.5 * divergence(np.array(a), np.array(b), 2)


@pytest.mark.parametrize(
    "halves",
    [
        (made(PLANE, Pure(1.0)), made(PLANE, Approx(1.0, 0.01))),
        (fugu.calibrate(APART, Approx(1, 1e-3)), fugu.calibrate(APART, Approx(0.5, 1e-3))),
        (fugu.calibrate(APART, Renyi(2, 0.1)), fugu.calibrate(APART, Renyi(2, 0.2))),
        (made(PAIR, Renyi(2, 0.1)), made(PAIR, Renyi(2, 0.2, 0.01))),
    ],
    ids=["vectors", "normal vectors", "normal vectors, divergence", "divergence outside of events"],
)  # fmt: skip
def test_mixtures_of_every_kind_are_released_saved_and_proved(halves, tmp_path):
    mixture = fugu.mix(0.3, *halves)
    assert mixture.guarantee == join(halves[0].guarantee, halves[1].guarantee)
    mixture.certificate.save(tmp_path / "c.json")
    verdict = fugu.verify(tmp_path / "c.json")
    assert verdict.holds and verdict.epsilon == max(fugu.verify(half).epsilon for half in halves)
    again = fugu.mix(0.5, fugu.mix(0.3, *halves), halves[0])  # of mixtures too
    assert fugu.verify(again).holds and again.certificate.runs == halves[0].certificate.kind
    value = [1, 0] if halves[0].certificate.kind != "additive" else 1
    assert np.shape(mixture.release(value).value) == np.shape(value)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (lambda: made(PAIR, Pure(1)), lambda: made(PLANE, Pure(1)), "different kinds"),
        (lambda: made(PLANE, Approx(1, 0.01)), lambda: fugu.calibrate(APART, Approx(1, 0.01)), "different kinds"),
        (lambda: made(PAIR, Renyi(2, 0.1)), lambda: made(PAIR, Renyi(3, 0.1)), "same orders"),
        (lambda: made(PAIR, Renyi(2, 0.1)), lambda: made(PAIR, Pure(1)), "not of one kind"),
        (lambda: made(PAIR, Renyi(2, 0.1)), lambda: made(PAIR, RenyiCurve({2: 0.1, 3: 0.2})), "same orders"),
        (lambda: fugu.calibrate(PAIR, Renyi(2, 0.5), noise="cauchy"),) * 2 + ("never run",),
        (lambda: made(PLANE, Pure(1)), lambda: made(LawPair(PLANE.q, PLANE.p, "turned"), Pure(1)), "different beliefs"),
    ],
)
def test_what_is_not_of_one_kind_and_one_problem_is_refused(one, other, said):
    with pytest.raises(NotProvable, match=said):
        fugu.mix(0.5, one(), other())


def resealed(body):
    rest = {k: v for k, v in body.items() if k != "digest"}
    return {**rest, "digest": digest_of(rest)}


def forged(edit, *halves):
    body = fugu.mix(0.3, *halves).certificate.to_json()
    edit(body)
    return Certificate(resealed(body))


def _kinds(body):
    body["parts"][1] = made(PAIR, Pure(0.5)).certificate.to_json()


def test_forged_mixtures_of_vectors_and_divergences_do_not_hold():
    vectors = made(PLANE, Pure(1.0)), made(PLANE, Pure(2.0))
    with pytest.raises(CertificateError, match="different kinds"):
        fugu.verify(forged(_kinds, *vectors))
    with pytest.raises(CertificateError, match="dimension"):
        fugu.verify(forged(lambda body: body.update(dimension=3), *vectors))
    other = made(LawPair(PLANE.q, PLANE.p, "in the plane"), Pure(1.0)).certificate.to_json()
    assert not fugu.verify(forged(lambda body: body["parts"].__setitem__(0, other), *vectors)).holds
    divergences = made(PAIR, Renyi(2, 0.1)), made(PAIR, Renyi(2, 0.2))
    assert fugu.verify(forged(lambda body: None, *divergences)).holds
    for budget in (
        {"kind": "Renyi", "alpha": "2", "epsilon": "1/10", "delta": "0"},
        {"kind": "Renyi", "alpha": "3", "epsilon": "1/5", "delta": "0"},
        {"kind": "Renyi", "alpha": "3/2", "epsilon": "1/5", "delta": "0"},
        {"kind": "RenyiCurve", "epsilons": "2: 1/5, 3: 9", "delta": "0"},
        {"kind": "Pure", "epsilon": "5"},
        {"kind": "Approx", "epsilon": "5", "delta": "1/2"},
    ):
        assert not fugu.verify(forged(lambda body, b=budget: body.update(budget=b), *divergences)).holds
    with_delta = made(PAIR, Renyi(2, 0.1, 0.01)), made(PAIR, Renyi(2, 0.2))
    less = {"kind": "Renyi", "alpha": "2", "epsilon": "1/5", "delta": "1/1000"}
    assert not fugu.verify(forged(lambda body: body.update(budget=less), *with_delta)).holds


def test_halves_with_other_grids_are_for_one_problem_only_if_the_laws_say_so():
    fine, coarse = fugu.calibrate(PLANE, Pure(1.0), grid=Fraction(1, 2)), fugu.calibrate(PLANE, Pure(1.0), grid=1)
    assert fugu.verify(fugu.mix(0.5, fine, coarse)).holds
    body = copy.deepcopy(fugu.mix(0.5, fine, coarse).certificate.body)
    other = fugu.calibrate(LawPair(Discrete(FLAT, [4, 4, 2]), PLANE.q, "in the plane"), Pure(1.0), grid=1)
    moved = other.certificate.to_json()
    body["parts"][1] = resealed({**moved, "beliefs": body["beliefs"]})
    verdict = fugu.verify(Certificate.parse(resealed(body)))
    assert not verdict.holds and ("one problem", "fails") in {check[:2] for check in verdict.checks}


def test_what_a_mixture_promises_against_other_beliefs_at_one_order():
    mixture = fugu.mix(0.5, made(PAIR, Renyi(2, 0.1)), made(PAIR, Renyi(2, 0.2)))
    assert guarantee_against(mixture, PAIR) <= Renyi(2, 0.2)
    worse = LawPair(Discrete([0]), Discrete([4]))
    assert not guarantee_against(mixture, worse) <= Renyi(2, 0.2)


def test_pages_are_for_mixtures_of_numbers():
    """Mixtures of numbers and of vectors have one."""
    halves = made(PAIR, Renyi(2, 0.1)), made(PAIR, Renyi(2, 0.2))
    assert "<html" in page(fugu.mix(0.5, *halves))
    assert "<html" in page(fugu.mix(0.5, made(PLANE, Pure(1.0)), made(PLANE, Pure(2.0))))
    assert repr(fugu.mix(0.25, *halves)).startswith("Mixed(share=1/4, Renyi(alpha=2, epsilon=")


def test_the_weaker_of_two_guarantees_is_implied_by_both():
    known = [Pure(0.1), Pure(1), Approx(0.5, 1e-6), Approx(0.1, 0.1), Renyi(2, 0.1), Renyi(2, 0.3, 0.01), Renyi(4, 0.1),
             RenyiCurve({2: 0.1, 4: 0.5}), RenyiCurve({2: 0.2, 4: 0.3}, 0.01), Renyi(math.inf, 0.7)]  # fmt: skip
    joined = 0
    for g, h in itertools.product(known, known):
        weaker = join(g, h)
        if weaker is not None:
            joined += 1
            assert g <= weaker and h <= weaker and weaker == join(h, g)
    assert joined == 5 * 5 + 2 * 2 + 1 + 2 * 2


def test_normal_laws_of_numbers_are_mixed_as_before():
    pair = LawPair(Normal(0, 1), Normal(1, 1), "normal")
    mixture = fugu.mix(0.5, fugu.calibrate(pair, Approx(0.5, 0.01)), fugu.calibrate(pair, Approx(0.5, 0.01)))
    assert fugu.verify(mixture).holds
