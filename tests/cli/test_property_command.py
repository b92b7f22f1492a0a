"""`fugu property`: tables and JSON say the same, files are written whole, nothing is released, refusals have codes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.auditing.bounds import Implied
from fugu.auditing.outcome import AttackReport, Attempt
from fugu.cli.property import _attacked
from fugu.errors import FuguError
from fugu.guarantee import Pure

ASKED = ["--statistics", "mean(age)", "--statistics", "count(sex=F)"]
SIZE = 20
BUDGET = ["--epsilon", "1", "--delta", "1e-3"]


class Result:
    """What a call of the command gave."""

    def __init__(self, *args):
        found = CliRunner().invoke(cli.app, ["property", *(str(a) for a in args)], env={"COLUMNS": "200"})
        self.out, self.code, self.message = found.stdout, found.exit_code, ""
        if isinstance(found.exception, FuguError):
            self.code, self.message = found.exception.exit_code, str(found.exception)
        elif found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception


@pytest.fixture(scope="module", autouse=True)
def _same_draws():
    """The attack and the record swap draw the same in every run of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        real = np.random.PCG64
        patch.setattr(np.random, "PCG64", lambda *seed: real(*(seed or (7,))))
        yield


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    source = np.random.default_rng(0)
    rich = source.random(500) < 0.4
    age, sex = source.integers(20, 60, 500) + 8 * rich, source.random(500) < 0.3 + 0.3 * rich
    rows = [f"{'yes' if r else 'no'},{int(r)},{a},{'FM'[int(s)]},{'abc'[i % 3]}"
            for i, (r, a, s) in enumerate(zip(rich, age, sex, strict=True))]  # fmt: skip
    path = tmp_path_factory.mktemp("shares") / "people.csv"
    path.write_text("\n".join(["rich,flag,age,sex,town", *rows]) + "\n")
    return path


def run(table, *more, hide="rich=yes", asked=ASKED, budget=BUDGET):
    return Result(table, *asked, "--hide", hide, "--size", SIZE, "--tolerance", "0.2", "--draws", 5000, *budget, *more)


@pytest.fixture(scope="module")
def told(table):
    found = run(table, "--json", "--sweep")
    assert found.code == 0, found.message
    return json.loads(found.out)


def test_json_holds_everything_and_agrees_with_python(table, told):
    scenario = fugu.Scenario.from_property(table, ["mean(age)", "count(sex=F)"], "rich=yes", SIZE, tolerance=0.2)
    mechanism = fugu.calibrate(scenario, fugu.Approx(1, 1e-3))
    assert told["chosen"]["fingerprint"] == mechanism.certificate.fingerprint
    assert told["chosen"]["deviations"].keys() == {"mean(age)", "count(sex=F)"}
    assert {m["method"]: m["proven"] for m in told["methods"]} == {
        row.method: row.proven for row in fugu.compare(scenario, fugu.Approx(1, 1e-3)).rows
    }
    assert all(m["why"] and m["error"] is None for m in told["methods"] if not m["proven"])
    swap, attack = told["record_swap"], told["attack"]
    assert swap["confidence"] == 1 - 1e-6 and swap["delta_bound"] <= 1e-3 and swap["released"] is False
    assert swap["error"] > told["chosen"]["error"]
    assert attack["before"]["attempts"][0]["accuracy"] > attack["after"]["attempts"][0]["accuracy"]
    assert attack["after"]["consistent"] and attack["before"]["delta"] == attack["after"]["delta"] == 1e-3
    assert [row["tolerance"] for row in told["sweep"]] == [0.05, 0.1, 0.2, 0.3, 0.4]
    assert told["every"] and [told["shares"][place][end] for place, end in ((0, "from"), (-1, "to"))] == [0, SIZE]
    assert told["released"] is False and told["warning"] is None
    assert any("Gaussian model" in a for a in told["chosen"]["assumptions"])


def test_the_tables_say_the_same(table, told):
    shown = run(table, "--sweep")
    assert shown.code == 0
    assert all(m["method"] in shown.out for m in told["methods"])
    assert f"{told['chosen']['error']:.5g}" in shown.out and f"{told['record_swap']['sigma']:.5g}" in shown.out
    for words in ("what can lower the noise: a smaller --tolerance", "next: fugu release with --hide",
                  "with confidence 0.999999, no Gaussian model", "assumptions:", "nothing was released",
                  "Least error by tolerance", "deficient rank", "proves nothing", "right guesses"):  # fmt: skip
        assert words in shown.out, words
    assert "rarer" not in shown.out
    quiet = run(table, "--no-attack")
    assert "right guesses" not in quiet.out and "Least error" not in quiet.out


@pytest.mark.parametrize(("hide", "name"), [("rich", "rich=yes"), ("flag", "flag=1")])
def test_a_column_of_two_values_hides_the_rarer_one(table, hide, name):
    found = run(table, "--no-attack", hide=hide)
    assert found.code == 0, found.message
    assert f"hidden is '{name}', the rarer" in found.out


def test_statistics_may_be_one_text(table, told):
    found = json.loads(run(table, "--json", "--no-attack", asked=["--statistics", "mean(age), count(sex=F)"]).out)
    assert found["statistics"] == told["statistics"] and found["chosen"]["fingerprint"] == told["chosen"]["fingerprint"]
    assert found["attack"] is None and found["sweep"] is None


def test_certificate_and_page_are_written_and_the_certificate_holds(table, tmp_path):
    certificate, page = tmp_path / "c.json", tmp_path / "p.html"
    found = run(table, "--values", "0.3,0.5", "-o", certificate, "--figure", page, "--no-attack")
    assert found.code == 0 and f"wrote {certificate}" in found.out.replace("\n", "")
    assert {p.name for p in tmp_path.iterdir()} == {"c.json", "p.html"}
    assert fugu.verify(certificate).holds and "Hiding a property" in page.read_text()


def test_a_figure_has_the_name_of_a_page(table, tmp_path):
    found = run(table, "--figure", tmp_path / "p.png", "--no-attack")
    assert found.code == 2 and "ends in .html" in found.message and not list(tmp_path.iterdir())


def test_declared_exact_warns_of_statistics_on_a_lattice(table):
    found = run(table, "--declared-exact")
    assert found.code == 0 and "warning" in found.out and "multiples of a step" in found.out.replace("\n", " ")
    freed = json.loads(run(table, "--declared-exact", "--no-attack", "--json").out)
    assert freed["warning"] and sum(m["proven"] for m in freed["methods"]) > 4


def test_options_reach_the_library(table):
    given = ["--values", "0.3,0.5", "--bounds", "age:25,55", "--method", "expected-value", "--no-replacement", "--json",
             "--no-attack"]  # fmt: skip
    found = json.loads(run(table, *given).out)
    assert found["counts"] == {"p=0.3": 6, "p=0.5": 10} and found["chosen"]["method"] == "expected-value"
    stated = " ".join(found["chosen"]["assumptions"])
    assert "clipped" in stated and "without replacement" in stated
    floored = json.loads(run(table, "--floor", "30", "--json", "--no-attack").out)
    assert min(floored["chosen"]["deviations"].values()) ** 2 >= 30
    renyi = json.loads(run(table, "--json", "--no-attack", budget=["--alpha", "2", "--epsilon", "0.5"]).out)
    assert renyi["budget"]["kind"] == "Renyi" and "refused" in renyi["record_swap"]


def test_one_statistic_is_enough(table):
    found = run(table, asked=["--statistics", "mean(age)"])
    assert found.code == 0 and "1 statistic of" in found.out


@pytest.mark.parametrize(
    ("more", "changes", "code", "words"),
    [
        ([], {"hide": "town"}, 2, "3 values"),
        ([], {"hide": "rihc"}, 2, "rich"),
        ([], {"hide": "rich=maybe"}, 2, "rich=maybe"),
        (["--method", "optimal"], {"budget": ["--epsilon", "1"]}, 2, "delta > 0"),
        ([], {"asked": ["--statistics", "median(age)"]}, 2, "median"),
        (["--bounds", "17,90"], {}, 2, "age:17,90"),
        (["--values", "0.5,x"], {}, 2, "values"),
        (["--method", "fastest"], {}, 2, "fastest"),
        (["--method", "directional"], {}, 4, "deficient rank"),
        (["--floor", "-1"], {}, 2, "floor"),
        (["-o", "c.txt"], {}, 2, ".json"),
    ],
)
def test_refusals(table, more, changes, code, words):
    found = run(table, *more, **changes)
    assert found.code == code and words in found.message and not found.out


def test_a_bound_that_is_higher_with_noise_is_called_chance():
    """What is seen with noise follows from what is seen without; rejects: two bounds side by side without a word."""

    def report(accuracy, lower, **known):
        attempt = Attempt("logistic", accuracy, (0.5, 0.6), 0.1, 0.1, Implied(0.1, 0.1, lower, 0.0), lower, "")
        return AttackReport((attempt,), known.get("guarantee"), known.get("epsilon"), 0.0, 0.99, 1000, 1000)

    without, noised = report(0.592, 0.177), report(0.574, 0.275, guarantee=Pure(1), epsilon=1.0)
    assert "chance" in str(_attacked(without, noised).caption)
    assert "chance" not in str(_attacked(noised, report(0.574, 0.1, guarantee=Pure(1), epsilon=1.0)).caption)
