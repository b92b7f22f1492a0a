"""Scenario files: written by `fugu init`, taken by every command, written back from certificates."""

from __future__ import annotations

import json
import shutil
import tomllib

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import ColumnNotFound, FuguError, UnknownName, UsageError
from fugu.question import as_text
from fugu.releasing.scenario_file import ScenarioFile, keys

EXAMPLES = "src/fugu/examples/"
DATES = ["2020-01-01", "2020-01-05", "2020-01-09", "2020-01-13"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("clinic_reference.csv", "clinic_today.csv"):
        shutil.copy(EXAMPLES + name, tmp_path)
    for name, start, n in (("last.csv", 0, 300), ("today.csv", 7, 50)):
        rows = [f"p{start + i},{'ab'[i % 2]},{DATES[(start + i * i + i % 2) % 4]},{i % 5 + i % 2}" for i in range(n)]
        (tmp_path / name).write_text("\n".join(["who,s,visit,v", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    found = CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "300"})
    if isinstance(found.exception, FuguError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found


def scenario(folder, text, name="s.toml"):
    (folder / name).write_text(text)
    return folder / name


COLUMN = """
[data]
reference = "last.csv"
table = "today.csv"
no_ledger = true
output = "out.csv"
[question]
publish = "v"
[secrets]
protect = "s=a"
[budget]
epsilon = 0.5
"""


def test_init_writes_a_file_that_every_command_takes(folder):
    said = run("init", "clinic_reference.csv", "--table", "not_there.csv", "--epsilon", "0.25").stdout
    assert "No private table was opened" in said and "'clinic_reference.csv' as the reference" in said
    text = (folder / "scenario.toml").read_text()
    told = tomllib.loads(text)
    # wrong version, which was ours: it begins with a column, which closes the table
    assert told["question"] == {"query": "count, mean(age), histogram(ward)", "unit": "patient"}
    assert 'publish = "age" instead is a column' in " ".join(text.replace("# ", "").split())
    run("init", "clinic_reference.csv", "--epsilon", "0.25", "--publish", "age", "--table", "not_there.csv", "--force")
    text = (folder / "scenario.toml").read_text()
    told = tomllib.loads(text)
    assert told["question"] == {"publish": "age", "unit": "patient"} and told["budget"] == {"epsilon": 0.25}
    assert told["secrets"] == {"protect": "sex"} and told["data"]["table"] == "not_there.csv"
    assert told["schema"]["columns"]["ward"]["values"] == ["north", "south", "west"]
    assert fugu.Schema.load("scenario.toml").fields["patient"].kind == "identifier"
    for choice in ("protect", "unit"):
        before = text[: text.index(f"\n{choice} = ")].splitlines()
        assert before[-1].startswith("# ") and "Chosen because" in " ".join(before[-3:])
    direct = run("compare", "clinic_reference.csv", "--publish", "age", "--protect", "sex", "--epsilon", "0.25",
                 "--unit", "patient", "--schema", "scenario.toml", "--json")  # fmt: skip
    assert json.loads(run("compare", "--scenario", "scenario.toml", "--json").stdout) == json.loads(direct.stdout)
    assert json.loads(run("plan", "--scenario=scenario.toml", "--error", "3", "--json").stdout)["epsilon"] > 0


def test_init_knows_dates_and_takes_choices(folder):
    run("init", "last.csv", "-o", "s.toml", "--publish", "visit", "--protect", "v>=3")
    told = tomllib.loads((folder / "s.toml").read_text())
    assert told["schema"]["columns"]["visit"] == {"kind": "time", "origin": "1970-01-01"}
    assert '# bounds = ["2020-01-0' in (folder / "s.toml").read_text()
    assert told["question"] == {"publish": "visit", "unit": "who"} and told["secrets"] == {"protect": "v>=3"}
    assert json.loads(run("calibrate", "--scenario", "s.toml", "--json").stdout)["guarantee"]["epsilon"] == 1
    with pytest.raises(UsageError, match="exists"):
        run("init", "last.csv", "-o", "s.toml")
    with pytest.raises(ColumnNotFound, match="'visit'"):
        run("init", "last.csv", "-o", "t.toml", "--publish", "vist")
    for wrong in (
        ("last.csv", "--from", "c.json"),
        (),
        ("last.csv", "-o", "s.json"),
        ("--from", "c", "--publish", "v"),
    ):
        with pytest.raises(UsageError):
            run("init", *wrong)


RELEASES = {
    "column": ("today.csv", "--publish", "v", "--protect", "s=a", "--epsilon", "0.5", "--reference", "last.csv"),
    "dates": ("today.csv", "--publish", "visit", "--protect", "s", "--epsilon", "0.2", "--reference", "last.csv",
              "--clip", "2020-01-01,2020-01-20", "--round", "2", "--allow-no-noise"),
    "bins": ("today.csv", "--publish", "v", "--protect", "visit:2020-01-05,2020-01-09", "--pairs", "adjacent",
             "--epsilon", "0.5", "--delta", "0.001", "--unit", "who", "--bins", "4", "--reference", "last.csv",
             "--public-reference", "--allow-no-noise"),
    "means": ("clinic_today.csv", "--query", "mean(chol)", "--by", "ward", "--bounds", "100,300", "--step", "5",
              "--protect", "smoker", "--epsilon", "0.5", "--reference", "clinic_reference.csv", "--route", "law"),
    "many": ("today.csv", "--query", "count, mean(v), histogram(v)", "--bounds", "v:0:6", "--step", "v:2", "--weights",
             "2,1", "--bins", "v:0:3:7", "--protect", "s", "--epsilon", "0.5", "--reference", "last.csv"),
    "conditions": ("today.csv", "--publish", "v", "--protect",
                   '{"early": {"visit": {"to": "2020-01-05"}, "s": "a"}, "others": {"s": {"not in": ["a"]}}}',
                   "--epsilon", "0.5", "--alpha", "2", "--noise", "gaussian", "--clip", "0,5.5", "--round", "0.5",
                   "--reference", "last.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_written_back_and_asked_again(folder, name):
    """Wrong versions: a scenario without its pairs, its clip, its lattice or its schema gives another certificate."""
    run("release", *RELEASES[name], "--no-ledger", "-o", "a.csv")
    run("init", "--from", "a.certificate.json", "-o", "back.toml")
    run("release", RELEASES[name][0], "--scenario", "back.toml", "--no-ledger", "-o", "b.csv")
    first, second = (json.loads((folder / f"{x}.certificate.json").read_text()) for x in "ab")
    for part in ("certificates", "question", "budget", "mechanisms"):
        assert first[part] == second[part], part
    assert first["beliefs"]["declared public"] == second["beliefs"]["declared public"]
    assert fugu.examine("b.certificate.json", published="b.csv").holds


def test_the_command_line_overrides_the_file_and_says_so(folder):
    path = scenario(folder, COLUMN + "delta = 0.001\n")
    found = run("release", "--scenario", path, "--epsilon", "0.25", "--dry-run", "--json")
    assert json.loads(found.stdout)["guarantee"] == {"kind": "Approx", "epsilon": 0.25, "delta": 0.001}
    assert "--epsilon of the command line is used, not the one of 's.toml'" in found.stderr
    assert "--delta" not in found.stderr and "TABLE" not in found.stderr
    found = run(
        "calibrate", "clinic_reference.csv", "--publish", "chol", "--protect", "sex", "--scenario", path, "--json"
    )
    assert "TABLE of the command line is used" in found.stderr and "'sex'" not in found.stderr
    asked = ("--query", "mean(v)", "--bounds", "0,6", "--step", "1", "--dry-run", "--json", "--route", "law",
             "--allow-no-noise")  # fmt: skip
    found = run("release", "--scenario", path, *asked)
    assert "--query of the command line is used, not 'publish' of 's.toml'" in found.stderr
    assert json.loads(found.stdout)["query"] == "mean(v)"


def test_commands_with_a_section_of_their_own(folder):
    """Wrong version: an option that may be given more than once takes a text letter by letter."""
    text = (
        COLUMN.replace("epsilon = 0.5", "epsilon = 1\ndelta = 0.001")
        + """
[property]
statistics = ["mean(v)"]
hide = "s=a"
size = 20
no_attack = true
"""
    )
    path = str(scenario(folder, text))
    told = get_command(cli.app).commands["property"].make_context("property", ["--scenario", path]).params
    assert told["statistics"] == ["mean(v)"] and told["epsilon"] == "1" and told["no_attack"] and told["size"] == 20
    assert told["reference"] == str(folder / "last.csv") and told["output"] is None
    file = ScenarioFile.load(folder / "s.toml")
    assert file.options("train", {"table", "reference", "epsilon", "protect"}) == {
        "table": str(folder / "today.csv"), "reference": str(folder / "last.csv"), "epsilon": "1",
    }  # fmt: skip


def test_paths_are_relative_to_the_file(folder):
    inner = folder / "inner"
    inner.mkdir()
    path = scenario(inner, COLUMN.replace('"last.csv"', '"../last.csv"').replace('"today.csv"', '"../today.csv"'))
    run("release", "--scenario", path)
    assert (inner / "out.csv").exists() and not (folder / "out.csv").exists()


WRONG = {
    "section": ("[questions]\npublish = 'v'\n", UnknownName, "did you mean 'question'"),
    "key": (COLUMN + "epsilom = 2\n", UnknownName, "did you mean 'epsilon'"),
    "elsewhere": (COLUMN + "publish = 'v'\n", UsageError, r"belongs to \[question\], not to \[budget\]"),
    "on top": ("publish = 'v'\n", UsageError, r"outside a section; put it under \[question\]"),
    "no section": ("question = 3\n", UsageError, "must be a section"),
    "no TOML": ("[question\n", UsageError, "is not TOML"),
    "a kind": (COLUMN.replace("0.5", "1979-05-27T07:32:00"), UsageError, "epsilon"),
    "a table": (COLUMN.replace("'s=a'", "3").replace("0.5", "{a = 1}"), UsageError, "a text, a number"),
    "a comma": (COLUMN + "[schema]\n[question.x]\n", UnknownName, "'x'"),
    "bad schema": (COLUMN + "[schema.columns.v]\nkind = 'numbr'\n", UnknownName, "did you mean 'number'"),
    "an unknown option": (COLUMN.replace("[secrets]", "statistics = 3\n[secrets]"), UsageError, "belongs to"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_file_is_said(folder, name):
    text, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        run("release", "--scenario", scenario(folder, text))
    assert not (folder / "out.csv").exists()


def test_a_file_that_is_not_there(folder):
    with pytest.raises(UsageError, match="fugu init writes one"):
        run("compare", "--scenario", "nothing.toml")


def test_texts_of_options():
    assert as_text("epsilon", 0.1) == "0.1" and as_text("bins", [1, 2.5]) == "1,2.5"
    assert as_text("query", ["count", "mean(v)"]) == "count; mean(v)"
    assert as_text("pairs", [["a", "b"]]) == "a:b"
    for wrong in ([], ["a,b"], None, [[["a"]]]):
        with pytest.raises(UsageError):
            as_text("bins", wrong)


def test_every_key_is_an_option_of_some_command_and_is_explained():
    """A key that no command takes would be accepted and do nothing."""
    commands = get_command(cli.app).commands.values()
    asking = [command.real for command in commands if not command.place.startswith("fugu-")]
    asking = [command for command in asking if any(param.name == "scenario" for param in command.params)]
    assert {command.name for command in asking} == {
        "compare", "plan", "calibrate", "property", "influence", "check", "release", "train"
    }  # fmt: skip
    options = {param.name for command in asking for param in command.params}
    for section, own in keys().items():
        assert own and {name for name, _ in own.values()} <= options, section
        assert all(said.help.endswith((".", ")")) for _, said in own.values())


def test_a_key_that_release_cannot_take_is_not_ignored(folder):
    file = ScenarioFile.load(scenario(folder, COLUMN))
    with pytest.raises(UsageError, match="fugu release has no --protect"):
        file.options("release", {"table", "publish", "epsilon", "reference", "no_ledger", "output"})
    assert "protect" not in file.options("influence", {"table", "epsilon"})
