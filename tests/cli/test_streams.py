"""Tables from standard input and results to standard output: read once, released once, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import BadTable, FuguError, UsageError
from release_files import document_of

CLINIC = Path(fugu.__file__).parent / "examples"
TODAY, REFERENCE = (CLINIC / f"clinic_{name}.csv" for name in ("today", "reference"))
ASKED = ("--reference", REFERENCE, "--protect", "smoker", "--epsilon", "1")
COUNTS = ("--query", "count(ward=south); mean(chol)")
COLUMN = ("--publish", "chol", "--allow-no-noise")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path / "books.db"))
    return tmp_path


def run(*words, piped=None):
    """What is on stdout, and on stderr."""
    found = CliRunner().invoke(cli.app, list(map(str, words)), input=piped, env={"COLUMNS": "300"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.stdout, found.stderr


@pytest.mark.parametrize("asked", [COUNTS, COLUMN], ids=["statistics", "column"])
def test_the_same_command_and_table_again_is_the_first_release(asked, folder):
    """On stdout exactly the published file, on stderr where the rest is. Wrong versions: drawn again; under a name that
    the second run does not find; said among the numbers."""
    words = ("release", "-", *ASKED, *asked, "-o", "-")
    first, said = run(*words, piped=TODAY.read_bytes())
    (published,) = folder.glob("release-*.csv")
    assert first == published.read_text() and first.count("\n") > 2
    files = {path.name: path.read_bytes() for path in folder.glob("release-*")}
    assert len(files) == 4 and all(name in said for name in files)
    assert f"not for publication: {published.stem}.private.json" in " ".join(said.split())
    again, said = run(*words, piped=TODAY.read_bytes())
    assert again == first and "nothing was drawn" in said and "the first table called 'stdin'" in said
    assert {path.name: path.read_bytes() for path in folder.glob("release-*")} == files
    told = json.loads(run(*words, "--json", piped=TODAY.read_bytes())[0])
    assert told["csv"] == first and told["files"]["published"] == published.name
    published.unlink()  # what a ledger has settled is written again, or refused; never drawn anew
    if asked == COUNTS:
        for file in folder.glob("release-*"):
            file.unlink()
        assert run(*words, piped=TODAY.read_bytes())[0] == first


def test_the_bytes_that_are_read_are_the_bytes_that_are_released(folder):
    """Wrong version: another reading of the stream, which finds nothing, is what the document commits to."""
    run("release", "-", *ASKED, *COUNTS, "-o", "out.csv", "--data", "today", piped=TODAY.read_bytes())
    assert document_of(folder / "out.csv")["data"]["name"] == "today"
    words = ("verify", "out.certificate.json", "--json")
    for extra in (("--data", TODAY), ("--data", "-"), ("--reference", "-")):
        read = REFERENCE if "--reference" in extra else TODAY
        checks = json.loads(run(*words, *extra, piped=read.read_bytes())[0])["checks"]
        outcome = {line["name"]: line["outcome"] for line in checks}
        assert outcome["reference file" if read is REFERENCE else "data"] == "holds"
    other = CliRunner().invoke(cli.app, [*words, "--data", "-"], input=TODAY.read_bytes() + b"\n")
    assert other.exit_code == 4


def test_a_piped_table_is_known_by_its_content(folder):
    """It has no budget of its own beside that of the file that it is."""
    run("release", TODAY, *ASKED, *COUNTS, "-o", "out.csv")
    with pytest.raises(FuguError, match=r"known to the ledger as 'clinic_today.csv'"):
        run("release", "-", *ASKED, "--query", "mean(age)", "-o", "more.csv", piped=TODAY.read_bytes())


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "-", "--publish", "chol", "--protect", "smoker", "--epsilon", "1"),
        ("plan", "-", "--publish", "chol", "--protect", "smoker", "--error", "20"),
        ("calibrate", "-", "--publish", "chol", "--protect", "smoker", "--epsilon", "1"),
        ("check", TODAY, "--reference", "-"),
        ("release", "--dry-run", "--protect", "smoker", *COUNTS, "--epsilon", "1", "--reference", "-"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_takes_its_reference_from_standard_input(words, folder):
    told, _ = run(*words, "--json", piped=REFERENCE.read_bytes())
    named, _ = run(*(str(REFERENCE) if word == "-" else word for word in words), "--json")
    apart = ("fingerprint", "seconds", "plan_sha256")  # the plan names its reference
    keep = {key: value for key, value in json.loads(told).items() if key not in apart}
    assert keep == {key: value for key, value in json.loads(named).items() if key in keep}


def test_what_cannot_be_piped_is_refused_in_words(folder, monkeypatch):
    for words, piped, message in (
        (("release", "-", "--reference", "-", *ASKED[2:], *COUNTS, "-o", "x.csv"), "a\n1\n", "cannot both"),
        (("check", "-", "--reference", "-"), "a\n1\n", "cannot both"),
        (("release", "-", *ASKED, *COUNTS, "-o", "x.csv"), "", "is empty"),
        (("release", "-", *ASKED, *COUNTS, "-o", "x.csv"), "PK\x03\x04", "an Excel file"),
        (("calibrate", REFERENCE, *COLUMN[:2], *ASKED[2:], "-o", "-"), "", "JSON"),
        (("compare", REFERENCE, *COLUMN[:2], *ASKED[2:], "--figure", "-"), "", "only fugu release -o -"),
        (("release", TODAY, *ASKED, *COUNTS, "-o", "x.csv", "--report", "-"), "", "name that ends in .html"),
    ):
        with pytest.raises(UsageError, match=message):
            run(*words, piped=piped)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BadTable, match="nothing is piped"):
        fugu.read_table("-")
    assert list(folder.iterdir()) == []


def test_a_scenario_file_may_say_so(folder):
    (folder / "sub").mkdir()
    question = fugu.Question(query="mean(chol)", protect="smoker", epsilon=1, table="-", reference=REFERENCE)
    question.save(folder / "sub" / "plan.toml")
    assert fugu.Question.load(folder / "sub" / "plan.toml").table == "-"
    out, _ = run("release", "--scenario", "sub/plan.toml", "-o", "-", piped=TODAY.read_bytes())
    assert "mean(chol)" in out


def test_a_command_that_is_killed_leaves_nothing_of_what_it_read(folder, monkeypatch):
    """Wrong version: a temporary file with a name, which SIGKILL leaves where it is."""
    rows = TODAY.read_bytes() + b"7777777,50,F,south,no,200\n" * 400_000
    monkeypatch.setenv("TMPDIR", str(folder))
    command = (sys.executable, "-m", "fugu", "release", "-", *ASKED, *COUNTS, "-o", "out.csv", "--no-check")
    going = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    going.stdin.write(rows)
    going.stdin.flush()  # all but what fits the pipe has been read
    time.sleep(0.2)
    os.kill(going.pid, signal.SIGKILL)
    going.wait()
    going.stdin.close()
    assert [path for path in folder.rglob("*") if path.is_file() and b"7777777" in path.read_bytes()] == []
