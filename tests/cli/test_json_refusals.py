"""With --json a refusal is an object on stdout, with the exit code it always had; numbers are numbers."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys

import pytest

import fugu
import fugu.cli.app as cli
from fugu import progress
from fugu.cli import console
from fugu.progress import report

EXAMPLES = "src/fugu/examples/"
COLUMN = ("--publish", "chol", "--protect", "smoker", "--epsilon", "0.5")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("clinic_reference.csv", "clinic_today.csv"):
        shutil.copy(EXAMPLES + name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["fugu", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        cli.run()
    shown = capsys.readouterr()
    return ended.value.code or 0, shown.out, shown.err


REFUSED = {
    "column": (("compare", "clinic_reference.csv", "--publish", "chl", *COLUMN[2:]), 2, "ColumnNotFound", "'chol'"),
    "option": (("compare", "clinic_reference.csv", *COLUMN, "--epsilo", "1"), 2, "UsageError", "No such option"),
    "missing": (("compare", "clinic_reference.csv", *COLUMN[:4]), 2, "UsageError", "epsilon"),
    "command": (("compar",), 2, "UsageError", "compar"),
    "number": (("compare", "clinic_reference.csv", *COLUMN[:4], "--epsilon", "-1"), 2, "BadBudget", "epsilon"),
    "file": (("compare", "nothing.csv", *COLUMN), 2, "BadTable", "nothing.csv"),
    "prior": (("release", "clinic_reference.csv", *COLUMN, "--reference", "clinic_reference.csv", "--no-ledger", "-o",
               "o.csv"), 3, "PriorNotPublic", "the very values"),
    "certificate": (("verify", "clinic_today.csv"), 4, "CertificateError", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_an_object_and_keeps_its_code(folder, monkeypatch, capsys, name):
    words, code, kind, said = REFUSED[name]
    plain = run(monkeypatch, capsys, *words)
    found = run(monkeypatch, capsys, *words, "--json")
    error = json.loads(found[1])["error"]
    assert plain[0] == found[0] == error["exit"] == code
    assert error["type"] == kind and said in error["message"]
    assert plain[1] == ""  # without --json, stdout holds nothing


def test_a_refusal_carries_what_the_error_carries(folder, monkeypatch, capsys):
    found = run(monkeypatch, capsys, *REFUSED["column"][0], "--json")
    error = json.loads(found[1])["error"]
    assert error["column"] == "chl" and "chol" in error["available"]


def test_what_succeeds_ends_with_0_and_a_verdict_with_4(folder, monkeypatch, capsys):
    words = ("clinic_today.csv", *COLUMN, "--reference", "clinic_reference.csv", "--no-ledger", "-o", "o.csv")
    code, text, _ = run(monkeypatch, capsys, "release", *words, "--json")
    told = json.loads(text)
    assert code == 0 and told["guarantee"] == {"kind": "Pure", "epsilon": 0.5, "delta": 0} and told["grid"] == 5
    (folder / "o.csv").write_text("chol\n1\n")
    code, text, _ = run(monkeypatch, capsys, "verify", "o.certificate.json", "--published", "o.csv", "--json")
    assert code == 4 and json.loads(text)["holds"] is False


def texts(content):
    """Every text in a result."""
    if isinstance(content, dict):
        content = list(content.values())
    return [x for part in content for x in texts(part)] if isinstance(content, list) else [content]


@pytest.mark.parametrize(
    "words",
    [("compare", "clinic_reference.csv", *COLUMN), ("calibrate", "clinic_reference.csv", *COLUMN, "--grid", "5/2"),
     ("plan", "clinic_reference.csv", *COLUMN[:4], "--error", "20")],
)  # fmt: skip
def test_no_number_is_a_text(folder, monkeypatch, capsys, words):
    found = texts(json.loads(run(monkeypatch, capsys, *words, "--json")[1]))
    spelt = [x for x in found if isinstance(x, str) and re.match(r"[-+]?[\d.]+(/\d+)?$|(Pure|Approx|Renyi)\(", x)]
    assert found and spelt == []


# --- progress --------------------------------------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch):
    """stderr as a terminal that shows progress at once."""
    screen = console.Screen(file=io.StringIO(), force_terminal=True, width=100, highlight=False)
    monkeypatch.setattr(console, "err", screen)
    monkeypatch.setattr(console, "BLINK", 0.0)
    return screen


def test_short_counts_and_stages_are_shown(terminal):
    """Wrong version: counts below 20,000 were left out, and work that reports nothing was blank."""
    with console.progress("reading"):
        pass
    assert "reading" in terminal.file.getvalue()
    with console.progress():
        report("proving", 3, 7)
    assert "proving" in terminal.file.getvalue() and "43 %" in terminal.file.getvalue()
    with console.progress():
        report("a stage", 0, 0)
        report("another stage", 0, 0)
    assert "another stage" in terminal.file.getvalue()


def test_influence_and_releases_say_what_they_do(folder, terminal, monkeypatch, capsys):
    rows = [f"u{u},{t},{'xyz'[(u * t + t // 2 + u) % 3]}" for u in range(20) for t in range(12)]
    (folder / "s.csv").write_text("\n".join(["user,time,place", *rows]) + "\n")
    words = ("influence", "s.csv", "--by", "user", "--order", "time", "--state", "place", "--epsilon", "1")
    assert run(monkeypatch, capsys, *words)[0] == 0
    assert "fitting the chain" in terminal.file.getvalue() and "the curve of influence" in terminal.file.getvalue()
    asked = (*COLUMN, "--reference", "clinic_reference.csv", "--no-ledger", "-o", "o.csv")
    assert run(monkeypatch, capsys, "release", "clinic_today.csv", *asked)[0] == 0
    for stage in ("fitting beliefs", "the least noise", "opening the private table", "drawing"):
        assert stage in terminal.file.getvalue()


def test_nothing_is_drawn_where_nobody_looks(monkeypatch):
    quiet = console.Screen(file=io.StringIO(), force_terminal=False)
    monkeypatch.setattr(console, "err", quiet)
    monkeypatch.setattr(console, "BLINK", 0.0)
    with console.progress("reading"):
        report("proving", 3, 7)
    assert quiet.file.getvalue() == ""


def test_a_session_shows_its_progress_on_a_terminal_and_nowhere_else(monkeypatch):
    """Wrong version: Python was silent for minutes; or wrote bars into a file."""
    last_year, today = {"s": [0, 1] * 50, "x": [1, 2, 3, 4] * 25}, {"s": [0, 1] * 30, "x": [2, 3] * 30}
    monkeypatch.setattr(progress, "BLINK", 0.0)
    for looks in (True, False):
        screen = io.StringIO()
        screen.isatty = lambda looks=looks: looks
        monkeypatch.setattr("sys.stderr", screen)
        monkeypatch.setenv("TERM", "xterm")
        fugu.Session(today, last_year, "s", fugu.Pure(1)).ask("mean(x)", 0.5, bounds=(0, 10), step=1)
        assert ("the least noise" in screen.getvalue()) == looks
