"""`fugu ledger`: what it prints is what the ledger holds; a broken one ends with exit code 4."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import BudgetExceeded, FuguError, LedgerBroken
from fugu.guarantee import Pure
from fugu.ledger import Charge, Ledger
from fugu.priors import MarkovChain
from ledger_files import forge


def run(*args):
    found = CliRunner().invoke(cli.app, ["ledger", *map(str, args)], env={"COLUMNS": "200"})
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, str(found.exception)
    return found.exit_code, found.stdout


@pytest.fixture
def path(tmp_path):
    with Ledger(tmp_path / "l.db", Pure(1), data="visits [north]") as ledger:
        ledger.spend("monday", Charge.per_entry(0.75), lambda: 1)
        with pytest.raises(BudgetExceeded):
            ledger.spend("tuesday", Charge.per_entry(0.5), lambda: 2)
    with Ledger(tmp_path / "l.db", Pure(1), data="steps", prior=MarkovChain([[0.6, 0.4], [0.2, 0.8]], 9)) as ledger:
        ledger.spend("all", Charge.per_entry(0.1), lambda: 3)
    return tmp_path / "l.db"


def test_show_lists_budgets_and_requests(path):
    code, text = run("show", path)
    assert code == 0
    for words in ("visits [north]", "spent epsilon 0.75, the entries", "left  0.25 of epsilon 1", "refused",
                  "tuesday", "its prior left aside", "a Markov chain", "with its prior"):  # fmt: skip
        assert words in text
    told = json.loads(run("show", path, "--json")[1])
    by_name = {found["name"]: found for found in told["data sets"]}
    assert by_name["visits [north]"]["left"] == {"kind": "Pure", "epsilon": 0.25, "delta": 0}
    steps = by_name["steps"]
    assert steps["prior"] and steps["spent"]["epsilon"] == 0.1 < steps["worth"]["epsilon"] < 0.9
    assert steps["worth"]["epsilon"] + steps["left"]["epsilon"] == pytest.approx(1)
    assert [(r["request"], r["state"]) for r in told["requests"]] == [
        ("monday", "settled"), ("tuesday", "refused"), ("all", "settled"),
    ]  # fmt: skip


def test_show_says_what_holds_for_people_of_several_data_sets_and_what_nobody_would_grant(tmp_path):
    path, law = tmp_path / "l.db", Charge("law", Pure(0.5))
    sets = {"all": (1, [1, 2, 3]), "half": (2, [1, 2]), "more": (9, [3]), "column": (1, [7]), "again": (1, [7])}
    opened = {name: Ledger(path, Pure(most), data=name, people=people) for name, (most, people) in sets.items()}
    opened["all"].spend("q", Charge.per_entry(0.75), lambda: 1)
    opened["half"].spend("q", Charge.per_entry(0.25), lambda: 1)
    opened["column"].spend("q", law, lambda: 1)
    for name, charge in (("more", Charge.per_entry(0.5)), ("again", Charge.per_entry(0))):
        with pytest.raises(FuguError):
            opened[name].spend("q", charge, lambda: pytest.fail("must not run"))
    text = "\n" + run("show", path)[1]
    told = {name: text.split(f"\n{name}: budget ")[1].split(": budget")[0] for name in ("half", "more", "again")}
    assert "spent epsilon 1," in told["half"] and "left  nothing of epsilon 2" in told["half"]
    assert (
        "a factor of at most 2.72 (epsilon 1). Against anybody" in " ".join(told["half"].split())
        and "in 'all' too" in told["half"]
    )
    assert "spent epsilon 0.75," in told["more"] and "left  0.25 of epsilon 9" in told["more"]
    assert "left  nothing of epsilon 1" in told["again"] and "'column'" in told["again"]
    shown = {found["name"]: found for found in json.loads(run("show", path, "--json")[1])["data sets"]}
    assert shown["all"]["people also in"] == ["half"] and shown["all"]["left"]["epsilon"] == 0
    assert opened["again"].remaining() == Pure(0) and opened["half"].remaining() == Pure(0)


def test_show_lists_the_last_requests_unless_all_are_asked_for(tmp_path):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(1), data="d") as ledger:
        for k in range(53):
            ledger.spend(f"request {k}", Charge.per_entry(0), lambda: 1)
    code, text = run("show", path)
    assert code == 0 and "request 3 " in text and "request 2 " not in text and "3 more" in text
    assert "request 0 " in run("show", path, "--all")[1]
    assert len(json.loads(run("show", path, "--json")[1])["requests"]) == 53


def test_show_says_what_was_asked_and_rounds_what_is_left_down(tmp_path):
    """Wrong version: only the name of a request, which is a digest, and 15 digits of what nobody can spend."""
    path, reads = tmp_path / "l.db", {"questions": [{"query": "mean(x) by ward"}, {"query": "median(x)"}]}
    with Ledger(path, Pure(1), data="d") as ledger:
        ledger.spend("ask all 12ab", Charge.per_entry(1 / 3, reads), lambda: 1)
        assert "asked" in run("show", path)[1]
        assert "left  0.666666 of epsilon 1" in run("show", path)[1]
        ledger.spend("rest", Charge.per_entry(math.nextafter(2 / 3, 0)), lambda: 1)
    assert "left  nothing of epsilon 1: no other question" in run("show", path)[1]
    with Ledger(tmp_path / "untold.db", Pure(1), data="d") as ledger:
        ledger.spend("monday", Charge.per_entry(0.5), lambda: 1)
    said = [
        line for line in run("show", tmp_path / "untold.db")[1].splitlines() if "request" in line or "monday" in line
    ]
    assert len({len(re.split("[┃│]", line)) for line in said if "┃" in line or "│" in line}) == 1
    assert "asked 1 request" in said[0] and not any("asked" in line for line in said[1:])  # no column that says nothing
    asked = [entry["asked"] for entry in json.loads(run("show", path, "--json")[1])["requests"]]
    assert asked == ["mean(x) by ward; median(x)", ""]


def test_verify_and_export(path, tmp_path):
    code, _ = run("export", path, "-o", tmp_path / "out.json")
    head = json.loads((tmp_path / "out.json").read_text())["head"]
    assert code == 0 and json.loads(run("verify", path, "--head", head, "--json")[1]) == {"holds": True, "head": head}
    assert run("verify", path, "--head", "f" * 64)[0] == 4
    path.write_bytes(path.read_bytes().replace(b'"reserved"', b'"refused"'))
    code, message = run("verify", path)
    assert code == 4 and "edited" in message


def test_an_export_overwrites_nothing_unless_it_is_told_to(path, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("mine")
    code, message = run("export", path, "-o", out)
    assert code == 2 and "'out.json' exists" in message and "--force" in message and out.read_text() == "mine"
    assert run("export", path, "-o", out, "--force")[0] == 0 and json.loads(out.read_text())["head"]


def test_a_missing_ledger_is_wrong_use_and_is_not_created(tmp_path):
    for command in (["show"], ["verify"], ["export", "-o", tmp_path / "o.json"]):
        code, message = run(command[0], tmp_path / "none.db", *command[1:])
        assert code == 2 and "no ledger file" in message
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_may_only_be_read_is_shown_and_verified(path):
    """As an auditor has it: a file of mode 0444 in a folder of mode 0555, and no rights."""
    folder = Path(tempfile.mkdtemp())
    copy = Path(shutil.copy(path, folder / "copy.db"))
    copy.chmod(0o444)
    folder.chmod(0o555)
    expected = run("show", path, "--json")
    child = os.fork()
    if not child:
        code = 1
        with suppress(BaseException):
            if os.geteuid() == 0:
                os.seteuid(65534)
            code = 0 if run("show", copy, "--json") == expected and run("verify", copy)[0] == 0 else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.listdir(folder) == ["copy.db"]
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_without_a_file_the_own_ledger_is_shown(path, tmp_path, monkeypatch):
    monkeypatch.setenv("FUGU_LEDGER", str(path))
    assert run("show") == run("show", path) and run("verify") == run("verify", path)
    monkeypatch.setenv("FUGU_LEDGER", "   ")
    code, said = run("show")
    assert code == 2 and "FUGU_LEDGER is set and names no file" in said
    monkeypatch.delenv("FUGU_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    code, said = run("show")
    assert code == 2 and "no ledger of your own yet" in said and not (tmp_path / "home").exists()


def test_a_copy_is_whole_private_and_without_the_key(path, tmp_path):
    with path.open("ab") as file:
        file.write(b"cut short")
    code, said = run("copy", path, "-o", tmp_path / "copy.db", "--json")
    assert code == 0 and json.loads(said)["head"] == json.loads(run("verify", path, "--json")[1])["head"]
    assert path.read_bytes() == (tmp_path / "copy.db").read_bytes() + b"cut short"
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600 and not (tmp_path / "copy.db.key").exists()
    assert run("show", tmp_path / "copy.db")[0] == 0
    assert run("copy", path, "-o", tmp_path / "copy.db")[0] == 2
    assert run("copy", path, "-o", path)[0] == 2


def twice(event):
    """What a process of 0.3 wrote that had marked an event as read and was interrupted before it counted it."""

    def change(events):
        repeated = next(e for e in events if e["kind"] == event)
        return [*events, dict(repeated)]

    return change


@pytest.mark.parametrize(("event", "spent"), [("reserved", 1.5), ("settled", 0.75), ("register", 0.75)])
def test_what_an_interrupted_process_of_0_3_wrote_twice_is_mended(path, event, spent):
    """It counts as much as it may have meant; the first value stays; heads that were exported stay in the chain."""
    head = json.loads(run("verify", path, "--json")[1])["head"]
    forge(path, twice(event))
    broken = path.read_bytes()
    for command in ("show", "verify"):
        code, said = run(command, path)
        assert code == 4 and "fugu ledger repair" in said
    with pytest.raises(LedgerBroken, match="repair"):
        Ledger(path, Pure(1), data="visits [north]")
    assert path.read_bytes() == broken
    code, said = run("repair", path, "--json")
    assert code == 0 and [e["kind"] for e in json.loads(said)["accepted"]] == [event]
    assert path.read_bytes()[1536 : len(broken)] == broken[1536:], "nothing is rewritten"
    assert run("verify", path, "--head", head)[0] == 0
    with Ledger(path, Pure(1), data="visits [north]") as ledger:
        assert ledger.spent() == Pure(spent)
        assert ledger.spend("monday", Charge.per_entry(0.75), lambda: pytest.fail("must not run")) == 1
        with pytest.raises(BudgetExceeded):
            ledger.spend("new", Charge.per_entry(0.3), lambda: pytest.fail("must not run"))
    code, said = run("repair", path)
    assert code == 0 and "nothing to mend" in said


def test_other_damage_is_not_mended(path):
    raw = bytearray(path.read_bytes())
    raw[1700] ^= 1
    path.write_bytes(raw)
    code, _ = run("repair", path)
    assert code == 4 and path.read_bytes() == raw
    assert run("repair", path.with_name("none.db"))[0] == 2 and not path.with_name("none.db").exists()
