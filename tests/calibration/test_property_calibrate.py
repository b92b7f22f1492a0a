"""`calibrate` on normal laws of vectors: true losses by oracles, forged certificates, and how much noise."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from property_oracle import (
    loss_over_budget,
    normal,
    random_pairs,
    rational_delta,
    resealed,
    scaled,
    shift,
)

import fugu
from fugu import Approx, LawPair, Renyi
from fugu.calibration.covariance.methods import propose
from fugu.calibration.offer import Wishes
from fugu.documents.certificate import Certificate
from fugu.errors import (
    CertificateError,
    NoiselessRelease,
    NotProvable,
)
from fugu.laws.multinormal import NormalPair

CASES = [
    (d, count, equal, budget)
    for d, count, equal, budget in (
        (2, 1, True, Approx(1, 1e-3)),
        (2, 3, True, Approx(0.1, 1e-6)),
        (2, 1, False, Approx(1, 1e-2)),
        (2, 2, False, Approx(0.3, 1e-4)),
        (3, 2, True, Renyi(4, 0.5)),
        (3, 1, False, Approx(1, 0.05)),
        (4, 3, False, Renyi(2, 0.3)),
        (5, 2, True, Approx(2, 1e-9)),
        (5, 1, False, Approx(0.5, 0.02)),
    )
]


@pytest.mark.parametrize(("d", "count", "equal", "budget"), CASES, ids=str)
def test_certificates_verify_and_the_true_loss_is_within_the_budget(d, count, equal, budget, tmp_path):
    pairs = random_pairs(np.random.default_rng(100 * d + count), d, count, equal)
    mechanism = fugu.calibrate(pairs, budget)
    assert fugu.verify(mechanism).holds
    mechanism.certificate.save(tmp_path / "c.json")
    assert fugu.verify(tmp_path / "c.json", pairs).holds
    assert 0.5 < loss_over_budget(mechanism, pairs) <= 1
    assert not fugu.verify(scaled(mechanism, 0.95)).holds
    if equal or d == 2 or isinstance(budget, Renyi):
        assert loss_over_budget(mechanism, pairs, 0.9) > 1  # the oracle sees a tenth less
    far = [LawPair(normal([5 * x for x in pair.p.mean], pair.p.cov), pair.q, "far") for pair in pairs]
    assert not fugu.verify(mechanism, far).holds


@pytest.fixture(scope="module")
def found():
    return fugu.calibrate([shift((10, -10)), shift((8, -9), [[15, -2], [-2, 19]])], Approx(1, 1e-3))


def refuted(certificate, pairs=None):
    try:
        return not fugu.verify(certificate, pairs).holds
    except (NotProvable, CertificateError):
        return True


def column(change):
    return lambda b: b["noise"]["columns"].__setitem__(
        0, [change(i, x) for i, x in enumerate(b["noise"]["columns"][0])]
    )


FORGERIES = {
    "a column turned": column(lambda i, x: -x if i else x),
    "a column shorter": column(lambda i, x: x // 2),
    "no columns": lambda b: b["noise"].update(columns=[], scales=[]),
    "a scale lost": lambda b: b["noise"].update(scales=[]),
    "less scale": lambda b: b["noise"].update(scales=[str(0.95 * float(Fraction(x))) for x in b["noise"]["scales"]]),
    "no base": lambda b: b["noise"].update(base="0"),
    "less base": lambda b: b["noise"].update(base=str(Fraction(b["noise"]["base"]) / 2)),
    "negative base": lambda b: b["noise"].update(base="-9"),
    "a finer grid": lambda b: (b["noise"].update(grid="1/1000"), b["lattice"].update(grid="1/1000")),
    "a coarse grid": lambda b: (b["noise"].update(grid="50"), b["lattice"].update(grid="50")),
    "two grids": lambda b: b["noise"].update(grid="1/1000"),
    "another lattice": lambda b: b["lattice"].update(grid="1/1000"),
    "no lattice": lambda b: b.update(lattice=None),
    "a column of halves": column(lambda i, x: x + 0.5),
    "another dimension": lambda b: b.update(dimension=3),
    "another noise": lambda b: b["noise"].update(kind="gaussian"),
    "another kind": lambda b: b.update(kind="vector"),
    "a smaller budget": lambda b: b["budget"].update(delta="1/2000"),
    "a pure budget": lambda b: b.update(budget={"kind": "Pure", "epsilon": "1"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_certificates_are_caught_or_refuted(found, name):
    forged = resealed(found, FORGERIES[name])
    assert forged.body["digest"] != found.certificate.body["digest"]
    assert refuted(forged)
    FORGERIES[name](body := copy.deepcopy(found.certificate.body))
    with pytest.raises(CertificateError, match="digest"):
        fugu.verify(Certificate(body))
    assert fugu.verify(resealed(found, lambda body: None)).holds


def test_forged_laws_are_refuted(found):
    first = found.certificate.laws[0]
    sharp = normal(first.p.mean, [[Fraction(1, 2), 0], [0, Fraction(1, 2)]])
    sharper = NormalPair(sharp, normal(first.q.mean, sharp.cov), "sharp")
    unequal = NormalPair(sharp, first.q, "unequal")
    far = NormalPair(normal([12, -12], first.p.cov), first.q, "far")
    for laws in ([sharper], [unequal], [far]):
        assert refuted(resealed(found, lambda body: None, laws))
        assert refuted(found, [LawPair(pair.p, pair.q) for pair in laws])
    crooked = NormalPair(first.p, normal([0, 0, 0], np.eye(3)), "crooked")
    with pytest.raises(CertificateError, match="belong together"):
        fugu.verify(resealed(found, lambda body: None, [first, crooked]))
    other = [LawPair(normal([1, 2, 3], np.eye(3)), normal([0, 0, 0], np.eye(3)))]
    assert refuted(found, other)
    body = copy.deepcopy(found.certificate.body)
    body["families"][0]["p"]["cov"][0][1] = "5"
    with pytest.raises(CertificateError):
        fugu.verify(Certificate(body))
    numbers = fugu.verify(found, [LawPair(fugu.Discrete([0, 1], [1, 1]), fugu.Discrete([0, 1], [1, 2]))])
    assert not numbers.holds and "another dimension" in numbers.reason
    plane = [LawPair(fugu.Discrete([[0, 0], [1, 1]], [1, 1]), fugu.Discrete([[0, 0], [1, 1]], [1, 2]))]
    assert "another kind" in fugu.verify(found, plane).reason


def test_the_optimal_covariance_has_the_least_error_of_all_methods():
    rng = np.random.default_rng(7)
    for _ in range(12):
        d, count = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        pairs = tuple(NormalPair(p.p, p.q, "") for p in random_pairs(rng, d, count, True, float(rng.uniform(2, 20))))
        budget = Approx(float(rng.uniform(0.2, 3)), 10 ** float(-rng.uniform(2, 8)))
        plans = propose(pairs, budget.asks(), Wishes(declared_exact=True))
        for name in ("expected-value", "eigenvector", "directional-uncertainty"):
            assert plans["optimal"].error <= plans[name].error * (1 + 1e-7)
        floored = propose(pairs, budget.asks(), Wishes())
        assert floored["optimal"].error <= floored["expected-value"].error * (1 + 1e-7)


@pytest.mark.parametrize("equal", [True, False])
def test_best_has_no_more_error_than_any_method_that_can_be_named(equal):
    rng = np.random.default_rng(11)
    for d in (2, 3):
        pairs = random_pairs(rng, d, 2, equal, 3.0)
        best = fugu.calibrate(pairs, Approx(1, 1e-2)).expected_error()
        for method in ("expected-value", "eigenvector", "optimal"):
            try:
                named = fugu.calibrate(pairs, Approx(1, 1e-2), method=method)
            except NotProvable:
                continue
            assert best <= named.expected_error() * 1.01


def test_the_example_of_the_paper_needs_no_noise():
    pair = shift((1, -1))
    assert rational_delta(pair, [[0, 0], [0, 0]], 1) < 1e-3
    silent = fugu.calibrate(pair, Approx(1, 1e-3), declared_exact=True)
    assert silent.noise.scale == 0 and fugu.verify(silent, pair).holds
    assert any("no noise" in a for a in silent.certificate.assumptions)
    with pytest.raises(NoiselessRelease):
        silent.release([1.0, 2.0])
    out = silent.release([1.0, 2.0], allow_no_noise=True)
    assert np.abs(out.value - [1, 2]).max() <= silent.interval()[1] <= 0.5 * float(silent.noise.grid) * (1 + 1e-12)
    floored = fugu.calibrate(pair, Approx(1, 1e-3))
    assert floored.noise.base > 0 and fugu.verify(floored).holds
    with pytest.raises(NotProvable, match="if the laws were exact"):
        fugu.calibrate(pair, Approx(1, 1e-3), method="directional-uncertainty")
    with pytest.raises(NotProvable, match="if the laws were exact"):
        fugu.calibrate(pair, Approx(1, 1e-3), floor=0, method="optimal")


def test_noise_of_deficient_rank_needs_a_declaration():
    pair, budget = shift((10, -10)), Approx(1, 1e-3)
    for method in ("directional", "directional-uncertainty"):
        with pytest.raises(NotProvable, match="decoded completely"):
            fugu.calibrate(pair, budget, method=method)
        allowed = fugu.calibrate(pair, budget, method=method, declared_exact=True)
        assert allowed.noise.base == 0 and len(allowed.noise.columns) == 1
        assert fugu.verify(allowed, pair).holds and loss_over_budget(allowed, [pair]) <= 1
        assert any("declared exactly normal" in a for a in allowed.certificate.assumptions)
        assert not fugu.verify(scaled(allowed, 0.95)).holds or method == "directional"
    with pytest.raises(NotProvable, match="decoded completely"):
        fugu.calibrate(pair, budget, method="optimal", floor=0)
    for floor in (1.00000001e-9, 1.0000001e-9, 3e-9):  # hardly above what counts as none: never without a base
        size = float(np.trace(propose((NormalPair(pair.p, pair.q, ""),), budget.asks(),
                                      Wishes(declared_exact=True))["optimal"].covariance))  # fmt: skip
        try:
            assert fugu.calibrate(pair, budget, method="optimal", floor=floor * size).noise.base > 0
        except NotProvable:
            continue


def test_a_floor_and_a_weight_are_kept():
    pair, budget = shift((10, -10)), Approx(1, 1e-3)
    noise = fugu.calibrate(pair, budget, floor=50).noise
    assert np.linalg.eigvalsh(np.array(noise.covariance(), dtype=float))[0] >= 50 * (1 - 1e-9)
    for method in ("best", "directional", "eigenvector", "expected-value"):  # of all methods, and instead of a refusal
        noise = fugu.calibrate(pair, budget, floor=5000, method=method).noise
        assert np.linalg.eigvalsh(np.array(noise.covariance(), dtype=float))[0] >= 5000 * (1 - 1e-9)
    assert fugu.calibrate(pair, budget, floor=7, method="directional").noise.base ** 2 >= 7
    W = np.array([[100.0, 30.0], [30.0, 20.0]])
    pairs = (NormalPair(pair.p, pair.q, ""), NormalPair(*(shift((-3, -8)).p, pair.q), ""))
    costs = []
    for weight in (W, None):
        plan = propose(pairs, budget.asks(), Wishes(floor=1, weight=weight))["optimal"].covariance
        made = fugu.calibrate([pair, shift((-3, -8))], budget, floor=1, method="optimal", weight=weight).noise
        realised = np.array(made.covariance(), dtype=float)
        costs.append((np.trace(W @ plan), np.trace(W @ realised)))
        assert costs[-1][0] * 0.98 <= costs[-1][1] <= costs[-1][0] * 1.03
    assert costs[0][0] < 0.99 * costs[1][0]


def test_covariances_that_differ_in_one_entry_are_not_beyond_doubles():
    """The integral left its path on the way to no noise, and the whole calibration was refused as out of range."""
    first = fugu.MultivariateNormal([0, 0], [[4, 1], [1, 3]])
    pair = fugu.LawPair(first, fugu.MultivariateNormal([1, 1], [[4.5, 1], [1, 3]]), "m")
    mechanism = fugu.calibrate(pair, fugu.Approx(1, 1e-3))
    assert mechanism.certificate.method == "optimal" and fugu.verify(mechanism, pair).holds
    assert not fugu.verify(scaled(mechanism, 0.95)).holds
