"""`calibrate(noise="atoms")`, and the rows that `compare` shows beside the noise that is considered."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest
from scipy.optimize import linprog

import fugu
from fugu import Approx, Discrete, LawPair, Normal, Pure, Renyi, calibrate, compare, verify
from fugu.calibration.compare import MOST_OF_A_PAIR, limit_of
from fugu.documents.certificate import Certificate
from fugu.documents.document import digest_of
from fugu.errors import BadNoise, CertificateError, NotProvable
from fugu.laws.shapes import shapes
from fugu.noise.atoms import AtomLaplace
from fugu_verify.prove import prove_again

COUNTS = resources.files("fugu.examples") / "limits_counts.json"
PAIR = LawPair(Discrete([0, 1, 3, 7], [3, 1, 5, 2]), Discrete([0, 1, 3, 7], [1, 4, 2, 9]), "a vs b")
BUDGETS = [Pure(0.5), Approx(0.5, 0.05), Renyi(2, 0.1), Renyi(2, 0.1, 0.01)]


def real(name):
    found = next(column for column in json.loads(COUNTS.read_text()) if column["name"] == name)
    return LawPair(*(Discrete(found["values"], counts) for counts in found["secrets"].values()))


@pytest.mark.parametrize("budget", BUDGETS)
def test_noise_on_atoms_is_proved_sealed_and_proved_again(budget):
    found = calibrate(PAIR, budget, noise="atoms")
    assert isinstance(found.noise, AtomLaplace) and found.noise.atoms == (0, 1, 3, 7)
    assert verify(found).holds and fugu.guarantee_against(found, PAIR).epsilon <= float(budget.epsilon)
    smaller = AtomLaplace(float(found.noise.scale) * 0.999, 1, found.noise.atoms)
    body = {**found.certificate.unsealed, "noise": smaller.to_json()}
    assert not verify(Certificate.seal(body, found.certificate.laws)).holds  # a scale of 0.1 % less is refused


def test_the_pure_scale_is_that_of_laplace_noise_and_the_second_proof_agrees():
    moved, added = (calibrate(PAIR, Pure(0.5), noise=kind) for kind in ("atoms", "laplace"))
    assert moved.noise.scale == added.noise.scale
    assert prove_again(moved.certificate.body).outcome == "holds"
    body = json.loads(json.dumps(moved.certificate.body))
    body["noise"]["scale"] = str(Fraction(body["noise"]["scale"]) * Fraction(9, 10))
    assert prove_again(body).outcome == "fails"
    assert "only the loss without delta" in prove_again(calibrate(PAIR, BUDGETS[1], noise="atoms").certificate.body).why


def test_every_output_is_a_value_of_the_beliefs_also_off_every_lattice():
    values = [0.1, math.pi, 5.5, 20 / 3]
    pair = LawPair(Discrete(values, [3, 1, 5, 2]), Discrete(values, [1, 4, 2, 9]))
    found = calibrate(pair, Pure(0.5), noise="atoms")
    drawn = found.release([0.0, 3.0, 9.0, 6.0] * 500).values
    assert set(drawn.tolist()) == set(values)


def test_best_never_takes_it_and_no_noise_is_no_noise():
    for budget in BUDGETS:
        assert not isinstance(calibrate(PAIR, budget).noise, AtomLaplace)
    silent = calibrate(PAIR, Pure(9), noise="atoms")
    assert silent.noise.silent and verify(silent).holds
    assert silent.release([3, 7.4], allow_no_noise=True).values.tolist() == [3, 7]


def test_laws_without_atoms_are_refused_with_what_there_is_instead():
    for laws in (LawPair(Normal(0, 1), Normal(1, 1)), LawPair(Discrete([[0, 1]]), Discrete([[1, 0]]))):
        with pytest.raises(NotProvable, match="laplace"):
            calibrate(laws, Pure(1), noise="atoms")
    with pytest.raises(NotProvable, match="translates"):
        calibrate(fugu.Shifted(1), Pure(1), noise="atoms")


def test_a_certificate_whose_laws_leave_the_atoms_is_refused():
    found = calibrate(PAIR, Pure(0.5), noise="atoms")
    body = json.loads(json.dumps(found.certificate.body))
    body["noise"]["atoms"] = [0, 1, 3]
    body["noise"]["weight"] = [1, 1, 1]
    body["digest"] = digest_of({k: v for k, v in body.items() if k != "digest"})
    with pytest.raises(CertificateError, match="atoms"):
        Certificate.parse(body)
    other = LawPair(Discrete([0, 5]), Discrete([1, 5]))
    assert verify(found, other).epsilon < math.inf  # moved to the nearest atom first, as values are
    with pytest.raises(BadNoise):
        fugu.epsilon(found.noise, LawPair(Discrete([0.5]), Discrete([1])))


def optimum(pair, eps, delta=0.0):
    """The least expected absolute error of any channel, by a linear program written from the definition."""
    p, q, x = pair.p.weights, pair.q.weights, pair.p.values
    n, e = len(x), math.exp(eps)
    w = (p + q) / 2
    k = n * n
    cost = np.concatenate([(w[:, None] * np.abs(x[:, None] - x[None, :])).ravel(), np.zeros(2 * n)])
    rows, limits = [], []
    for side, (a, b) in enumerate(((p, q), (q, p))):
        for y in range(n):
            row = np.zeros(k + 2 * n)
            row[y:k:n] = a - e * b
            row[k + side * n + y] = -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(k + 2 * n)
        row[k + side * n : k + (side + 1) * n] = 1
        rows.append(row)
        limits.append(delta)
    sums = np.zeros((n, k + 2 * n))
    for i in range(n):
        sums[i, i * n : (i + 1) * n] = 1
    return linprog(cost, np.array(rows), limits, sums, np.ones(n)).fun


@pytest.mark.parametrize("seed", range(12))
def test_the_limit_is_the_optimum_of_every_channel(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    values = np.sort(rng.choice(20, n, replace=False))
    pair = LawPair(*(Discrete(values, rng.integers(1, 9, n)) for _ in range(2)))
    eps = float(rng.choice([0.1, 0.5, 1.0]))
    for delta in (0.0, 0.05):
        ask = (Approx(eps, delta) if delta else Pure(eps)).asks()
        error, _, lower, _ = limit_of(shapes([pair]), ask)
        truth = optimum(pair, eps, delta)
        assert lower <= truth + 1e-9 and error >= truth - 1e-9
        assert error - lower <= 1e-9
    rows = {row.method: row for row in compare(pair, Pure(eps)).beside}
    assert rows["limit"].expected_absolute <= rows["remapped"].expected_absolute + 1e-12
    assert rows["limit"].expected_absolute <= rows["constant"].expected_absolute + 1e-12


@pytest.mark.parametrize(
    ("name", "limit", "constant"), [("campaign", 0.0523132569385, 1.3532), ("age", 1.21103245105, 10.507)]
)
def test_compare_shows_a_constant_the_atoms_the_remap_and_the_limit(name, limit, constant):
    found = compare(real(name), Pure(1))
    rows = {row.method: row for row in found.beside}
    assert list(rows) == ["constant", "atoms", "remapped", "limit"] and all(row.proven for row in found.beside)
    assert found.limit == pytest.approx(limit, rel=1e-10) and rows["limit"].epsilon == 1
    assert rows["constant"].expected_absolute == pytest.approx(constant, rel=1e-4) and rows["constant"].epsilon == 0
    assert found.best.method == "exact" and found.best.noise == "laplace"  # what calibrate takes, as before
    assert found.times_limit(rows["limit"]) == 1
    assert found.times_limit(found.best) == pytest.approx(found.best.expected_absolute / limit)
    plain = found.to_json()
    assert [row["method"] for row in plain["beside"]] == list(rows) and "never taken by default" in str(found)
    assert plain["rows"][-1]["times_limit"] == found.times_limit(found.rows[-1])
    json.dumps(plain, allow_nan=False)


def test_rows_that_have_no_answer_say_why():
    rows = {row.method: row for row in compare(PAIR, Renyi(2, 0.1)).beside}
    assert not rows["limit"].proven and "Rényi" in rows["limit"].why
    assert rows["remapped"].proven
    many = np.arange(MOST_OF_A_PAIR + 1)
    large = compare(LawPair(Discrete(many, many + 1), Discrete(many, many[::-1] + 1)), Pure(1))
    assert large.limit is None and "not worked out" in {row.method: row for row in large.beside}["limit"].why
    assert large.times_limit(large.best) is None and "how far" in str(large)
    assert compare(LawPair(Normal(0, 1), Normal(1, 1)), Pure(1)).beside == ()
    zero = {row.method: row for row in compare(PAIR, Approx(0, 0.2)).beside}
    assert not zero["limit"].proven and "epsilon 0" in zero["limit"].why
    same = {row.method: row for row in compare(LawPair(PAIR.p, Discrete([0, 1, 3, 7], [6, 2, 10, 4])), Pure(1)).beside}
    assert same["limit"].expected_absolute == 0 and same["limit"].proven
