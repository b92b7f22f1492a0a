"""Draws against the certified law: no false alarm, the power that is stated, and every planted fault of every kind."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
from fugu import sequences
from fugu.auditing import questions as drawing_answers
from fugu.auditing.draws import fit_of, rebuilt
from fugu.auditing.evidence import (
    FAULTS,
    FRACTIONS,
    LESS,
    MORE,
    SKIPPED,
    StepLaw,
    Stream,
    needed,
    power,
    step_cells,
    tabled,
    tempered,
    weigh,
)  # fmt: skip
from fugu.auditing.outcome import Fit
from fugu.cli.app import app
from fugu.documents.certificate import Certificate
from fugu.mechanism.mechanism import Mechanism
from fugu.noise import atoms
from fugu.noise.bits import RngBits
from fugu.noise.channel import Channel
from fugu.noise.gaussian import Gaussian, LatticeGaussianSampler
from fugu.noise.laplace import Laplace, LatticeLaplaceSampler
from fugu.queries import choices as sequence_choices
from fugu.queries import entry_noise, sequence_query
from fugu.queries import statistic as drawing
from fugu.training import losses as training_draw
from hunting import search
from selection_laws import permute_and_flip_law

LEVEL = 1e-7
TWO = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]), "two")
COUNTED = fugu.LawPair(fugu.Discrete([0, 1, 4], [7, 2, 1]), fugu.Discrete([0, 1, 4], [2, 3, 5]), "counted")
STATES = sequences.States(("well", "ill", "dead"))
ILL = sequences.Count("ill", STATES)


def rng(seed=1):
    return np.random.default_rng(seed)


def stream(counts, law=(0.5, 0.3, 0.2), whole=True, label="s"):
    p = np.array(law)
    return next(tabled(label, tempered(p), 0, np.repeat(np.arange(len(p)), counts), whole=whole, first=False))


# ---- the level ------------------------------------------------------------------------------------------------------


def every_count(n, m):
    if m == 1:
        yield (n,)
        return
    for k in range(n + 1):
        for rest in every_count(n - k, m - 1):
            yield (k, *rest)


def multinomial(counts, law):
    ways = math.factorial(sum(counts))
    for k in counts:
        ways //= math.factorial(k)
    return ways * math.prod(p**k for p, k in zip(law, counts, strict=True))


FULL = stream([1000] * 3)


def plain(counts):
    """A stream whose cells are not put together, however few draws there are."""
    return Stream("s", FULL.law, FULL.faults, np.array(counts))


def test_the_evidence_has_mean_at_most_one_summed_over_all_counts():
    """All counts of 5 draws, and of two streams of 2: the sum of probability times evidence, nothing simulated."""
    law = (0.5, 0.3, 0.2)
    mean = sum(multinomial(c, law) * math.exp(weigh([plain(c)])[0]) for c in every_count(5, 3))
    both = sum(
        multinomial(a, law) * multinomial(b, law) * math.exp(weigh([plain(a), plain(b)])[0])
        for a, b in product(every_count(2, 3), repeat=2)
    )
    assert 0.9 < mean <= 1 + 1e-9 and 0.9 < both <= 1 + 1e-9
    best = sum(
        multinomial(c, law) * math.exp(max(plain(c).against(fault) for fault in FAULTS)) for c in every_count(5, 3)
    )
    assert best > 1.05  # the wrong version: the best fault, chosen after the draws


def falling(times, norm, decay):
    """times Z, Z whole with P(k) ~ exp(-decay |k|^norm)."""
    return (times, fugu.Laplace(1 / decay, 1) if norm == 1 else fugu.Gaussian(math.sqrt(0.5 / decay), 1))


@search("false alarms of draws against their law", quick=20)
def test_draws_of_the_law_are_rarely_called_others(rng):
    """100 tests at level 1/20, all of the right law: 16 alarms or more come with probability below 1e-4."""
    law = StepLaw.of(falling(1, int(rng.integers(1, 3)), Fraction(int(rng.integers(1, 300)), 100)))
    _edges, masses, faults, _ = step_cells(law)
    alarms = 0
    for _ in range(100):
        counts = rng.multinomial(3000, masses / masses.sum())
        alarms += weigh([Stream("s", masses, faults, counts)])[0] >= math.log(20)
    assert alarms <= 15
    return 100


@search("audits of honest mechanisms against their certified law", quick=6)
def test_an_honest_mechanism_fits(rng):
    size = int(rng.integers(2, 6))
    laws = [fugu.Discrete(np.sort(rng.choice(30, size, replace=False)), rng.integers(1, 9, size)) for _ in range(2)]
    pair = fugu.LawPair(*laws)
    kind = str(rng.choice(["laplace", "gaussian", "atoms", "channel"]))
    budget = fugu.Approx(float(rng.choice([0.3, 1, 3])), 0.01) if kind == "gaussian" else fugu.Pure(1)
    mechanism = fugu.optimal_channel(pair, budget) if kind == "channel" else fugu.calibrate(pair, budget, noise=kind)
    assert not fit_of(mechanism.certificate, mechanism, 20_000, 1e-9, RngBits(rng)).refuted


# ---- the power ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("fraction", [0.05, 0.2])
def test_the_stated_power_is_reached_and_not_far_below_it(norm, fraction):
    law = StepLaw.of(falling(1, norm, Fraction(3, 10)))
    for seen in (0.5, 0.99):
        _edges, masses, faults, _ = step_cells(law)
        one = Stream("s", masses, faults, np.full(len(masses), 1000))
        draws = math.ceil(one.draws * needed([one], fraction, LEVEL, seen))
        q = faults[LESS, fraction]
        stated, found = None, 0
        generator = rng(3)
        for _ in range(200):
            one = Stream("s", masses, faults, generator.multinomial(draws, q / q.sum()))
            stated = power([one], fraction, LEVEL)
            found += weigh([one])[0] >= -math.log(LEVEL)
        assert found / 200 >= stated - 0.04 and stated >= seen - 0.03
        assert power([one], {0.05: 0.02, 0.2: 0.05}[fraction], LEVEL) < 0.2  # a smaller fault is not said to be seen


def test_faults_are_what_they_are_called():
    law = StepLaw.of(falling(1, 1, Fraction(1, 5)))
    edges, _masses, faults, _ = step_cells(law)
    assert faults[LESS, 0.2] == pytest.approx(step_cells(law)[2][LESS, 0.2])
    truth = np.exp(-np.abs(np.arange(-400, 401)) / 4.0)  # scale 5, a fifth less
    at = np.searchsorted(edges, np.arange(-400, 401), side="right")
    assert faults[LESS, 0.2] == pytest.approx(np.bincount(at, weights=truth / truth.sum()), abs=1e-12)
    assert faults[SKIPPED, 0.05].sum() == pytest.approx(1)
    row = np.array([0.7, 0.2, 0.1])
    less = tempered(row)(0.5)
    assert less == pytest.approx(row**2 / (row**2).sum())  # half the noise: every ratio squared
    assert np.argmax(tempered(row)(2.0)) == 0 and tempered(row)(2.0)[0] < 0.7


# ---- the laws -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [[(1, 1, "1/3")], [(1, 2, "1/50")], [(1, 2, "1/8"), (-3, 1, "2/3")], [(2, 1, "1/4")]])
def test_cells_have_the_masses_of_brute_force(parts):
    law = StepLaw.of(*(falling(t, norm, Fraction(d)) for t, norm, d in parts))
    truth = {0: 1.0}
    for times, norm, decay in parts:
        one = {k: math.exp(-float(Fraction(decay)) * abs(k) ** norm) for k in range(-150, 151)}
        total = sum(one.values())
        truth_next: dict[int, float] = {}
        for a, x in truth.items():
            for k, y in one.items():
                truth_next[a + times * k] = truth_next.get(a + times * k, 0.0) + x * y / total
        truth = truth_next
    edges, masses, _faults, _ = step_cells(law)
    brute = np.zeros(len(masses))
    for k, x in truth.items():
        brute[int(np.searchsorted(edges, k, side="right"))] += x
    assert masses == pytest.approx(brute, abs=1e-11)
    classes = np.zeros(16)
    for k, x in truth.items():
        classes[k % 16] += x
    assert law.classes(16) == pytest.approx(classes, abs=1e-11)


def test_a_selection_has_the_law_of_the_balls():
    scores = [Fraction(u) for u in (10, 9, 7, 3, 0)]
    balls = [float(m) for m in permute_and_flip_law(scores, Fraction(1, 10))]
    assert drawing_answers.selection_law(scores, Fraction(1, 10), "permute-and-flip") == pytest.approx(balls, abs=1e-13)
    many = [Fraction(k) for k in range(300)]
    assert drawing_answers.selection_law(many, Fraction(1, 50), "permute-and-flip").sum() == pytest.approx(1)


# ---- planted faults, every kind -------------------------------------------------------------------------------------


def less_laplace(patch, f):
    patch.setattr(Laplace, "sampler", property(lambda self: LatticeLaplaceSampler(self.rate / (1 - Fraction(f)))))


def less_gaussian(patch, f):
    wrong = property(lambda self: LatticeGaussianSampler(self.precision / (1 - Fraction(f)) ** 2))
    patch.setattr(Gaussian, "sampler", wrong)


def less_atoms(patch, f):
    patch.setattr(atoms, "laplace_sampler", lambda rate: LatticeLaplaceSampler(rate / (1 - Fraction(f))))


def less_in(room, name, right, power):
    def plant(patch, f):
        patch.setattr(room, name, lambda rate, *more: right(rate / (1 - Fraction(f)) ** power, *more))

    return plant


def skipped_rows(patch, f):
    """A share f of the draws leaves out the noise: the likeliest place of the row goes out."""
    right, coins = Channel.move, rng(9)

    def wrong(self, places, source):
        own = np.array([int(np.argmin(np.abs(np.array(self.outputs) - x))) for x in (0.0, 1.0, 4.0)])
        return np.where(coins.random(len(places)) < f, own[places], right(self, places, source))

    patch.setattr(Channel, "move", wrong)


def tempered_rows(patch, f):
    """Every ratio of a row's probabilities to the power 1 / (1 - f)."""
    right, coins = Channel.conditional, rng(9)

    def wrong(self, places, source):
        del source
        rows = np.array([tempered(row)(1 - f) for row in right(self)])
        return (coins.random(len(places))[:, None] > np.cumsum(rows, axis=1)[places]).sum(axis=1)

    patch.setattr(Channel, "move", wrong)


def less_normals(patch, f):
    right = training_draw.normals
    patch.setattr(training_draw, "normals", lambda count, source: (1 - f) * right(count, source))


def less_response(patch, f):
    right = sequences.RandomisedResponse.draw

    def wrong(self, data, noise, source):
        return right(self, data, noise.shared(1 / (1 - Fraction(f))), source)

    patch.setattr(sequences.RandomisedResponse, "draw", wrong)


def normals(second):
    first = fugu.MultivariateNormal([0, 0], [[1, 0.3], [0.3, 2]])
    return fugu.LawPair(first, fugu.MultivariateNormal([1, 0.5], second), "normal")


def asked(*questions):
    draws = rng(4)
    smokes = draws.random(400) < 0.4
    reference = {
        "smoker": np.where(smokes, "yes", "no").tolist(),
        "age": np.where(smokes, draws.integers(2, 5, 400), draws.integers(5, 9, 400)).tolist(),
        "ward": np.where(smokes ^ (draws.random(400) < 0.15), "a", "b").tolist(),
    }
    private = {name: cells[:300] for name, cells in reference.items()}
    session = fugu.Session(private, reference, "smoker", fugu.Pure(2))
    for question, more in questions:
        session.ask(question, epsilon=0.4, **more)
    return session.certificate


def trained():
    x = rng().uniform(-1, 1, (12, 2))
    model = fugu.iterate.LinearRegression(2.0, 1e-4, bounds=(-1, 1), target_bounds=(-1, 1), ordered=True, epochs=3)
    return model.fit(x, x @ [0.5, -0.2]).certificate_


AGE = {"bounds": (0, 10), "step": 1}
VECTOR = fugu.Shifted((1, 2))
KINDS = {
    "laplace": (lambda: fugu.calibrate(COUNTED, fugu.Pure(1)), less_laplace),
    "a fine lattice": (lambda: fugu.calibrate(TWO, fugu.Pure(1), grid=Fraction(1, 1000)), less_laplace),
    "gaussian": (lambda: fugu.calibrate(COUNTED, fugu.Approx(1, 1e-5), noise="gaussian"), less_gaussian),
    "renyi": (lambda: fugu.calibrate(COUNTED, fugu.Renyi(4, 1), noise="gaussian"), less_gaussian),
    "atoms": (lambda: fugu.calibrate(COUNTED, fugu.Pure(1), noise="atoms"), less_atoms),
    "channel, noise left out": (lambda: fugu.optimal_channel(COUNTED, fugu.Pure(1)), skipped_rows),
    "channel, tempered": (lambda: fugu.optimal_channel(COUNTED, fugu.Pure(1)), tempered_rows),
    "mixture": (lambda: fugu.mix(0.5, *(fugu.calibrate(TWO, fugu.Pure(e), grid=1) for e in (1, 0.5))), less_laplace),
    "remapped": (lambda: fugu.calibrate(COUNTED, fugu.Pure(1)).remapped(), less_laplace),
    "followed": (lambda: fugu.calibrate(TWO, fugu.Pure(1)).then(lambda x: np.clip(x, 0, 1), "clip"), less_laplace),
    "smooth": (lambda: fugu.calibrate(fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2)), fugu.Pure(1)), less_laplace),
    "vector": (lambda: fugu.calibrate(VECTOR, fugu.Pure(1), grid=1), less_laplace),
    "vector with delta": (lambda: fugu.calibrate(VECTOR, fugu.Approx(1, 1e-4), noise="gaussian"), less_gaussian),
    "directed": (lambda: fugu.calibrate(VECTOR, fugu.Pure(1), method="anisotropic-laplace"), less_laplace),
    "correlated": (lambda: fugu.calibrate(normals([[1, 0.3], [0.3, 2]]), fugu.Approx(1, 0.01)), less_gaussian),
    "session": (lambda: asked(("count(ward=a)", {}), ("mean(age)", AGE), ("histogram(ward)", {})),
                less_in(drawing, "laplace_sampler", drawing.laplace_sampler, 1)),
    "training": (trained, less_normals),
    "sequence counts": (lambda: sequences.Transitions(STATES).mechanism(1).certificate,
                        less_in(entry_noise, "laplace_sampler", entry_noise.laplace_sampler, 1)),
    "randomised response": (lambda: sequences.RandomisedResponse(STATES).mechanism(1).certificate, less_response),
}  # fmt: skip
FINE = ("gaussian", "channel, tempered", "vector")
"""These at 5 % too. All kinds at every fraction are shown at length."""
SLOW = {
    "session, selection": (lambda: asked(("quantile(age, 0.5)", AGE)), "flip"),
    "sequence selection": (lambda: sequences.ArgMax(STATES).mechanism(1).certificate, "peel"),
    "sequence with delta": (lambda: sequence_query.LatticeMechanism.of(ILL, 0.5).certificate,
                            less_in(entry_noise, "gaussian_sampler", entry_noise.gaussian_sampler, 2)),
}  # fmt: skip


def examined(made, draws, seed=5):
    document = made if not hasattr(made, "certificate") else made.certificate
    mechanism = made if hasattr(made, "certificate") else None
    return fit_of(document, mechanism, draws, LEVEL, RngBits(rng(seed)))


def caught(make, plant, fraction, most):
    """The honest one fits, the planted one does not, with the draws that the power asks for; None if too many."""
    made = make()
    pilot = examined(made, 1000)
    stated = next(p for p in pilot.power if p.fraction == fraction)
    draws = math.ceil(1.2 * stated.needed)
    if draws > most:
        return None
    honest = examined(made, draws)
    seen = next(p.seen for p in honest.power if p.fraction == fraction)
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, fraction)
        wrong = examined(make(), draws)
    return seen >= 0.99 and not honest.refuted and wrong.refuted


@pytest.mark.parametrize(("kind", "fraction"), [(k, f) for k in KINDS for f in (0.05, 0.2) if f == 0.2 or k in FINE])
def test_a_planted_fault_is_found_with_the_draws_that_are_said_to_show_it(kind, fraction):
    made, plant = KINDS[kind]
    assert caught(made, plant, fraction, 2_000_000)


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_planted_fault_of_every_kind(kind, fraction, monkeypatch):
    monkeypatch.setattr(drawing_answers, "_ONE_BY_ONE", 2_000_000)
    made, plant = KINDS[kind]
    assert caught(made, plant, fraction, 30_000_000)


@pytest.mark.parametrize("fraction", [0.1, 0.2])
@pytest.mark.parametrize("kind", SLOW)
def test_faults_of_what_is_drawn_one_by_one(kind, fraction, monkeypatch):
    monkeypatch.setattr(drawing_answers, "_ONE_BY_ONE", 2_000_000)
    made, plant = SLOW[kind]
    rooms = {"flip": (drawing, "permute_and_flip"), "peel": (sequence_choices, "peel")}
    if isinstance(plant, str):
        room, name = rooms[plant]
        right = getattr(room, name)
        at = 1 if plant == "flip" else 2

        def planted(patch, f):
            def wrong(*given):
                given = list(given)
                given[at] = given[at] / (1 - Fraction(f))
                return right(*given)

            patch.setattr(room, name, wrong)

        plant = planted
    assert caught(made, plant, fraction, 600_000)


def test_the_faults_that_passed_before():
    """20 % too little Gaussian noise with a delta, and a channel that leaves out 3 % of its noise."""
    gaussian = fugu.calibrate(COUNTED, fugu.Approx(1, 1e-5), noise="gaussian")
    channel = fugu.optimal_channel(COUNTED, fugu.Pure(1))
    for made, plant, f in (
        (gaussian, less_gaussian, 0.2),
        (channel, skipped_rows, 0.03),
        (channel, tempered_rows, 0.03),
    ):
        with pytest.MonkeyPatch.context() as patch:
            plant(patch, f)
            found = fugu.audit(made, rng=rng(2), through_files=0)
        assert found.fit.refuted and not found.clean and (made is channel or not found.refuted)
        assert "do NOT have the certified law" in str(found)


# ---- other faults ---------------------------------------------------------------------------------------------------


def wrong_draws(kind, change):
    right = kind._draw
    return lambda self, column, source: change(right(self, column, source), column)


@pytest.mark.parametrize(
    "change",
    [
        lambda out, column: np.where(out == column, out + 1, out),
        lambda out, column: column + np.abs(out - column),
        lambda out, column: column + 2 * np.rint((out - column) / 2),
        lambda out, column: out + 1,
        lambda out, column: out + 0.25,
        lambda out, column: column + np.repeat((out - column)[::2], 2)[: len(out)],
        lambda out, column: np.where(column == 1, column + np.sign(out - column) * (np.abs(out - column) // 2), out),
    ],
    ids=["a hole", "one-sided", "even steps", "shifted", "off the lattice", "every draw twice", "one value only"],
)
def test_other_faults_of_one_number(change):
    made = fugu.calibrate(TWO, fugu.Pure(0.3), grid=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mechanism, "_draw", wrong_draws(Mechanism, change))
        assert examined(made, 50_000).refuted
    assert not examined(made, 50_000).refuted


def test_noise_that_coordinates_share_is_found():
    made = fugu.calibrate(VECTOR, fugu.Pure(1), grid=1)
    shared = wrong_draws(Mechanism, lambda out, column: column + (out - column)[:, :1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mechanism, "_draw", shared)
        found = examined(made, 50_000)
    assert found.refuted and "coordinates" in found.where


def test_too_much_noise_is_found_too():
    made = fugu.calibrate(COUNTED, fugu.Pure(1))
    with pytest.MonkeyPatch.context() as patch:
        less_laplace(patch, Fraction(-1, 10))
        found = examined(made, 100_000)
    assert found.refuted and "too much" in found.fault


def test_a_document_is_drawn_as_it_says_it_runs(tmp_path):
    for kind in ("laplace", "atoms", "channel, tempered", "vector", "directed", "correlated", "remapped"):
        made = KINDS[kind][0]()
        document = Certificate.parse(made.certificate.to_json())
        assert fit_of(document, rebuilt(document), 4000, LEVEL, RngBits(rng())).draws >= 4000


def test_without_noise_there_is_no_power_and_it_is_said():
    flat = fugu.LawPair(fugu.Discrete([0, 1], [5, 5]), fugu.Discrete([0, 1], [4, 6]))
    found = examined(fugu.calibrate(flat, fugu.Pure(1)), 1000)
    assert not found.refuted and "no noise is added" in found.sees and all(p.seen is None for p in found.power)


def test_what_is_not_seen_is_said():
    found = examined(fugu.optimal_channel(COUNTED, fugu.Pure(1)), 2000)
    assert found.power[0].seen < 0.5 and "0.99 takes" in found.sees
    shown = found.to_json()
    assert [p["fraction"] for p in shown["power"]] == list(FRACTIONS) and shown["refuted"] is False
    assert (MORE, 0.02) in FAULTS and isinstance(found, Fit)


def test_the_command_prints_the_power_and_ends_with_4(tmp_path):
    path = tmp_path / "c.json"
    fugu.calibrate(COUNTED, fugu.Approx(1, 1e-5), noise="gaussian").certificate.save(path)
    done = CliRunner().invoke(app, ["audit", str(path), "--draws", "100000"], env={"COLUMNS": "300"})
    assert done.exit_code == 0 and "certified law" in done.stdout and "2% with probability" in done.stdout
    with pytest.MonkeyPatch.context() as patch:
        less_gaussian(patch, 0.2)
        done = CliRunner().invoke(app, ["audit", str(path), "--draws", "100000", "--json"])
        told = json.loads(done.stdout)
    assert done.exit_code == 4 and told["fit"]["refuted"] and not told["refuted"] and not told["clean"]
