"""A remap: the value of least expected loss given the output, by a table that is part of the certificate."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest

import fugu
from fugu import Approx, Discrete, LawPair, Pure, calibrate, verify
from fugu.documents.certificate import Certificate
from fugu.documents.document import digest_of
from fugu.documents.remap import LOSSES, Remap, weight_on
from fugu.errors import CertificateError, NotProvable, PriorNotPublic, UnknownName, UsageError
from fugu.noise.atoms import AtomLaplace
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.report import page
from hunting import search

COUNTS = resources.files("fugu.examples") / "limits_counts.json"
PAIR = LawPair(Discrete([0, 1, 3, 7], [3, 1, 5, 2]), Discrete([0, 1, 3, 7], [1, 4, 2, 9]), "a vs b")


def real(name):
    found = next(column for column in json.loads(COUNTS.read_text()) if column["name"] == name)
    return LawPair(*(Discrete(found["values"], counts) for counts in found["secrets"].values()))


@pytest.mark.parametrize(
    ("name", "raw", "atoms", "remapped"),
    [("campaign", 6.028, 3.529, 1.33556), ("age", 9.6246, 8.6713, 6.97557), ("hours", 6.468, 6.40, 4.76169)],
)
def test_the_figures_of_the_real_columns(name, raw, atoms, remapped):
    """The theory notes' table at epsilon 1: raw Laplace noise, on the atoms, and each after its remap."""
    added, moved = (calibrate(real(name), Pure(1), noise=kind) for kind in ("laplace", "atoms"))
    assert added.noise.scale == moved.noise.scale
    assert added.expected_error() == pytest.approx(raw, rel=2e-3)
    assert moved.expected_error() == pytest.approx(atoms, rel=2e-2)
    least = moved.remapped().expected_error()
    assert least == pytest.approx(remapped, rel=5e-5)
    assert least * (1 - 1e-12) <= added.remapped().expected_error() <= least * (1 + 3e-5)


def table(noise, points, low, high):
    """P(output | point) written out, the outputs beyond the ends left out; for a brute-force oracle."""
    if isinstance(noise, AtomLaplace):
        return np.array(points), noise.matrix()
    outputs = np.arange(low, high + 1)
    apart = np.abs(outputs[None, :] - np.array(points)[:, None]).astype(float)
    decay = float(noise.rate or noise.precision)
    found = np.exp(-decay * apart**noise.norm)
    whole = np.exp(-decay * np.abs(np.arange(-20_000, 20_001, dtype=float)) ** noise.norm).sum()
    return outputs, found / whole


def cost(loss, x, y):
    return {"absolute": abs(x - y), "squared": (x - y) ** 2, "zero-one": float(x != y)}[loss]


@search("remaps against every other output", quick=30)
def test_no_other_output_has_less_expected_loss(rng):
    n = int(rng.integers(1, 7))
    points = np.sort(rng.choice(25, n, replace=False))
    weight = [int(w) for w in rng.integers(0, 9, n)]
    weight[int(rng.integers(n))] += 1
    scale = float(rng.uniform(0.4, 9))
    noise = [AtomLaplace(scale, 1, points), Laplace(scale, 1), Gaussian(scale, 1)][int(rng.integers(3))]
    loss = LOSSES[int(rng.integers(3))]
    made = Remap.of(loss, True, noise, points, points.astype(float), tuple(weight))
    reach = 0 if isinstance(noise, AtomLaplace) else 400  # beyond it a scale of 9 leaves 1e-19
    outputs, chances = table(noise, points, int(points[0]) - reach, int(points[-1]) + reach)
    share = np.array(weight) / sum(weight)
    tried = np.unique(np.concatenate([points, np.linspace(points[0], points[-1], 60)]))
    near = (outputs >= points[0] - 3) & (outputs <= points[-1] + 3)
    for y, column in zip(outputs[near], chances[:, near].T, strict=True):
        given = share * column
        own = float(made.apply(np.array([y]))[0])
        costs = [sum(g * cost(loss, x, other) for g, x in zip(given, points, strict=True)) for other in (own, *tried)]
        assert costs[0] <= min(costs) * (1 + 1e-9) + 1e-12 * given.sum()
    to = made.apply(outputs)
    for objective, power in (("absolute", 1), ("squared", 2)):
        truth = float((share[:, None] * chances * np.abs(to[None, :] - points[:, None]) ** power).sum())
        assert made.expected_error(objective) == pytest.approx(truth, rel=1e-9, abs=1e-9)
    same = float((share[:, None] * chances * (to[None, :] == points[:, None])).sum())
    assert made.exact_chance() == pytest.approx(same, abs=1e-9)
    for level in (0.3, 0.9):
        half = made.quantile(level)
        within = (chances * (np.abs(to[None, :] - points[:, None]) <= half + 1e-12)).sum(axis=1)
        assert within.min() >= level - 1e-9
    made.check()


@pytest.mark.parametrize("noise", ["atoms", "laplace", "gaussian"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_remapped_mechanism_is_proved_drawn_and_verified(noise, loss):
    budget = Approx(0.5, 0.02) if noise == "gaussian" else Pure(0.5)
    plain = calibrate(PAIR, budget, noise=noise)
    moved = plain.remapped(loss)
    assert moved.guarantee == plain.guarantee and moved.certificate.proved == plain.certificate.proved
    objective = "squared" if loss == "squared" else "absolute"
    if loss != "zero-one":
        assert moved.expected_error(objective) < plain.expected_error(objective)
    verdict = verify(moved)
    assert verdict.holds and ("remap", "holds") in [check[:2] for check in verdict.checks]
    values = np.tile(PAIR.p.values, 50_000)
    weight = (PAIR.p.weights + PAIR.q.weights) / 2
    drawn = moved.simulate(values, np.random.default_rng(3)).values
    errors = np.abs(drawn - values).reshape(-1, 4).mean(axis=0) @ weight
    assert errors == pytest.approx(moved.expected_error(), rel=0.03)
    assert np.mean(np.abs(drawn - values) <= moved.interval(0.8)[1]) >= 0.79
    assert set(np.unique(drawn)) <= set(moved.remap.to)
    assert Certificate.parse(moved.certificate.body).body == moved.certificate.body


def test_the_two_share_one_release_and_nothing_is_remapped_twice():
    plain = calibrate(PAIR, Pure(0.5), noise="atoms")
    moved = plain.remapped()
    with pytest.raises(UsageError, match="already"):
        moved.remapped("squared")
    with pytest.raises(UsageError, match="before other"):
        plain.then(np.round).remapped()
    assert moved.then(np.round).release([3.0], allow_no_noise=True).values[0] in PAIR.p.values
    with pytest.raises(fugu.errors.AlreadyReleased):
        plain.release([3.0], allow_no_noise=True)


def test_without_noise_nothing_changes_and_other_mechanisms_refuse():
    silent = calibrate(PAIR, Pure(9))
    assert silent.noise.silent and silent.remapped() is silent
    with pytest.raises(UsageError, match="remap"):
        calibrate(fugu.Shifted(1), Pure(1)).remapped()
    with pytest.raises(UsageError, match="remap"):
        calibrate(LawPair(Discrete([[0, 1], [1, 0]]), Discrete([[0, 1]])), Pure(1)).remapped()
    with pytest.raises(UsageError, match="'mean' or a"):
        calibrate(PAIR, Pure(0.5)).remapped(weight="table")
    with pytest.raises(UnknownName, match="loss 'median'"):
        calibrate(PAIR, Pure(0.5)).remapped("median")
    with pytest.raises(UsageError, match="values that the laws do not have"):
        weight_on(Discrete([5]), np.array([0, 1]), None, Lattice(Fraction(1)))


@pytest.mark.parametrize("noise", ["atoms", "laplace"])
def test_tables_that_would_take_too_long_are_refused_before_they_are_begun(noise):
    many = np.arange(4_001)
    pair = LawPair(Discrete(many, many % 7 + 1), Discrete(many, many % 5 + 1))
    with pytest.raises(NotProvable, match="4,001 outputs for 4,001 atoms"):
        calibrate(pair, Pure(0.5), noise=noise).remapped()


def test_a_weight_counted_in_a_table_of_one_row_would_publish_that_row():
    """The counterexample: with w of the private table, EVERY output becomes the private value. So it is refused."""
    plain = calibrate(PAIR, Pure(0.5), noise="atoms")
    for private in PAIR.p.values:
        leaked = plain.remapped(weight=Discrete([private]))
        drawn = leaked.simulate(np.tile(PAIR.p.values, 100), np.random.default_rng(1)).values
        assert np.all(drawn == private)


def scenario(tmp_path, **more):
    rows = "\n".join(
        f"{v},{s}"
        for v, s in zip([1, 2, 3, 4] * 30, ["a", "b", "a", "b"] * 15 + ["a", "a", "b", "b"] * 15, strict=True)
    )
    file = tmp_path / "table.csv"
    file.write_text(f"value,secret\n{rows}\n")
    return fugu.Scenario.from_table(file, publish="value", protect="secret", **more)


def test_beliefs_counted_in_the_private_table_give_no_weight(tmp_path):
    own = calibrate(scenario(tmp_path, public_prior=True), Pure(0.05), noise="atoms")
    with pytest.raises(PriorNotPublic, match="declared"):
        own.remapped()
    declared = own.remapped(weight=Discrete([1, 2, 3, 4]))
    assert declared.certificate.body["remap"]["weight"]["parts"] == [1, 1, 1, 1]
    assert verify(declared).holds
    reference = calibrate(scenario(tmp_path), Pure(0.05), noise="atoms").remapped()
    assert reference.certificate.body["remap"]["weight"] == "mean"


def forged(certificate, change):
    body = json.loads(json.dumps(certificate.body))
    change(body)
    body["digest"] = digest_of({k: v for k, v in body.items() if k != "digest"})
    return body


def swapped(body):
    to = body["remap"]["to"]
    to[0], to[-1] = to[-1], to[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (swapped, "not the one of least expected loss"),
        (lambda body: body["expected_error"].update(absolute=0.01), "the expected absolute error is"),
        (lambda body: body["remap"].update(loss="zero-one"), "not the one of least expected loss"),
    ],
)
def test_a_table_that_is_not_what_its_weight_gives_does_not_verify(change, says):
    moved = calibrate(PAIR, Pure(0.5)).remapped()
    verdict = verify(Certificate.parse(forged(moved.certificate, change)))
    assert not verdict.holds and says in str(verdict.checks)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["remap"]["starts"].reverse(),
        lambda body: body["remap"]["to"].pop(),
        lambda body: body["remap"].update(loss="median"),
        lambda body: body["remap"].update(weight={"points": [0, 1], "parts": [1, 1]}),
    ],
)
def test_a_broken_table_is_refused_when_it_is_read(change):
    moved = calibrate(PAIR, Pure(0.5)).remapped()
    with pytest.raises(CertificateError):
        Certificate.parse(forged(moved.certificate, change))


def test_attacks_pages_and_mixtures_know_the_table():
    moved = calibrate(PAIR, Pure(0.5), noise="atoms").remapped()
    audit = fugu.audit(moved, draws=40_000, rng=np.random.default_rng(2))
    assert 0.2 < audit.epsilon_lower <= 0.5
    again = fugu.audit(moved.certificate, draws=40_000, rng=np.random.default_rng(2))
    assert again.epsilon_lower == audit.epsilon_lower  # the certificate alone runs the same table
    assert "least expected absolute loss" in page(moved)
    both = fugu.mix(0.5, moved, calibrate(PAIR, Pure(0.5)))
    assert verify(both).holds
