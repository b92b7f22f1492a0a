"""The tab key, by the protocol of the shells: commands, options, words, and columns of the reference alone."""

from __future__ import annotations

import builtins
import gzip
import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import pytest

import fugu.cli.app as cli


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref.csv").write_text("smoker;chol;ward name;$(rm -r);café\nyes;200;a;b;c\n")
    (tmp_path / "ref.tsv.gz").write_bytes(gzip.compress(b"age\tsex\n1\tF\n"))
    (tmp_path / "today.csv").write_text("secret,columns\n1,2\n")
    (tmp_path / "plan.toml").write_text('[data]\nreference = "ref.csv"\n')
    (tmp_path / "broken.csv").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(b"age,sex\n" * 999)[:9])
    (tmp_path / "empty.csv").touch()
    (tmp_path / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    (tmp_path / "broken.toml").write_text("[data\n")
    return tmp_path


def offered(line, shell="bash"):
    """What is offered after this line, whose last word is being typed."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_TYPER_COMPLETE_ARGS": line,
             "_TYPER_COMPLETE_FISH_ACTION": "get-args", cli.COMPLETING: f"complete_{shell}"}  # fmt: skip
    with (
        mock.patch.dict(os.environ, asked), mock.patch.object(sys, "argv", ["fugu"]), pytest.raises(SystemExit),
        redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err,
    ):  # fmt: skip
        cli.run()
    assert err.getvalue() == ""
    return out.getvalue().split() if shell == "bash" else out.getvalue()


def test_commands_options_and_fixed_words_are_offered():
    assert offered("fugu compa") == ["compare"] and "release" in offered("fugu ")
    assert offered("fugu release --ref") == ["--reference"] and "--publish" in offered("fugu compare --p")
    assert offered("fugu release --mechanism ") == ["noise", "optimal"]
    assert offered("fugu release --mechanism o") == ["optimal"]
    assert offered("fugu ledger sh") == ["show"]


@pytest.mark.parametrize(
    "begun",
    [
        "fugu release today.csv --reference ref.csv", "fugu compare ref.csv --epsilon 1", "fugu init ref.csv",
        "fugu release today.csv --scenario plan.toml", "fugu train today.csv --reference=ref.csv",
    ],
)  # fmt: skip
def test_columns_are_those_of_the_reference(begun):
    """Wrong version: of TABLE, which is private; or names that a shell would run."""
    option = "--target" if "train" in begun else "--protect"
    assert offered(f"{begun} {option} ") == ["smoker", "chol", "café"]
    assert offered(f"{begun} {option} c") == ["chol", "café"]
    for shell in ("zsh", "fish"):
        assert "chol" in (shown := offered(f"{begun} {option} ", shell)) and "rm" not in shown


def test_several_columns_are_completed_one_by_one():
    assert offered("fugu release t.csv --reference ref.tsv.gz --protect ") == ["age", "sex"]
    assert offered("fugu release t.csv --reference ref.tsv.gz --protect age,s") == ["age,sex"]


def test_the_private_table_is_not_opened(monkeypatch):
    """Whether it is alone on the line or not."""
    plain = builtins.open

    def watched(file, *how, **more):
        assert "today" not in str(file)
        return plain(file, *how, **more)

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr("io.open", watched)
    for more in ("", "--reference ref.csv ", "--public-prior "):
        for option in ("--publish", "--protect", "--unit", "--by"):
            assert "columns" not in offered(f"fugu release today.csv {more}{option} ")


@pytest.mark.parametrize("name", ["none.csv", "broken.csv", "torn.csv.gz", "empty.csv", "sheet.xlsx", ".", "-"])
def test_a_file_that_is_none_completes_nothing_and_says_nothing(name):
    assert offered(f"fugu release today.csv --reference {name} --protect ") == []
    assert offered(f"fugu compare {name} --publish ") == []


def test_what_is_refused_on_the_line_completes_nothing_and_says_nothing():
    """Nor does a note on how a word is read stand in the line that is being typed."""
    for line in ("--scenario broken.toml", "--scenario none.toml", "--method nosuch"):
        assert offered(f"fugu release {line} --protect ") == []
    overridden = "fugu release --scenario plan.toml --reference ref.tsv.gz --method kantorovich"
    assert offered(f"{overridden} --protect a") == ["age"]
