"""Doors a stranger tries: secrets that do not decode, damaged data files, tables of one's own that nothing fits."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from fugu import Pure, Scenario, calibrate
from fugu.cli.app import app
from fugu.data import frame
from fugu.data.sequences import read_sequences
from fugu.errors import BadTable, FuguError, MissingValues, UsageError, did_you_mean
from fugu.scenario import property_statistic
from fugu_papers import counted
from fugu_papers import shelf as shelves
from fugu_papers.experiment import NOT_PROTECTED
from fugu_papers.shelf import DataMissing, Shelf, WrongData

LATIN = b"v,s\n" + b"".join(b"%d,%s\n" % (base + k, name) for k in range(3) for base, name in (
    (0, b"caf\xe9"), (90, b"caf\xe8"), (45, b"tee")))  # fmt: skip


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_two_secrets_that_decode_to_the_same_text_are_refused(tmp_path, monkeypatch):
    table = put(tmp_path / "t.csv", LATIN)
    with pytest.raises(BadTable, match="column 's' holds secrets that do not decode"):
        Scenario.from_table(table, publish="v", protect="s")
    assert Scenario.from_table(table, publish="v", protect="s=tee").secrets == ("s = tee", "s != tee")
    monkeypatch.setattr("fugu.data.secrets.require_decoded", lambda *_: None)  # the wrong version: two become one
    merged = Scenario.from_table(table, publish="v", protect="s").secrets
    assert len(merged) == 2, "of three secrets: nothing hides which of the two it was"


def test_states_that_do_not_decode_are_refused_too(tmp_path):
    table = put(tmp_path / "t.csv", b"u,d,p\na,1,caf\xe9\na,2,caf\xe8\n")
    with pytest.raises(BadTable, match="column 'p' holds states that do not decode"):
        read_sequences(table, by="u", order="d", state="p")
    frame.require_decoded("p", ["café", 1.5, None], "states")


def test_a_gzip_file_that_is_damaged_inside_is_said(tmp_path):
    whole = gzip.compress(bytes(range(256)) * 200)
    damaged = whole[: len(whole) // 2] + b"\xff" * 40 + whole[len(whole) // 2 + 40 :]
    put(tmp_path / "adult" / "adult.data.csv.gz", damaged)
    with pytest.raises(WrongData, match="is not whole"):
        Shelf(tmp_path).content("adult/adult.data.csv.gz")


def test_a_variable_that_names_no_folder_is_not_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("FUGU_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataMissing, match="FUGU_DATA names no folder"):
        Shelf()


def test_a_download_that_is_asked_for_is_made_though_counts_are_shipped(tmp_path, monkeypatch):
    monkeypatch.delenv("FUGU_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = []
    monkeypatch.setattr(shelves, "fetch", lambda url, what: asked.append(what) or b"other rows")
    from fugu_papers import yang  # noqa: F401 - registers the counts

    assert counted.counts(Shelf(), "student-romantic-higher") and not asked
    with pytest.raises(WrongData):
        counted.counts(Shelf(download=True), "student-romantic-higher")
    assert asked == ["student/student-por.csv"]


def run(*words):
    done = CliRunner().invoke(app, ["reproduce", *words], env={"COLUMNS": "160"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def own(tmp_path, cells, name="t.csv"):
    lines = "".join(f"{cell},{'yn'[i % 2]}\n" for i, cell in enumerate(cells))
    return ["--short", "--table", str(put(tmp_path / name, f"v,s\n{lines}".encode())), "--publish", "v", "--protect"]


@pytest.mark.parametrize(
    ("name", "cells", "protect", "error", "why"),
    [
        ("001-figure3", [i % 9 * 1e300 for i in range(60)], "s", UsageError, "too large"),
        ("004-table3", [i % 9 * 1e300 for i in range(60)], "s=y", BadTable, "beyond the range of doubles"),
        ("004-table3", [i % 9 * 1e-300 for i in range(60)], "s=y", UsageError, "rescale"),
        ("004-table3", [5] * 60, "s=y", UsageError, "does not vary"),
        ("004-table3", [i % 2 for i in range(60)], "s=y", UsageError, "does not vary"),
        ("003-table4", [5] * 60, "s", UsageError, "has one value only"),
        ("000-table1", ["", *range(50)], "s", MissingValues, "'v' has 1 missing value; leave those rows out"),
    ],
)
def test_tables_that_nothing_can_be_computed_from_are_refused_in_words(tmp_path, name, cells, protect, error, why):
    with pytest.raises(error, match=why) as said:
        run(name, *own(tmp_path, cells), protect)
    assert isinstance(said.value, FuguError) and said.value.exit_code == 2 and "missing='drop'" not in str(said.value)


def test_every_door_says_that_a_table_of_ones_own_is_not_protected(tmp_path):
    words = ["003-table4", *own(tmp_path, [i % 7 + i % 2 for i in range(60)]), "s"]
    shown = run(*words, "-o", str(tmp_path / "out"))
    assert shown.count("is not protected") == 1 and "v given s in t.csv" in shown and "Codes of" not in shown
    page, plain = ((tmp_path / "out" / f"003-table4.{end}").read_text() for end in ("md", "json"))
    told = json.loads(run(*words, "--json"))
    assert NOT_PROTECTED in page and NOT_PROTECTED in json.loads(plain)["remarks"] and NOT_PROTECTED in told["remarks"]
    assert told["chosen"] == [] and "Codes of" not in page, "what was chosen for the paper's data says nothing of ours"


def test_where_nothing_can_be_written_nothing_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("fugu_papers.experiment.Experiment.run", lambda *_: pytest.fail("it ran before it looked"))
    file = put(tmp_path / "file", b"")
    for target in (file, file / "under"):
        with pytest.raises(UsageError, match="is not a folder"):
            run("003-figure2", "-o", str(target))
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UsageError, match="cannot be written into"):
        run("003-figure2", "-o", str(tmp_path / "out"))


def test_a_spread_beyond_the_doubles_is_refused_where_it_arises():
    with pytest.raises(BadTable, match="rescale"):
        property_statistic.semidefinite(property_statistic.np.array([[float("inf")]]))


def test_the_package_itself_can_be_run():
    done = subprocess.run([sys.executable, "-m", "fugu", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("fugu ")


@pytest.mark.parametrize("what", ["method", "noise"])
def test_what_is_no_name_is_said_to_be_none(what):
    beliefs = Scenario.from_table({"v": [0, 1, 2, 0], "s": ["a", "a", "b", "b"]}, publish="v", protect="s")
    for said in (["GWM"], None, 3):
        with pytest.raises(UsageError, match="method must be a name" if what == "method" else "no noise"):
            calibrate(beliefs, Pure(1), **{what: said})


def test_a_name_in_capitals_is_recognised_in_what_is_suggested():
    assert did_you_mean("WASSERSTEIN", ("best", "l1", "wasserstein")) == "; did you mean 'wasserstein'?"
    assert did_you_mean("L1 ", ("best", "l1", "wasserstein")) == "; did you mean 'l1'?"
    assert did_you_mean("zz", ("best", "l1")) == "; there are 'best', 'l1'"
