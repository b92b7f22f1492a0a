"""`fugu init` on a terminal: questions with defaults and hints, through a pseudo-terminal; and the same as flags.

Wrong versions that are rejected: an answer that cannot be read ends the dialogue, or is written; leaving it writes a
file or a traceback; the private table is opened; a flag is asked again; the file is one that release refuses."""

from __future__ import annotations

import os
import pty
import select
import sys
import tomllib
from contextlib import chdir

import pytest

from golden.doors import command, screens


def rows(start, last):
    return "\n".join(
        f"{k},{('no', 'yes')[k % 3 == 0]},{40 + k * 7 % 30},{'nsw'[k // 4 % 3]},{'FM'[k // 5 % 2]}"
        for k in range(start, last)
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "ref.csv").write_text(f"id,ill,age,ward,sex\n{rows(0, 300)}\n")
    (tmp_path / "today.csv").write_text(f"id,ill,age,ward,sex\n{rows(300, 450)}\n")
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path / "ledger.db"))
    return tmp_path


LEAVING = ("\x03", "\x04")


def talk(folder, words, answers):
    """Exit code and screen of `fugu` on a terminal, where somebody answers each question in turn."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.environ.update(COLUMNS="200", NO_COLOR="1")
        os.execv(sys.executable, [sys.executable, "-m", "fugu", *words])
    shown, left, last = "", list(answers), ""
    while True:
        if last in LEAVING and not select.select([terminal], [], [], 2)[0]:
            os.write(terminal, last.encode())  # it came before the program read the line, and was lost
            continue
        try:
            part = os.read(terminal, 4096).decode()
        except OSError:  # the end, on Linux
            break
        if not part:
            break
        shown += part
        if shown.endswith("]: "):
            shown += "\n"
            last = left.pop(0) if left else "\x04"
            os.write(terminal, last.encode())
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert not left, (shown, left)
    return code, shown


def told(folder, name="scenario.toml"):
    said = tomllib.loads((folder / name).read_text())
    return {section: said[section] for section in ("data", "question", "secrets", "budget")}


def test_defaults_wrong_answers_and_a_file_that_release_takes_as_it_is(folder):
    (folder / "today.csv").rename(folder / "later.csv")  # nothing is opened
    answers = ["il\n", "id\n", "age>=1\n", "\n", "mean(ward)\n", "mean(agee)\n", "id\n", "\n", "ill\n", "sex\n",
               "\n", "much\n", "-1\n", "\n", "ref.csv\n", "today.csv\n"]  # fmt: skip
    code, shown = talk(folder, ["init", "ref.csv"], answers)
    assert code == 0 and "Traceback" not in shown, shown
    for hint in ("did you mean 'ill'", "each would be the secret of one row", "gives one secret", "holds text",
                 "did you mean 'age'", "names the row", "ill is secret", "must be a number", "above 0",
                 "that is the reference"):  # fmt: skip
        assert hint in shown, (hint, shown)
    assert shown.count("once more") == 10 and shown.index("what each column may be used for") < shown.index("secret")
    assert told(folder) == {
        "data": {"reference": "ref.csv", "table": "today.csv"}, "secrets": {"protect": "ill"}, "budget": {"epsilon": 1},
        "question": {"query": "count, mean(age), histogram(ward)", "by": "sex", "unit": "id"},
    }  # fmt: skip
    assert "change by a factor of 2.72 at most" in (folder / "scenario.toml").read_text()
    (folder / "later.csv").rename(folder / "today.csv")
    with chdir(folder), screens(200):
        code, said, why = command("release", "--scenario", "scenario.toml", "-o", "out.csv")
        assert code == 0, (said, why)
        for other in (("verify", "out.certificate.json", "--reference", "ref.csv"), ("compare", "--by", "ill"),
                      ("check",)):  # fmt: skip
            more = () if other[0] == "verify" else ("--scenario", "scenario.toml")
            code, said, why = command(*other, *more)
            assert (code == 0) != (other[0] == "compare"), (said, why)  # no group is secret
    assert (folder / "out.csv").read_text().startswith("query,group,cell")


@pytest.mark.parametrize("leave", LEAVING, ids=["interrupt", "end of input"])
@pytest.mark.parametrize("before", [0, 3])
def test_whoever_leaves_leaves_nothing(leave, before, folder):
    code, shown = talk(folder, ["init", "ref.csv"], ["\n"] * before + [leave])
    assert code == 1 and "Traceback" not in shown and "wrote" not in shown, shown
    assert {file.name for file in folder.iterdir()} == {"ref.csv", "today.csv"}


def test_flags_are_not_asked_again_and_a_column_needs_no_groups(folder):
    code, shown = talk(folder, ["init", "--protect", "ill", "--epsilon", "0.25", "--table", "today.csv"],
                       ["gone.csv\n", "ref.csv\n", "age\n", "-\n"])  # fmt: skip
    assert (code == 0 and "no such file" in shown) or "no file" in shown, shown
    assert "What is secret" not in shown and "How much" not in shown and "By which group" not in shown
    assert told(folder)["question"] == {"publish": "age"} and told(folder)["budget"] == {"epsilon": 0.25}


FLAGS = ("--query", "count, mean(age)", "--by", "ward", "--protect", "ill", "--unit", "id", "--epsilon", "2", "--table",
         "today.csv")  # fmt: skip


def test_with_all_flags_or_without_a_terminal_nothing_is_asked(folder):
    code, shown = talk(folder, ["init", "ref.csv", *FLAGS], [])
    assert code == 0 and "[" not in shown, shown
    written = (folder / "scenario.toml").read_text()
    with chdir(folder), screens(200):
        assert command("init", "ref.csv", *FLAGS, "--force")[0] == 0
        assert (folder / "scenario.toml").read_text() == written
        for wrong, why in (
            (("--query", "mean(ward)"), "holds text"), (("--by", "id"), "every group would be one row"),
            (("--publish", "id"), "names the row"), (("--protect", "age>=1"), "gives one secret"),
            (("--query", "count", "--publish", "age"), "exclude each other"), (("--unit", "age"), "name nobody"),
            (("--protect", "ill", "--publish", "ill"), "is secret"), (("--table", "ref.csv"), "that is the reference"),
        ):  # fmt: skip
            code, _, said = command("init", "ref.csv", *wrong, "-o", "wrong.toml")
            assert code == 2 and why in said, said
            assert not (folder / "wrong.toml").exists()
