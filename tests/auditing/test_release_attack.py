"""`fugu.audit`: it comes near what is proved, never above it, and catches every stated wrong sampler."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fugu
from fugu import sequences
from fugu.auditing import draws as through_files
from fugu.auditing import release_attack as running
from fugu.auditing.bounds import EventCurve, Halves, ceiling, chosen, expected, fight, implied_epsilon, of_coins
from fugu.auditing.contest import Transfer, contests
from fugu.auditing.draws import run as draw
from fugu.auditing.questions import drawn_given, neighbours
from fugu.auditing.release_attack import contrast, look
from fugu.errors import CertificateError, UsageError
from fugu.iterate import LinearRegression
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import RngBits
from fugu.noise.laplace import Laplace, LatticeLaplaceSampler
from hunting import search

TWO = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]), "two")
COUNTED = fugu.LawPair(fugu.Discrete([0, 1], [9, 1]), fugu.Discrete([0, 1], [2, 8]), "counted")
THREE = fugu.LawPair(fugu.Discrete([0, 1, 3], [3, 1, 2]), fugu.Discrete([0, 1, 3], [1, 3, 1]), "a vs b")
BOXES = fugu.LawPair(*(fugu.Box([0, 1, 3], low, high) for low, high in (
    ([0.4, 0.1, 0.2], [0.6, 0.3, 0.5]), ([0.2, 0.3, 0.1], [0.4, 0.6, 0.3])
)), "a vs b")  # fmt: skip


def rng(seed=1):
    return np.random.default_rng(seed)


def laplace(epsilon=1):
    return fugu.calibrate(TWO, fugu.Pure(epsilon), grid=1)


def audited(source, draws=400_000, seed=1, **more):
    return fugu.audit(source, draws=draws, rng=rng(seed), **{"through_files": 0, **more})


# ---- how near it comes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        laplace,
        lambda: fugu.calibrate(COUNTED, fugu.Pure(1)),
        lambda: fugu.calibrate(fugu.Shifted((1, 1)), fugu.Pure(1), grid=1),
    ],
    ids=["one number", "a count", "a vector"],
)
def test_it_reaches_nearly_all_of_what_is_proved(mechanism):
    found = audited(mechanism(), draws=2_000_000)
    assert 0.95 <= found.tightness <= 1 and found.clean and not found.refuted
    assert found.worst.supremum == pytest.approx(1, abs=1e-9)


def test_it_says_what_draws_can_show():
    found = audited(laplace(0.1), draws=20_000)
    half, most = (draws for _, draws in found.needed)
    assert found.epsilon_lower <= found.reach + 0.03 < 0.1 and 1e5 < half < most
    again = audited(laplace(0.1), draws=int(half))
    assert again.reach == pytest.approx(0.05, rel=0.05)
    assert "0.5 of it needs about 1.8e+05" in str(found)


def test_too_few_draws_are_refused_or_said():
    with pytest.raises(UsageError, match=r"with 100 draws no bound above 0\.\d+ can be shown"):
        audited(laplace(), draws=100)
    with pytest.raises(UsageError, match="draws must be a whole number"):
        audited(laplace(), draws=1e6)
    found = audited(laplace(8), draws=4000)
    assert found.ceiling < 8 and "too few: with 4000 draws no bound above" in found.enough


def test_what_is_likely_is_told_from_the_supremum():
    rare = fugu.LawPair(fugu.Discrete([0, 40], [10**6 - 1, 1]), fugu.Discrete([0, 40], [10**6 - 9, 9]))
    found = audited(fugu.calibrate(rare, fugu.Pure(1), grid=1), draws=10_000)
    assert found.worst.supremum == pytest.approx(1, abs=1e-6)
    assert found.worst.likely < 0.5
    assert found.epsilon_lower == 0


@pytest.mark.parametrize("budget", [fugu.Approx(1, 1e-3), fugu.Approx(0.5, 0.01)], ids=str)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_supremum_at_a_delta_is_what_is_proved(noise, budget):
    found = audited(fugu.calibrate(COUNTED, budget, noise=noise), draws=10_000)
    assert found.worst.supremum == pytest.approx(float(budget.epsilon), abs=1e-5)


def test_a_curve_is_the_best_of_all_events():
    """All 2^6 events of two laws, against the six that are tried."""
    p, q = np.array([5, 1, 4, 2, 7, 1]) / 20, np.array([1, 3, 4, 6, 2, 4]) / 20
    curve = EventCurve.of(np.log(p / q), p, q)
    for delta, least in product((0.0, 0.1, 0.3), (0.0, 0.4)):
        truth = 0.0
        for event in product((False, True), repeat=6):
            a, b = p[list(event)].sum(), q[list(event)].sum()
            if a >= least - 1e-12 and a > delta and b > 0:
                truth = max(truth, math.log((a - delta) / b))
        if not least:
            assert curve.loss(delta) == pytest.approx(truth, abs=1e-12)
        assert curve.loss(delta, least) <= truth + 1e-12
    assert EventCurve.of(-np.log(p / q), p, q).loss(0.1) < curve.loss(0.1)  # the mutant: worst events first


def test_the_draws_needed_are_those_that_reach():
    curve = EventCurve(np.array([0.5, 1.0]), np.array([0.5 / math.e, 1.0]))
    n = curve.needed(0.9, 1e-6, 0.0)
    assert curve.reach(n, 1e-6, 0.0) >= 0.9 > curve.reach(n / 1.02, 1e-6, 0.0)
    assert curve.needed(1.1, 1e-6, 0.0) == math.inf
    best = implied_epsilon(500, 500, 0, 500, 1e-6).forward
    assert ceiling(500, 1e-6, 0.0) == pytest.approx(best, rel=1e-9)
    k1, k0 = np.array([300.0, 900.0, 20.0, 999.0]), np.array([100.0, 600.0, 0.0, 500.0])
    true = [implied_epsilon(int(a), 1000, int(b), 1000, 1e-6).forward for a, b in zip(k1, k0, strict=True)]
    assert expected(k1, k0, 1000.0, 1e-6, 0.0) == pytest.approx(true, abs=0.02)


def test_an_attack_says_how_many_draws_a_bound_needs():
    found = fugu.attack(laplace(0.1), TWO, attacks="likelihood-ratio", rng=rng())
    assert found.epsilon_lower < 0.05 and 1e4 < found.needed < 2e4 and "draws: too few" in str(found)
    more = fugu.attack(laplace(0.1), TWO, attacks="likelihood-ratio", rng=rng(), shadow=20_000, test=40_000)
    assert 0.04 < more.epsilon_lower <= 0.1 and "draws" not in str(more)
    assert fugu.attack(None, TWO, attacks="likelihood-ratio", rng=rng()).needed is None


def test_outputs_within_delta_are_nobodys_hole():
    """Gaussian tails: some outputs come often from one law and hardly from the other, which delta allows."""
    mechanism = fugu.calibrate(fugu.Shifted(4), fugu.Approx(1, 0.05), noise="gaussian", grid=1)
    halves = Halves.of(*(contest_outputs(mechanism, side) for side in (0, 1)))
    (contest,) = contests(mechanism.certificate)
    assert look(contest, halves, (mechanism.lattice,), 1.0, 0.05).clean
    counts = tuple((np.append(a, 4000), np.append(b, 0)) for a, b in halves.counts)
    told = Halves(np.append(halves.outputs, 999.0), counts)
    assert look(contest, told, (mechanism.lattice,), 1.0, 0.0).one_sided == 1
    assert look(contest, told, (mechanism.lattice,), 1.0, 0.9).one_sided == 0


def contest_outputs(mechanism, side, count=50_000):
    (contest,) = contests(mechanism.certificate)
    return draw(mechanism, contest.inputs(side, count, rng(side)), RngBits(rng(side + 7)))


# ---- never above, and with the confidence stated --------------------------------------------------------------------


@search("audits of random mechanisms", quick=10)
def test_no_audit_refutes_what_is_proved(rng):
    size = int(rng.integers(2, 5))
    laws = [fugu.Discrete(np.sort(rng.choice(9, size, replace=False)), rng.integers(1, 9, size)) for _ in range(2)]
    noise = str(rng.choice(["laplace", "gaussian"]))
    budget = fugu.Approx(float(rng.choice([0.5, 1, 2])), 0.01) if noise == "gaussian" else fugu.Pure(1)
    mechanism = fugu.calibrate(fugu.LawPair(*laws), budget, noise=noise)
    found = fugu.audit(mechanism, draws=20_000, through_files=0, rng=rng)
    assert found.clean and found.worst.supremum <= float(found.epsilon) + 1e-6


def masses(n, p):
    return [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]


def wald(k1, n1, k0, n0):
    """A wrong version: point estimates."""
    return (math.log(k1 * n0 / (k0 * n1)) if k0 else math.inf) if k1 * n0 > k0 * n1 else 0.0


def test_the_bound_covers_in_exact_arithmetic():
    """P(bound above the truth) <= alpha, summed in Fractions over all counts; point estimates miss far oftener."""
    n, alpha = 9, Fraction(1, 10)
    for p, q in (
        (Fraction(1, 2), Fraction(1, 4)),
        (Fraction(9, 10), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
    ):
        truth = math.log(p / q)
        missed = wrong = Fraction(0)
        for (k1, a), (k0, b) in product(enumerate(masses(n, p)), enumerate(masses(n, q))):
            missed += a * b * (implied_epsilon(k1, n, k0, n, alpha).forward > truth + 1e-12)
            wrong += a * b * (wald(k1, n, k0, n) > truth + 1e-12)
        assert missed <= alpha < wrong


def test_an_event_is_chosen_on_one_half_and_tested_on_the_other():
    """Two halves that say different things: only the second may count."""
    telling, flat = np.array([900, 100]), np.array([500, 500])
    outputs, scores, level = np.array([0.0, 1.0]), np.array([1.0, -1.0]), Fraction(1, 10**6)
    told = Halves(outputs, ((telling, telling[::-1]), (flat, flat)))
    untold = Halves(outputs, ((flat, flat), (telling, telling[::-1])))
    assert max(a.epsilon_lower for a in fight("x", told, scores, level, 0)) == 0
    assert max(a.epsilon_lower for a in fight("x", untold, scores, level, 0)) > 1  # a fixed score may be lucky later


def test_choosing_and_testing_on_one_half_would_refute_the_truth():
    """Both laws are one: 400 outputs, counts as scores. On its own half the choice "proves" a loss."""
    draws, level, honest, mutant = rng(5), Fraction(1, 20), 0, 0
    for _ in range(200):
        a, b, c, d = (np.bincount(draws.integers(0, 400, 2000), minlength=400) for _ in range(4))
        event = chosen((a - b).astype(float), a, b, level, 0)
        honest += implied_epsilon(int(c[event].sum()), 2000, int(d[event].sum()), 2000, level).forward > 0
        mutant += implied_epsilon(int(a[event].sum()), 2000, int(b[event].sum()), 2000, level).forward > 0
    assert honest <= 10 and mutant > 190  # 5 % of 200


def test_all_statements_share_the_probability_of_error(monkeypatch):
    spent = []

    def spy(label, halves, scores, level, delta):
        found = list(fight(label, halves, scores, level, delta))
        spent.extend([level] * len(found))
        return found

    monkeypatch.setattr(running, "fight", spy)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    laws = {name: fugu.Discrete([0, 1], [k, 10 - k]) for name, k in (("a", 1), ("b", 4), ("c", 8), ("d", 9))}
    found = audited(fugu.calibrate(fugu.Scenario(laws), fugu.Pure(1)), draws=20_000, confidence=0.999)
    assert len(found.attempts) == len(spent) == 12
    assert sum(spent) + Fraction(found.fit.level).limit_denominator(10**6) == Fraction(1, 1000)
    assert [pair.draws for pair in found.pairs] == [10_000, 5000, 5000, 0, 0, 0]
    spent.clear()
    column = {"sex": ["F", "M"] * 30, "age": [30, 50, 30, 40, 40, 50] * 10}
    scenario = fugu.Scenario.from_table(column, "age", "sex")
    found = audited(fugu.calibrate(scenario, fugu.Pure(1)), draws=20_000, through_files=2000, confidence=0.999)
    assert found.through_files.draws == 2000 and sum(spent) == Fraction(9, 10_000)
    assert sum([Fraction(1, 1000)] * len(spent)) > Fraction(1, 1000)  # the mutant: the whole alpha for each


# ---- wrong samplers -------------------------------------------------------------------------------------------------


class Mutant:
    """A sampler that changes the draws of the right one."""

    def __init__(self, rate, change):
        self.right, self.change = LatticeLaplaceSampler(rate), change

    def draw(self, size, source):
        return self.change(self.right.draw(size, source))


def hole(noise):
    return np.where(noise == 0, 1, noise)


WRONG = {
    "a scale 10 % too small": lambda rate: LatticeLaplaceSampler(rate * Fraction(11, 10)),
    "a hole at the value": lambda rate: Mutant(rate, hole),
    "one-sided noise": lambda rate: Mutant(rate, np.abs),
    "noise in steps of two": lambda rate: Mutant(rate / 2, lambda noise: noise // 2 * 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sampler_is_caught(name, monkeypatch):
    monkeypatch.setattr(Laplace, "sampler", property(lambda self: WRONG[name](self.rate)))
    found = audited(laplace())
    assert found.refuted and not found.clean and found.epsilon_lower > 1.02
    assert "REFUTES" in str(found) and "REFUTED" in repr(found)
    if name in ("a hole at the value", "noise in steps of two"):
        assert found.patterns.holes > 0 and found.patterns.one_sided > 0


def test_a_wrong_centre_is_caught(monkeypatch):
    right = Mechanism._draw
    monkeypatch.setattr(Mechanism, "_draw", lambda self, column, source: right(self, column, source) + 0.5 * column)
    found = audited(laplace())
    assert found.patterns.off_lattice > 0 and not found.clean
    monkeypatch.setattr(Mechanism, "_draw", lambda self, column, source: right(self, column, source) + column)
    assert audited(laplace()).refuted


def test_a_shift_of_all_outputs_is_no_loss(monkeypatch):
    right = Mechanism._draw
    monkeypatch.setattr(Mechanism, "_draw", lambda self, column, source: right(self, column, source) + 1)
    found = audited(laplace())
    assert not found.refuted and found.patterns.holes == 0


def test_float_noise_is_not_clean_and_the_contrast_counts_it(monkeypatch):
    found = audited(laplace())
    assert found.patterns.clean and found.patterns.off_lattice == 0 and found.patterns.expected > 20
    assert 0.7 < found.naive.betrayed / found.naive.outputs < 0.9
    draws = rng(3)
    monkeypatch.setattr(Mechanism, "_draw", lambda _, column, __: column + draws.laplace(0, 1.0, column.shape))
    found = audited(laplace(), draws=20_000)
    assert found.patterns.off_lattice == 20_000 and not found.clean and "NOT those" in found.verdict
    far = contrast((0.0, 1.0), 1.0, rng(1))
    assert far.finer[0] > 0.15 and far.finer[1] == 0


# ---- what it leaves alone, and every kind ---------------------------------------------------------------------------


def test_no_token_is_taken_and_nothing_of_the_user_is_touched(tmp_path, monkeypatch):
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path / "ledger.db"))
    mechanism = laplace()
    fugu.audit(mechanism, draws=2000)
    assert list(tmp_path.iterdir()) == []
    mechanism.release(1)
    found = fugu.audit(mechanism, draws=2000)  # spent, and still to be audited
    assert found.draws == 2000
    with pytest.raises(fugu.errors.AlreadyReleased):
        mechanism.release(1)


def test_a_file_is_attacked_as_it_says_it_runs(tmp_path):
    path = tmp_path / "certificate.json"
    laplace().certificate.save(path)
    assert audited(path).epsilon_lower == audited(laplace()).epsilon_lower
    path.write_text(path.read_text().replace('"two"', '"too"'))
    with pytest.raises(CertificateError):
        audited(path)


def normals(second):
    return fugu.LawPair(
        fugu.MultivariateNormal([0, 0], [[1, 0.3], [0.3, 2]]), fugu.MultivariateNormal([1, 0.5], second), "normal"
    )


KINDS = {
    "correlated": lambda: fugu.calibrate(normals([[1, 0.3], [0.3, 2]]), fugu.Approx(1, 0.01)),
    "correlated, two covariances": lambda: fugu.calibrate(normals([[1, 0], [0, 2]]), fugu.Approx(1, 0.01)),
    "mixed": lambda: fugu.mix(0.5, laplace(1), laplace(0.5)),
    "smooth": lambda: fugu.calibrate(fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2)), fugu.Pure(1)),
    "shift": lambda: fugu.calibrate(fugu.Shifted(3), fugu.Pure(1)),
    "followed": lambda: laplace().then(lambda column: np.clip(column, 0, 1), "clip"),
    "vectors": lambda: fugu.calibrate(
        fugu.LawPair(fugu.Discrete([[0, 0], [1, 2]], [3, 1]), fugu.Discrete([[0, 0], [1, 2]], [1, 3])), fugu.Pure(1)
    ),
    "no noise": lambda: fugu.calibrate(
        fugu.LawPair(fugu.Discrete([0, 1], [5, 5]), fugu.Discrete([0, 1], [4, 6])), fugu.Pure(1)
    ),
    "per entry": lambda: sequences.Count("ill", sequences.States(("well", "ill"))).mechanism(2),
    "channel": lambda: fugu.optimal_channel(THREE, fugu.Pure(1)),
    "channel of sets": lambda: fugu.optimal_channel(BOXES, fugu.Pure(1)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_attacked(kind):
    found = audited(KINDS[kind](), draws=40_000 if kind != "per entry" else 2000)
    assert found.clean and found.epsilon_lower > (0.0 if kind == "no noise" else 0.2 * float(found.epsilon))
    assert found.best.epsilon_lower == found.epsilon_lower
    told = found.to_json()
    assert told["refuted"] is False and told["attempts"] and told["pairs"][0]["draws"] > 0
    assert len(repr(found)) < 200
    if kind == "followed":
        assert any("functions that follow" in note for note in found.notes)


def test_a_channel_publishes_by_its_rows_and_values_that_go_out_as_they_are_are_refuted(monkeypatch):
    made = fugu.optimal_channel(THREE, fugu.Pure(0.2))
    table = Transfer.of(made.certificate)
    logs = table.log_mass(np.array([0.2, 1.0, 9.0]), np.array([0.0, 1.0, 3.0, 2.0]))
    assert np.allclose(np.exp(logs[:3]).T, made.noise.conditional()) and np.all(logs[3] == -np.inf)
    assert table.window(np.array([0.0]), 5)[0].tolist() == [0.0, 1.0, 3.0]
    for pair in (THREE, BOXES):
        certificate = fugu.optimal_channel(pair, fugu.Pure(1)).certificate
        again = fugu.Certificate.parse(certificate.to_json())
        assert 0.85 < audited(again, draws=200_000).epsilon_lower <= 1
    monkeypatch.setattr(Mechanism, "_draw", lambda self, column, source: column)
    found = audited(made, draws=100_000)
    assert found.refuted and found.epsilon_lower > 0.2


def test_inputs_are_what_the_release_rounds_to_the_stated_points():
    """Off the lattice, supported vectors are found again: the nearest in the plane may be another."""
    laws = [fugu.Discrete([[0.4, 0.4], [0.55, 0.0], [3.0, 1.2]], weights) for weights in ([3, 1, 1], [1, 1, 3])]
    mechanism = fugu.calibrate(fugu.LawPair(*laws), fugu.Pure(1), grid=1)
    (contest,) = contests(mechanism.certificate)
    placed = mechanism.lattice.index(contest.inputs(0, 500, rng()))
    family = mechanism.certificate.laws[0]
    assert {tuple(x) for x in placed.tolist()} == {tuple(x) for x in family.points.tolist()}


def test_a_renyi_promise_is_attacked_directly_too(monkeypatch):
    found = audited(fugu.calibrate(TWO, fugu.Renyi(4, 1), grid=1))
    (order,) = found.divergences
    assert order.promised == 1 and 0.9 < order.attacked <= 1 and not found.refuted
    assert any("Rényi promise" in note for note in found.notes)
    monkeypatch.setattr(Laplace, "sampler", property(lambda self: LatticeLaplaceSampler(self.rate * Fraction(6, 5))))
    found = audited(fugu.calibrate(TWO, fugu.Renyi(4, 1), grid=1))
    assert found.refuted and found.epsilon_lower < float(found.epsilon)  # only the divergence shows it
    assert of_coins(3, 0.5, 0.25) == pytest.approx(math.log(0.125 / 0.0625 + 0.125 / 0.5625) / 2)


def test_sequences_drawn_from_the_chain():
    from fugu.queries.sequence_certificate import SequenceCertificate

    chain = fugu.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 4, states=("well", "ill"))
    states = sequences.States(("well", "ill"))
    mechanism = sequences.Count("ill", states).mechanism(fugu.dp_budget(chain, 2))
    reading = fugu.Schema({"state": {"kind": "category", "values": ["well", "ill"]}})
    document = SequenceCertificate.issue(chain, mechanism, 2, reading, "none", "the reference", 0.0, None, None)
    draws = rng(2)
    paths = np.array([drawn_given(chain, 2, 1, draws) for _ in range(4000)])
    assert np.all(paths[:, 1] == 1)
    assert paths.mean(axis=0) == pytest.approx([0.8, 1, 0.8, 0.66], abs=0.03)  # this chain is reversible
    found = audited(document, draws=4000)
    assert found.guarantee == fugu.Pure(2) and 0 < found.epsilon_lower <= 2
    assert "entry 2" in found.worst.label


def test_neighbours_tell_as_much_as_the_sensitivity_says():
    states = sequences.States(tuple("abcdef"))
    for query in (sequences.Count("e", states), sequences.Histogram(states), sequences.Transitions(states)):
        one, two = neighbours(query)
        gap = np.abs(np.asarray(query.exact(one), float) - np.asarray(query.exact(two), float)).sum()
        assert gap == query.sensitivity and sum(a != b for a, b in zip(one, two, strict=True)) == 1
    assert neighbours(sequences.Sum(sequences.Numbers(2, 7))) == ([2.0], [7.0])


def test_what_cannot_be_attacked_is_refused_with_the_reason():
    analysis = fugu.calibrate(TWO, fugu.Renyi(2, 1), noise="cauchy")
    with pytest.raises(UsageError, match="not attackable, because this noise is for analysis only"):
        audited(analysis)
    with pytest.raises(CertificateError, match="does not verify"):
        audited(fugu.PerEntryDP(len, epsilon=0.5))
    x = rng().uniform(-1, 1, (12, 2))
    model = LinearRegression(2.0, 1e-4, bounds=(-1, 1), target_bounds=(-1, 1), ordered=True, epochs=3)
    found = audited(model.fit(x, x @ [0.5, -0.2]).certificate_, draws=20_000)
    assert not found.attacked and found.clean and "not attackable, because the document of a training" in str(found)
    assert "not audited: what the training multiplies" in str(found) and "REFUTED" not in repr(found)
    with pytest.raises(UsageError, match="confidence"):
        audited(laplace(), confidence=1)
    with pytest.raises(UsageError, match="Generator"):
        fugu.audit(laplace(), rng=3)


# ---- through files --------------------------------------------------------------------------------------------------


@pytest.fixture
def answered(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    draws = rng(4)
    smokes = draws.random(400) < 0.4
    reference = {
        "smoker": np.where(smokes, "yes", "no").tolist(),
        "age": np.where(smokes, draws.integers(2, 5, 400), draws.integers(5, 9, 400)).tolist(),
        "ward": np.where(smokes ^ (draws.random(400) < 0.15), "a", "b").tolist(),
    }
    private = {name: cells[:1] for name, cells in reference.items()}

    def of(query, **more):
        found = fugu.answer(private, query, "smoker", fugu.Pure(1), reference, allow_no_noise=True, **more)
        return next(iter(found.mechanisms.values()))

    return of


@pytest.mark.parametrize(
    ("query", "more"),
    [("count(ward=a)", {}), ("mean(age)", {"bounds": (0, 10), "step": 1}), ("sum(age)", {"bounds": (1, 9), "step": 2})],
    ids=["count", "mean", "sum"],
)
def test_statistics_go_through_files(answered, query, more):
    found = audited(answered(query, **more), draws=20_000, through_files=1000)
    assert found.clean and found.through_files.draws == 1000
    best = max(found.through_files.attempts, key=lambda a: a.right[0] / a.right[1] - a.wrong[0] / a.wrong[1])
    assert best.right[0] / best.right[1] > 1.3 * best.wrong[0] / best.wrong[1]  # the outputs do depend on the tables


def test_a_wrong_reading_shows_only_through_files(answered, monkeypatch):
    from fugu.queries.features import Is

    mechanism, right = answered("count(ward=a)"), Is.of

    def wrong(self, schema, table):
        return right(self, schema, table) * (4 if len(table) == 1 else 1)

    monkeypatch.setattr(Is, "of", wrong)
    found = audited(mechanism, draws=20_000, through_files=2000)
    assert found.through_files.epsilon_lower > 1 and found.refuted
    assert max(a.epsilon_lower for a in found.attempts) <= 1


def test_columns_go_through_files_also_with_categories_and_bins(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    table = {"sex": ["F", "M"] * 30, "size": (["small", "small", "large", "mid", "small", "large"] * 10)}
    scenario = fugu.Scenario.from_table(table, "size", "sex", bins=["small", "mid", "large"])
    found = audited(fugu.calibrate(scenario, fugu.Pure(0.5)), draws=20_000, through_files=4000)
    assert found.through_files.draws == 4000 and found.clean
    assert all(a.right[1] == 1000 for a in found.through_files.attempts)


def test_what_does_not_go_through_files_says_why(answered):
    assert any("laws were given directly" in note for note in audited(laplace(), through_files=None).notes)
    crossed = audited(answered("crosstab(ward, smoker)"), through_files=None)
    assert any("only histograms of categories" in note for note in crossed.notes)
    binned = audited(answered("histogram(age)", bins=[0, 4, 9]), through_files=None)
    assert binned.through_files is None


def test_histograms_go_through_files(answered, monkeypatch):
    mechanism = answered("histogram(smoker)")  # which tells the secret: its laws limit nothing
    found = audited(mechanism, draws=20_000, through_files=2000)
    assert found.clean and 0.02 < found.through_files.epsilon_lower <= 1
    right = through_files.places
    monkeypatch.setattr(through_files, "places", lambda *table: np.repeat(right(*table), 3))
    found = audited(mechanism, draws=20_000, through_files=2000)  # the mutant: a record counts three times
    assert found.through_files.epsilon_lower > 1 and found.refuted
