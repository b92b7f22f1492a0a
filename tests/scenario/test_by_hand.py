"""Laws by hand: a scenario file gives the very mechanism that Python gives; what is no law is refused by its key."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import FuguError, NotProvable, UsageError
from fugu.laws.cells import CellLaw
from fugu.laws.discrete import sum_of
from fugu.scenario.by_hand import scenario_by_hand
from hunting import search

THIRDS = [Fraction(1, 3)] * 3
COIN = fugu.Discrete([0, 1], [3, 7])
CASES = {
    "exact": (('a = {kind="discrete", values=[0, 1, 2], probabilities=["1/3", "1/3", "1/3"]}\n'
              'b = {kind="discrete", values=[0, 1, 2], probabilities=[0.5, 0.25, 0.25]}'),
              {"a": fugu.Discrete([0, 1, 2], THIRDS), "b": fugu.Discrete([0, 1, 2], [0.5, 0.25, 0.25])}, fugu.Pure(1)),
    "counts": ('a = {kind="discrete", values=[0.5, 4], counts=[1, 6]}\nb = {kind="discrete", values=["2.5"]}',
               {"a": fugu.Discrete([0.5, 4], [1, 6]), "b": fugu.Discrete([2.5])}, fugu.Pure(1)),
    "normal": ('[laws.a]\nkind="normal"\nmean=0\nstd=1\n[laws.b]\nkind="normal"\nmean="0.5"\nstd=1.5',
               {"a": fugu.Normal(0, 1), "b": fugu.Normal(0.5, 1.5)}, fugu.Approx(1, 0.001)),
    "mixture": (('a = {kind="mixture", probabilities=["1/3","2/3"], means=[0, 3], stds=[1, 2]}\n'
                'b = {kind="mixture", counts=[1, 1], means=[1, 3], stds=[1, 2]}'),
                {"a": fugu.NormalMixture([Fraction(1, 3), Fraction(2, 3)], [0, 3], [1, 2]),
                 "b": fugu.NormalMixture([1, 1], [1, 3], [1, 2])}, fugu.Approx(1, 0.01)),
    "vectors": (('a = {kind="discrete", values=[[0, 1], [1, 1]], counts=[1, 2]}\n'
                'b = {kind="discrete", values=[[0, 0]]}'),
                {"a": fugu.Discrete([[0, 1], [1, 1]], [1, 2]), "b": fugu.Discrete([[0, 0]])}, fugu.Pure(1)),
    "normal vectors": (('a = {kind="normal-vector", mean=[0, 1], cov=[[1, "1/2"], ["1/2", 1]]}\n'
                       'b = {kind="normal-vector", mean=[1, 1], cov=[[1, 0.5], [0.5, 1]]}'),
                       {"a": fugu.MultivariateNormal([0, 1], [[1, Fraction(1, 2)], [Fraction(1, 2), 1]]),
                        "b": fugu.MultivariateNormal([1, 1], [[1, 0.5], [0.5, 1]])}, fugu.Approx(1, 0.01)),
    "sums": (('a = {kind="sum", of=[{kind="discrete", values=[0, 1], counts=[3, 7], users=8}, '
             '{kind="discrete", values=[2]}]}\n'
             'b = {kind="sum", of={kind="discrete", values=[0, 1], counts=[3, 7], users=9}}'),
             {"a": sum_of([COIN] * 8 + [fugu.Discrete([2])]), "b": sum_of([COIN] * 9)}, fugu.Pure(1)),
    "cells": ('a = {kind="cells", counts=[1, 2, 3]}\nb = {kind="cells", probabilities=[0.5, 0.25, 0.25]}',
              {"a": CellLaw([1, 2, 3]), "b": CellLaw([0.5, 0.25, 0.25])}, fugu.Pure(1)),
    "translates": ('a = {kind="shift", by=0}\nb = {kind="shift", by=1.25}',
                   {"a": fugu.Shifted(0), "b": fugu.Shifted(1.25)}, fugu.Pure(1)),
    "adversaries": (('a = {kind="discrete", values=[0]}\nb = {kind="discrete", values=[1]}\n[[laws]]\n'
                    'a = {kind="discrete", values=[0, 2]}\nb = {kind="discrete", values=[2]}'),
                    [{"a": fugu.Discrete([0]), "b": fugu.Discrete([1])},
                     {"a": fugu.Discrete([0, 2]), "b": fugu.Discrete([2])}], fugu.Pure(1)),
}  # fmt: skip


def run(*words):
    found = CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "300"})
    if isinstance(found.exception, FuguError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.stdout


def file_of(folder, text, more="", name="laws.toml"):
    head = "" if text.startswith("[") else "[[laws]]\n" if "[[laws]]" in text else "[laws]\n"
    (folder / name).write_text(f"{head}{text}\n{more}")
    return folder / name


def budget_words(budget):
    return ("--epsilon", budget.epsilon, *(("--delta", budget.delta) if budget.delta else ()))


def same(body):
    """A certificate without what says when and by what search it was made."""
    return {name: part for name, part in body.items() if name != "scales"}


@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_the_mechanism_that_python_gives_and_it_verifies(tmp_path, name):
    text, laws, budget = CASES[name]
    place = file_of(tmp_path, text)
    run("calibrate", "--scenario", place, *budget_words(budget), "-o", tmp_path / "c.json")
    direct = fugu.calibrate(fugu.Scenario(laws), budget)
    assert json.loads((tmp_path / "c.json").read_text())["digest"] == direct.certificate.body["digest"]
    assert json.loads(run("verify", tmp_path / "c.json", "--json"))["holds"]
    assert json.loads(run("verify", tmp_path / "c.json", "--against", place, "--json"))["holds"]


def test_probabilities_are_exact_and_not_doubles(tmp_path):
    """A wrong version reads 1/3 as a double: its laws differ from those that are stated, and so does the digest."""
    text, laws, budget = CASES["exact"]
    stated = scenario_by_hand(fugu.Question.load(file_of(tmp_path, text)).laws)
    assert stated.laws["a"].masses.whole() == ([1, 1, 1], 3)
    rounded = {**laws, "a": fugu.Discrete([0, 1, 2], [1 / 3, 1 / 3, 1 / 3 + 2.0**-53])}
    exact = fugu.calibrate(stated, budget).certificate.body["digest"]
    assert exact == fugu.calibrate(fugu.Scenario(laws), budget).certificate.body["digest"]
    assert exact != fugu.calibrate(fugu.Scenario(rounded), budget).certificate.body["digest"]


def sums_by_enumeration(groups):
    """{sum: probability}, over all draws of all users."""
    users = [law for law, count in groups for _ in range(count)]
    found: dict[Fraction, Fraction] = {}
    for draws in itertools.product(*(law.items() for law in users)):
        total, mass = sum(x for x, _ in draws), math.prod(p for _, p in draws)
        found[total] = found.get(total, Fraction(0)) + mass
    return found


@search("laws of sums by hand against all draws", quick=25)
def test_sums_and_masses_are_those_of_all_draws(rng):
    """From the definition alone: every draw of every user, in fractions."""
    stated, groups = [], []
    for _ in range(int(rng.integers(1, 4))):
        n, count = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        values = [int(x) for x in rng.choice(9, n, replace=False) - 4]
        parts = [int(x) for x in rng.integers(1, 9, n)]
        chances = [Fraction(x, sum(parts)) for x in parts]
        masses = {"counts": parts} if rng.random() < 0.5 else {"probabilities": [str(p) for p in chances]}
        stated.append({"kind": "discrete", "values": values, **masses, **({} if count == 1 else {"users": count})})
        groups.append((dict(zip(values, chances, strict=True)), count))
    other = {"kind": "discrete", "values": [0]}
    law = scenario_by_hand({"a": {"kind": "sum", "of": stated}, "b": other}).adversaries[0]["a"]
    numerators, total = law.masses.whole()
    read = {Fraction(v): Fraction(n, total) for v, n in zip(law.values.tolist(), numerators, strict=True) if n}
    assert read == sums_by_enumeration(groups)


def test_distributions_are_those_of_python(tmp_path):
    text = """[distributions.north]\nkind = "discrete"\nvalues = [0, 1, 3]\ncounts = [5, 3, 2]
[distributions.south]\nkind = "discrete"\nvalues = [0, 1, 3]\ncounts = [1, 3, 6]\n"""
    place = file_of(tmp_path, text, RELEASED)
    with pytest.raises(UsageError, match="it is no column of rows"):
        run("calibrate", "--scenario", place)
    place = file_of(tmp_path, text, "[secrets]\npairs = [['north', 'south']]\n[budget]\nepsilon = 0.5\n")
    run("calibrate", "--scenario", place, "-o", tmp_path / "c.json")
    laws = {"north": fugu.Discrete([0, 1, 3], [5, 3, 2]), "south": fugu.Discrete([0, 1, 3], [1, 3, 6])}
    direct = fugu.calibrate(fugu.Scenario.from_distributions(laws, [("north", "south")]), fugu.Pure(0.5))
    assert json.loads((tmp_path / "c.json").read_text())["digest"] == direct.certificate.body["digest"]
    assert any("distributions: the data are drawn" in line for line in direct.certificate.assumptions)
    question = fugu.Question.load(place)
    question.save(tmp_path / "again.toml")
    assert fugu.Question.load(tmp_path / "again.toml") == question and "[distributions]" in question.to_toml()
    both = file_of(tmp_path, text, '[laws]\na = {kind="shift", by=0}\nb = {kind="shift", by=1}\n')
    with pytest.raises(UsageError, match="two ways to say the same"):
        run("calibrate", "--scenario", both, "--epsilon", 1)
    for wrong in ("distributions = 3", "[distributions]\na = 3"):
        (tmp_path / "wrong.toml").write_text(wrong)
        with pytest.raises(UsageError, match="distributions"):
            run("calibrate", "--scenario", tmp_path / "wrong.toml", "--epsilon", 1)


@pytest.mark.parametrize(("more", "said"), [
    ('a = {kind="normal", mean=0}', "[laws.a] is of kind 'normal' and has no std"),
    ('a = {mean=0, std=1}', "[laws.a] must be a table with a kind"),
    ('a = {kind="norml", mean=0, std=1}', "did you mean 'normal'"),
    ('a = {kind=3}', "no kind in [laws.a]"),
    ('a = {kind="normal", mean=0, sd=1}', "key in [laws.a] (normal) called 'sd'"),
    ('a = {kind="normal", mean=nan, std=1}', "[laws.a]: mean: not a number, or not a finite one"),
    ('a = {kind="normal", mean=1e400, std=1}', "[laws.a]: mean"),
    ('a = {kind="normal", mean="1e400", std=1}', "[laws.a]: mean is beyond the range of doubles"),
    ('a = {kind="normal", mean="1e99999999", std=1}', "[laws.a]: mean"),
    ('a = {kind="normal", mean=true, std=1}', "[laws.a]: mean must be a number"),
    ('a = {kind="normal", mean=0, std=-1}', "[laws.a]: a standard deviation (std) must not be negative"),
    ('a = {kind="normal", mean=[0, 1], std=1}', "[laws.a]: a mean must be a number"),
    ('a = {kind="discrete", values=[]}', "[laws.a]: a law needs at least one value"),
    ('a = {kind="discrete", values=3}', "[laws.a]: values must be a list"),
    ('a = {kind="discrete", values=[[1], [1, 2]]}', "vectors of one length"),
    ('a = {kind="discrete", values=[[[1]]]}', "[laws.a]: values is a number, a list of numbers or a list of such"),
    ('a = {kind="discrete", values=[0, 1], probabilities=[1, 2]}', "Fractions must sum to exactly 1, got 3"),
    ('a = {kind="discrete", values=[0, 1], probabilities=["1/3", "1/3"]}', "must sum to exactly 1, got 2/3"),
    ('a = {kind="discrete", values=[0, 1], probabilities=[1.5, -0.5]}', "weights must not be negative"),
    ('a = {kind="discrete", values=[0, 1], probabilities=["1/0", 1]}', "[laws.a]: probabilities: a fraction has a"),
    ('a = {kind="discrete", values=[0, 1], counts=[0.5, 0.5]}', "counts must be whole numbers"),
    ('a = {kind="discrete", values=[0, 1], counts=[-1, 2]}', "counts must be whole numbers"),
    ('a = {kind="discrete", values=[0, 1], counts=[0, 0]}', "the weights are all zero"),
    ('a = {kind="discrete", values=[0, 1], counts=[1, 1], probabilities=[0.5, 0.5]}', "give one of them"),
    ('a = {kind="discrete", values=["1/3"]}', "[laws.a]: some value is not a double"),
    ('a = {kind="discrete", values=["x"]}', "[laws.a]: values: not a number"),
    ('a = {kind="mixture", means=[0], stds=[[1]]}', "stds must be a list of numbers"),
    ('a = {kind="normal-vector", mean=[0, 0], cov=[[1, 2], [2, 1]]}', "not positive semidefinite"),
    ('a = {kind="normal-vector", mean=0, cov=1}', "[laws.a]: mean must be a list"),
    ('a = {kind="sum", of=[]}', "[laws.a]: a sum needs at least one law"),
    ('a = {kind="sum", of=[{kind="normal", mean=0, std=1}]}', "[laws.a]: no kind in of, part 1 called 'normal'"),
    ('a = {kind="sum", of=[{kind="discrete", values=[0], users=0}]}', "part 1: users must be a whole number"),
    ('a = {kind="sum", of=[3]}', "of, part 1 must be a table with a kind"),
    ('a = {kind="shift", by=inf}', "[laws.a]: by"),
    ('a = {kind="cells"}', "two cells or more"),
    ("a = 3", "[laws.a] must be a table with a kind"),
    ('a = {kind="discrete", values=2020-01-01}', "[laws.a]: values must be a number"),
    ('a = {kind="discrete", values=[[0, 1]]}', "one dimension"),
    ("", "at least two secrets are needed"),
])  # fmt: skip
def test_what_is_no_law_is_refused_by_its_key(tmp_path, more, said):
    place = file_of(tmp_path, f'b = {{kind="discrete", values=[0]}}\n{more}')
    with pytest.raises(UsageError) as refused:
        run("calibrate", "--scenario", place, "--epsilon", 1)
    assert said in str(refused.value) and not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize(("words", "said"), [
    (("--laws", "{"), "laws are not JSON"),
    (("--laws", "[" * 5000), "laws are not JSON"),
    (("--laws", "[]"), "[[laws]] has no adversary"),
    (("--laws", "3"), "must be a table of secrets"),
    (("--laws", '[3]'), "[laws, adversary 1] must be a table of secrets"),
    (("--laws", '[{"a": 3}]'), "[laws, adversary 1: a] must be a table with a kind"),
    (("--scenario", "laws.toml", "--protect", "s"), "--protect: the laws are stated by hand"),
    (("ref.csv", "--scenario", "laws.toml"), "--reference: the laws are stated by hand"),
    (("--scenario", "laws.toml", "--prior", "gaussian"), "--prior: the laws are stated by hand"),
    (("--scenario", "laws.toml", "--pairs", "a:x"), "no secret 'x'"),
])  # fmt: skip
def test_options_that_do_not_fit_are_refused(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref.csv").write_text("s,v\na,1\nb,2\n")
    file_of(tmp_path, CASES["counts"][0])
    with pytest.raises(UsageError) as refused:
        run("calibrate", *words, "--epsilon", 1)
    assert said in str(refused.value)
    for command in (("calibrate", "--epsilon", 1), ("compare", "--epsilon", 1), ("plan", "--error", 1)):
        with pytest.raises(UsageError, match="TABLE is missing"):
            run(*command)  # without laws a table is needed as ever


def test_a_file_without_table_is_compared_and_planned(tmp_path):
    place = file_of(tmp_path, CASES["exact"][0], "[secrets]\npairs = [['a', 'b']]\n[budget]\nepsilon = 1\n")
    found = json.loads(run("compare", "--scenario", place, "--json"))
    direct = fugu.compare(fugu.Scenario(CASES["exact"][1]), fugu.Pure(1))
    assert [row["scale"] for row in found["rows"]] == [row.scale for row in direct.rows]
    least = json.loads(run("plan", "--scenario", place, "--error", 1, "--json"))["epsilon"]
    assert least == float(fugu.plan(fugu.Scenario(CASES["exact"][1]), 1).epsilon)
    assert run("compare", "--scenario", place) and run("plan", "--scenario", place, "--error", 1)
    page = tmp_path / "page.html"
    run("calibrate", "--scenario", place, "--report", page)
    assert "by hand" in page.read_text() or "as stated" in page.read_text()


RELEASED = """
[question]
publish = "score"
[budget]
epsilon = 1
delta = 0.01
[schema.columns.score]
kind = "number"
bounds = [0, 40]
"""


def test_given_values_are_released_and_checked_from_outside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("id,score\n1,10\n2,\n3,99\n")
    laws = 'well = {kind="normal", mean=10, std=1}\nsick = {kind="normal", mean=14, std=1}'
    place = file_of(tmp_path, laws, RELEASED)
    with pytest.raises(UsageError, match="how many rows TABLE has"):
        run("release", "t.csv", "--scenario", place, "--no-ledger", "-o", "out.csv")
    with pytest.raises(UsageError, match=r"--scenario laws.toml --publish score --rows N --epsilon 1"):
        run("release", "t.csv", "--scenario", place, "--no-ledger", "-o", "out.csv")
    three = r"by hand needs 3 more .* how many rows .* which column .*\[schema.columns.COLUMN\].* --scenario laws.toml"
    with pytest.raises(UsageError, match=three) as refusal:
        run("release", "t.csv", "--laws", '{"a": {}}', "--epsilon", 1, "-o", "out.csv")
    assert "fugu init" not in str(refusal.value)  # which writes no laws
    given = ("release", "t.csv", "--scenario", place, "--rows", 3)
    assert "no private table was read" in run(*given, "--dry-run", "--no-ledger")
    out = run(*given, "--ledger", "l.db", "-o", "out.csv")
    assert "a missing or unreadable cell of 'score' counts as 20" in out
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
    document = json.loads((tmp_path / "out.certificate.json").read_text())
    assert document["beliefs"]["from"] == "declared"
    verified = run("verify", "out.certificate.json", "--published", "out.csv")
    assert "holds: the proved loss is within the budget" in verified
    assert "released before" in run(*given, "--ledger", "l.db", "-o", "out.csv")
    place.write_text(place.read_text().replace("mean=14", "mean=13"))  # other laws are another request
    with pytest.raises(FuguError, match="might have been chosen after looking"):
        run(*given, "--ledger", "l.db", "-o", "other.csv")
    with pytest.raises(UsageError, match="nothing says how column 'v' is read"):
        run(*given, "--no-ledger", "--publish", "v", "-o", "v.csv")
    file_of(tmp_path, CASES["vectors"][0], RELEASED, "vectors.toml")
    with pytest.raises(UsageError, match="holds one number in each row"):
        run("release", "t.csv", "--scenario", "vectors.toml", "--rows", 3, "--no-ledger", "-o", "v.csv")
    for name in ("--query", "--reference"):
        with pytest.raises(UsageError, match="laws"):
            run(*given, "--no-ledger", name, "t.csv" if name == "--reference" else "mean(score)", "-o", "w.csv")


def test_a_certificate_of_laws_by_hand_says_that_nothing_private_was_looked_at(tmp_path):
    """Without that line, or beside a recipe that fits beliefs, it does not hold."""
    schema = fugu.Schema({"score": {"kind": "number", "bounds": (0, 40)}})
    scenario = scenario_by_hand(json.dumps({
        "a": {"kind": "normal", "mean": 10, "std": 1}, "b": {"kind": "normal", "mean": 14, "std": 1},
    }), "all", "score", None, schema)  # fmt: skip
    certificate = fugu.calibrate(scenario, fugu.Approx(1, 0.01)).certificate
    assert fugu.verify(certificate).holds
    body = certificate.unsealed
    body["assumptions"] = [line for line in body["assumptions"] if not line.startswith("the laws were stated by hand")]
    assert not fugu.verify(type(certificate).seal(body, certificate.laws)).holds


def test_a_question_of_laws_is_written_and_read_again(tmp_path):
    for name, (text, _, _) in CASES.items():
        question = fugu.Question.load(file_of(tmp_path, text, "[budget]\nepsilon = 1\n"))
        question.save(tmp_path / "again.toml")
        assert fugu.Question.load(tmp_path / "again.toml") == question, name
    with_fractions = fugu.Question(laws={"a": {"kind": "shift", "by": Fraction(1, 4)}, "b": {"kind": "shift", "by": 0}})
    assert scenario_by_hand(with_fractions.laws).laws["a"] == fugu.Shifted(Fraction(1, 4))


ODD = [
    None, True, "", "x", "1/3", "1/0", "-2", "1e400", "nan", "0x10", " 1", -1, 0, 1, 2, 0.5, 1e-320, 1e308, math.inf,
    math.nan, 10**400, [], [1], [0, 1], [0.5, 0.5], ["1/2", "1/2"], [[0, 1], [1, 0]], [[1, 0], [0, 1]], [[[1]]], {},
    {"kind": "normal"}, {"kind": "discrete", "values": [1]}, [{"kind": "discrete", "values": [1], "users": 3}],
    "normal", "discrete", "mixture", "normal-vector", "sum", "shift", "cells", "\x00", "√",
]  # fmt: skip
KEYS = ["kind", "mean", "std", "values", "probabilities", "counts", "means", "stds", "cov", "of", "by", "users", "z"]


@search("laws by hand that are none, at the door", quick=400)
def test_whatever_stands_there_is_a_scenario_or_a_clear_refusal(rng):
    kinds = ["normal", "discrete", "mixture", "normal-vector", "sum", "shift", "cells"]

    def some_law():
        told = {str(rng.choice(KEYS)): ODD[rng.integers(len(ODD))] for _ in range(rng.integers(0, 5))}
        return {**told, "kind": str(rng.choice(kinds))} if rng.random() < 0.8 else told

    laws: object = {"a": some_law(), "b": some_law() if rng.random() < 0.5 else {"kind": "discrete", "values": [0]}}
    if rng.random() < 0.2:
        laws = [laws, ODD[rng.integers(len(ODD))]]
    try:
        found = scenario_by_hand(json.dumps(laws) if rng.random() < 0.5 else laws)
    except (UsageError, NotProvable) as refusal:
        said = str(refusal)
        if "law" not in said and "secret" not in said:
            raise
        return
    assert found.law_pairs() and np.all([pair.dimension >= 1 for pair in found.law_pairs()])
