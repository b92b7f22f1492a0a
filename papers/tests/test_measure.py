"""`fugu measure`: every number is the one that Python proves, and what is no question is refused by its key."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import FuguError, UsageError
from fugu.priors.network import contacts, household
from fugu_papers.measure import conversions, distances, implied, losses
from fugu_papers.own_prior import KINDS, prior_of
from hunting import search

LAWS = """
[laws]
a = {kind = "discrete", values = [1, 2, 3], probabilities = ["1/3", "1/3", "1/3"]}
b = {kind = "discrete", values = [0, 1, 2], probabilities = [0.5, 0.25, 0.25]}
"""
NFC = """
mechanisms = [[["3/4", "1/4"], ["1/4", "3/4"]]]
[secrets]
sick = [1, 0]
well = [0, 1]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "laws.toml").write_text(LAWS)
    (tmp_path / "other.toml").write_text(LAWS.replace("[1, 2, 3]", "[1, 2, 4]"))
    (tmp_path / "nfc.toml").write_text(NFC)
    (tmp_path / "normal.toml").write_text(
        '[laws]\na = {kind = "normal", mean = 0, std = 1}\nb = {kind = "normal", mean = 1, std = 1}\n'
    )
    return tmp_path


def run(*words):
    found = CliRunner().invoke(cli.app, ["measure", *map(str, words)], env={"COLUMNS": "200"})
    if isinstance(found.exception, FuguError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.stdout


def rows_of(*words):
    told = json.loads(run(*words, "--json"))
    return {(row["about"], row["what"]): row["value"] for row in told["measured"]}


def by_program(p, q, spare):
    """(least mean distance, least W that leaves at most `spare` behind), by linear programs over all couplings."""
    x, y = (sorted(law) for law in (p, q))
    cost = np.array([abs(i - j) for i, j in product(x, y)], dtype=float)
    ends = [[float(i == u) for i, _ in product(x, y)] for u in x] + [
        [float(j == v) for _, j in product(x, y)] for v in y
    ]
    masses = [p[u] for u in x] + [q[v] for v in y]
    mean = linprog(cost, A_eq=ends, b_eq=masses).fun
    for far in sorted(set(cost.tolist())):
        left = linprog((cost > far).astype(float), A_eq=ends, b_eq=masses).fun
        if left <= spare + 1e-12:
            return mean, far
    raise AssertionError("some distance holds everything")


@search("distances of laws against linear programs", quick=20)
def test_distances_are_those_of_all_couplings(rng):
    n, m = rng.integers(1, 5, 2)
    laws = []
    for k in (int(n), int(m)):
        values = rng.choice(9, k, replace=False)
        parts = rng.integers(1, 9, k)
        laws.append(
            (fugu.Discrete(values, parts), dict(zip(values.tolist(), (parts / parts.sum()).tolist(), strict=True)))
        )
    (p, first), (q, second) = laws
    spare = float(rng.choice([0.1, 0.25, 0.4]))
    found = [row.value for row in distances((fugu.LawPair(p, q, "a vs b"),), spare)]
    mean, far = by_program(first, second, 0.0)
    _, close = by_program(first, second, spare)
    assert found == pytest.approx([mean, far, close], abs=1e-7)


def test_losses_are_those_of_the_outputs_by_enumeration():
    """From the definition: P(y) = sum_x p(x) (1 - r) / (1 + r) r^|y - x|. A wrong version looks at one order only."""
    p, q, scale, order = {1: 1, 2: 1, 3: 1}, {0: 2, 1: 1, 2: 1}, 1.5, 2
    with mpmath.workdps(40):
        r = mpmath.exp(-1 / mpmath.mpf(scale))
        unit = (1 - r) / (1 + r)

        def law(parts):
            total = sum(parts.values())
            return [
                sum(mpmath.mpf(w) / total * unit * r ** abs(y - x) for x, w in parts.items()) for y in range(-200, 200)
            ]

        one, two = law(p), law(q)
        ways = [(one, two), (two, one)]
        pure = [max(mpmath.log(a / b) for a, b in zip(*way, strict=True)) for way in ways]
        delta = [sum(max(a - mpmath.exp(0.5) * b, 0) for a, b in zip(*way, strict=True)) for way in ways]
        renyi = [mpmath.log(sum(a**order / b ** (order - 1) for a, b in zip(*way, strict=True))) for way in ways]
        wanted = [float(max(each)) for each in (pure, delta, renyi)]
        wrong = [[float(each[k]) for each in (pure, delta, renyi)] for k in (0, 1)]
    pair = fugu.LawPair(fugu.Discrete(list(p), list(p.values())), fugu.Discrete(list(q), list(q.values())), "a vs b")
    found = [row.value for row in losses(fugu.Laplace(scale, grid=1), (pair,), 0.5, order)]
    assert found == pytest.approx(wanted, rel=1e-9) and all(x >= y - 1e-12 for x, y in zip(found, wanted, strict=True))
    assert any(found != pytest.approx(each, rel=1e-9) for each in wrong)


def test_the_screen_has_what_python_proves(folder):
    pair = fugu.Scenario(
        {"a": fugu.Discrete([1, 2, 3]), "b": fugu.Discrete([0, 1, 2], [2, 1, 1])}
    ).law_pairs()[0]  # fmt: skip
    noise = fugu.Laplace(1.5, grid=1)
    given = ("laws.toml", "--noise", "laplace", "--scale", 1.5, "--grid", 1, "--epsilon", 0.5, "--delta", 0.01)
    found = rows_of(*given, "--alpha", 2, "--against", "other.toml")
    assert found["a vs b", "W_1"] == fugu.wasserstein(pair.p, pair.q, 1)
    assert found["a vs b", "W_inf"] == fugu.wasserstein(pair.p, pair.q)
    assert found["a vs b", "W of (W, 0.01)-closeness"] == fugu.closeness(pair.p, pair.q, 0.01)
    epsilon, renyi = fugu.epsilon(noise, pair), fugu.renyi(noise, pair, 2)
    assert found["a vs b", "epsilon, pure"] == epsilon
    assert found["a vs b", "delta at epsilon 0.5"] == fugu.delta(noise, pair, 0.5)
    assert found["a vs b", "Rényi loss of order 2"] == renyi
    converted = {key: value for key, value in found.items() if key[0].startswith("epsilon ")}
    assert fugu.Pure(epsilon).to_approx(0.01).epsilon in converted.values()
    assert fugu.Renyi(2, renyi).to_approx(0.01).epsilon in converted.values()
    other = fugu.LawPair(fugu.Discrete([1, 2, 4]), pair.q)
    assert found["a vs b under other.toml", "epsilon, pure"] == fugu.epsilon(noise, other) > epsilon
    said = run(*given)
    shown = next(line.split()[-2] for line in said.splitlines() if "epsilon, pure" in line)
    assert len(shown) == 12 and float(shown) >= epsilon  # ten digits, and never below the proved value
    assert "Song, Wang, Chaudhuri 2017, Theorem 3.2" in said and "Kairouz, Oh, Viswanath 2015" in said


def test_the_least_noise_is_measured_against_beliefs_nearby(folder):
    pairs = fugu.Question.load("laws.toml")
    found = rows_of("laws.toml", "--epsilon", 1, "--within", 0.5)
    mechanism = fugu.calibrate(fugu.Scenario({"a": fugu.Discrete([1, 2, 3]), "b": fugu.Discrete([0, 1, 2], [2, 1, 1])}),
                               fugu.Pure(1))  # fmt: skip
    assert pairs.laws is not None
    key = "all pairs", "epsilon, against all beliefs within 0.5"
    assert found[key] == fugu.guarantee_within(mechanism, 0.5).epsilon
    assert found["a vs b", "epsilon, pure"] == pytest.approx(1, abs=1e-8)
    approx = rows_of("normal.toml", "--epsilon", 1, "--delta", 0.01, "--within", 0.25)
    assert approx["all pairs", "delta at epsilon 1, against all beliefs within 0.25"] > 0.01
    assert approx["a vs b", "distances"] is None


def test_conversions_name_their_theorem():
    """By the formulas: ln(e^e - d (1 + e^e)), and the divergence of randomised response."""
    rows = list(conversions(fugu.Pure(1), 0.01, 2))
    share = math.e / (1 + math.e)
    response = math.log(share**2 / (1 - share) + (1 - share) ** 2 / share)
    wanted = [math.log(math.e - 0.01 * (1 + math.e)), response]
    assert [row.value for row in rows] == pytest.approx(wanted, rel=1e-12)
    assert all(row.by for row in rows) and not list(conversions(fugu.Pure(math.inf), 0.01, 2))
    assert not list(conversions(fugu.Pure(1), 0, None))


def test_what_follows_is_of_the_worst_pair():
    pairs = fugu.Scenario({"a": fugu.Discrete([0]), "b": fugu.Discrete([1]), "c": fugu.Discrete([3])}).law_pairs()
    found = list(losses(fugu.Laplace(2, grid=1), pairs, None, 2))
    (at_delta,) = (row for row in implied(found, 0.01, None) if row.what == "epsilon at delta 0.01")
    assert (
        at_delta.value
        == fugu.Pure(max(row.value for row in found if row.what == "epsilon, pure")).to_approx(0.01).epsilon
    )
    unknown = [*found, replace(found[0], value=None)]
    assert not [row for row in implied(unknown, 0.01, None) if row.what == "epsilon at delta 0.01"]


def test_blocks_and_runs(folder):
    found = json.loads(run("--parallel", "0.5,1:1e-6", "--nfc", "nfc.toml", "--json"))
    values = {row["what"]: row["value"] for row in found["measured"]}
    assert found["passes"] and values["epsilon of 2 blocks of different people, no person in two"] == 1
    assert values["epsilon of a run, in the long run"] == pytest.approx(math.log(3))
    assert values["epsilon of 10 runs of each"] == pytest.approx(10 * math.log(3))
    (folder / "nfc.toml").write_text(NFC.replace('["1/4", "3/4"]]', '["0", "1"]]'))
    told = json.loads(run("--nfc", "nfc.toml", "--json"))
    assert not told["passes"] and told["measured"][0]["infinite"]
    assert "does not pass" in run("--nfc", "nfc.toml")


@pytest.mark.parametrize(("words", "said"), [
    ((), "give a FILE"),
    (("--epsilon", 1, "--nfc", "nfc.toml"), "give a FILE with"),
    (("nofile.toml",), "no file 'nofile.toml'"),
    (("nfc.toml",), "no section of 'nfc.toml' called 'mechanisms'"),
    (("empty.toml",), "has no [laws]"),
    (("laws.toml", "--noise", "x", "--scale", 1), "no noise 'x'"),
    (("laws.toml", "--scale", "nan"), "a scale must be"),
    (("laws.toml", "--scale", "1e400"), "scale is beyond"),
    (("laws.toml", "--scale", "-1"), "a scale must be"),
    (("laws.toml", "--grid", "1"), "--grid is the lattice of a given noise"),
    (("laws.toml", "--against", "other.toml"), "--against is about a noise"),
    (("laws.toml", "--scale", "1", "--within", "1"), "--within is about the least noise"),
    (("laws.toml", "--scale", "1", "--against", "nfc.toml"), "no section of"),
    (("--parallel", "x"), "epsilon must be a number"),
    (("--parallel", "1:2:3"), "delta must be a number"),
    (("--parallel", ""), "epsilon must be a number"),
    (("--nfc", "nofile.toml"), "no file 'nofile.toml'"),
    (("--nfc", "laws.toml"), "has no key 'laws'"),
    (("--nfc", "bad.toml"), "is not TOML"),
    (("--nfc", "empty.toml"), "holds two secrets"),
])  # fmt: skip
def test_what_is_no_question_is_refused(folder, words, said):
    (folder / "bad.toml").write_text("mechanisms = [[")
    (folder / "empty.toml").write_text("")
    with pytest.raises(UsageError) as refused:
        run(*words)
    assert said in str(refused.value)


@pytest.mark.parametrize(("told", "said"), [
    ("mechanisms = []\n[secrets]\na=[1]\nb=[1]", "mechanisms of --nfc is a list"),
    ("mechanisms = [3]\n[secrets]\na=[1,0]\nb=[0,1]", "mechanism 1 is no table"),
    ("mechanisms = [[[1, nan]]]\n[secrets]\na=[1,0]\nb=[0,1]", "mechanism 1: not a number"),
    ("mechanisms = [[[0.5, 0.6]]]\n[secrets]\na=[1,0]\nb=[0,1]", "sum to one"),
    ("mechanisms = [[[-1, 2], [1, 0]]]\n[secrets]\na=[1,0]\nb=[0,1]", "sum to one"),
    ("mechanisms = [[[1, 0], [1]]]\n[secrets]\na=[1,0]\nb=[0,1]", "same outputs"),
    ("mechanisms = [[[[1]]]]\n[secrets]\na=[1,0]\nb=[0,1]", "no deeper"),
    ("mechanisms = [[[1], [1]]]\n[secrets]\na=[1,0]\nb=[0.5,0.5]", "possible under both secrets"),
    ("mechanisms = [[[1], [1]]]\n[secrets]\na=[1]\nb=[0,1]", "one row per dataset"),
    ("mechanisms = [[[1], [1]]]\n[secrets]\na=1\nb=[0,1]", "must be a list of probabilities"),
    ("mechanisms = [[[1], [1]]]\n[secrets]\na=[1,0]", "holds two secrets"),
])  # fmt: skip
def test_mechanisms_that_are_none_are_refused(folder, told, said):
    (folder / "own.toml").write_text(told)
    with pytest.raises(UsageError) as refused:
        run("--nfc", "own.toml")
    assert said in str(refused.value)


STEP = [[0.6, 0.4], [0.2, 0.8]]
PRIORS = {
    "chain": (
        'transition = [[0.6, 0.4], ["1/5", "4/5"]]\nlength = 100\ninitial = "any"',
        lambda: fugu.MarkovChain(STEP, 100, "any"),
    ),
    "network": (
        'tables = {rain = [0.8, 0.2], wet = [[0.9, 0.1], [0.2, 0.8]]}\nparents = {wet = ["rain"]}',
        lambda: fugu.BayesianNetwork({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, {"wet": ["rain"]}),
    ),
    "contacts": (
        'met = {Ann = "", Bob = "Ann", Dan = "Bob"}\nprior = 0.02\ntransmission = 0.3',
        lambda: contacts({"Ann": None, "Bob": "Ann", "Dan": "Bob"}, 0.02, 0.3),
    ),
    "household": ("size = 4\nprior = 0.1\ntransmission = 0.5", lambda: household(4, 0.1, 0.5)),
    "hidden": (
        "transition = [[0.6, 0.4], [0.2, 0.8]]\nemission = [[0.7, 0.3], [0.4, 0.6]]\nlength = 20",
        lambda: fugu.HiddenMarkov(STEP, [[0.7, 0.3], [0.4, 0.6]], 20),
    ),
}


@pytest.mark.parametrize("kind", PRIORS)
def test_a_prior_by_hand_is_worth_what_python_says(folder, kind):
    text, made = PRIORS[kind]
    (folder / "prior.toml").write_text(f'[prior]\nkind = "{kind}"\n{text}\n')
    found = {what: value for (_, what), value in rows_of("prior.toml", "--epsilon", 1, "--each", 0.2).items()}
    prior = made()
    assert found["epsilon per entry that keeps epsilon 1"] == fugu.dp_budget(prior, 1)
    assert found["worth of epsilon 0.2 per entry"] == fugu.translate(prior, 0.2)
    curve = fugu.influence(prior)
    points = {b: found[f"influence a({b})"] for b in range(1, min(8, prior.entries or 8) + 1)}
    assert {b: math.inf if a is None else a for b, a in points.items()} == {b: curve(b) for b in points}


def test_a_field_by_hand_is_worth_what_python_says(folder):
    text = '[prior]\nkind = "field"\ncovariance = [[1, 0.5], ["1/2", 1]]\nwidth = 1\n'
    (folder / "prior.toml").write_text(text)
    found = {
        what: value
        for (_, what), value in rows_of("prior.toml", "--epsilon", 1, "--delta", 0.01, "--each", 0.2).items()
    }
    field = fugu.GaussianField([[1, 0.5], [0.5, 1]], 1)
    assert found["rho per entry that keeps epsilon 1 and delta 0.01"] <= fugu.dp_budget(field, fugu.Approx(1, 0.01)).rho
    assert found["worth of rho 0.2 per entry"] >= fugu.translate(field, fugu.ZCDP(0.2)).rho


@pytest.mark.parametrize(("text", "words", "said"), [
    ("[prior]\nlength = 3", (), "must be a table with a kind"),
    ("prior = 3", (), "must be a table with a kind"),
    ('[prior]\nkind = "chian"', (), "did you mean 'chain'"),
    ('[prior]\nkind = "chain"\nlength = 3', (), "has no transition"),
    ('[prior]\nkind = "chain"\nlength = 3\nstep = 1', (), "called 'step'"),
    ('[prior]\nkind = "chain"\nlength = 3\ntransition = [[nan, 1], [0, 1]]', (), "transition: not a number"),
    ('[prior]\nkind = "chain"\nlength = 3\ntransition = [[-1, 2], [0, 1]]', (), "[prior]"),
    ('[prior]\nkind = "chain"\nlength = 3\ntransition = 3', (), "[prior]"),
    ('[prior]\nkind = "field"\nwidth = 1\ncovariance = [[1, 2], [2, 1]]', (), "[prior]"),
    ('[prior]\nkind = "contacts"\nmet = 3\nprior = 0.1\ntransmission = 0.1', (), "does not hold what it needs"),
    ('[prior]\nkind = "contacts"\nmet = {a = "b", b = "a"}\nprior = 0.1\ntransmission = 0.1', (), "[prior]"),
    ('[prior]\nkind = "household"\nsize = 3\nprior = 0.1\ntransmission = 0.1\n[budget]\nepsilon = 1', (), "2 sections"),
    ('[prior]\nkind = "household"\nsize = 3\nprior = 0.1\ntransmission = 0.1', ("--scale", 1), "--scale: for laws"),
    ('[prior]\nkind = "household"\nsize = 3\nprior = 0.1\ntransmission = 0.1', ("--delta", 0.1), "--delta goes with"),
    (LAWS, ("--each", 1), "--each is an epsilon for each entry"),
])  # fmt: skip
def test_what_is_no_prior_is_refused(folder, text, words, said):
    (folder / "prior.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        run("prior.toml", *words)
    assert said in str(refused.value)


ODD = [None, True, "", "x", "1/3", -1, 0, 1, 3, 0.5, math.nan, math.inf, 10**400, [], [1], STEP, [[[1]]], {}, {"a": ""},
       {"a": [0.5, 0.5]}, {"a": ["a"]}, "any", "stationary"]  # fmt: skip


@search("priors by hand that are none, at the door", quick=300)
def test_whatever_stands_there_is_a_prior_or_a_clear_refusal(rng):
    kind = str(rng.choice(list(KINDS)))
    _, needs, may = KINDS[kind]
    told = {key: ODD[rng.integers(len(ODD))] for key in (*needs, *may) if key in needs or rng.random() < 0.3}
    try:
        prior_of({"kind": kind, **told})
    except UsageError as refusal:
        if "[prior]" not in str(refusal):
            raise
