"""Wrong use: one line that says what was expected, the documented exit code, and nothing written or overwritten."""

from __future__ import annotations

import json
import os

import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import FuguError
from golden.doors import command, screens

PUBLISH = ["--publish", "v", "--protect", "s", "--epsilon", "0.5"]
QUERY = ["--query", "mean(v)", "--protect", "s", "--epsilon", "0.5"]
SEQUENCES = ["--by", "user", "--order", "time", "--state", "place"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A reference and a private table, two tables of sequences, and a table without rows."""
    monkeypatch.chdir(tmp_path)
    for name, start, n in (("ref.csv", 0, 200), ("today.csv", 1000, 60)):
        rows = [f"{start + i},{'ab'[i % 2]},{(7 * i + i // 3) % 4 + i % 2}" for i in range(n)]
        (tmp_path / name).write_text("\n".join(["id,s,v", *rows]) + "\n")
    for name, users in (("last.csv", 20), ("week.csv", 12)):
        rows = [f"u{u},{t},{'xyz'[(u * t + t // 2 + u) % 3]}" for u in range(users) for t in range(12)]
        (tmp_path / name).write_text("\n".join(["user,time,place", *rows]) + "\n")
    (tmp_path / "header.csv").write_text("id,s,v\n")
    return tmp_path


def run(*words):
    """The exit code and the message."""
    found = CliRunner().invoke(cli.app, [str(word) for word in words])
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


def narrow(*words):
    """Exit code, output and errors of the command as scripts see it: in no terminal, and a narrow one."""
    with screens(40):
        return command(*words)


def charged(request="a", output="out.csv"):
    return run("release", "week.csv", "--reference", "last.csv", *SEQUENCES, "--query", "histogram", "--epsilon", "1",
               "--smoothing", "1", "--ledger", "books.db", "--request", request, "-o", output)  # fmt: skip


def test_an_export_never_overwrites_the_ledger(folder):
    assert charged()[0] == 0
    before = (folder / "books.db").read_bytes()
    (folder / "link.json").symlink_to(folder / "books.db")
    os.link(folder / "books.db", folder / "hard.json")
    for name in ("books.db", "./books.db", "link.json", "hard.json"):
        code, message = run("ledger", "export", "books.db", "-o", name)
        assert (code, "would overwrite 'books.db'" in message) == (2, True)
    assert (folder / "books.db").read_bytes() == before
    assert run("ledger", "verify", "books.db")[0] == 0
    assert run("ledger", "export", "books.db", "-o", "copy.json")[0] == 0 and json.loads(
        (folder / "copy.json").read_text()
    )


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "ref.csv", *PUBLISH, "--figure", "ref.csv"),
        ("calibrate", "ref.csv", *PUBLISH, "-o", "link.json"),
        ("property", "ref.csv", "--statistics", "mean(v)", "--hide", "s=a", "--size", "50", "--epsilon", "1", "--delta",
         "0.001", "--figure", "ref.csv"),
        ("influence", "ref.csv", "--by", "s", "--order", "id", "--state", "v", "--epsilon", "1", "--plot", "ref.csv"),
        ("release", "today.csv", "--reference", "ref.csv", *PUBLISH, "-o", "ref.csv"),
        ("release", "ref.csv", "--reference", "today.csv", *PUBLISH, "-o", "ref.csv"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_no_command_writes_over_a_table_that_it_reads(words, folder):
    before = (folder / "ref.csv").read_bytes()
    (folder / "link.json").symlink_to(folder / "ref.csv")
    code, message = run(*words)
    assert (code, message) == (2, "the output would overwrite 'ref.csv', which is read; choose another name")
    assert (folder / "ref.csv").read_bytes() == before


def test_a_release_never_overwrites_its_ledger(folder):
    code, message = run("release", "today.csv", "--reference", "ref.csv", *PUBLISH, "--ledger", "out.csv", "--request",
                        "a", "-o", "out.csv")  # fmt: skip
    assert (code, "would overwrite 'out.csv'" in message) == (2, True)
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "ref.csv", *PUBLISH, "--figure", "no/x.html"),
        ("calibrate", "ref.csv", *PUBLISH, "-o", "no/x.json"),
        ("release", "today.csv", "--reference", "ref.csv", *PUBLISH, "-o", "no/x.csv"),
        ("influence", "last.csv", *SEQUENCES, "--epsilon", "1", "--plot", "no/x.html"),
        ("ledger", "export", "books.db", "-o", "no/x.json"),
    ],
    ids=lambda words: words[0],
)
def test_a_folder_that_is_not_there_is_named_before_any_work(words, folder):
    code, message = run(*words)
    assert code == 2 and message.startswith("the folder of 'x.") and message.endswith("create it first")


@pytest.mark.parametrize("option", [("--by", "id"), ("--bounds", "0,2"), ("--step", "1")], ids=lambda option: option[0])
def test_options_of_statistics_are_not_ignored_for_columns(option, folder):
    code, message = run("release", "today.csv", "--reference", "ref.csv", *PUBLISH, *option, "-o", "out.csv")
    assert (code, message) == (2, f"{option[0]}: for --query only; leave it out (see Statistics in --help-all)")
    assert not (folder / "out.csv").exists()


def test_a_table_without_rows_is_not_released_and_not_fitted(folder):
    code, message = run("release", "header.csv", "--reference", "ref.csv", *PUBLISH, "-o", "out.csv")
    assert (code, message) == (2, "'header.csv' has no rows, so there is nothing to release")
    assert not list(folder.glob("out.*"))
    code, message = run("property", "header.csv", "--statistics", "mean(v)", "--hide", "s=a", "--size", "50",
                        "--epsilon", "1", "--delta", "0.001")  # fmt: skip
    assert (code, message) == (2, "'header.csv' has no rows, so there is nothing to fit")


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["release", "dry run"])
def test_cauchy_noise_is_refused_for_what_it_is(more, folder):
    code, message = run("release", "today.csv", "--reference", "ref.csv", *PUBLISH, "--alpha", "2", "--noise", "cauchy",
                        *more, "-o", "out.csv")  # fmt: skip
    assert code == 4 and "for analysis only" in message and "no exact sampler" in message
    assert not list(folder.glob("out.*"))


@pytest.mark.parametrize("text", ["abc", "nan", "inf", "0", "-1"])
@pytest.mark.parametrize("route", ["column", "sequences"])
def test_a_wrong_budget_of_a_ledger_is_called_so(text, route, folder):
    asked = PUBLISH if route == "column" else [*SEQUENCES, "--query", "histogram", "--epsilon", "1"]
    tables = ("today.csv", "ref.csv") if route == "column" else ("week.csv", "last.csv")
    code, message = run("release", tables[0], "--reference", tables[1], *asked, "--ledger", "books.db", "--request",
                        "a", "--budget", text, "-o", "out.csv")  # fmt: skip
    assert code == 2 and message.startswith("--budget must be a") and repr(text) in message
    assert not (folder / "books.db").exists()


def test_an_empty_name_of_data_is_refused_and_not_replaced(folder):
    code, message = run("release", "week.csv", "--reference", "last.csv", *SEQUENCES, "--query", "histogram",
                        "--epsilon", "1", "--smoothing", "1", "--ledger", "books.db", "--request", "a", "--data", "",
                        "-o", "out.csv")  # fmt: skip
    assert code == 2 and "name of a data set" in message
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("length", ["1", "0", "-3"])
def test_a_short_length_is_about_the_length(length, folder):
    code, message = run("influence", "last.csv", *SEQUENCES, "--epsilon", "1", "--length", length)
    assert (code, message) == (2, f"--length must be a whole number of at least 2, got {length}")


def test_a_certificate_of_sequences_is_proved_and_one_that_was_edited_is_refused(folder):
    assert charged()[0] == 0
    code, message = run("verify", "out.certificate.json")
    assert code == 0 and "\nholds: the translated epsilon is within" in message
    text = (folder / "out.certificate.json").read_text()
    (folder / "edited.json").write_text(text.replace('"length":', '"length":1', 1))
    code, message = run("verify", "edited.json")
    assert code == 4 and "edited after sealing" in message
    (folder / "list.json").write_text("[1]")
    code, message = run("verify", "list.json")
    assert code == 4 and "not a certificate" in message


def test_a_refusal_in_a_pipe_is_one_line(folder):
    code, _, said = narrow("release", "today.csv", *PUBLISH, "-o", "out.csv")
    assert code == 2 and len(said) > 100 and said.count("\n") == 1
    code, shown, said = narrow("compare", "ref.csv", "--publish", "w", "--protect", "s", "--epsilon", "1")
    assert code == 2 and said.startswith("error: no column 'w'") and said.count("\n") == 1 and shown == ""


def test_a_file_that_cannot_be_written_is_named_by_its_folder(folder):
    (folder / "file").write_text("")
    code, _, said = narrow("demo", "-o", "file/inside")
    assert code == 2 and "Traceback" not in said
    assert said.startswith("error: a file in 'file' could not be read or written") and "check" in said
